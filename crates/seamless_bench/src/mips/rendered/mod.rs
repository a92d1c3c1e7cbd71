//! Rows of mip streaming that need a renderer; one in software is enough. Where there is none, they are left out, and say so.

pub mod accuracy;
pub mod memory;
mod room;
pub mod settle;
pub mod swap;
#[cfg(test)]
mod tests;
