//! How far a level is to come. See [`LevelTarget`].

use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::InstanceTarget;

/// How far a level is to come. The order of the variants is that of "further".
#[derive(Reflect, Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[reflect(Default, Clone, PartialEq, Hash)]
pub enum LevelTarget {
    /// Away: nothing of it is in the world, and nothing is under way.
    #[default]
    Unloaded,
    /// Ready to be shown: all that it needs is in memory. A level that is in the world already is hidden, where the app has opted in to
    /// that ([`SeamlessAssetPlugin::sliced_levels`](seamless_asset::SeamlessAssetPlugin::sliced_levels)); else it stays.
    Loaded,
    /// In the world.
    Visible,
}

impl From<LevelTarget> for InstanceTarget {
    fn from(target: LevelTarget) -> Self {
        match target {
            LevelTarget::Unloaded => Self::Gone,
            LevelTarget::Loaded => Self::Loaded,
            LevelTarget::Visible => Self::Shown,
        }
    }
}
