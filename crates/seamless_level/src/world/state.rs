//! Where a level is, and where it may be next. See [`LevelState`].

use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::LoadState;

/// Where a level is.
///
/// The [crate](crate#the-states-of-a-level) draws the way from one to the other.
#[derive(Reflect, Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[reflect(Default, Clone, PartialEq, Hash)]
pub enum LevelState {
    /// Nothing of it is in the world, and nothing is under way.
    #[default]
    Unloaded,
    /// On its way; nothing of it is in the world yet.
    Loading(LoadState),
    /// All of it is loaded, and nobody sees it: it waits to be shown, or it was hidden.
    Hidden,
    /// It comes into the world in slices; nobody sees it yet.
    Revealing,
    /// In the world, whole.
    Visible,
    /// On its way out, or its load is being cancelled. What was visible is so, whole, until it is gone.
    Leaving,
    /// It could not be loaded. It is tried again after [`Level::retry_in`](crate::Level::retry_in), when it is wanted anew, or by
    /// [`Levels::retry`](crate::Levels::retry).
    Failed,
}

impl LevelState {
    /// Whether a level that is here may be there next, or is there already; the [crate](crate#the-states-of-a-level) says when.
    #[cfg(test)]
    pub(crate) fn can_become(self, next: Self) -> bool {
        if core::mem::discriminant(&self) == core::mem::discriminant(&next) {
            return true;
        }
        match self {
            Self::Unloaded => matches!(next, Self::Loading(_)),
            Self::Loading(_) | Self::Hidden | Self::Revealing => true,
            Self::Visible => matches!(next, Self::Hidden | Self::Leaving | Self::Unloaded),
            Self::Leaving => next != Self::Failed,
            Self::Failed => next == Self::Unloaded,
        }
    }
}
