//! Samplers, and those that bound the mips that are read. See [`for_top`].

use bevy_asset::AssetId;
use bevy_image::{Image, ImageSampler, ImageSamplerDescriptor};
use bevy_render::{
    render_asset::RenderAssets,
    render_resource::Sampler,
    renderer::RenderDevice,
    texture::{DefaultImageSampler, GpuImage},
};

use super::Live;
use crate::mip::textures::MipRecord;

/// What a sampler must be for a texture that begins at mip `top`, if it is another one there than for the whole: its bounds count from the base of what is
/// there. `None` if one sampler does for all tops.
///
/// Of Bevy's default sampler, bounds are taken as they are.
pub(super) fn for_top(sampler: &ImageSampler, top: u8, mips: u8) -> Option<ImageSamplerDescriptor> {
    let ImageSampler::Descriptor(descriptor) = sampler else {
        return None;
    };
    let last = f32::from(mips.saturating_sub(1));
    let is_bound = descriptor.lod_min_clamp > 0.0 || descriptor.lod_max_clamp < last;
    is_bound.then(|| ImageSamplerDescriptor {
        lod_min_clamp: (descriptor.lod_min_clamp - f32::from(top)).max(0.0),
        lod_max_clamp: (descriptor.lod_max_clamp - f32::from(top)).max(0.0),
        ..descriptor.clone()
    })
}

/// The sampler of a texture that begins at mip `top`.
pub(super) fn make_sampler(
    device: &RenderDevice,
    record: &MipRecord,
    top: u8,
    default_sampler: &DefaultImageSampler,
) -> Sampler {
    let bound = for_top(record.sampler(), top, record.chain().mips());
    match (bound, record.sampler()) {
        (Some(bound), _) => device.create_sampler(&bound.as_wgpu()),
        (None, ImageSampler::Descriptor(descriptor)) => device.create_sampler(&descriptor.as_wgpu()),
        (None, ImageSampler::Default) => (***default_sampler).clone().into(),
    }
}

/// Has what is drawn of a texture sampled as is said of it now. One that is not there yet comes with that.
pub(super) fn resample(
    id: AssetId<Image>,
    live: &Live,
    images: &mut RenderAssets<GpuImage>,
    device: &RenderDevice,
    default_sampler: &DefaultImageSampler,
) {
    let Some((texture, top)) = &live.texture else { return };
    // One that is not ours is the game's, or another plugin's.
    if let Some(image) = images.get_mut(id).filter(|image| image.texture.id() == texture.id()) {
        image.sampler = make_sampler(device, &live.record, *top, default_sampler);
    }
}
