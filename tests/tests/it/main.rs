//! Integration tests, in one binary: Bevy is linked once.

mod ambiguity;
mod arena;
mod atomic;
mod bad_input;
mod ceiling;
mod drawn;
mod faults;
mod flight;
mod hidden;
mod hooks;
mod invariants;
mod layout;
mod mips;
mod odd;
mod oracle;
mod paths;
mod pipelines;
mod places;
mod render;
mod resources;
mod same_world;
mod server;
mod settled;
mod shipped;
mod startup;
mod targets;
