//! `seamless clean`: what the cooker keeps, and nothing needs. See [`clean`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::graph::digest::Digest;
use crate::graph::output::{COOK_FOLDER, Output, write_error};
use crate::graph::state::{Memory, Units};
use crate::graph::storage::{Disk, Storage};
use crate::report::CookError;

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct CleanReport {
    /// Files that are gone.
    pub removed: usize,
    /// Files of the cooker that stay, because a world in the directory needs them.
    pub kept: usize,
    /// Bytes of what is gone.
    pub bytes: u64,
}

/// Removes the derived data in `directory` that no world cooked there needs any more; with `all`, all of it, and what is remembered of
/// the worlds: the next cook makes everything anew. Packages and manifests stay.
///
/// # Errors
/// [`CookError::Busy`] while somebody cooks there, [`CookError::Write`] when a file cannot be removed.
pub fn clean(directory: &Path, all: bool) -> Result<CleanReport, CookError> {
    let folder = directory.join(COOK_FOLDER);
    if !folder.is_dir() {
        return Ok(CleanReport::default());
    }
    let output = Output::open(&Disk, directory)?;
    let files = files_in(&folder);
    let (states, others): (Vec<PathBuf>, Vec<PathBuf>) =
        (files.into_iter()).partition(|file| file.extension().is_some_and(|extension| extension == "state"));
    let needed = if all { BTreeSet::new() } else { needed(&states) };
    let states = states.into_iter().map(|file| (file, !all));
    let others = others.into_iter().map(|file| {
        let is_needed = needed.contains(&file) || file.file_name().is_some_and(|name| name == "lock");
        (file, is_needed)
    });
    let mut report = CleanReport::default();
    for (file, is_needed) in states.chain(others) {
        if is_needed {
            report.kept += 1;
            continue;
        }
        report.bytes += fs::metadata(&file).map_or(0, |metadata| metadata.len());
        Disk.remove(&file).map_err(|source| write_error(&file, source))?;
        report.removed += 1;
    }
    drop(output);
    Ok(report)
}

/// The files of the cache that what is remembered speaks of.
fn needed(states: &[PathBuf]) -> BTreeSet<PathBuf> {
    let units = states
        .iter()
        .filter_map(|state| Memory::of(fs::read(state).ok()?).units());
    let folder = states.first().and_then(|state| state.parent()).unwrap_or(Path::new(""));
    let cache = crate::graph::cache::Cache::new(&Disk, folder.join("objects"));
    units
        .flat_map(|units| blobs(&units))
        .map(|blob| cache.path(&blob))
        .collect()
}

fn blobs(units: &Units) -> Vec<Digest> {
    let objects = units.objects.values().map(|object| object.blob);
    objects.chain(units.levels.values().map(|level| level.blob)).collect()
}

/// The files in a folder and those that it holds. Links are left alone: they lead elsewhere.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_in(&entry.path())),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files
}
