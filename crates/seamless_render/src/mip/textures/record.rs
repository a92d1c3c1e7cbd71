//! What is known of a texture that streams. See [`MipRecord`].

use bevy_asset::RenderAssetUsages;
use bevy_image::{Image, ImageSampler};
use wgpu_types::{TextureDescriptor, TextureFormat, TextureViewDescriptor};

use super::MipParts;
use crate::mip::{MipChain, NotStreamed};

/// What marks images, and textures on the GPU, as mip streaming's: their label. The image has no pixels; its descriptor is that of the whole texture.
pub(in crate::mip) const LABEL: &str = "seamless_mip";

/// What the renderer has of a texture goes by this label, which no image has: otherwise Bevy would write pixels that a game puts into the image, which are
/// those of the whole, into the smaller texture that is there.
const DRAWN_LABEL: &str = "seamless_mip_drawn";

/// Whether an image has no pixels of its own, because mip streaming has them.
pub(in crate::mip) fn is_stand_in(image: &Image) -> bool {
    image.texture_descriptor.label == Some(LABEL) && image.asset_usage == RenderAssetUsages::MAIN_WORLD
}

/// What is known of a texture that streams, for as long as it is there.
#[derive(Debug)]
pub struct MipRecord {
    chain: MipChain,
    parts: MipParts,
}

/// The descriptor of an image's texture.
pub(in crate::mip) type Descriptor = TextureDescriptor<Option<&'static str>, &'static [TextureFormat]>;
/// The descriptor of an image's view.
pub(in crate::mip) type ViewDescriptor = TextureViewDescriptor<Option<&'static str>>;

/// What all mips of an image take, in bytes, without padding.
pub(in crate::mip) fn image_bytes(texture: &Descriptor) -> u64 {
    (0..texture.mip_level_count).map(|mip| mip_bytes(texture, mip)).sum()
}

/// What a mip of an image takes, with all of its layers, in bytes.
pub(in crate::mip) fn mip_bytes(texture: &Descriptor, mip: u32) -> u64 {
    let (width, height) = texture.format.block_dimensions();
    let block = texture.format.block_copy_size(None).unwrap_or_default();
    // The layers of an array, or what a volume has of depth there.
    let extent = texture.size.mip_level_size(mip, texture.dimension);
    let blocks = [
        extent.width.div_ceil(width),
        extent.height.div_ceil(height),
        extent.depth_or_array_layers,
    ];
    blocks.map(u64::from).iter().product::<u64>() * u64::from(block)
}

impl MipRecord {
    /// What there is to know of an image of these parts.
    ///
    /// # Errors
    /// Why it does not stream.
    pub(in crate::mip) fn new(parts: MipParts) -> Result<Self, NotStreamed> {
        let texture = &parts.image().texture_descriptor;
        let chain = MipChain::new(
            texture.size,
            texture.dimension,
            texture.sample_count,
            texture.format,
            texture.mip_level_count,
            parts.payloads(),
        )?;
        // What is coarser would have to be read before anything can be drawn.
        let (floor, tail) = (chain.floor(), parts.payloads());
        if u32::from(floor) != tail {
            return Err(NotStreamed::Floor { floor, tail });
        }
        Ok(Self { chain, parts })
    }

    /// Its mips. Those before the [floor](MipChain::floor) are payloads, of the same numbers.
    #[must_use]
    pub fn chain(&self) -> &MipChain {
        &self.chain
    }

    /// What the payloads belong to: an object, as a [`BulkRequest`](seamless_asset::BulkRequest) takes it, or a file.
    #[must_use]
    pub fn path(&self) -> &str {
        self.parts.path()
    }

    /// The mips from the floor on, the largest first, each with all of its layers, without padding.
    #[must_use]
    pub fn tail(&self) -> &[u8] {
        self.parts.tail()
    }

    /// Where the payloads are, and what the image is put together from, if it does not stream after all.
    pub(in crate::mip) fn parts(&self) -> &MipParts {
        &self.parts
    }

    /// Whether it is a file of its own.
    pub(in crate::mip) fn is_file(&self) -> bool {
        matches!(self.parts, MipParts::File(_))
    }

    /// The whole texture's.
    pub(in crate::mip) fn descriptor(&self) -> &Descriptor {
        &self.parts.image().texture_descriptor
    }

    /// The whole texture's, as the renderer has it; it is no image's.
    pub(in crate::mip) fn drawn_descriptor(&self) -> Descriptor {
        Descriptor {
            label: Some(DRAWN_LABEL),
            ..self.descriptor().clone()
        }
    }

    pub(in crate::mip) fn view(&self) -> Option<&ViewDescriptor> {
        self.parts.image().texture_view_descriptor.as_ref()
    }

    pub(in crate::mip) fn sampler(&self) -> &ImageSampler {
        &self.parts.image().sampler
    }

    /// The same with another sampler.
    pub(in crate::mip) fn resampled(&self, sampler: ImageSampler) -> Self {
        let mut parts = self.parts.clone();
        parts.image_mut().sampler = sampler;
        Self {
            chain: self.chain.clone(),
            parts,
        }
    }

    /// The image that stands for the texture in the main world.
    pub(in crate::mip) fn stand_in(image: &Image) -> Image {
        let mut image = image.clone();
        image.texture_descriptor.label = Some(LABEL);
        image.asset_usage = RenderAssetUsages::MAIN_WORLD;
        image
    }
}
