//! Tests of the geometry: distances, and shapes that are refused.

use bevy_math::{Vec3, vec3};

use super::{StreamingVolume, VolumeFault, VolumeShape};
use crate::{
    random::Random,
    select::tests::{random_shape, turned_box},
};

const CUBE: VolumeShape = VolumeShape::Box {
    min: Vec3::splat(-1.0),
    max: Vec3::splat(1.0),
};

/// The same cube, made of planes; one of them longer than a unit normal.
fn convex_cube() -> VolumeShape {
    let mut planes = Vec::new();
    for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
        planes.extend([(axis, 1.0), (axis * -2.0, 2.0)]);
    }
    VolumeShape::Convex { planes }
}

fn near(a: f32, b: f32) -> bool {
    (a - b).abs() < 1e-4
}

#[test]
fn distances_have_their_sign() {
    for cube in [CUBE, convex_cube()] {
        assert!(near(cube.signed_distance(Vec3::ZERO), -1.0));
        assert!(near(cube.signed_distance(vec3(0.75, 0.0, 0.0)), -0.25));
        assert!(near(cube.signed_distance(vec3(1.0, 0.5, 0.0)), 0.0));
        assert!(near(cube.signed_distance(vec3(0.0, -3.0, 0.0)), 2.0));
        assert!(cube.contains(vec3(1.0, 1.0, 1.0)) && !cube.contains(vec3(1.0, 1.01, 1.0)));
    }
    assert!(
        near(CUBE.signed_distance(vec3(4.0, 5.0, 0.0)), 5.0),
        "a box is exact past its edges"
    );
    assert!(
        near(convex_cube().signed_distance(vec3(4.0, 5.0, 0.0)), 4.0),
        "a convex shape gives a lower bound"
    );
    let sphere = VolumeShape::Sphere {
        center: Vec3::X,
        radius: 2.0,
    };
    assert!(near(sphere.signed_distance(Vec3::X), -2.0));
    assert!(near(sphere.signed_distance(vec3(6.0, 0.0, 0.0)), 3.0));
}

#[test]
fn middles() {
    let point = vec3(0.5, -0.25, 3.0);
    assert!(near(CUBE.center_distance(point), point.length()));
    assert!((convex_cube().center_distance(point) - point.length()).abs() < 1e-2);
    let half_space = VolumeShape::Convex {
        planes: vec![(Vec3::Y, 5.0)],
    };
    assert!(
        near(half_space.center_distance(vec3(100.0, 5.0, -70.0)), 0.0),
        "without a border it does not count"
    );
    let huge = VolumeShape::Box {
        min: Vec3::splat(f32::MIN),
        max: Vec3::splat(f32::MAX),
    };
    assert!(huge.center_distance(Vec3::ZERO).is_finite());
}

/// What is on a map, however high.
#[test]
fn a_box_may_have_no_end_along_an_axis() {
    let on_map = VolumeShape::Box {
        min: vec3(-1.0, f32::NEG_INFINITY, -1.0),
        max: vec3(3.0, f32::INFINITY, 1.0),
    };
    assert_eq!(on_map.validate(0.5), Ok(()));
    for height in [-1e9, 0.0, 500.0, f32::MAX] {
        assert!(near(on_map.signed_distance(vec3(0.0, height, 0.0)), -1.0), "{height}");
        assert!(near(on_map.signed_distance(vec3(6.0, height, 5.0)), 5.0), "{height}");
        assert!(near(on_map.center_distance(vec3(4.0, height, 4.0)), 5.0), "{height}");
    }
    assert_eq!(on_map.entry_time(vec3(-5.0, 1e6, 0.0), vec3(2.0, 3.0, 0.0)), Some(2.0));
    assert_eq!(on_map.entry_time(vec3(-5.0, 1e6, 0.0), Vec3::Y), None);
    assert!(near(on_map.bounding_radius(), vec3(2.0, 0.0, 1.0).length()));
    assert!(near(on_map.default_unload_margin(), 0.4));
    let above = VolumeShape::Box {
        min: vec3(f32::NEG_INFINITY, 10.0, f32::NEG_INFINITY),
        max: Vec3::INFINITY,
    };
    assert_eq!(above.validate(0.5), Ok(()));
    assert!(near(above.default_unload_margin(), 10.0));
    assert!(near(above.signed_distance(vec3(1e9, 7.0, 1.0)), 3.0));
    assert!(near(above.signed_distance(vec3(1e9, 17.0, 1.0)), -7.0));
    let text = ron::to_string(&above).unwrap();
    assert_eq!(ron::from_str::<VolumeShape>(&text).unwrap(), above, "{text}");
}

#[test]
fn unusable_shapes_contain_nothing_and_say_why() {
    let sphere = |center, radius| VolumeShape::Sphere { center, radius };
    let convex = |planes| VolumeShape::Convex { planes };
    let shapes = [
        (
            VolumeShape::Box {
                min: Vec3::ONE,
                max: Vec3::ZERO,
            },
            VolumeFault::InvertedBox,
        ),
        (
            VolumeShape::Box {
                min: Vec3::NAN,
                max: Vec3::ONE,
            },
            VolumeFault::NotANumber,
        ),
        (
            VolumeShape::Box {
                min: Vec3::NEG_INFINITY,
                max: Vec3::INFINITY,
            },
            VolumeFault::EndlessBox,
        ),
        (
            VolumeShape::Box {
                min: Vec3::splat(-1.0).with_y(f32::INFINITY),
                max: Vec3::splat(1.0).with_y(f32::INFINITY),
            },
            VolumeFault::EndlessBox,
        ),
        (sphere(Vec3::NAN, 1.0), VolumeFault::NotFinite("sphere")),
        (sphere(Vec3::ZERO, f32::NAN), VolumeFault::NotFinite("sphere")),
        (sphere(Vec3::ZERO, f32::INFINITY), VolumeFault::NotFinite("sphere")),
        (sphere(Vec3::ZERO, -1.0), VolumeFault::NegativeRadius),
        (
            VolumeShape::Capsule {
                a: Vec3::ZERO,
                b: Vec3::NAN,
                radius: 1.0,
            },
            VolumeFault::NotFinite("capsule"),
        ),
        (
            VolumeShape::Capsule {
                a: Vec3::ZERO,
                b: Vec3::X,
                radius: -1.0,
            },
            VolumeFault::NegativeRadius,
        ),
        (convex(vec![]), VolumeFault::NoPlanes),
        (
            convex(vec![(Vec3::X, 9.0), (Vec3::ZERO, 9.0)]),
            VolumeFault::NoNormal(1),
        ),
        (
            convex(vec![(Vec3::X, 9.0), (Vec3::NAN, 9.0)]),
            VolumeFault::NotFinite("convex shape"),
        ),
        (
            convex(vec![(Vec3::X, f32::NAN), (Vec3::Y, 9.0)]),
            VolumeFault::NotFinite("convex shape"),
        ),
    ];
    for (shape, fault) in shapes {
        for point in [Vec3::ZERO, Vec3::splat(0.5), Vec3::splat(1e6)] {
            assert!(!shape.contains(point), "{shape:?} contains {point}");
            assert!(shape.center_distance(point).is_finite(), "{shape:?}");
        }
        assert_eq!(shape.validate(0.0), Err(fault));
        assert!(shape.default_unload_margin().is_finite());
    }
    for margin in [f32::NAN, f32::INFINITY, -1.0] {
        assert_eq!(CUBE.validate(margin), Err(VolumeFault::Margin));
    }
    assert_eq!(convex_cube().validate(0.1), Ok(()));
}

#[test]
fn a_point_that_is_no_number_is_nowhere() {
    for shape in [CUBE, convex_cube(), VolumeShape::default()] {
        for point in [Vec3::NAN, vec3(0.0, f32::NAN, 0.0), Vec3::splat(f32::INFINITY)] {
            assert!(!shape.contains(point));
        }
    }
}

#[test]
fn errors_name_the_volume_and_the_mend() {
    let volume = StreamingVolume {
        shape: VolumeShape::Box {
            min: Vec3::ONE,
            max: Vec3::ZERO,
        },
        ..Default::default()
    };
    let text = volume.validate("harbour_near").unwrap_err().to_string();
    assert!(text.contains("harbour_near") && text.contains("exchange"), "{text}");
    assert!(StreamingVolume::default().validate("x").is_ok());
}

#[test]
fn a_capsule_is_a_line_with_a_radius() {
    let capsule = VolumeShape::Capsule {
        a: vec3(0.0, 0.0, 0.0),
        b: vec3(10.0, 0.0, 0.0),
        radius: 2.0,
    };
    assert!(near(capsule.signed_distance(vec3(5.0, 0.0, 0.0)), -2.0));
    assert!(near(capsule.signed_distance(vec3(5.0, 6.0, 8.0)), 8.0));
    assert!(near(capsule.signed_distance(vec3(-3.0, 4.0, 0.0)), 3.0));
    assert!(near(capsule.signed_distance(vec3(15.0, 0.0, 0.0)), 3.0));
    assert!(near(capsule.center_distance(vec3(5.0, 3.0, 0.0)), 3.0));
    assert!(near(capsule.default_unload_margin(), 1.4));
    assert_eq!(capsule.bounds(), (Vec3::splat(-2.0), vec3(12.0, 2.0, 2.0)));
    let ball = VolumeShape::Capsule {
        a: Vec3::X,
        b: Vec3::X,
        radius: 2.0,
    };
    assert!(
        near(ball.signed_distance(vec3(6.0, 0.0, 0.0)), 3.0),
        "a line without length is a ball"
    );
}

#[test]
fn bounds_hold_what_is_inside() {
    let mut random = crate::random::Random(12);
    for _ in 0..500 {
        let shape = crate::select::tests::random_shape(&mut random, 1.0);
        let (min, max) = shape.bounds();
        for _ in 0..50 {
            let point = random.point(200.0);
            let is_within = (min - 1e-3).cmple(point).all() && point.cmple(max + 1e-3).all();
            assert!(!shape.contains(point) || is_within, "{shape:?} holds {point}");
        }
    }
    let (min, max) = VolumeShape::Convex {
        planes: vec![(Vec3::Y, 5.0), (vec3(0.0, -2.0, 0.0), 4.0), (vec3(1.0, 1.0, 0.0), 1.0)],
    }
    .bounds();
    assert_eq!((min.y, max.y), (-2.0, 5.0));
    assert!(min.x == f32::NEG_INFINITY && max.z == f32::INFINITY);
}

/// Of a box that is turned, the corners say where it ends; and of what is within a distance, by planes.
#[test]
fn a_convex_shape_ends_where_its_corners_are() {
    let mut random = crate::random::Random(9);
    for _ in 0..200 {
        let (center, half) = (random.point(1e3), Vec3::splat(3.0) + random.point(2.9));
        let shape = turned_box(center, half, random.point(3.0));
        let VolumeShape::Convex { planes } = &shape else {
            unreachable!()
        };
        for reach in [0.0, 5.0] {
            let corners = [-1.0, 1.0].into_iter().flat_map(|x| {
                let sides = [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)];
                sides.map(|(y, z)| {
                    let [i, j, k] = [0, 2, 4].map(|axis: usize| planes[axis].0);
                    center + i * x * (half.x + reach) + j * y * (half.y + reach) + k * z * (half.z + reach)
                })
            });
            let corners: Vec<_> = corners.collect();
            let low = corners.iter().copied().reduce(Vec3::min).unwrap();
            let high = corners.iter().copied().reduce(Vec3::max).unwrap();
            let (min, max, growth) = shape.bounds_around(reach);
            assert!((1.0..=3.0_f32.sqrt() + 1e-3).contains(&growth));
            assert!(min.distance(low) < 0.02 && max.distance(high) < 0.02, "{shape:?}");
        }
    }
    // A prism without ends, and a spike.
    let prism = [vec3(1.0, 1.0, 0.0), vec3(-1.0, 1.0, 0.0), vec3(0.0, -1.0, 0.0)];
    let shape = |normals: &[Vec3]| VolumeShape::Convex {
        planes: normals.iter().map(|normal| (*normal, 1.0)).collect(),
    };
    let (min, max) = shape(&prism).bounds();
    assert!(near(min.x, -2.0) && near(max.x, 2.0) && near(min.y, -1.0) && near(max.y, 1.0));
    assert!(min.z == f32::NEG_INFINITY && max.z == f32::INFINITY);
    let spike = [vec3(1.0, 0.01, 0.0), vec3(-1.0, 0.01, 0.0), vec3(0.0, -1.0, 0.0)];
    assert_eq!(shape(&spike).bounds().1.y, f32::INFINITY);
}

/// Hulls of meshes have many planes; those that are most across the axes say where they end, about.
#[test]
fn a_convex_shape_of_many_planes_has_an_end() {
    let mut random = crate::random::Random(7);
    for count in [17, 24, 60, 300] {
        let center = random.point(100.0);
        // Spread evenly over a ball: the golden angle from one to the next.
        let normals = (0..count).map(|index| {
            let y = 1.0 - (index as f32 + 0.5) * 2.0 / count as f32;
            let angle = index as f32 * 2.399_963;
            let flat = (1.0 - y * y).sqrt();
            vec3(angle.cos() * flat, y, angle.sin() * flat)
        });
        let planes: Vec<_> = normals.map(|normal| (normal, normal.dot(center) + 10.0)).collect();
        let shape = VolumeShape::Convex { planes };
        let (min, max) = shape.bounds();
        assert!((min - center).max_element() <= -10.0 && (max - center).min_element() >= 10.0);
        assert!((max - min).max_element() < 50.0, "{count} planes: {min} to {max}");
        for _ in 0..100 {
            let point = center + random.point(30.0);
            let is_within = min.cmple(point).all() && point.cmple(max).all();
            assert!(!shape.contains(point) || is_within, "{shape:?} holds {point}");
        }
    }
    // Of those that are parallel the nearest counts.
    let sides = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| [axis, -axis]).concat();
    let planes = (0..10).flat_map(|more| sides.iter().map(move |side| (*side, 1.0 + more as f32)));
    let (min, max) = VolumeShape::Convex {
        planes: planes.collect(),
    }
    .bounds();
    assert_eq!((min, max), (Vec3::NEG_ONE, Vec3::ONE));
    let tube = |index: usize| (vec3((index as f32).cos(), 0.0, (index as f32).sin()), 1.0);
    let (min, max) = VolumeShape::Convex {
        planes: (0..40).map(tube).collect(),
    }
    .bounds();
    assert_eq!((min.y, max.y), (f32::NEG_INFINITY, f32::INFINITY));
}

#[test]
fn delays_and_priorities_are_checked() {
    for (unload_delay, priority, fault) in [
        (-1.0, 1.0, VolumeFault::Delay),
        (f32::NAN, 1.0, VolumeFault::Delay),
        (f32::INFINITY, 1.0, VolumeFault::Delay),
        (0.0, -1.0, VolumeFault::Priority),
        (0.0, f32::NAN, VolumeFault::Priority),
    ] {
        let volume = StreamingVolume {
            unload_delay,
            priority,
            ..Default::default()
        };
        assert_eq!(volume.validate("mine").unwrap_err().fault, fault);
    }
}

/// Against small steps along the way.
#[test]
fn ways_into_shapes() {
    let mut random = Random(0x0DD_BA11);
    let (mut enters, mut passes) = (0, 0);
    for _ in 0..3000 {
        let shape = random_shape(&mut random, 1.0);
        let (from, velocity) = (random.point(200.0), random.point(100.0));
        let time = shape.entry_time(from, velocity);
        let at = |time: f32| shape.signed_distance(from + velocity * time);
        if let Some(time) = time {
            assert!(
                time == 0.0 && shape.contains(from) || at(time).abs() < 0.02,
                "{shape:?}: {}",
                at(time)
            );
            enters += usize::from(time > 0.0);
        }
        let until = time.unwrap_or(10.0).min(10.0);
        for step in 0..200 {
            let distance = at(until * step as f32 / 200.0);
            assert!(
                time == Some(0.0) || distance > -0.02,
                "{shape:?} is entered before {time:?}"
            );
        }
        passes += usize::from(time.is_none());
    }
    assert!(enters > 100 && passes > 1000, "{enters} and {passes}");
    let ball = VolumeShape::default();
    assert_eq!(ball.entry_time(Vec3::X * 5.0, Vec3::ZERO), None);
    assert_eq!(ball.entry_time(Vec3::X * 5.0, Vec3::X * -2.0), Some(2.0));
    assert_eq!(ball.entry_time(Vec3::X * 5.0, Vec3::NAN), None);
    assert_eq!(ball.entry_time(Vec3::NAN, Vec3::X), None);
    let radius = f32::NAN;
    assert_eq!(
        VolumeShape::Sphere {
            center: Vec3::ZERO,
            radius
        }
        .entry_time(Vec3::ZERO, Vec3::X),
        None
    );
}
