//! From stored curves to Bevy's own. See [`StoredClip::to_clip`].

use bevy_animation::{
    AnimationClip, VariableCurve, animated_field,
    animation_curves::{AnimatableCurve, AnimatableProperty, AnimatedField, AnimationCompatibleCurve, WeightsCurve},
    gltf_curves::{
        CubicKeyframeCurve, CubicRotationCurve, SteppedKeyframeCurve, WideCubicKeyframeCurve, WideKeyframeCurveError,
        WideLinearKeyframeCurve, WideSteppedKeyframeCurve,
    },
};
use bevy_math::{
    Quat, StableInterpolate, Vec3, Vec4,
    curve::{ConstantCurve, Interval, UnevenSampleAutoCurve, iterable::IterableCurve},
};
use bevy_reflect::Reflect;
use bevy_transform::components::Transform;

use super::{
    ClipError,
    CurveProperty::{Rotation, Scale, Translation, Weights},
    Interpolation, StoredClip, StoredCurve,
};

impl StoredClip {
    /// Bevy's clip: for each kind of curve the type that Bevy's glTF loader makes, with one exception, [`CubicWeights`].
    ///
    /// # Errors
    /// When Bevy does not make a curve of what was checked to be one.
    pub fn to_clip(&self) -> Result<AnimationClip, ClipError> {
        let mut clip = AnimationClip::default();
        for curve in self.curves() {
            clip.add_variable_curve_to_target(curve.target(), curve.to_curve()?);
        }
        clip.set_duration(self.duration());
        Ok(clip)
    }
}

impl StoredCurve {
    fn to_curve(&self) -> Result<VariableCurve, ClipError> {
        let curve = match self.property() {
            Translation => self.to_vec3_curve(animated_field!(Transform::translation)),
            Rotation => self.to_rotation_curve(),
            Scale => self.to_vec3_curve(animated_field!(Transform::scale)),
            Weights => self.to_weights_curve(),
        };
        curve.ok_or_else(|| self.value_count())
    }

    fn to_vec3_curve(&self, property: impl AnimatableProperty<Property = Vec3> + Clone) -> Option<VariableCurve> {
        let values = self.values().as_chunks::<3>().0.iter().copied().map(Vec3::from_array);
        if self.interpolation() == Interpolation::CubicSpline {
            let curve = CubicKeyframeCurve::new(self.times().iter().copied(), values).ok()?;
            return Some(VariableCurve::new(AnimatableCurve::new(property, curve)));
        }
        self.to_simple_curve(property, values)
    }

    fn to_rotation_curve(&self) -> Option<VariableCurve> {
        let property = animated_field!(Transform::rotation);
        let values = self.values().as_chunks::<4>().0.iter().copied();
        if self.interpolation() == Interpolation::CubicSpline {
            let curve = CubicRotationCurve::new(self.times().iter().copied(), values.map(Vec4::from_array)).ok()?;
            return Some(VariableCurve::new(AnimatableCurve::new(property, curve)));
        }
        self.to_simple_curve(property, values.map(Quat::from_array))
    }

    /// Constant, stepped and linear curves, which are the same for vectors and rotations.
    fn to_simple_curve<P>(&self, property: P, mut values: impl Iterator<Item = P::Property>) -> Option<VariableCurve>
    where
        P: AnimatableProperty<Property: StableInterpolate + Reflect> + Clone,
        ConstantCurve<P::Property>: AnimationCompatibleCurve<P::Property>,
        SteppedKeyframeCurve<P::Property>: AnimationCompatibleCurve<P::Property>,
        UnevenSampleAutoCurve<P::Property>: AnimationCompatibleCurve<P::Property>,
    {
        let times = self.times().iter().copied();
        Some(match self.interpolation() {
            Interpolation::Constant => VariableCurve::new(AnimatableCurve::new(
                property,
                ConstantCurve::new(Interval::EVERYWHERE, values.next()?),
            )),
            Interpolation::Step => VariableCurve::new(AnimatableCurve::new(
                property,
                SteppedKeyframeCurve::new(times.zip(values)).ok()?,
            )),
            Interpolation::Linear => VariableCurve::new(AnimatableCurve::new(
                property,
                UnevenSampleAutoCurve::new(times.zip(values)).ok()?,
            )),
            Interpolation::CubicSpline => return None,
        })
    }

    fn to_weights_curve(&self) -> Option<VariableCurve> {
        let times = self.times().iter().copied();
        let values = self.values().iter().copied();
        Some(match self.interpolation() {
            Interpolation::Constant => VariableCurve::new(WeightsCurve(ConstantCurve::new(
                Interval::EVERYWHERE,
                values.collect::<Vec<f32>>(),
            ))),
            Interpolation::Step => VariableCurve::new(WeightsCurve(WideSteppedKeyframeCurve::new(times, values).ok()?)),
            Interpolation::Linear => {
                VariableCurve::new(WeightsCurve(WideLinearKeyframeCurve::new(times, values).ok()?))
            }
            Interpolation::CubicSpline => {
                VariableCurve::new(WeightsCurve(CubicWeights::new(self.times(), self.values()).ok()?))
            }
        })
    }
}

/// Bevy's curve of morph weights with cubic splines, which can be sampled everywhere.
///
/// Bevy 0.19's own [`WideCubicKeyframeCurve`] panics at each key, and before the first and after the last one: an animation that
/// starts at its first key ends the app. Between the keys this is Bevy's curve; at a key, and beyond the last, it is the key's value.
#[derive(Debug, Clone, Reflect)]
pub struct CubicWeights {
    between: WideCubicKeyframeCurve<f32>,
    times: Vec<f32>,
    /// The weights of each key, without tangents.
    weights: Vec<f32>,
}

impl CubicWeights {
    /// A curve with keys at `times`, ascending; of each key `values` has all in-tangents, all weights and all out-tangents.
    ///
    /// # Errors
    /// When the values do not fill the keys, or there are fewer than two.
    pub fn new(times: &[f32], values: &[f32]) -> Result<Self, WideKeyframeCurveError> {
        let between = WideCubicKeyframeCurve::new(times.iter().copied(), values.iter().copied())?;
        let targets = values.len() / (times.len().max(1) * 3);
        let keys = values.chunks_exact((targets * 3).max(1));
        let weights = keys.flat_map(|key| key.iter().skip(targets).take(targets));
        Ok(Self {
            between,
            times: times.to_vec(),
            weights: weights.copied().collect(),
        })
    }

    /// The key whose value holds at `t`; `None` between two keys.
    fn key(&self, t: f32) -> Option<usize> {
        let key = self.times.partition_point(|time| *time < t);
        let last = self.times.len().saturating_sub(1);
        let is_at_key = self.times.get(key) == Some(&t);
        (is_at_key || key == 0 || key > last).then_some(key.min(last))
    }
}

impl IterableCurve<f32> for CubicWeights {
    fn domain(&self) -> Interval {
        self.between.domain()
    }

    fn sample_iter_unchecked(&self, t: f32) -> impl Iterator<Item = f32> {
        let targets = self.weights.len() / self.times.len().max(1);
        let key = self.key(t);
        let at_key = key.map(|key| self.weights.iter().skip(key * targets).take(targets).copied());
        let between = key.is_none().then(|| self.between.sample_iter_unchecked(t));
        at_key.into_iter().flatten().chain(between.into_iter().flatten())
    }
}
