//! What the renderer says to the main world. See [`MipReports`].

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use bevy_ecs::{
    message::MessageWriter,
    resource::Resource,
    system::{Res, ResMut},
};

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

    /// There is another device; what the last one had still to say does not matter.
    pub fn lost(&self) {
        self.0.epoch.fetch_add(1, Ordering::AcqRel);
        let mut reports = self.lock();
        reports.clear();
        reports.push(Report::Lost);
    }

    /// What is to be called when the GPU has let go of these.
    pub fn when_done(&self, changes: Vec<ChangeId>) -> impl FnOnce() + Send + 'static {
        let (reports, epoch) = (self.clone(), self.epoch());
        self.0.awaited.fetch_add(1, Ordering::AcqRel);
        move || {
            reports.0.awaited.fetch_sub(1, Ordering::AcqRel);
            if reports.epoch() == epoch {
                reports.push(Report::Retired(changes));
            }
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
    mut failures: MessageWriter<MipFailed>,
) {
    for report in reports.take() {
        let ledger = &mut pool.ledger;
        match report {
            Report::Swapped { texture, change } => ledger.swapped(texture, change),
            Report::Retired(changes) => changes.into_iter().for_each(|change| ledger.retired(change)),
            Report::Failed { texture, change, why } => {
                ledger.failed(texture, change);
                match why {
                    NotSwapped::Stale => {}
                    NotSwapped::Refused { top } => textures.limit(texture, top + 1),
                    NotSwapped::OutOfMemory { bytes } => {
                        pool.refused();
                        tell_out_of_memory(&textures, texture, bytes, &mut failures);
                    }
                }
            }
            Report::Lost => {
                work.lost();
                ledger.lost(|texture| {
                    let chain = textures.get(texture)?.chain();
                    Some((chain.floor(), chain.bytes(chain.floor())))
                });
            }
        }
    }
}

fn tell_out_of_memory(textures: &MipTextures, texture: u32, bytes: u64, failures: &mut MessageWriter<MipFailed>) {
    let (Some(record), Some(image)) = (textures.get(texture), textures.id(texture)) else {
        return;
    };
    let path = record.path().to_owned();
    let error = MipError::OutOfMemory { path, bytes };
    bevy_log::error!("{error}");
    failures.write(MipFailed { image, error });
}
