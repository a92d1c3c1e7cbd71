//! Normals in two channels. See [`stay_inside`].

use super::encoder::{BlockFormat, Surface, SurfaceTexels, TextureEncoder};
use super::measure::decode_block;
use super::pixel::Texel;
use super::settings::Quality;

/// How long a pair may be: a GPU may decode a bit differently.
const LONGEST: f32 = 0.999;

/// How often a block is tried, each time with its pairs a bit shorter; at the end they are half as long.
const TRIES: i32 = 32;

/// Repairs BC5 blocks whose pairs left the unit circle by rounding: Bevy's shader computes the third coordinate as
/// `sqrt(1 - x² - y²)`, which is no number there, and black spots are what is seen. Such blocks are made again from shorter
/// pairs. `None` when the encoder cannot do it.
pub(super) fn stay_inside(
    mut blocks: Vec<u8>,
    bytes: &[u8],
    width: u32,
    encoder: &dyn TextureEncoder,
    quality: Quality,
) -> Option<Vec<u8>> {
    let columns = (width / 4) as usize;
    for (index, block) in blocks.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        if is_inside(block) {
            continue;
        }
        let texels = block_texels(bytes, index % columns, index / columns, width as usize)?;
        let repaired = (1..=TRIES).find_map(|attempt| {
            let shorter = shortened(&texels, 0.98_f32.powi(attempt));
            let surface = Surface {
                width: 4,
                height: 4,
                texels: SurfaceTexels::Rgba8(&shorter),
                opaque: true,
            };
            let block = encoder.encode(BlockFormat::Bc5, quality, &surface)?;
            is_inside(&block).then_some(block)
        });
        block.copy_from_slice(repaired.as_deref().filter(|repaired| repaired.len() == 16)?);
    }
    Some(blocks)
}

/// Whether all pairs of a block are within the unit circle.
pub(super) fn is_inside(block: &[u8]) -> bool {
    let is_short = |texel: &Texel| {
        let (x, y) = (texel[0] * 2.0 - 1.0, texel[1] * 2.0 - 1.0);
        x * x + y * y <= LONGEST
    };
    block.len() == 16 && decode_block(BlockFormat::Bc5, block).iter().all(is_short)
}

/// The 64 bytes of the texels of a block.
fn block_texels(bytes: &[u8], column: usize, row: usize, width: usize) -> Option<Vec<u8>> {
    let mut texels = Vec::with_capacity(64);
    for y in row * 4..row * 4 + 4 {
        let start = (y * width + column * 4) * 4;
        texels.extend_from_slice(bytes.get(start..start + 16)?);
    }
    Some(texels)
}

fn shortened(texels: &[u8], factor: f32) -> Vec<u8> {
    let shorten = |byte: u8| ((f32::from(byte) - 127.5) * factor + 127.5).round() as u8;
    let texels = texels.as_chunks::<4>().0.iter();
    texels
        .flat_map(|[x, y, z, a]| [shorten(*x), shorten(*y), *z, *a])
        .collect()
}
