//! Samplers that bound the mips that are read. See [`for_top`].

use bevy_image::{ImageSampler, ImageSamplerDescriptor};

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
