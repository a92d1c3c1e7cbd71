//! `seamless_bench`: bevy_seamless, what a Bevy user would pick instead, and the engine's limit, side by side.
//!
//! ```text
//! cargo run --release -p seamless_bench -- [--filter NAME] [--json FILE]
//! ```
//!
//! Every row measures the same data in the same run. Samples are interleaved (ours, peer, limit, ours, …), a row holds
//! their medians, and `spread` is the distance between the 10th and the 90th percentile of our samples, divided by their
//! median. Times per entity are CPU time of the measuring thread, so that other programs on the machine do not count;
//! [`flight`] measures wall time, because a hitch is one.

mod app;
mod bed;
mod commit;
mod flight;
mod load_cpu;
mod read_bulk;
mod row;
mod scene;
mod unload;

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;

use row::{Row, table};

/// Measures bevy_seamless beside Bevy's own scenes.
#[derive(Parser)]
struct Options {
    /// Runs only rows whose name contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Writes the rows to this file, as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Repetitions of each measurement; the default of each row if left out.
    #[arg(long)]
    samples: Option<usize>,
}

/// A measurement: the name of its row, and what makes it. The argument is the number of samples, if one was asked for.
type Bench = (&'static str, fn(Option<usize>) -> Row);

const BENCHES: [Bench; 10] = [
    ("level_load_cpu/renderable", |samples| {
        load_cpu::run(load_cpu::Variant::Renderable, samples)
    }),
    ("level_load_cpu/reflected", |samples| {
        load_cpu::run(load_cpu::Variant::Reflected, samples)
    }),
    ("level_commit/2000", |samples| {
        commit::run("level_commit/2000", 2000, app::Plugins::Game, samples)
    }),
    ("level_commit/10000", |samples| {
        commit::run("level_commit/10000", 10_000, app::Plugins::Game, samples)
    }),
    ("level_commit/10000_no_observers", |samples| {
        commit::run("level_commit/10000_no_observers", 10_000, app::Plugins::Bare, samples)
    }),
    ("level_unload/2000", |samples| {
        unload::run("level_unload/2000", 2000, 1, samples)
    }),
    ("level_unload/10000", |samples| {
        unload::run("level_unload/10000", 10_000, 1, samples)
    }),
    ("level_unload/2000_oldest_of_8", |samples| {
        unload::run("level_unload/2000_oldest_of_8", 2000, 8, samples)
    }),
    ("package_read_bulk", read_bulk::run),
    ("flight_hitch", flight::run),
];

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program on the command line")]
fn main() -> ExitCode {
    let options = Options::parse();
    if cfg!(debug_assertions) {
        eprintln!("warning: a debug build; the numbers mean nothing. Use `cargo run --release -p seamless_bench`");
    }
    let mut rows = Vec::new();
    for (name, bench) in BENCHES {
        if name.contains(&options.filter) {
            eprintln!("measuring {name} …");
            rows.push(bench(options.samples));
        }
    }
    println!("{}", table(&rows));
    let Some(path) = options.json else {
        return ExitCode::SUCCESS;
    };
    let written = serde_json::to_vec_pretty(&rows)
        .map_err(|error| error.to_string())
        .and_then(|json| std::fs::write(&path, json).map_err(|error| error.to_string()));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}: {error}; give another `--json`", path.display());
            ExitCode::FAILURE
        }
    }
}
