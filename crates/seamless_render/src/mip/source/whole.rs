//! Images that were cooked to stream, and do not: their payloads are read as soon as they come, and Bevy has the rest. See [`WholeReads`].

use core::time::Duration;

use bevy_asset::{AssetId, Assets};
use bevy_ecs::prelude::*;
use bevy_image::Image;
use bevy_log::debug_span;
use bevy_platform::collections::HashMap;
use bevy_tasks::{AsyncComputeTaskPool, Task, futures::check_ready};
use seamless_asset::{AssetTouches, BulkLoad, Streamer, StreamingClock, StreamingTime};
use wgpu_types::{Extent3d, TextureDataOrder};

use super::attempts::Attempts;
use crate::mip::{
    MipError, MipFailed, MipPool, MipSettings, MipWork,
    textures::{MipParts, image_bytes, mip_bytes},
    work::Waiting,
};

/// These hold back a reveal, unlike mips that are missing only.
const PRIORITY: f32 = 1e6;

/// How many are read or joined at once: all of their pixels are in memory meanwhile.
const READS: usize = 8;
/// How many are joined at once.
const JOINS: usize = 2;

/// The images whose payloads are read.
#[derive(Default)]
pub(in crate::mip) struct WholeReads {
    asked: Vec<Coming>,
    reading: Vec<(Coming, Vec<BulkLoad>)>,
    joining: Vec<Joining>,
    /// What those take that are not there yet, in bytes.
    coming: u64,
    /// What each takes that is there, in bytes, and all of them.
    bytes: HashMap<AssetId<Image>, u64>,
    sum: u64,
    /// Those that were read: Bevy has taken their pixels, so on another device they are read again.
    there: HashMap<AssetId<Image>, Coming>,
    /// One of them is put together, and there is no room for it.
    is_held: bool,
    /// Those that could not be read, or were lost, which are drawn with their tails meanwhile.
    troubles: HashMap<AssetId<Image>, Trouble>,
    /// Those of them whose tails are to be drawn now.
    lost: Vec<AssetId<Image>>,
    /// Those that have come in the place of their tails in this frame.
    mended: Vec<AssetId<Image>>,
}

/// An image that is not as it should be.
struct Trouble {
    of: Coming,
    attempts: Attempts,
    /// Its tail was given to Bevy, and that was not told yet.
    is_given: bool,
}

impl Trouble {
    fn new(of: Coming) -> Self {
        Self {
            of,
            attempts: Attempts::default(),
            is_given: false,
        }
    }
}

/// An image that will be whole.
#[derive(Clone)]
pub(super) struct Coming {
    pub id: AssetId<Image>,
    image: MipParts,
    /// What it will take.
    bytes: u64,
}

/// An image that is put together.
struct Joining {
    of: Coming,
    task: Task<Result<Image, MipError>>,
    /// What the task has made.
    joined: Option<Result<Image, MipError>>,
}

impl WholeReads {
    pub fn ask(&mut self, id: AssetId<Image>, image: MipParts) {
        let bytes = image_bytes(&image.image().texture_descriptor);
        self.ask_for(Coming { id, image, bytes });
    }

    fn ask_for(&mut self, of: Coming) {
        self.coming += of.bytes;
        self.asked.push(of);
    }

    /// The device has gone with all that was given to Bevy: that is drawn with its tail, and read again.
    pub fn lost(&mut self) {
        let troubled = self.troubles.drain().map(|(_, trouble)| trouble.of);
        let mut lost: Vec<Coming> = troubled.chain(self.there.drain().map(|(_, of)| of)).collect();
        lost.sort_unstable_by_key(|of| of.id);
        for of in lost {
            self.stop(of.id);
            self.troubles.insert(of.id, Trouble::new(of.clone()));
            self.lost.push(of.id);
            self.ask_for(of);
        }
    }

    /// What was lost since this was asked last, with what can be drawn of it now.
    fn take_lost(&mut self) -> Vec<(AssetId<Image>, Image)> {
        let lost = core::mem::take(&mut self.lost);
        let tail = |id| Some((id, tail_alone(&self.troubles.get(&id)?.of.image)));
        lost.into_iter().filter_map(tail).collect()
    }

    /// The image is whole already, and takes so much.
    pub fn note(&mut self, id: AssetId<Image>, bytes: u64) {
        let was = self.bytes.insert(id, bytes);
        self.sum = self.sum + bytes - was.unwrap_or(0);
    }

    /// The image has gone, or is another.
    pub fn cancel(&mut self, id: AssetId<Image>) {
        self.stop(id);
        self.there.remove(&id);
        self.sum -= self.bytes.remove(&id).unwrap_or(0);
    }

    /// What was to come of the image is not wanted any more.
    pub fn stop(&mut self, id: AssetId<Image>) {
        let Self { coming, .. } = self;
        let mut stays = |of: &Coming| {
            let stays = of.id != id;
            *coming -= if stays { 0 } else { of.bytes };
            stays
        };
        self.troubles.remove(&id);
        self.asked.retain(&mut stays);
        self.reading.retain(|(of, _)| stays(of));
        self.joining.retain(|joining| stays(&joining.of));
    }

    /// What all that are there take, in bytes.
    pub fn bytes(&self) -> u64 {
        self.sum
    }

    /// What those will take that are on their way, in bytes.
    pub fn coming_bytes(&self) -> u64 {
        self.coming
    }

    /// Whether one of them waits for room.
    pub fn is_held(&self) -> bool {
        self.is_held && !self.joining.is_empty()
    }

    /// Whether it is not whole yet.
    pub fn is_coming(&self, id: AssetId<Image>) -> bool {
        let reading = self.reading.iter().map(|(of, _)| of);
        let joining = self.joining.iter().map(|joining| &joining.of);
        self.troubles.contains_key(&id) || self.asked.iter().chain(reading).chain(joining).any(|of| of.id == id)
    }

    /// It is Bevy's now.
    fn given(&mut self, id: AssetId<Image>) {
        if let Some(trouble) = self.troubles.get_mut(&id) {
            trouble.is_given = true;
        }
    }

    /// Whether what is told of the image now is that its tail was given to Bevy.
    pub fn take_given(&mut self, id: AssetId<Image>) -> bool {
        let trouble = self.troubles.get_mut(&id);
        trouble.is_some_and(|trouble| core::mem::take(&mut trouble.is_given))
    }

    /// The images that have come in the place of their tails in this frame: who draws with them has to know.
    pub fn mended(&self) -> &[AssetId<Image>] {
        &self.mended
    }

    /// The image could not be read; whether that is news.
    pub(super) fn fail(&mut self, of: &Coming, now: Duration) -> bool {
        let trouble = self.troubles.entry(of.id).or_insert_with(|| Trouble::new(of.clone()));
        trouble.attempts.fail(now)
    }

    /// The image was read.
    pub(super) fn succeed(&mut self, of: Coming) {
        if self.troubles.remove(&of.id).is_some() {
            self.mended.push(of.id);
        }
        self.there.insert(of.id, of);
    }

    /// Asks again for those whose time has come.
    pub(super) fn try_again(&mut self, now: Duration) {
        let mut due = Vec::new();
        for trouble in self.troubles.values_mut() {
            if trouble.attempts.take_due(now) {
                due.push(trouble.of.clone());
            }
        }
        due.sort_unstable_by_key(|of| of.id);
        due.into_iter().for_each(|of| self.ask_for(of));
    }

    pub fn is_idle(&self) -> bool {
        self.asked.is_empty() && self.reading.is_empty() && self.joining.is_empty()
    }

    /// Takes as many as may be read now, those that came first.
    pub(super) fn take_asked(&mut self) -> Vec<Coming> {
        let room = READS.saturating_sub(self.reading.len() + self.joining.len());
        self.asked.drain(..room.min(self.asked.len())).collect()
    }

    /// Has those joined whose payloads have come, as many as may be.
    fn join_read(&mut self) {
        let Self { reading, joining, .. } = self;
        let is_read = |(_, loads): &mut (_, Vec<BulkLoad>)| loads.iter().all(BulkLoad::is_finished);
        let room = JOINS.saturating_sub(joining.len());
        for (of, loads) in reading.extract_if(.., is_read).take(room) {
            let image = of.image.clone();
            let task = AsyncComputeTaskPool::get().spawn(async move { join(&image, &loads) });
            let joined = None;
            joining.push(Joining { of, task, joined });
        }
    }

    /// Takes those that are put together, as far as there is room beside the `total` that is there, and within a frame's bytes.
    fn take_joined<V>(
        &mut self,
        waiting: &mut Waiting<AssetId<Image>, V>,
        mut total: u64,
        per_frame: u64,
    ) -> Vec<(Coming, Result<Image, MipError>)> {
        let (mut taken, mut given) = (Vec::new(), 0);
        let Self { joining, is_held, .. } = self;
        *is_held = false;
        joining.retain_mut(|joining| {
            let bytes = joining.of.bytes;
            if joining.joined.is_none() {
                joining.joined = check_ready(&mut joining.task);
            }
            // One is given in any case, if there is room for it.
            let is_over = given > 0 && given + bytes > per_frame;
            if is_over || *is_held || joining.joined.is_none() {
                return true;
            }
            if !waiting.has_room(bytes, total) {
                *is_held = true;
                return true;
            }
            let Some(joined) = joining.joined.take() else {
                return true;
            };
            waiting.admitted();
            (given, total) = (given + bytes, total + bytes);
            taken.push((joining.of.clone(), joined));
            false
        });
        self.coming -= taken.iter().map(|(of, _)| of.bytes).sum::<u64>();
        taken
    }
}

/// Asks for all payloads of what has come.
pub(in crate::mip) fn start_wholes(
    mut work: ResMut<MipWork>,
    mut streamer: ResMut<Streamer>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("images that do not stream");
    let _span = debug_span!("start_wholes").entered();
    if work.wholes.asked.is_empty() {
        return;
    }
    for of in work.wholes.take_asked() {
        let loads = (0..of.image.payloads()).map(|mip| of.image.load(mip, PRIORITY, &mut streamer));
        let loads = loads.collect();
        work.wholes.reading.push((of, loads));
    }
}

/// Puts images together whose payloads have come, on tasks, and gives them to Bevy, so many a frame, as the pool has room for them. What cannot be read is drawn with
/// its tail, and tried again.
pub(in crate::mip) fn hear_wholes(
    mut work: ResMut<MipWork>,
    mut pool: ResMut<MipPool>,
    settings: Res<MipSettings>,
    mut images: ResMut<Assets<Image>>,
    mut touches: AssetTouches,
    mut failures: MessageWriter<MipFailed>,
    time: Res<StreamingTime>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("images that do not stream");
    let _span = debug_span!("hear_wholes").entered();
    let MipWork { wholes, waiting, .. } = &mut *work;
    wholes.mended.clear();
    wholes.try_again(time.now());
    wholes.join_read();
    for (id, tail) in wholes.take_lost() {
        // The game may have put its own there.
        if images.get(id).is_none_or(|image| image.data.is_some()) {
            wholes.stop(id);
        } else {
            give(id, tail, wholes, &mut images, &mut touches);
        }
    }
    let total = pool.ledger.sums().total();
    for (of, joined) in wholes.take_joined(waiting, total, settings.bytes_per_frame) {
        let id = of.id;
        let drawn = match joined {
            Ok(whole) => {
                wholes.succeed(of);
                whole
            }
            Err(error) if wholes.fail(&of, time.now()) => {
                bevy_log::error!("{error}");
                failures.write(MipFailed { image: id, error });
                tail_alone(&of.image)
            }
            // Its tail is there already.
            Err(_) => continue,
        };
        give(id, drawn, wholes, &mut images, &mut touches);
    }
    waiting.end();
    work.expect(&mut pool.ledger);
}

/// It is Bevy's to draw.
fn give(
    id: AssetId<Image>,
    drawn: Image,
    wholes: &mut WholeReads,
    images: &mut Assets<Image>,
    touches: &mut AssetTouches,
) {
    let size = drawn.data.as_ref().map_or(0, Vec::len) as u64;
    if images.insert(id, drawn).is_ok() {
        touches.touched(id);
        wholes.note(id, size);
        wholes.given(id);
    }
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
    let (size, dimension) = (texture.size, texture.dimension);
    let (width, height) = texture.format.block_dimensions();
    let extent = |mip: u32| size.mip_level_size(mip, dimension);
    let tail = parts.payloads()..texture.mip_level_count;
    let is_base = |mip: &u32| extent(*mip).width.is_multiple_of(width) && extent(*mip).height.is_multiple_of(height);
    let first = tail.clone().find(is_base);
    let top = first.unwrap_or(tail.end - 1);
    let skipped = (tail.start..top).map(|mip| mip_bytes(texture, mip)).sum::<u64>() as usize;
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
