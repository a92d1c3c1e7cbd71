//! Shapes that are moved: who is inside stays inside.

use bevy_math::{EulerRot, Quat, Vec3, vec3};
use bevy_transform::components::{GlobalTransform, Transform};

use super::*;
use crate::{random::Random, select::tests::random_shape};

fn turn(random: &mut Random) -> Quat {
    let angles = random.point(6.0);
    Quat::from_euler(EulerRot::XYZ, angles.x, angles.y, angles.z)
}

/// From mirrored to ten times as large, along each axis for itself, or all alike.
fn scale(random: &mut Random) -> Vec3 {
    let one = |random: &mut Random| [0.1, 1.0, 2.5, 10.0, -1.0, -3.0][random.below(6)];
    match random.below(2) {
        0 => Vec3::splat(one(random)),
        _ => vec3(one(random), one(random), one(random)),
    }
}

/// A child that is scaled, of a parent that is: sheared as well.
fn random_place(random: &mut Random) -> GlobalTransform {
    let mut one = || Transform {
        translation: random.point(500.0),
        rotation: turn(random),
        scale: scale(random),
    };
    let (parent, child) = (one(), one());
    GlobalTransform::from(parent) * child
}

fn is_alike(place: &GlobalTransform) -> bool {
    let matrix = Mat3::from(place.affine().matrix3);
    let square = matrix.transpose() * matrix;
    let scale = square.x_axis.x;
    square.abs_diff_eq(Mat3::from_diagonal(Vec3::splat(scale)), scale * 1e-4)
}

#[test]
fn who_is_inside_is_inside_wherever_it_goes() {
    let mut random = Random(0x9e37_79b9);
    let (mut inside, mut outside) = (0, 0);
    for _ in 0..3000 {
        let (shape, place) = (random_shape(&mut random, 1.0), random_place(&mut random));
        let there = shape.transformed(&place).expect("it is somewhere");
        assert_eq!(there.validate(1.0), Ok(()));
        // What is round stays round, and so is the larger one.
        let is_round = matches!(shape, VolumeShape::Sphere { .. } | VolumeShape::Capsule { .. });
        let is_exact = !is_round || is_alike(&place);
        for _ in 0..20 {
            let point = random.point(300.0);
            let distance = shape.signed_distance(point);
            if distance.abs() < 1.0 {
                continue;
            }
            let contains = there.contains(place.affine().transform_point3(point));
            if distance < 0.0 && (is_exact || matches!(shape, VolumeShape::Sphere { .. })) {
                inside += 1;
                assert!(contains, "{shape:?} at {place:?}");
            } else if distance > 0.0 && is_exact {
                outside += 1;
                assert!(!contains, "{shape:?} at {place:?}");
            }
        }
    }
    assert!(inside > 2000 && outside > 2000, "{inside} {outside}");
}

/// Sheared, a ball is longest in between its axes.
#[test]
fn nothing_grows_more_than_the_largest_scale() {
    let mut random = Random(0x5CA1E);
    for _ in 0..500 {
        let matrix = Mat3::from(random_place(&mut random).affine().matrix3);
        let most = most_scale(&matrix);
        let directions = (0..2_000).map(|_| random.point(1.0).normalize_or(Vec3::X));
        let found = directions
            .map(|direction| (matrix * direction).length())
            .fold(0.0, f32::max);
        assert!(
            found <= most * 1.001 && found > most * 0.97,
            "{found} of {most}: {matrix}"
        );
    }
    assert_eq!(most_scale(&Mat3::from_diagonal(vec3(-2.0, 1.0, 0.5))), 2.0);
    assert_eq!(most_scale(&(Mat3::IDENTITY * 3.0)), 3.0);
}

#[test]
fn what_is_not_turned_stays_a_box() {
    let shape = VolumeShape::Box {
        min: vec3(-1.0, -2.0, -3.0),
        max: vec3(2.0, 3.0, 4.0),
    };
    let place = Transform::from_xyz(10.0, 0.0, 0.0).with_scale(vec3(2.0, -1.0, 1.0));
    let there = shape.transformed(&place.into());
    let expected = VolumeShape::Box {
        min: vec3(8.0, -3.0, -3.0),
        max: vec3(14.0, 2.0, 4.0),
    };
    assert_eq!(there, Some(expected));
    let inverted = VolumeShape::Box {
        min: Vec3::ONE,
        max: Vec3::ZERO,
    };
    for place in [place, Transform::from_rotation(Quat::from_rotation_y(1.0))] {
        let there = inverted.transformed(&place.into()).expect("a place is there");
        assert_eq!(there.validate(0.0), Err(VolumeFault::InvertedBox));
    }
}

#[test]
fn a_margin_grows_with_the_scale_unless_it_is_given() {
    let ball = VolumeShape::Sphere {
        center: Vec3::ZERO,
        radius: 5.0,
    };
    let cube = VolumeShape::Box {
        min: Vec3::splat(-5.0),
        max: Vec3::splat(5.0),
    };
    let convex = VolumeShape::Convex {
        planes: vec![(Vec3::Y, 5.0)],
    };
    let place = Transform::from_rotation(Quat::from_rotation_y(0.5)).with_scale(Vec3::splat(3.0));
    for (shape, margin) in [(ball, 3.0), (cube, 3.0), (convex, 10.0)] {
        let volume = StreamingVolume::new(shape, ["east"]);
        let (_, placed) = volume.placed(Some(&place.into())).expect("it is somewhere");
        assert!((placed - margin).abs() < 1e-4, "{volume:?}: {placed}");
        let volume = StreamingVolume {
            unload_margin: Some(4.0),
            ..volume
        };
        assert_eq!(volume.placed(Some(&place.into())).expect("it is somewhere").1, 4.0);
    }
}

/// By the axes that the shape has: nothing of a stretch along one that has no end is in it.
#[test]
fn a_margin_grows_with_the_axes_of_a_box() {
    let inf = f32::INFINITY;
    let column = VolumeShape::Box {
        min: vec3(-9.0, -inf, -9.0),
        max: vec3(9.0, inf, 9.0),
    };
    let slab = VolumeShape::Box {
        min: vec3(-100.0, -1.0, -100.0),
        max: vec3(100.0, 1.0, 100.0),
    };
    let turned = Quat::from_rotation_y(0.7);
    for (shape, stretch, expected) in [(&column, 50.0, 1.8), (&slab, 50.0, 20.0), (&slab, 200.0, 40.0)] {
        for rotation in [Quat::IDENTITY, turned] {
            let place = Transform::from_rotation(rotation).with_scale(vec3(1.0, stretch, 1.0));
            let volume = StreamingVolume::new(shape.clone(), ["east"]);
            let (_, margin) = volume.placed(Some(&place.into())).expect("it is somewhere");
            assert!((margin - expected).abs() < 1e-4, "{shape:?}, {stretch}: {margin}");
        }
    }
}

/// As somebody may make something that has no end, or next to no size.
#[test]
fn very_large_and_very_small_scales_are_scales() {
    for size in [1e-12, 1e-3, 1e10, 1e18] {
        let found = most_scale(&Mat3::from_diagonal(vec3(0.5, 2.0, 1.0) * size));
        assert!((found / size - 2.0).abs() < 1e-5, "{size}: {found}");
    }
    let ball = VolumeShape::Sphere {
        center: Vec3::ZERO,
        radius: 1.0,
    };
    let place = Transform::from_scale(vec3(100.0, 1e10, 100.0));
    let volume = StreamingVolume::new(ball, ["east"]);
    assert!(volume.placed(Some(&place.into())).is_ok());
}

/// It had ends, and they are not taken for none.
#[test]
fn a_box_that_is_larger_than_numbers_is_nowhere() {
    let large = VolumeShape::Box {
        min: Vec3::splat(-1e30),
        max: Vec3::splat(1e30),
    };
    for rotation in [Quat::IDENTITY, Quat::from_rotation_y(0.7)] {
        let place = Transform::from_rotation(rotation).with_scale(vec3(1e10, 1.0, 1.0));
        let volume = StreamingVolume {
            unload_margin: Some(1.0),
            ..StreamingVolume::new(large.clone(), ["east"])
        };
        assert_eq!(volume.placed(Some(&place.into())), Err(VolumeFault::Transform));
    }
}

#[test]
fn nowhere_is_a_fault_and_one_of_its_own_comes_first() {
    let volume = StreamingVolume::default();
    let bad = [
        Transform::from_xyz(f32::NAN, 0.0, 0.0),
        Transform::from_xyz(0.0, f32::INFINITY, 0.0),
        Transform::from_scale(vec3(1.0, 0.0, 1.0)),
        Transform::from_scale(Vec3::splat(f32::MAX)),
        Transform::from_rotation(Quat::from_xyzw(f32::NAN, 0.0, 0.0, 1.0)),
    ];
    for place in bad {
        assert_eq!(
            volume.placed(Some(&place.into())),
            Err(VolumeFault::Transform),
            "{place:?}"
        );
    }
    let far = Transform::from_scale(Vec3::splat(1e12));
    let large = StreamingVolume {
        shape: VolumeShape::Sphere {
            center: Vec3::ZERO,
            radius: 1e30,
        },
        ..volume.clone()
    };
    assert_eq!(large.placed(Some(&far.into())), Err(VolumeFault::Transform));
    let inverted = StreamingVolume {
        shape: VolumeShape::Sphere {
            center: Vec3::ZERO,
            radius: -1.0,
        },
        ..volume.clone()
    };
    assert_eq!(inverted.placed(Some(&bad[0].into())), Err(VolumeFault::NegativeRadius));
    assert_eq!(volume.placed(None), Ok((volume.shape.clone(), volume.margin())));
}
