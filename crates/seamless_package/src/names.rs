//! The name table: the texts of a package.

use crate::cursor::CursorError;
use crate::error::{PackageError, Place};
use crate::tables::NameIndex;
use std::ops::Range;

/// Size in bytes of one entry of the name table, without its text.
pub(crate) const NAME_ENTRY_SIZE: usize = 4;

/// The texts of a package, where they lie in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    /// Where each name ends; it starts where the one before ends.
    ends: &'a [[u8; NAME_ENTRY_SIZE]],
    text: &'a [u8],
}

impl<'a> Names<'a> {
    /// The names of a section, which is checked by [`check`](Self::check) or was before.
    pub(crate) fn new(section: &'a [u8], count: u32) -> Self {
        let table = (count as usize).saturating_mul(NAME_ENTRY_SIZE);
        let (ends, text) = section.split_at_checked(table).unwrap_or_default();
        let (ends, _) = ends.as_chunks();
        Self { ends, text }
    }

    /// Checks that every name is a text, and not empty. That each is there once, and in order, is asked where it matters: of
    /// origins and of version lists. Objects have ids.
    pub(crate) fn check(&self, most_bytes: u32) -> Result<(), PackageError> {
        if self.is_usual(most_bytes) {
            return Ok(());
        }
        let Ok(text) = std::str::from_utf8(self.text) else {
            let offset = self.ends.as_flattened().len();
            let source = CursorError::Utf8 { offset };
            let place = Place::Names;
            return Err(PackageError::Record { place, source });
        };
        let longest = self.check_each(text);
        let longest = longest.map_err(|what| PackageError::malformed(Place::Names, what))?;
        PackageError::check_limit(Place::Names, "name_bytes", most_bytes.into(), longest as u64)
    }

    /// Whether all is right, and ASCII, where every byte is a character: that takes no look at a single name.
    fn is_usual(&self, most_bytes: u32) -> bool {
        let first = self.ends.first().map_or(0, number);
        let last = self.ends.last().map_or(0, number);
        let pairs = self.ends.iter().zip(self.ends.get(1..).unwrap_or_default());
        first > 0
            && first <= most_bytes
            && last as usize == self.text.len()
            && pairs.fold(true, |usual, (end, next)| {
                let (end, next) = (number(end), number(next));
                usual & (end < next) & (next.wrapping_sub(end) <= most_bytes)
            })
            // Neither 0 nor more than ASCII: many bytes at a time, which to look for a certain one is not.
            && self.text.iter().fold(0, |most, byte| byte.wrapping_sub(1).max(most)) < 0x7f
    }

    /// Gives the length of the longest.
    fn check_each(&self, text: &str) -> Result<usize, &'static str> {
        if text.contains('\0') {
            return Err("a name holds a NUL character");
        }
        let (mut start, mut longest) = (0, 0);
        for end in self.ends {
            let end = number(end) as usize;
            // It starts where a character starts, because the one before ends there.
            match text.get(start..end) {
                None => return Err("a name lies outside of the text"),
                Some("") => return Err("a name is empty"),
                Some(name) => (start, longest) = (end, longest.max(name.len())),
            }
        }
        if start != text.len() {
            return Err("the text does not end with the last name");
        }
        Ok(longest)
    }

    pub(crate) fn get(&self, index: NameIndex) -> Option<&'a str> {
        std::str::from_utf8(self.bytes(index)?).ok()
    }

    /// As [`get`](Self::get), for who only hashes it, or compares it.
    #[inline]
    pub(crate) fn bytes(&self, index: NameIndex) -> Option<&'a [u8]> {
        let Range { start, end } = self.range(index)?;
        self.text.get(..end)?.get(start..)
    }

    /// Name of an index that was checked when the package was opened.
    pub(crate) fn known(&self, index: NameIndex) -> &'a str {
        self.get(index).unwrap_or_default()
    }

    #[inline]
    fn range(&self, index: NameIndex) -> Option<Range<usize>> {
        let index = index.0 as usize;
        let end = number(self.ends.get(index)?);
        let start = match index.checked_sub(1) {
            Some(previous) => number(self.ends.get(previous)?),
            None => 0,
        };
        Some(start as usize..end as usize)
    }
}

#[inline]
fn number(end: &[u8; NAME_ENTRY_SIZE]) -> u32 {
    u32::from_le_bytes(*end)
}
