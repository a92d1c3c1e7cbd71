//! Textures that are replaced by others with more or fewer mips. See [`Swaps`].

use core::mem;

use bevy_render::{
    render_asset::RenderAssets,
    render_resource::{CommandEncoder, CommandEncoderDescriptor, TexelCopyBufferInfo, TexelCopyBufferLayout, Texture},
    renderer::{RenderDevice, RenderQueue},
    texture::GpuImage,
};

use super::{
    Live, MipReports,
    reports::{NotSwapped, Report},
    retire::Held,
    sampler,
    texture::{NoTexture, at, make_texture, make_view},
};
use crate::mip::{MipChain, MipCommand, source::Staged, textures::LABEL};

/// All swaps of a frame, in one encoder.
pub(super) struct Swaps<'a> {
    device: &'a RenderDevice,
    reports: &'a MipReports,
    encoder: Option<CommandEncoder>,
}

impl<'a> Swaps<'a> {
    pub fn new(device: &'a RenderDevice, reports: &'a MipReports) -> Self {
        Self {
            device,
            reports,
            encoder: None,
        }
    }

    /// Replaces a texture, and says so; what is drawn with no more then, if it was.
    pub fn swap(
        &mut self,
        command: &MipCommand,
        staged: Option<Staged>,
        live: Option<&mut Live>,
        images: &mut RenderAssets<GpuImage>,
    ) -> Option<Held> {
        let (texture, change) = (command.texture, command.change);
        let done = self.try_swap(command, staged, live, images);
        self.reports.push(match &done {
            Ok(_) => Report::Swapped { texture, change },
            Err(why) => Report::Failed {
                texture,
                change,
                why: *why,
            },
        });
        done.ok()
    }

    fn try_swap(
        &mut self,
        command: &MipCommand,
        staged: Option<Staged>,
        live: Option<&mut Live>,
        images: &mut RenderAssets<GpuImage>,
    ) -> Result<Held, NotSwapped> {
        let &MipCommand { id, from, to, .. } = command;
        let live = live.ok_or(NotSwapped::Stale)?;
        let (old, top) = live.texture.as_ref().ok_or(NotSwapped::Stale)?;
        // One that is not ours is the game's, or another plugin's.
        let is_ours = |image: &&mut GpuImage| image.texture.id() == old.id();
        let image = images.get_mut(id).filter(is_ours).ok_or(NotSwapped::Stale)?;
        let staged = staged.filter(|staged| staged.epoch == self.reports.epoch());
        let has_all = to >= from || staged.as_ref().is_some_and(|staged| staged.mips == (to..from));
        if *top != from || !has_all {
            return Err(NotSwapped::Stale);
        }
        let record = &live.record;
        let new = make_texture(self.device, record, to).map_err(|why| match why {
            NoTexture::OutOfMemory => NotSwapped::OutOfMemory {
                bytes: record.chain().bytes(to),
            },
            NoTexture::Refused => NotSwapped::Refused { top: to },
        })?;
        let encoder = self.encoder.get_or_insert_with(|| {
            let label = Some(LABEL);
            self.device.create_command_encoder(&CommandEncoderDescriptor { label })
        });
        copy_shared(encoder, record.chain(), (old, from), (&new, to));
        if let Some(staged) = &staged {
            copy_staged(encoder, record.chain(), staged, (&new, to));
        }
        if let Some(bound) = sampler::for_top(record.sampler(), to, record.chain().mips()) {
            image.sampler = self.device.create_sampler(&bound.as_wgpu());
        }
        let view = make_view(&new, record, to);
        image.texture = new.clone();
        let old_view = mem::replace(&mut image.texture_view, view);
        let old = live.texture.replace((new, to)).map(|(old, _)| old);
        Ok((old, Some(old_view), staged))
    }

    /// Has the GPU do all of it, before whatever is drawn in this frame.
    pub fn submit(self, queue: &RenderQueue) {
        if let Some(encoder) = self.encoder {
            queue.submit([encoder.finish()]);
        }
    }
}

/// Copies the mips that both textures have; with each its top.
fn copy_shared(encoder: &mut CommandEncoder, chain: &MipChain, old: (&Texture, u8), new: (&Texture, u8)) {
    for copy in chain.copies(old.1, new.1) {
        encoder.copy_texture_to_texture(at(old.0, copy.src_mip), at(new.0, copy.dst_mip), copy.extent);
    }
}

/// Copies the mips of a buffer to the texture that begins at `to`.
fn copy_staged(encoder: &mut CommandEncoder, chain: &MipChain, staged: &Staged, (new, to): (&Texture, u8)) {
    // Those of a texture with itself are all that it has.
    for ((mip, offset), copy) in staged.offsets(chain).zip(chain.copies(to, to)) {
        let layout = chain.staging(mip);
        let source = TexelCopyBufferInfo {
            buffer: &*staged.buffer,
            layout: TexelCopyBufferLayout {
                offset,
                bytes_per_row: Some(layout.bytes_per_row),
                rows_per_image: Some(layout.rows_per_image),
            },
        };
        encoder.copy_buffer_to_texture(source, at(new, copy.dst_mip), copy.extent);
    }
}
