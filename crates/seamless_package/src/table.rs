//! Tables of an open package, read where they lie. See [`Table`].

use crate::cursor::Cursor;
use crate::error::{PackageError, Place};
use crate::id::ObjectId;
use crate::tables::Wire;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::slice::ChunksExact;

/// The records of one table of an open package, in the order of the file.
///
/// Nothing is copied when a package is opened: a record is decoded, out of a few bytes, when it is asked for. All of them
/// were checked when the package was opened.
///
/// ```
/// # use seamless_package::*;
/// # let mut writer = PackageWriter::new("levels/meadow.pkg");
/// # writer.import("shared/bark.pkg", "Bark", "game::Material", Role::CLIENT)?;
/// # let package = Package::parse(writer.finish()?, &Limits::default())?;
/// let imports = package.imports();
/// assert_eq!(imports.len(), 1);
/// assert_eq!(imports.get(0).expect("was cooked").role, Role::CLIENT);
/// assert!(imports.iter().all(|import| package.name_of(import.package) == Some("shared/bark.pkg")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Table<'a, T> {
    bytes: &'a [u8],
    records: PhantomData<T>,
}

impl<'a, T: Wire> Table<'a, T> {
    /// The records that `bytes` hold; a part of one at the end is left out.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let records = PhantomData;
        Self { bytes, records }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.bytes.chunks_exact(T::SIZE).len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The record with this index; none if there are fewer.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        decode(self.bytes(index)?)
    }

    /// All records, from the first.
    pub fn iter(&self) -> TableIter<'a, T> {
        TableIter {
            rest: self.bytes.chunks_exact(T::SIZE),
            records: PhantomData,
        }
    }

    /// The records, decoded.
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().collect()
    }

    /// The `count` records from `first` on; none if there are fewer.
    #[inline]
    pub(crate) fn part(&self, first: u32, count: u32) -> Option<Self> {
        let start = (first as usize).checked_mul(T::SIZE)?;
        let end = (count as usize).checked_mul(T::SIZE)?.checked_add(start)?;
        Some(Self::new(self.bytes.get(start..end)?))
    }

    /// Calls `check` with every record, in order; what is no record ends it, or what `check` refuses. The table starts
    /// `start` bytes behind the start of `place`.
    #[inline]
    pub(crate) fn try_for_each(
        &self,
        place: &Place,
        start: usize,
        mut check: impl FnMut(usize, T) -> Result<(), PackageError>,
    ) -> Result<(), PackageError> {
        for (index, bytes) in self.bytes.chunks_exact(T::SIZE).enumerate() {
            match decode(bytes) {
                Some(record) => check(index, record)?,
                None => return self.no_record(place, start, index),
            }
        }
        Ok(())
    }

    /// Says why there is no record with this index.
    #[cold]
    fn no_record(&self, place: &Place, start: usize, index: usize) -> Result<(), PackageError> {
        let start = start.saturating_add(index.saturating_mul(T::SIZE));
        let mut cursor = Cursor::at(self.bytes(index).unwrap_or_default(), start);
        match T::read(&mut cursor) {
            Ok(_) => Ok(()),
            Err(source) => Err(PackageError::Record {
                place: place.clone(),
                source,
            }),
        }
    }

    #[inline]
    fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        let start = index.checked_mul(T::SIZE)?;
        self.bytes.get(start..start.checked_add(T::SIZE)?)
    }
}

#[inline]
fn decode<T: Wire>(record: &[u8]) -> Option<T> {
    T::read(&mut Cursor::new(record)).ok()
}

impl<T> Clone for Table<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Table<'_, T> {}

impl<T> PartialEq for Table<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<T> Eq for Table<'_, T> {}

impl<T: Wire + fmt::Debug> fmt::Debug for Table<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Wire> IntoIterator for Table<'a, T> {
    type Item = T;
    type IntoIter = TableIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The records of a [`Table`], one after the other.
#[derive(Debug, Clone)]
pub struct TableIter<'a, T> {
    rest: ChunksExact<'a, u8>,
    records: PhantomData<T>,
}

impl<T: Wire> Iterator for TableIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        decode(self.rest.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl<T: Wire> DoubleEndedIterator for TableIter<'_, T> {
    fn next_back(&mut self) -> Option<T> {
        decode(self.rest.next_back()?)
    }
}

impl<T: Wire> ExactSizeIterator for TableIter<'_, T> {}

impl<T: Wire> FusedIterator for TableIter<'_, T> {}

/// Size in bytes of an entry of an [`Order`].
pub(crate) const ORDER_ENTRY_SIZE: usize = 4;

/// The indices of a table's records, in ascending order of the object ids that the records start with: to find them by.
#[derive(Clone, Copy)]
pub(crate) struct Order<'a, T> {
    table: Table<'a, T>,
    indices: &'a [[u8; ORDER_ENTRY_SIZE]],
}

impl<'a, T: Wire> Order<'a, T> {
    pub(crate) fn new(table: Table<'a, T>, bytes: &'a [u8]) -> Self {
        let (indices, _) = bytes.as_chunks();
        Self { table, indices }
    }

    /// Every record is there once, and no two have one id: `place` is where the second one is.
    pub(crate) fn check(&self, table: Place, place: impl Fn(usize) -> Place) -> Result<(), PackageError> {
        let mut previous = None;
        for index in self.indices {
            let index = number(index);
            let Some(id) = self.id(index) else {
                let what = "the order of the object ids names an entry that is not there";
                return Err(PackageError::malformed(table, what));
            };
            match previous {
                Some(before) if before > id => {
                    return Err(PackageError::malformed(
                        table,
                        "the order of the object ids does not ascend",
                    ));
                }
                Some(before) if before == id => {
                    return Err(PackageError::malformed(
                        place(index),
                        "another entry has the same object id",
                    ));
                }
                _ => previous = Some(id),
            }
        }
        Ok(())
    }

    /// The index of the record with this id.
    pub(crate) fn find(&self, id: ObjectId) -> Option<usize> {
        let found = self
            .indices
            .binary_search_by(|index| self.id(number(index)).cmp(&Some(id)));
        Some(number(self.indices.get(found.ok()?)?))
    }

    #[inline]
    fn id(&self, index: usize) -> Option<ObjectId> {
        Some(ObjectId(u64::from_le_bytes(*self.table.bytes(index)?.first_chunk()?)))
    }
}

#[inline]
fn number(index: &[u8; ORDER_ENTRY_SIZE]) -> usize {
    u32::from_le_bytes(*index) as usize
}

/// The order of records with these ids, as a package stores it.
pub(crate) fn order_of(ids: impl Iterator<Item = ObjectId>) -> Vec<u8> {
    let mut sorted: Vec<(ObjectId, u32)> = ids.zip(0..).collect();
    sorted.sort_unstable();
    let indices = sorted.into_iter();
    indices.flat_map(|(_, index)| index.to_le_bytes()).collect()
}
