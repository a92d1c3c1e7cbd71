//! Blocks back to texels, for a target that cannot sample them. See [`expanded`].

use bevy::image::Image;
use bevy::render::render_resource::{TextureDataOrder, TextureDimension, TextureFormat};
use half::f16;

/// Width and height of a block.
const SIDE: usize = 4;

/// The image with plain texels, all mips and layers of it; `None` if it has no blocks that this decodes, or if not all of them are there.
pub(super) fn expanded(image: &Image) -> Option<Image> {
    let descriptor = &image.texture_descriptor;
    let decoder = Decoder::of(descriptor.format)?;
    let has_views = image
        .texture_view_descriptor
        .as_ref()
        .is_some_and(|view| view.format.is_some());
    if has_views || !descriptor.view_formats.is_empty() || descriptor.dimension != TextureDimension::D2 {
        return None;
    }
    let mut blocks = image.data.as_deref()?;
    let mut texels = Vec::new();
    let (layers, mips) = (descriptor.size.depth_or_array_layers, descriptor.mip_level_count);
    let is_by_layer = matches!(image.data_order, TextureDataOrder::LayerMajor);
    // As many as it says, until one is not there.
    for surface in 0..u64::from(layers) * u64::from(mips) {
        let mip = match is_by_layer {
            true => surface % u64::from(mips),
            false => surface / u64::from(layers),
        } as u32;
        let side = |size: u32| (size.checked_shr(mip).unwrap_or(0)).max(1) as usize;
        blocks = decoder.surface(
            blocks,
            side(descriptor.size.width),
            side(descriptor.size.height),
            &mut texels,
        )?;
    }
    let mut plain = image.clone();
    plain.texture_descriptor.format = decoder.to;
    plain.data = Some(texels);
    blocks.is_empty().then_some(plain)
}

/// One block to 16 texels, row by row.
type Decode = fn(&[u8], &mut [u8]);

/// What becomes of a block format.
struct Decoder {
    to: TextureFormat,
    block_bytes: usize,
    texel_bytes: usize,
    decode: Decode,
}

impl Decoder {
    fn of(format: TextureFormat) -> Option<Self> {
        use TextureFormat as F;
        let rgba = |to, block_bytes, decode: Decode| (to, block_bytes, 4, decode);
        let (to, block_bytes, texel_bytes, decode): (_, _, _, Decode) = match format {
            F::Bc1RgbaUnorm => rgba(F::Rgba8Unorm, 8, |block, texels| bcdec_rs::bc1(block, texels, 16)),
            F::Bc1RgbaUnormSrgb => rgba(F::Rgba8UnormSrgb, 8, |block, texels| bcdec_rs::bc1(block, texels, 16)),
            F::Bc2RgbaUnorm => rgba(F::Rgba8Unorm, 16, |block, texels| bcdec_rs::bc2(block, texels, 16)),
            F::Bc2RgbaUnormSrgb => rgba(F::Rgba8UnormSrgb, 16, |block, texels| bcdec_rs::bc2(block, texels, 16)),
            F::Bc3RgbaUnorm => rgba(F::Rgba8Unorm, 16, |block, texels| bcdec_rs::bc3(block, texels, 16)),
            F::Bc3RgbaUnormSrgb => rgba(F::Rgba8UnormSrgb, 16, |block, texels| bcdec_rs::bc3(block, texels, 16)),
            F::Bc7RgbaUnorm => rgba(F::Rgba8Unorm, 16, |block, texels| bcdec_rs::bc7(block, texels, 16)),
            F::Bc7RgbaUnormSrgb => rgba(F::Rgba8UnormSrgb, 16, |block, texels| bcdec_rs::bc7(block, texels, 16)),
            F::Bc4RUnorm => (F::R8Unorm, 8, 1, |block, texels| bcdec_rs::bc4(block, texels, 4, false)),
            F::Bc4RSnorm => (F::R8Snorm, 8, 1, |block, texels| {
                let mut numbers = [0.0; 16];
                bcdec_rs::bc4_float(block, &mut numbers, 4, true);
                signed(&numbers, texels);
            }),
            F::Bc5RgUnorm => (F::Rg8Unorm, 16, 2, |block, texels| {
                bcdec_rs::bc5(block, texels, 8, false)
            }),
            F::Bc5RgSnorm => (F::Rg8Snorm, 16, 2, |block, texels| {
                let mut numbers = [0.0; 32];
                bcdec_rs::bc5_float(block, &mut numbers, 8, true);
                signed(&numbers, texels);
            }),
            F::Bc6hRgbUfloat => (F::Rgba16Float, 16, 8, |block, texels| light(block, texels, false)),
            F::Bc6hRgbFloat => (F::Rgba16Float, 16, 8, |block, texels| light(block, texels, true)),
            _ => return None,
        };
        Some(Self {
            to,
            block_bytes,
            texel_bytes,
            decode,
        })
    }

    /// Decodes one mip of one layer; gives what is behind it.
    fn surface<'b>(&self, blocks: &'b [u8], width: usize, height: usize, texels: &mut Vec<u8>) -> Option<&'b [u8]> {
        let row_bytes = width.div_ceil(SIDE).checked_mul(self.block_bytes)?;
        let (mut surface, rest) = blocks.split_at_checked(row_bytes.checked_mul(height.div_ceil(SIDE))?)?;
        let mut tile = [0; SIDE * SIDE * 8];
        let tile_row = SIDE * self.texel_bytes;
        // Blocks are there, and a block has at most 128 bytes of texels: nothing grows beyond 16 times what was read.
        for top in (0..height).step_by(SIDE) {
            let (row, below) = surface.split_at_checked(row_bytes)?;
            surface = below;
            let start = texels.len();
            let rows = SIDE.min(height - top);
            texels.resize(start + rows * width * self.texel_bytes, 0);
            for (column, block) in row.chunks_exact(self.block_bytes).enumerate() {
                (self.decode)(block, &mut tile);
                let used = SIDE.min(width - column * SIDE) * self.texel_bytes;
                for (line, decoded) in tile.chunks_exact(tile_row).take(rows).enumerate() {
                    let at = start + (line * width + column * SIDE) * self.texel_bytes;
                    texels.get_mut(at..at + used)?.copy_from_slice(decoded.get(..used)?);
                }
            }
        }
        Some(rest)
    }
}

fn signed(numbers: &[f32], texels: &mut [u8]) {
    for (texel, number) in texels.iter_mut().zip(numbers) {
        *texel = ((number * 127.0).round() as i8).cast_unsigned();
    }
}

fn light(block: &[u8], texels: &mut [u8], is_signed: bool) {
    let mut halves = [0; 48];
    bcdec_rs::bc6h_half(block, &mut halves, 12, is_signed);
    for (texel, rgb) in texels.chunks_exact_mut(8).zip(halves.chunks_exact(3)) {
        let rgba = rgb.iter().copied().chain([f16::ONE.to_bits()]);
        for (bytes, half) in texel.chunks_exact_mut(2).zip(rgba) {
            bytes.copy_from_slice(&half.to_le_bytes());
        }
    }
}
