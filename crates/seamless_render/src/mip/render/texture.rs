//! Makes textures and views of them. See [`make_texture`].

use bevy_render::{
    render_resource::{
        Origin3d, TexelCopyTextureInfo, Texture, TextureAspect, TextureDescriptor, TextureUsages, TextureView,
        TextureViewDescriptor,
    },
    renderer::RenderDevice,
};

use crate::mip::{
    scopes::{DeviceError, scoped},
    textures::{LABEL, MipRecord},
};

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
    let texture = scoped(device, || {
        device.create_texture(&TextureDescriptor {
            label: Some(LABEL),
            size: chain.extent(top),
            mip_level_count: u32::from(chain.mips() - top),
            sample_count: 1,
            dimension: whole.dimension,
            format: whole.format,
            usage: TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST | TextureUsages::COPY_SRC,
            view_formats: whole.view_formats,
        })
    });
    texture.map_err(|why| match why {
        DeviceError::OutOfMemory => NoTexture::OutOfMemory,
        DeviceError::Refused(error) => {
            bevy_log::error!("no texture can be made of `{}`: {error}", record.path());
            NoTexture::Refused
        }
    })
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

/// A mip of a texture, from its first texel on.
pub(super) fn at(texture: &Texture, mip_level: u32) -> TexelCopyTextureInfo<'_> {
    TexelCopyTextureInfo {
        texture,
        mip_level,
        origin: Origin3d::ZERO,
        aspect: TextureAspect::All,
    }
}
