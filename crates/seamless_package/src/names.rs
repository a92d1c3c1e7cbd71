//! The name table: every text of a package, once.

use crate::cursor::CursorError;
use crate::error::{PackageError, Place};
use crate::tables::NameIndex;
use std::ops::Range;

/// Size in bytes of one entry of the name table, without its text.
pub(crate) const NAME_ENTRY_SIZE: usize = 4;

/// Distinct texts in ascending byte order, where they lie in the file: as a `str` while the package is opened, as bytes that
/// were checked then later on.
#[derive(Debug)]
pub(crate) struct Names<'a, T: ?Sized> {
    /// Where each name ends; it starts where the one before ends.
    ends: &'a [[u8; NAME_ENTRY_SIZE]],
    text: &'a T,
}

impl<T: ?Sized> Clone for Names<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Names<'_, T> {}

impl<T: ?Sized> Names<'_, T> {
    #[inline]
    fn range(&self, index: NameIndex) -> Option<Range<usize>> {
        let index = index.0 as usize;
        let end = number(self.ends.get(index)?);
        let start = match index.checked_sub(1) {
            Some(previous) => number(self.ends.get(previous)?),
            None => 0,
        };
        Some(start..end)
    }
}

impl<'a> Names<'a, [u8]> {
    /// The names of a section, which is checked by [`parse`](Self::parse) or was before.
    pub(crate) fn new(section: &'a [u8], count: u32) -> Self {
        let table = (count as usize).saturating_mul(NAME_ENTRY_SIZE);
        let (ends, text) = section.split_at_checked(table).unwrap_or_default();
        let (ends, _) = ends.as_chunks();
        Self { ends, text }
    }

    /// Checks the whole section.
    pub(crate) fn parse(self) -> Result<Names<'a, str>, PackageError> {
        let (ends, place) = (self.ends, Place::Names);
        let Ok(text) = std::str::from_utf8(self.text) else {
            let offset = ends.as_flattened().len();
            let source = CursorError::Utf8 { offset };
            return Err(PackageError::Record { place, source });
        };
        let names = Names { ends, text };
        match names.check() {
            Ok(()) => Ok(names),
            Err(what) => Err(PackageError::malformed(place, what)),
        }
    }

    pub(crate) fn get(&self, index: NameIndex) -> Option<&'a str> {
        let bytes = self.text.get(self.range(index)?)?;
        std::str::from_utf8(bytes).ok()
    }

    /// Whether this is the name with that index.
    pub(crate) fn is(&self, index: NameIndex, name: &str) -> bool {
        let bytes = self.range(index).and_then(|range| self.text.get(range));
        bytes == Some(name.as_bytes())
    }

    /// Name of an index that was checked when the package was opened.
    pub(crate) fn known(&self, index: NameIndex) -> &'a str {
        self.get(index).unwrap_or_default()
    }
}

impl<'a> Names<'a, str> {
    fn check(&self) -> Result<(), &'static str> {
        // The least of all bytes is found many at a time, a certain one is not.
        if self.text.bytes().fold(u8::MAX, u8::min) == 0 {
            return Err("a name holds a NUL character");
        }
        let bytes = self.text.as_bytes();
        let (mut start, mut previous) = (0, [].as_slice());
        for end in self.ends {
            let end = number(end);
            // It starts where a character starts, because the one before ends there.
            let name = bytes.get(start..end).filter(|_| self.text.is_char_boundary(end));
            let name = name.ok_or("a name lies outside of the text")?;
            // The first name is compared with the empty text, so an empty name is refused too.
            if !ascend(previous, name) {
                return Err("the names are not in ascending order, or one is empty");
            }
            (start, previous) = (end, name);
        }
        if start != bytes.len() {
            return Err("the text does not end with the last name");
        }
        Ok(())
    }

    pub(crate) fn get(&self, index: NameIndex) -> Option<&'a str> {
        self.text.get(self.range(index)?)
    }

    /// As [`get`](Self::get), for who only hashes it: that names start and end with a character is known by now.
    #[inline]
    pub(crate) fn bytes(&self, index: NameIndex) -> Option<&'a [u8]> {
        self.text.as_bytes().get(self.range(index)?)
    }
}

/// Whether a name comes before another one. Eight bytes at a time: names next to each other have much in common.
#[inline]
fn ascend(first: &[u8], second: &[u8]) -> bool {
    let common = first.len().min(second.len());
    let (Some(a), Some(b)) = (first.get(..common), second.get(..common)) else {
        return false;
    };
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks().0) {
        if a != b {
            return u64::from_be_bytes(*a) < u64::from_be_bytes(*b);
        }
    }
    // The last eight: some of them were compared above, and are equal.
    match (a.last_chunk(), b.last_chunk()) {
        (Some(a), Some(b)) if a != b => u64::from_be_bytes(*a) < u64::from_be_bytes(*b),
        (Some(_), Some(_)) => first.len() < second.len(),
        _ => first < second,
    }
}

#[inline]
fn number(end: &[u8; NAME_ENTRY_SIZE]) -> usize {
    u32::from_le_bytes(*end) as usize
}
