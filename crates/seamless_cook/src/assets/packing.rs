//! Encoded assets are packed on threads of their own, while others are encoded. See [`Packing`].

use std::time::Instant;

use seamless_asset::codec::BulkUse;
use seamless_package::Codec;

use super::{AssetKey, MeasuredObject, RawObject};
use crate::in_order::InOrder;

/// An asset that is packed.
pub(super) struct PackedAsset {
    pub key: AssetKey,
    pub measured: MeasuredObject,
    /// How long that took.
    pub seconds: f64,
}

/// Packs assets, and gives them back in the order in which they came.
pub(super) struct Packing {
    /// How packages store data.
    pub codec: Codec,
    jobs: usize,
    /// None before there is something to do.
    threads: Option<InOrder<'static, PackedAsset>>,
}

impl Packing {
    pub fn new(codec: Codec, jobs: usize) -> Self {
        Self {
            codec,
            jobs,
            threads: None,
        }
    }

    /// Has an asset packed; gives what is done meanwhile.
    pub fn pack(&mut self, key: AssetKey, object: RawObject, bulk_use: BulkUse) -> Vec<PackedAsset> {
        let (codec, jobs, mut done) = (self.codec, self.jobs, Vec::new());
        // They end when there is nothing left to do for them.
        let spawn = |work| drop(std::thread::spawn(work));
        let threads = self.threads.get_or_insert_with(|| InOrder::new(jobs, spawn));
        let job = move || {
            let start = Instant::now();
            PackedAsset {
                key,
                measured: MeasuredObject::of(object, codec, bulk_use),
                seconds: start.elapsed().as_secs_f64(),
            }
        };
        threads.give(job, &mut |asset| done.push(asset));
        done
    }

    /// Waits for all.
    pub fn finish(&mut self) -> Vec<PackedAsset> {
        let mut done = Vec::new();
        if let Some(threads) = &mut self.threads {
            threads.finish(&mut |asset| done.push(asset));
        }
        done
    }
}
