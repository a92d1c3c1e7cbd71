//! Notifies as bytes.

use bevy_reflect::TypeRegistry;
#[cfg(feature = "write")]
use seamless_asset::codec::{EncodeContext, EncodeError, EncodedAsset};
use seamless_asset::{
    codec::{AssetCodec, DecodeContext, DecodeError, ReflectAssetCodec},
    package::Role,
};

use super::CueNotify;

/// What a registry tells of a notify, so that cues find their way without loading it: its tag,
pub(crate) const TAG: &str = "cue";
/// whether it overrides those of its parents,
pub(crate) const OVERRIDES: &str = "cue.overrides";
/// and how far its cues carry.
pub(crate) const CULL_DISTANCE: &str = "cue.cull_distance";

/// The codec of [`CueNotify`]: by reflection, so that files which were cooked before it got a field still load. Only clients see and hear.
pub struct CueNotifyCodec;

impl AssetCodec for CueNotifyCodec {
    type Asset = CueNotify;
    const VERSION: u32 = 1;
    const IS_REFLECTED: bool = true;
    const ROLE: Role = Role::CLIENT;

    fn is_rendered(_: &CueNotify) -> bool {
        false
    }

    fn layout(registry: &TypeRegistry) -> String {
        ReflectAssetCodec::<CueNotify>::layout(registry)
    }

    #[cfg(feature = "write")]
    fn encode(notify: &CueNotify, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        context.tag(TAG, notify.tag.name());
        if notify.overrides {
            context.tag(OVERRIDES, "true");
        }
        if let Some(distance) = notify.cull_distance {
            context.tag(CULL_DISTANCE, distance.to_string());
        }
        ReflectAssetCodec::<CueNotify>::encode(notify, context)
    }

    fn decode(data: &[u8], bulk: Vec<Vec<u8>>, context: &DecodeContext) -> Result<CueNotify, DecodeError> {
        let notify = ReflectAssetCodec::<CueNotify>::decode(data, bulk, context)?;
        super::source::checked(notify).map_err(|error| DecodeError::Malformed(error.to_string()))
    }
}
