//! What the walk has shown, on the terminal and as a file.

use std::{fs, io};

use serde_json::json;

use crate::{args::Args, walk::Walked};

/// The page, in the report's folder.
const PAGE: &str = "report.html";

/// Says how it went, and writes `report.json` and, of a walk without a window, `report.html`. `false` when something failed, or the pool was exceeded.
#[expect(clippy::print_stdout, reason = "the example shows what it does")]
pub fn tell(args: &Args, walked: &Walked) -> Result<bool, String> {
    if let Some(fault) = &walked.fault {
        return Err(format!("the hall cannot be shown: {fault}"));
    }
    let missed = shortcomings(args, walked);
    write(args, walked, &missed).map_err(|error| format!("{}: {error}", args.report.display()))?;
    let (pool, stats) = (args.pool << 20, &walked.stats);
    let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    let frames = |settled: Option<u32>| match settled {
        Some(frames) => format!("{frames} frames"),
        None => "never".to_owned(),
    };
    println!(
        "\n{} frames in a hall of {} paintings of {}²",
        walked.frames, args.paintings, args.size
    );
    println!(
        "  textures that stream       {}, {:.1} MiB if they were whole",
        stats.textures,
        mib(walked.full)
    );
    println!(
        "  on the GPU at most         {:.1} MiB of a pool of {:.1}, copies and buffers included: {:.1} × less",
        mib(walked.peak),
        mib(pool),
        walked.full as f64 / walked.peak.max(1) as f64
    );
    println!(
        "  coarser than wanted        in {} frames of the walk, {} textures at most",
        walked.coarse_frames, walked.coarse_most
    );
    println!(
        "  settled after the jump     {}, at the end {}",
        frames(walked.settled_after),
        frames(walked.settled_at_end)
    );
    println!(
        "  read / given up / swapped  {} / {} / {}",
        stats.reads, stats.cancelled, stats.swaps
    );
    if let Some(accuracy) = walked.accuracy {
        println!(
            "  by the GPU's own answer    {} of {} pixels of the end lack the mip that they sample",
            accuracy.lacking, accuracy.pixels
        );
    }
    let file = if args.has_window() { "report.json" } else { PAGE };
    println!("\nReport: {}", args.report.join(file).display());
    for what in &missed {
        println!("FELL SHORT: {what}");
    }
    Ok(missed.is_empty())
}

fn shortcomings(args: &Args, walked: &Walked) -> Vec<String> {
    let list = [
        (walked.booked > args.pool << 20, "the pool was exceeded"),
        (walked.failed > 0, "mips could not be read"),
        (
            walked.stats.textures == 0,
            "nothing streams: there is no renderer, or the textures are too small",
        ),
    ];
    let missed = list.into_iter().filter(|(is_so, _)| *is_so);
    missed.map(|(_, what)| what.to_owned()).collect()
}

/// The walk as a page.
fn page(args: &Args, walked: &Walked, missed: &[String]) -> String {
    let frames = |settled: Option<u32>| settled.map_or_else(|| "never".to_owned(), |frames| frames.to_string());
    let times = walked.full as f64 / walked.peak.max(1) as f64;
    let lacking = walked.accuracy.map_or_else(
        || "?".to_owned(),
        |of| format!("{:.2} %", of.lacking as f64 * 100.0 / of.pixels.max(1) as f64),
    );
    let facts = [
        (format!("{times:.1} ×"), "less than all of them whole".to_owned()),
        (
            walked.coarse_frames.to_string(),
            format!(
                "frames with a texture coarser than wanted, of {} walked",
                walked.walking
            ),
        ),
        (
            frames(walked.settled_after),
            "frames from the jump until all was fine".to_owned(),
        ),
        (lacking, "of the end's pixels lack the mip that they sample".to_owned()),
        (
            walked.stats.swaps.to_string(),
            format!("textures replaced; {} reads", walked.stats.reads),
        ),
    ];
    let title = format!(
        "A walk through a hall of {} paintings of {}²",
        args.paintings, args.size
    );
    walked.log.page(&title, missed, &facts)
}

fn write(args: &Args, walked: &Walked, missed: &[String]) -> io::Result<()> {
    let stats = &walked.stats;
    let report = json!({
        "paintings": args.paintings,
        "size": args.size,
        "frames": walked.frames,
        "pool_bytes": args.pool << 20,
        "peak_bytes": walked.peak,
        "full_bytes": walked.full,
        "textures": stats.textures,
        "coarse_frames": walked.coarse_frames,
        "coarse_most": walked.coarse_most,
        "frames_to_settle_after_the_jump": walked.settled_after,
        "frames_to_settle_at_the_end": walked.settled_at_end,
        "pixels_at_the_end": walked.accuracy.map(|accuracy| accuracy.pixels),
        "pixels_lacking_at_the_end": walked.accuracy.map(|accuracy| accuracy.lacking),
        "reads": stats.reads,
        "cancelled": stats.cancelled,
        "swaps": stats.swaps,
        "failed": walked.failed,
    });
    fs::create_dir_all(&args.report)?;
    fs::write(args.report.join("report.json"), serde_json::to_vec_pretty(&report)?)?;
    // In a window, nothing is noted frame by frame.
    if args.has_window() {
        return Ok(());
    }
    fs::write(args.report.join(PAGE), page(args, walked, missed))
}
