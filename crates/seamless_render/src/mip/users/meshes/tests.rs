use bevy_asset::{Handle, RenderAssetUsages};
use bevy_math::{Quat, Vec3A, vec3};

use super::*;

#[track_caller]
fn assert_near(found: f32, expected: f32) {
    assert!(
        (found - expected).abs() <= 1e-4 * expected.abs().max(1.0),
        "{found} is not {expected}"
    );
}

/// Squares of two triangles side by side, of these sides and repeats of the texture in each.
fn squares(of: &[(f32, f32)]) -> Mesh {
    let mut mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::MAIN_WORLD);
    let (mut positions, mut uvs, mut indices) = (vec![], vec![], vec![]);
    for (number, (side, repeats)) in (0..).zip(of) {
        for [x, y] in [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] {
            positions.push([x * side, y * side, number as f32]);
            uvs.push([x * repeats, y * repeats]);
        }
        indices.extend([0, 1, 2, 2, 1, 3].map(|index| index + number * 4));
    }
    mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, positions);
    mesh.insert_attribute(Mesh::ATTRIBUTE_UV_0, uvs);
    mesh.insert_indices(Indices::U32(indices));
    mesh
}

#[test]
fn a_box_is_placed_in_the_world() {
    let mesh_box = Aabb {
        center: Vec3A::new(1.0, 0.0, 0.0),
        half_extents: Vec3A::new(1.0, 2.0, 3.0),
    };
    let turned = Affine3A::from_scale_rotation_translation(
        vec3(2.0, 1.0, 0.5),
        Quat::from_rotation_z(core::f32::consts::FRAC_PI_2),
        vec3(10.0, 20.0, 30.0),
    );
    let shape = Shape::new(&mesh_box, &turned, [Some(4.0), None]);
    // x, twice as long, becomes y; y becomes x.
    assert!(shape.center.abs_diff_eq(vec3(10.0, 22.0, 30.0), 1e-4), "{shape:?}");
    assert!(shape.half.abs_diff_eq(vec3(2.0, 2.0, 1.5), 1e-4), "{shape:?}");
    assert_near(shape.scale, 2.0);
    assert_near(shape.metres[0], 4.0);
    assert_near(shape.metres[1], 2.0 * 14_f32.sqrt());
    let surface = shape.surface();
    assert_eq!((surface.center, surface.half), (shape.center, shape.half));
    let everywhere = Shape::everywhere(&turned, [None; 2]);
    assert_eq!(everywhere.metres, [1.0; 2]);
    assert!(everywhere.half.min_element() > 1e5);
}

#[test]
fn densities_are_those_of_the_finest_part() {
    let channel = Mesh::ATTRIBUTE_UV_0;
    assert_near(density(&squares(&[(8.0, 2.0)]), channel).expect("it has some"), 4.0);
    assert_eq!(density(&squares(&[(8.0, 0.0)]), channel), None, "it covers nothing");
    assert_eq!(density(&squares(&[(8.0, 2.0)]), Mesh::ATTRIBUTE_UV_1), None);
    // A tenth of the area is drawn larger, then a 65th.
    let tenth = squares(&[(3.0, 3.0), (1.0, 0.1)]);
    assert_near(density(&tenth, channel).expect("it has some"), 10.0);
    let few = squares(&[(8.0, 8.0), (1.0, 0.1)]);
    assert_near(density(&few, channel).expect("it has some"), 1.0);
}

#[test]
fn large_meshes_strips_and_odd_indices_are_measured() {
    let many: Vec<(f32, f32)> = (0..3000).map(|_| (2.0, 1.0)).collect();
    assert_near(
        density(&squares(&many), Mesh::ATTRIBUTE_UV_0).expect("it has some"),
        2.0,
    );
    let mut strip = Mesh::new(PrimitiveTopology::TriangleStrip, RenderAssetUsages::MAIN_WORLD);
    strip.insert_attribute(
        Mesh::ATTRIBUTE_POSITION,
        vec![[0.0, 0.0, 0.0], [6.0, 0.0, 0.0], [0.0, 6.0, 0.0]],
    );
    strip.insert_attribute(Mesh::ATTRIBUTE_UV_0, vec![[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]);
    assert_near(density(&strip, Mesh::ATTRIBUTE_UV_0).expect("it has some"), 3.0);
    strip.insert_indices(Indices::U16(vec![0, 1, 2, 9]));
    assert_near(density(&strip, Mesh::ATTRIBUTE_UV_0).expect("it has some"), 3.0);
    let lines = Mesh::new(PrimitiveTopology::LineList, RenderAssetUsages::MAIN_WORLD);
    assert_eq!(density(&lines, Mesh::ATTRIBUTE_UV_0), None);
}

#[test]
fn meshes_are_measured_once_until_they_change() {
    let mut meshes = Assets::<Mesh>::default();
    let mesh: Handle<Mesh> = meshes.add(squares(&[(8.0, 2.0)]));
    let id = mesh.id();
    let mut densities = Densities::default();
    for _ in 0..3 {
        assert_eq!(densities.of(id, None, &meshes), [Some(4.0), None]);
    }
    let told = MeshUvDensity {
        uv_0: None,
        uv_1: Some(7.0),
    };
    assert_eq!(
        densities.of(id, Some(&told), &meshes),
        [None, Some(7.0)],
        "the cooker knows better"
    );
    assert_eq!(densities.computed(), 1);
    meshes.insert(id, squares(&[(8.0, 4.0)])).expect("it is there");
    densities.begin();
    assert_eq!(
        (densities.of(id, None, &meshes), densities.computed()),
        ([Some(4.0), None], 0)
    );
    densities.note(&AssetEvent::Modified { id }, |_| panic!("nobody waits"));
    assert_eq!(
        (densities.of(id, None, &meshes), densities.computed()),
        ([Some(2.0), None], 1)
    );
    meshes.remove(id);
    densities.note(&AssetEvent::Removed { id }, |_| panic!("nobody waits"));
    assert_eq!(
        densities.of(id, None, &meshes),
        [None; 2],
        "asked again when it is there"
    );
    assert!(densities.of.is_empty());
}
