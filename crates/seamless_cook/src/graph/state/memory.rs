//! What is remembered of a cook, as bytes. See [`Memory`].

use core::ops::Range;
use std::collections::BTreeMap;
use std::panic::resume_unwind;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{FORMAT, FileUnits, FileUnitsOf, Outcome, Seen, SeenFiles, Units, UnitsOf};
use crate::assets::{ObjectRecord, from_bytes, in_words_of, to_bytes, to_bytes_of_list};
use crate::graph::recorder::SeenFile;
use crate::report::CookReport;

/// The parts of a [`Memory`], in their order.
#[derive(Clone, Copy)]
enum Part {
    /// [`Units`], less files.
    Units,
    /// [`Records`].
    Records,
    /// [`FileUnits`].
    FileUnits,
    /// [`SeenFiles`].
    Files,
    /// [`Outcome`].
    Outcome,
    /// [`CookReport`].
    Report,
    /// [`Seen`].
    Seen,
}

pub(super) const PARTS: usize = 7;
/// Bytes of the format, then of length and hash of each part.
pub(super) const FOOT: usize = 8 * (1 + 2 * PARTS);

/// What a cook leaves for the next, in parts, because a cook that finds nothing to do needs only some. Each is checked when it is
/// read; one that is damaged, or another version's, is none: then everything is cooked.
///
/// ```text
/// part, part …, format, length and xxh3 of each part
/// ```
pub(crate) struct Memory(Vec<u8>);

/// Where the objects lie in the part of the units, so that one can be put in the place of another.
#[derive(Serialize, Deserialize)]
pub(super) struct Records {
    /// Where the first begins, behind the texts.
    start: u64,
    lengths: Vec<u32>,
}

/// A part as bytes, with their hash.
struct Encoded {
    bytes: Vec<u8>,
    hash: u64,
}

impl Encoded {
    /// Plain data into memory: nothing that could fail.
    fn new(bytes: postcard::Result<Vec<u8>>) -> Self {
        let bytes = bytes.unwrap_or_default();
        let hash = xxh3_64(&bytes);
        Self { bytes, hash }
    }
}

/// What a cook can tell of sources before it is done, as bytes.
pub(crate) struct Kept([Encoded; 4]);

impl Kept {
    /// Of units, and of all files that they depend on, sorted.
    pub fn new(units: &UnitsOf, files: &FileUnitsOf, seen: &[(&str, SeenFile)]) -> Self {
        let (units, records) = match to_bytes_of_list(units, &units.objects) {
            Ok((units, start, lengths)) => {
                let start = start as u64;
                (Ok(units), postcard::to_allocvec(&Records { start, lengths }))
            }
            Err(error) => (Err(error.clone()), Err(error)),
        };
        Self([
            Encoded::new(units),
            Encoded::new(records),
            Encoded::new(to_bytes(files)),
            Encoded::new(postcard::to_allocvec(seen)),
        ])
    }

    /// As [`new`](Self::new), where of all units only these objects are others than in `memory`, by their places. They lead to no other
    /// ones. None if that memory is not sound.
    pub fn patched(
        memory: &Memory,
        changed: &BTreeMap<usize, &ObjectRecord>,
        files: &FileUnitsOf,
        seen: &[(&str, SeenFile)],
    ) -> Option<Self> {
        let (units, records) = memory.patched(changed)?;
        Some(Self([
            Encoded::new(Ok(units)),
            Encoded::new(postcard::to_allocvec(&records)),
            Encoded::new(to_bytes(files)),
            Encoded::new(postcard::to_allocvec(seen)),
        ]))
    }
}

impl Memory {
    /// What is to be remembered.
    pub fn new(kept: Kept, outcome: &Outcome, report: &CookReport, seen: &Seen) -> Self {
        let (outcome, report) = std::thread::scope(|scope| {
            let report = scope.spawn(|| Encoded::new(to_bytes(report)));
            let outcome = Encoded::new(postcard::to_allocvec(outcome));
            // Plain data: a panic is a fault of the cooker.
            (outcome, report.join().unwrap_or_else(|panic| resume_unwind(panic)))
        });
        let others = [outcome, report, Encoded::new(postcard::to_allocvec(seen))];
        let parts: Vec<&Encoded> = kept.0.iter().chain(&others).collect();
        let mut foot = u64::from(FORMAT).to_le_bytes().to_vec();
        for part in &parts {
            foot.extend((part.bytes.len() as u64).to_le_bytes());
            foot.extend(part.hash.to_le_bytes());
        }
        let bytes = parts.iter().map(|part| part.bytes.as_slice());
        Self(bytes.chain([foot.as_slice()]).collect::<Vec<_>>().concat())
    }

    /// The part of the units with other objects in these places.
    fn patched(&self, changed: &BTreeMap<usize, &ObjectRecord>) -> Option<(Vec<u8>, Records)> {
        let mut records = self.records()?;
        let (texts, bytes, objects) = in_words_of(self.part(Part::Units)?, changed.values())?;
        let mut patched = texts;
        patched.reserve(bytes.len() + objects.iter().map(Vec::len).sum::<usize>());
        let (mut next, mut taken) = (usize::try_from(records.start).ok()?, 0);
        let mut changed = changed.keys().zip(objects).peekable();
        for (place, length) in records.lengths.iter_mut().enumerate() {
            let object = next..next.checked_add(*length as usize)?;
            next = object.end;
            let Some((_, record)) = changed.next_if(|(changed, _)| **changed == place) else {
                continue;
            };
            // Its key is a number in front of it.
            let key = bytes.get(object.clone())?.iter().position(|byte| *byte < 0x80)? + 1;
            patched.extend(bytes.get(taken..object.start + key)?);
            patched.extend(&record);
            *length = u32::try_from(key + record.len()).ok()?;
            taken = object.end;
        }
        patched.extend(bytes.get(taken..)?);
        (changed.peek().is_none() && next == bytes.len()).then_some((patched, records))
    }

    /// The bytes of a file, whatever they are.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn seen(&self) -> Option<Seen> {
        self.read(Part::Seen)
    }

    pub fn files(&self) -> Option<SeenFiles> {
        self.read(Part::Files)
    }

    pub fn report(&self) -> Option<CookReport> {
        from_bytes(self.part(Part::Report)?).ok()
    }

    pub fn outcome(&self) -> Option<Outcome> {
        self.read(Part::Outcome)
    }

    /// Without files, which are a part of their own.
    pub fn units(&self) -> Option<Units> {
        from_bytes(self.part(Part::Units)?).ok()
    }

    pub(super) fn records(&self) -> Option<Records> {
        self.read(Part::Records)
    }

    pub fn file_units(&self) -> Option<FileUnits> {
        from_bytes(self.part(Part::FileUnits)?).ok()
    }

    fn read<T: DeserializeOwned>(&self, part: Part) -> Option<T> {
        postcard::from_bytes(self.part(part)?).ok()
    }

    /// The bytes of a part, if they are what was written.
    fn part(&self, part: Part) -> Option<&[u8]> {
        let (parts, foot) = self.0.split_last_chunk::<FOOT>()?;
        let ([format, told @ ..], _) = foot.as_chunks::<8>() else {
            return None;
        };
        if u64::from_le_bytes(*format) != u64::from(FORMAT) {
            return None;
        }
        let mut start = 0;
        for (index, [length, hash]) in told.as_chunks::<2>().0.iter().enumerate() {
            let range = range(start, u64::from_le_bytes(*length))?;
            start = range.end;
            if index == part as usize {
                let bytes = parts.get(range)?;
                return (xxh3_64(bytes) == u64::from_le_bytes(*hash)).then_some(bytes);
            }
        }
        None
    }
}

fn range(start: usize, length: u64) -> Option<Range<usize>> {
    let length = usize::try_from(length).ok()?;
    Some(start..start.checked_add(length)?)
}
