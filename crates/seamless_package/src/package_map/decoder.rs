//! Incoming references: numbers are learned as they are exported, and acknowledged.

use super::error::DecodeError;
use super::handshake::Handshake;
use super::limits::{NUMBERS, UNACKNOWLEDGED};
use super::map::{ObjectIndex, PackageMap};
use super::varint;
use super::wire::{self, WireRef};
use crate::cursor::Cursor;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Reads the references that arrive over one connection.
#[derive(Debug, Clone, Default)]
pub struct RefDecoder {
    /// The objects with a number, by number; none where the export has not arrived yet.
    objects: Vec<Option<ObjectIndex>>,
    numbers: HashMap<ObjectIndex, u32, RandomState>,
    /// All exports below have arrived.
    low: u32,
    /// Whether an export has arrived since the last acknowledgement was written.
    unanswered: bool,
}

impl RefDecoder {
    /// The decoder of a new connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one reference from the front of `bytes`, and moves `bytes` behind it. The object is one of a package that
    /// both sides have; whether it is loaded is another question, see [`PendingRefs`](super::PendingRefs).
    ///
    /// # Errors
    /// [`DecodeError`]; an honest peer causes none, and nothing has changed then.
    pub fn decode(
        &mut self,
        map: &PackageMap,
        handshake: &Handshake,
        bytes: &mut &[u8],
    ) -> Result<Option<ObjectIndex>, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let object = match wire::read(&mut cursor)? {
            WireRef::Nothing => None,
            WireRef::Short { number } => Some(self.known(number)?),
            WireRef::Full { number, index } => {
                exists(map, handshake, index)?;
                if let Some(number) = number {
                    self.learn(number, index)?;
                }
                Some(index)
            }
            WireRef::Repeating { index, number, other } => {
                exists(map, handshake, index)?;
                exists(map, handshake, other)?;
                self.learn(number, other)?;
                Some(index)
            }
        };
        *bytes = bytes.get(cursor.offset()..).unwrap_or_default();
        Ok(object)
    }

    #[inline]
    fn known(&self, number: u32) -> Result<ObjectIndex, DecodeError> {
        let object = self.objects.get(number as usize).copied().flatten();
        object.ok_or(DecodeError::UnknownNumber { number })
    }

    /// `index` was exported as `number`. The peer gives out no number too far above those that it knows to have
    /// arrived, so the vector grows by little at a time.
    fn learn(&mut self, number: u32, index: ObjectIndex) -> Result<(), DecodeError> {
        let end = self.low.saturating_add(UNACKNOWLEDGED).min(NUMBERS);
        if number >= end {
            return Err(DecodeError::NumberTooHigh { number, end });
        }
        match self.known(number) {
            Ok(first) if first != index => {
                let second = index;
                return Err(DecodeError::NumberTwice { number, first, second });
            }
            Ok(_) => {}
            Err(_) => self.insert(number, index)?,
        }
        self.unanswered = true;
        Ok(())
    }

    fn insert(&mut self, number: u32, index: ObjectIndex) -> Result<(), DecodeError> {
        if let Some(&first) = self.numbers.get(&index) {
            return Err(DecodeError::ObjectTwice {
                object: index,
                first,
                second: number,
            });
        }
        let at = number as usize;
        if at >= self.objects.len() {
            self.objects.resize(at.saturating_add(1), None);
        }
        if let Some(object) = self.objects.get_mut(at) {
            *object = Some(index);
        }
        self.numbers.insert(index, number);
        while self.known(self.low).is_ok() {
            self.low = self.low.saturating_add(1);
        }
        Ok(())
    }

    /// Appends the acknowledgement of all exports that have arrived, if one arrived since the last time. It may be lost:
    /// the peer goes on sending exports then, at the latest when it has no number left to give, and the next one carries all. Returns whether there was one to write.
    pub fn acknowledge(&mut self, out: &mut Vec<u8>) -> bool {
        if !std::mem::take(&mut self.unanswered) {
            return false;
        }
        varint::write(out, self.low);
        let above = self.objects.get(self.low as usize..).unwrap_or_default();
        // Cannot saturate: `learn` keeps it within `UNACKNOWLEDGED`.
        varint::write(out, u32::try_from(above.len().div_ceil(8)).unwrap_or(u32::MAX));
        for eight in above.chunks(8) {
            let bits = eight
                .iter()
                .rev()
                .fold(0, |bits, object| bits << 1 | u8::from(object.is_some()));
            out.push(bits);
        }
        true
    }
}

/// Whether `index` lies within the agreed packages.
fn exists(map: &PackageMap, handshake: &Handshake, index: ObjectIndex) -> Result<(), DecodeError> {
    let ObjectIndex { package, export } = index;
    let verified = handshake.verified();
    let info = map.package(package).filter(|_| package < verified);
    let Some(info) = info else {
        return Err(DecodeError::UnknownPackage { package, verified });
    };
    if export >= info.export_count {
        return Err(DecodeError::UnknownExport {
            path: info.path.clone(),
            export,
            count: info.export_count,
        });
    }
    Ok(())
}
