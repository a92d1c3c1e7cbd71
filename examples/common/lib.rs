//! What the examples share: the world generator, the flight over it, and the report of a flight.

pub mod arena;
pub mod cook;
pub mod cubes;
pub mod display;
pub mod flight;
pub mod generate;
pub mod hall;
pub mod memory;
pub mod report;
