//! Where assets lie: what the decision promises, for any world.

mod cooked;
mod decision;
mod together;
