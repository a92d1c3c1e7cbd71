//! Usual exports, many at a time.
//!
//! Nearly all exports are the package's own objects, and right. So a rule is asked of a whole column, without a branch, and most
//! rules of many exports in one instruction. The answer is yes or nothing: what is wrong, and where, tells [`exports`](super::exports),
//! which is the only judge.

use super::{Ends, Progress, Tables};
use crate::codec::{CODECS, check_sizes};
use crate::id::{ObjectId, ObjectRef, PackageSeed, Role};
use crate::tables::{Export, NameIndex, Wire};
use std::ops::Range;

type Short = [u8; 4];
type Long = [u8; 8];

/// The columns of a run of exports. The compiler knows their places.
macro_rules! column {
    ($tables:expr, $run:expr, $field:literal) => {
        $tables.exports.column::<{ Export::at($field) }, _>($run.clone())
    };
}

impl Tables<'_> {
    /// The exports from `first` on, up to the next class or forced export.
    pub(super) fn usual_run(&self, first: usize) -> Range<usize> {
        let rest = first..self.exports.len();
        let own = find(column!(self, rest, "class"), |class: &Short| *class == [0; 4]);
        let run = first..first.saturating_add(own);
        let own = find(column!(self, run, "origin"), |origin: &Short| *origin != [0; 4]);
        first..first.saturating_add(own)
    }

    /// Where the tables are used up to behind the run, if all of it keeps every rule. Nothing of `progress` has changed then
    /// but the depths of the run.
    pub(super) fn pass(&self, run: Range<usize>, progress: &mut Progress) -> Option<Ends> {
        let seed = *progress.seeds.first()?;
        if run.is_empty() || !progress.forced.is_empty() {
            return None;
        }
        let mut ends = progress.ends;
        let right = self.are_kinds_right(&run)
            && self.are_sizes_right(&run, &mut ends)
            && self.are_outers_right(&run, &mut progress.depths)
            && self.are_classes_right(&run, &progress.depths)
            && self.are_refs_right(&run, &mut ends)
            && self.are_payloads_right(&run, &mut ends)
            && self.are_ids_right(&run, seed);
        right.then_some(ends)
    }

    /// Roles and codecs are some, and what must be 0 is.
    fn are_kinds_right(&self, run: &Range<usize>) -> bool {
        let role = |[role]: &[u8; 1]| role.wrapping_sub(1);
        let roles = column!(self, run, "role").iter().map(role).fold(0, u8::max);
        let codecs = column!(self, run, "codec")
            .iter()
            .map(|[codec]| *codec)
            .fold(0, u8::max);
        let reserved = column!(self, run, "reserved")
            .iter()
            .map(|bytes| u16::from_le_bytes(*bytes));
        let elsewhere = column!(self, run, "origin_index").iter().map(short);
        roles < Role::ALL.bits()
            && usize::from(codecs) < CODECS.len()
            && reserved.fold(0, |all, one| all | one) == 0
            && elsewhere.fold(0, |all, one| all | one) == 0
    }

    /// The data of each follows that of the one before, and the sizes are possible.
    fn are_sizes_right(&self, run: &Range<usize>, ends: &mut Ends) -> bool {
        let offsets = column!(self, run, "data_offset");
        let (stored, raw) = (column!(self, run, "stored_size"), column!(self, run, "raw_size"));
        let (Some(data), Some(all_raw)) = (sum(stored), sum(raw)) else {
            return false;
        };
        let (data_end, total_raw) = (
            ends.data_end.checked_add(data.sum),
            ends.total_raw.checked_add(all_raw.sum),
        );
        let steps = offsets.iter().zip(stored).zip(offsets.get(1..).unwrap_or_default());
        let gaps = steps.fold(0, |gaps, ((offset, size), next)| {
            gaps | (long(offset).wrapping_add(long(size)) ^ long(next))
        });
        let right = gaps == 0
            && offsets.first().map(long) == Some(ends.data_end)
            && data_end.is_some_and(|end| end <= self.summary.bulk_offset)
            && total_raw.is_some_and(|total| total <= self.limits.total_raw_bytes)
            && all_raw.most <= self.limits.raw_bytes_per_object
            && self.are_sizes_possible(run, stored, raw);
        if let (Some(data_end), Some(total_raw)) = (data_end, total_raw) {
            (ends.data_end, ends.total_raw) = (data_end, total_raw);
        }
        right
    }

    fn are_sizes_possible(&self, run: &Range<usize>, stored: &[Long], raw: &[Long]) -> bool {
        let sizes = stored.iter().zip(raw);
        let codecs = column!(self, run, "codec");
        if codecs.iter().fold(0, |all, [codec]| all | codec) == 0 {
            return sizes.fold(0, |all, (stored, raw)| all | (long(stored) ^ long(raw))) == 0;
        }
        codecs.iter().zip(sizes).all(|([codec], (stored, raw))| {
            let codec = CODECS.get(usize::from(*codec));
            codec.is_some_and(|codec| check_sizes(*codec, long(stored), long(raw)).is_ok())
        })
    }

    /// Each outer is an object before, and no chain of them is too long. Leaves the lengths.
    fn are_outers_right(&self, run: &Range<usize>, depths: &mut [u32]) -> bool {
        let mut most = 0;
        for (index, outer) in run.clone().zip(column!(self, run, "outer")) {
            let (before, rest) = depths.split_at_mut_checked(index).unwrap_or_default();
            let outer = reference(outer);
            let outer_depth = match outer.is_none() {
                true => 0,
                false => before.get(outer.export_index()).copied().unwrap_or_default(),
            };
            // A class has a depth of 0, too.
            let Some(slot) = rest.first_mut().filter(|_| outer.is_none() || outer_depth > 0) else {
                return false;
            };
            *slot = outer_depth.saturating_add(1);
            most = most.max(*slot);
        }
        most <= self.limits.depth
    }

    /// Each class is one. It then is before the run, where none is, and nothing else than a class has a depth of 0.
    fn are_classes_right(&self, run: &Range<usize>, depths: &[u32]) -> bool {
        let known = depths.get(..run.end).unwrap_or_default();
        column!(self, run, "class")
            .iter()
            .all(|class| known.get(reference(class).export_index()) == Some(&0))
    }

    /// The references of each follow those of the one before, and are to imports or to exports before it.
    fn are_refs_right(&self, run: &Range<usize>, ends: &mut Ends) -> bool {
        let counts = column!(self, run, "ref_count");
        let Some(end) = follow(column!(self, run, "first_ref"), counts, ends.next_ref) else {
            return false;
        };
        let mut rest = self.refs.rows::<{ ObjectRef::SIZE }>(ends.next_ref as usize);
        ends.next_ref = end;
        let imports = self.summary.import_count;
        (run.start as u32..).zip(counts).all(|(index, count)| {
            let Some((refs, behind)) = rest.split_at_checked(short(count) as usize) else {
                return false;
            };
            rest = behind;
            refs.iter().all(|bytes| reference(bytes).is_within(index, imports))
        })
    }

    /// The payloads of each follow those of the one before, and are right. Most exports have none.
    fn are_payloads_right(&self, run: &Range<usize>, ends: &mut Ends) -> bool {
        let counts = column!(self, run, "bulk_count");
        let end = follow(column!(self, run, "first_bulk"), counts, ends.next_bulk);
        if end == Some(ends.next_bulk) {
            return true;
        }
        let with_payloads = run.clone().zip(counts).filter(|(_, count)| **count != [0; 4]);
        end.is_some()
            && with_payloads.map(|(index, _)| index).all(|index| {
                let export = self.exports.get(index);
                export.is_some_and(|export| self.check_payloads(index, &export, ends).is_ok())
            })
    }

    /// Each object has the id of its path.
    fn are_ids_right(&self, run: &Range<usize>, seed: PackageSeed) -> bool {
        let objects = column!(self, run, "name").iter().zip(column!(self, run, "object_id"));
        objects.into_iter().all(|(name, id)| {
            let name = self.names.bytes(NameIndex(short(name)));
            name.is_some_and(|name| seed.id(name) == ObjectId(long(id)))
        })
    }
}

#[inline]
fn short(bytes: &Short) -> u32 {
    u32::from_le_bytes(*bytes)
}

#[inline]
fn long(bytes: &Long) -> u64 {
    u64::from_le_bytes(*bytes)
}

#[inline]
fn reference(bytes: &Short) -> ObjectRef {
    ObjectRef::from_raw(i32::from_le_bytes(*bytes))
}

/// Position of the first that is looked for, or behind the last. Blocks without one are stepped over as a whole.
fn find(column: &[Short], is: impl Fn(&Short) -> bool) -> usize {
    let mut before = 0_usize;
    for block in column.chunks(64) {
        if block.iter().fold(false, |any, one| any | is(one)) {
            let within = block.iter().position(&is);
            return before.saturating_add(within.unwrap_or_default());
        }
        before = before.saturating_add(block.len());
    }
    before
}

struct Sum {
    sum: u64,
    /// No size is more than this.
    most: u64,
}

/// The sum of sizes, if it is so small that one look at their bits shows that it does not overflow.
fn sum(sizes: &[Long]) -> Option<Sum> {
    let most = sizes.iter().fold(0, |all, size| all | long(size));
    most.checked_mul(sizes.len() as u64)?;
    let sum = sizes.iter().fold(0, |sum, size| long(size).wrapping_add(sum));
    Some(Sum { sum, most })
}

/// Where counted things end, if each count starts where the one before ends, the first at `start`.
fn follow(starts: &[Short], counts: &[Short], start: u64) -> Option<u64> {
    let steps = starts.iter().zip(counts).zip(starts.get(1..).unwrap_or_default());
    let gaps = steps.fold(0, |gaps, ((start, count), next)| {
        gaps | (short(start).wrapping_add(short(count)) ^ short(next))
    });
    let end = counts
        .iter()
        .fold(start, |end, count| end.wrapping_add(short(count).into()));
    // The last is the largest: if it has 32 bits, nothing before has wrapped.
    let right = gaps == 0 && starts.first().map(|first| short(first).into()) == Some(start);
    (right && u32::try_from(end).is_ok()).then_some(end)
}
