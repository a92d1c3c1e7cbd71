//! Tests.

mod gate;
#[cfg(feature = "write")]
mod material;
mod sync;
