//! Mips to blocks. See [`compress`].

use core::ops::Range;

use half::f16;

use super::choose::Choice;
use super::encoder::{BlockFormat, Surface, SurfaceTexels, TextureEncoder};
use super::measure::{Blocks, Errors, Measure};
use super::mips::Mip;
use super::normals;
use super::pixel::{PixelFormat, Texel};
use super::settings::Quality;

/// Rows of a mip as the encoder takes them: filled up to whole blocks with the texels at its edges.
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

/// What is made of mips.
pub(super) struct Compression<'a> {
    pub choice: Choice,
    pub measure: Measure,
    pub quality: Quality,
    pub encoder: &'a dyn TextureEncoder,
}

/// Compresses rows of one mip, of which the first begins a block, and measures what came of it. `None` when the encoder does not do its part.
pub(super) fn compress(mip: &Mip<'_>, rows: &Range<u32>, compression: &Compression<'_>) -> Option<(Vec<u8>, Errors)> {
    let Compression {
        choice,
        measure,
        quality,
        encoder,
    } = *compression;
    let filled = fill(mip, rows, choice);
    let height = rows.end - rows.start;
    let surface = Surface {
        width: mip.width.next_multiple_of(4),
        height: height.next_multiple_of(4),
        texels: filled.texels(),
        opaque: !choice.alpha,
    };
    let bytes = encoder.encode(choice.format, quality, &surface)?;
    if bytes.len() != choice.format.bytes(mip.width, height) {
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
    let mut errors = Errors::default();
    errors.add(measure, &blocks, surface.texels, mip.width, height);
    Some((bytes, errors))
}

fn fill(mip: &Mip<'_>, rows: &Range<u32>, choice: Choice) -> Filled {
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
    for y in rows.start..rows.end.next_multiple_of(4) {
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
