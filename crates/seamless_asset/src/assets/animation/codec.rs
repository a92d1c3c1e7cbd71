//! Clips as bytes and back. See [`AnimationClipCodec`].

use bevy_animation::{AnimationClip, AnimationTargetId};
#[cfg(feature = "write")]
use bevy_asset::AssetId;
#[cfg(feature = "write")]
use bevy_ecs::world::World;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[cfg(feature = "write")]
use super::{ClipSources, resampled};
use super::{CurveProperty, Interpolation, StoredClip, StoredCurve};
use crate::assets::arrays::Arrays;
#[cfg(feature = "write")]
use crate::assets::arrays::{push, with_header};
use crate::codec::{AssetCodec, DecodeContext, DecodeError};
#[cfg(feature = "write")]
use crate::codec::{EncodeContext, EncodeError, EncodeWarning, EncodedAsset};

/// The codec of [`AnimationClip`]: a [`StoredClip`].
///
/// A clip that `ClipSources` knows is stored exactly as it is; others are sampled anew, with an `EncodeWarning`.
pub struct AnimationClipCodec;

/// Everything but the numbers, in the order in which they follow: times, then values, of each curve.
#[derive(Serialize, Deserialize)]
struct Header {
    duration: f32,
    curves: Vec<CurveHeader>,
}

#[derive(Serialize, Deserialize)]
struct CurveHeader {
    target: [u8; 16],
    property: CurveProperty,
    interpolation: Interpolation,
    times: u32,
    values: u32,
}

impl AssetCodec for AnimationClipCodec {
    type Asset = AnimationClip;
    const VERSION: u32 = 1;

    fn is_rendered(_: &AnimationClip) -> bool {
        false
    }

    #[cfg(feature = "write")]
    fn encode(clip: &AnimationClip, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let (clip, report) = resampled(clip)?;
        context.warn(EncodeWarning::Resampled(report));
        encode(&clip)
    }

    #[cfg(feature = "write")]
    fn encode_from(
        world: &World,
        id: AssetId<AnimationClip>,
        clip: &AnimationClip,
        context: &mut EncodeContext,
    ) -> Result<EncodedAsset, EncodeError> {
        let sources = world.get_resource::<ClipSources>();
        match sources.and_then(|sources| sources.of(id, clip)) {
            Some(stored) => encode(stored),
            None => Self::encode(clip, context),
        }
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<AnimationClip, DecodeError> {
        Ok(decode(data)?.to_clip()?)
    }
}

#[cfg(feature = "write")]
fn encode(clip: &StoredClip) -> Result<EncodedAsset, EncodeError> {
    let mut arrays = Vec::new();
    let mut curves = Vec::new();
    for curve in clip.curves() {
        push(curve.times(), &mut arrays);
        push(curve.values(), &mut arrays);
        curves.push(CurveHeader {
            target: *curve.target().0.as_bytes(),
            property: curve.property(),
            interpolation: curve.interpolation(),
            times: curve.times().len() as u32,
            values: curve.values().len() as u32,
        });
    }
    let duration = clip.duration();
    with_header(&Header { duration, curves }, &arrays)
}

pub(super) fn decode(data: &[u8]) -> Result<StoredClip, DecodeError> {
    let (header, mut arrays) = Arrays::split::<Header>(data, "an animation clip")?;
    let curves = header.curves.iter().map(|curve| {
        let times = arrays.values(curve.times)?;
        let values = arrays.values(curve.values)?;
        let target = AnimationTargetId(Uuid::from_bytes(curve.target));
        Ok(StoredCurve::new(
            target,
            curve.property,
            curve.interpolation,
            times,
            values,
        )?)
    });
    let curves = curves.collect::<Result<_, DecodeError>>()?;
    arrays.finish()?;
    Ok(StoredClip::new(header.duration, curves)?)
}
