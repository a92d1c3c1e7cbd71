//! Block compression. See [`TextureEncoder`].

use block_compression::{BC6HSettings, BC7Settings, CompressionVariant, encode};
use half::f16;
use serde::{Deserialize, Serialize};

use super::settings::Quality;

/// A format in blocks of 4 × 4 texels. Whether colour is stored in sRGB does not matter to an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BlockFormat {
    /// Opaque colour, 8 bytes a block.
    Bc1,
    /// Colour as in BC1, and alpha as in BC4.
    Bc3,
    /// One channel, 8 bytes a block.
    Bc4,
    /// Two channels, as two of BC4.
    Bc5,
    /// Light, unsigned, 16 bytes a block.
    Bc6h,
    /// Colour and alpha, 16 bytes a block.
    Bc7,
}

impl BlockFormat {
    /// Bytes of a block.
    #[must_use]
    pub const fn block_bytes(self) -> usize {
        match self {
            Self::Bc1 | Self::Bc4 => 8,
            Self::Bc3 | Self::Bc5 | Self::Bc6h | Self::Bc7 => 16,
        }
    }

    /// Bytes of a surface.
    #[must_use]
    pub const fn bytes(self, width: u32, height: u32) -> usize {
        width.div_ceil(4) as usize * height.div_ceil(4) as usize * self.block_bytes()
    }
}

/// The texels of a [`Surface`], row by row, four numbers each: red, green, blue and alpha.
#[derive(Debug, Clone, Copy)]
pub enum SurfaceTexels<'a> {
    /// For all formats but BC6H.
    Rgba8(&'a [u8]),
    /// For BC6H: finite numbers, none below zero.
    RgbaF16(&'a [f16]),
}

/// What is compressed: one layer of one mip, or some rows of it, in whole blocks.
#[derive(Debug, Clone, Copy)]
pub struct Surface<'a> {
    /// A multiple of four.
    pub width: u32,
    /// A multiple of four.
    pub height: u32,
    /// `width * height` texels.
    pub texels: SurfaceTexels<'a>,
    /// Whether all alphas are 1.
    pub opaque: bool,
}

/// Compresses textures. The same input must give the same bytes, always and everywhere.
pub trait TextureEncoder: Send + Sync {
    /// Name and version: what was compressed by another one is not the same.
    fn id(&self) -> &str;

    /// The blocks of `surface`, row by row; `None` when the encoder does not have the format, or not for such texels.
    fn encode(&self, format: BlockFormat, quality: Quality, surface: &Surface<'_>) -> Option<Vec<u8>>;
}

/// Compresses on the CPU, by a port of Intel's texture compressor to plain Rust: it needs no C++ library, and gives the same bytes on
/// every processor.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuEncoder;

impl TextureEncoder for CpuEncoder {
    fn id(&self) -> &'static str {
        "block_compression 0.11"
    }

    fn encode(&self, format: BlockFormat, quality: Quality, surface: &Surface<'_>) -> Option<Vec<u8>> {
        let (width, height) = (surface.width, surface.height);
        let texels = (width as usize).checked_mul(height as usize)?;
        if !width.is_multiple_of(4) || !height.is_multiple_of(4) {
            return None;
        }
        let variant = variant(format, quality, surface.opaque);
        let mut blocks = vec![0; format.bytes(width, height)];
        match (format, surface.texels) {
            (BlockFormat::Bc6h, SurfaceTexels::RgbaF16(numbers)) if numbers.len() == texels.checked_mul(4)? => {
                encode::compress_rgba16(variant, numbers, &mut blocks, width, height, width * 4);
            }
            (BlockFormat::Bc6h, _) => return None,
            (_, SurfaceTexels::Rgba8(bytes)) if bytes.len() == texels.checked_mul(4)? => {
                encode::compress_rgba8(variant, bytes, &mut blocks, width, height, width * 4);
            }
            _ => return None,
        }
        Some(blocks)
    }
}

fn variant(format: BlockFormat, quality: Quality, opaque: bool) -> CompressionVariant {
    match (format, quality, opaque) {
        (BlockFormat::Bc1, ..) => CompressionVariant::BC1,
        (BlockFormat::Bc3, ..) => CompressionVariant::BC3,
        (BlockFormat::Bc4, ..) => CompressionVariant::BC4,
        (BlockFormat::Bc5, ..) => CompressionVariant::BC5,
        (BlockFormat::Bc6h, Quality::Fast, _) => CompressionVariant::BC6H(BC6HSettings::very_fast()),
        (BlockFormat::Bc6h, Quality::Best, _) => CompressionVariant::BC6H(BC6HSettings::basic()),
        (BlockFormat::Bc7, Quality::Fast, true) => CompressionVariant::BC7(BC7Settings::opaque_ultra_fast()),
        (BlockFormat::Bc7, Quality::Fast, false) => CompressionVariant::BC7(BC7Settings::alpha_ultrafast()),
        (BlockFormat::Bc7, Quality::Best, true) => CompressionVariant::BC7(BC7Settings::opaque_fast()),
        (BlockFormat::Bc7, Quality::Best, false) => CompressionVariant::BC7(BC7Settings::alpha_fast()),
    }
}
