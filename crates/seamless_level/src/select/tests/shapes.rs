//! Shapes at random.

use bevy_math::{EulerRot, Quat, Vec3};

use crate::{random::Random, volume::VolumeShape};

/// A box by its planes, turned by these angles.
pub(crate) fn turned_box(center: Vec3, half: Vec3, angles: Vec3) -> VolumeShape {
    let turn = Quat::from_euler(EulerRot::XYZ, angles.x, angles.y, angles.z);
    let sides = [Vec3::X, Vec3::Y, Vec3::Z].into_iter().flat_map(|axis| [axis, -axis]);
    let plane = |side: Vec3| {
        let normal = turn * side;
        (normal, normal.dot(center) + side.abs().dot(half))
    };
    VolumeShape::Convex {
        planes: sides.map(plane).collect(),
    }
}

pub(crate) fn random_shape(random: &mut Random, scale: f32) -> VolumeShape {
    let center = random.point(100.0) * scale;
    let size = (1.0 + random.unit() * 40.0) * scale;
    match random.below(6) {
        5 => {
            let max = center + size * random.unit();
            endless_box(random, center - size, max)
        }
        0 => VolumeShape::Sphere { center, radius: size },
        1 => VolumeShape::Box {
            min: center - size,
            max: center + size * random.unit(),
        },
        2 => VolumeShape::Capsule {
            a: center,
            b: center + random.point(60.0) * scale,
            radius: size * 0.5,
        },
        3 => turned_box(center, Vec3::splat(size) * (random.point(0.8) + 1.0), random.point(3.0)),
        _ => VolumeShape::Convex {
            planes: (0..1 + random.below(5))
                .map(|_| random.point(2.0) + Vec3::splat(0.01))
                .map(|normal| (normal, normal.dot(center) + size))
                .collect(),
        },
    }
}

/// A box with up to five ends fewer.
fn endless_box(random: &mut Random, mut min: Vec3, mut max: Vec3) -> VolumeShape {
    let last = random.below(3);
    for axis in (0..3).filter(|axis| *axis != last) {
        match random.below(4) {
            0 => {}
            1 => max[axis] = f32::INFINITY,
            _ => (min[axis], max[axis]) = (f32::NEG_INFINITY, f32::INFINITY),
        }
    }
    if random.below(4) == 0 {
        min[last] = f32::NEG_INFINITY;
    }
    VolumeShape::Box { min, max }
}
