//! A hall of hundreds of large paintings, whose textures stream by mips: what is near is fine, what is far is coarse, and all of it fits a pool that is a
//! fraction of what the textures would take. All content is generated, and cooked on the first run.
//!
//! ```text
//! cargo run --example gallery                                   a window where there is a display, else headless
//! cargo run --example gallery -- --headless --report report     a measured walk, with a report; needs a GPU, or a driver in software
//! cargo run --example gallery -- --headless --picture hall.png  and a picture of where it ends
//! cargo run --example gallery -- --pool 16                      with a pool of 16 MiB
//! cargo run --example gallery --features overlay                F2 shows how fine each painting is, F3 each pixel of it
//! ```

mod args;
mod prepare;
mod report;
mod walk;

use std::process::ExitCode;

use args::Args;
use clap::Parser;
use seamless_examples::display::exit_code;

/// As in `open_world`: where tasks allocate and the main thread frees, glibc's allocator makes one wait for the other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    exit_code(run(&Args::parse()))
}

/// Prepares the hall, walks, reports. `false` when something failed, or the pool was exceeded.
#[expect(clippy::print_stdout, reason = "the example shows what it does")]
fn run(args: &Args) -> Result<bool, String> {
    let manifest = prepare::prepare(args)?;
    if !args.has_window() {
        println!(
            "Walking without a window{}.",
            if args.headless { "" } else { " (no display found)" }
        );
    }
    let walked = walk::walk(args, &manifest)?;
    report::tell(args, &walked)
}
