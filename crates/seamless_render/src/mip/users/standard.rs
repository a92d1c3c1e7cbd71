//! Images of Bevy's own material. See [`images_of`].

#[cfg(test)]
mod tests;

use bevy_asset::Handle;
use bevy_image::Image;
use bevy_mesh::UvChannel;
use bevy_pbr::StandardMaterial;
use bevy_reflect::structs::Struct;

use super::MipImage;

/// Sampled at its finest mip, however far away it is.
const DEPTH_MAP: &str = "depth_map";

/// Tells all images of the material, with channel and transform. Which there are hangs on features of `bevy_pbr`, so they are found by their fields' names: `x_texture`
/// has its channel in `x_channel`, and `normal_map_texture` in `normal_map_channel`.
pub(super) fn images_of(material: &StandardMaterial, found: &mut dyn FnMut(MipImage)) {
    for at in 0..material.field_len() {
        let value = material.field_at(at);
        let Some(Some(image)) = value.and_then(|value| value.try_downcast_ref::<Option<Handle<Image>>>()) else {
            continue;
        };
        let name = material.name_at(at).unwrap_or_default();
        found(MipImage {
            channel: channel_of(material, name),
            uv: material.uv_transform,
            is_whole: name == DEPTH_MAP,
            ..MipImage::new(image.id())
        });
    }
}

fn channel_of(material: &StandardMaterial, texture: &str) -> u8 {
    let stem = texture.strip_suffix("_texture").unwrap_or(texture);
    let is_channel = |name: &str| name.strip_suffix("_channel") == Some(stem);
    let at = (0..material.field_len()).find(|at| material.name_at(*at).is_some_and(is_channel));
    let channel = at.and_then(|at| material.field_at(at)?.try_downcast_ref::<UvChannel>());
    channel.map_or(0, |channel| match channel {
        UvChannel::Uv0 => 0,
        UvChannel::Uv1 => 1,
    })
}
