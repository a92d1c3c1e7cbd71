//! What a curve and a clip must be, and that they come back as they were.

use bevy_animation::{animated_field, animation_curves::AnimatedField};
use bevy_math::{Quat, Vec3};
use bevy_transform::components::Transform;
use proptest::prelude::*;

use super::{super::codec, *};

fn curve(interpolation: Interpolation, times: &[f32], values: usize) -> Result<StoredCurve, ClipError> {
    let values = vec![1.0; values];
    StoredCurve::new(
        target("A"),
        CurveProperty::Rotation,
        interpolation,
        times.to_vec(),
        values,
    )
}

#[test]
fn a_curve_needs_two_keys_and_a_constant_none() {
    for (interpolation, times) in [
        (Interpolation::Linear, &[][..]),
        (Interpolation::Step, &[1.0]),
        (Interpolation::CubicSpline, &[1.0]),
        (Interpolation::Constant, &[1.0]),
    ] {
        let error = curve(interpolation, times, 12).unwrap_err();
        let keys = times.len();
        assert_eq!(
            error,
            ClipError::KeyCount {
                property: CurveProperty::Rotation,
                interpolation,
                keys
            }
        );
    }
}

#[test]
fn key_times_ascend() {
    for (times, key) in [
        ([0.0, 0.0, 1.0], 1),
        ([0.0, -0.0, 1.0], 1),
        ([0.0, 2.0, 1.0], 2),
        ([f32::NAN, 2.0, 3.0], 0),
        ([0.0, f32::NAN, 3.0], 1),
        ([0.0, 2.0, f32::INFINITY], 2),
        ([f32::NEG_INFINITY, 2.0, 3.0], 0),
    ] {
        match curve(Interpolation::Linear, &times, 12) {
            Err(ClipError::KeyTime { key: found, .. }) => assert_eq!(found, key, "{times:?}"),
            other => panic!("{times:?}: {other:?}"),
        }
    }
}

#[test]
fn values_fill_the_keys() {
    for (interpolation, times, right) in [
        (Interpolation::Constant, &[][..], 4),
        (Interpolation::Step, &[0.0, 1.0], 8),
        (Interpolation::Linear, &[0.0, 1.0], 8),
        (Interpolation::CubicSpline, &[0.0, 1.0], 24),
    ] {
        assert!(curve(interpolation, times, right).is_ok());
        for values in [0, right - 1, right + 1, right + 4] {
            let error = curve(interpolation, times, values).unwrap_err();
            assert!(matches!(error, ClipError::ValueCount { values: found, .. } if found == values));
        }
    }
    let weights = |interpolation, values| {
        let values = vec![0.0; values];
        StoredCurve::new(
            target("A"),
            CurveProperty::Weights,
            interpolation,
            vec![0.0, 1.0],
            values,
        )
    };
    assert!(weights(Interpolation::Linear, 6).is_ok());
    assert!(weights(Interpolation::Linear, 7).is_err());
    assert!(weights(Interpolation::Linear, 0).is_err());
    assert!(weights(Interpolation::CubicSpline, 12).is_ok());
    assert!(weights(Interpolation::CubicSpline, 10).is_err());
}

#[test]
fn a_clip_lasts_a_finite_time() {
    for duration in [f32::NAN, f32::INFINITY, -1.0] {
        assert!(matches!(StoredClip::new(duration, vec![]), Err(ClipError::Duration(_))));
    }
    assert_eq!(StoredClip::of_curves(every_curve()).duration(), 1.75);
    assert_eq!(StoredClip::of_curves(vec![]).duration(), 0.0);
}

#[test]
fn bevys_clip_has_the_values_of_the_keys() {
    let translation = [0.0, 0.0, 0.0, 4.0, 2.0, 0.0].to_vec();
    let half_turn = Quat::from_rotation_y(3.0).to_array();
    let rotation = [Quat::IDENTITY.to_array(), half_turn].concat();
    let times = vec![1.0, 3.0];
    let new =
        |property, interpolation, values| StoredCurve::new(target("A"), property, interpolation, times.clone(), values);
    let curves = vec![
        new(CurveProperty::Translation, Interpolation::Linear, translation).unwrap(),
        new(CurveProperty::Rotation, Interpolation::Linear, rotation).unwrap(),
        new(
            CurveProperty::Scale,
            Interpolation::Step,
            vec![1.0, 1.0, 1.0, 5.0, 5.0, 5.0],
        )
        .unwrap(),
    ];
    let clip = StoredClip::new(4.0, curves).unwrap().to_clip().unwrap();
    assert_eq!(clip.duration(), 4.0, "longer than its last key");
    let translation = |time| {
        clip.sample_clamped(animated_field!(Transform::translation), target("A"), time)
            .unwrap()
    };
    assert_eq!(translation(0.0), Vec3::ZERO);
    assert_eq!(translation(2.0), Vec3::new(2.0, 1.0, 0.0));
    assert_eq!(translation(9.0), Vec3::new(4.0, 2.0, 0.0));
    let rotation = clip
        .sample_clamped(animated_field!(Transform::rotation), target("A"), 2.0)
        .unwrap();
    assert!(rotation.angle_between(Quat::from_rotation_y(1.5)) < 1e-3);
    let scale = |time| {
        clip.sample_clamped(animated_field!(Transform::scale), target("A"), time)
            .unwrap()
    };
    assert_eq!([scale(2.9), scale(3.0)], [Vec3::ONE, Vec3::splat(5.0)]);
}

#[test]
fn every_kind_of_curve_comes_back() {
    let stored = StoredClip::new(2.5, every_curve()).unwrap();
    let (encoded, warnings) = Cook::new(stored.to_clip().unwrap())
        .with_source(stored.clone())
        .encode()
        .unwrap();
    assert_eq!(warnings, []);
    assert_eq!(codec::decode(&encoded.data).unwrap(), stored);
    let clip = decode::<AnimationClipCodec>(&encoded.data, &[]).unwrap();
    assert_eq!(clip.duration(), 2.5);
    assert_eq!(clip.curves().len(), 16);
}

#[test]
fn damage_is_refused() {
    let stored = StoredClip::of_curves(every_curve());
    let cook = Cook::new(stored.to_clip().unwrap()).with_source(stored.clone());
    let data = cook.encode().unwrap().0.data;
    for length in 0..data.len() {
        assert!(
            decode::<AnimationClipCodec>(&data[..length], &[]).is_err(),
            "{length} bytes"
        );
    }
    let longer = [data.as_slice(), &[0]].concat();
    assert!(decode::<AnimationClipCodec>(&longer, &[]).is_err());
    for index in 0..data.len() {
        let mut damaged = data.clone();
        damaged[index] ^= 0xff;
        // It is another clip or none, and in no case a panic.
        if let Ok(clip) = decode::<AnimationClipCodec>(&damaged, &[]) {
            assert!(clip.duration() >= 0.0);
        }
    }
}

#[test]
fn errors_of_a_clip_come_through_the_codec() {
    // The header of a clip that lasts minus one second, and has no curves.
    let header = [&(-1.0_f32).to_le_bytes()[..], &[0]].concat();
    let data = [&(header.len() as u32).to_le_bytes()[..], &header].concat();
    let error = decode::<AnimationClipCodec>(&data, &[]).unwrap_err();
    assert!(matches!(error, DecodeError::Clip(ClipError::Duration(-1.0))), "{error}");
}

fn any_curve() -> impl Strategy<Value = StoredCurve> {
    let property = proptest::sample::select(PROPERTIES.to_vec());
    let interpolation = proptest::sample::select(INTERPOLATIONS.to_vec());
    let steps = proptest::collection::vec(0.001_f32..10.0, 2..20);
    (property, interpolation, steps, -5.0_f32..5.0, 1..6_usize, any::<u8>()).prop_map(
        |(property, interpolation, steps, start, targets, name)| {
            let times = match interpolation {
                Interpolation::Constant => vec![],
                _ => steps
                    .iter()
                    .scan(start, |time, step| {
                        *time += step;
                        Some(*time)
                    })
                    .collect(),
            };
            let per_key = if interpolation == Interpolation::CubicSpline {
                3
            } else {
                1
            };
            let count = times.len().max(1) * per_key * property.width().unwrap_or(targets);
            let values = (0..count).map(|index| start * index as f32).collect();
            StoredCurve::new(target(&name.to_string()), property, interpolation, times, values).unwrap()
        },
    )
}

proptest! {
    #[test]
    fn any_clip_comes_back(curves in proptest::collection::vec(any_curve(), 0..12)) {
        let stored = StoredClip::of_curves(curves);
        let cook = Cook::new(stored.to_clip().unwrap()).with_source(stored.clone());
        let (encoded, warnings) = cook.encode().unwrap();
        prop_assert_eq!(warnings, vec![]);
        prop_assert_eq!(codec::decode(&encoded.data).unwrap(), stored);
    }
}
