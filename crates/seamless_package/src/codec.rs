//! How bytes are stored, and getting them back within the size that was promised.

use crate::cursor::{Cursor, CursorError};
use crate::error::{PackageError, Place};
use crate::tables::Wire;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::borrow::Cow;

#[cfg(feature = "write")]
use crate::cursor::ByteWriter;

/// How bytes are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Codec {
    /// As they are.
    #[default]
    None,
    /// As one LZ4 block without a size in front: fast.
    Lz4,
    /// As one Zstandard frame: smaller, and slower to read.
    Zstd,
}

/// All codecs, in the order of the numbers that they are stored as.
pub(crate) const CODECS: [Codec; 3] = [Codec::None, Codec::Lz4, Codec::Zstd];

impl Codec {
    /// The codec that is stored as this number; none if there is no such codec.
    pub fn from_number(number: u8) -> Option<Self> {
        CODECS.get(usize::from(number)).copied()
    }
}

impl Wire for Codec {
    const SIZE: usize = 1;

    #[inline]
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError> {
        let offset = cursor.offset();
        let number = cursor.u8()?;
        Self::from_number(number).ok_or(CursorError::Value {
            what: "codec",
            offset,
            found: number.into(),
        })
    }

    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter) {
        writer.u8(*self as u8);
    }
}

/// The most bytes that one byte of an LZ4 block can stand for.
const LZ4_RATIO: u64 = 255;
/// The most bytes that one block of a Zstandard frame can stand for.
const ZSTD_BLOCK: u64 = 128 << 10;
/// The most bytes that one byte of a Zstandard frame can stand for: no block is shorter than four.
const ZSTD_RATIO: u64 = ZSTD_BLOCK / 4;

/// The sizes are possible for the codec, so that a raw size never asks for more than stored bytes can stand for.
pub(crate) fn check_sizes(codec: Codec, stored: u64, raw: u64) -> Result<(), &'static str> {
    let (ratio, impossible) = match codec {
        Codec::None if stored == raw => return Ok(()),
        Codec::None => return Err("plain data has two different sizes"),
        Codec::Lz4 => (LZ4_RATIO, "the raw size is more than LZ4 can hold"),
        Codec::Zstd => (ZSTD_RATIO, "the raw size is more than zstd can hold"),
    };
    if stored >= raw {
        return Err("compressed data is not smaller");
    }
    if raw > stored.saturating_mul(ratio) {
        return Err(impossible);
    }
    Ok(())
}

/// Why bytes do not unpack.
enum Refused {
    /// They are not `raw_size` bytes in that codec.
    Codec,
    /// There is no memory for so many bytes.
    Memory,
}

/// Decompresses. The sizes were compared with the limits, and with what the stored bytes can hold, on opening.
pub(crate) fn unpack(
    stored: &[u8],
    codec: Codec,
    raw_size: u64,
    place: impl FnOnce() -> Place,
) -> Result<Cow<'_, [u8]>, PackageError> {
    let size = usize::try_from(raw_size).unwrap_or(usize::MAX);
    let unpacked = match codec {
        Codec::None => return Ok(Cow::Borrowed(stored)),
        Codec::Lz4 => unpack_lz4(stored, size),
        Codec::Zstd => unpack_zstd(stored, size),
    };
    let place = match unpacked {
        Ok(raw) => return Ok(Cow::Owned(raw)),
        Err(Refused::Codec) => {
            let place = place();
            return Err(PackageError::Decompress { place, raw_size });
        }
        Err(Refused::Memory) => place(),
    };
    let bytes = raw_size;
    Err(PackageError::OutOfMemory { place, bytes })
}

fn unpack_lz4(stored: &[u8], size: usize) -> Result<Vec<u8>, Refused> {
    let mut raw = Vec::new();
    raw.try_reserve_exact(size).map_err(|_| Refused::Memory)?;
    raw.resize(size, 0);
    match lz4_flex::block::decompress_into(stored, &mut raw) {
        Ok(written) if written == size => Ok(raw),
        _ => Err(Refused::Codec),
    }
}

/// The largest window of a frame: twice that of the writer's level. The decoder keeps as many bytes besides those that are
/// unpacked, and cannot say that there is no memory for them.
const ZSTD_WINDOW: u64 = 8 << 20;
/// The descriptor byte of a frame, behind the magic number.
const ZSTD_DESCRIPTOR: usize = 4;
/// Its bits for what our frames do not have: a reserved bit, a checksum, a dictionary.
const ZSTD_EXTRAS: u8 = 0b0000_1111;

/// Memory is taken as bytes are decoded, so a frame that promises much and holds little costs little.
fn unpack_zstd(stored: &[u8], size: usize) -> Result<Vec<u8>, Refused> {
    let bad = |_| Refused::Codec;
    if stored.get(ZSTD_DESCRIPTOR).is_none_or(|byte| byte & ZSTD_EXTRAS != 0) {
        return Err(Refused::Codec);
    }
    let mut rest = stored;
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size((size as u64).clamp(ZSTD_BLOCK, ZSTD_WINDOW));
    decoder.reset(&mut rest).map_err(bad)?;
    if decoder.content_size() != size as u64 {
        return Err(Refused::Codec);
    }
    let mut raw = Vec::new();
    // Enough at once for what is usual; more than sixteenfold compression is rare.
    let likely = size.min(stored.len().saturating_mul(16));
    raw.try_reserve_exact(likely).map_err(|_| Refused::Memory)?;
    while !decoder.is_finished() {
        let step = BlockDecodingStrategy::UptoBlocks(1);
        decoder.decode_blocks(&mut rest, step).map_err(bad)?;
        let ready = decoder.can_collect();
        if ready > size.saturating_sub(raw.len()) {
            return Err(Refused::Codec);
        }
        if ready > raw.capacity().saturating_sub(raw.len()) {
            // Twice as much as before, but never more than was promised.
            let more = ready.max(raw.len()).min(size.saturating_sub(raw.len()));
            raw.try_reserve_exact(more).map_err(|_| Refused::Memory)?;
        }
        decoder.collect_to_writer(&mut raw).map_err(|_| Refused::Codec)?;
    }
    if rest.is_empty() && raw.len() == size {
        return Ok(raw);
    }
    Err(Refused::Codec)
}

/// Bytes as a package stores them. Who measures them, or keeps them, need not compress them again for the
/// [`PackageWriter`](crate::PackageWriter).
///
/// ```
/// # use seamless_package::{Codec, Packed};
/// let packed = Packed::new(vec![7; 1000], Codec::Lz4);
/// assert!(packed.stored().len() < 100 && packed.raw_size() == 1000);
/// assert_eq!(packed.unpack().as_deref(), Some(&[7; 1000][..]));
/// assert_eq!(Packed::new(vec![1, 2, 3], Codec::Lz4).stored(), [1, 2, 3]);
/// ```
#[cfg(feature = "write")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    pub(crate) stored: Vec<u8>,
    pub(crate) raw_size: u64,
    pub(crate) codec: Codec,
}

#[cfg(feature = "write")]
impl Packed {
    /// Compresses if that is asked for and saves more than a tenth.
    #[must_use]
    pub fn new(raw: Vec<u8>, codec: Codec) -> Self {
        let raw_size = raw.len() as u64;
        match compressed(&raw, codec) {
            Some(stored) => Self {
                stored,
                raw_size,
                codec,
            },
            None => Self {
                stored: raw,
                raw_size,
                codec: Codec::None,
            },
        }
    }

    /// What was packed before; none if `codec` cannot have made so many stored bytes of so many raw ones.
    #[must_use]
    pub fn from_stored(stored: Vec<u8>, raw_size: u64, codec: Codec) -> Option<Self> {
        check_sizes(codec, stored.len() as u64, raw_size).ok()?;
        Some(Self {
            stored,
            raw_size,
            codec,
        })
    }

    /// The bytes as they are stored.
    #[must_use]
    pub fn stored(&self) -> &[u8] {
        &self.stored
    }

    /// How many bytes were packed.
    #[must_use]
    pub fn raw_size(&self) -> u64 {
        self.raw_size
    }

    /// How they are stored.
    #[must_use]
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// The bytes that were packed; none if the stored ones are not theirs, or if there is no memory for them.
    #[must_use]
    pub fn unpack(&self) -> Option<Cow<'_, [u8]>> {
        unpack(&self.stored, self.codec, self.raw_size, || Place::File).ok()
    }
}

/// The most bytes that one LZ4 block may hold.
#[cfg(feature = "write")]
const LZ4_MAX_INPUT: usize = 0x7E00_0000;

/// The level of [`Codec::Zstd`]. Cooked once and read often, so the time goes into the cooking. Higher levels cost many times the
/// time for a few hundredths, and need larger windows.
#[cfg(feature = "write")]
pub const ZSTD_LEVEL: i32 = 12;

/// The compressed form, if it is asked for and saves more than a tenth.
#[cfg(feature = "write")]
fn compressed(raw: &[u8], codec: Codec) -> Option<Vec<u8>> {
    let packed = match codec {
        Codec::Lz4 if raw.len() <= LZ4_MAX_INPUT => Some(lz4_flex::block::compress(raw)),
        Codec::None | Codec::Lz4 => None,
        // The one thing that can fail is to get memory, and then the bytes are stored as they are.
        Codec::Zstd => zstd::bulk::compress(raw, ZSTD_LEVEL).ok(),
    };
    packed.filter(|stored| (stored.len() as u64).saturating_mul(10) < (raw.len() as u64).saturating_mul(9))
}
