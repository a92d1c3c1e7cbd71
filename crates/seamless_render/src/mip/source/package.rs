//! Payloads of packages, for changes of textures. See [`MipReads`].

use core::time::Duration;
use std::{borrow::Cow, sync::Arc};

use bevy_ecs::prelude::*;
use bevy_log::debug_span;
use bevy_platform::collections::HashMap;
use bevy_render::renderer::RenderDevice;
use bevy_tasks::{AsyncComputeTaskPool, Task, futures::check_ready};
use seamless_asset::{BulkLoad, Streamer, StreamingClock, StreamingTime};

use super::{
    attempts::Attempts,
    stage::{StageError, Staged},
};
use crate::mip::{
    ChangeId, MipError, MipFailed, MipPool, MipRead, MipSettings, MipTextures, MipWork, render::MipReports,
    textures::MipRecord,
};

/// Bytes are put into buffers at once for so many frames: what comes out of tasks is taken once a frame.
const FRAMES_AHEAD: u64 = 2;

/// What is read, and put into buffers.
#[derive(Default)]
pub(in crate::mip) struct MipReads {
    asked: Vec<(MipRead, f32)>,
    reading: Vec<Reading>,
    staging: Vec<Staging>,
    /// Of textures, by number, whose payloads could not be read.
    troubles: HashMap<u32, Trouble>,
    /// Of which epoch the device is lost.
    lost: Option<u64>,
}

/// Payloads on their way.
struct Reading {
    read: MipRead,
    record: Arc<MipRecord>,
    /// One for each mip.
    loads: Vec<BulkLoad>,
}

/// Payloads on their way into a buffer.
struct Staging {
    read: MipRead,
    bytes: u64,
    task: Task<Result<Staged, StageError>>,
}

/// A payload could not be read.
#[derive(Debug, Default)]
struct Trouble {
    /// The last one that failed.
    mip: u8,
    attempts: Attempts,
}

impl MipReads {
    pub fn ask(&mut self, read: MipRead, priority: f32) {
        self.asked.push((read, priority));
    }

    /// What was asked for since the last call, with its priority.
    pub fn take_asked(&mut self) -> impl Iterator<Item = (MipRead, f32)> {
        self.asked.drain(..)
    }

    pub fn cancel(&mut self, change: ChangeId) {
        self.asked.retain(|(read, _)| read.id != change);
        self.reading.retain(|reading| reading.read.id != change);
        self.staging.retain(|staging| staging.read.id != change);
    }

    /// The number is another texture's from now on.
    pub fn forget(&mut self, texture: u32) {
        self.troubles.remove(&texture);
    }

    pub fn clear(&mut self) {
        self.asked.clear();
        self.reading.clear();
        self.staging.clear();
    }

    pub fn is_idle(&self) -> bool {
        self.asked.is_empty() && self.reading.is_empty() && self.staging.is_empty()
    }

    /// Mips from this one on were read: what failed among them is no trouble any more. A finer one goes on being one.
    pub(super) fn succeed(&mut self, texture: u32, finest: u8) {
        if self.troubles.get(&texture).is_some_and(|trouble| finest <= trouble.mip) {
            self.forget(texture);
        }
    }

    /// A mip of a texture could not be read; whether that is news.
    pub(super) fn fail(&mut self, texture: u32, mip: u8, now: Duration) -> bool {
        let trouble = self.troubles.entry(texture).or_default();
        trouble.mip = mip;
        trouble.attempts.fail(now)
    }

    /// The textures that are tried again from now on.
    pub(super) fn take_due(&mut self, now: Duration) -> Vec<u32> {
        let mut due = Vec::new();
        for (texture, trouble) in &mut self.troubles {
            if trouble.attempts.take_due(now) {
                due.push(*texture);
            }
        }
        due.sort_unstable();
        due
    }

    /// Takes what was read wholly, or cannot be, in the order in which it was asked for: further ones while what is put into buffers
    /// takes less than `most` bytes.
    fn take_read(&mut self, most: u64) -> Vec<Reading> {
        let mut staged: u64 = self.staging.iter().map(|staging| staging.bytes).sum();
        let may_be_taken = |reading: &mut Reading| {
            let is_taken = staged < most && reading.loads.iter().all(BulkLoad::is_finished);
            staged += if is_taken { reading.bytes() } else { 0 };
            is_taken
        };
        self.reading.extract_if(.., may_be_taken).collect()
    }

    /// Takes what came out of tasks.
    fn take_staged(&mut self) -> Vec<(MipRead, Result<Staged, StageError>)> {
        let mut done = Vec::new();
        self.staging.retain_mut(|staging| match check_ready(&mut staging.task) {
            Some(result) => {
                done.push((staging.read.clone(), result));
                false
            }
            None => true,
        });
        done
    }
}

impl Reading {
    /// What its buffer takes.
    fn bytes(&self) -> u64 {
        let mips = &self.read.mips;
        self.record.chain().staging_bytes(mips.end, mips.start)
    }

    /// The coarsest mip that could not be read.
    fn error(&self) -> Option<MipError> {
        let mips = self.read.mips.clone().zip(&self.loads);
        mips.rev().find_map(|(mip, load)| {
            let error = load.result()?.err()?;
            Some(MipError::Payload {
                path: self.record.path().to_owned(),
                mip,
                source: error.clone(),
            })
        })
    }
}

/// Asks for what was decided to be read.
pub(in crate::mip) fn start_reads(
    mut work: ResMut<MipWork>,
    textures: Res<MipTextures>,
    mut streamer: ResMut<Streamer>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("mips that are to be read");
    let _span = debug_span!("start_reads").entered();
    if work.reads.asked.is_empty() {
        return;
    }
    let MipReads { asked, reading, .. } = &mut work.reads;
    for (read, priority) in asked.drain(..) {
        let Some(record) = textures.get(read.texture) else {
            continue;
        };
        let load = |mip| record.parts().load(u32::from(mip), priority, &mut streamer);
        let loads = read.mips.clone().map(load);
        reading.push(Reading {
            loads: loads.collect(),
            record: record.clone(),
            read,
        });
    }
}

/// Takes what has come: payloads go into buffers, on tasks, and buffers to who swaps.
pub(in crate::mip) fn hear_reads(
    mut work: ResMut<MipWork>,
    mut textures: ResMut<MipTextures>,
    mut pool: ResMut<MipPool>,
    device: Option<Res<RenderDevice>>,
    reports: Res<MipReports>,
    (settings, time): (Res<MipSettings>, Res<StreamingTime>),
    mut failures: MessageWriter<MipFailed>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("mips that were read");
    let _span = debug_span!("hear_reads").entered();
    let now = time.now();
    for texture in work.reads.take_due(now) {
        textures.limit(texture, 0);
    }
    if work.reads.is_idle() {
        return;
    }
    let mut failed = Vec::new();
    for (read, result) in work.reads.take_staged() {
        match result {
            Ok(staged) => {
                work.reads.succeed(read.texture, read.mips.start);
                work.staged(read.texture, read.id, staged);
            }
            // Nothing is put into buffers before there is another one.
            Err(StageError::Lost) => {
                work.reads.lost = Some(reports.epoch());
                pool.ledger.cancelled(read.texture, read.id);
            }
            Err(error) => {
                let path = textures.get(read.texture).map(|record| record.path().to_owned());
                failed.extend(error.explain(path.unwrap_or_default()).map(|error| (read, error)));
            }
        }
    }
    let most = settings.bytes_per_frame.max(1).saturating_mul(FRAMES_AHEAD);
    let is_lost = work.reads.lost == Some(reports.epoch());
    let device = device.as_deref().filter(|_| !is_lost);
    for reading in work.reads.take_read(most) {
        match (reading.error(), device) {
            (Some(error), _) => failed.push((reading.read, error)),
            (None, Some(device)) => {
                pool.ledger.filling(reading.read.texture, reading.read.id);
                work.reads.staging.push(stage(reading, device.clone(), reports.epoch()));
            }
            // Nothing is drawn, so nothing is swapped.
            (None, None) => work.reads.reading.push(reading),
        }
    }
    for failed in failed {
        if let Some(news) = give_up(failed, now, &mut work, &mut textures, &mut pool) {
            failures.write(news);
        }
    }
}

/// What cannot be read is not on its way any more; that is told, if it is news.
fn give_up(
    (read, error): (MipRead, MipError),
    now: Duration,
    work: &mut MipWork,
    textures: &mut MipTextures,
    pool: &mut MipPool,
) -> Option<MipFailed> {
    pool.ledger.cancelled(read.texture, read.id);
    let is_news = match &error {
        MipError::Payload { mip, .. } | MipError::PayloadSize { mip, .. } => {
            textures.limit(read.texture, mip + 1);
            work.reads.fail(read.texture, *mip, now)
        }
        MipError::Refused { .. } => {
            textures.refuse(read.texture, read.mips.start + 1);
            textures.is_first_refusal(read.texture)
        }
        MipError::OutOfMemory { .. } | MipError::Decode { .. } => {
            pool.refused(now);
            textures.is_first_refusal(read.texture)
        }
    };
    let image = textures.id(read.texture).filter(|_| is_news)?;
    bevy_log::error!("{error}");
    Some(MipFailed { image, error })
}

fn stage(reading: Reading, device: RenderDevice, epoch: u64) -> Staging {
    let bytes = reading.bytes();
    let Reading { read, record, loads } = reading;
    let mips = read.mips.clone();
    let task = AsyncComputeTaskPool::get().spawn(async move {
        // All of them are finished, and none is an error.
        let stored = loads.iter().filter_map(|load| load.result()?.ok());
        let unpack = |(mip, stored)| record.parts().unpack(u32::from(mip), stored);
        let payloads: Vec<Cow<[u8]>> = mips.clone().zip(stored).map(unpack).collect();
        let payloads: Vec<&[u8]> = payloads.iter().map(|payload| &**payload).collect();
        Staged::new(&device, epoch, record.chain(), mips, &payloads)
    });
    Staging { read, bytes, task }
}

impl StageError {
    /// The error, as others know it, if they do.
    fn explain(self, path: String) -> Option<MipError> {
        Some(match self {
            Self::Size { mip, found, needed } => MipError::PayloadSize {
                path,
                mip,
                found,
                needed,
            },
            Self::OutOfMemory { bytes } => MipError::OutOfMemory { path, bytes },
            Self::Refused => MipError::Refused { path },
            Self::Lost => return None,
        })
    }
}
