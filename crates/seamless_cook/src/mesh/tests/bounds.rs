use bevy::math::Vec3A;
use proptest::prelude::*;

use super::*;

fn of(positions: &[[f32; 3]]) -> Option<MeshBounds> {
    super::super::bounds(&mesh(PrimitiveTopology::TriangleList, positions.to_vec()))
}

#[test]
fn a_box_and_a_ball() {
    let bounds = of(&[[-1.0, 0.0, 0.0], [3.0, 0.0, 0.0], [1.0, 2.0, 0.0]]).unwrap();
    assert_eq!(
        (bounds.aabb.center, bounds.aabb.half_extents),
        (Vec3A::new(1.0, 1.0, 0.0), Vec3A::new(2.0, 1.0, 0.0))
    );
    assert!(
        (bounds.sphere.radius - 2.0).abs() < 1e-3,
        "not the ball around the box: {bounds:?}"
    );
}

#[test]
fn a_point_has_no_size() {
    let bounds = of(&[[5.0, 6.0, 7.0]]).unwrap();
    assert_eq!((bounds.aabb.half_extents, bounds.sphere.radius), (Vec3A::ZERO, 0.0));
}

#[test]
fn nothing_has_no_bounds() {
    assert!(of(&[]).is_none());
    assert!(of(&[[f32::NAN, 0.0, 0.0], [0.0, f32::INFINITY, 0.0]]).is_none());
    let lines = Mesh::new(PrimitiveTopology::LineList, RenderAssetUsages::default());
    assert!(super::super::bounds(&lines).is_none());
}

#[test]
fn what_is_not_finite_does_not_count() {
    let bounds = of(&[[f32::NAN, 0.0, 0.0], [1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]]).unwrap();
    assert_eq!(
        (bounds.aabb.center, bounds.aabb.half_extents),
        (Vec3A::ZERO, Vec3A::ONE)
    );
}

proptest! {
    #[test]
    fn all_points_are_inside(points in proptest::collection::vec(proptest::array::uniform3(-1e4_f32..1e4), 1..60)) {
        let bounds = of(&points).unwrap();
        let of_box = bounds.aabb.half_extents.length();
        prop_assert!(bounds.sphere.radius <= of_box * 1.001 + 1e-6);
        for point in points.iter().map(|point| Vec3A::from_array(*point)) {
            prop_assert!(point.distance(bounds.sphere.center) <= bounds.sphere.radius);
            let outside = (point - bounds.aabb.center).abs() - bounds.aabb.half_extents;
            prop_assert!(outside.max_element() <= 1e-2, "{outside}");
        }
    }
}
