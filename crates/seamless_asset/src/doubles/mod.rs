//! Doubles of what the pipeline reads from and tells to, for the tests of games and plugins. Behind the feature `doubles`.
//!
//! * [`GatedReader`] is an asset source whose every read waits until a test says what becomes of it.
//! * [`LevelDoor`] holds levels back until a test opens it.
//! * [`logged`] listens to the log.

mod door;
mod gate;
mod gated;
mod log;
#[cfg(test)]
mod tests;

pub use door::LevelDoor;
pub use gate::{Fate, GatedRead, ReadGate};
pub use gated::GatedReader;
pub use log::logged;
