//! Textures, cooked from images that are made here.

mod cook;
mod mips;
mod quality;
mod random;
mod usage;

use core::num::NonZeroUsize;

use bevy::asset::RenderAssetUsages;
use bevy::image::Image;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};

use super::measure::Blocks;
use super::pixel::{PixelFormat, Texel};
use super::*;

const COLOR: TextureUse = TextureUse::Color(AlphaUse::Ignored);
const BLEND: TextureUse = TextureUse::Color(AlphaUse::Blend);
const MASK: TextureUse = TextureUse::Color(AlphaUse::Mask { visible: 128 });
const NORMAL: TextureUse = TextureUse::Normal(NormalUse::TwoChannels);

/// Mips only.
const PLAIN: TextureSettings = TextureSettings {
    quality: Quality::Fast,
    mips: true,
    compress: false,
    target: TargetFormats { bc: true },
    max_size: None,
};
const FAST: TextureSettings = TextureSettings {
    compress: true,
    ..PLAIN
};
const BEST: TextureSettings = TextureSettings {
    quality: Quality::Best,
    ..FAST
};

/// Numbers that look random.
struct Noise(u32);

impl Noise {
    fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 24) as u8
    }

    /// A number from `least` to `most`.
    fn within(&mut self, least: u32, most: u32) -> u32 {
        let number = u32::from(self.byte()) << 8 | u32::from(self.byte());
        least + number % (most - least + 1)
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.within(0, items.len() as u32 - 1) as usize]
    }

    fn bytes(&mut self, count: u32) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }
}

fn image_of(width: u32, height: u32, layers: u32, format: TextureFormat, data: Vec<u8>) -> Image {
    let size = Extent3d {
        width,
        height,
        depth_or_array_layers: layers,
    };
    Image::new(size, TextureDimension::D2, data, format, RenderAssetUsages::all())
}

/// An image whose texels are what `texel` says.
fn rgba8(width: u32, height: u32, mut texel: impl FnMut(u32, u32) -> [u8; 4]) -> Image {
    let texels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let data = texels.flat_map(|(x, y)| texel(x, y)).collect();
    image_of(width, height, 1, TextureFormat::Rgba8UnormSrgb, data)
}

fn linear(mut image: Image) -> Image {
    image.texture_descriptor.format = TextureFormat::Rgba8Unorm;
    image
}

fn noise(width: u32, height: u32) -> Image {
    let mut noise = Noise(7);
    rgba8(width, height, |_, _| [noise.byte(), noise.byte(), noise.byte(), 255])
}

/// Soft and colourful, with a little grain.
fn gradient(width: u32, height: u32) -> Image {
    let mut grain = Noise(3);
    rgba8(width, height, |x, y| {
        let wave = |speed: f32| ((x as f32 * speed).sin() * (y as f32 * speed * 1.3).cos() * 100.0 + 120.0) as u8;
        let grain = grain.byte() >> 5;
        [wave(0.03) + grain, wave(0.021) + grain, wave(0.05) + grain, 255]
    })
}

/// Black signs on white, with hard edges.
fn text(width: u32, height: u32) -> Image {
    rgba8(width, height, |x, y| {
        let ink = (x / 3 + y / 5) % 4 == 0 || (x * y) % 11 == 3;
        let value = if ink { 15 } else { 240 };
        [value, value, value, 255]
    })
}

/// Hemispheres side by side, as steep as normals get.
fn bumps(width: u32, height: u32) -> Image {
    linear(rgba8(width, height, |x, y| {
        let place = |at: u32| (at % 32) as f32 / 15.5 - 1.0;
        let (x, y) = (place(x), place(y));
        let inside = (1.0 - x * x - y * y).max(0.0);
        let scale = if inside > 0.0 {
            1.0
        } else {
            1.0 / (x * x + y * y).sqrt()
        };
        let byte = |value: f32| (value * 127.5 + 127.5).round() as u8;
        [byte(x * scale), byte(y * scale), byte(inside.sqrt()), 255]
    }))
}

/// Leaves: round holes of several sizes, with soft edges.
fn leaves(width: u32, height: u32) -> Image {
    rgba8(width, height, |x, y| {
        let place = |at: u32| (at % 16) as f32 - 7.5;
        let radius = (place(x).powi(2) + place(y).powi(2)).sqrt();
        let alpha = ((4.0 + (x / 16 % 3) as f32 - radius) * 64.0 + 128.0).clamp(0.0, 255.0) as u8;
        [40, 160, 30, alpha]
    })
}

/// The mips of a cooked image: for each layer and mip its size and its texels, in linear space.
fn mips_of(image: &Image) -> Vec<Vec<(u32, u32, Vec<Texel>)>> {
    let descriptor = &image.texture_descriptor;
    let mut rest = image.data.as_deref().unwrap();
    let layers = (0..descriptor.size.depth_or_array_layers).map(|_| {
        let mips = (0..descriptor.mip_level_count).map(|level| {
            let size = descriptor.mip_level_size(level).unwrap();
            let (texels, behind) = texels_of(descriptor.format, size.width, size.height, rest);
            rest = behind;
            (size.width, size.height, texels)
        });
        mips.collect()
    });
    let layers = layers.collect();
    assert!(rest.is_empty(), "{} bytes too many", rest.len());
    layers
}

fn texels_of(format: TextureFormat, width: u32, height: u32, bytes: &[u8]) -> (Vec<Texel>, &[u8]) {
    if let Some(plain) = PixelFormat::of(format) {
        let (bytes, rest) = bytes.split_at(width as usize * height as usize * plain.bytes());
        let mut texels = Vec::new();
        plain.read(bytes, &mut texels);
        return (texels, rest);
    }
    let block = match format {
        TextureFormat::Bc1RgbaUnorm | TextureFormat::Bc1RgbaUnormSrgb => BlockFormat::Bc1,
        TextureFormat::Bc3RgbaUnorm | TextureFormat::Bc3RgbaUnormSrgb => BlockFormat::Bc3,
        TextureFormat::Bc4RUnorm => BlockFormat::Bc4,
        TextureFormat::Bc5RgUnorm => BlockFormat::Bc5,
        TextureFormat::Bc6hRgbUfloat => BlockFormat::Bc6h,
        TextureFormat::Bc7RgbaUnorm | TextureFormat::Bc7RgbaUnormSrgb => BlockFormat::Bc7,
        other => panic!("{other:?} is not expected"),
    };
    let (bytes, rest) = bytes.split_at(block.bytes(width, height));
    let stride = width.next_multiple_of(4) as usize;
    let (mut texels, mut rows) = (Vec::new(), Vec::new());
    for y in 0..height as usize {
        let blocks = Blocks { format: block, bytes };
        blocks.decode_row(y / 4, stride, &mut rows);
        let row = rows[y % 4 * stride..].iter().take(width as usize);
        texels.extend(row.map(|texel| if format.is_srgb() { from_srgb(*texel) } else { *texel }));
    }
    (texels, rest)
}

fn from_srgb([r, g, b, a]: Texel) -> Texel {
    let [r, g, b] = [r, g, b].map(|value| super::pixel::srgb_to_linear(f64::from(value)));
    [r, g, b, a]
}

fn mean(texels: &[Texel], value: impl Fn(&Texel) -> f64) -> f64 {
    texels.iter().map(value).sum::<f64>() / texels.len() as f64
}

fn cooked(image: &Image, usage: TextureUse, settings: &TextureSettings) -> Cooked {
    cook_texture(image, usage, settings, &CpuEncoder, NonZeroUsize::MIN)
}
