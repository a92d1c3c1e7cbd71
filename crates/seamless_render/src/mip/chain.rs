//! The mips of a texture: their sizes, and what it takes to leave some out. See [`MipChain`].

#[cfg(test)]
mod tests;

use wgpu_types::{COPY_BYTES_PER_ROW_ALIGNMENT, Extent3d, TextureDimension, TextureFormat};

use super::error::NotStreamed;

/// Room for the mips of the largest texture.
const MOST_MIPS: usize = 16;

/// All mips of a texture that streams, finest first: 0 is the whole.
///
/// The texture on the GPU begins at a *top*, one of [`tops`](Self::tops), and has all mips from there on. Block formats have whole
/// blocks at the base, so not each mip may be the top. Those at and behind the *tail*'s first mip came with the package, so no
/// top is coarser than that.
///
/// ```
/// # use seamless_render::mip::MipChain;
/// # use wgpu_types::{Extent3d, TextureDimension, TextureFormat};
/// let size = Extent3d { width: 1000, height: 1000, depth_or_array_layers: 1 };
/// let chain = MipChain::new(size, TextureDimension::D2, 1, TextureFormat::Bc7RgbaUnorm, 10, 4).unwrap();
/// // 1000 and 500 are multiples of 4; 250 is none, and nothing behind it that the tail has not.
/// assert_eq!(chain.tops().collect::<Vec<_>>(), [0, 1]);
/// assert_eq!(chain.payload_bytes(1), 500 * 500);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MipChain {
    /// Of mip 0; its depth is the number of layers.
    size: Extent3d,
    /// Width and height of a block, in texels.
    block: (u32, u32),
    block_bytes: u32,
    mips: u8,
    /// Bit `n`: mip `n` may be the top.
    tops: u16,
    /// At `n`: all layers of the mips from `n` on, in bytes.
    bytes: [u64; MOST_MIPS + 1],
    /// The same in buffers.
    staging: [u64; MOST_MIPS + 1],
}

/// A mip that two textures of one chain share.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MipCopy {
    /// Where it is in the texture that is there.
    pub src_mip: u32,
    /// Where it is to be in the new one.
    pub dst_mip: u32,
    /// All of it, all layers included, in texels: whole blocks.
    pub extent: Extent3d,
}

/// How a mip lies in a buffer that is copied to a texture.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// From one row of blocks to the next, a multiple of 256.
    pub bytes_per_row: u32,
    /// Rows of blocks of a layer.
    pub rows_per_image: u32,
    /// All layers.
    pub bytes: u64,
}

impl MipChain {
    /// The longest side of a texture that streams, in texels.
    pub const MAX_SIDE: u32 = 1 << (MOST_MIPS - 1);
    /// The most layers of an array that streams.
    pub const MAX_LAYERS: u32 = 4096;

    /// The chain of a texture with `mips` mips; the first `tail` of them are stored apart.
    ///
    /// # Errors
    ///
    /// Why it does not stream.
    pub fn new(
        size: Extent3d,
        dimension: TextureDimension,
        samples: u32,
        format: TextureFormat,
        mips: u32,
        tail: u32,
    ) -> Result<Self, NotStreamed> {
        check_shape(size, dimension, samples, mips)?;
        let block = format.block_dimensions();
        let block_bytes = block_bytes(format).ok_or(NotStreamed::Format(format))?;
        let mut chain = Self {
            size,
            block,
            block_bytes,
            mips: mips as u8,
            tops: 0,
            bytes: [0; MOST_MIPS + 1],
            staging: [0; MOST_MIPS + 1],
        };
        for mip in (0..chain.mips).rev() {
            let index = usize::from(mip);
            chain.bytes[index] = chain.bytes[index + 1] + chain.payload_bytes(mip);
            chain.staging[index] = chain.staging[index + 1] + chain.staging(mip).bytes;
        }
        let last = tail.min(mips - 1) as u8;
        let whole = (0..=last).filter(|mip| chain.is_whole_blocks(*mip));
        chain.tops = whole.fold(0, |tops, mip| tops | 1 << mip);
        match chain.tops {
            tops if tops & 1 == 0 => Err(NotStreamed::BaseMip { block }),
            1 => Err(NotStreamed::OneTop),
            _ => Ok(chain),
        }
    }

    /// How many mips there are.
    #[must_use]
    pub fn mips(&self) -> u8 {
        self.mips
    }

    /// The larger of width and height of a mip, in texels.
    #[must_use]
    pub fn side(&self, mip: u8) -> u32 {
        let (width, height) = self.texels(mip);
        width.max(height)
    }

    /// Width, height and layers of the texture that begins at a top, in texels.
    #[must_use]
    pub fn extent(&self, top: u8) -> Extent3d {
        let (width, height) = self.texels(top);
        Extent3d {
            width,
            height,
            depth_or_array_layers: self.size.depth_or_array_layers,
        }
    }

    /// The mips that a texture may begin at, finest first; the first is 0, and there are two at least.
    pub fn tops(&self) -> impl DoubleEndedIterator<Item = u8> + use<> {
        let tops = self.tops;
        (0..MOST_MIPS as u8).filter(move |mip| tops >> mip & 1 == 1)
    }

    /// The coarsest top: no mip that is stored apart is resident then, but those that the format requires.
    #[must_use]
    pub fn floor(&self) -> u8 {
        (u16::BITS - 1 - self.tops.leading_zeros()) as u8
    }

    /// The coarsest top that is as fine as `mip` at least.
    #[must_use]
    pub fn top_for(&self, mip: u8) -> u8 {
        let mask = match mip {
            0..15 => (2_u16 << mip) - 1,
            _ => u16::MAX,
        };
        // Top 0 is always there.
        (u16::BITS - 1 - (self.tops & mask).leading_zeros()) as u8
    }

    /// The next top that is coarser than `top`.
    #[must_use]
    pub fn coarser(&self, top: u8) -> Option<u8> {
        let rest = self.tops.checked_shr(u32::from(top) + 1)?;
        (rest != 0).then(|| top + 1 + rest.trailing_zeros() as u8)
    }

    /// What the texture takes that begins at `top`: all layers of the mips from there on, in bytes; 0 behind the last.
    #[must_use]
    pub fn bytes(&self, top: u8) -> u64 {
        self.bytes.get(usize::from(top)).copied().unwrap_or_default()
    }

    /// All layers of one mip, rows without padding: its size in a package, and on the GPU.
    #[must_use]
    pub fn payload_bytes(&self, mip: u8) -> u64 {
        let (columns, rows) = self.blocks(mip);
        u64::from(columns) * u64::from(rows) * u64::from(self.block_bytes) * u64::from(self.size.depth_or_array_layers)
    }

    /// The mips that two tops have in common, from the texture that begins at `from` to one that begins at `to`.
    pub fn copies(&self, from: u8, to: u8) -> impl Iterator<Item = MipCopy> {
        (from.max(to)..self.mips).map(move |mip| {
            let (columns, rows) = self.blocks(mip);
            MipCopy {
                src_mip: u32::from(mip - from),
                dst_mip: u32::from(mip - to),
                extent: Extent3d {
                    width: columns * self.block.0,
                    height: rows * self.block.1,
                    depth_or_array_layers: self.size.depth_or_array_layers,
                },
            }
        })
    }

    /// How a mip lies in a buffer, from which it is copied to a texture: one row of blocks begins each 256 bytes, or multiples of that.
    #[must_use]
    pub fn staging(&self, mip: u8) -> Layout {
        let (columns, rows) = self.blocks(mip);
        let bytes_per_row = (columns * self.block_bytes).next_multiple_of(COPY_BYTES_PER_ROW_ALIGNMENT);
        Layout {
            bytes_per_row,
            rows_per_image: rows,
            bytes: u64::from(bytes_per_row) * u64::from(rows) * u64::from(self.size.depth_or_array_layers),
        }
    }

    /// What a change from one top to another has in buffers: the mips that are new, in bytes.
    #[must_use]
    pub fn staging_bytes(&self, from: u8, to: u8) -> u64 {
        let behind = |mip: u8| self.staging.get(usize::from(mip)).copied().unwrap_or_default();
        behind(to).saturating_sub(behind(from))
    }

    /// What a change takes while it goes on, beside the texture that is there: the new texture, and buffers.
    #[must_use]
    pub fn change_bytes(&self, from: u8, to: u8) -> u64 {
        self.bytes(to) + self.staging_bytes(from, to)
    }

    fn texels(&self, mip: u8) -> (u32, u32) {
        let half = |side: u32| side.checked_shr(u32::from(mip)).unwrap_or_default().max(1);
        (half(self.size.width), half(self.size.height))
    }

    /// Columns and rows of blocks.
    fn blocks(&self, mip: u8) -> (u32, u32) {
        let (width, height) = self.texels(mip);
        (width.div_ceil(self.block.0), height.div_ceil(self.block.1))
    }

    fn is_whole_blocks(&self, mip: u8) -> bool {
        let (width, height) = self.texels(mip);
        width.is_multiple_of(self.block.0) && height.is_multiple_of(self.block.1)
    }
}

fn check_shape(size: Extent3d, dimension: TextureDimension, samples: u32, mips: u32) -> Result<(), NotStreamed> {
    let side = size.width.max(size.height);
    if dimension != TextureDimension::D2 {
        return Err(NotStreamed::Dimension);
    }
    if samples != 1 {
        return Err(NotStreamed::Multisampled);
    }
    let has_size = size.width > 0 && size.height > 0 && side <= MipChain::MAX_SIDE;
    if !has_size || !(1..=MipChain::MAX_LAYERS).contains(&size.depth_or_array_layers) {
        return Err(NotStreamed::Size);
    }
    let most = side.ilog2() + 1;
    if !(1..=most).contains(&mips) {
        return Err(NotStreamed::Mips { mips, most });
    }
    Ok(())
}

/// What a block takes, if the format is one that can be copied whole.
fn block_bytes(format: TextureFormat) -> Option<u32> {
    let is_colour = !format.is_depth_stencil_format() && !format.is_multi_planar_format();
    is_colour.then(|| format.block_copy_size(None)).flatten()
}
