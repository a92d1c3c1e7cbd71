//! Brings a picture back from the GPU. See [`Reading`].

use bevy_render::{
    render_resource::{
        Buffer, BufferDescriptor, BufferUsages, MapMode, TexelCopyBufferInfo, TexelCopyBufferLayout, Texture,
    },
    renderer::RenderDevice,
};

use crate::mip::truth::{MipTruth, TruthPicture};

/// Rows in buffers begin at multiples of this.
const ROW: u32 = wgpu::COPY_BYTES_PER_ROW_ALIGNMENT;
const PIXEL: u32 = 8;

/// A picture on its way.
pub(super) struct Reading {
    buffer: Buffer,
    /// The size of a row, in bytes, with what fills it up.
    row: u32,
    picture: TruthPicture,
}

impl Reading {
    /// Has the target copied to a buffer, when the encoder is done.
    pub fn new(
        device: &RenderDevice,
        encoder: &mut wgpu::CommandEncoder,
        target: &Texture,
        picture: TruthPicture,
    ) -> Self {
        let row = (picture.width * PIXEL).next_multiple_of(ROW);
        let buffer = device.create_buffer(&BufferDescriptor {
            label: Some("seamless_mip_truth"),
            size: u64::from(row) * u64::from(picture.height),
            usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let layout = TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(row),
            rows_per_image: None,
        };
        let into = TexelCopyBufferInfo {
            buffer: &*buffer,
            layout,
        };
        encoder.copy_texture_to_buffer(target.as_image_copy(), into, target.size());
        Self { buffer, row, picture }
    }

    /// When the GPU has drawn it, the picture is handed over.
    pub fn start(self, truth: MipTruth) {
        let Self {
            buffer,
            row,
            mut picture,
        } = self;
        let (read, device) = (buffer.clone(), truth.device());
        buffer.slice(..).map_async(MapMode::Read, move |mapped| {
            let is_there = mapped.is_ok();
            if is_there {
                let bytes = read.slice(..).get_mapped_range();
                let rows = bytes.chunks_exact(row as usize);
                let pixels = rows.flat_map(|row| row[..(picture.width * PIXEL) as usize].chunks_exact(PIXEL as usize));
                picture.pixels = pixels.map(|pixel| [word(pixel, 0), word(pixel, 4)]).collect();
            }
            truth.done(device, is_there.then_some(picture));
        });
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    u32::from_le_bytes(word.unwrap_or_default())
}
