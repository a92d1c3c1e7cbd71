//! Textures with their tails alone. See [`make`].

use bevy_asset::AssetId;
use bevy_image::{Image, ImageSampler};
use bevy_render::{
    render_asset::RenderAssets,
    render_resource::{Origin3d, Sampler, TexelCopyBufferLayout, TexelCopyTextureInfo, Texture, TextureAspect},
    renderer::{RenderDevice, RenderQueue},
    texture::{DefaultImageSampler, GpuImage},
};

use super::{
    Live, sampler,
    texture::{NoTexture, make_texture, make_view},
};
use crate::mip::textures::{LABEL, MipRecord};

/// Makes the texture of an image that has none on this device, from its floor on. Whether that is over; if there is no memory for it, it is tried again.
pub(super) fn make(
    id: AssetId<Image>,
    live: &mut Live,
    device: &RenderDevice,
    queue: &RenderQueue,
    default_sampler: &DefaultImageSampler,
    images: &mut RenderAssets<GpuImage>,
) -> bool {
    let record = &*live.record;
    let top = record.chain().floor();
    let texture = match make_texture(device, record, top) {
        Ok(texture) => texture,
        Err(NoTexture::OutOfMemory) => return false,
        Err(NoTexture::Refused) => return true,
    };
    write(queue, &texture, record);
    let mut texture_descriptor = record.descriptor().clone();
    texture_descriptor.label = Some(LABEL);
    let image = GpuImage {
        texture_view: make_view(&texture, record, top),
        sampler: make_sampler(device, record, top, default_sampler),
        texture: texture.clone(),
        texture_descriptor,
        texture_view_descriptor: record.view().cloned(),
        had_data: true,
    };
    images.insert(id, image);
    live.texture = Some((texture, top));
    true
}

/// Puts the tail into the texture that begins with it.
fn write(queue: &RenderQueue, texture: &Texture, record: &MipRecord) {
    let (chain, floor) = (record.chain(), record.chain().floor());
    let mut rest = record.tail();
    for (mip, copy) in (floor..).zip(chain.copies(floor, floor)) {
        let bytes = chain.payload_bytes(mip);
        let Some((data, behind)) = rest.split_at_checked(bytes as usize) else {
            return;
        };
        let rows = chain.staging(mip).rows_per_image;
        let layers = copy.extent.depth_or_array_layers;
        queue.write_texture(
            TexelCopyTextureInfo {
                texture,
                mip_level: copy.dst_mip,
                origin: Origin3d::ZERO,
                aspect: TextureAspect::All,
            },
            data,
            TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some((bytes / u64::from(rows * layers)) as u32),
                rows_per_image: Some(rows),
            },
            copy.extent,
        );
        rest = behind;
    }
}

fn make_sampler(device: &RenderDevice, record: &MipRecord, top: u8, default_sampler: &DefaultImageSampler) -> Sampler {
    match (
        sampler::for_top(record.sampler(), top, record.chain().mips()),
        record.sampler(),
    ) {
        (Some(bound), _) => device.create_sampler(&bound.as_wgpu()),
        (None, ImageSampler::Descriptor(descriptor)) => device.create_sampler(&descriptor.as_wgpu()),
        (None, ImageSampler::Default) => (***default_sampler).clone().into(),
    }
}
