//! Which block format a texture gets. See [`choose`].

use core::num::NonZeroUsize;
use core::ops::Range;

use bevy::render::render_resource::TextureFormat;

use super::encoder::BlockFormat;
use super::mips::Base;
use super::parts::rows;
use super::pixel::{Numbers, PixelFormat};
use super::report::Kept;
use super::settings::Quality;
use super::usage::{AlphaUse, Channels, NormalUse, TextureUse};
use crate::parts::in_parts;

/// What counts of the texels of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    /// Every alpha is 1.
    pub opaque: bool,
    /// Every number is one, and finite.
    pub finite: bool,
    /// No number is below 0 or above what 16 bits hold.
    pub in_range: bool,
    /// Taken as directions, some of them point into the surface.
    pub faces_back: bool,
}

/// The largest number of 16-bit floats, and of BC6H.
const LARGEST: f32 = 65504.0;

/// Below this a third coordinate is no rounding of zero any more.
const FLAT: f32 = 0.48;

impl Content {
    /// Of nothing.
    const NOTHING: Self = Self {
        opaque: true,
        finite: true,
        in_range: true,
        faces_back: false,
    };

    /// Of both.
    fn and(self, other: Self) -> Self {
        Self {
            opaque: self.opaque && other.opaque,
            finite: self.finite && other.finite,
            in_range: self.in_range && other.in_range,
            faces_back: self.faces_back || other.faces_back,
        }
    }
}

/// Looks at all texels of all layers, on so many threads.
pub(super) fn look<'a>(layers: impl Iterator<Item = Base<'a>>, threads: NonZeroUsize) -> Content {
    let parts = layers.flat_map(|layer| rows(layer.height).map(move |rows| (layer, rows)));
    let parts: Vec<_> = parts.collect();
    let contents = in_parts(threads, &parts, |(layer, rows)| look_at(layer, rows.clone()));
    contents.into_iter().fold(Content::NOTHING, Content::and)
}

fn look_at(layer: &Base<'_>, rows: Range<u32>) -> Content {
    let mut content = Content::NOTHING;
    let mut row = Vec::new();
    for y in rows {
        layer.row(y, &mut row);
        for texel in &row {
            content.opaque &= texel[3] == 1.0;
            content.finite &= texel.iter().all(|value| value.is_finite());
            content.in_range &= texel.iter().all(|value| (0.0..=LARGEST).contains(value));
            content.faces_back |= texel[2] < FLAT;
        }
    }
    content
}

/// A format to try.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    pub format: BlockFormat,
    pub srgb: bool,
    /// Alpha is stored.
    pub alpha: bool,
    /// What it has to reach, in dB, for colour and for alpha; else the next one is tried.
    pub floor_db: Option<f64>,
}

/// What BC1 and BC3 have to reach: below it, blocks are seen.
pub(super) const FLOOR_DB: f64 = 33.0;

impl Choice {
    const fn new(format: BlockFormat, srgb: bool, alpha: bool) -> Self {
        Self {
            format,
            srgb,
            alpha,
            floor_db: None,
        }
    }

    const fn or_better(self) -> Self {
        Self {
            floor_db: Some(FLOOR_DB),
            ..self
        }
    }

    /// The format as wgpu names it.
    pub const fn texture_format(self) -> TextureFormat {
        match (self.format, self.srgb) {
            (BlockFormat::Bc1, false) => TextureFormat::Bc1RgbaUnorm,
            (BlockFormat::Bc1, true) => TextureFormat::Bc1RgbaUnormSrgb,
            (BlockFormat::Bc3, false) => TextureFormat::Bc3RgbaUnorm,
            (BlockFormat::Bc3, true) => TextureFormat::Bc3RgbaUnormSrgb,
            (BlockFormat::Bc4, _) => TextureFormat::Bc4RUnorm,
            (BlockFormat::Bc5, _) => TextureFormat::Bc5RgUnorm,
            (BlockFormat::Bc6h, _) => TextureFormat::Bc6hRgbUfloat,
            (BlockFormat::Bc7, false) => TextureFormat::Bc7RgbaUnorm,
            (BlockFormat::Bc7, true) => TextureFormat::Bc7RgbaUnormSrgb,
        }
    }
}

/// The formats to try, the cheapest first; the last one is taken as it is.
pub(super) fn choose(
    usage: TextureUse,
    pixel: PixelFormat,
    content: Content,
    quality: Quality,
) -> Result<Vec<Choice>, Kept> {
    let wide = !matches!(pixel.numbers, Numbers::Unorm8 | Numbers::Srgb8);
    match usage {
        TextureUse::Unknown => Err(Kept::UnknownUse),
        TextureUse::Normal(_) if pixel.is_float() => Err(Kept::Precise),
        TextureUse::Normal(normal) => normals(normal, pixel, content),
        TextureUse::Color(alpha) if pixel.is_float() => light(alpha, content),
        TextureUse::Data(_) if wide => Err(Kept::Precise),
        TextureUse::Color(_) if wide && pixel.channels < 4 => Err(Kept::Precise),
        TextureUse::Color(_) | TextureUse::Data(_) => Ok(colors(usage, pixel, content, quality)),
    }
}

fn normals(normal: NormalUse, pixel: PixelFormat, content: Content) -> Result<Vec<Choice>, Kept> {
    let srgb = pixel.numbers == Numbers::Srgb8;
    let two = pixel.channels == 2;
    match normal {
        _ if pixel.channels < 2 => Err(Kept::UnknownFormat),
        NormalUse::ThreeChannels if two => Err(Kept::UnknownFormat),
        NormalUse::TwoChannels if two || !(srgb || content.faces_back) => {
            Ok(vec![Choice::new(BlockFormat::Bc5, false, false)])
        }
        _ => Ok(vec![Choice::new(BlockFormat::Bc7, srgb, false)]),
    }
}

fn light(alpha: AlphaUse, content: Content) -> Result<Vec<Choice>, Kept> {
    if !content.in_range || alpha != AlphaUse::Ignored && !content.opaque {
        return Err(Kept::OutOfRange);
    }
    Ok(vec![Choice::new(BlockFormat::Bc6h, false, false)])
}

fn colors(usage: TextureUse, pixel: PixelFormat, content: Content, quality: Quality) -> Vec<Choice> {
    // 16 bits are linear; in 8 of them only the sRGB curve keeps what is dark.
    let srgb = matches!(pixel.numbers, Numbers::Srgb8 | Numbers::Unorm16);
    let channels = usage.channels().common(pixel.stored());
    if !srgb && channels.is_within(Channels::R) {
        return vec![Choice::new(BlockFormat::Bc4, false, false)];
    }
    if !srgb && channels.is_within(Channels::RG) {
        return vec![Choice::new(BlockFormat::Bc5, false, false)];
    }
    let needs_alpha = Channels::A.is_within(channels) && !content.opaque;
    let bc7 = Choice::new(BlockFormat::Bc7, srgb, needs_alpha);
    match quality {
        Quality::Fast if needs_alpha => vec![Choice::new(BlockFormat::Bc3, srgb, true).or_better(), bc7],
        Quality::Fast => vec![Choice::new(BlockFormat::Bc1, srgb, false).or_better(), bc7],
        // It costs no byte more to keep an alpha that nobody uses yet.
        Quality::Best => vec![Choice {
            alpha: !content.opaque,
            ..bc7
        }],
    }
}
