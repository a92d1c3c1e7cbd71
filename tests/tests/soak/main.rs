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
mod town;

use std::{
    alloc::System,
    env,
    process::{Command, Output},
};

use cap::Cap;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Set in the process of one test.
const APART: &str = "SEAMLESS_SOAK_APART";

/// Runs a test of this binary, by its full name, in a process of its own: each counts what its process has allocated, and two cores have
/// room for two of them.
#[expect(clippy::print_stdout, reason = "what the test itself has printed")]
fn apart(name: &str, test: impl FnOnce()) {
    if env::var_os(APART).is_some() {
        return test();
    }
    let program = env::current_exe().expect("it runs");
    let arguments = [name, "--exact", "--nocapture", "--test-threads=1"];
    let run = Command::new(program).args(arguments).env(APART, "1").output();
    let Output { status, stdout, stderr } = run.expect("it is there");
    let stdout = String::from_utf8_lossy(&stdout);
    println!("{stdout}");
    assert!(
        status.success() && stdout.contains("1 passed"),
        "{name}: {}",
        String::from_utf8_lossy(&stderr)
    );
}

/// The share of a run that is run where nothing was asked for.
const SHARE: f64 = 0.02;

/// How many frames to run, of `all`.
fn frames(all: u64) -> u64 {
    let share = env::var("SEAMLESS_SOAK").ok();
    let share = share.map_or(SHARE, |share| {
        share.parse().expect("SEAMLESS_SOAK is a share, 1 for all of it")
    });
    (all as f64 * share) as u64
}
