//! `seamless_bench`: bevy_seamless, what a Bevy user would pick instead, and the engine's limit, side by side.
//!
//! ```text
//! cargo run --release -p seamless_bench -- [--filter NAME] [--json FILE] [--limit-from FILE] [--open-world FOLDER]
//! ```
//!
//! Every row measures the same data in the same run, and samples are interleaved (ours, peer, limit, ours, …), with two exceptions
//! that say so in their rows: the limit of [`migrate_latest`] is another build, which ran before, and the peer of [`read_bulk`]
//! comes after the others. A row holds medians, and `spread` is the distance between the 10th and the 90th percentile of our samples, divided by their
//! median. Times per entity are CPU time of the measuring thread, so that other programs on the machine do not count;
//! [`flight`], [`large`] and [`visible`] measure wall time, because a hitch is one, and [`package_link`], [`cook`] and [`cook_full`] do, because Bevy loads on many
//! threads.
//!
//! The rows of mip streaming but [`mips`] need a renderer: a Vulkan driver, one in software is enough.
//!
//! The allocator counts what each thread allocates, for [`steady`]; that costs a nanosecond or two for each allocation, on all roads.
//!
//! [`cook_full`] and [`cook_size`] measure the world that the example `open_world` made when it ran. The peer of [`cook_full`] is written in
//! C++, so it is a feature: `--features bevy_processor`.

mod app;
mod bed;
mod commit;
mod cook;
mod cook_full;
mod cook_size;
mod cues;
mod flight;
mod large;
mod level;
mod load_cpu;
mod marker;
mod migrate_latest;
mod mips;
mod netref;
mod open_world;
mod package_link;
mod package_open;
mod project;
mod read_bulk;
mod row;
mod scene;
mod select;
mod steady;
mod stones;
mod unload;
mod visible;
mod worlds;

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use seamless_asset::package::Codec;

use mips::rendered::{accuracy, memory, settle, swap};
use open_world::OpenWorld;
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
    /// Takes the limit of `migrate_latest` from this file: the `--json` of a build with `--no-default-features`.
    #[arg(long)]
    limit_from: Option<PathBuf>,
    /// The folder of the example `open_world`, with its `sources` and what was `cooked`.
    #[arg(long, default_value = "assets/open_world")]
    open_world: PathBuf,
    /// Repetitions of each measurement; the default of each row if left out.
    #[arg(long)]
    samples: Option<usize>,
}

/// A measurement: the name of its row, and what makes it. The argument is the number of samples, if one was asked for.
type Bench = (&'static str, fn(Option<usize>) -> Row);

const BENCHES: [Bench; 40] = [
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
    ("package_open", |samples| {
        package_open::run(package_open::Variant::Used, samples)
    }),
    ("package_open/fresh_memory", |samples| {
        package_open::run(package_open::Variant::Fresh, samples)
    }),
    ("package_open/lz4_classes", |samples| {
        package_open::run(package_open::Variant::Classes(Codec::Lz4), samples)
    }),
    ("package_open/zstd_classes", |samples| {
        package_open::run(package_open::Variant::Classes(Codec::Zstd), samples)
    }),
    ("package_read_bulk", read_bulk::run),
    ("package_link", |samples| {
        package_link::run(package_link::Peer::Labels, samples)
    }),
    ("package_link/whole_files", |samples| {
        package_link::run(package_link::Peer::WholeFiles, samples)
    }),
    (migrate_latest::NAME, migrate_latest::run),
    ("netref_encode/bytes", netref::bytes),
    ("netref_encode/ns", netref::ns),
    ("select_10k/rest", |samples| select::run(select::Variant::Rest, samples)),
    ("select_10k/moving", |samples| {
        select::run(select::Variant::Moving, samples)
    }),
    ("select_10k/crowd", |samples| {
        select::run(select::Variant::Crowd, samples)
    }),
    ("select_10k/plugin/rest", |samples| {
        select::run_plugin(select::Variant::Rest, samples)
    }),
    ("select_10k/plugin/moving", |samples| {
        select::run_plugin(select::Variant::Moving, samples)
    }),
    ("mip_solve", mips::run),
    ("cook_noop", cook::noop),
    ("cook_one_edit", cook::one_edit),
    ("cook_scaling", cook::scaling),
    ("flight_hitch", flight::run),
    ("reveal_100k", large::reveal),
    ("leave_100k", large::leave),
    ("cue_dispatch", cues::dispatch),
    ("cue_storm", cues::storm),
    ("soft_resolve", cues::resolve),
    ("time_to_visible", visible::run),
    ("world_comes", |samples| worlds::run(worlds::Way::Comes, samples)),
    ("world_goes", |samples| worlds::run(worlds::Way::Goes, samples)),
    ("world_goes/taken", |samples| worlds::run(worlds::Way::Taken, samples)),
    ("steady_allocs", steady::run),
    ("marker_tax", |samples| marker::run(marker::Variant::Loop, samples)),
    ("marker_tax/for_each", |samples| {
        marker::run(marker::Variant::ForEach, samples)
    }),
];

/// The budgets of [`flight::budget`] in milliseconds, each with the names of its rows.
const BUDGETS: [(f64, flight::budget::Names); 4] = [
    (
        0.5,
        ["flight_budget/0.5", "flight_budget/0.5/max", "flight_budget/0.5/excess"],
    ),
    (
        1.0,
        ["flight_budget/1", "flight_budget/1/max", "flight_budget/1/excess"],
    ),
    (
        2.0,
        ["flight_budget/2", "flight_budget/2/max", "flight_budget/2/excess"],
    ),
    (
        4.0,
        ["flight_budget/4", "flight_budget/4/max", "flight_budget/4/excess"],
    ),
];

/// As [`Bench`], where there is a renderer: all of these rows, or none.
type RenderedBench = (&'static [&'static str], fn(Option<usize>) -> Vec<Row>);

const RENDERED_BENCHES: [RenderedBench; 8] = [
    (&["mip_memory"], |samples| Vec::from_iter(memory::run(samples))),
    (&["mip_accuracy/ample", "mip_accuracy/ample_bytes"], |samples| {
        accuracy::run(accuracy::Variant::Ample, samples)
    }),
    (&["mip_accuracy/half", "mip_accuracy/half_bytes"], |samples| {
        accuracy::run(accuracy::Variant::Half, samples)
    }),
    (&["mip_accuracy/moving", "mip_accuracy/moving_bytes"], |samples| {
        accuracy::run(accuracy::Variant::Moving, samples)
    }),
    (&["mip_settle"], |samples| Vec::from_iter(settle::run(samples))),
    (&["mip_settle/touch"], |samples| Vec::from_iter(settle::touch(samples))),
    (&["mip_swap"], |samples| Vec::from_iter(swap::run(samples))),
    (&["mip_swap/touch"], |samples| Vec::from_iter(swap::touch(samples))),
];

/// As [`Bench`], of the example world.
type WorldBench = (&'static str, fn(&OpenWorld, Option<usize>) -> Row);

const WORLD_BENCHES: [WorldBench; 4] = [
    ("cook_full/dev", cook_full::dev),
    ("cook_full/ship", cook_full::ship),
    ("cook_size", cook_size::ship),
    ("cook_size/dev", cook_size::dev),
];

/// Measures all rows that are asked for.
#[expect(clippy::print_stderr, reason = "a program on the command line")]
fn measure(options: &Options) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, bench) in BENCHES.iter().filter(|(name, _)| name.contains(&options.filter)) {
        eprintln!("measuring {name} …");
        rows.push(bench(options.samples));
    }
    let is_asked = |name: &str| name.contains(&options.filter);
    for (budget, names) in BUDGETS
        .iter()
        .filter(|(_, names)| names.iter().any(|name| is_asked(name)))
    {
        eprintln!("measuring {} …", names.join(", "));
        let measured = flight::budget::run(*names, *budget, options.samples);
        rows.extend(measured.into_iter().filter(|row| is_asked(row.name)));
    }
    let benches = RENDERED_BENCHES.iter();
    for (names, bench) in benches.filter(|(names, _)| names.iter().any(|name| is_asked(name))) {
        let name = names.join(", ");
        eprintln!("measuring {name} …");
        let measured = bench(options.samples);
        if measured.is_empty() {
            eprintln!("warning: there is no Vulkan driver, a software one for instance, so {name} is left out");
        }
        rows.extend(measured.into_iter().filter(|row| is_asked(row.name)));
    }
    let benches = WORLD_BENCHES.iter().filter(|(name, _)| name.contains(&options.filter));
    let mut benches = benches.peekable();
    if benches.peek().is_none() {
        return rows;
    }
    match OpenWorld::find(&options.open_world) {
        Ok(world) => rows.extend(benches.map(|(name, bench)| {
            eprintln!("measuring {name} …");
            bench(&world, options.samples)
        })),
        Err(missing) => eprintln!("warning: {missing}"),
    }
    rows
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program on the command line")]
fn main() -> ExitCode {
    let options = Options::parse();
    if cfg!(debug_assertions) {
        eprintln!("warning: a debug build; the numbers mean nothing. Use `cargo run --release -p seamless_bench`");
    }
    let mut rows = measure(&options);
    if let Some(path) = options.limit_from
        && let Err(error) = migrate_latest::take_limit(&mut rows, &path)
    {
        eprintln!("error: {}: {error}", path.display());
        return ExitCode::FAILURE;
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
