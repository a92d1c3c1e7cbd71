//! Usual exports, many at a time.
//!
//! Nearly all exports are objects, and right. So a rule is asked of a whole column, without a branch, and most
//! rules of many exports in one instruction. The answer is yes or nothing: what is wrong, and where, tells [`exports`](super::exports),
//! which is the only judge.

use super::{Ends, NO_OBJECT, Progress, Tables};
use crate::codec::{CODECS, check_sizes};
use crate::id::{ObjectId, ObjectRef, PackageSeed, Role};
use crate::tables::{Export, NameIndex};
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
    /// The exports from `first` on, up to the next class, all of them own ones or all forced.
    pub(super) fn usual_run(&self, first: usize) -> Range<usize> {
        let rest = first..self.exports.len();
        let objects = find(column!(self, rest, "class"), |class: &Short| *class == [0; 4]);
        let run = first..first.saturating_add(objects);
        let origins = column!(self, run, "origin");
        let alike = match self.is_forced(&run) {
            true => find(origins, |origin: &Short| *origin == [0; 4]),
            false => find(origins, |origin: &Short| *origin != [0; 4]),
        };
        first..first.saturating_add(alike)
    }

    fn is_forced(&self, run: &Range<usize>) -> bool {
        column!(self, run, "origin")
            .first()
            .is_some_and(|origin| *origin != [0; 4])
    }

    /// Where the tables are used up to behind the run, if all of it keeps every rule. If not, nothing of `progress` has changed but the
    /// depths of the run.
    pub(super) fn pass(&self, run: Range<usize>, progress: &mut Progress) -> Option<Ends> {
        if run.is_empty() {
            return None;
        }
        let mut ends = progress.ends;
        let right = self.are_kinds_right(&run)
            && self.are_sizes_right(&run, &mut ends)
            && self.are_outers_right(&run, &mut progress.depths)
            && self.are_classes_right(&run, &progress.depths)
            && self.are_refs_right(&run, &mut ends)
            && self.are_payloads_right(&run, &mut ends)
            && match self.is_forced(&run) {
                true => self.are_forced_right(&run, ends.next_ref, progress),
                false => self.are_own_right(&run, progress),
            };
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
        let reserved = column!(self, run, "reserved").iter().map(|[byte]| *byte);
        roles < Role::ALL.bits()
            && usize::from(codecs) < CODECS.len()
            && reserved.fold(0, |all, one| all | one) == 0
            && self.are_marks_right(run)
    }

    /// Few are marked, and what is marked has payloads.
    fn are_marks_right(&self, run: &Range<usize>) -> bool {
        let uses = column!(self, run, "bulk_use");
        let all = uses.iter().fold(0, |all, [one]| all | one);
        if all == 0 {
            return true;
        }
        let counts = column!(self, run, "bulk_count");
        let with_payloads = |([one], count): (&[u8; 1], &Short)| *one == 0 || *count != [0; 4];
        all == 1 && self.summary.may_mark() && uses.iter().zip(counts).all(with_payloads)
    }

    /// The data of each follows that of the one before, and the sizes are possible.
    fn are_sizes_right(&self, run: &Range<usize>, ends: &mut Ends) -> bool {
        let offsets = column!(self, run, "data_offset");
        let (stored, raw) = (column!(self, run, "stored_size"), column!(self, run, "raw_size"));
        let Some(data) = follow_sizes(offsets, stored, raw, ends.data_end) else {
            return false;
        };
        // Where nothing is compressed, which one look at all sizes has shown, the raw sizes are the stored ones.
        let codecs = column!(self, run, "codec").iter().fold(0, |all, [codec]| all | codec);
        let all_raw = match codecs == 0 && data.is_plain {
            true => Some(data.stored),
            false => self.packed_sizes(run, stored, raw),
        };
        let total = all_raw.and_then(|raw| ends.total_raw.checked_add(raw.sum));
        let (Some(all_raw), Some(total_raw)) = (all_raw, total) else {
            return false;
        };
        (ends.data_end, ends.total_raw) = (data.end, total_raw);
        data.end <= self.summary.bulk_offset
            && total_raw <= self.limits.total_raw_bytes
            && all_raw.most <= self.limits.raw_bytes_per_object
    }

    /// The raw sizes, if each is possible for its codec.
    fn packed_sizes(&self, run: &Range<usize>, stored: &[Long], raw: &[Long]) -> Option<Sizes> {
        let codecs = column!(self, run, "codec").iter();
        let possible = codecs.zip(stored).zip(raw).all(|(([codec], stored), raw)| {
            let codec = CODECS.get(usize::from(*codec));
            codec.is_some_and(|codec| check_sizes(*codec, long(stored), long(raw)).is_ok())
        });
        let most = raw.iter().fold(0, |all, size| all | long(size));
        most.checked_mul(raw.len() as u64)?;
        let sum = raw.iter().fold(0, |sum, size| long(size).wrapping_add(sum));
        possible.then_some(Sizes { sum, most })
    }

    /// Each outer is an object before, and no chain of them is too long. Leaves the lengths.
    fn are_outers_right(&self, run: &Range<usize>, depths: &mut [u32]) -> bool {
        let mut slot = run.start.saturating_add(1);
        column!(self, run, "outer").chunks(16).all(|outers| {
            let same = outers.first().filter(|first| is_each(outers, first));
            let right = match same {
                // Neighbours often have one outer, or none.
                Some(outer) => self.set_depths(depths, slot..slot.wrapping_add(outers.len()), outer),
                None => (slot..)
                    .zip(outers)
                    .all(|(slot, outer)| self.set_depths(depths, slot..slot.wrapping_add(1), outer)),
            };
            slot = slot.wrapping_add(outers.len());
            right
        })
    }

    #[inline]
    fn set_depths(&self, depths: &mut [u32], slots: Range<usize>, outer: &Short) -> bool {
        // What is no object becomes 0, and so does what is yet to come.
        let outer = depths.get(reference(outer).export_number()).unwrap_or(&NO_OBJECT);
        let depth = outer.wrapping_add(1);
        depths.get_mut(slots).unwrap_or_default().fill(depth);
        depth > 0 && depth <= self.limits.depth
    }

    /// Each class is one: it is before the run then, in which all are objects.
    fn are_classes_right(&self, run: &Range<usize>, depths: &[u32]) -> bool {
        let known = depths.get(..=run.end).unwrap_or_default();
        for class in column!(self, run, "class") {
            if known.get(reference(class).export_number()) != Some(&NO_OBJECT) {
                return false;
            }
        }
        true
    }

    /// The references of each follow those of the one before, and are to imports or to exports before it.
    fn are_refs_right(&self, run: &Range<usize>, ends: &mut Ends) -> bool {
        let start = ends.next_ref;
        let end = follow(column!(self, run, "first_ref"), column!(self, run, "ref_count"), start);
        let refs = end.and_then(|end| self.refs.rows(start as usize..end as usize));
        let (Some(end), Some(refs)) = (end, refs) else {
            return false;
        };
        ends.next_ref = end;
        // An export is before the one that a reference belongs to, if the references of the next start no later than there.
        let next_starts = column!(self, (1..run.end), "first_ref");
        let first_import = (1_u64 << 32).saturating_sub(self.summary.import_count.into());
        for (place, target) in (start..).zip(refs) {
            let number = short(target);
            let right = match next_starts.get(number.wrapping_sub(1) as usize) {
                Some(next) => u64::from(short(next)) <= place,
                None => u64::from(number) >= first_import,
            };
            if !right {
                return false;
            }
        }
        true
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

    /// Own objects come first, are nowhere else, and have the id of their path.
    fn are_own_right(&self, run: &Range<usize>, progress: &Progress) -> bool {
        let elsewhere = column!(self, run, "origin_index").iter().map(short);
        let Some(seed) = progress.seeds.first().filter(|_| progress.forced.is_empty()) else {
            return false;
        };
        elsewhere.fold(0, |all, one| all | one) == 0 && self.are_ids_right(run, *seed)
    }

    /// Half of the time that opening takes per object is spent here: out of line, the numbers of the hash stay in registers.
    #[inline(never)]
    fn are_ids_right(&self, run: &Range<usize>, seed: PackageSeed) -> bool {
        for (name, id) in column!(self, run, "name").iter().zip(column!(self, run, "object_id")) {
            let name = self.names.bytes(NameIndex(short(name)));
            if name.is_none_or(|name| seed.id(name) != ObjectId(long(id))) {
                return false;
            }
        }
        true
    }

    /// Copies have the ids that they have at home, are parts of copies from there, and refer to no own object. Their references end
    /// at `end_of_refs`.
    fn are_forced_right(&self, run: &Range<usize>, end_of_refs: u64, progress: &mut Progress) -> bool {
        let origins = column!(self, run, "origin");
        let objects = column!(self, run, "name").iter().zip(column!(self, run, "object_id"));
        for (origin, (name, id)) in origins.iter().zip(objects) {
            let seed = progress.seeds.get(short(origin) as usize);
            let name = self.names.bytes(NameIndex(short(name)));
            let right = seed.zip(name).map(|(seed, name)| seed.id(name));
            if right != Some(ObjectId(long(id))) {
                return false;
            }
        }
        let all = column!(self, (0..run.end), "origin");
        for (origin, outer) in origins.iter().zip(column!(self, run, "outer")) {
            let outer = reference(outer).export_number().checked_sub(1);
            if outer.is_some_and(|outer| all.get(outer) != Some(origin)) {
                return false;
            }
        }
        if !self.refers_to_forced(run.start, end_of_refs, progress) {
            return false;
        }
        let indices = column!(self, run, "origin_index").iter().map(short);
        progress.forced.extend(origins.iter().map(short).zip(indices));
        true
    }

    /// Whether all references of the forced exports from `start` on, which are right otherwise, are to imports, to classes or to
    /// forced exports.
    fn refers_to_forced(&self, start: usize, end_of_refs: u64, progress: &Progress) -> bool {
        // All exports from the first forced one on are.
        let first = start.saturating_sub(progress.forced.len());
        let own = progress.depths.get(..=first).unwrap_or_default();
        let refs = self.refs.rows(progress.ends.next_ref as usize..end_of_refs as usize);
        refs.unwrap_or_default()
            .iter()
            .all(|target| own.get(short(target) as usize).is_none_or(|depth| *depth == NO_OBJECT))
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

fn is_each(column: &[Short], one: &Short) -> bool {
    column.iter().fold(true, |all, other| all & (other == one))
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

#[derive(Clone, Copy)]
struct Sizes {
    sum: u64,
    /// No size is more than this.
    most: u64,
}

struct Data {
    end: u64,
    stored: Sizes,
    /// Whether all sizes are the raw ones.
    is_plain: bool,
}

/// Where data ends, if each piece starts where the one before ends, the first at `start`; and if the sizes are so small that one
/// look at their bits shows that no sum overflows.
fn follow_sizes(offsets: &[Long], stored: &[Long], raw: &[Long], start: u64) -> Option<Data> {
    let last = stored.len().checked_sub(1)?;
    let (last_stored, last_raw) = (long(stored.get(last)?), long(raw.get(last)?));
    let pieces = offsets.iter().zip(offsets.get(1..)?).zip(stored.iter().zip(raw));
    let (mut gaps, mut differences, mut most) = (0, 0, 0);
    for ((offset, next), (stored, raw)) in pieces {
        let stored = long(stored);
        gaps |= long(offset).wrapping_add(stored) ^ long(next);
        differences |= stored ^ long(raw);
        most |= stored;
    }
    let most = most | last_stored;
    let longest = most.checked_mul(stored.len() as u64)?;
    start.checked_add(longest)?;
    let end = long(offsets.get(last)?).wrapping_add(last_stored);
    let sum = end.wrapping_sub(start);
    let right = gaps == 0 && long(offsets.first()?) == start;
    right.then_some(Data {
        end,
        stored: Sizes { sum, most },
        is_plain: differences | (last_stored ^ last_raw) == 0,
    })
}

/// Where counted things end, if each count starts where the one before ends, the first at `start`.
fn follow(starts: &[Short], counts: &[Short], start: u64) -> Option<u64> {
    let (first, last) = (starts.first()?, counts.last()?);
    let (mut gaps, mut end) = (0, start);
    for ((start, count), next) in starts.iter().zip(counts).zip(starts.get(1..)?) {
        gaps |= short(start).wrapping_add(short(count)) ^ short(next);
        end = end.wrapping_add(short(count).into());
    }
    let end = end.wrapping_add(short(last).into());
    // The last is the largest: if it has 32 bits, nothing before has wrapped.
    let right = gaps == 0 && u64::from(short(first)) == start && u32::try_from(end).is_ok();
    right.then_some(end)
}
