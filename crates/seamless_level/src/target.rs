//! How far a level is to come. See [`LevelTarget`].

use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// How far a level is to come. The order of the variants is that of "further".
#[derive(Reflect, Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[reflect(Default, Clone, PartialEq, Hash)]
pub enum LevelTarget {
    /// Away: nothing of it is in the world, and nothing is under way.
    #[default]
    Unloaded,
    /// Ready to be shown: all that it needs is in memory.
    Loaded,
    /// In the world.
    Visible,
}
