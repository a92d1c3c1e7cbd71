//! What is stored more than once: copies in seek-free levels, and equal bytes under different names.

use std::collections::{BTreeMap, BTreeSet};

use super::super::folder::{CookedFolder, PackageFile, class_name, object_path, target_path};
use super::facts::sizes;
use super::page::{Cell, Page, share, short_type};
use crate::cli::paint::size;
use crate::report::counted;

/// How many of them are told, and how many places of each.
const TOLD: usize = 30;
const PLACES: usize = 3;

/// All that makes two objects the same; their names are not part of it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Content {
    class: String,
    raw_size: u64,
    checksum: u64,
    refs: Vec<Option<String>>,
    /// Checksum and size of each payload.
    bulk: Vec<(u64, u64)>,
}

/// An object that is stored at several places.
struct Duplicate {
    class: String,
    /// The bytes of each, and all but the first together.
    bytes: u64,
    wasted: u64,
    objects: BTreeSet<String>,
    places: Vec<String>,
}

pub(super) fn section(folder: &CookedFolder, page: &mut Page) {
    let duplicates = find(folder);
    let wasted: u64 = duplicates.iter().map(|duplicate| duplicate.wasted).sum();
    let all = folder
        .packages
        .iter()
        .map(|file| file.package.summary().file_len())
        .sum();
    let copies = duplicates.iter().filter(|duplicate| duplicate.objects.len() == 1);
    let copied: u64 = copies.map(|duplicate| duplicate.wasted).sum();
    page.section(
        "Stored more than once",
        &format!(
            "{} of {} are repeated, {:.1} %: {} are copies that levels hold to be read without a seek, {} are equal content under \
             different names.",
            size(wasted),
            size(all),
            share(wasted, all) * 100.0,
            size(copied),
            size(wasted - copied)
        ),
    );
    let most = duplicates.first().map_or(0, |duplicate| duplicate.wasted);
    let rows: Vec<Vec<Cell>> = duplicates
        .iter()
        .take(TOLD)
        .map(|duplicate| row(duplicate, most))
        .collect();
    if !rows.is_empty() {
        page.table(&["Object", "Type", "Where", "Times#", "Bytes#", "Repeated#", ""], &rows);
    }
}

fn row(duplicate: &Duplicate, most: u64) -> Vec<Cell> {
    let lines = |lines: Vec<&String>| {
        let more = lines.len().saturating_sub(PLACES);
        let more = (more > 0).then(|| format!("and {more} more"));
        Cell::Lines(lines.into_iter().take(PLACES).cloned().chain(more).collect())
    };
    vec![
        lines(duplicate.objects.iter().collect()),
        Cell::Text(short_type(&duplicate.class)),
        lines(duplicate.places.iter().collect()),
        Cell::Text(counted(duplicate.places.len(), "time").replace(" times", "")),
        Cell::Bytes(duplicate.bytes),
        Cell::Bytes(duplicate.wasted),
        Cell::Bar(share(duplicate.wasted, most)),
    ]
}

/// The objects that are stored more than once, the most wasteful first. Descriptions of types are in every package, by design.
fn find(folder: &CookedFolder) -> Vec<Duplicate> {
    let mut known: BTreeMap<Content, Vec<(&PackageFile, usize)>> = BTreeMap::new();
    for file in &folder.packages {
        for (index, export) in file.package.exports().iter().enumerate() {
            if !export.is_class() && sizes(file, index).0 > 0 {
                known.entry(content(file, index)).or_default().push((file, index));
            }
        }
    }
    let repeated = known.into_iter().filter(|(_, places)| places.len() > 1);
    let mut duplicates: Vec<Duplicate> = repeated.map(|(content, places)| duplicate(content, &places)).collect();
    duplicates.sort_by(|a, b| b.wasted.cmp(&a.wasted).then_with(|| a.objects.cmp(&b.objects)));
    duplicates
}

fn content(file: &PackageFile, index: usize) -> Content {
    let package = &file.package;
    let refs = package.refs(index);
    let export = package.exports().get(index);
    Content {
        class: class_name(package, index).to_owned(),
        raw_size: export.as_ref().map_or(0, |export| export.raw_size),
        checksum: export.map_or(0, |export| export.checksum),
        refs: refs
            .iter()
            .map(|reference| target_path(package, reference.target()))
            .collect(),
        bulk: package
            .bulk(index)
            .iter()
            .map(|bulk| (bulk.checksum, bulk.raw_size))
            .collect(),
    }
}

fn duplicate(content: Content, places: &[(&PackageFile, usize)]) -> Duplicate {
    let bytes = || places.iter().map(|(file, index)| sizes(file, *index).0);
    let most = bytes().max().unwrap_or_default();
    Duplicate {
        class: content.class,
        bytes: most,
        // The payloads of some may lie with others.
        wasted: bytes().sum::<u64>() - most,
        objects: places
            .iter()
            .map(|(file, index)| object_path(&file.package, *index))
            .collect(),
        places: places.iter().map(|(file, _)| file.file.clone()).collect(),
    }
}
