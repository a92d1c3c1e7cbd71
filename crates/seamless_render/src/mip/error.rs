//! Why a texture does not stream. See [`NotStreamed`].

use wgpu_types::TextureFormat;

/// Why a texture does not stream: it is on the GPU whole, or not at all, as without mip streaming.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum NotStreamed {
    /// It is a volume or a line; arrays and cubes of pictures stream.
    Dimension,
    /// It has several samples a texel, so it is drawn to, and has no mips.
    Multisampled,
    /// It has so many mips, and textures of its size have from one to `most`.
    Mips {
        /// How many it has.
        mips: u32,
        /// How many it may have.
        most: u32,
    },
    /// A side is nothing, or longer than [`MipChain::MAX_SIDE`](super::MipChain::MAX_SIDE); or it has more layers than
    /// [`MipChain::MAX_LAYERS`](super::MipChain::MAX_LAYERS).
    Size,
    /// A depth texture or one of several planes: its texels cannot be copied.
    Format(TextureFormat),
    /// Its format stores whole blocks, of `block` texels, and its sides are not made of such: no GPU takes it.
    BaseMip {
        /// Width and height of a block, in texels.
        block: (u32, u32),
    },
    /// None of its mips but the first may be the base of a texture, or none of them is apart from the rest: there is nothing to leave out.
    OneTop,
}

impl core::fmt::Display for NotStreamed {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        match self {
            Self::Dimension => write!(
                f,
                "a texture that is a volume or a line does not stream; use a 2D array"
            ),
            Self::Multisampled => write!(f, "a texture with several samples a texel has no mips to stream"),
            Self::Mips { mips, most } => write!(
                f,
                "the texture has {mips} mips, and from 1 to {most} are possible; cook it again"
            ),
            Self::Size => write!(f, "the texture's size is not one that a GPU takes"),
            Self::Format(format) => write!(
                f,
                "textures of the format {format:?} cannot be copied, so they do not stream"
            ),
            Self::BaseMip { block: (width, height) } => write!(
                f,
                "the texture's sides are not multiples of {width} and {height} texels, the blocks of its format; resize its source"
            ),
            Self::OneTop => write!(
                f,
                "no smaller mip of the texture can stand alone; give it sides that are powers of two, and mips that are stored apart"
            ),
        }
    }
}

impl core::error::Error for NotStreamed {}
