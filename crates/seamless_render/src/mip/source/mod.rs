//! Where mips come from: payloads of packages, which are read and put into buffers on tasks.

mod attempts;
mod package;
mod stage;
#[cfg(test)]
mod tests;
mod whole;

pub(super) use package::{MipReads, hear_reads, start_reads};
pub(super) use stage::Staged;
pub(super) use whole::{WholeReads, hear_wholes, start_wholes};
