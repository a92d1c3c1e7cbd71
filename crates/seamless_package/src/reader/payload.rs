//! Taking data out of a package's file, and payloads out of the file that they lie in.

use super::Package;
use crate::codec::{Codec, unpack};
use crate::error::{PackageError, Place};
use crate::tables::{Bulk, Export};
use std::borrow::Cow;
use std::ops::Range;
use twox_hash::XxHash3_64;

/// Where a bulk payload lies, and how: all that is needed to read it alone.
///
/// ```
/// # use seamless_package::*;
/// # let mut writer = PackageWriter::new("shared/bark.pkg");
/// # let class = writer.class(&Schema {
/// #     type_path: "game::Texture".into(), encoding: 1, immutable: false, version: 1, hash: 1, description: "".into(),
/// # })?;
/// # writer.export(NewExport {
/// #     name: "Bark", class, outer: ObjectRef::NONE, role: Role::ALL, data: vec![].into(), refs: vec![],
/// #     bulk: vec![vec![7; 4096].into()], bulk_use: PayloadUse::OnDemand, codec: Codec::Zstd,
/// # })?;
/// # let file = writer.finish()?;
/// # let package = Package::parse(&file, &Limits::default())?;
/// # let bark = package.find_name("Bark").expect("was cooked");
/// let location = package.bulk_location(bark, 0).expect("was cooked");
/// assert_eq!(location.origin, None, "it is in the package's own file");
/// let stored = &file[location.range.start as usize..location.range.end as usize];
/// assert_eq!(*location.unpack(stored)?, [7; 4096]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkLocation<'a> {
    /// The package in whose file it lies: path, and the content hash that it had; none for this package's own.
    pub origin: Option<(&'a str, u64)>,
    /// The bytes of that file.
    pub range: Range<u64>,
    /// Size in bytes when decompressed.
    pub raw_size: u64,
    /// xxh3-64 of the stored bytes.
    pub checksum: u64,
    /// How it is stored.
    pub codec: Codec,
    package: &'a str,
    export: usize,
    name: &'a str,
    payload: usize,
}

impl<'a> BulkLocation<'a> {
    /// The payload out of the bytes at [`range`](Self::range), checked and decompressed; more bytes are ignored. What is
    /// stored as it is, is borrowed.
    ///
    /// # Errors
    /// [`PackageError::Truncated`] if there are fewer bytes, [`PackageError::Checksum`] if they are damaged,
    /// [`PackageError::StaleBulk`] if they are in another package's file and not those that were there,
    /// [`PackageError::Decompress`] and [`PackageError::OutOfMemory`].
    pub fn unpack<'b>(&self, stored: &'b [u8]) -> Result<Cow<'b, [u8]>, PackageError> {
        let place = || self.place();
        let Range { start, end } = self.range;
        let stored = slice(stored, start, start, end.saturating_sub(start), place)?;
        if self.origin.is_some() && XxHash3_64::oneshot(stored) != self.checksum {
            return Err(self.stale("where other bytes lie now"));
        }
        unpack(verify(stored, self.checksum, place)?, self.codec, self.raw_size, place)
    }

    /// Where in the file a part of the payload lies; none if it is compressed, or not so long. Only a whole payload can be
    /// checked: its checksum covers all of it.
    pub fn part(&self, part: Range<u64>) -> Option<Range<u64>> {
        let start = self.range.start.checked_add(part.start)?;
        let end = self.range.start.checked_add(part.end)?;
        (self.codec == Codec::None && start <= end && end <= self.range.end).then_some(start..end)
    }

    fn place(&self) -> Place {
        Place::Bulk {
            index: self.export,
            name: self.name.into(),
            payload: self.payload,
        }
    }

    fn stale(&self, what: &'static str) -> PackageError {
        PackageError::StaleBulk {
            place: self.place(),
            package: self.package.into(),
            origin: self.origin.map(|(package, _)| package).unwrap_or_default().into(),
            what,
        }
    }
}

impl Package {
    /// Where the data of export `index` is in the file; none if there is no such export. Compressed classes are all in one place.
    pub fn export_range(&self, index: usize) -> Option<Range<u64>> {
        let export = self.exports().get(index)?;
        if is_packed_class(&export) {
            return Some(file_range(self.summary.data_offset, self.summary.class_data_size));
        }
        Some(file_range(export.data_offset, export.stored_size))
    }

    /// Where a bulk payload lies; none if the export or the payload is not there.
    pub fn bulk_location(&self, index: usize, payload: usize) -> Option<BulkLocation<'_>> {
        let bulk = self.bulk(index).get(payload)?;
        let origin = self.origin(bulk.origin);
        Some(BulkLocation {
            origin: origin.map(|origin| (self.names().known(origin.package), origin.content_hash)),
            range: file_range(bulk.offset, bulk.stored_size),
            raw_size: bulk.raw_size,
            checksum: bulk.checksum,
            codec: bulk.codec,
            package: self.name(),
            export: index,
            name: self.export_name(index)?,
            payload,
        })
    }

    /// Data of export `index`, checked and decompressed. `tail` is a part of the file that starts at its byte
    /// `tail_offset`. Data that is stored as it is, is borrowed, at whatever alignment it has there. What a class's data says is in its
    /// [`schema`](Self::schema) already; where classes are packed together, one's data takes unpacking all of them.
    ///
    /// # Errors
    /// [`PackageError::NoSuchEntry`] and [`PackageError::OutsideBytes`] if the caller is wrong,
    /// [`PackageError::Truncated`] if `tail` ends too early, [`PackageError::Checksum`] if it is damaged,
    /// [`PackageError::Decompress`] and [`PackageError::OutOfMemory`].
    pub fn export_data<'a>(
        &self,
        index: usize,
        tail: &'a [u8],
        tail_offset: u64,
    ) -> Result<Cow<'a, [u8]>, PackageError> {
        let place = || self.place(index);
        let Some(export) = self.exports().get(index) else {
            let (place, count) = (place(), self.exports().len());
            return Err(PackageError::NoSuchEntry { place, count });
        };
        if is_packed_class(&export) {
            return self.packed_class(index, tail, tail_offset).map(Cow::Owned);
        }
        let stored = slice(tail, tail_offset, export.data_offset, export.stored_size, place)?;
        unpack(
            verify(stored, export.checksum, place)?,
            export.codec,
            export.raw_size,
            place,
        )
    }

    /// The data of all classes, of which these are the exports, in their order. What is not compressed is borrowed.
    pub(super) fn class_data<'a>(
        &self,
        classes: &[usize],
        tail: &'a [u8],
        tail_offset: u64,
    ) -> Result<Cow<'a, [u8]>, PackageError> {
        let (mut codec, mut raw_size) = (Codec::None, 0_u64);
        for &index in classes {
            let Some(class) = self.exports().get(index) else {
                continue;
            };
            // Of compressed classes, the first has all that is stored, and the others nothing.
            let place = || self.place(index);
            let stored = slice(tail, tail_offset, class.data_offset, class.stored_size, place)?;
            verify(stored, class.checksum, place)?;
            (codec, raw_size) = (class.codec, raw_size.saturating_add(class.raw_size));
        }
        let summary = &self.summary;
        let place = || Place::Classes;
        let stored = slice(tail, tail_offset, summary.data_offset, summary.class_data_size, place)?;
        unpack(stored, codec, raw_size, place)
    }

    /// Takes the data of a class off the front of that of all that are left.
    pub(super) fn next_class<'a>(&self, index: usize, rest: &mut &'a [u8]) -> &'a [u8] {
        let size: Option<u64> = self.exports().field::<{ Export::at("raw_size") }, _>(index);
        // All of them together have the size of what was unpacked.
        let size = size.unwrap_or_default() as usize;
        let (data, behind) = rest.split_at_checked(size).unwrap_or((rest, &[]));
        *rest = behind;
        data
    }

    fn packed_class(&self, index: usize, tail: &[u8], tail_offset: u64) -> Result<Vec<u8>, PackageError> {
        let classes: Vec<usize> = self.schemas().map(|(class, _)| class).collect();
        let all = self.class_data(&classes, tail, tail_offset)?;
        let mut rest = &*all;
        for class in classes.into_iter().take_while(|class| *class < index) {
            self.next_class(class, &mut rest);
        }
        Ok(self.next_class(index, &mut rest).to_vec())
    }

    /// A bulk payload of export `index` that lies in this file, checked and decompressed; see
    /// [`export_data`](Self::export_data).
    ///
    /// # Errors
    /// As [`export_data`](Self::export_data), and [`PackageError::ExternalBulk`] if it lies in another package's file:
    /// read that at [`bulk_location`](Self::bulk_location).
    pub fn bulk_data<'a>(
        &self,
        index: usize,
        payload: usize,
        tail: &'a [u8],
        tail_offset: u64,
    ) -> Result<Cow<'a, [u8]>, PackageError> {
        let location = self.known_location(index, payload)?;
        if let Some((origin, _)) = location.origin {
            return Err(PackageError::ExternalBulk {
                place: location.place(),
                origin: origin.into(),
            });
        }
        let Range { start, end } = location.range;
        let size = end.saturating_sub(start);
        location.unpack(slice(tail, tail_offset, start, size, || location.place())?)
    }

    /// Whether a payload that lies in the file of `other` is still there as it was: the payload of the same object and number has
    /// the same offset, sizes, codec and checksum, whatever else was edited. A payload that lies in this package's own file
    /// always is.
    ///
    /// # Errors
    /// [`PackageError::StaleBulk`] if it is not, [`PackageError::WrongOrigin`] if it lies in no file of `other`,
    /// [`PackageError::NoSuchEntry`] if the export or the payload is not there.
    pub fn check_origin(&self, index: usize, payload: usize, other: &Package) -> Result<(), PackageError> {
        let location = self.known_location(index, payload)?;
        let Some((origin, _)) = location.origin else {
            return Ok(());
        };
        if origin != other.name() {
            return Err(PackageError::WrongOrigin {
                place: location.place(),
                origin: origin.into(),
                found: other.name().into(),
            });
        }
        let object = self
            .exports()
            .get(index)
            .and_then(|export| other.find(export.object_id));
        let Some(object) = object else {
            return Err(location.stale("where the object is no more"));
        };
        let ours = self.bulk(index).get(payload);
        let theirs = other.bulk(object).get(payload);
        let same = |theirs: &Bulk| theirs.origin == 0 && ours.as_ref().is_some_and(|ours| ours.is_at(theirs));
        match theirs {
            Some(theirs) if same(&theirs) => Ok(()),
            Some(_) => Err(location.stale("where the payload has changed")),
            None => Err(location.stale("where the object has no such payload any more")),
        }
    }

    fn known_location(&self, index: usize, payload: usize) -> Result<BulkLocation<'_>, PackageError> {
        self.bulk_location(index, payload)
            .ok_or_else(|| PackageError::NoSuchEntry {
                place: Place::Bulk {
                    index,
                    name: self.export_name(index).unwrap_or_default().into(),
                    payload,
                },
                count: self.bulk(index).len(),
            })
    }
}

/// Whether it is stored together with all other classes.
fn is_packed_class(export: &Export) -> bool {
    export.is_class() && export.codec != Codec::None
}

fn file_range(offset: u64, size: u64) -> Range<u64> {
    offset..offset.saturating_add(size)
}

/// The bytes of the file from `offset` on, out of `tail`, which starts at the file's byte `tail_offset`.
pub(super) fn slice(
    tail: &[u8],
    tail_offset: u64,
    offset: u64,
    size: u64,
    place: impl Fn() -> Place,
) -> Result<&[u8], PackageError> {
    let Some(start) = offset.checked_sub(tail_offset) else {
        return Err(PackageError::OutsideBytes {
            place: place(),
            start: offset,
            have_start: tail_offset,
        });
    };
    let range = usize::try_from(start).ok().and_then(|start| {
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        tail.get(start..end)
    });
    range.ok_or_else(|| PackageError::Truncated {
        place: place(),
        need: offset.saturating_add(size),
        have: tail_offset.saturating_add(tail.len() as u64),
    })
}

pub(super) fn verify(bytes: &[u8], expected: u64, place: impl Fn() -> Place) -> Result<&[u8], PackageError> {
    let found = XxHash3_64::oneshot(bytes);
    if found == expected {
        return Ok(bytes);
    }
    let place = place();
    Err(PackageError::Checksum { place, expected, found })
}
