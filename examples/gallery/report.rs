//! What the walk has shown, on the terminal and as a file.

use std::{fs, io};

use serde_json::json;

use crate::{args::Args, walk::Walked};

/// Says how it went, and writes `report.json`. `false` when something failed, or the pool was exceeded.
#[expect(clippy::print_stdout, reason = "the example shows what it does")]
pub fn tell(args: &Args, walked: &Walked) -> Result<bool, String> {
    if let Some(fault) = &walked.fault {
        return Err(format!("the hall cannot be shown: {fault}"));
    }
    write(args, walked).map_err(|error| format!("{}: {error}", args.report.display()))?;
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
    println!("\nReport: {}", args.report.join("report.json").display());
    let is_within = walked.peak <= pool;
    for (is_so, what) in [
        (!is_within, "the pool was exceeded"),
        (walked.failed > 0, "mips could not be read"),
        (
            stats.textures == 0,
            "nothing streams: there is no renderer, or the textures are too small",
        ),
    ] {
        if is_so {
            println!("FELL SHORT: {what}");
        }
    }
    Ok(is_within && walked.failed == 0 && stats.textures > 0)
}

fn write(args: &Args, walked: &Walked) -> io::Result<()> {
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
    fs::write(args.report.join("report.json"), serde_json::to_vec_pretty(&report)?)
}
