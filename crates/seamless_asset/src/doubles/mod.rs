//! Doubles of what the pipeline reads from, for the tests of games and plugins. Behind the feature `doubles`.
//!
//! * [`GatedReader`] is an asset source whose every read waits until a test says what becomes of it.

mod gate;
mod gated;
#[cfg(test)]
mod tests;

pub use gate::{Fate, GatedRead, ReadGate};
pub use gated::GatedReader;
