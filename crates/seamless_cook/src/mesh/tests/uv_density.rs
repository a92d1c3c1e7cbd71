use proptest::prelude::*;

use super::*;

/// A grid whose texture repeats every `metres`.
fn textured(side: u16, metres: f32) -> Mesh {
    let mesh = grid(side);
    let coordinates: Vec<[f32; 2]> = triangles::positions(&mesh)
        .unwrap()
        .iter()
        .map(|[x, _, z]| [x / metres, z / metres])
        .collect();
    mesh.with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, coordinates)
}

fn with_coordinates(positions: &[[f32; 3]], coordinates: &[[f32; 2]]) -> Option<f32> {
    let mesh = mesh(PrimitiveTopology::TriangleList, positions.to_vec());
    uv_density(&mesh.with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, coordinates.to_vec())).uv_0
}

#[track_caller]
fn assert_near(found: Option<f32>, expected: f32) {
    assert!(
        found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-4),
        "{found:?} is not {expected}"
    );
}

#[test]
fn metres_per_unit() {
    let density = uv_density(&textured(4, 2.5));
    assert_near(density.uv_0, 2.5);
    assert_eq!(density.uv_1, None);
}

#[test]
fn each_channel_has_its_own() {
    let mesh = textured(4, 2.0);
    let coordinates: Vec<[f32; 2]> = triangles::positions(&mesh)
        .unwrap()
        .iter()
        .map(|[x, _, z]| [x / 16.0, -z / 4.0])
        .collect();
    let density = uv_density(&mesh.with_inserted_attribute(Mesh::ATTRIBUTE_UV_1, coordinates));
    assert_near(density.uv_0, 2.0);
    // Stretched in one direction: the side of the square that one square of the texture would cover.
    assert_near(density.uv_1, 8.0);
}

#[test]
fn strips_and_meshes_without_indices_have_one() {
    let corners = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [3.0, 3.0, 0.0]];
    let coordinates = corners.map(|[x, y, _]| [x / 6.0, y / 6.0]);
    let strip = mesh(PrimitiveTopology::TriangleStrip, corners.to_vec());
    assert_near(
        uv_density(&strip.with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, coordinates.to_vec())).uv_0,
        6.0,
    );
    assert_near(with_coordinates(&corners[..3], &coordinates[..3]), 6.0);
    let points = mesh(PrimitiveTopology::PointList, corners.to_vec());
    assert_eq!(
        uv_density(&points.with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, coordinates.to_vec())).uv_0,
        None
    );
}

#[test]
fn nothing_that_covers_nothing() {
    let triangle = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let uv = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
    assert_near(with_coordinates(&triangle, &uv), 1.0);
    assert_eq!(
        with_coordinates(&triangle, &[[0.5, 0.5]; 3]),
        None,
        "no area of the texture"
    );
    assert_eq!(
        with_coordinates(&triangle, &[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]),
        None,
        "a line of the texture"
    );
    assert_eq!(with_coordinates(&[[2.0; 3]; 3], &uv), None, "no area of the world");
    assert_eq!(
        with_coordinates(&triangle, &[[0.0, 0.0], [f32::NAN, 0.0], [0.0, 1.0]]),
        None
    );
    assert_eq!(with_coordinates(&[[f32::INFINITY; 3], [0.0; 3], [1.0; 3]], &uv), None);
    assert_eq!(with_coordinates(&[], &[]), None);
    assert_near(
        with_coordinates(&[[0.0; 3], [1e30, 0.0, 0.0], [0.0, 1e30, 0.0]], &uv),
        1e30,
    );
}

#[test]
fn indices_that_lead_nowhere_do_not_count() {
    let mesh = textured(2, 4.0).with_inserted_indices(Indices::U32(vec![0, 3, 1, 0, 1, 99]));
    assert_near(uv_density(&mesh).uv_0, 4.0);
}

proptest! {
    /// A third of the surface with texture coordinates of any kind, and any number of triangles without area, change nothing.
    #[test]
    fn wrong_coordinates_change_nothing(
        wrong in proptest::collection::vec(proptest::array::uniform2(proptest::num::f32::ANY), 6),
        empty in 0..50_usize,
    ) {
        let mut positions = vec![];
        let mut coordinates = vec![];
        for triangle in 0..6_u8 {
            let x = f32::from(triangle);
            positions.extend([[x, 0.0, 0.0], [x, 0.0, 1.0], [x + 1.0, 0.0, 0.0]]);
            coordinates.extend([[x / 3.0, 0.0], [x / 3.0, 1.0 / 3.0], [(x + 1.0) / 3.0, 0.0]]);
        }
        coordinates.truncate(12);
        coordinates.extend(wrong);
        for _ in 0..empty {
            positions.extend([[1.0, 2.0, 3.0]; 3]);
            coordinates.extend([[0.0, 0.0], [1e-3, 0.0], [0.0, 5.0]]);
        }
        assert_near(with_coordinates(&positions, &coordinates), 3.0);
    }
}
