//! The forms of a reference in a message.
//!
//! | first number | what follows | meaning |
//! |---|---|---|
//! | 0 | | nothing |
//! | 2 | package, export | an object, in full, without a number |
//! | 4 | package, export, number, its package, its export | an object, in full, without a number, as with 2; and once more, what has that number |
//! | 2 · n + 6 | package, export | an object, in full; it has number n from now on |
//! | 2 · n + 1 | | the object with number n |

use super::map::ObjectIndex;
use super::varint;
use crate::cursor::{Cursor, CursorError};

/// The reference to nothing.
pub(super) const NOTHING: u8 = 0;
const WITHOUT_NUMBER: u32 = 2;
const REPEATING: u32 = 4;
const WITH_NUMBER: u32 = 6;

/// A reference as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireRef {
    Nothing,
    Short {
        number: u32,
    },
    Full {
        number: Option<u32>,
        index: ObjectIndex,
    },
    /// `index` in full, and that `other` is `number`.
    Repeating {
        index: ObjectIndex,
        number: u32,
        other: ObjectIndex,
    },
}

/// The object with number `number`, which is below `NUMBERS`.
pub(super) fn short(number: u32) -> u32 {
    number.wrapping_mul(2) | 1
}

/// An object in full; `number` is below `NUMBERS`.
pub(super) fn write_full(out: &mut Vec<u8>, number: Option<u32>, index: ObjectIndex) {
    let head = number.map_or(WITHOUT_NUMBER, |number| {
        number.wrapping_mul(2).wrapping_add(WITH_NUMBER)
    });
    varint::write(out, head);
    write_index(out, index);
}

/// An object in full, without a number, and once more that `other` is `number`.
pub(super) fn write_repeating(out: &mut Vec<u8>, index: ObjectIndex, number: u32, other: ObjectIndex) {
    varint::write(out, REPEATING);
    write_index(out, index);
    varint::write(out, number);
    write_index(out, other);
}

fn write_index(out: &mut Vec<u8>, index: ObjectIndex) {
    varint::write(out, index.package);
    varint::write(out, index.export);
}

#[inline]
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<WireRef, CursorError> {
    let head = varint::read(cursor)?;
    if head & 1 == 1 {
        return Ok(WireRef::Short { number: head / 2 });
    }
    if head == NOTHING.into() {
        return Ok(WireRef::Nothing);
    }
    let index = read_index(cursor)?;
    if head == REPEATING {
        return Ok(WireRef::Repeating {
            index,
            number: varint::read(cursor)?,
            other: read_index(cursor)?,
        });
    }
    let number = head.checked_sub(WITH_NUMBER).map(|twice| twice / 2);
    Ok(WireRef::Full { number, index })
}

#[inline]
fn read_index(cursor: &mut Cursor<'_>) -> Result<ObjectIndex, CursorError> {
    Ok(ObjectIndex {
        package: varint::read(cursor)?,
        export: varint::read(cursor)?,
    })
}
