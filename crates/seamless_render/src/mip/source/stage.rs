//! Mips in a buffer, from which they are copied to a texture. See [`Staged`].

use core::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::mip::{
    MipChain,
    scopes::{DeviceError, scoped},
    textures::LABEL,
};
use bevy_render::{
    render_resource::{Buffer, BufferDescriptor, BufferUsages},
    renderer::RenderDevice,
};
use bevy_tasks::AsyncComputeTaskPool;

/// Mips in a buffer, each as [`MipChain::staging`] says, one after the other.
#[derive(Debug)]
pub(in crate::mip) struct Staged {
    pub buffer: Buffer,
    pub mips: Range<u8>,
    /// Of which device it is.
    pub epoch: u64,
}

/// Why mips are in no buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mip) enum StageError {
    /// A payload is not as large as the mip.
    Size { mip: u8, found: u64, needed: u64 },
    /// The device has no memory for the buffer.
    OutOfMemory { bytes: u64 },
    /// The device has no buffers like it; it may be too large.
    Refused,
    /// The device is lost.
    Lost,
}

impl Staged {
    /// Puts mips, the finest first, into a buffer of a device.
    pub fn new(
        device: &RenderDevice,
        epoch: u64,
        chain: &MipChain,
        mips: Range<u8>,
        payloads: &[&[u8]],
    ) -> Result<Self, StageError> {
        check(chain, mips.clone(), payloads)?;
        let bytes = bytes(chain, mips.clone(), device.limits().max_buffer_size)?;
        let buffer = make_buffer(device, bytes)?;
        // A device that is lost makes buffers all the same, and panics when they are written.
        let fill = AssertUnwindSafe(|| fill(&buffer, chain, mips.clone(), payloads));
        catch_unwind(fill).map_err(|_| StageError::Lost)?;
        Ok(Self { buffer, mips, epoch })
    }

    /// Gives the memory back, on a task: that takes a while.
    pub fn let_go(self) {
        AsyncComputeTaskPool::get().spawn(async move { drop(self) }).detach();
    }

    /// Where each mip begins.
    pub fn offsets<'a>(&'a self, chain: &'a MipChain) -> impl Iterator<Item = (u8, u64)> + 'a {
        let bytes = |mip| chain.staging(mip).bytes;
        self.mips.clone().scan(0, move |offset, mip| {
            let at = *offset;
            *offset += bytes(mip);
            Some((mip, at))
        })
    }
}

/// Whether there is a payload of the right size for each mip.
pub(super) fn check(chain: &MipChain, mips: Range<u8>, payloads: &[&[u8]]) -> Result<(), StageError> {
    for (place, mip) in mips.enumerate() {
        let found = payloads.get(place).map_or(0, |payload| payload.len() as u64);
        let needed = chain.payload_bytes(mip);
        if found != needed {
            return Err(StageError::Size { mip, found, needed });
        }
    }
    Ok(())
}

/// The size of a buffer for these mips, if the device has such large ones.
pub(super) fn bytes(chain: &MipChain, mips: Range<u8>, most: u64) -> Result<u64, StageError> {
    let bytes = mips.map(|mip| chain.staging(mip).bytes).sum();
    if bytes <= most {
        Ok(bytes)
    } else {
        Err(StageError::Refused)
    }
}

fn fill(buffer: &Buffer, chain: &MipChain, mips: Range<u8>, payloads: &[&[u8]]) {
    let mut offset = 0;
    for (mip, payload) in mips.zip(payloads) {
        let padded = padded(chain, mip, payload);
        let end = offset + padded.len() as u64;
        let mut view = buffer.slice(offset..end).get_mapped_range_mut();
        view.copy_from_slice(&padded);
        offset = end;
    }
    buffer.unmap();
}

/// The rows of a mip, each filled up to a multiple of what copies need.
pub(super) fn padded(chain: &MipChain, mip: u8, payload: &[u8]) -> Vec<u8> {
    let layout = chain.staging(mip);
    let rows = layout.bytes / u64::from(layout.bytes_per_row);
    let row = (payload.len() as u64 / rows.max(1)).max(1) as usize;
    let mut padded = Vec::with_capacity(layout.bytes as usize);
    for row in payload.chunks(row) {
        padded.extend_from_slice(row);
        padded.resize(padded.len().next_multiple_of(layout.bytes_per_row as usize), 0);
    }
    padded
}

/// A buffer to be written.
fn make_buffer(device: &RenderDevice, bytes: u64) -> Result<Buffer, StageError> {
    let buffer = scoped(device, || {
        device.create_buffer(&BufferDescriptor {
            label: Some(LABEL),
            size: bytes,
            usage: BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        })
    });
    buffer.map_err(|why| match why {
        DeviceError::OutOfMemory => StageError::OutOfMemory { bytes },
        DeviceError::Refused(_) => StageError::Refused,
    })
}
