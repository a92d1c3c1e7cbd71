//! The rules between the tables, checked once when a package is opened, so that nothing later has to doubt them.

use crate::codec::{Codec, check_sizes};
use crate::error::{PackageError, Place};
use crate::id::{ObjectRef, PackageSeed, RefTarget};
use crate::limits::Limits;
use crate::names::Names;
use crate::summary::Summary;
use crate::table::{Order, Table};
use crate::tables::{Bulk, Export, Import, NameIndex, Origin};
use std::iter;

/// The tables of a package, read but not yet believed.
pub(crate) struct Tables<'a> {
    pub summary: &'a Summary,
    pub names: Names<'a, str>,
    pub imports: Table<'a, Import>,
    pub import_order: Order<'a, Import>,
    pub origins: Table<'a, Origin>,
    pub exports: Table<'a, Export>,
    pub export_order: Order<'a, Export>,
    pub refs: Table<'a, ObjectRef>,
    pub bulk: Table<'a, Bulk>,
    pub limits: &'a Limits,
}

/// What later exports need to know of an export.
#[derive(Clone, Copy)]
struct Seen {
    /// Length of its chain of outers, itself included; 0 for a class.
    depth: u32,
    origin: u32,
}

impl Seen {
    fn is_class(self) -> bool {
        self.depth == 0
    }
}

/// How far the shared lists and the data regions are used up by the exports before.
struct Progress {
    /// Sums of counts of 32 bits, of as many exports as 32 bits can count: these do not overflow.
    next_ref: u64,
    next_bulk: u64,
    class_end: u64,
    data_end: u64,
    bulk_end: u64,
    total_raw: u64,
    seen: Vec<Seen>,
    classes: Vec<usize>,
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
        let mut progress = self.start();
        self.exports.try_for_each(&Place::Exports, 0, |index, export| {
            self.check_export(index, &export, &mut progress)
                .map_err(|broken| broken.at(self.place(index)))?;
            match export.bulk_count {
                0 => Ok(()),
                _ => self.check_payloads(index, &mut progress),
            }
        })?;
        self.check_end(&progress)
            .and_then(|()| self.check_forced(progress.forced))
            .map_err(|what| PackageError::malformed(Place::Exports, what))?;
        self.export_order.check(Place::Exports, |index| self.place(index))?;
        self.import_order
            .check(Place::Imports, |index| Place::Import { index })?;
        Ok(progress.classes)
    }

    fn start(&self) -> Progress {
        let summary = self.summary;
        let origins = self.origins.iter().map(|origin| origin.package);
        let packages = iter::once(summary.package_name).chain(origins);
        Progress {
            next_ref: 0,
            next_bulk: 0,
            class_end: summary.data_offset,
            data_end: summary.header_len(),
            bulk_end: summary.bulk_offset,
            total_raw: 0,
            seen: Vec::with_capacity(self.exports.len()),
            classes: Vec::new(),
            seeds: packages.map(|name| self.seed(name)).collect(),
            forced: Vec::new(),
        }
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
        // Imports from one package often follow each other.
        let mut package = (NameIndex(0), self.seed(NameIndex(0)));
        self.imports.try_for_each(&Place::Imports, 0, |index, import| {
            if package.0 != import.package {
                package = (import.package, self.seed(import.package));
            }
            self.check_import(&import, package.1)
                .map_err(|what| PackageError::malformed(Place::Import { index }, what))
        })
    }

    fn check_import(&self, import: &Import, package: PackageSeed) -> Rule {
        let missing = "a name is not in the name table";
        known(self.names.bytes(import.package), missing)?;
        let object = known(self.names.bytes(import.object), missing)?;
        known(self.names.bytes(import.type_path), missing)?;
        rule(
            import.package != self.summary.package_name,
            "the package imports from itself",
        )?;
        rule(
            import.object_id == package.id(object),
            "the object id is not that of the path",
        )
    }

    /// Ascending by path: one origin is there once.
    fn check_origins(&self) -> Result<(), PackageError> {
        let mut previous = None;
        self.origins.try_for_each(&Place::Origins, 0, |index, origin| {
            let malformed = |what| PackageError::malformed(Place::Origin { index }, what);
            if self.names.get(origin.package).is_none() {
                return Err(malformed("a name is not in the name table"));
            }
            if origin.package == self.summary.package_name {
                return Err(malformed("the package is its own origin"));
            }
            if previous >= Some(origin.package) {
                return Err(malformed("the origins are not in ascending order of their paths"));
            }
            previous = Some(origin.package);
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

    #[inline]
    fn check_export(&self, index: usize, export: &Export, progress: &mut Progress) -> Result<(), Broken> {
        self.check_identity(export, progress)?;
        let depth = self.check_order(index, export, progress)?;
        progress.seen.push(Seen {
            depth,
            origin: export.origin,
        });
        self.check_refs(index, export, progress)?;
        self.check_data(export, progress)?;
        rule(
            u64::from(export.first_bulk) == progress.next_bulk,
            "the bulk entries do not follow those of the export before",
        )?;
        Ok(())
    }

    /// Own objects first, forced exports behind them, each under the id that it has where it is from.
    #[inline]
    fn check_identity(&self, export: &Export, progress: &mut Progress) -> Rule {
        if export.is_forced() {
            progress.forced.push((export.origin, export.origin_index));
        } else {
            rule(progress.forced.is_empty(), "an own object follows a forced export")?;
            rule(export.origin_index == 0, "an own object has an index elsewhere")?;
        }
        let seed = progress.seeds.get(export.origin as usize);
        let seed = known(seed, "the origin is not in the origin table")?;
        let missing = "the name is not in the name table";
        let name = known(self.names.bytes(export.name), missing)?;
        rule(
            export.object_id == seed.id(name),
            "the object id is not that of the path",
        )
    }

    /// Class before instance and outer before inner; a class stands alone. Gives the length of the chain of outers.
    #[inline]
    fn check_order(&self, index: usize, export: &Export, progress: &mut Progress) -> Result<u32, Broken> {
        if export.is_class() {
            progress.classes.push(index);
            check_class(export)?;
            return Ok(0);
        }
        // Only those before this one were seen.
        let seen = |reference: ObjectRef| progress.seen.get(reference.export_index()).copied();
        let class = known(seen(export.class), "the class is no export before this one")?;
        rule(class.is_class(), "the class is an object")?;
        let mut depth = 1;
        if !export.outer.is_none() {
            let outer = known(seen(export.outer), "the outer is no export before this one")?;
            rule(!outer.is_class(), "the outer is a class")?;
            let same = outer.origin == export.origin;
            rule(same, "the outer is an object of another package")?;
            depth = outer.depth.saturating_add(1);
        }
        within("depth", self.limits.depth.into(), depth.into())?;
        Ok(depth)
    }

    #[inline]
    fn check_refs(&self, index: usize, export: &Export, progress: &mut Progress) -> Rule {
        rule(
            u64::from(export.first_ref) == progress.next_ref,
            "the references do not follow those of the export before",
        )?;
        let refs = self.refs.part(export.first_ref, export.ref_count);
        let refs = known(refs, "the references end outside of their list")?;
        progress.next_ref = progress.next_ref.wrapping_add(export.ref_count.into());
        let (is_forced, imports) = (export.is_forced(), self.summary.import_count);
        // Almost all are references of the package's own objects, which this allows.
        if !is_forced && refs.iter().all(|reference| reference.is_within(index as u32, imports)) {
            return Ok(());
        }
        self.check_each_ref(index, is_forced, refs, progress)
    }

    #[cold]
    fn check_each_ref(&self, index: usize, is_forced: bool, refs: Table<ObjectRef>, progress: &Progress) -> Rule {
        refs.iter()
            .try_for_each(|reference| self.check_ref(index, is_forced, reference, progress))
    }

    fn check_ref(&self, index: usize, is_forced: bool, reference: ObjectRef, progress: &Progress) -> Rule {
        match reference.target() {
            RefTarget::None => Err("a reference refers to nothing"),
            RefTarget::Export(target) if target >= index => Err("a reference is to no export before this one"),
            RefTarget::Export(target) if is_forced && !may_force(progress, target) => {
                Err("a forced export refers to an own object of the package")
            }
            RefTarget::Import(target) if target >= self.imports.len() => {
                Err("a reference is to an import that is not there")
            }
            RefTarget::Export(_) | RefTarget::Import(_) => Ok(()),
        }
    }

    #[inline]
    fn check_data(&self, export: &Export, progress: &mut Progress) -> Result<(), Broken> {
        let summary = self.summary;
        let (end, region_end) = if export.is_class() {
            (&mut progress.class_end, summary.header_len())
        } else {
            (&mut progress.data_end, summary.bulk_offset)
        };
        advance(end, region_end, export.data_offset, export.stored_size)?;
        check_sizes(export.codec, export.stored_size, export.raw_size)?;
        self.check_raw(export.raw_size, &mut progress.total_raw)
    }

    fn check_payloads(&self, index: usize, progress: &mut Progress) -> Result<(), PackageError> {
        let Some(export) = self.exports.get(index) else {
            return Ok(());
        };
        let Some(entries) = self.bulk.part(export.first_bulk, export.bulk_count) else {
            let what = "the bulk entries end outside of their table";
            return Err(PackageError::malformed(self.place(index), what));
        };
        progress.next_bulk = progress.next_bulk.wrapping_add(export.bulk_count.into());
        let first = self.summary.bulk_entry_position(export.first_bulk);
        entries.try_for_each(&Place::Exports, first, |payload, bulk| {
            self.check_payload(&export, &bulk, progress).map_err(|broken| {
                broken.at(Place::Bulk {
                    index,
                    name: self.export_name(index),
                    payload,
                })
            })
        })
    }

    fn check_payload(&self, export: &Export, bulk: &Bulk, progress: &mut Progress) -> Result<(), Broken> {
        self.check_bulk_range(export, bulk, &mut progress.bulk_end)?;
        check_sizes(bulk.codec, bulk.stored_size, bulk.raw_size)?;
        let end = bulk.offset.saturating_add(bulk.stored_size);
        within("file_bytes", self.limits.file_bytes, end)?;
        self.check_raw(bulk.raw_size, &mut progress.total_raw)
    }

    /// A payload follows the one before, or lies in the file that its object is from.
    fn check_bulk_range(&self, export: &Export, bulk: &Bulk, end: &mut u64) -> Rule {
        if bulk.origin == 0 {
            return advance(end, self.summary.file_len, bulk.offset, bulk.stored_size);
        }
        rule(
            bulk.origin == export.origin,
            "the payload lies in a package that the object is not from",
        )?;
        let fits = bulk.offset.checked_add(bulk.stored_size).is_some();
        rule(fits, "the payload ends outside of every file")
    }

    #[inline]
    fn check_raw(&self, raw_size: u64, total: &mut u64) -> Result<(), Broken> {
        within("raw_bytes_per_object", self.limits.raw_bytes_per_object, raw_size)?;
        *total = total.saturating_add(raw_size);
        within("total_raw_bytes", self.limits.total_raw_bytes, *total)
    }

    fn check_end(&self, progress: &Progress) -> Rule {
        let summary = self.summary;
        rule(
            progress.next_ref == summary.ref_count.into(),
            "references are left over",
        )?;
        rule(
            progress.next_bulk == summary.bulk_count.into(),
            "bulk entries are left over",
        )?;
        rule(
            progress.class_end == summary.header_len(),
            "data is left over behind the last class",
        )?;
        rule(
            progress.data_end == summary.bulk_offset,
            "data is left over behind the last export",
        )?;
        rule(
            progress.bulk_end == summary.file_len,
            "data is left over behind the last bulk payload",
        )
    }
}

#[inline]
fn check_class(export: &Export) -> Rule {
    rule(!export.is_forced(), "a class is a forced export")?;
    rule(export.outer.is_none(), "a class has an outer")?;
    rule(export.ref_count == 0, "a class has references")?;
    rule(export.bulk_count == 0, "a class has bulk data")?;
    rule(export.codec == Codec::None, "a class is compressed")
}

/// Whether a forced export may refer to this export: a forced one stays with it, a class is everyone's.
fn may_force(progress: &Progress, target: usize) -> bool {
    let target = progress.seen.get(target);
    target.is_some_and(|target| target.origin != 0 || target.is_class())
}

/// Every byte belongs to one range: each starts where the one before ended, and none leaves its region.
#[inline]
fn advance(end: &mut u64, region_end: u64, offset: u64, size: u64) -> Rule {
    rule(offset == *end, "the data does not follow that of the entry before")?;
    *end = offset.saturating_add(size);
    rule(*end <= region_end, "the data ends outside of its region")
}
