//! Makes textures and views of them. See [`make_texture`].

use bevy_render::{
    render_resource::{Texture, TextureDescriptor, TextureUsages, TextureView, TextureViewDescriptor},
    renderer::RenderDevice,
};
use bevy_tasks::futures::now_or_never;
use wgpu::ErrorFilter;

use crate::mip::textures::{LABEL, MipRecord};

/// Why there is no texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoTexture {
    OutOfMemory,
    /// The device does not have such textures; wgpu has said why.
    Refused,
}

/// A texture with the mips from `top` on; nothing is in it.
pub(super) fn make_texture(device: &RenderDevice, record: &MipRecord, top: u8) -> Result<Texture, NoTexture> {
    let (chain, whole) = (record.chain(), record.descriptor());
    let refused = device.wgpu_device().push_error_scope(ErrorFilter::Validation);
    let out_of_memory = device.wgpu_device().push_error_scope(ErrorFilter::OutOfMemory);
    let texture = device.create_texture(&TextureDescriptor {
        label: Some(LABEL),
        size: chain.extent(top),
        mip_level_count: u32::from(chain.mips() - top),
        sample_count: 1,
        dimension: whole.dimension,
        format: whole.format,
        usage: TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST | TextureUsages::COPY_SRC,
        view_formats: whole.view_formats,
    });
    let out_of_memory = now_or_never(out_of_memory.pop()).flatten();
    let refused = now_or_never(refused.pop()).flatten();
    if out_of_memory.is_some() {
        return Err(NoTexture::OutOfMemory);
    }
    if let Some(error) = refused {
        bevy_log::error!("no texture can be made of `{}`: {error}", record.path());
        return Err(NoTexture::Refused);
    }
    Ok(texture)
}

/// The view that materials see: that of the whole texture, as far as its mips are there.
pub(super) fn make_view(texture: &Texture, record: &MipRecord, top: u8) -> TextureView {
    let Some(whole) = record.view() else {
        return texture.create_view(&TextureViewDescriptor::default());
    };
    let count = |count: u32| count.saturating_sub(u32::from(top)).max(1);
    texture.create_view(&TextureViewDescriptor {
        mip_level_count: whole.mip_level_count.map(count),
        ..whole.clone()
    })
}
