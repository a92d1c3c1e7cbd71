//! A game of classes and zones, in which hundreds of units fight with abilities. All content is generated, cooked on the first run, and comes into
//! memory in one of five ways.
//!
//! ```text
//! cargo run --example arena                                        a window where there is a display, else headless
//! cargo run --example arena -- --headless --report report          a measured game, with a report
//! cargo run --release --example arena -- --approach compare        all five ways, each in a process of its own, as a table
//! cargo run --example arena -- --picture arena.png                 a picture of the battle, drawn without a window
//! ```

mod args;
mod compare;
mod headless;
mod prepare;
mod window;

use std::process::ExitCode;

use args::{Args, Choice};
use clap::Parser;
use seamless_examples::display::exit_code;

/// As in `open_world`: where tasks allocate and the main thread frees, glibc's allocator makes one wait for the other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    exit_code(run(&Args::parse()))
}

/// Prepares the content, plays, reports. `false` when something was left over or failed.
#[expect(clippy::print_stdout, reason = "the example shows what it does")]
fn run(args: &Args) -> Result<bool, String> {
    let manifest = prepare::prepare(args)?;
    match args.approach {
        Choice::Compare => compare::compare(args),
        Choice::One(approach) if args.picture.is_some() || args.has_window() => {
            window::show(args, args.options(approach), &manifest)
        }
        Choice::One(approach) => {
            println!(
                "Playing headless{}.",
                if args.headless { "" } else { " (no display found)" }
            );
            headless::play(args, args.options(approach), &manifest)
        }
    }
}
