//! KTX2 files: <https://registry.khronos.org/KTX/specs/2.0/ktxspec.v2.html>. See [`smallest`].

use bevy_image::Image;
use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::compress;

const IDENTIFIER: [u8; 12] = *b"\xABKTX 20\xBB\r\n\x1A\n";
const HEADER: usize = 80;
/// Bytes that the index of levels has for each.
const LEVEL: usize = 24;
/// `supercompressionScheme` of levels that are a zstd frame each.
const ZSTD: u32 = 2;
/// `KHR_DF_TRANSFER_LINEAR` and `KHR_DF_TRANSFER_SRGB`.
const TRANSFERS: [u8; 2] = [1, 2];

/// A format as Vulkan and the Khronos data format specification number it.
struct Format {
    vulkan: u32,
    model: u8,
    /// Channel, first bit and bits of each sample.
    samples: &'static [(u8, u16, u8)],
}

const RGBA8: &[(u8, u16, u8)] = &[(0, 0, 8), (1, 8, 8), (2, 16, 8), (15, 24, 8)];
/// A block is one sample, or one of alpha or red, and another of what is left.
const BLOCK_64: &[(u8, u16, u8)] = &[(0, 0, 64)];
const BLOCK_128: &[(u8, u16, u8)] = &[(0, 0, 128)];
const ALPHA_COLOR: &[(u8, u16, u8)] = &[(15, 0, 64), (0, 64, 64)];
const RED_GREEN: &[(u8, u16, u8)] = &[(0, 0, 64), (1, 64, 64)];

/// The formats that the cooker makes of pictures with 8 bits.
fn format(format: TextureFormat) -> Option<Format> {
    let (vulkan, model, samples) = match format {
        TextureFormat::Rgba8Unorm => (37, 1, RGBA8),
        TextureFormat::Rgba8UnormSrgb => (43, 1, RGBA8),
        TextureFormat::Bc1RgbaUnorm => (133, 128, BLOCK_64),
        TextureFormat::Bc1RgbaUnormSrgb => (134, 128, BLOCK_64),
        TextureFormat::Bc3RgbaUnorm => (137, 130, ALPHA_COLOR),
        TextureFormat::Bc3RgbaUnormSrgb => (138, 130, ALPHA_COLOR),
        TextureFormat::Bc4RUnorm => (139, 131, BLOCK_64),
        TextureFormat::Bc5RgUnorm => (141, 132, RED_GREEN),
        TextureFormat::Bc7RgbaUnorm => (145, 134, BLOCK_128),
        TextureFormat::Bc7RgbaUnormSrgb => (146, 134, BLOCK_128),
        _ => return None,
    };
    Some(Format { vulkan, model, samples })
}

/// A KTX2 file with the texels and mips of a 2D texture: compressed, unless that makes it larger. `None` for textures of other kinds.
pub fn smallest(image: &Image) -> Option<Vec<u8>> {
    let (plain, packed) = (file(image, false)?, file(image, true)?);
    Some(if packed.len() < plain.len() { packed } else { plain })
}

/// The file; `is_packed` says whether each mip is a zstd frame.
pub(super) fn file(image: &Image, is_packed: bool) -> Option<Vec<u8>> {
    let descriptor = &image.texture_descriptor;
    let format = format(descriptor.format)?;
    let mips = mips(image)?;
    let description = description(&format, descriptor.format);
    let (size, count) = (descriptor.size, mips.len());
    let description_at = HEADER + LEVEL * count;
    let mut file = IDENTIFIER.to_vec();
    let scheme = if is_packed { ZSTD } else { 0 };
    // Format, size of a component, width, height, depth, layers, faces, levels, compression, then where the description lies, and no
    // key-value pairs.
    let header = [format.vulkan, 1, size.width, size.height, 0, 0, 1, count as u32, scheme];
    let places = [description_at as u32, description.len() as u32, 0, 0];
    header
        .iter()
        .chain(&places)
        .for_each(|value| file.extend(value.to_le_bytes()));
    // No data for all levels together.
    file.extend([0; 16]);
    let mut levels = Vec::new();
    let mut data = Vec::new();
    let data_at = description_at + description.len();
    // The smallest mip lies first, so that a reader that streams can show something early.
    for mip in mips.iter().rev() {
        if !is_packed {
            let block = descriptor.format.block_copy_size(None)? as usize;
            // A multiple of four as well.
            let unit = block.max(4);
            data.resize((data_at + data.len()).next_multiple_of(unit) - data_at, 0);
        }
        let stored = if is_packed { compress(mip) } else { mip.to_vec() };
        levels.push([data_at + data.len(), stored.len(), mip.len()]);
        data.extend(stored);
    }
    let index = levels.iter().rev().flatten();
    index.for_each(|value| file.extend((*value as u64).to_le_bytes()));
    file.extend(description);
    file.extend(data);
    Some(file)
}

/// The bytes of each mip, the largest first.
fn mips(image: &Image) -> Option<Vec<&[u8]>> {
    let descriptor = &image.texture_descriptor;
    if descriptor.dimension != TextureDimension::D2 || descriptor.size.depth_or_array_layers != 1 {
        return None;
    }
    let mut rest = image.data.as_deref()?;
    let mut mips = Vec::new();
    for level in 0..descriptor.mip_level_count {
        let size = descriptor.size.mip_level_size(level, descriptor.dimension);
        let (mip, behind) = rest.split_at_checked(bytes(size, descriptor.format)?)?;
        mips.push(mip);
        rest = behind;
    }
    Some(mips)
}

fn bytes(size: Extent3d, format: TextureFormat) -> Option<usize> {
    let (width, height) = format.block_dimensions();
    let blocks = size.width.div_ceil(width) * size.height.div_ceil(height);
    Some((blocks * format.block_copy_size(None)?) as usize)
}

/// The data format descriptor, its size in front.
fn description(format: &Format, texels: TextureFormat) -> Vec<u8> {
    let size = 24 + 16 * format.samples.len();
    let mut bytes = (size as u32 + 4).to_le_bytes().to_vec();
    // Vendor and type are those of Khronos; version 2.
    bytes.extend([0, 0, 0, 0, 2, 0]);
    bytes.extend((size as u16).to_le_bytes());
    // Primaries of BT.709; alpha is not premultiplied.
    bytes.extend([format.model, 1, TRANSFERS[usize::from(texels.is_srgb())], 0]);
    let (width, height) = texels.block_dimensions();
    bytes.extend([width as u8 - 1, height as u8 - 1, 0, 0]);
    bytes.push(texels.block_copy_size(None).unwrap_or(0) as u8);
    bytes.extend([0; 7]);
    for (channel, first, bits) in format.samples {
        bytes.extend(first.to_le_bytes());
        bytes.extend([bits - 1, *channel, 0, 0, 0, 0]);
        let highest = if *bits == 8 { 255 } else { u32::MAX };
        bytes.extend([0_u32, highest].into_iter().flat_map(u32::to_le_bytes));
    }
    bytes
}
