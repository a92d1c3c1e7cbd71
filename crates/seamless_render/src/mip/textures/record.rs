//! What is known of a texture that streams. See [`MipRecord`].

use bevy_asset::RenderAssetUsages;
use bevy_image::{Image, ImageSampler};
use seamless_asset::{assets::ImageApart, codec::DecodedPlace};
use wgpu_types::{TextureDescriptor, TextureFormat, TextureViewDescriptor};

use super::WholeImage;
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
    path: String,
    apart: ImageApart,
}

/// The descriptor of an image's texture.
pub(in crate::mip) type Descriptor = TextureDescriptor<Option<&'static str>, &'static [TextureFormat]>;
/// The descriptor of an image's view.
pub(in crate::mip) type ViewDescriptor = TextureViewDescriptor<Option<&'static str>>;

impl MipRecord {
    /// What there is to know of an image whose payloads are at `place`.
    ///
    /// # Errors
    /// Why it does not stream.
    pub(in crate::mip) fn new(apart: ImageApart, place: DecodedPlace) -> Result<Self, NotStreamed> {
        let texture = &apart.image.texture_descriptor;
        let chain = MipChain::new(
            texture.size,
            texture.dimension,
            texture.sample_count,
            texture.format,
            texture.mip_level_count,
            apart.payloads(),
        )?;
        // What is coarser would have to be read before anything can be drawn.
        let (floor, tail) = (chain.floor(), apart.payloads());
        if u32::from(floor) != tail {
            return Err(NotStreamed::Floor { floor, tail });
        }
        Ok(Self {
            chain,
            path: place.path,
            apart,
        })
    }

    /// Its mips. Those before the [floor](MipChain::floor) are payloads, of the same numbers.
    #[must_use]
    pub fn chain(&self) -> &MipChain {
        &self.chain
    }

    /// The object that the payloads belong to, as a [`BulkRequest`](seamless_asset::BulkRequest) takes it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The mips from the floor on, the largest first, each with all of its layers, without padding.
    #[must_use]
    pub fn tail(&self) -> &[u8] {
        self.apart.tail()
    }

    /// What the image is put together from, if it does not stream after all.
    pub(in crate::mip) fn to_whole(&self) -> WholeImage {
        WholeImage {
            apart: self.apart.clone(),
            path: self.path.clone(),
        }
    }

    /// The whole texture's.
    pub(in crate::mip) fn descriptor(&self) -> &Descriptor {
        &self.apart.image.texture_descriptor
    }

    /// The whole texture's, as the renderer has it; it is no image's.
    pub(in crate::mip) fn drawn_descriptor(&self) -> Descriptor {
        Descriptor {
            label: Some(DRAWN_LABEL),
            ..self.descriptor().clone()
        }
    }

    pub(in crate::mip) fn view(&self) -> Option<&ViewDescriptor> {
        self.apart.image.texture_view_descriptor.as_ref()
    }

    pub(in crate::mip) fn sampler(&self) -> &ImageSampler {
        &self.apart.image.sampler
    }

    /// The image that stands for the texture in the main world.
    pub(in crate::mip) fn stand_in(apart: &ImageApart) -> Image {
        let mut image = apart.image.clone();
        image.texture_descriptor.label = Some(LABEL);
        image.asset_usage = RenderAssetUsages::MAIN_WORLD;
        image
    }
}
