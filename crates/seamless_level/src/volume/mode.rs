//! What a volume asks of its levels. See [`VolumeMode`].

use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use serde::{Deserialize, Serialize};

use crate::requests::RequestKind;

/// What a volume asks of its levels while a source is in it.
#[derive(Reflect, Serialize, Deserialize, Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[reflect(Default, Clone, PartialEq, Hash)]
pub enum VolumeMode {
    /// Have them ready, without showing them: for what is soon to be seen. What is seen already is hidden again only in an app with
    /// [`sliced_levels`](seamless_asset::SeamlessAssetPlugin::sliced_levels); in others it stays until nobody wants it.
    Load,
    /// Have them in the world.
    #[default]
    LoadAndShow,
    /// Show them if another volume or the app has them loaded; load nothing.
    ShowIfLoaded,
    /// As [`LoadAndShow`](Self::LoadAndShow), and a frame in which a source is inside does not end without them: for what nobody may be
    /// without, the ground below a spawn point for instance. What is not there yet is loaded on the main thread. **That is a hitch**; it is
    /// logged with what it took, and counted in
    /// [`StreamingStats::blocking_loads`](seamless_asset::StreamingStats::blocking_loads). A level that fails then comes later, if it is
    /// [tried again](crate::RetryPolicy): no frame waits for that. Only where a source itself is counts, not where
    /// it will be, nor a place that is [prepared](crate::Levels::prepare); so a level that was shown ahead costs nothing, and one that was only loaded is
    /// revealed in that frame, whatever time it takes. While a source is inside,
    /// no cap and no shortage of memory cuts these levels before others, but those that are always loaded. Nor does a
    /// [remote](crate::StreamingSource::remote) source: it has the levels loaded, and the server's frame goes on.
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
