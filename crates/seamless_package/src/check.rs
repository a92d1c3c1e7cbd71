//! The rules between the tables, checked once when a package is opened, so that nothing later has to doubt them.

#[cfg(any(test, fuzzing))]
mod agree;
mod exports;
mod usual;

use crate::codec::{Codec, check_sizes};
use crate::error::{PackageError, Place};
use crate::id::{ObjectRef, PackageSeed};
use crate::limits::Limits;
use crate::names::Names;
use crate::summary::Summary;
use crate::table::{Order, Table};
use crate::tables::{Bulk, Export, Import, NameIndex, Origin};
use std::iter;

/// The tables of a package, read but not yet believed.
pub(crate) struct Tables<'a> {
    pub summary: &'a Summary,
    pub names: Names<'a>,
    pub imports: Table<'a, Import>,
    pub import_order: Order<'a, Import>,
    pub origins: Table<'a, Origin>,
    pub exports: Table<'a, Export>,
    pub export_order: Order<'a, Export>,
    pub refs: Table<'a, ObjectRef>,
    pub bulk: Table<'a, Bulk>,
    pub limits: &'a Limits,
}

/// How far the tables and the data regions are used up by the exports before.
#[derive(Clone, Copy)]
#[cfg_attr(any(test, fuzzing), derive(Debug, PartialEq))]
struct Ends {
    /// Sums of counts of 32 bits, of as many exports as 32 bits can count: these do not overflow.
    next_ref: u64,
    next_bulk: u64,
    class_end: u64,
    data_end: u64,
    bulk_end: u64,
    /// Size of the classes' data, unpacked.
    class_raw: u64,
    total_raw: u64,
}

const NO_OBJECT: u32 = u32::MAX;

/// What the exports before have left to check the next ones by.
#[cfg_attr(any(test, fuzzing), derive(Clone))]
struct Progress {
    /// The next export.
    next: usize,
    ends: Ends,
    /// By the number that refers to it: how long an export's chain of outers is, itself included. [`NO_OBJECT`] for a class and
    /// for what is yet to come; 0 in front, for a reference to nothing.
    depths: Vec<u32>,
    classes: Vec<usize>,
    /// How all classes are stored, as the first one says.
    class_codec: Option<Codec>,
    /// Of this package, then of each origin.
    seeds: Vec<PackageSeed>,
    /// Origin and index there of every forced export so far.
    forced: Vec<(u32, u32)>,
}

/// What an entry breaks; where it is comes from who reports it.
enum Broken {
    Rule(&'static str),
    Limit {
        field: &'static str,
        limit: u64,
        found: u64,
    },
}

impl From<&'static str> for Broken {
    fn from(what: &'static str) -> Self {
        Self::Rule(what)
    }
}

impl Broken {
    #[cold]
    fn at(self, place: Place) -> PackageError {
        match self {
            Self::Rule(what) => PackageError::malformed(place, what),
            Self::Limit { field, limit, found } => PackageError::Limit {
                place,
                field,
                limit,
                found,
            },
        }
    }
}

type Rule = Result<(), &'static str>;

#[inline]
fn rule(holds: bool, what: &'static str) -> Rule {
    if holds { Ok(()) } else { Err(broken(what)) }
}

#[inline]
fn known<T>(value: Option<T>, what: &'static str) -> Result<T, &'static str> {
    match value {
        Some(value) => Ok(value),
        None => Err(broken(what)),
    }
}

/// Out of line, so that the rules that hold, which are nearly all, do not carry the words for those that do not.
#[cold]
#[inline(never)]
fn broken(what: &'static str) -> &'static str {
    what
}

#[inline]
fn within(field: &'static str, limit: u64, found: u64) -> Result<(), Broken> {
    if found > limit {
        return Err(beyond(field, limit, found));
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn beyond(field: &'static str, limit: u64, found: u64) -> Broken {
    Broken::Limit { field, limit, found }
}

impl Tables<'_> {
    /// Checks every rule between the tables; gives the indices of the classes among the exports.
    pub(crate) fn check(&self) -> Result<Vec<usize>, PackageError> {
        self.check_imports()?;
        self.check_origins()?;
        let progress = self.check_exports()?;
        self.check_end(&progress.ends)
            .and_then(|()| self.check_forced(progress.forced))
            .map_err(|what| PackageError::malformed(Place::Exports, what))?;
        self.check_packed_classes(progress.class_codec.unwrap_or_default(), progress.ends.class_raw)
            .map_err(|broken| broken.at(Place::Exports))?;
        self.export_order.check(Place::Exports, |index| self.place(index))?;
        self.import_order
            .check(Place::Imports, |index| Place::Import { index })?;
        Ok(progress.classes)
    }

    fn start(&self) -> Progress {
        let summary = self.summary;
        let origins = self.origins.iter().map(|origin| origin.package);
        let packages = iter::once(summary.package_name).chain(origins);
        let mut depths = vec![NO_OBJECT; self.exports.len().saturating_add(1)];
        if let Some(nothing) = depths.first_mut() {
            *nothing = 0;
        }
        Progress {
            next: 0,
            ends: Ends {
                next_ref: 0,
                next_bulk: 0,
                class_end: summary.data_offset,
                data_end: summary.header_len(),
                bulk_end: summary.bulk_offset,
                class_raw: 0,
                total_raw: 0,
            },
            depths,
            classes: Vec::new(),
            class_codec: None,
            seeds: packages.map(|name| self.seed(name)).collect(),
            forced: Vec::new(),
        }
    }

    /// The usual exports in runs, the others one by one.
    fn check_exports(&self) -> Result<Progress, PackageError> {
        let mut progress = self.start();
        while progress.next < self.exports.len() {
            let run = self.usual_run(progress.next);
            #[cfg(any(test, fuzzing))]
            let before = progress.clone();
            if let Some(ends) = self.pass(run.clone(), &mut progress) {
                #[cfg(any(test, fuzzing))]
                self.assert_agreed(before, &run, ends, &progress);
                (progress.ends, progress.next) = (ends, run.end);
                continue;
            }
            // Something in the run is wrong, or so large that only this can tell; or there is no run.
            for index in run.start..run.end.max(run.start.saturating_add(1)) {
                self.check_export(index, &mut progress)?;
            }
        }
        Ok(progress)
    }

    fn seed(&self, package: NameIndex) -> PackageSeed {
        PackageSeed::new(self.names.bytes(package).unwrap_or_default())
    }

    #[cold]
    fn place(&self, index: usize) -> Place {
        let name = self.export_name(index);
        Place::Export { index, name }
    }

    fn export_name(&self, index: usize) -> String {
        let export = self.exports.get(index);
        let name = export.and_then(|export| self.names.get(export.name));
        name.unwrap_or_default().to_owned()
    }

    fn check_imports(&self) -> Result<(), PackageError> {
        // Many imports are from few packages: each of those is looked at once, or seldom more often.
        let mut packages = [None; 16];
        self.imports.try_for_each(&Place::Imports, 0, |index, import| {
            self.check_import(&import, &mut packages)
                .map_err(|what| PackageError::malformed(Place::Import { index }, what))
        })
    }

    fn check_import(&self, import: &Import, packages: &mut [Option<(NameIndex, PackageSeed)>; 16]) -> Rule {
        let missing = "a name is not in the name table";
        let seed = match packages.get_mut(usize::from(import.package.0 as u8 & 15)) {
            Some(Some((known, seed))) if *known == import.package => *seed,
            slot => {
                let path = known(self.names.bytes(import.package), missing)?;
                let own = self.names.bytes(self.summary.package_name);
                rule(Some(path) != own, "the package imports from itself")?;
                let seed = PackageSeed::new(path);
                if let Some(slot) = slot {
                    *slot = Some((import.package, seed));
                }
                seed
            }
        };
        let object = known(self.names.bytes(import.object), missing)?;
        known(self.names.bytes(import.type_path), missing)?;
        rule(
            import.object_id == seed.id(object),
            "the object id is not that of the path",
        )
    }

    /// Ascending by path: one origin is there once.
    fn check_origins(&self) -> Result<(), PackageError> {
        let own = self.names.bytes(self.summary.package_name);
        let mut previous = None;
        self.origins.try_for_each(&Place::Origins, 0, |index, origin| {
            let malformed = |what| PackageError::malformed(Place::Origin { index }, what);
            let path = self.names.bytes(origin.package);
            if path.is_none() {
                return Err(malformed("a name is not in the name table"));
            }
            if path == own {
                return Err(malformed("the package is its own origin"));
            }
            if previous >= path {
                return Err(malformed("the origins are not in ascending order of their paths"));
            }
            previous = path;
            Ok(())
        })
    }

    /// Every origin has forced exports, each of another index there.
    fn check_forced(&self, mut forced: Vec<(u32, u32)>) -> Rule {
        forced.sort_unstable();
        let twice = forced.windows(2).any(|pair| pair.first() == pair.last());
        rule(!twice, "two forced exports are copied from one export")?;
        forced.dedup_by_key(|(origin, _)| *origin);
        rule(forced.len() == self.origins.len(), "nothing is copied from an origin")
    }

    fn check_end(&self, ends: &Ends) -> Rule {
        let summary = self.summary;
        rule(ends.next_ref == summary.ref_count.into(), "references are left over")?;
        rule(
            ends.next_bulk == summary.bulk_count.into(),
            "bulk entries are left over",
        )?;
        rule(
            ends.class_end == summary.header_len(),
            "data is left over behind the last class",
        )?;
        rule(
            ends.data_end == summary.bulk_offset,
            "data is left over behind the last export",
        )?;
        rule(
            ends.bulk_end == summary.file_len,
            "data is left over behind the last bulk payload",
        )
    }

    /// Classes are unpacked on opening, all together: they may take no more memory than if they were not compressed.
    fn check_packed_classes(&self, codec: Codec, raw_size: u64) -> Result<(), Broken> {
        if codec == Codec::None {
            return Ok(());
        }
        check_sizes(codec, self.summary.class_data_size, raw_size)?;
        let unpacked = self.summary.data_offset.saturating_add(raw_size);
        within("header_bytes", self.limits.header_bytes, unpacked)
    }
}
