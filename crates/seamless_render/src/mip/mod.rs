//! Mip streaming: textures sized by what the screen shows, within a pool.

mod chain;
mod demand;
mod error;
mod fit;
pub mod need;
#[cfg(test)]
mod random;
mod watch;

pub use chain::{Layout, MipChain, MipCopy};
pub use demand::{Demand, DemandRule, DemandedTexture, MipDemands, Wanting};
pub use error::NotStreamed;
pub use fit::{Cut, Fit, FitInput};
pub use watch::{UserId, Watch};
