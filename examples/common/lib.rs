//! What the examples share: the world generator, the flight over it, and the report of a flight.

pub mod cubes;
pub mod display;
pub mod flight;
pub mod generate;
pub mod report;
