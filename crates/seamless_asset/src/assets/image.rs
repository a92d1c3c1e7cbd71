//! Images: large mips as bulk payloads, small ones and everything else in the export. See [`ImageCodec`].

mod apart;
mod mips;
#[cfg(test)]
mod tests;

use bevy_asset::RenderAssetUsages;
use bevy_image::{Image, ImageSampler, ImageSamplerDescriptor};
use bevy_reflect::TypePath;
use serde::{Deserialize, Serialize};
use wgpu_types::{
    Extent3d, TextureAspect, TextureDataOrder, TextureDescriptor, TextureDimension, TextureFormat, TextureUsages,
    TextureViewDescriptor, TextureViewDimension,
};

pub use self::apart::ImageApart;
use self::mips::MipLayout;
use crate::codec::{AssetCodec, DecodeContext, DecodeError};
#[cfg(feature = "write")]
use crate::codec::{EncodeContext, EncodeError, EncodedAsset};
use seamless_package::Role;

/// The codec of [`Image`]. Pixels are stored as they are; labels, which are for debugging only, are not.
///
/// Of an image with mips, each one whose largest side is more than 64 texels is a bulk payload of its own, with all layers, the
/// largest first. The others, the *mip tail*, lie inline in the export. An image without mips is one payload.
pub struct ImageCodec;

#[derive(Serialize, Deserialize)]
struct StoredImage {
    pixels: StoredPixels,
    mip_major: bool,
    size: Extent3d,
    mip_level_count: u32,
    sample_count: u32,
    dimension: TextureDimension,
    format: TextureFormat,
    usage: TextureUsages,
    view_formats: Vec<TextureFormat>,
    sampler: StoredSampler,
    view: Option<StoredView>,
    asset_usage: u8,
    copy_on_resize: bool,
}

/// Where the pixels lie. Version 1 had the first two, as a `bool`, which has the same bytes.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
enum StoredPixels {
    /// The image has none.
    None,
    /// All in one payload, as they are in memory.
    Whole,
    /// A payload for each large mip, and the tail behind the header.
    Mips,
}

#[derive(Serialize, Deserialize)]
enum StoredSampler {
    Default,
    Descriptor(ImageSamplerDescriptor),
}

#[derive(Serialize, Deserialize)]
struct StoredView {
    format: Option<TextureFormat>,
    dimension: Option<TextureViewDimension>,
    usage: Option<TextureUsages>,
    aspect: TextureAspect,
    base_mip_level: u32,
    mip_level_count: Option<u32>,
    base_array_layer: u32,
    array_layer_count: Option<u32>,
}

#[cfg(feature = "write")]
fn is_cube(dimension: Option<TextureViewDimension>) -> bool {
    matches!(
        dimension,
        Some(TextureViewDimension::Cube | TextureViewDimension::CubeArray)
    )
}

impl AssetCodec for ImageCodec {
    type Asset = Image;
    const VERSION: u32 = 2;
    const ROLE: Role = Role::CLIENT;

    fn is_rendered(image: &Image) -> bool {
        image.asset_usage.contains(RenderAssetUsages::RENDER_WORLD)
    }

    #[cfg(feature = "write")]
    fn encode(image: &Image, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let mut stored = StoredImage::of(image);
        let mut split = None;
        check_texture(&stored)?;
        if let Some(pixels) = &image.data {
            if let Err(needed) = check_size(&stored, pixels.len()) {
                let found = pixels.len();
                return Err(EncodeError::TooFewPixels { found, needed });
            }
            split = MipLayout::of(&stored).and_then(|layout| layout.split(pixels));
            stored.pixels = if split.is_some() {
                StoredPixels::Mips
            } else {
                StoredPixels::Whole
            };
        }
        let mut data = postcard::to_allocvec(&stored).map_err(|error| EncodeError::Other(error.to_string()))?;
        let bulk = match split {
            Some(split) => {
                data.extend(split.tail);
                split.large
            }
            None => image.data.iter().cloned().collect(),
        };
        Ok(EncodedAsset { data, bulk })
    }

    /// An image that only shaders read, with mips of which two or more are payloads and others are not, and at least 256
    /// texels across or down: it is worth drawing with fewer of them. No cube: Bevy takes from the number of its mips which of them a rough
    /// surface reflects.
    #[cfg(feature = "write")]
    fn marks(image: &Image, encoded: &EncodedAsset) -> bool {
        let texture = &image.texture_descriptor;
        let view = image.texture_view_descriptor.as_ref();
        let read = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST | TextureUsages::COPY_SRC;
        let payloads = encoded.bulk.len() as u32;
        image.asset_usage == RenderAssetUsages::RENDER_WORLD
            && texture.dimension == TextureDimension::D2
            && texture.sample_count == 1
            && read.contains(texture.usage)
            && view.is_none_or(|view| view.base_mip_level == 0 && !is_cube(view.dimension))
            && texture.size.width.max(texture.size.height) >= Self::STREAMED_SIDE
            && (2..texture.mip_level_count).contains(&payloads)
    }

    fn decode(data: &[u8], bulk: Vec<Vec<u8>>, _: &DecodeContext) -> Result<Image, DecodeError> {
        Self::read(data, bulk)
    }

    /// Version 1 had all pixels in one payload, which is still how those of an image without mips lie.
    fn decode_version(
        version: u32,
        data: &[u8],
        bulk: Vec<Vec<u8>>,
        context: &DecodeContext,
    ) -> Result<Image, DecodeError> {
        match version {
            1 => Self::decode(data, bulk, context),
            _ => Err(DecodeError::version(Image::type_path(), version, Self::VERSION)),
        }
    }
}

impl ImageCodec {
    /// The smallest larger side, in texels, of an image whose mips may come one by one: smaller ones cost more than they save.
    pub const STREAMED_SIDE: u32 = 256;

    /// An image from the data and the payloads of its export, as [`decode`](AssetCodec::decode) has it, of version 1 or 2.
    ///
    /// # Errors
    /// When the bytes are no image.
    pub fn read(data: &[u8], payloads: Vec<Vec<u8>>) -> Result<Image, DecodeError> {
        let (stored, tail) = StoredImage::read(data)?;
        let pixels = pixels(&stored, payloads, tail)?;
        stored.into_image(pixels)
    }
}

/// The pixels as they are in memory, from where they are stored.
fn pixels(stored: &StoredImage, mut bulk: Vec<Vec<u8>>, tail: &[u8]) -> Result<Option<Vec<u8>>, DecodeError> {
    if !mips::MIPS.contains(&stored.mip_level_count) {
        return Err(DecodeError::Malformed(format!("{} mips", stored.mip_level_count)));
    }
    match (stored.pixels, bulk.len(), tail.len()) {
        (StoredPixels::None, 0, 0) => Ok(None),
        (StoredPixels::Whole, 1, 0) => {
            let pixels = bulk.pop().unwrap_or_default();
            check_size(stored, pixels.len()).map_err(|needed| {
                let found = pixels.len();
                DecodeError::Malformed(format!("{found} bytes of pixels where the texture needs {needed}"))
            })?;
            Ok(Some(pixels))
        }
        (StoredPixels::Mips, ..) => MipLayout::of(stored)
            .ok_or_else(|| DecodeError::Malformed(format!("{:?} has no mips of its own", stored.format)))?
            .join(&bulk, tail)
            .map(Some),
        (_, payloads, tail) => Err(DecodeError::Malformed(format!(
            "{payloads} payloads and {tail} inline bytes of pixels do not fit the image's header"
        ))),
    }
}

impl StoredImage {
    /// The header, and what is behind it.
    fn read(data: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        postcard::take_from_bytes(data).map_err(|error| DecodeError::Malformed(format!("image header: {error}")))
    }

    #[cfg(feature = "write")]
    fn of(image: &Image) -> Self {
        let descriptor = &image.texture_descriptor;
        Self {
            pixels: StoredPixels::None,
            mip_major: matches!(image.data_order, TextureDataOrder::MipMajor),
            size: descriptor.size,
            mip_level_count: descriptor.mip_level_count,
            sample_count: descriptor.sample_count,
            dimension: descriptor.dimension,
            format: descriptor.format,
            usage: descriptor.usage,
            view_formats: descriptor.view_formats.to_vec(),
            sampler: match &image.sampler {
                ImageSampler::Default => StoredSampler::Default,
                ImageSampler::Descriptor(sampler) => StoredSampler::Descriptor(sampler.clone()),
            },
            view: image.texture_view_descriptor.as_ref().map(StoredView::of),
            asset_usage: image.asset_usage.bits(),
            copy_on_resize: image.copy_on_resize,
        }
    }

    fn into_image(self, pixels: Option<Vec<u8>>) -> Result<Image, DecodeError> {
        let asset_usage = RenderAssetUsages::from_bits(self.asset_usage)
            .ok_or_else(|| DecodeError::Malformed(format!("unknown asset usage {:#x}", self.asset_usage)))?;
        Ok(Image {
            data: pixels,
            data_order: if self.mip_major {
                TextureDataOrder::MipMajor
            } else {
                TextureDataOrder::LayerMajor
            },
            texture_descriptor: TextureDescriptor {
                label: None,
                size: self.size,
                mip_level_count: self.mip_level_count,
                sample_count: self.sample_count,
                dimension: self.dimension,
                format: self.format,
                usage: self.usage,
                view_formats: static_formats(self.view_formats),
            },
            sampler: match self.sampler {
                StoredSampler::Default => ImageSampler::Default,
                StoredSampler::Descriptor(sampler) => ImageSampler::Descriptor(sampler),
            },
            texture_view_descriptor: self.view.map(StoredView::into_descriptor),
            asset_usage,
            copy_on_resize: self.copy_on_resize,
        })
    }
}

/// wgpu reads past the end of pixels that are too few, and panics: the size is checked here, off the main thread. Formats
/// without a size of their own in memory, such as depth with stencil, pass: no pixels are uploaded to them. The error is what is needed.
fn check_size(stored: &StoredImage, found: usize) -> Result<(), u64> {
    let needed = MipLayout::of(stored).map_or(0, |layout| layout.total());
    if (found as u64) < needed { Err(needed) } else { Ok(()) }
}

/// What wgpu refuses when the texture is made, which ends a game, is told by the cooker.
#[cfg(feature = "write")]
fn check_texture(stored: &StoredImage) -> Result<(), EncodeError> {
    let Extent3d {
        width,
        height,
        depth_or_array_layers: layers,
    } = stored.size;
    if width == 0 || height == 0 || layers == 0 {
        return Err(EncodeError::EmptyImage { width, height, layers });
    }
    let (found, most) = (stored.mip_level_count, stored.size.max_mips(stored.dimension));
    if !(1..=most).contains(&found) {
        return Err(EncodeError::WrongMips { found, most });
    }
    Ok(())
}

/// Images hold their view formats for ever (`&'static`); each distinct list is leaked once, and there are few.
fn static_formats(formats: Vec<TextureFormat>) -> &'static [TextureFormat] {
    use std::sync::Mutex;
    static KNOWN: Mutex<Vec<&'static [TextureFormat]>> = Mutex::new(Vec::new());
    if formats.is_empty() {
        return &[];
    }
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = known.iter().find(|known| **known == formats.as_slice()) {
        return known;
    }
    let leaked: &'static [TextureFormat] = Vec::leak(formats);
    known.push(leaked);
    leaked
}

impl StoredView {
    #[cfg(feature = "write")]
    fn of(view: &TextureViewDescriptor<Option<&'static str>>) -> Self {
        Self {
            format: view.format,
            dimension: view.dimension,
            usage: view.usage,
            aspect: view.aspect,
            base_mip_level: view.base_mip_level,
            mip_level_count: view.mip_level_count,
            base_array_layer: view.base_array_layer,
            array_layer_count: view.array_layer_count,
        }
    }

    fn into_descriptor(self) -> TextureViewDescriptor<Option<&'static str>> {
        TextureViewDescriptor {
            label: None,
            format: self.format,
            dimension: self.dimension,
            usage: self.usage,
            aspect: self.aspect,
            base_mip_level: self.base_mip_level,
            mip_level_count: self.mip_level_count,
            base_array_layer: self.base_array_layer,
            array_layer_count: self.array_layer_count,
        }
    }
}
