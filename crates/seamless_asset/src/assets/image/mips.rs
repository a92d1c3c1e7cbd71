//! Which bytes of an image belong to which mip. See [`MipLayout`].

use core::ops::RangeInclusive;

use wgpu_types::TextureDimension;

use super::StoredImage;
use crate::codec::DecodeError;

/// The largest side, in texels, of the mips that lie inline in the export: together they are smaller than one mip of 128.
pub(super) const TAIL_SIDE: u32 = 64;

/// How many mips a texture can have; more than any size in 32 bits.
pub(super) const MIPS: RangeInclusive<u32> = 1..=32;

/// Where the mips of an image lie in its pixels. Sizes are in bytes, and saturate: what is compared with them is memory that
/// is really there, so a size that does not fit is simply too much.
pub(super) struct MipLayout {
    /// Bytes of one layer of each mip, the largest mip first.
    mips: Vec<u64>,
    /// How many mips are larger than [`TAIL_SIDE`].
    large: usize,
    layers: u64,
    mip_major: bool,
}

/// The pixels of an image, mip by mip.
#[cfg(feature = "write")]
pub(super) struct SplitPixels {
    /// Each large mip with all of its layers.
    pub large: Vec<Vec<u8>>,
    /// The others, one after the other, each with all of its layers.
    pub tail: Vec<u8>,
}

impl MipLayout {
    /// The layout; `None` for formats whose texels have no one size in memory, and counts of mips that no texture has.
    pub fn of(stored: &StoredImage) -> Option<Self> {
        if !MIPS.contains(&stored.mip_level_count) {
            return None;
        }
        let block = u64::from(stored.format.block_copy_size(None)?);
        let (width, height) = stored.format.block_dimensions();
        let is_volume = stored.dimension == TextureDimension::D3;
        let sizes = (0..stored.mip_level_count).map(|level| stored.size.mip_level_size(level, stored.dimension));
        let mut layout = Self {
            mips: Vec::new(),
            large: 0,
            layers: if is_volume {
                1
            } else {
                u64::from(stored.size.depth_or_array_layers)
            },
            mip_major: stored.mip_major,
        };
        for size in sizes {
            let depth = if is_volume { size.depth_or_array_layers } else { 1 };
            let blocks = u64::from(size.width.div_ceil(width)) * u64::from(size.height.div_ceil(height));
            layout
                .mips
                .push(blocks.saturating_mul(block).saturating_mul(u64::from(depth)));
            layout.large += usize::from(size.width.max(size.height).max(depth) > TAIL_SIDE);
        }
        Some(layout)
    }

    /// Bytes of all mips and layers.
    pub fn total(&self) -> u64 {
        self.bytes(&self.mips)
    }

    /// How many mips lie apart.
    pub fn large(&self) -> usize {
        self.large
    }

    /// Whether this is all of the tail, and nothing else.
    pub fn check_tail(&self, tail: &[u8]) -> Result<(), DecodeError> {
        let needed = self.bytes(self.mips.get(self.large..).unwrap_or_default());
        if needed == tail.len() as u64 {
            Ok(())
        } else {
            Err(wrong_size("mip tail", tail.len(), needed))
        }
    }

    fn bytes(&self, mips: &[u64]) -> u64 {
        let layer = mips.iter().fold(0_u64, |sum, mip| sum.saturating_add(*mip));
        layer.saturating_mul(self.layers)
    }

    /// Mip and layer of each piece of the pixels, in the order of memory.
    fn pieces(&self) -> impl Iterator<Item = (usize, u64)> {
        let (mips, layers, mip_major) = (self.mips.len() as u64, self.layers, self.mip_major);
        (0..mips.saturating_mul(layers)).map(move |piece| {
            if mip_major {
                ((piece / layers) as usize, piece % layers)
            } else {
                ((piece % mips) as usize, piece / mips)
            }
        })
    }

    /// Splits the pixels into mips. `None` when there is one mip only, or the bytes are not exactly the mips'.
    #[cfg(feature = "write")]
    pub fn split(&self, pixels: &[u8]) -> Option<SplitPixels> {
        if self.mips.len() < 2 || self.total() != pixels.len() as u64 {
            return None;
        }
        let mut mips = vec![Vec::new(); self.mips.len()];
        let mut rest = pixels;
        for (mip, _) in self.pieces() {
            let (piece, behind) = rest.split_at_checked(*self.mips.get(mip)? as usize)?;
            mips.get_mut(mip)?.extend_from_slice(piece);
            rest = behind;
        }
        let tail = mips.split_off(self.large).concat();
        Some(SplitPixels { large: mips, tail })
    }

    /// Puts the pixels together again. Nothing is allocated before every size was found right.
    pub fn join(&self, large: &[Vec<u8>], tail: &[u8]) -> Result<Vec<u8>, DecodeError> {
        let sources = self.sources(large, tail)?;
        let mut pixels = Vec::with_capacity(sources.iter().map(|(source, _)| source.len()).sum());
        for (mip, layer) in self.pieces() {
            // Every source was found to have all layers.
            if let Some((source, size)) = sources.get(mip) {
                let start = layer as usize * size;
                pixels.extend_from_slice(source.get(start..start + size).unwrap_or_default());
            }
        }
        Ok(pixels)
    }

    /// For each mip the bytes of all of its layers, and the size of one.
    fn sources<'a>(&self, large: &'a [Vec<u8>], tail: &'a [u8]) -> Result<Vec<(&'a [u8], usize)>, DecodeError> {
        if large.len() != self.large {
            return Err(DecodeError::Malformed(format!(
                "{} payloads where the image has {} mips of more than {TAIL_SIDE} texels",
                large.len(),
                self.large
            )));
        }
        let (large_sizes, tail_sizes) = self.mips.split_at(self.large);
        self.check_tail(tail)?;
        let mut sources = Vec::with_capacity(self.mips.len());
        for (level, (payload, size)) in large.iter().zip(large_sizes).enumerate() {
            if size.saturating_mul(self.layers) != payload.len() as u64 {
                let needed = size.saturating_mul(self.layers);
                return Err(wrong_size(&format!("mip {level}"), payload.len(), needed));
            }
            sources.push((payload.as_slice(), *size as usize));
        }
        let mut rest = tail;
        for size in tail_sizes {
            let (mip, behind) = rest
                .split_at_checked((size * self.layers) as usize)
                .ok_or_else(|| wrong_size("mip tail", tail.len(), self.bytes(tail_sizes)))?;
            sources.push((mip, *size as usize));
            rest = behind;
        }
        Ok(sources)
    }
}

fn wrong_size(what: &str, found: usize, needed: u64) -> DecodeError {
    DecodeError::Malformed(format!("{found} bytes in the {what}, which needs {needed}"))
}
