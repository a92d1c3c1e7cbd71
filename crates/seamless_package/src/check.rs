//! The rules between the tables, checked once when a package is opened, so that nothing later has to doubt them.

use crate::codec::{Codec, check_sizes};
use crate::error::{PackageError, Place};
use crate::id::{ObjectId, ObjectRef, PackageSeed, RefTarget};
use crate::limits::Limits;
use crate::names::Names;
use crate::summary::Summary;
use crate::tables::{Bulk, Export, Import, Origin};
use std::iter;

/// The tables of a package, read but not yet believed.
pub(crate) struct Tables<'a> {
    pub summary: &'a Summary,
    pub names: &'a Names,
    pub imports: &'a [Import],
    pub origins: &'a [Origin],
    pub exports: &'a [Export],
    pub refs: &'a [ObjectRef],
    pub bulk: &'a [Bulk],
    pub limits: &'a Limits,
}

/// How far the shared lists and the data regions are used up by the exports before.
struct Progress {
    next_ref: u64,
    next_bulk: u64,
    class_end: u64,
    data_end: u64,
    bulk_end: u64,
    total_raw: u64,
    /// Length of each export's chain of outers, itself included.
    depths: Vec<u32>,
    /// Of this package, then of each origin.
    seeds: Vec<PackageSeed>,
    /// Origin and index there of every forced export so far.
    forced: Vec<(u32, u32)>,
}

type Rule = Result<(), &'static str>;

fn rule(holds: bool, what: &'static str) -> Rule {
    if holds { Ok(()) } else { Err(what) }
}

impl Tables<'_> {
    /// Checks every rule between the tables.
    pub(crate) fn check(&self) -> Result<(), PackageError> {
        for (index, import) in self.imports.iter().enumerate() {
            self.check_import(import)
                .map_err(|what| PackageError::malformed(Place::Import { index }, what))?;
        }
        self.check_origins()?;
        let summary = self.summary;
        let origins = self.origins.iter().map(|origin| origin.package);
        let packages = iter::once(summary.package_name).chain(origins);
        let mut progress = Progress {
            next_ref: 0,
            next_bulk: 0,
            class_end: summary.data_offset,
            data_end: summary.header_len(),
            bulk_end: summary.bulk_offset,
            total_raw: 0,
            depths: Vec::with_capacity(self.exports.len()),
            seeds: packages.map(|name| PackageSeed::new(self.names.known(name))).collect(),
            forced: Vec::new(),
        };
        for (index, export) in self.exports.iter().enumerate() {
            let malformed = |what| PackageError::malformed(self.place(index), what);
            self.check_identity(export, &mut progress).map_err(malformed)?;
            self.check_order(index, export).map_err(malformed)?;
            self.check_depth(index, export, &mut progress)?;
            self.check_refs(index, export, &mut progress).map_err(malformed)?;
            self.check_data(index, export, &mut progress)?;
            self.check_bulk(index, export, &mut progress)?;
        }
        self.check_end(&progress)
            .and_then(|()| self.check_forced(progress.forced))
            .map_err(|what| PackageError::malformed(Place::Exports, what))
    }

    /// Ascending by path: one origin is there once.
    fn check_origins(&self) -> Result<(), PackageError> {
        let mut previous = None;
        for (index, origin) in self.origins.iter().enumerate() {
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
        }
        Ok(())
    }

    /// Every origin has forced exports, each of another index there.
    fn check_forced(&self, mut forced: Vec<(u32, u32)>) -> Rule {
        forced.sort_unstable();
        let twice = forced.windows(2).any(|pair| pair.first() == pair.last());
        rule(!twice, "two forced exports are copied from one export")?;
        forced.dedup_by_key(|(origin, _)| *origin);
        rule(forced.len() == self.origins.len(), "nothing is copied from an origin")
    }

    fn place(&self, index: usize) -> Place {
        let name = self.exports.get(index).map(|export| export.name);
        Place::Export {
            index,
            name: name.map(|name| self.names.known(name)).unwrap_or_default().into(),
        }
    }

    fn check_import(&self, import: &Import) -> Rule {
        let missing = "a name is not in the name table";
        let package = self.names.get(import.package).ok_or(missing)?;
        let object = self.names.get(import.object).ok_or(missing)?;
        self.names.get(import.type_path).ok_or(missing)?;
        rule(
            import.package != self.summary.package_name,
            "the package imports from itself",
        )?;
        rule(
            import.object_id == ObjectId::new(package, object),
            "the object id is not that of the path",
        )
    }

    /// Own objects first, forced exports behind them, each under the id that it has where it is from.
    fn check_identity(&self, export: &Export, progress: &mut Progress) -> Rule {
        if export.is_forced() {
            progress.forced.push((export.origin, export.origin_index));
        } else {
            rule(progress.forced.is_empty(), "an own object follows a forced export")?;
            rule(export.origin_index == 0, "an own object has an index elsewhere")?;
        }
        let seed = progress.seeds.get(export.origin as usize);
        let seed = seed.ok_or("the origin is not in the origin table")?;
        let missing = "the name is not in the name table";
        let name = self.names.get(export.name).ok_or(missing)?;
        rule(
            export.object_id == seed.id(name),
            "the object id is not that of the path",
        )
    }

    /// Class before instance and outer before inner; a class stands alone.
    fn check_order(&self, index: usize, export: &Export) -> Rule {
        let earlier = |reference: ObjectRef| match reference.target() {
            RefTarget::Export(target) if target < index => self.exports.get(target),
            _ => None,
        };
        if export.is_class() {
            rule(!export.is_forced(), "a class is a forced export")?;
            rule(export.outer.is_none(), "a class has an outer")?;
            rule(export.ref_count == 0, "a class has references")?;
            rule(export.bulk_count == 0, "a class has bulk data")?;
            return rule(export.codec == Codec::None, "a class is compressed");
        }
        let class = earlier(export.class).ok_or("the class is no export before this one")?;
        rule(class.is_class(), "the class is an object")?;
        if export.outer.is_none() {
            return Ok(());
        }
        let outer = earlier(export.outer).ok_or("the outer is no export before this one")?;
        rule(!outer.is_class(), "the outer is a class")?;
        rule(
            outer.origin == export.origin,
            "the outer is an object of another package",
        )
    }

    fn check_depth(&self, index: usize, export: &Export, progress: &mut Progress) -> Result<(), PackageError> {
        let outer = match export.outer.target() {
            RefTarget::Export(outer) => progress.depths.get(outer).copied().unwrap_or(0),
            _ => 0,
        };
        let depth = outer.saturating_add(1);
        let limit = self.limits.depth;
        if depth > limit {
            let place = self.place(index);
            return PackageError::check_limit(place, "depth", limit.into(), depth.into());
        }
        progress.depths.push(depth);
        Ok(())
    }

    fn check_refs(&self, index: usize, export: &Export, progress: &mut Progress) -> Rule {
        rule(
            u64::from(export.first_ref) == progress.next_ref,
            "the references do not follow those of the export before",
        )?;
        let first = export.first_ref as usize;
        let end = first.saturating_add(export.ref_count as usize);
        let refs = self
            .refs
            .get(first..end)
            .ok_or("the references end outside of their list")?;
        progress.next_ref = end as u64;
        for reference in refs {
            match reference.target() {
                RefTarget::None => return Err("a reference refers to nothing"),
                RefTarget::Export(target) if target >= index => {
                    return Err("a reference is to no export before this one");
                }
                RefTarget::Export(target) if export.is_forced() && !self.may_force(target) => {
                    return Err("a forced export refers to an own object of the package");
                }
                RefTarget::Import(target) if target >= self.imports.len() => {
                    return Err("a reference is to an import that is not there");
                }
                RefTarget::Export(_) | RefTarget::Import(_) => {}
            }
        }
        Ok(())
    }

    /// Whether a forced export may refer to this export: a forced one stays with it, a class is everyone's.
    fn may_force(&self, target: usize) -> bool {
        let target = self.exports.get(target);
        target.is_some_and(|target| target.is_forced() || target.is_class())
    }

    fn check_data(&self, index: usize, export: &Export, progress: &mut Progress) -> Result<(), PackageError> {
        let summary = self.summary;
        let (end, region_end) = if export.is_class() {
            (&mut progress.class_end, summary.header_len())
        } else {
            (&mut progress.data_end, summary.bulk_offset)
        };
        advance(end, region_end, export.data_offset, export.stored_size)
            .and_then(|()| check_sizes(export.codec, export.stored_size, export.raw_size))
            .map_err(|what| PackageError::malformed(self.place(index), what))?;
        self.check_raw(export.raw_size, progress, || self.place(index))
    }

    fn check_bulk(&self, index: usize, export: &Export, progress: &mut Progress) -> Result<(), PackageError> {
        let malformed = |what| PackageError::malformed(self.place(index), what);
        if u64::from(export.first_bulk) != progress.next_bulk {
            return Err(malformed("the bulk entries do not follow those of the export before"));
        }
        let first = export.first_bulk as usize;
        let end = first.saturating_add(export.bulk_count as usize);
        let entries = self
            .bulk
            .get(first..end)
            .ok_or_else(|| malformed("the bulk entries end outside of their table"))?;
        progress.next_bulk = end as u64;
        for (payload, bulk) in entries.iter().enumerate() {
            let place = || Place::Bulk {
                index,
                name: self.names.known(export.name).into(),
                payload,
            };
            self.check_bulk_range(export, bulk, &mut progress.bulk_end)
                .and_then(|()| check_sizes(bulk.codec, bulk.stored_size, bulk.raw_size))
                .map_err(|what| PackageError::malformed(place(), what))?;
            let (limit, end) = (self.limits.file_bytes, bulk.offset.saturating_add(bulk.stored_size));
            if end > limit {
                PackageError::check_limit(place(), "file_bytes", limit, end)?;
            }
            self.check_raw(bulk.raw_size, progress, place)?;
        }
        Ok(())
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

    fn check_raw(&self, raw_size: u64, progress: &mut Progress, place: impl Fn() -> Place) -> Result<(), PackageError> {
        let limit = self.limits.raw_bytes_per_object;
        if raw_size > limit {
            PackageError::check_limit(place(), "raw_bytes_per_object", limit, raw_size)?;
        }
        progress.total_raw = progress.total_raw.saturating_add(raw_size);
        let limit = self.limits.total_raw_bytes;
        if progress.total_raw > limit {
            PackageError::check_limit(place(), "total_raw_bytes", limit, progress.total_raw)?;
        }
        Ok(())
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

/// Every byte belongs to one range: each starts where the one before ended, and none leaves its region.
fn advance(end: &mut u64, region_end: u64, offset: u64, size: u64) -> Rule {
    rule(offset == *end, "the data does not follow that of the entry before")?;
    *end = offset.saturating_add(size);
    rule(*end <= region_end, "the data ends outside of its region")
}

/// Ids with the index of their entry, in order of the ids, to find them by.
pub(crate) fn sorted_ids(
    ids: impl Iterator<Item = ObjectId>,
    place: impl Fn(usize) -> Place,
) -> Result<Vec<(ObjectId, usize)>, PackageError> {
    let mut sorted: Vec<_> = ids.enumerate().map(|(index, id)| (id, index)).collect();
    sorted.sort_unstable();
    let twice = sorted.windows(2).find_map(|pair| match pair {
        [(first, _), (second, index)] if first == second => Some(*index),
        _ => None,
    });
    match twice {
        None => Ok(sorted),
        Some(index) => {
            let what = "another entry has the same object id";
            Err(PackageError::malformed(place(index), what))
        }
    }
}
