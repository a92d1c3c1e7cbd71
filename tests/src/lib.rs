//! What the integration tests share: source files made by code, headless apps, and a snapshot of a subtree of
//! entities that two ways of loading the same source are compared by.

pub mod app;
pub mod atomicity;
pub mod cooked;
pub mod fixtures;
pub mod footprint;
pub mod handmade;
pub mod picture;
pub mod random;
pub mod skip;
pub mod snapshot;
