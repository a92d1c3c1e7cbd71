//! Abilities in an app: what activates, what refuses, and who hears of it.

mod app;
mod files;
mod packages;
mod rules;
mod telling;
