//! What the page tells, gathered from the tables of the packages. See [`Facts`].

use std::collections::{BTreeMap, BTreeSet};

use seamless_asset::STARTUP_EXPORT;

use super::super::folder::{CookedFolder, PackageFile, class_name, local_path};
use crate::write::LEFT_OUT;

/// How many of the largest objects are told.
const LARGEST: usize = 40;

/// Everything about a folder but what is there twice.
pub(super) struct Facts {
    pub worlds: Vec<String>,
    /// By size, the largest first.
    pub packages: Vec<PackageFacts>,
    /// Type path, objects, stored bytes and raw bytes; the largest first.
    pub types: Vec<(String, TypeFacts)>,
    /// The largest first.
    pub largest: Vec<ObjectFacts>,
    pub objects: usize,
    pub bytes: u64,
}

/// All objects of one type.
#[derive(Default, Clone, Copy)]
pub(super) struct TypeFacts {
    pub objects: usize,
    pub stored: u64,
    pub raw: u64,
}

/// What a package is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Level,
    Startup,
    Shared,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Level => "level",
            Self::Startup => "startup",
            Self::Shared => "shared",
        }
    }
}

pub(super) struct PackageFacts {
    pub file: String,
    pub kind: Kind,
    pub bytes: u64,
    /// Summary and tables.
    pub tables: u64,
    pub objects: usize,
    pub copies: usize,
    /// Stored bytes by type.
    pub types: BTreeMap<String, u64>,
    /// The packages that are opened for it.
    pub imports: BTreeSet<String>,
    /// The packages that payloads of its copies lie in.
    pub payloads: BTreeSet<String>,
}

pub(super) struct ObjectFacts {
    pub package: String,
    pub object: String,
    pub class: String,
    pub stored: u64,
    pub raw: u64,
}

/// Stored and raw bytes of an export, with its payloads in the package's own file.
pub(super) fn sizes(file: &PackageFile, index: usize) -> (u64, u64) {
    let own = file.package.bulk(index);
    let own = own.iter().filter(|bulk| bulk.origin == 0);
    let export = file.package.exports().get(index);
    let start = export.map_or((0, 0), |export| (export.stored_size, export.raw_size));
    own.fold(start, |(stored, raw), bulk| {
        (
            stored.saturating_add(bulk.stored_size),
            raw.saturating_add(bulk.raw_size),
        )
    })
}

impl Facts {
    pub fn of(folder: &CookedFolder) -> Self {
        let mut types: BTreeMap<String, TypeFacts> = BTreeMap::new();
        let mut largest = Vec::new();
        let mut packages: Vec<PackageFacts> = Vec::new();
        for file in &folder.packages {
            packages.push(package_facts(file, &mut types, &mut largest));
            // Not more in memory than is told.
            largest.sort_by(|a: &ObjectFacts, b| b.stored.cmp(&a.stored).then_with(|| a.object.cmp(&b.object)));
            largest.truncate(LARGEST);
        }
        packages.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.file.cmp(&b.file)));
        let mut types: Vec<_> = types.into_iter().collect();
        types.sort_by_key(|(_, facts)| core::cmp::Reverse(facts.stored));
        Self {
            worlds: folder
                .manifests
                .iter()
                .map(|(_, manifest)| manifest.name.clone())
                .collect(),
            objects: packages.iter().map(|package| package.objects).sum(),
            bytes: packages.iter().map(|package| package.bytes).sum(),
            packages,
            types,
            largest,
        }
    }

    pub fn title(&self) -> String {
        match self.worlds.is_empty() {
            true => "Cooked packages".to_owned(),
            false => format!("Cook of {}", self.worlds.join(", ")),
        }
    }

    /// The colour of a type: the largest have their own.
    pub fn colour(&self, class: &str) -> usize {
        let last = super::page::TYPE_COLOURS - 1;
        let place = self.types.iter().position(|(known, _)| known == class);
        place.unwrap_or(last).min(last)
    }
}

fn package_facts(
    file: &PackageFile,
    types: &mut BTreeMap<String, TypeFacts>,
    largest: &mut Vec<ObjectFacts>,
) -> PackageFacts {
    let package = &file.package;
    let summary = package.summary();
    let mut by_type: BTreeMap<String, u64> = BTreeMap::new();
    for index in 0..package.exports().len() {
        let class = class_name(package, index);
        let (stored, raw) = sizes(file, index);
        *by_type.entry(class.to_owned()).or_default() += stored;
        let all = types.entry(class.to_owned()).or_default();
        all.objects += 1;
        all.stored += stored;
        all.raw += raw;
        // The original is told once, its copies with what is stored more than once.
        if package.origin_of(index).is_none() {
            largest.push(ObjectFacts {
                package: file.file.clone(),
                object: local_path(package, index),
                class: class.to_owned(),
                stored,
                raw,
            });
        }
    }
    let kind = match file.level() {
        Some(_) => Kind::Level,
        None if package.find_name(STARTUP_EXPORT).is_some() => Kind::Startup,
        None => Kind::Shared,
    };
    let imports = (0..package.imports().len()).filter(|index| package.forced_for_import(*index).is_none());
    let exports = package.exports();
    let external = exports
        .iter()
        .enumerate()
        .filter(|(index, _)| package.bulk(*index).iter().any(|bulk| bulk.origin != 0));
    PackageFacts {
        file: file.file.clone(),
        kind,
        bytes: summary.file_len(),
        tables: summary.data_offset,
        objects: exports.len(),
        copies: exports.iter().filter(|export| export.is_forced()).count(),
        types: by_type,
        imports: imports
            .filter_map(|index| package.import_package(index))
            .filter(|file| *file != LEFT_OUT)
            .map(str::to_owned)
            .collect(),
        payloads: external
            .filter_map(|(index, _)| Some(package.origin_of(index)?.package.to_owned()))
            .collect(),
    }
}
