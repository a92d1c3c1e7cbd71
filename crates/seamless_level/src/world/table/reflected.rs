//! Tables that come by reflection, in a scene that somebody has saved for instance.

use bevy_asset::AssetId;
use bevy_reflect::{FromReflect, PartialReflect};

use super::LevelTable;
use crate::manifest::WorldManifest;

impl FromReflect for LevelTable {
    /// What it says of levels was so in another app, or at another time: it is the table of no manifest, so the world is built anew.
    fn from_reflect(_: &dyn PartialReflect) -> Option<Self> {
        let (id, nothing) = (AssetId::invalid(), WorldManifest::default());
        Some(Self::new(id, nothing, &[], None))
    }
}
