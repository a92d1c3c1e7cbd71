//! Images that were cooked to stream, and do not: their payloads are read as soon as they come, and Bevy has the rest. See [`WholeReads`].

use bevy_asset::{AssetId, Assets};
use bevy_ecs::prelude::*;
use bevy_image::Image;
use bevy_platform::collections::HashMap;
use bevy_tasks::{AsyncComputeTaskPool, Task, futures::check_ready};
use seamless_asset::{AssetTouches, BulkLoad, Streamer};
use wgpu_types::{Extent3d, TextureDataOrder};

use crate::mip::{MipError, MipFailed, MipPool, MipSettings, MipWork, textures::MipParts};

/// These hold back a reveal, unlike mips that are missing only.
const PRIORITY: f32 = 1e6;

/// How many are read or joined at once: all of their pixels are in memory meanwhile.
const READS: usize = 8;
/// How many are joined at once.
const JOINS: usize = 2;

/// The images whose payloads are read.
#[derive(Default)]
pub(in crate::mip) struct WholeReads {
    asked: Vec<(AssetId<Image>, MipParts)>,
    reading: Vec<(AssetId<Image>, MipParts, Vec<BulkLoad>)>,
    joining: Vec<Joining>,
    /// What those that are there take, in bytes.
    bytes: HashMap<AssetId<Image>, u64>,
}

/// An image that is put together.
struct Joining {
    id: AssetId<Image>,
    image: MipParts,
    bytes: u64,
    task: Task<Result<Image, MipError>>,
}

impl WholeReads {
    pub fn ask(&mut self, id: AssetId<Image>, image: MipParts) {
        self.asked.push((id, image));
    }

    /// The image is whole already, and takes so much.
    pub fn note(&mut self, id: AssetId<Image>, bytes: u64) {
        self.bytes.insert(id, bytes);
    }

    /// The image has gone, or is another.
    pub fn cancel(&mut self, id: AssetId<Image>) {
        self.asked.retain(|(of, _)| *of != id);
        self.reading.retain(|(of, ..)| *of != id);
        self.joining.retain(|joining| joining.id != id);
        self.bytes.remove(&id);
    }

    /// Whether it is not whole yet.
    pub fn is_coming(&self, id: AssetId<Image>) -> bool {
        let asked = self.asked.iter().map(|(of, _)| of);
        let reading = self.reading.iter().map(|(of, ..)| of);
        let joining = self.joining.iter().map(|joining| &joining.id);
        asked.chain(reading).chain(joining).any(|of| *of == id)
    }

    pub fn is_idle(&self) -> bool {
        self.asked.is_empty() && self.reading.is_empty() && self.joining.is_empty()
    }

    /// Takes as many as may be read now, those that came first.
    pub(super) fn take_asked(&mut self) -> Vec<(AssetId<Image>, MipParts)> {
        let room = READS.saturating_sub(self.reading.len() + self.joining.len());
        self.asked.drain(..room.min(self.asked.len())).collect()
    }

    /// Has those joined whose payloads have come, as many as may be.
    fn join_read(&mut self) {
        let Self { reading, joining, .. } = self;
        let is_read = |(.., loads): &mut (_, _, Vec<BulkLoad>)| loads.iter().all(BulkLoad::is_finished);
        let room = JOINS.saturating_sub(joining.len());
        for (id, image, loads) in reading.extract_if(.., is_read).take(room) {
            let payloads = loads.iter().filter_map(|load| load.result()?.ok());
            let bytes = payloads.map(|payload| payload.len() as u64).sum();
            let joined = image.clone();
            let task = AsyncComputeTaskPool::get().spawn(async move { join(&joined, &loads) });
            joining.push(Joining { id, image, bytes, task });
        }
    }
}

/// Asks for all payloads of what has come.
pub(in crate::mip) fn start_wholes(mut work: ResMut<MipWork>, mut streamer: ResMut<Streamer>) {
    if work.wholes.asked.is_empty() {
        return;
    }
    for (id, image) in work.wholes.take_asked() {
        let loads = (0..image.payloads()).map(|mip| image.load(mip, PRIORITY, &mut streamer));
        let loads = loads.collect();
        work.wholes.reading.push((id, image, loads));
    }
}

/// Puts images together whose payloads have come, on tasks, and gives them to Bevy, so many a frame. What cannot be read is drawn with its tail.
pub(in crate::mip) fn hear_wholes(
    mut work: ResMut<MipWork>,
    mut pool: ResMut<MipPool>,
    settings: Res<MipSettings>,
    mut images: ResMut<Assets<Image>>,
    mut touches: AssetTouches,
    mut failures: MessageWriter<MipFailed>,
) {
    work.wholes.join_read();
    let WholeReads { joining, bytes, .. } = &mut work.wholes;
    let mut given = 0;
    joining.retain_mut(|joining| {
        // One is given in any case.
        let is_over = given > 0 && given + joining.bytes > settings.bytes_per_frame;
        let Some(joined) = (!is_over).then(|| check_ready(&mut joining.task)).flatten() else {
            return true;
        };
        let id = joining.id;
        let whole = joined.unwrap_or_else(|error| {
            bevy_log::error!("{error}");
            failures.write(MipFailed { image: id, error });
            tail_alone(&joining.image)
        });
        given += joining.bytes;
        let size = whole.data.as_ref().map_or(0, Vec::len) as u64;
        if images.insert(id, whole).is_ok() {
            touches.touched(id);
            bytes.insert(id, size);
        }
        false
    });
    pool.ledger.set_not_streamed(bytes.values().sum());
}

/// The image with the pixels of all payloads, which are all finished.
fn join(image: &MipParts, loads: &[BulkLoad]) -> Result<Image, MipError> {
    let path = || image.path().to_owned();
    let mut payloads = Vec::with_capacity(loads.len());
    for (mip, load) in (0..).zip(loads) {
        match load.result() {
            Some(Ok(payload)) => payloads.push(image.unpack(u32::from(mip), payload).into_owned()),
            Some(Err(source)) => {
                return Err(MipError::Payload {
                    path: path(),
                    mip,
                    source: source.clone(),
                });
            }
            None => {}
        }
    }
    let whole = image.whole(payloads);
    whole.map_err(|error| MipError::Decode { path: path(), error })
}

/// What can be drawn of an image with its tail alone: the finest mip of it that may be a base, with all behind; or else the coarsest, which is the
/// mean colour, as one whole block.
pub(super) fn tail_alone(parts: &MipParts) -> Image {
    let mut image = parts.image().clone();
    let texture = &mut image.texture_descriptor;
    let (size, format) = (texture.size, texture.format);
    let (width, height) = format.block_dimensions();
    let block = format.block_copy_size(None).unwrap_or_default() as usize;
    let extent = |mip: u32| size.mip_level_size(mip, texture.dimension);
    let bytes = |mip: u32| {
        // The layers of an array, or what a volume has of depth there.
        let Extent3d {
            width: w,
            height: h,
            depth_or_array_layers: d,
        } = extent(mip);
        (w.div_ceil(width) * h.div_ceil(height) * d) as usize * block
    };
    let tail = parts.payloads()..texture.mip_level_count;
    let is_base = |mip: &u32| extent(*mip).width.is_multiple_of(width) && extent(*mip).height.is_multiple_of(height);
    let first = tail.clone().find(is_base);
    let top = first.unwrap_or(tail.end - 1);
    let skipped: usize = (tail.start..top).map(bytes).sum();
    let (count, base) = (tail.end - top, extent(top));
    texture.mip_level_count = count;
    texture.size = Extent3d {
        width: base.width.next_multiple_of(width),
        height: base.height.next_multiple_of(height),
        depth_or_array_layers: base.depth_or_array_layers,
    };
    image.data = parts.tail().get(skipped..).map(<[u8]>::to_vec);
    image.data_order = TextureDataOrder::MipMajor;
    if let Some(view) = &mut image.texture_view_descriptor {
        view.mip_level_count = None;
    }
    image
}
