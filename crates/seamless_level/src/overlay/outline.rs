//! The outlines of shapes that are given by planes. Pure; see [`outlines`].

use bevy_math::Vec3;

/// The faces of what is behind all planes and within a box, each as a loop of corners.
pub(super) fn outlines(planes: &[(Vec3, f32)], min: Vec3, max: Vec3) -> Vec<Vec<Vec3>> {
    let mut all: Vec<(Vec3, f32)> = planes.to_vec();
    for (axis, low, high) in [
        (Vec3::X, min.x, max.x),
        (Vec3::Y, min.y, max.y),
        (Vec3::Z, min.z, max.z),
    ] {
        all.push((axis, high));
        all.push((-axis, -low));
    }
    let size = (max - min).length();
    let middle = (min + max) * 0.5;
    let face = |(number, plane): (usize, &(Vec3, f32))| {
        let mut corners = square(*plane, middle, size)?;
        for (other, cut) in all.iter().enumerate() {
            // Of two planes that are the same only the first has a face.
            let is_twin = other < number && is_same(*plane, *cut);
            if is_twin {
                return None;
            }
            if other != number {
                corners = behind(&corners, *cut);
            }
        }
        (corners.len() > 2).then_some(corners)
    };
    all.iter().enumerate().filter_map(face).collect()
}

/// The box that a shape of these bounds is drawn in. Where it has ends the box is a little larger, so that it cuts nothing off; where it has none, the
/// box goes as far as `reach` from what of the bounds is nearest to `eye`.
pub(super) fn frame((min, max): (Vec3, Vec3), eye: Vec3, reach: f32) -> (Vec3, Vec3) {
    let near = eye.clamp(min.min(max), max);
    let spare = |end: Vec3| end.abs() * 1e-3 + 1e-2;
    (
        Vec3::select(min.is_finite_mask(), min - spare(min), near - reach),
        Vec3::select(max.is_finite_mask(), max + spare(max), near + reach),
    )
}

fn is_same((a, at): (Vec3, f32), (b, bt): (Vec3, f32)) -> bool {
    let (la, lb) = (a.length(), b.length());
    (a / la).distance(b / lb) < 1e-6 && (at / la - bt / lb).abs() < 1e-6
}

/// A square on a plane, at the point that is nearest to `middle`, large enough to reach out of the box.
fn square((normal, d): (Vec3, f32), middle: Vec3, size: f32) -> Option<Vec<Vec3>> {
    let length = normal.length();
    let normal = normal.try_normalize()?;
    let at = middle + normal * (d / length - normal.dot(middle));
    let across = normal.any_orthonormal_vector() * size;
    let up = normal.cross(across);
    at.is_finite()
        .then(|| vec![at - across - up, at + across - up, at + across + up, at - across + up])
}

/// What of a polygon is behind a plane.
fn behind(corners: &[Vec3], (normal, d): (Vec3, f32)) -> Vec<Vec3> {
    let distance = |point: &Vec3| normal.dot(*point) - d;
    let mut kept = Vec::with_capacity(corners.len() + 1);
    let next = corners.iter().cycle().skip(1);
    for (a, b) in corners.iter().zip(next) {
        let (da, db) = (distance(a), distance(b));
        if da <= 0.0 {
            kept.push(*a);
        }
        if (da < 0.0 && db > 0.0) || (da > 0.0 && db < 0.0) {
            kept.push(a.lerp(*b, da / (da - db)));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Vec3 = Vec3::splat(-100.0);
    const MAX: Vec3 = Vec3::splat(100.0);

    #[test]
    fn a_box_of_planes_has_six_faces_of_four_corners() {
        let planes = [
            (Vec3::X, 3.0),
            // Of another length, which scales its distance along.
            (Vec3::NEG_X * 2.0, 2.0),
            (Vec3::Y, 1.0),
            (Vec3::NEG_Y, 1.0),
            (Vec3::Z, 5.0),
            (Vec3::NEG_Z, 0.0),
        ];
        let faces = outlines(&planes, MIN, MAX);
        assert_eq!(faces.iter().map(Vec::len).collect::<Vec<_>>(), [4; 6]);
        let (min, max) = (Vec3::new(-1.0, -1.0, 0.0), Vec3::new(3.0, 1.0, 5.0));
        for corner in faces.iter().flatten() {
            let at_low = (*corner - min).abs().cmplt(Vec3::splat(1e-3));
            let at_high = (*corner - max).abs().cmplt(Vec3::splat(1e-3));
            assert!((at_low | at_high).all(), "{corner}");
        }
    }

    /// Somebody is inside of it far away from who looks, or it is very large.
    #[test]
    fn what_has_ends_is_drawn_to_them() {
        let bounds = (Vec3::new(4_000.0, -30.0, -900.0), Vec3::new(5_000.0, 0.0, 900.0));
        let sides = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| [(axis, bounds.1.dot(axis)), (-axis, -bounds.0.dot(axis))]);
        for eye in [Vec3::ZERO, Vec3::new(4_500.0, -10.0, 0.0)] {
            let (min, max) = frame(bounds, eye, 100.0);
            let faces = outlines(&sides.concat(), min, max);
            assert_eq!(faces.iter().map(Vec::len).collect::<Vec<_>>(), [4; 6]);
            for corner in faces.iter().flatten() {
                let at_low = (*corner - bounds.0).abs().cmplt(Vec3::splat(0.1));
                let at_high = (*corner - bounds.1).abs().cmplt(Vec3::splat(0.1));
                assert!((at_low | at_high).all(), "{corner}");
            }
        }
    }

    #[test]
    fn what_has_no_end_is_drawn_near_the_eye() {
        let bounds = (Vec3::NEG_INFINITY, Vec3::new(f32::INFINITY, -200.0, f32::INFINITY));
        let eye = Vec3::new(7.0, 50.0, 0.0);
        let (min, max) = frame(bounds, eye, 100.0);
        assert_eq!((min, max.x, max.z), (Vec3::new(-93.0, -300.0, -100.0), 107.0, 100.0));
        let faces = outlines(&[(Vec3::Y, -200.0)], min, max);
        assert_eq!(faces.len(), 6, "it is far below");
        let top = faces.iter().flatten().map(|corner| corner.y).fold(f32::MIN, f32::max);
        assert!((top + 200.0).abs() < 1e-2, "{top}");
    }

    #[test]
    fn what_has_no_end_ends_at_the_box() {
        let faces = outlines(&[(Vec3::Y, 0.0)], MIN, MAX);
        assert_eq!(faces.iter().map(Vec::len).collect::<Vec<_>>(), [4; 6]);
        let top = faces.iter().flatten().map(|corner| corner.y).fold(f32::MIN, f32::max);
        assert!(top.abs() < 1e-3, "{top}");
        assert!(
            outlines(&[(Vec3::Y, -200.0)], MIN, MAX).is_empty(),
            "none of it is in the box"
        );
        assert_eq!(
            outlines(&[(Vec3::ZERO, 1.0)], MIN, MAX).len(),
            6,
            "no plane cuts nothing"
        );
    }
}
