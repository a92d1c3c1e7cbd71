//! Numbers in as few bytes as they need: seven bits a byte, the lowest first, the top bit set on all but the last.

use crate::cursor::{Cursor, CursorError};

/// Appends `value`, one to five bytes.
#[inline]
pub(super) fn write(out: &mut Vec<u8>, mut value: u32) {
    // The casts cut off what other bytes carry.
    if let 0x80..0x4000 = value {
        // What most references are, in one go.
        return out.extend_from_slice(&[value as u8 | 0x80, (value >> 7) as u8]);
    }
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads what [`write`] has written, and nothing else: each number has one form.
#[inline]
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<u32, CursorError> {
    let offset = cursor.offset();
    let mut value = 0_u32;
    for shift in [0, 7, 14, 21, 28] {
        let byte = cursor.u8()?;
        let bits = u32::from(byte & 0x7f);
        // A last byte of zero could be left out; a fifth byte has room for four bits.
        let spare = shift > 0 && byte == 0;
        let too_large = shift == 28 && byte > 0x0f;
        if spare || too_large {
            let what = "number of at most 32 bits in its shortest form";
            let found = byte.into();
            return Err(CursorError::Value { what, offset, found });
        }
        value |= bits << shift;
        if byte < 0x80 {
            break;
        }
    }
    Ok(value)
}
