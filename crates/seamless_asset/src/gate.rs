//! What a reveal waits for besides the bytes. See [`RevealGate`].

use bevy_asset::UntypedAssetId;
use bevy_ecs::resource::Resource;

/// Holds a reveal back until assets are ready somewhere else, on the GPU for instance.
///
/// `seamless_render` adds one. A level is revealed when every gate is open for all assets of its packages, or when
/// its deadline has passed ([`StreamingSettings::gate_deadline_frames`](crate::StreamingSettings)), which is counted.
pub trait RevealGate: Send + Sync + 'static {
    /// Asks for `assets`, whose values have just been inserted.
    fn watch(&self, assets: &[UntypedAssetId]);

    /// Whether all of `assets` are ready.
    fn is_open(&self, assets: &[UntypedAssetId]) -> bool;

    /// The assets are ready or gone; the gate need not watch them any more.
    fn forget(&self, assets: &[UntypedAssetId]);
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
}
