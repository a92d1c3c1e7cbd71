//! Folders and whole packages.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use seamless_level::WorldManifest;
use seamless_package::Package;
use serde_json::Value;

use super::super::folder::{CookedFolder, PackageFile, import_path};
use super::super::inspect::InspectError;
use super::{Change, DiffReport, ManifestDiff, PackageDiff, Sizes, level, objects, registries};

pub(super) fn diff(a: &CookedFolder, b: &CookedFolder) -> Result<DiffReport, InspectError> {
    let mut report = DiffReport::default();
    let files = a
        .packages
        .iter()
        .chain(&b.packages)
        .map(|package| package.file.as_str());
    for file in files.collect::<BTreeSet<_>>() {
        add(a.package(file), b.package(file), &mut report)?;
    }
    report.registries = registries::diff(a, b)?;
    let manifests = |folder: &'_ CookedFolder| -> BTreeMap<String, Value> {
        let named = folder.manifests.iter();
        named.map(|(file, manifest)| (file.clone(), flat(manifest))).collect()
    };
    let [a, b] = [manifests(a), manifests(b)];
    for manifest in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
        report
            .manifests
            .extend(manifest_diff(manifest, a.get(manifest), b.get(manifest)));
    }
    Ok(report)
}

/// Compares a package with what it was, if it was there.
pub(super) fn add(
    a: Option<&PackageFile>,
    b: Option<&PackageFile>,
    report: &mut DiffReport,
) -> Result<(), InspectError> {
    let is_same_by_tables = a
        .zip(b)
        .is_some_and(|(a, b)| a.package.summary() == b.package.summary());
    if let (Some(a), Some(b), true) = (a, b, is_same_by_tables)
        && same_bytes(a, b)?
    {
        report.equal += 1;
        return Ok(());
    }
    let Some(named) = a.or(b) else { return Ok(()) };
    let bytes = |file: Option<&PackageFile>| Some(file?.package.summary().file_len());
    let bytes = Sizes {
        before: bytes(a),
        after: bytes(b),
    };
    let mut header = a.zip(b).map_or_else(Vec::new, |(a, b)| header(&a.package, &b.package));
    if is_same_by_tables {
        header.push(
            "the tables are the same and the data is not: one is damaged, `seamless verify` says which".to_owned(),
        );
    }
    let level = match (a, b) {
        (Some(a), Some(b)) if !is_same_by_tables => level::diff(a, b)?,
        _ => None,
    };
    report.packages.push(PackageDiff {
        package: named.file.clone(),
        change: bytes.change(),
        bytes,
        header,
        objects: objects::diff(a.map(|file| &file.package), b.map(|file| &file.package)),
        level,
    });
    Ok(())
}

/// Whether two files are the same, byte for byte.
fn same_bytes(a: &PackageFile, b: &PackageFile) -> Result<bool, InspectError> {
    let [mut from_a, mut from_b] = [a.bytes()?, b.bytes()?];
    loop {
        let same = {
            let chunk_a = from_a.fill_buf().map_err(|error| a.io(error))?;
            let chunk_b = from_b.fill_buf().map_err(|error| b.io(error))?;
            let common = chunk_a.len().min(chunk_b.len());
            if chunk_a[..common] != chunk_b[..common] || (common == 0 && chunk_a.len() != chunk_b.len()) {
                return Ok(false);
            }
            common
        };
        if same == 0 {
            return Ok(true);
        }
        from_a.consume(same);
        from_b.consume(same);
    }
}

fn header(a: &Package, b: &Package) -> Vec<String> {
    let mut what = Vec::new();
    if a.name() != b.name() {
        what.push(format!("name {} -> {}", a.name(), b.name()));
    }
    let [was, is] = [a, b].map(|package| package.summary().format_version);
    if was != is {
        what.push(format!("format {was} -> {is}"));
    }
    let versions = |package: &Package| -> BTreeMap<String, Vec<String>> {
        let lists = package.version_lists();
        lists
            .map(|list| (list.label().to_owned(), list.entries().map(str::to_owned).collect()))
            .collect()
    };
    let [was, is] = [versions(a), versions(b)];
    for label in was.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
        let (was, is) = (was.get(label), is.get(label));
        if was != is {
            let number = |entries: Option<&Vec<String>>| entries.map_or(0, Vec::len);
            let same = if number(was) == number(is) {
                ", other entries"
            } else {
                ""
            };
            what.push(format!("versions {label} {} -> {}{same}", number(was), number(is)));
        }
    }
    let imports = |package: &Package| -> BTreeSet<String> {
        (0..package.imports().len())
            .map(|index| import_path(package, index))
            .collect()
    };
    let [was, is] = [imports(a), imports(b)];
    what.extend(is.difference(&was).map(|import| format!("imports {import}")));
    what.extend(was.difference(&is).map(|import| format!("no longer imports {import}")));
    what
}

/// A manifest as its parts by name. Content hashes of packages are left out: that they differ is told with the packages.
fn flat(manifest: &WorldManifest) -> Value {
    let mut value = serde_json::to_value(manifest).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("packages");
        for (list, noun) in [("levels", "level"), ("volumes", "volume")] {
            let Some(Value::Array(items)) = fields.remove(list) else {
                continue;
            };
            for item in items {
                let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
                fields.insert(format!("{noun} {name}"), item);
            }
        }
    }
    value
}

fn manifest_diff(manifest: &str, a: Option<&Value>, b: Option<&Value>) -> Option<ManifestDiff> {
    let change = match (a, b) {
        (Some(a), Some(b)) if a == b => return None,
        (Some(_), Some(_)) => Change::Changed,
        (None, _) => Change::Added,
        _ => Change::Removed,
    };
    let what = a.zip(b).map_or_else(Vec::new, |(a, b)| part_diffs(a, b));
    Some(ManifestDiff {
        manifest: manifest.to_owned(),
        change,
        what,
    })
}

fn keys(value: &Value) -> impl Iterator<Item = &String> {
    value.as_object().into_iter().flat_map(serde_json::Map::keys)
}

/// A line for each part that differs; for a level or a volume, with what differs of it.
pub(super) fn part_diffs(a: &Value, b: &Value) -> Vec<String> {
    let differs = |key: &&String| a.get(*key) != b.get(*key);
    let parts: BTreeSet<&String> = keys(a).chain(keys(b)).filter(differs).collect();
    let line = |part: &String| match (a.get(part), b.get(part)) {
        (None, _) => format!("{part} added"),
        (Some(_), None) => format!("{part} removed"),
        (Some(a), Some(b)) if a.is_object() && b.is_object() => format!("{part}: {}", part_diffs(a, b).join(", ")),
        (Some(Value::Array(_)), Some(Value::Array(_))) => part.clone(),
        (Some(a), Some(b)) => format!("{part} {a} -> {b}"),
    };
    parts.into_iter().map(line).collect()
}
