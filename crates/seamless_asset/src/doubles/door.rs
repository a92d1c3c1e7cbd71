//! A gate by hand. See [`LevelDoor`].

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bevy_asset::UntypedAssetId;

use crate::{RevealGate, load::InstanceId};

/// A [`RevealGate`] that holds all levels back until it is opened; clones are the same door. Assets pass.
#[derive(Clone, Default)]
pub struct LevelDoor(Arc<AtomicBool>);

impl LevelDoor {
    /// Levels pass from now on.
    pub fn open(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl RevealGate for LevelDoor {
    fn watch(&self, _: &[UntypedAssetId]) {}

    fn is_open(&self, _: &[UntypedAssetId]) -> bool {
        true
    }

    fn forget(&self, _: &[UntypedAssetId]) {}

    fn is_level_open(&self, _: InstanceId) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
