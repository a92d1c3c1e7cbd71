//! A streamed open world: generated, cooked on the first run, then flown over along a path with dives and teleports.
//!
//! ```text
//! cargo run --example open_world                                  a window where there is a display, else headless
//! cargo run --example open_world -- --headless --report report    the measured flight, with a report to look at
//! cargo run --example open_world -- --world my.world.ron          any other world, through the same road
//! ```
//!
//! The flight measures itself: how long streaming takes on the main thread, whether a level is ever seen in part, whether
//! one comes late. `report.html` shows it in pictures.

mod args;
mod flight;
mod headless;
mod monitor;
mod prepare;
mod summary;
mod textures;
mod window;

use std::process::ExitCode;

use args::Args;
use clap::Parser;
use seamless_examples::display::exit_code;

/// Levels are decoded on tasks, and Bevy frees what was in them on the main thread when they leave. glibc's allocator makes that
/// wait for the task that allocates at that moment; this one does not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    exit_code(run(&Args::parse()))
}

/// Prepares the world, flies, reports. `false` when a level failed or was seen in part.
#[expect(clippy::print_stdout, reason = "the example shows what it does")]
fn run(args: &Args) -> Result<bool, String> {
    let world = prepare::prepare(args)?;
    if args.has_window() {
        println!("Flying in a window; close it to end the flight.");
        return Ok(window::fly(args, &world));
    }
    println!(
        "Flying headless{}.",
        if args.headless { "" } else { " (no display found)" }
    );
    let flown = headless::fly(args, &world)?;
    summary::report(args, &flown)
}
