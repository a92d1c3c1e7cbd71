//! Clips and graphs: what is stored, what comes back, and what is refused.

mod clips;
mod components;
mod cubic_weights;
mod graphs;
mod resample;
mod sources;

use bevy_animation::{AnimationClip, AnimationTargetId};
use bevy_asset::{AssetId, Assets, Handle, UntypedHandle};
use bevy_ecs::{name::Name, world::World};
use bevy_reflect::TypeRegistry;

use super::*;
use crate::codec::{
    AssetCodec, DecodeContext, DecodeError, EncodeContext, EncodeError, EncodeWarning, EncodedAsset, EntityRows,
    ErasedAssetCodec,
};

const PROPERTIES: [CurveProperty; 4] = [
    CurveProperty::Translation,
    CurveProperty::Rotation,
    CurveProperty::Scale,
    CurveProperty::Weights,
];
const INTERPOLATIONS: [Interpolation; 4] = [
    Interpolation::Constant,
    Interpolation::Step,
    Interpolation::Linear,
    Interpolation::CubicSpline,
];

fn target(name: &str) -> AnimationTargetId {
    AnimationTargetId::from_names([Name::new(name.to_owned())].iter())
}

/// A curve of each property and interpolation; there are two morph targets.
fn every_curve() -> Vec<StoredCurve> {
    let mut curves = Vec::new();
    for (number, property) in (1_u8..).zip(PROPERTIES) {
        for interpolation in INTERPOLATIONS {
            let times = match interpolation {
                Interpolation::Constant => vec![],
                _ => vec![0.25, 0.5, 1.75],
            };
            let per_key = if interpolation == Interpolation::CubicSpline {
                3
            } else {
                1
            };
            let count = times.len().max(1) * per_key * property.width().unwrap_or(2);
            let values = (0..count).map(|index| f32::sin(index as f32 * 1.7 + f32::from(number)));
            let name = format!("{property:?} {interpolation:?}");
            let curve = StoredCurve::new(target(&name), property, interpolation, times, values.collect());
            curves.push(curve.unwrap());
        }
    }
    curves
}

/// A world with one clip, and what is told about it.
struct Cook {
    world: World,
    clip: Handle<AnimationClip>,
}

impl Cook {
    fn new(clip: AnimationClip) -> Self {
        let mut world = World::new();
        world.init_resource::<Assets<AnimationClip>>();
        world.init_resource::<ClipSources>();
        let clip = world.resource_mut::<Assets<AnimationClip>>().add(clip);
        Self { world, clip }
    }

    fn with_source(mut self, source: StoredClip) -> Self {
        let id: AssetId<AnimationClip> = self.clip.id();
        self.world.resource_mut::<ClipSources>().insert(id, source);
        self
    }

    fn encode(&self) -> Result<(EncodedAsset, Vec<EncodeWarning>), EncodeError> {
        let registry = TypeRegistry::default();
        let rows = EntityRows::default();
        let mut context = EncodeContext::new(&registry, &rows);
        let codec = ErasedAssetCodec::new::<AnimationClipCodec>();
        let encoded = codec.encode(&self.world, self.clip.id().untyped(), &mut context)?;
        Ok((encoded.unwrap(), context.take_warnings()))
    }
}

fn decode<C: AssetCodec>(data: &[u8], handles: &[Option<UntypedHandle>]) -> Result<C::Asset, DecodeError> {
    let registry = TypeRegistry::default();
    let context = DecodeContext {
        registry: &registry,
        entities: &[],
        handles,
        mesh_attributes: &[],
        object: None,
    };
    C::decode(data, vec![], &context)
}
