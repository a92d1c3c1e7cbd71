//! What a reveal waits for besides the bytes. See [`RevealGate`].

use std::sync::Arc;

use bevy_asset::UntypedAssetId;
use bevy_ecs::{resource::Resource, world::World};

use crate::load::{InstanceId, LevelScans};

/// Holds a reveal back until assets are ready somewhere else, on the GPU for instance.
///
/// `seamless_render` adds one. A level is revealed when every gate is open for all assets of its packages, or when
/// its deadline has passed ([`StreamingSettings::gate_deadline_frames`](crate::StreamingSettings)), which is counted. That of a package begins when
/// also what it imports is inserted.
pub trait RevealGate: Send + Sync + 'static {
    /// Asks for `assets`, whose values have just been inserted.
    fn watch(&self, assets: &[UntypedAssetId]);

    /// Whether all of `assets` are ready.
    fn is_open(&self, assets: &[UntypedAssetId]) -> bool;

    /// The assets are ready or gone; the gate need not watch them any more.
    fn forget(&self, assets: &[UntypedAssetId]);

    /// Asks for what one instance of a level is drawn with, beyond its assets, as far as
    /// [scans](crate::SeamlessAssetApp::add_level_scan) have found it. The values of all its assets are inserted; whether they are ready
    /// is asked of [`is_open`](Self::is_open) meanwhile. A level that was there and hidden is asked for again when it is to be shown: what was
    /// found of it may be gone by then. What was found lives as long as the level is anywhere. Default: nothing is asked for.
    fn watch_level(&self, _world: &World, _id: InstanceId, _found: &Arc<LevelScans>) {}

    /// Whether all of it is ready. A level has its own deadline, as long as that of assets. Default: yes.
    fn is_level_open(&self, _id: InstanceId) -> bool {
        true
    }

    /// The level is ready, came without, or comes no more; the gate need not watch it. Default: nothing.
    fn forget_level(&self, _id: InstanceId) {}
}

/// The gates of the app.
#[derive(Resource, Default)]
pub struct RevealGates(pub Vec<Box<dyn RevealGate>>);

impl RevealGates {
    pub(crate) fn watch(&self, assets: &[UntypedAssetId]) {
        self.0.iter().for_each(|gate| gate.watch(assets));
    }

    pub(crate) fn is_open(&self, assets: &[UntypedAssetId]) -> bool {
        self.0.iter().all(|gate| gate.is_open(assets))
    }

    pub(crate) fn forget(&self, assets: &[UntypedAssetId]) {
        self.0.iter().for_each(|gate| gate.forget(assets));
    }

    pub(crate) fn watch_level(&self, world: &World, id: InstanceId, found: &Arc<LevelScans>) {
        self.0.iter().for_each(|gate| gate.watch_level(world, id, found));
    }

    pub(crate) fn is_level_open(&self, id: InstanceId) -> bool {
        self.0.iter().all(|gate| gate.is_level_open(id))
    }

    pub(crate) fn forget_level(&self, id: InstanceId) {
        self.0.iter().for_each(|gate| gate.forget_level(id));
    }
}
