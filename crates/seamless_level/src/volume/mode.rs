//! What a volume asks of its levels. See [`VolumeMode`].

use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use serde::{Deserialize, Serialize};

use crate::requests::RequestKind;

/// What a volume asks of its levels while a source is in it.
#[derive(Reflect, Serialize, Deserialize, Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[reflect(Default, Clone, PartialEq, Hash)]
pub enum VolumeMode {
    /// Have them ready, without showing them: for what is soon to be seen.
    Load,
    /// Have them in the world.
    #[default]
    LoadAndShow,
    /// Show them if another volume or the app has them loaded; load nothing.
    ShowIfLoaded,
    /// As [`LoadAndShow`](Self::LoadAndShow), and told in [`Plan::block`](crate::select::Plan::block) for as long as a source is inside and
    /// they are not there: for what nobody may be without, the ground below a spawn point for instance. The frame does not
    /// wait for them by now.
    BlockUntilLoaded,
}

impl VolumeMode {
    /// The request that it makes for each of its levels.
    #[must_use]
    pub fn request(self) -> RequestKind {
        match self {
            Self::Load => RequestKind::Load,
            Self::LoadAndShow | Self::BlockUntilLoaded => RequestKind::Show,
            Self::ShowIfLoaded => RequestKind::ShowIfLoaded,
        }
    }
}
