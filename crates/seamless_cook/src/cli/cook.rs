//! What `seamless cook` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use seamless_asset::{StartupPinned, StartupReport};

use super::paint::{WARNING, size};
use super::{FAILED, complain_error, complain_of, to_json};
use crate::layout::{Choice, LayoutReport};
use crate::report::{CookError, CookReport, CookWork, DialogueReport, counted};

/// What there was to do, unless that was nothing.
fn work(work: &CookWork) -> String {
    if *work == CookWork::default() {
        return String::new();
    }
    format!(
        "  {} loaded, {} encoded, {} written; all else was as it should be\n",
        counted(work.sources_loaded as usize, "source"),
        counted(work.encoded as usize, "object"),
        counted(work.packages_written as usize, "package"),
    )
}

pub(super) fn report_cook(
    result: &Result<CookReport, CookError>,
    out: &Path,
    json: Option<PathBuf>,
    text: &mut String,
) -> ExitCode {
    let report = match result {
        Ok(report) => Some(report),
        Err(CookError::Content(report)) => Some(&**report),
        Err(_) => None,
    };
    for warning in report.into_iter().flat_map(|report| &report.warnings) {
        complain_of("warning", WARNING, warning);
    }
    for error in report.into_iter().flat_map(|report| &report.errors) {
        complain_error(error);
    }
    let mut code = match result {
        Ok(report) => {
            let did = if report.work == CookWork::default() {
                format!("`{}` is up to date", report.world)
            } else {
                format!("cooked `{}`", report.world)
            };
            *text += &format!(
                "{did}: {}, {} entities, {}, {} in {:.1} s to {}\n",
                counted(report.levels.len(), "level"),
                report.entities,
                counted(report.packages.len(), "package"),
                size(report.bytes),
                report.seconds,
                out.display(),
            );
            *text += &work(&report.work);
            print_without_volume(&report.without_volume, text);
            print_layout(&report.layout, text);
            print_dialogue(&report.dialogue, text);
            if let Some(startup) = &report.startup {
                print_startup(startup, text);
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain_error(error);
            ExitCode::from(FAILED)
        }
    };
    if let (Some(report), Some(path)) = (report, json) {
        let mut json = String::new();
        to_json(report, &mut json);
        if let Err(error) = std::fs::write(&path, json) {
            complain_error(format_args!("{}: {error}; give another `--json`", path.display()));
            code = ExitCode::from(FAILED);
        }
    }
    code
}

/// So many of the levels without a volume are named.
const NAMED: usize = 3;

fn print_without_volume(levels: &[String], text: &mut String) {
    if levels.is_empty() {
        return;
    }
    let named = levels[..levels.len().min(NAMED)].join("`, `");
    let more = if levels.len() > NAMED { " …" } else { "" };
    *text += &format!(
        "no volume loads {} (`{named}`{more}): by `DistanceStreaming`, or when the game asks for it; `on_request: true` where only the game does\n",
        counted(levels.len(), "level"),
    );
}

/// Where objects lie that several levels use, and what that saves.
fn print_layout(layout: &LayoutReport, text: &mut String) {
    if layout.groups.is_empty() {
        return;
    }
    let places = [
        (Choice::Duplicate, layout.copied),
        (Choice::Share, layout.shared),
        (Choice::Persistent, layout.persistent),
    ];
    let places: Vec<String> = (places.iter().filter(|(_, total)| total.objects > 0))
        .map(|(choice, total)| format!("{} {} ({})", total.objects, choice.name(), size(total.stored_bytes)))
        .collect();
    *text += &format!("objects of several levels: {}\n", places.join(", "));
    let baselines = [
        ("sharing", &layout.share_everything),
        ("copying", &layout.duplicate_everything),
    ];
    for (name, cost) in baselines {
        let differences = layout.chosen.against(cost);
        if !differences.is_empty() {
            *text += &format!("  against {name} everything: {}\n", differences.join(", "));
        }
    }
}

/// How many variants of each set the levels have that are limited.
fn print_dialogue(report: &[DialogueReport], text: &mut String) {
    let mut sets: BTreeMap<&str, Vec<&DialogueReport>> = BTreeMap::new();
    for dealt in report {
        sets.entry(&dealt.set).or_default().push(dealt);
    }
    for (set, dealt) in sets {
        let counts = || dealt.iter().map(|dealt| dealt.sounds.len());
        let (least, most) = (counts().min().unwrap_or_default(), counts().max().unwrap_or_default());
        let each = match least == most {
            true => most.to_string(),
            false => format!("{least} to {most}"),
        };
        let all: BTreeSet<&String> = dealt.iter().flat_map(|dealt| &dealt.sounds).collect();
        *text += &format!(
            "dialogue `{set}`: {each} of {} in {}, {} in all of them together\n",
            counted(dealt.first().map_or(0, |dealt| dealt.variants as usize), "variant"),
            counted(dealt.len(), "limited level"),
            all.len(),
        );
    }
}

/// What the startup content pins, and for whom.
pub(super) fn print_startup(report: &StartupReport, text: &mut String) {
    let objects = |pinned: &StartupPinned| counted(pinned.objects as usize, "object");
    *text += &format!(
        "startup content: {}, {} in memory for ever, {} in {}\n",
        objects(&report.total),
        size(report.total.resident_bytes),
        size(report.package_bytes),
        report.package,
    );
    for owner in &report.owners {
        *text += &format!(
            "  {}: alone {}, {}; with others {}, {}\n",
            owner.owner,
            objects(&owner.exclusive),
            size(owner.exclusive.resident_bytes),
            objects(&owner.shared),
            size(owner.shared.resident_bytes),
        );
        for path in &owner.paths {
            *text += &format!("    {path}\n");
        }
    }
}

#[cfg(test)]
mod tests;
