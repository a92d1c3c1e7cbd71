//! What the renderer says to the main world. See [`MipReports`].

use core::time::Duration;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use bevy_asset::AssetId;
use bevy_ecs::{
    message::MessageWriter,
    resource::Resource,
    system::{Res, ResMut},
};
use bevy_image::Image;
use bevy_log::debug_span;
use bevy_tasks::AsyncComputeTaskPool;
use seamless_asset::{StreamingClock, StreamingTime};

use super::retire::Held;
use crate::mip::{ChangeId, MipError, MipFailed, MipPool, MipTextures, MipWork};

/// A channel from the render world to the main world, in both.
#[derive(Resource, Clone, Default)]
pub(in crate::mip) struct MipReports(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// How many devices there were. It changes in extraction only, while the main world stands still.
    epoch: AtomicU64,
    /// How often the GPU has still to say that it is done.
    awaited: AtomicUsize,
    reports: Mutex<Vec<Report>>,
}

/// What became of a change, or of the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mip) enum Report {
    Swapped {
        texture: u32,
        change: ChangeId,
    },
    /// The texture is as it was.
    Failed {
        texture: u32,
        change: ChangeId,
        why: NotSwapped,
    },
    /// Nothing of it can be drawn.
    NoTail {
        image: AssetId<Image>,
        why: NotSwapped,
    },
    /// Its tail is drawn at last.
    Tail(AssetId<Image>),
    /// The GPU has let go of these.
    Retired(Vec<ChangeId>),
    /// All that was on the device is gone.
    Lost,
}

/// Why a texture stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mip) enum NotSwapped {
    /// It has gone, is of another device, or is not as it was when this was decided.
    Stale,
    /// The GPU has no memory for so many bytes.
    OutOfMemory { bytes: u64 },
    /// The device has no textures like the one from this mip on; they may be too large for it.
    Refused { top: u8 },
}

impl MipReports {
    /// Of which device whatever is made now will be.
    pub fn epoch(&self) -> u64 {
        self.0.epoch.load(Ordering::Acquire)
    }

    pub fn push(&self, report: Report) {
        self.lock().push(report);
    }

    /// Tells it if it is about the device of this epoch, and that is still there.
    fn push_of(&self, epoch: u64, report: Report) {
        let mut reports = self.lock();
        if self.epoch() == epoch {
            reports.push(report);
        }
    }

    /// There is another device; what the last one had still to say does not matter.
    pub fn lost(&self) {
        let mut reports = self.lock();
        self.0.epoch.fetch_add(1, Ordering::AcqRel);
        reports.clear();
        reports.push(Report::Lost);
    }

    /// What is to be called when the GPU has let go of these, and of what was held for them, which is dropped on a task then.
    pub fn when_done(&self, changes: Vec<ChangeId>, held: Vec<Held>) -> impl FnOnce() + Send + 'static {
        let (reports, epoch) = (self.clone(), self.epoch());
        self.0.awaited.fetch_add(1, Ordering::AcqRel);
        move || {
            reports.0.awaited.fetch_sub(1, Ordering::AcqRel);
            let has_gone = move || reports.push_of(epoch, Report::Retired(changes));
            if held.is_empty() {
                return has_gone();
            }
            let let_go = async move {
                drop(held);
                has_gone();
            };
            AsyncComputeTaskPool::get().spawn(let_go).detach();
        }
    }

    /// Whether the GPU has still to say that it is done.
    pub fn is_awaited(&self) -> bool {
        self.0.awaited.load(Ordering::Acquire) > 0
    }

    pub(super) fn take(&self) -> Vec<Report> {
        core::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Report>> {
        self.0.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes into the books what the renderer has done.
pub(in crate::mip) fn hear_renderer(
    reports: Res<MipReports>,
    mut pool: ResMut<MipPool>,
    mut work: ResMut<MipWork>,
    mut textures: ResMut<MipTextures>,
    time: Res<StreamingTime>,
    mut failures: MessageWriter<MipFailed>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("what the renderer has done");
    let _span = debug_span!("hear_renderer").entered();
    let now = time.now();
    pool.recover(now);
    for report in reports.take() {
        let ledger = &mut pool.ledger;
        match report {
            Report::Swapped { texture, change } => ledger.swapped(texture, change),
            Report::Retired(changes) => changes.into_iter().for_each(|change| ledger.retired(change)),
            Report::Failed { texture, change, why } => {
                ledger.failed(texture, change);
                if let NotSwapped::Refused { top } = why {
                    textures.refuse(texture, top + 1);
                }
                note(texture, why, now, &mut pool, &mut textures, &mut failures);
            }
            Report::NoTail { image, why } => {
                if let Some(texture) = textures.number(image) {
                    limit_to_floor(&mut textures, texture);
                    note(texture, why, now, &mut pool, &mut textures, &mut failures);
                }
            }
            Report::Tail(image) => {
                if let Some(texture) = textures.number(image) {
                    textures.refuse(texture, 0);
                    // It may have come in another's place.
                    work.renew(image);
                }
            }
            Report::Lost => {
                work.lost();
                ledger.lost(|texture| {
                    let chain = textures.get(texture)?.chain();
                    Some((chain.floor(), chain.bytes(chain.floor())))
                });
                textures.forget_refusals();
                pool.forget_refusals();
            }
        }
    }
}

/// Nothing finer is read for a texture that has nothing on the GPU.
fn limit_to_floor(textures: &mut MipTextures, texture: u32) {
    let floor = textures.get(texture).map(|record| record.chain().floor());
    textures.refuse(texture, floor.unwrap_or_default());
}

/// Counts what the GPU has refused, and tells it once for each texture.
fn note(
    texture: u32,
    why: NotSwapped,
    now: Duration,
    pool: &mut MipPool,
    textures: &mut MipTextures,
    failures: &mut MessageWriter<MipFailed>,
) {
    if matches!(why, NotSwapped::OutOfMemory { .. }) {
        pool.refused(now);
    }
    let (Some(record), Some(image)) = (textures.get(texture), textures.id(texture)) else {
        return;
    };
    let path = record.path().to_owned();
    let error = match why {
        NotSwapped::Stale => return,
        NotSwapped::OutOfMemory { bytes } => MipError::OutOfMemory { path, bytes },
        NotSwapped::Refused { .. } => MipError::Refused { path },
    };
    if textures.is_first_refusal(texture) {
        bevy_log::error!("{error}");
        failures.write(MipFailed { image, error });
    }
}
