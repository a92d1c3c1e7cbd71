//! Mip streaming: textures sized by what the screen shows, within a pool.

mod chain;
mod error;
pub mod need;
#[cfg(test)]
mod random;
mod watch;

pub use chain::{Layout, MipChain, MipCopy};
pub use error::NotStreamed;
pub use watch::{UserId, Watch};
