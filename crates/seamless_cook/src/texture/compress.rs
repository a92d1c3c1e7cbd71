//! Mips to blocks. See [`compress`].

use half::f16;

use super::choose::Choice;
use super::encoder::{BlockFormat, Surface, SurfaceTexels, TextureEncoder};
use super::measure::{Blocks, Errors, Measure};
use super::mips::Mip;
use super::normals;
use super::pixel::{PixelFormat, Texel};
use super::settings::Quality;

/// A mip as the encoder takes it: filled up to whole blocks with the texels at its edges.
enum Filled {
    Bytes(Vec<u8>),
    Light(Vec<f16>),
}

impl Filled {
    fn texels(&self) -> SurfaceTexels<'_> {
        match self {
            Self::Bytes(bytes) => SurfaceTexels::Rgba8(bytes),
            Self::Light(numbers) => SurfaceTexels::RgbaF16(numbers),
        }
    }
}

/// Compresses one mip and measures what came of it. `None` when the encoder does not do its part.
pub(super) fn compress(
    mip: &Mip<'_>,
    choice: Choice,
    measure: Measure,
    quality: Quality,
    encoder: &dyn TextureEncoder,
    errors: &mut Errors,
) -> Option<Vec<u8>> {
    let filled = fill(mip, choice);
    let surface = Surface {
        width: mip.width.next_multiple_of(4),
        height: mip.height.next_multiple_of(4),
        texels: filled.texels(),
        opaque: !choice.alpha,
    };
    let bytes = encoder.encode(choice.format, quality, &surface)?;
    if bytes.len() != choice.format.bytes(mip.width, mip.height) {
        return None;
    }
    let bytes = match (measure, &filled) {
        (Measure::Angles { two: true }, Filled::Bytes(filled)) => {
            normals::stay_inside(bytes, filled, surface.width, encoder, quality)?
        }
        _ => bytes,
    };
    let blocks = Blocks {
        format: choice.format,
        bytes: &bytes,
    };
    errors.add(measure, &blocks, surface.texels, mip.width, mip.height);
    Some(bytes)
}

fn fill(mip: &Mip<'_>, choice: Choice) -> Filled {
    let columns = mip.width.next_multiple_of(4) as usize;
    let mut row: Vec<Texel> = Vec::with_capacity(columns);
    let mut filled = if choice.format == BlockFormat::Bc6h {
        Filled::Light(Vec::new())
    } else {
        Filled::Bytes(Vec::new())
    };
    let format = if choice.srgb {
        PixelFormat::SRGB8
    } else {
        PixelFormat::RGBA8
    };
    for y in 0..mip.height.next_multiple_of(4) {
        mip.row(y.min(mip.height - 1), &mut row);
        row.resize(columns, row.last().copied().unwrap_or_default());
        if !choice.alpha {
            row.iter_mut().for_each(|texel| texel[3] = 1.0);
        }
        match &mut filled {
            Filled::Bytes(bytes) => format.write(&row, bytes),
            // The sum with zero is never the negative zero, which unsigned floats do not have.
            Filled::Light(numbers) => numbers.extend(row.as_flattened().iter().map(|value| f16::from_f32(value + 0.0))),
        }
    }
    filled
}
