//! What is known of a clip is used only while it is true.

use bevy_animation::{
    VariableCurve, animated_field,
    animation_curves::{AnimatableCurve, AnimatedField},
};
use bevy_math::{
    Vec3,
    curve::{ConstantCurve, Interval},
};
use bevy_transform::components::Transform;

use super::*;

/// Whether the codec says that it sampled `clip`, when it was told that it is `source`.
fn is_resampled(clip: AnimationClip, source: &StoredClip) -> bool {
    let (_, warnings) = Cook::new(clip).with_source(source.clone()).encode().unwrap();
    matches!(warnings.as_slice(), [EncodeWarning::Resampled(_)])
}

fn without_cubic_weights() -> StoredClip {
    let curves = every_curve().into_iter();
    let is_cubic = |curve: &StoredCurve| {
        curve.property() == CurveProperty::Weights && curve.interpolation() == Interpolation::CubicSpline
    };
    StoredClip::of_curves(curves.filter(|curve| !is_cubic(curve)).collect())
}

#[test]
fn a_clip_that_was_changed_is_sampled() {
    let source = without_cubic_weights();
    assert!(!is_resampled(source.to_clip().unwrap(), &source));

    let mut longer = source.to_clip().unwrap();
    longer.set_duration(9.0);
    assert!(is_resampled(longer, &source));

    let mut more = source.to_clip().unwrap();
    let still = AnimatableCurve::new(
        animated_field!(Transform::scale),
        ConstantCurve::new(Interval::EVERYWHERE, Vec3::ONE),
    );
    more.add_curve_to_target(target("New"), still.clone());
    assert!(is_resampled(more, &source));

    let known = source.curves()[0].target();
    let mut other = source.to_clip().unwrap();
    *other.curves_for_target_mut(known).unwrap() = vec![VariableCurve::new(still)];
    assert!(is_resampled(other, &source));
}

/// One number of one key is enough, whatever the kind of curve.
#[test]
fn every_number_counts() {
    let source = without_cubic_weights();
    for (index, changed) in source.curves().iter().enumerate() {
        let mut values = changed.values().to_vec();
        let last = values.len() - 1;
        // The last number of a spline is an out-tangent that nothing uses; the one before the in-tangents of the last key is used.
        let place = if changed.interpolation() == Interpolation::CubicSpline {
            last / 2
        } else {
            last
        };
        values[place] += 0.001;
        let (target, property) = (changed.target(), changed.property());
        let changed = StoredCurve::new(
            target,
            property,
            changed.interpolation(),
            changed.times().to_vec(),
            values,
        );
        let mut curves = source.curves().to_vec();
        curves[index] = changed.unwrap();
        let live = StoredClip::of_curves(curves).to_clip().unwrap();
        assert!(is_resampled(live, &source), "{:?}", source.curves()[index]);
    }
}

#[test]
fn a_clip_without_a_source_is_sampled() {
    let clip = without_cubic_weights().to_clip().unwrap();
    let (_, warnings) = Cook::new(clip).encode().unwrap();
    let [EncodeWarning::Resampled(report)] = warnings.as_slice() else {
        panic!("{warnings:?}")
    };
    assert_eq!(report.curves, 15);
    assert!(warnings[0].to_string().contains("15 curves"), "{}", warnings[0]);
}

#[test]
fn events_are_refused() {
    let source = without_cubic_weights();
    let mut clip = source.to_clip().unwrap();
    clip.add_event_fn(0.5, |_, _, _, _| {});
    clip.add_event_fn_to_target(target("A"), 0.5, |_, _, _, _| {});
    clip.add_event_fn_to_target(target("A"), 0.75, |_, _, _, _| {});
    let error = Cook::new(clip).with_source(source).encode().unwrap_err();
    assert!(matches!(error, EncodeError::Clip(ClipError::Events(3))), "{error}");
}
