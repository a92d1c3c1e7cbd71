//! Outgoing references: each object is exported once, and is a small number from its acknowledgement on.

use super::error::{AckError, EncodeError};
use super::handshake::Handshake;
use super::limits::{NUMBERS, UNACKNOWLEDGED};
use super::map::{ObjectIndex, PackageMap};
use super::varint;
use super::wire;
use crate::cursor::{Cursor, CursorError};
use crate::id::ObjectId;
use foldhash::fast::RandomState;
use std::collections::{HashMap, VecDeque};

/// Writes the references that this side sends over one connection.
///
/// An object gets a number with its first mention. Until the peer has acknowledged that number, every mention carries the
/// object's place too, so that it does not matter which of the messages arrive, and in which order; afterwards the number
/// alone goes over the wire, one byte for the first 64 objects, two up to 8 192, three for all others.
///
/// When [`UNACKNOWLEDGED`] numbers are on their way, messages or acknowledgements were lost, or the peer is slow. Each
/// mention of a further object then carries one of the unacknowledged exports once more, in turn, so numbers never stop for
/// good, even where nothing is mentioned twice.
#[derive(Debug, Clone, Default)]
pub struct RefEncoder {
    exports: HashMap<ObjectId, Exported, RandomState>,
    /// The number that the next object gets.
    next: u32,
    /// All numbers below are acknowledged.
    low: u32,
    /// The objects of the numbers from `low` to `next`; none where it is acknowledged. The first one never is.
    window: VecDeque<Option<ObjectIndex>>,
    /// The number from which on the next export to repeat is looked for.
    repeat: u32,
}

#[derive(Debug, Clone, Copy)]
struct Exported {
    number: u32,
    index: ObjectIndex,
}

impl RefEncoder {
    /// The encoder of a new connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a reference to `object`, or to nothing, to the message in `out`.
    ///
    /// # Errors
    /// [`EncodeError::UnknownObject`], [`EncodeError::NotAccepted`]; nothing is appended then.
    pub fn encode(
        &mut self,
        map: &PackageMap,
        handshake: &Handshake,
        object: Option<ObjectId>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let Some(object) = object else {
            out.push(wire::NOTHING);
            return Ok(());
        };
        match self.exports.get(&object) {
            Some(known) if self.is_acknowledged(known.number) => varint::write(out, wire::short(known.number)),
            Some(known) => wire::write_full(out, Some(known.number), known.index),
            None => return self.export(map, handshake, object, out),
        }
        Ok(())
    }

    /// The first mention of an object, or one for which there was no number.
    fn export(
        &mut self,
        map: &PackageMap,
        handshake: &Handshake,
        object: ObjectId,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let index = place(map, handshake, object)?;
        match self.take_number(index) {
            Ok(number) => {
                self.exports.insert(object, Exported { number, index });
                wire::write_full(out, Some(number), index);
            }
            Err(Some((number, other))) => wire::write_repeating(out, index, number, other),
            Err(None) => wire::write_full(out, None, index),
        }
        Ok(())
    }

    /// The next number, for `index`. If there is none, the export to repeat so that there will be.
    fn take_number(&mut self, index: ObjectIndex) -> Result<u32, Option<(u32, ObjectIndex)>> {
        let number = self.next;
        if number >= NUMBERS {
            return Err(None);
        }
        if number.saturating_sub(self.low) >= UNACKNOWLEDGED {
            return Err(self.take_repeat());
        }
        self.next = number.saturating_add(1);
        self.window.push_back(Some(index));
        Ok(number)
    }

    /// The next of the unacknowledged exports, in turn. There is one whenever the window is not empty.
    fn take_repeat(&mut self) -> Option<(u32, ObjectIndex)> {
        let from = self.repeat.saturating_sub(self.low);
        let open_from = |from: u32| {
            let numbers = (self.low..).zip(&self.window).skip(from as usize);
            numbers
                .into_iter()
                .find_map(|(number, index)| Some((number, (*index)?)))
        };
        let (number, index) = open_from(from).or_else(|| open_from(0))?;
        self.repeat = number.saturating_add(1);
        Some((number, index))
    }

    /// Whether [`encode`](Self::encode) would write a reference to `object`.
    ///
    /// # Errors
    /// Those of [`encode`](Self::encode).
    pub(super) fn check(&self, map: &PackageMap, handshake: &Handshake, object: ObjectId) -> Result<(), EncodeError> {
        if !self.exports.contains_key(&object) {
            place(map, handshake, object)?;
        }
        Ok(())
    }

    #[inline]
    fn is_acknowledged(&self, number: u32) -> bool {
        let Some(at) = number.checked_sub(self.low) else {
            return true;
        };
        self.window.get(at as usize) == Some(&None)
    }

    /// Numbers given out so far.
    pub fn exported(&self) -> u32 {
        self.next
    }

    /// Numbers given out that are not acknowledged yet.
    pub fn unacknowledged(&self) -> u32 {
        // Cannot saturate: the window has at most `UNACKNOWLEDGED` entries.
        let open = self.window.iter().flatten().count();
        u32::try_from(open).unwrap_or(u32::MAX)
    }

    /// Takes what the peer's [`RefDecoder::acknowledge`](super::RefDecoder::acknowledge) has written, from the front of
    /// `bytes`, and moves `bytes` behind it. Old ones and doubled ones do no harm.
    ///
    /// # Errors
    /// [`AckError::Record`] for bytes that are none, [`AckError::Unsent`] for numbers that were never sent. Nothing has
    /// changed then.
    pub fn acknowledged(&mut self, bytes: &mut &[u8]) -> Result<(), AckError> {
        let mut cursor = Cursor::new(bytes);
        let low = varint::read(&mut cursor)?;
        let bits = read_bits(&mut cursor)?;
        self.check_sent(low, bits)?;
        for number in numbers_in(low, bits) {
            self.mark(number);
        }
        for number in self.low..low {
            self.mark(number);
        }
        while self.window.front() == Some(&None) {
            self.window.pop_front();
            self.low = self.low.saturating_add(1);
        }
        *bytes = bytes.get(cursor.offset()..).unwrap_or_default();
        Ok(())
    }

    fn check_sent(&self, low: u32, bits: &[u8]) -> Result<(), AckError> {
        let sent = self.next;
        let last = low.saturating_sub(1);
        let unsent = if low > sent {
            Some(last)
        } else {
            numbers_in(low, bits).find(|number| *number >= sent)
        };
        unsent.map_or(Ok(()), |number| Err(AckError::Unsent { number, sent }))
    }

    fn mark(&mut self, number: u32) {
        let at = number.checked_sub(self.low);
        if let Some(open) = at.and_then(|at| self.window.get_mut(at as usize)) {
            *open = None;
        }
    }
}

/// Where `object` is, if the peer has accepted its package.
fn place(map: &PackageMap, handshake: &Handshake, object: ObjectId) -> Result<ObjectIndex, EncodeError> {
    let Some(index) = map.index_of(object) else {
        return Err(EncodeError::UnknownObject { id: object });
    };
    let (package, accepted) = (index.package, handshake.accepted());
    if package < accepted {
        return Ok(index);
    }
    // Always there: the map gave the index.
    let path = map.package(package).map_or_else(|| "".into(), |info| info.path.clone());
    Err(EncodeError::NotAccepted {
        path,
        package,
        accepted,
    })
}

fn read_bits<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], CursorError> {
    let offset = cursor.offset();
    let len = varint::read(cursor)?;
    let limit = UNACKNOWLEDGED.div_ceil(8);
    if len > limit {
        return Err(CursorError::Count {
            what: "bytes of acknowledgements",
            offset,
            limit: limit.into(),
            found: len.into(),
        });
    }
    cursor.bytes(len as usize)
}

/// The numbers whose bits are set; the first bit is that of `low`, which is at most [`NUMBERS`].
fn numbers_in(low: u32, bits: &[u8]) -> impl Iterator<Item = u32> {
    let bits = bits.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
    (low..).zip(bits).filter_map(|(number, set)| set.then_some(number))
}
