//! Why images of packages do not stream that the cooker has not marked. See [`why_unmarked`].

use bevy_asset::RenderAssetUsages;
use bevy_image::Image;
use seamless_asset::assets::ImageCodec;
use wgpu_types::{TextureUsages, TextureViewDimension};

use crate::mip::{MipChain, NotStreamed};

/// Why the cooker has not marked an image that has so many payloads, by the rules of [`ImageCodec`].
pub(super) fn why_unmarked(image: &Image, payloads: u32) -> NotStreamed {
    let texture = &image.texture_descriptor;
    let read = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST | TextureUsages::COPY_SRC;
    let view = image.texture_view_descriptor.as_ref();
    let is_cube = |dimension| matches!(dimension, TextureViewDimension::Cube | TextureViewDimension::CubeArray);
    let (side, least) = (texture.size.width.max(texture.size.height), ImageCodec::STREAMED_SIDE);
    match () {
        () if image.asset_usage != RenderAssetUsages::RENDER_WORLD => NotStreamed::InMemory,
        () if !read.contains(texture.usage) => NotStreamed::Written,
        () if view.and_then(|view| view.dimension).is_some_and(is_cube) => NotStreamed::Cube,
        () if view.is_some_and(|view| view.base_mip_level != 0) => NotStreamed::View,
        () if side < least => NotStreamed::Small { side, least },
        () => {
            let chain = MipChain::new(
                texture.size,
                texture.dimension,
                texture.sample_count,
                texture.format,
                texture.mip_level_count,
                payloads,
            );
            let unmarked = if payloads < 2 {
                NotStreamed::OneTop
            } else {
                NotStreamed::Unmarked
            };
            chain.err().unwrap_or(unmarked)
        }
    }
}

/// What an image takes on the GPU that is drawn as it is, in bytes.
pub(super) fn drawn_bytes(image: &Image) -> u64 {
    let is_drawn = image.asset_usage.contains(RenderAssetUsages::RENDER_WORLD);
    let pixels = image.data.as_ref().filter(|_| is_drawn);
    pixels.map_or(0, |pixels| pixels.len() as u64)
}
