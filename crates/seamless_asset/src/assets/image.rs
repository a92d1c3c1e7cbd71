//! Images: pixels as one bulk payload, everything else in the export. See [`ImageCodec`].

use bevy_asset::RenderAssetUsages;
use bevy_image::{Image, ImageSampler, ImageSamplerDescriptor};
use serde::{Deserialize, Serialize};
use wgpu_types::{
    Extent3d, TextureAspect, TextureDataOrder, TextureDescriptor, TextureDimension, TextureFormat, TextureUsages,
    TextureViewDescriptor, TextureViewDimension,
};

use crate::codec::{AssetCodec, DecodeContext, DecodeError};
#[cfg(feature = "write")]
use crate::codec::{EncodeContext, EncodeError, EncodedAsset};
use seamless_package::Role;

/// The codec of [`Image`]. Pixels are stored as they are; labels, which are for debugging only, are not.
pub struct ImageCodec;

#[derive(Serialize, Deserialize)]
struct StoredImage {
    has_data: bool,
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

impl AssetCodec for ImageCodec {
    type Asset = Image;
    const VERSION: u32 = 1;
    const ROLE: Role = Role::CLIENT;

    fn is_rendered(image: &Image) -> bool {
        image.asset_usage.contains(RenderAssetUsages::RENDER_WORLD)
    }

    #[cfg(feature = "write")]
    fn encode(image: &Image, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let descriptor = &image.texture_descriptor;
        let stored = StoredImage {
            has_data: image.data.is_some(),
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
        };
        let data = postcard::to_allocvec(&stored).map_err(|error| EncodeError::Other(error.to_string()))?;
        Ok(EncodedAsset {
            data,
            bulk: image.data.iter().cloned().collect(),
        })
    }

    fn decode(data: &[u8], bulk: Vec<Vec<u8>>, _: &DecodeContext) -> Result<Image, DecodeError> {
        let stored: StoredImage =
            postcard::from_bytes(data).map_err(|error| DecodeError::Malformed(format!("image header: {error}")))?;
        let pixels = match (stored.has_data, bulk.into_iter().next()) {
            (true, Some(pixels)) => Some(pixels),
            (false, None) => None,
            _ => {
                return Err(DecodeError::Malformed(
                    "the image's pixels do not fit its header".into(),
                ));
            }
        };
        if let Some(pixels) = &pixels {
            check_size(&stored, pixels.len())?;
        }
        let asset_usage = RenderAssetUsages::from_bits(stored.asset_usage)
            .ok_or_else(|| DecodeError::Malformed(format!("unknown asset usage {:#x}", stored.asset_usage)))?;
        Ok(Image {
            data: pixels,
            data_order: if stored.mip_major {
                TextureDataOrder::MipMajor
            } else {
                TextureDataOrder::LayerMajor
            },
            texture_descriptor: TextureDescriptor {
                label: None,
                size: stored.size,
                mip_level_count: stored.mip_level_count,
                sample_count: stored.sample_count,
                dimension: stored.dimension,
                format: stored.format,
                usage: stored.usage,
                view_formats: static_formats(stored.view_formats),
            },
            sampler: match stored.sampler {
                StoredSampler::Default => ImageSampler::Default,
                StoredSampler::Descriptor(sampler) => ImageSampler::Descriptor(sampler),
            },
            texture_view_descriptor: stored.view.map(StoredView::into_descriptor),
            asset_usage,
            copy_on_resize: stored.copy_on_resize,
        })
    }
}

/// wgpu reads past the end of pixels that are too few, and panics: the size is checked here, off the main thread.
fn check_size(stored: &StoredImage, found: usize) -> Result<(), DecodeError> {
    let (width, height) = stored.format.block_dimensions();
    let block = stored.format.block_copy_size(None).map_or(0, u64::from);
    if stored.mip_level_count == 0 || stored.mip_level_count > 32 {
        return Err(DecodeError::Malformed(format!("{} mips", stored.mip_level_count)));
    }
    let layers = u64::from(stored.size.depth_or_array_layers);
    let mut needed = 0_u64;
    for level in 0..stored.mip_level_count {
        let mip = stored.size.mip_level_size(level, stored.dimension);
        let depth = if stored.dimension == TextureDimension::D3 {
            u64::from(mip.depth_or_array_layers)
        } else {
            layers
        };
        let blocks = u64::from(mip.width.div_ceil(width)) * u64::from(mip.height.div_ceil(height));
        needed = needed.saturating_add(blocks.saturating_mul(block).saturating_mul(depth));
    }
    if (found as u64) < needed {
        return Err(DecodeError::Malformed(format!(
            "{found} bytes of pixels where the texture needs {needed}"
        )));
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
