//! Long runs: what an hour of play leaves behind is nothing.
//!
//! A binary of its own, because its allocator counts every byte, and a process has one allocator.
//!
//! A fiftieth of each runs by default. `SEAMLESS_SOAK=1` runs all of it: an hour of frames, and a hundred thousand of toggles;
//! `SEAMLESS_SOAK=0.1` a tenth.

mod bed;
mod content;
mod drive;
mod faults;
mod hour;
mod storm;

use std::{
    alloc::System,
    sync::{Mutex, MutexGuard, PoisonError},
};

use cap::Cap;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// All tests count what the process has allocated.
static ALONE: Mutex<()> = Mutex::new(());

/// Until it is dropped, no other test runs.
fn alone() -> MutexGuard<'static, ()> {
    // One of them is to panic.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The share of a run that is run where nothing was asked for.
const SHARE: f64 = 0.02;

/// How many frames to run, of `all`.
fn frames(all: u64) -> u64 {
    let share = std::env::var("SEAMLESS_SOAK").ok();
    let share = share.map_or(SHARE, |share| {
        share.parse().expect("SEAMLESS_SOAK is a share, 1 for all of it")
    });
    (all as f64 * share) as u64
}
