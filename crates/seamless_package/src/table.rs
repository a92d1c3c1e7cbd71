//! Tables of an open package, read where they lie. See [`Table`].

use crate::cursor::Cursor;
use crate::error::{PackageError, Place};
use crate::id::ObjectId;
use crate::tables::{Export, Record, Row, Wire};
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::Range;

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

impl<'a, T: Record> Table<'a, T> {
    /// The records that `bytes` hold; a part of one at the end is left out.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let records = PhantomData;
        Self { bytes, records }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.bytes.len().checked_div(T::SIZE).unwrap_or_default()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The record with this index; none if there are fewer.
    #[inline]
    pub fn get(&self, index: usize) -> Option<T> {
        T::read_at(self.bytes, 0, index).ok()
    }

    /// All records, from the first.
    pub fn iter(&self) -> TableIter<'a, T> {
        TableIter {
            table: self.bytes,
            rest: 0..self.len(),
            records: PhantomData,
        }
    }

    /// The records, decoded.
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().collect()
    }

    /// The record with this index, or why there is none. The table starts `start` bytes behind the start of `place`.
    pub(crate) fn read(&self, place: &Place, start: usize, index: usize) -> Result<T, PackageError> {
        T::read_at(self.bytes, start, index).map_err(|source| {
            let place = place.clone();
            PackageError::Record { place, source }
        })
    }
}

impl<'a, T: Row> Table<'a, T> {
    /// The `count` records from `first` on; none if there are fewer.
    #[inline]
    pub(crate) fn part(&self, first: u32, count: u32) -> Option<Self> {
        let start = (first as usize).checked_mul(T::SIZE)?;
        let end = (count as usize).checked_mul(T::SIZE)?.checked_add(start)?;
        Some(Self::new(self.bytes.get(start..end)?))
    }

    /// The bytes of these records, each of which has `N` of them; none if there are fewer.
    pub(crate) fn rows<const N: usize>(&self, rows: Range<usize>) -> Option<&'a [[u8; N]]> {
        self.bytes.as_chunks().0.get(rows)
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
        for index in 0..self.len() {
            match self.get(index) {
                Some(record) => check(index, record)?,
                None => return self.read(place, start, index).map(drop),
            }
        }
        Ok(())
    }
}

impl<'a> Table<'a, Export> {
    /// One field of these exports: the one that starts at byte `AT` of an entry, and has `N` bytes.
    #[inline]
    pub(crate) fn column<const AT: usize, const N: usize>(&self, exports: Range<usize>) -> &'a [[u8; N]] {
        let start = self.len().saturating_mul(AT);
        let column = self.bytes.get(start..).unwrap_or_default().as_chunks().0;
        column.get(exports).unwrap_or_default()
    }

    /// One field of one export, without a look at the others; none if there is no such export.
    #[inline]
    pub(crate) fn field<const AT: usize, F: Wire>(&self, index: usize) -> Option<F> {
        let count = self.len();
        if index >= count {
            return None;
        }
        // Nothing wraps within the table.
        let start = count.wrapping_mul(AT).wrapping_add(index.wrapping_mul(F::SIZE));
        let field = self.bytes.get(start..)?;
        F::read(&mut Cursor::new(field)).ok()
    }
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

impl<T: Record + fmt::Debug> fmt::Debug for Table<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Record> IntoIterator for Table<'a, T> {
    type Item = T;
    type IntoIter = TableIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The records of a [`Table`], one after the other.
#[derive(Debug, Clone)]
pub struct TableIter<'a, T> {
    table: &'a [u8],
    rest: Range<usize>,
    records: PhantomData<T>,
}

impl<T: Record> Iterator for TableIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        T::read_at(self.table, 0, self.rest.next()?).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl<T: Record> DoubleEndedIterator for TableIter<'_, T> {
    fn next_back(&mut self) -> Option<T> {
        T::read_at(self.table, 0, self.rest.next_back()?).ok()
    }
}

impl<T: Record> ExactSizeIterator for TableIter<'_, T> {}

impl<T: Record> FusedIterator for TableIter<'_, T> {}

/// Size in bytes of an entry of an [`Order`].
pub(crate) const ORDER_ENTRY_SIZE: usize = 4;

/// The indices of a table's records, in ascending order of the object ids that are their first fields: to find them by.
#[derive(Clone, Copy)]
pub(crate) struct Order<'a, T> {
    /// The bytes of the table, up to the end of the last id or beyond.
    ids: &'a [u8],
    indices: &'a [[u8; ORDER_ENTRY_SIZE]],
    records: PhantomData<T>,
}

impl<'a, T: Record> Order<'a, T> {
    pub(crate) fn new(table: Table<'a, T>, bytes: &'a [u8]) -> Self {
        let (indices, _) = bytes.as_chunks();
        // Nothing but the ids, where they are a column.
        let ids = table.len().saturating_mul(T::STRIDE);
        Self {
            ids: table.bytes.get(..ids).unwrap_or_default(),
            indices,
            records: PhantomData,
        }
    }

    /// Every record is there once, and no two have one id: `place` is where the second one is.
    pub(crate) fn check(&self, table: Place, place: impl Fn(usize) -> Place) -> Result<(), PackageError> {
        if self.ascends() {
            return Ok(());
        }
        let mut previous = None;
        for index in self.indices {
            let index = number(index);
            let what = match (previous, self.id(index)) {
                (before, Some(id)) if before < Some(id) => {
                    previous = Some(id);
                    continue;
                }
                (before, Some(id)) if before == Some(id) => {
                    let what = "another entry has the same object id";
                    return Err(PackageError::malformed(place(index), what));
                }
                (_, Some(_)) => "the order of the object ids does not ascend",
                (_, None) => "the order of the object ids names an entry that is not there",
            };
            return Err(PackageError::malformed(table, what));
        }
        Ok(())
    }

    /// Whether [`check`](Self::check) has nothing to say.
    fn ascends(&self) -> bool {
        let ids = self.indices.iter().map(|index| self.id(number(index)));
        // A missing id is less than any: if the first is there, so is each that is more.
        ids.clone().next() != Some(None) && ids.is_sorted_by(|before, id| before < id)
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
        let id = if T::STRIDE == ObjectId::SIZE {
            self.ids.as_chunks().0.get(index)?
        } else {
            self.ids.get(index.saturating_mul(T::STRIDE)..)?.first_chunk()?
        };
        Some(ObjectId(u64::from_le_bytes(*id)))
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
