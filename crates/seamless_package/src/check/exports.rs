//! One export of whatever kind, and what is wrong with it.

use super::{Broken, Ends, NO_OBJECT, Progress, Rule, Tables, known, rule, within};
use crate::codec::{Codec, check_sizes};
use crate::error::{PackageError, Place};
use crate::id::{ObjectRef, RefTarget};
use crate::tables::{Bulk, Export};

impl Tables<'_> {
    /// Checks the next export.
    pub(super) fn check_export(&self, index: usize, progress: &mut Progress) -> Result<(), PackageError> {
        let export = self.exports.read(&Place::Exports, 0, index)?;
        self.check_entry(index, &export, progress)
            .map_err(|broken| broken.at(self.place(index)))?;
        if export.bulk_count > 0 {
            self.check_payloads(index, &export, &mut progress.ends)?;
        }
        progress.next = index.saturating_add(1);
        Ok(())
    }

    fn check_entry(&self, index: usize, export: &Export, progress: &mut Progress) -> Result<(), Broken> {
        self.check_identity(export, progress)?;
        let depth = self.check_order(index, export, progress)?;
        if let Some(slot) = progress.depths.get_mut(index.saturating_add(1)) {
            *slot = depth;
        }
        self.check_refs(index, export, &mut progress.ends)?;
        match export.is_class() {
            true => self.check_class_data(export, progress)?,
            false => self.check_data(export, &mut progress.ends)?,
        }
        rule(
            u64::from(export.first_bulk) == progress.ends.next_bulk,
            "the bulk entries do not follow those of the export before",
        )?;
        self.check_mark(export)?;
        Ok(())
    }

    /// What is marked has payloads to be left.
    fn check_mark(&self, export: &Export) -> Rule {
        let is_marked = export.bulk_use.is_marked();
        rule(
            !is_marked || self.summary.may_mark(),
            "an object of an older format version is marked",
        )?;
        rule(
            !is_marked || export.bulk_count > 0,
            "an export without bulk payloads is marked",
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
        let seed = known(seed, "the origin is not in the origin table")?;
        let missing = "the name is not in the name table";
        let name = known(self.names.bytes(export.name), missing)?;
        rule(
            export.object_id == seed.id(name),
            "the object id is not that of the path",
        )
    }

    /// Class before instance and outer before inner; a class stands alone. Gives the length of the chain of outers.
    fn check_order(&self, index: usize, export: &Export, progress: &mut Progress) -> Result<u32, Broken> {
        if export.is_class() {
            progress.classes.push(index);
            check_class(export)?;
            return Ok(NO_OBJECT);
        }
        let before = progress.depths.get(..=index).unwrap_or_default();
        let depth_of = |reference: ObjectRef| before.get(reference.export_number()).copied();
        let class = known(depth_of(export.class), "the class is no export before this one")?;
        rule(class == NO_OBJECT, "the class is an object")?;
        let outer = known(depth_of(export.outer), "the outer is no export before this one")?;
        rule(outer != NO_OBJECT, "the outer is a class")?;
        if !export.outer.is_none() {
            let same = self.origin_of(export.outer) == Some(export.origin);
            rule(same, "the outer is an object of another package")?;
        }
        let depth = outer.saturating_add(1);
        within("depth", self.limits.depth.into(), depth.into())?;
        Ok(depth)
    }

    fn origin_of(&self, export: ObjectRef) -> Option<u32> {
        let index = export.export_number().checked_sub(1)?;
        self.exports.field::<{ Export::at("origin") }, _>(index)
    }

    fn check_refs(&self, index: usize, export: &Export, ends: &mut Ends) -> Rule {
        rule(
            u64::from(export.first_ref) == ends.next_ref,
            "the references do not follow those of the export before",
        )?;
        let refs = self.refs.part(export.first_ref, export.ref_count);
        let refs = known(refs, "the references end outside of their list")?;
        ends.next_ref = ends.next_ref.wrapping_add(export.ref_count.into());
        refs.iter()
            .try_for_each(|reference| self.check_ref(index, export.is_forced(), reference))
    }

    fn check_ref(&self, index: usize, is_forced: bool, reference: ObjectRef) -> Rule {
        match reference.target() {
            RefTarget::None => Err("a reference refers to nothing"),
            RefTarget::Export(target) if target >= index => Err("a reference is to no export before this one"),
            RefTarget::Export(target) if is_forced && !self.may_force(target) => {
                Err("a forced export refers to an own object of the package")
            }
            RefTarget::Import(target) if target >= self.imports.len() => {
                Err("a reference is to an import that is not there")
            }
            RefTarget::Export(_) | RefTarget::Import(_) => Ok(()),
        }
    }

    /// Whether a forced export may refer to this export: a forced one stays with it, a class is everyone's.
    fn may_force(&self, target: usize) -> bool {
        let origin: Option<u32> = self.exports.field::<{ Export::at("origin") }, _>(target);
        let class: Option<ObjectRef> = self.exports.field::<{ Export::at("class") }, _>(target);
        origin.is_some_and(|origin| origin != 0) || class.is_some_and(ObjectRef::is_none)
    }

    fn check_data(&self, export: &Export, ends: &mut Ends) -> Result<(), Broken> {
        let region_end = self.summary.bulk_offset;
        advance(&mut ends.data_end, region_end, export.data_offset, export.stored_size)?;
        check_sizes(export.codec, export.stored_size, export.raw_size)?;
        self.check_raw(export.raw_size, &mut ends.total_raw)
    }

    /// Compressed classes are stored together, with the first of them; whether all of them have a size that is possible, is seen when
    /// all are known.
    fn check_class_data(&self, export: &Export, progress: &mut Progress) -> Result<(), Broken> {
        let (summary, ends) = (self.summary, &mut progress.ends);
        let region_end = summary.header_len();
        advance(&mut ends.class_end, region_end, export.data_offset, export.stored_size)?;
        let codec = *progress.class_codec.get_or_insert(export.codec);
        rule(export.codec == codec, "the classes are stored in different ways")?;
        if codec == Codec::None {
            check_sizes(codec, export.stored_size, export.raw_size)?;
        } else {
            rule(summary.may_pack_classes(), "a class is compressed")?;
            let is_first = progress.classes.len() == 1;
            rule(
                is_first || export.stored_size == 0,
                "the data of a class is not stored with that of the first",
            )?;
        }
        ends.class_raw = ends.class_raw.saturating_add(export.raw_size);
        self.check_raw(export.raw_size, &mut ends.total_raw)
    }

    /// The payloads of an export whose entry is right.
    pub(super) fn check_payloads(&self, index: usize, export: &Export, ends: &mut Ends) -> Result<(), PackageError> {
        let Some(entries) = self.bulk.part(export.first_bulk, export.bulk_count) else {
            let what = "the bulk entries end outside of their table";
            return Err(PackageError::malformed(self.place(index), what));
        };
        ends.next_bulk = ends.next_bulk.wrapping_add(export.bulk_count.into());
        let first = self.summary.bulk_entry_position(export.first_bulk);
        entries.try_for_each(&Place::Exports, first, |payload, bulk| {
            self.check_payload(export, &bulk, ends).map_err(|broken| {
                broken.at(Place::Bulk {
                    index,
                    name: self.export_name(index),
                    payload,
                })
            })
        })
    }

    fn check_payload(&self, export: &Export, bulk: &Bulk, ends: &mut Ends) -> Result<(), Broken> {
        self.check_bulk_range(export, bulk, &mut ends.bulk_end)?;
        check_sizes(bulk.codec, bulk.stored_size, bulk.raw_size)?;
        let end = bulk.offset.saturating_add(bulk.stored_size);
        within("file_bytes", self.limits.file_bytes, end)?;
        self.check_raw(bulk.raw_size, &mut ends.total_raw)
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
}

fn check_class(export: &Export) -> Rule {
    rule(!export.is_forced(), "a class is a forced export")?;
    rule(export.outer.is_none(), "a class has an outer")?;
    rule(export.ref_count == 0, "a class has references")?;
    rule(export.bulk_count == 0, "a class has bulk data")
}

/// Every byte belongs to one range: each starts where the one before ended, and none leaves its region.
fn advance(end: &mut u64, region_end: u64, offset: u64, size: u64) -> Rule {
    rule(offset == *end, "the data does not follow that of the entry before")?;
    *end = offset.saturating_add(size);
    rule(*end <= region_end, "the data ends outside of its region")
}
