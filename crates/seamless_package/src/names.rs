//! The name table: every text of a package, once.

use crate::cursor::{Cursor, CursorError};
use crate::error::{PackageError, Place};
use crate::tables::NameIndex;

/// Size in bytes of one entry of the name table, without its text.
pub(crate) const NAME_ENTRY_SIZE: usize = 4;

/// Distinct texts in ascending byte order, in one allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    text: Box<str>,
    /// Where each name ends; it starts where the one before ends.
    ends: Vec<u32>,
}

impl Names {
    /// Reads the whole section. The caller has compared `count` with the limits.
    pub(crate) fn parse(section: &[u8], count: u32) -> Result<Self, PackageError> {
        let fail = |what| PackageError::malformed(Place::Names, what);
        let record = |source| PackageError::Record {
            place: Place::Names,
            source,
        };
        let mut cursor = Cursor::new(section);
        let table_size = u64::from(count).saturating_mul(NAME_ENTRY_SIZE as u64);
        if table_size > section.len() as u64 {
            return Err(fail("the section is too short for its names"));
        }
        let mut ends = Vec::with_capacity(count as usize);
        for _ in 0..count {
            ends.push(cursor.u32().map_err(record)?);
        }
        let offset = cursor.offset();
        let bytes = cursor.bytes(cursor.remaining()).map_err(record)?;
        let text = std::str::from_utf8(bytes)
            .map_err(|_| record(CursorError::Utf8 { offset }))?
            .into();
        let names = Self { text, ends };
        names.check().map_err(fail)?;
        Ok(names)
    }

    fn check(&self) -> Result<(), &'static str> {
        let (mut start, mut previous) = (0, "");
        for &end in &self.ends {
            let end = end as usize;
            let name = self.text.get(start..end).ok_or("a name lies outside of the text")?;
            // The first name is compared with the empty text, so an empty name is refused too.
            if name <= previous {
                return Err("the names are not in ascending order, or one is empty");
            }
            (start, previous) = (end, name);
        }
        // The least of all bytes is found many at a time, a certain one is not.
        if self.text.bytes().fold(u8::MAX, u8::min) == 0 {
            return Err("a name holds a NUL character");
        }
        if start != self.text.len() {
            return Err("the text does not end with the last name");
        }
        Ok(())
    }

    pub(crate) fn get(&self, index: NameIndex) -> Option<&str> {
        let index = index.0 as usize;
        let end = *self.ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(previous) => *self.ends.get(previous)?,
            None => 0,
        };
        self.text.get(start as usize..end as usize)
    }

    /// Name of an index that was checked when the package was parsed.
    pub(crate) fn known(&self, index: NameIndex) -> &str {
        self.get(index).unwrap_or_default()
    }
}
