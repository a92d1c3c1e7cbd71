//! Notifies as bytes.

use core::any::TypeId;

use bevy_reflect::{TypePath, TypeRegistry};
#[cfg(feature = "write")]
use seamless_asset::codec::{EncodeContext, EncodeError, EncodedAsset, encode_reflected};
use seamless_asset::{
    codec::{AssetCodec, DecodeContext, DecodeError, decode_reflected_whole, description_of},
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
        registry
            .get_type_info(TypeId::of::<CueNotify>())
            .map_or_else(|| "not registered".into(), |info| description_of(info, registry))
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
        let mut encoded = EncodedAsset::default();
        encode_reflected(notify, context, &mut encoded.data)?;
        Ok(encoded)
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, context: &DecodeContext) -> Result<CueNotify, DecodeError> {
        let unknown = || DecodeError::UnknownType(CueNotify::type_path().to_owned());
        let registration = context.registry.get(TypeId::of::<CueNotify>()).ok_or_else(unknown)?;
        let value = decode_reflected_whole(registration, data, context)?;
        let notify = value.into_any().downcast::<CueNotify>().map_err(|_| unknown())?;
        let notify = super::source::checked(*notify);
        notify.map_err(|error| DecodeError::Malformed(error.to_string()))
    }
}
