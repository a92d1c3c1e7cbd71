//! The report of a flight, on the terminal and as files.

use seamless_examples::report::{self, NamedOverrun, Percentiles, Report, StreamTime, percentile};

use crate::{
    args::Args,
    headless::{Flown, milliseconds, spread},
};

/// Writes the report's files and says how it went. `false` when a level failed or was seen in part.
#[expect(clippy::print_stdout, reason = "the example shows what it does")]
pub fn report(args: &Args, flown: &Flown) -> Result<bool, String> {
    let report = make(args, flown);
    report::write(&args.report, &report, &flown.log).map_err(|error| format!("{}: {error}", args.report.display()))?;
    println!(
        "\n{} frames over {} levels ({} entities, {} at most at once)",
        report.frames, report.levels, report.entities_total, report.entities_peak
    );
    println!(
        "  levels loaded / unloaded   {} / {}",
        report.levels_loaded, report.levels_unloaded
    );
    println!("  seen in part               {}", report.atomicity_violations);
    println!(
        "  late on the path           {}  (after {} teleports: {})",
        report.late_levels, report.teleports, report.late_after_teleport
    );
    println!("  failed / cancelled         {} / {}", report.failed, report.cancelled);
    let (stream, excess) = (report.stream_ms.spread, report.frame_excess_ms);
    println!(
        "  streaming per frame        p50 {:.2}  p99 {:.2}  p999 {:.2}  max {:.2} ms   (budget {:.1} ms, raised in {} frames; over it in {})",
        stream.p50, stream.p99, stream.p999, stream.max, report.stream_ms.budget, report.boosted, report.overruns
    );
    println!(
        "  frame above resident       p50 {:.2}  p99 {:.2}  p999 {:.2}  max {:.2} ms   (resident: {:.2} ms)",
        excess.p50, excess.p99, excess.p999, excess.max, flown.log.resident_frame_ms
    );
    let control = report.resident_excess_ms;
    println!(
        "  resident frames themselves p50 {:.2}  p99 {:.2}  p999 {:.2}  max {:.2} ms   (what the machine adds)",
        control.p50, control.p99, control.p999, control.max
    );
    println!(
        "  read                       {:.1} MB, {:.1} MB of it for nothing",
        report.bytes_read as f64 / 1e6,
        report.bytes_wasted as f64 / 1e6
    );
    let mips = report.mips;
    println!(
        "  textures, by the plan      {:.1} MB of the pool's {:.0} MB at most, {:.1} MB with all mips; {} coarser than wanted at most",
        mips.pool_peak_bytes as f64 / 1e6,
        mips.pool_budget_bytes as f64 / 1e6,
        mips.full_bytes as f64 / 1e6,
        mips.under_resolved
    );
    for overrun in report.named_overruns.iter().take(5) {
        println!(
            "  overrun in frame {}: {:.2} ms, {}",
            overrun.frame, overrun.ms, overrun.what
        );
    }
    println!("\nReport: {}", args.report.join("report.html").display());
    let shortcomings = report.shortcomings();
    for shortcoming in &shortcomings {
        println!("FELL SHORT: {shortcoming}");
    }
    if let Some(undecided) = report.undecided() {
        println!("UNDECIDED: {undecided}");
    }
    // Times depend on the machine and what else it does; what is wrong on any machine is a failure.
    Ok(report.atomicity_violations == 0 && report.failed == 0)
}

fn make(args: &Args, flown: &Flown) -> Report {
    let log = &flown.log;
    let resident = percentile(&flown.resident, 0.5);
    let excess = spread(log, |frame| f64::from(frame.frame_ms) - resident);
    let placed = log.levels.iter().filter(|level| level.footprint.is_some());
    let (mut loaded, mut unloaded) = (0, 0);
    let frames = log.frames.len() as u32;
    for level in placed {
        loaded += u64::from(!level.live.is_empty());
        unloaded += u64::from(level.live.iter().any(|(_, to)| *to < frames));
    }
    Report {
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        frames: u64::from(frames),
        levels: flown.levels,
        levels_loaded: loaded,
        levels_unloaded: unloaded,
        entities_peak: flown.monitor.entities_peak,
        atomicity_violations: flown.monitor.violations,
        late_levels: flown.monitor.late,
        is_whole_flight: flown.is_whole,
        is_restless: flown
            .resident
            .iter()
            .rev()
            .nth(2)
            .is_some_and(|third| third - resident >= excess.p999),
        stream_ms: StreamTime {
            budget: milliseconds(flown.budget),
            spread: spread(log, |frame| f64::from(frame.stream_ms)),
        },
        boosted: flown.stats.boosted,
        frame_excess_ms: excess,
        overruns: flown.stats.overrun_count,
        failed: flown.failed,
        cancelled: flown.stats.cancelled,
        bytes_read: flown.stats.bytes_read,
        bytes_wasted: flown.stats.bytes_wasted,
        mips: log.mips.summary(),
        resident_excess_ms: Percentiles::of(flown.resident.iter().map(|frame| frame - resident)),
        teleports: flown.monitor.teleports,
        late_after_teleport: flown.monitor.late_after_teleport,
        entities_total: flown.entities_total,
        seed: args.seed,
        named_overruns: flown
            .stats
            .overruns
            .iter()
            .map(|overrun| NamedOverrun {
                frame: overrun.frame,
                ms: milliseconds(overrun.took),
                what: overrun.what.to_string(),
            })
            .collect(),
    }
}
