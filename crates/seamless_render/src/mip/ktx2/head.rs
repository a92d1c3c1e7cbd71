//! How a KTX2 file begins, and a smaller file made of a part of it. See [`Ktx2Head`].

use core::ops::Range;

use bevy_asset::RenderAssetUsages;
use bevy_image::ImageLoaderSettings;
use ktx2::{Header, LevelIndex, SupercompressionScheme};
use wgpu_types::{Extent3d, TextureDimension};

use super::StreamedImageError;
use crate::mip::NotStreamed;

/// The largest side, in texels, of the mips that are read when a file is loaded, as in packages.
const TAIL_SIDE: u32 = 64;
/// Textures whose larger side is less do not stream, as in packages.
const LEAST_SIDE: u32 = 256;
/// The most mips that a file may have.
const MOST_MIPS: u32 = 32;
/// The length of a data format descriptor, which is its first field.
const LEAST_DFD: u64 = 4;
/// The most bytes of one. They have a hundred.
const MOST_DFD: u64 = 64 << 10;
/// The most texels that a byte of a mip stands for, unpacked: blocks of 12 × 12 are 9.
const MOST_TEXELS: u64 = 16;
/// The most bytes that a byte of a mip stands for that is packed as ZLIB, which Bevy may unpack.
const MOST_PACKED: u64 = 1032;
/// What a packed mip may take above twice its size: it need not be smaller than what it holds.
const PACKED_EXTRA: u64 = 1 << 10;

/// Header and level index of a file.
pub(super) struct Ktx2Head {
    /// As they are in the file.
    pub bytes: Vec<u8>,
    header: Header,
    /// The largest first.
    levels: Vec<LevelIndex>,
}

impl Ktx2Head {
    /// How many bytes there are of it, by a header.
    pub fn len(header: &[u8; Header::LENGTH]) -> Result<usize, StreamedImageError> {
        let header = parse(header)?;
        if header.level_count > MOST_MIPS {
            return Err(StreamedImageError::Head(format!("it has {} mips", header.level_count)));
        }
        Ok(Header::LENGTH + header.level_count.max(1) as usize * LevelIndex::LENGTH)
    }

    /// Takes apart as many bytes as [`len`](Self::len) says.
    pub fn new(bytes: Vec<u8>) -> Result<Self, StreamedImageError> {
        let (header, index) = bytes
            .split_first_chunk()
            .ok_or_else(|| StreamedImageError::Head("it is too short".into()))?;
        let (levels, _) = index.as_chunks();
        Ok(Self {
            header: parse(header)?,
            levels: levels.iter().map(LevelIndex::from_bytes).collect(),
            bytes,
        })
    }

    pub fn mips(&self) -> u32 {
        self.levels.len() as u32
    }

    /// Of the whole texture, as Bevy's loader has it.
    pub fn size(&self) -> Extent3d {
        Extent3d {
            width: self.header.pixel_width,
            height: self.header.pixel_height.max(1),
            depth_or_array_layers: self.header.layer_count.max(1),
        }
    }

    /// Of a texture that is neither a cube nor a volume, as Bevy's loader has it.
    pub fn dimension(&self, is_compressed: bool) -> TextureDimension {
        if is_compressed || self.header.pixel_height > 1 {
            TextureDimension::D2
        } else {
            TextureDimension::D1
        }
    }

    pub fn is_zstd(&self) -> bool {
        self.header.supercompression_scheme == Some(SupercompressionScheme::Zstandard)
    }

    /// The first mip of the tail; or why the texture does not stream.
    pub fn tail(&self, settings: &ImageLoaderSettings) -> Result<u8, NotStreamed> {
        let header = &self.header;
        let is_plain = header.supercompression_scheme.is_none() || self.is_zstd();
        let side = header.pixel_width.max(header.pixel_height);
        if settings.texture_format.is_some()
            || settings.array_layout.is_some()
            || !settings.asset_usage.contains(RenderAssetUsages::RENDER_WORLD)
        {
            return Err(NotStreamed::Settings);
        }
        if header.format.is_none() || !is_plain {
            return Err(NotStreamed::Transcoded);
        }
        if header.face_count > 1 {
            return Err(NotStreamed::Cube);
        }
        if header.pixel_depth > 1 {
            return Err(NotStreamed::Dimension);
        }
        if side < LEAST_SIDE {
            return Err(NotStreamed::Small {
                side,
                least: LEAST_SIDE,
            });
        }
        if self.mips() < 2 {
            return Err(NotStreamed::OneTop);
        }
        let is_tail = |mip: &u32| side >> mip <= TAIL_SIDE;
        let tail = (0..self.mips()).find(is_tail).unwrap_or(self.mips() - 1);
        Ok(tail as u8)
    }

    /// Where the data format descriptor is.
    pub fn dfd(&self) -> Result<Range<u64>, StreamedImageError> {
        let (start, bytes) = (self.header.index.dfd_byte_offset, self.header.index.dfd_byte_length);
        let (start, bytes) = (u64::from(start), u64::from(bytes));
        // The parser takes its length for granted.
        if bytes < LEAST_DFD {
            return Err(StreamedImageError::Head("it has no data format descriptor".into()));
        }
        if bytes > MOST_DFD {
            let (what, most) = ("the data format descriptor", MOST_DFD);
            return Err(StreamedImageError::TooLarge { what, bytes, most });
        }
        Ok(start..start + bytes)
    }

    /// Where a mip is, and how many bytes it has when it is unpacked.
    pub fn level(&self, mip: u8) -> Result<(Range<u64>, u64), StreamedImageError> {
        let wrong = |what: &str| StreamedImageError::Mip { mip, what: what.into() };
        let level = self.levels.get(usize::from(mip)).ok_or_else(|| wrong("is not there"))?;
        let (start, stored, raw) = (level.byte_offset, level.byte_length, level.uncompressed_byte_length);
        let end = start
            .checked_add(stored)
            .ok_or_else(|| wrong("ends behind all files"))?;
        if start < self.bytes.len() as u64 {
            return Err(wrong("lies in the file's head"));
        }
        let is_sound = match self.is_zstd() {
            true => stored <= raw.saturating_mul(2).saturating_add(PACKED_EXTRA),
            false => stored == raw,
        };
        match is_sound {
            true => Ok((start..end, raw)),
            false => Err(wrong(&format!("has {stored} bytes, and says that they are {raw}"))),
        }
    }

    /// Whether a mip of so many bytes can have as many texels as it should: Bevy's decoder takes memory for these.
    pub fn check_texels(&self, mip: u8, bytes: u64) -> Result<(), StreamedImageError> {
        let header = &self.header;
        let side = |side: u32| u64::from((side >> mip).max(1));
        let texels = side(header.pixel_width).saturating_mul(side(header.pixel_height));
        if texels <= bytes.saturating_mul(MOST_TEXELS) {
            return Ok(());
        }
        let what = format!("has {bytes} bytes for {texels} texels");
        Err(StreamedImageError::Mip { mip, what })
    }

    /// The same of the largest mip, as it is in the file.
    pub fn check_whole(&self) -> Result<(), StreamedImageError> {
        let largest = self.levels.first().map_or(0, |level| level.byte_length);
        let bytes = match self.header.supercompression_scheme {
            None => largest,
            Some(_) => largest.saturating_mul(MOST_PACKED),
        };
        self.check_texels(0, bytes)
    }

    /// A file with the mips from `first` on, which are `levels`, unpacked, and nothing else.
    pub fn smaller(&self, dfd: &[u8], first: u8, levels: &[Vec<u8>]) -> Vec<u8> {
        let mip = |side: u32| (side >> first).max(side.min(1));
        let mut header = self.header;
        header.pixel_width = mip(header.pixel_width);
        header.pixel_height = mip(header.pixel_height);
        header.pixel_depth = mip(header.pixel_depth);
        header.level_count = levels.len() as u32;
        header.supercompression_scheme = None;
        let dfd_offset = Header::LENGTH + levels.len() * LevelIndex::LENGTH;
        header.index.dfd_byte_offset = dfd_offset as u32;
        header.index.dfd_byte_length = dfd.len() as u32;
        (header.index.kvd_byte_offset, header.index.kvd_byte_length) = (0, 0);
        (header.index.sgd_byte_offset, header.index.sgd_byte_length) = (0, 0);
        let mut file = header.as_bytes().to_vec();
        let mut offset = (dfd_offset + dfd.len()) as u64;
        for level in levels {
            let bytes = level.len() as u64;
            let index = LevelIndex {
                byte_offset: offset,
                byte_length: bytes,
                uncompressed_byte_length: bytes,
            };
            file.extend(index.as_bytes());
            offset += bytes;
        }
        file.extend(dfd);
        levels.iter().for_each(|level| file.extend(level));
        // The parser wants something behind the descriptor.
        file.push(0);
        file
    }
}

fn parse(header: &[u8; Header::LENGTH]) -> Result<Header, StreamedImageError> {
    Header::from_bytes(header).map_err(|error| StreamedImageError::Head(error.to_string()))
}
