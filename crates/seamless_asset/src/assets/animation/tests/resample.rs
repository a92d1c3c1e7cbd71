//! Clips that nothing is known of.

use bevy_animation::{
    animated_field,
    animation_curves::{AnimatableCurve, AnimatableKeyframeCurve, AnimatedField},
    gltf_curves::SteppedKeyframeCurve,
};
use bevy_ecs::component::Component;
use bevy_math::{
    Quat, Vec3,
    curve::{ConstantCurve, Curve, EaseFunction, EasingCurve, Interval},
};
use bevy_reflect::Reflect;
use bevy_transform::components::Transform;

use super::*;

/// Something that a game animates, and no package can.
#[derive(Component, Reflect, Clone)]
struct Glow(f32);

fn resample(clip: &AnimationClip) -> (StoredClip, AnimationClip, Resampled) {
    let (stored, report) = resampled(clip).unwrap();
    let made = stored.to_clip().unwrap();
    (stored, made, report)
}

fn times(end: f32) -> impl Iterator<Item = f32> {
    (0..=1999_u16).map(move |step| end * f32::from(step) / 1999.0)
}

#[test]
fn the_error_is_as_small_as_it_says() {
    let swing = EasingCurve::new(Vec3::ZERO, Vec3::new(10.0, -3.0, 1.0), EaseFunction::ElasticInOut);
    let mut clip = AnimationClip::default();
    clip.add_curve_to_target(
        target("A"),
        AnimatableCurve::new(animated_field!(Transform::translation), swing.clone()),
    );
    let (stored, made, report) = resample(&clip);
    let sampled = |time| {
        made.sample_clamped(animated_field!(Transform::translation), target("A"), time)
            .unwrap()
    };
    let errors = times(1.0).map(|time| (sampled(time) - swing.sample_clamped(time)).abs().max_element());
    let largest = errors.fold(0.0, f32::max);
    // Quarters are not everywhere, so the truth may be a little worse.
    assert!(
        largest <= report.translation * 1.1 + 1e-5,
        "{largest} is more than {report:?}"
    );
    assert!(
        report.translation > 0.0 && report.translation < 15.0 / 4096.0,
        "{report:?}"
    );
    assert_eq!((report.curves, report.jumps), (1, 0));
    assert_eq!(report.keys, stored.curves()[0].keys());
    assert!(report.keys > 61, "more keys where it bends");
    assert_eq!(made.duration(), clip.duration());
}

#[test]
fn rotations_are_measured_in_radians() {
    let turn = AnimatableKeyframeCurve::new([
        (0.0, Quat::IDENTITY),
        (0.55, Quat::from_rotation_x(2.0)),
        (1.0, Quat::from_rotation_z(-2.5)),
    ]);
    let turn = turn.unwrap();
    let mut clip = AnimationClip::default();
    clip.add_curve_to_target(
        target("A"),
        AnimatableCurve::new(animated_field!(Transform::rotation), turn.clone()),
    );
    let (_, made, report) = resample(&clip);
    let sampled = |time| {
        made.sample_clamped(animated_field!(Transform::rotation), target("A"), time)
            .unwrap()
    };
    // Twice the sine of half the angle, which is exact where a cosine is not.
    let errors = times(1.0).map(|time| 2.0 * (sampled(time).inverse() * turn.sample_clamped(time)).xyz().length());
    let largest = errors.fold(0.0, f32::max);
    assert!(largest < 1e-3, "{largest}");
    assert!(report.rotation <= 1.0 / 4096.0, "{report:?}");
}

#[test]
fn jumps_are_counted() {
    let steps =
        SteppedKeyframeCurve::new([(0.0, Vec3::ZERO), (0.3, Vec3::ONE), (0.7, Vec3::X), (1.0, Vec3::Y)]).unwrap();
    let mut clip = AnimationClip::default();
    clip.add_curve_to_target(
        target("A"),
        AnimatableCurve::new(animated_field!(Transform::scale), steps.clone()),
    );
    let (_, made, report) = resample(&clip);
    assert_eq!((report.jumps, report.scale), (3, 0.0));
    let sampled = |time| {
        made.sample_clamped(animated_field!(Transform::scale), target("A"), time)
            .unwrap()
    };
    let off = times(1.0)
        .filter(|time| sampled(*time) != steps.sample_clamped(*time))
        .count();
    assert!(off <= 3, "{off} of 2000 times are wrong");
}

#[test]
fn what_stands_still_is_constant() {
    let mut clip = AnimationClip::default();
    let property = animated_field!(Transform::translation);
    clip.add_curve_to_target(
        target("A"),
        AnimatableCurve::new(property.clone(), ConstantCurve::new(Interval::EVERYWHERE, Vec3::Z)),
    );
    let flat = AnimatableKeyframeCurve::new([(1.0, Vec3::X), (4.0, Vec3::X)]).unwrap();
    clip.add_curve_to_target(target("B"), AnimatableCurve::new(property, flat));
    let (stored, made, report) = resample(&clip);
    assert!(
        stored
            .curves()
            .iter()
            .all(|curve| curve.interpolation() == Interpolation::Constant)
    );
    assert_eq!((report.keys, made.duration()), (2, 4.0));
}

/// Hash maps are in no order, and the same clip gives the same bytes.
#[test]
fn targets_are_in_order() {
    let mut clip = AnimationClip::default();
    for name in 0..50_u8 {
        let still = ConstantCurve::new(Interval::EVERYWHERE, Vec3::splat(f32::from(name)));
        clip.add_curve_to_target(
            target(&name.to_string()),
            AnimatableCurve::new(animated_field!(Transform::scale), still),
        );
    }
    let (stored, ..) = resample(&clip);
    assert_eq!(stored.curves().len(), 50);
    assert!(stored.curves().is_sorted_by_key(|curve| curve.target()));
}

#[test]
fn other_properties_are_refused() {
    let mut clip = AnimationClip::default();
    let glow = ConstantCurve::new(Interval::EVERYWHERE, 1.0_f32);
    clip.add_curve_to_target(target("Lamp"), AnimatableCurve::new(animated_field!(Glow::0), glow));
    let error = Cook::new(clip).encode().unwrap_err();
    let EncodeError::Clip(ClipError::Property { target: named }) = &error else {
        panic!("{error}")
    };
    assert_eq!(*named, target("Lamp").0.to_string());
}
