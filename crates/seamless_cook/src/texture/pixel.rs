//! Texels of plain formats as numbers, as a GPU reads them, and back. See [`PixelFormat`].

use std::sync::LazyLock;

use bevy::render::render_resource::TextureFormat;
use half::f16;

use super::usage::Channels;

/// Red, green, blue and alpha, in linear space.
pub(super) type Texel = [f32; 4];

/// How a channel is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    Unorm8,
    /// Alpha is linear all the same.
    Srgb8,
    Unorm16,
    Float16,
    Float32,
}

/// A format that is nothing but channels of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PixelFormat {
    pub numbers: Numbers,
    pub channels: usize,
    /// Blue comes first.
    swapped: bool,
}

impl PixelFormat {
    pub const RGBA8: Self = Self::new(Numbers::Unorm8, 4);
    pub const SRGB8: Self = Self::new(Numbers::Srgb8, 4);

    const fn new(numbers: Numbers, channels: usize) -> Self {
        Self {
            numbers,
            channels,
            swapped: false,
        }
    }

    /// `None` for formats that are not averaged: integers, signed ones, packed ones, depth, blocks.
    pub fn of(format: TextureFormat) -> Option<Self> {
        use Numbers::{Float16, Float32, Unorm8, Unorm16};
        Some(match format {
            TextureFormat::R8Unorm => Self::new(Unorm8, 1),
            TextureFormat::Rg8Unorm => Self::new(Unorm8, 2),
            TextureFormat::Rgba8Unorm => Self::RGBA8,
            TextureFormat::Rgba8UnormSrgb => Self::SRGB8,
            TextureFormat::Bgra8Unorm => Self {
                swapped: true,
                ..Self::RGBA8
            },
            TextureFormat::Bgra8UnormSrgb => Self {
                swapped: true,
                ..Self::SRGB8
            },
            TextureFormat::R16Unorm => Self::new(Unorm16, 1),
            TextureFormat::Rg16Unorm => Self::new(Unorm16, 2),
            TextureFormat::Rgba16Unorm => Self::new(Unorm16, 4),
            TextureFormat::R16Float => Self::new(Float16, 1),
            TextureFormat::Rg16Float => Self::new(Float16, 2),
            TextureFormat::Rgba16Float => Self::new(Float16, 4),
            TextureFormat::R32Float => Self::new(Float32, 1),
            TextureFormat::Rg32Float => Self::new(Float32, 2),
            TextureFormat::Rgba32Float => Self::new(Float32, 4),
            _ => return None,
        })
    }

    /// Bytes of a texel.
    pub fn bytes(self) -> usize {
        let number = match self.numbers {
            Numbers::Unorm8 | Numbers::Srgb8 => 1,
            Numbers::Unorm16 | Numbers::Float16 => 2,
            Numbers::Float32 => 4,
        };
        number * self.channels
    }

    /// The channels that it has.
    pub fn stored(self) -> Channels {
        match self.channels {
            1 => Channels::R,
            2 => Channels::RG,
            _ => Channels::RGBA,
        }
    }

    /// Whether it has light beyond white.
    pub fn is_float(self) -> bool {
        matches!(self.numbers, Numbers::Float16 | Numbers::Float32)
    }

    /// Reads texels; channels that are not stored are black, and opaque.
    pub fn read(self, bytes: &[u8], texels: &mut Vec<Texel>) {
        texels.extend(bytes.chunks_exact(self.bytes()).map(|bytes| {
            let mut texel = [0.0, 0.0, 0.0, 1.0];
            self.read_channels(bytes, texel.get_mut(..self.channels).unwrap_or_default());
            if self.swapped {
                texel.swap(0, 2);
            }
            texel
        }));
    }

    fn read_channels(self, bytes: &[u8], values: &mut [f32]) {
        match self.numbers {
            Numbers::Unorm8 => each(bytes, values, |[byte]: [u8; 1]| f32::from(byte) / 255.0),
            Numbers::Srgb8 => {
                each(bytes, values, |[byte]: [u8; 1]| SRGB.linear[usize::from(byte)]);
                if let (Some(byte), Some(alpha)) = (bytes.get(3), values.get_mut(3)) {
                    *alpha = f32::from(*byte) / 255.0;
                }
            }
            Numbers::Unorm16 => each(bytes, values, |bytes| f32::from(u16::from_le_bytes(bytes)) / 65535.0),
            Numbers::Float16 => each(bytes, values, |bytes| f16::from_le_bytes(bytes).to_f32()),
            Numbers::Float32 => each(bytes, values, f32::from_le_bytes),
        }
    }

    /// Writes texels, rounded to what can be stored.
    pub fn write(self, texels: &[Texel], bytes: &mut Vec<u8>) {
        for texel in texels {
            let [r, g, b, a] = *texel;
            let ordered = if self.swapped { [b, g, r, a] } else { *texel };
            for (channel, value) in ordered.into_iter().take(self.channels).enumerate() {
                match self.numbers {
                    Numbers::Srgb8 if channel < 3 => bytes.push(SRGB.encode(value)),
                    Numbers::Unorm8 | Numbers::Srgb8 => bytes.push(unorm8(value)),
                    Numbers::Unorm16 => {
                        let rounded = (value.clamp(0.0, 1.0) * 65535.0).round() as u16;
                        bytes.extend(rounded.to_le_bytes());
                    }
                    Numbers::Float16 => bytes.extend(f16::from_f32(value).to_le_bytes()),
                    Numbers::Float32 => bytes.extend(value.to_le_bytes()),
                }
            }
        }
    }
}

/// Reads one value from each `N` bytes.
fn each<const N: usize>(bytes: &[u8], values: &mut [f32], read: impl Fn([u8; N]) -> f32) {
    let (numbers, _) = bytes.as_chunks::<N>();
    for (value, bytes) in values.iter_mut().zip(numbers) {
        *value = read(*bytes);
    }
}

/// The nearest of 256 steps.
pub(super) fn unorm8(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// The sRGB curve at each of its 256 steps, and half way between them.
struct Srgb {
    linear: [f32; 256],
    between: [f32; 255],
}

static SRGB: LazyLock<Srgb> = LazyLock::new(|| Srgb {
    linear: core::array::from_fn(|step| srgb_to_linear(step as f64 / 255.0)),
    between: core::array::from_fn(|step| srgb_to_linear((step as f64 + 0.5) / 255.0)),
});

impl Srgb {
    /// The step that is nearest on the curve.
    fn encode(&self, linear: f32) -> u8 {
        self.between.partition_point(|between| *between <= linear) as u8
    }
}

/// The curve of IEC 61966-2-1.
pub(super) fn srgb_to_linear(value: f64) -> f32 {
    let linear = if value <= 0.04045 {
        value / 12.92
    } else {
        ((value + 0.055) / 1.055).powf(2.4)
    };
    linear as f32
}
