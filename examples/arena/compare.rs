//! The same game with each of the five approaches, each in a process of its own, so that none finds what another has left in memory.

use std::{env, fs, process::Command};

use seamless_examples::arena::{
    Approach,
    report::{ArenaReport, comparison_page, markdown_table},
};

use crate::args::Args;

/// Plays with all of them, and shows the table.
#[expect(clippy::print_stdout, reason = "the example shows what it does")]
pub fn compare(args: &Args) -> Result<bool, String> {
    let reports = Approach::ALL.into_iter().map(|approach| play(args, approach));
    let reports = reports.collect::<Result<Vec<_>, _>>()?;
    let table = markdown_table(&reports);
    println!("\n{table}");
    let whole_frames = reports.iter().map(|report| {
        let peak = report
            .process_peak_bytes
            .map_or_else(|| "?".to_owned(), |bytes| format!("{}", bytes / 1_000_000));
        format!(
            "{}: {:.1} ms, process {peak} MB",
            report.approach, report.worst_first_use_frame_ms
        )
    });
    println!(
        "Whole frames with a first use: {}",
        whole_frames.collect::<Vec<_>>().join("; ")
    );
    let json = serde_json::to_vec_pretty(&reports).map_err(|error| error.to_string())?;
    let files = [
        ("table.json", json),
        ("table.md", table.into_bytes()),
        ("table.html", comparison_page(&reports).into_bytes()),
    ];
    for (name, bytes) in files {
        let file = args.report.join(name);
        fs::write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    println!("Tables: {}", args.report.display());
    Ok(reports.iter().all(|report| report.left_over == 0))
}

fn play(args: &Args, approach: Approach) -> Result<ArenaReport, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let folder = args.report.join(approach.name());
    let mut command = Command::new(program);
    command
        .args(["--headless", "--approach", approach.name(), "--report"])
        .arg(&folder);
    for (name, value) in [
        ("--seed", args.seed),
        ("--units", args.units as u64),
        ("--battle", args.battle),
    ] {
        command.arg(name).arg(value.to_string());
    }
    for (name, is_set) in [("--small", args.small), ("--busy", args.busy)] {
        if is_set {
            command.arg(name);
        }
    }
    let file = folder.join("report.json");
    // One of an earlier time says nothing of this one.
    let _ = fs::remove_file(&file);
    let status = command.status().map_err(|error| error.to_string())?;
    let text = fs::read(&file).map_err(|error| format!("{}: {error} ({status})", file.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", file.display()))
}
