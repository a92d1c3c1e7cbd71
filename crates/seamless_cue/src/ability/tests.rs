//! Abilities in an app: what activates, what refuses, and who hears of it.

mod app;
mod edges;
mod files;
mod leaving;
mod order;
mod packages;
mod rules;
mod telling;
mod time;
