//! Morph weights with cubic splines, which Bevy has a fault in.

use bevy_animation::animation_curves::WeightsCurve;
use bevy_animation::gltf_curves::WideCubicKeyframeCurve;
use bevy_math::curve::iterable::IterableCurve;

use super::*;

const TIMES: [f32; 3] = [0.5, 1.0, 2.0];

/// Two morph targets: in-tangents, weights and out-tangents of each key.
fn values() -> Vec<f32> {
    (0..18_u8).map(f32::from).collect()
}

fn bevys() -> WideCubicKeyframeCurve<f32> {
    WideCubicKeyframeCurve::new(TIMES, values()).unwrap()
}

fn at(curve: &impl IterableCurve<f32>, time: f32) -> Vec<f32> {
    curve.sample_iter_clamped(time).collect()
}

/// When this fails, Bevy has mended its curve, and `CubicWeights` can go.
#[test]
fn bevys_own_curve_panics_at_its_keys() {
    for time in TIMES.into_iter().chain([0.0, 3.0]) {
        assert!(std::panic::catch_unwind(|| at(&bevys(), time)).is_err(), "at {time} s");
    }
}

#[test]
fn keys_have_their_weights() {
    let curve = CubicWeights::new(&TIMES, &values()).unwrap();
    assert_eq!(at(&curve, 0.5), [2.0, 3.0]);
    assert_eq!(at(&curve, 1.0), [8.0, 9.0]);
    assert_eq!(at(&curve, 2.0), [14.0, 15.0]);
    assert_eq!(at(&curve, -1.0), [2.0, 3.0], "before the first");
    assert_eq!(at(&curve, 7.0), [14.0, 15.0], "after the last");
    assert_eq!(curve.domain(), bevys().domain());
}

#[test]
fn between_keys_it_is_bevys_curve() {
    let curve = CubicWeights::new(&TIMES, &values()).unwrap();
    for time in [0.500_1, 0.75, 0.999, 1.001, 1.5, 1.999] {
        assert_eq!(at(&curve, time), at(&bevys(), time), "at {time} s");
    }
}

/// The clip that Bevy loaded cannot be sampled at its keys, and is stored all the same.
#[test]
fn bevys_curve_is_known_by_its_source() {
    let times = TIMES.to_vec();
    let curve = StoredCurve::new(
        target("A"),
        CurveProperty::Weights,
        Interpolation::CubicSpline,
        times,
        values(),
    );
    let source = StoredClip::of_curves(vec![curve.unwrap()]);
    let mut clip = AnimationClip::default();
    clip.add_curve_to_target(target("A"), WeightsCurve(bevys()));
    let (_, warnings) = Cook::new(clip.clone()).with_source(source).encode().unwrap();
    assert_eq!(warnings, []);

    let error = Cook::new(clip).encode().unwrap_err();
    assert!(matches!(error, EncodeError::Clip(ClipError::CubicWeights)), "{error}");
}
