//! A measured game, without a window.

use core::time::Duration;

use seamless_examples::{
    arena::{Arena, ArenaOptions, RATE, report::ArenaReport},
    display::headless_app,
};

use crate::args::Args;

/// How long a game may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Plays, writes the report and says how it went. `false` when a game that was played to its end has left something behind.
pub fn play(args: &Args, options: ArenaOptions, manifest: &str) -> Result<bool, String> {
    let frame = 1.0 / RATE;
    let arena = Arena::new(headless_app(true, frame as f32), options.clone(), manifest);
    let mut count = 0;
    let most = args.frames.unwrap_or(usize::MAX);
    let outcome = arena.play(Some(Duration::from_secs_f64(frame)), PATIENCE, |_, _| {
        count += 1;
        count < most
    })?;
    let is_whole = count < most;
    let report = ArenaReport::of(&options, &outcome, is_whole);
    report
        .write(&args.report, &outcome)
        .map_err(|error| format!("{}: {error}", args.report.display()))?;
    tell(&report, args);
    Ok(!is_whole || report.left_over == 0)
}

#[expect(clippy::print_stdout, reason = "the example shows what it does")]
fn tell(report: &ArenaReport, args: &Args) {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    println!(
        "\n{} frames, {} units, content comes: {}",
        report.frames, report.units, report.approach
    );
    println!(
        "  waited                {:.2} s to start, {:.2} s for the battle, {:.2} s after it",
        report.start_s, report.battle_wait_s, report.aftermath_wait_s
    );
    println!(
        "  content in memory     {:.1} MB in the battle, {:.1} MB at most",
        megabytes(report.content_battle_bytes),
        megabytes(report.content_peak_bytes)
    );
    let cues = &report.cues;
    println!(
        "  cues                  {} fired, {} played, {} late (the latest by {:.0} ms), {} never, {} too far away",
        cues.fired, cues.played, cues.late, cues.longest_wait_ms, cues.expired, cues.culled
    );
    println!(
        "  worst first use       {:.2} ms of streaming (budget {:.1} ms), {:.2} ms the whole frame (usually {:.2} ms)",
        report.worst_first_use_ms, report.budget_ms, report.worst_first_use_frame_ms, report.median_frame_ms
    );
    println!(
        "  read {:.1} MB; {} units have fallen; battle {}; left over: {}",
        megabytes(report.bytes_read),
        report.falls,
        report.digest,
        report.left_over
    );
    println!("\nReport: {}", args.report.join("report.html").display());
}
