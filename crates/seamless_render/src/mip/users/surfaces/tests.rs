use bevy_asset::{RenderAssetUsages, uuid::Uuid};
use bevy_math::Vec3;
use bevy_mesh::{Indices, PrimitiveTopology};

use super::*;

/// Two squares of a metre, so far apart.
fn gates(apart: f32) -> Mesh {
    let mut mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::MAIN_WORLD);
    let square = |x: f32| [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]].map(|[y, z]| [x, y, z]);
    let uvs = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5]];
    mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, [square(0.0), square(apart)].concat());
    mesh.insert_attribute(Mesh::ATTRIBUTE_UV_0, [uvs, uvs].concat());
    mesh.insert_indices(Indices::U16(vec![0, 1, 2, 2, 1, 3, 4, 5, 6, 6, 5, 7]));
    mesh
}

#[test]
fn only_large_and_rigid_meshes_have_spheres() {
    assert!(spheres_of(&gates(0.5)).is_empty());
    let large = gates(40.0);
    let spheres = spheres_of(&large);
    assert!(!spheres.is_empty());
    for sphere in &spheres {
        let away = |x: f32| sphere.center.distance(Vec3::new(x, 0.5, 0.5)) - sphere.radius;
        assert!(away(20.0) > 15.0, "nothing is between the gates: {sphere:?}");
        assert!((sphere.metres[0] - 2.0).abs() < 1e-4 && sphere.metres[1] == 0.0);
    }
    let skinned = large.with_inserted_attribute(
        Mesh::ATTRIBUTE_JOINT_INDEX,
        VertexAttributeValues::Uint16x4(vec![[0; 4]; 8]),
    );
    assert!(spheres_of(&skinned).is_empty());
    let mut morphed = gates(40.0);
    morphed.set_morph_targets(vec![Default::default(); 8]);
    assert!(spheres_of(&morphed).is_empty());
    let lines = Mesh::new(PrimitiveTopology::LineList, RenderAssetUsages::MAIN_WORLD);
    assert!(spheres_of(&lines).is_empty());
}

#[test]
fn they_go_with_the_mesh() {
    let id = AssetId::Uuid {
        uuid: Uuid::from_u128(1),
    };
    let mut surfaces = MeshSurfaces::default();
    let spheres = spheres_of(&gates(40.0));
    for event in [AssetEvent::Added { id }, AssetEvent::Modified { id }] {
        surfaces.set(id, spheres.clone());
        surfaces.note(&event);
        surfaces.note(&AssetEvent::LoadedWithDependencies { id });
        assert_eq!(surfaces.get(id).map(|of| of.len()), Some(spheres.len()));
    }
    surfaces.note(&AssetEvent::Modified { id });
    assert!(surfaces.get(id).is_none(), "the game has edited it");
    surfaces.set(id, spheres.clone());
    surfaces.set(id, vec![]);
    assert!(surfaces.get(id).is_none(), "a small one has come in its place");
    surfaces.set(id, spheres);
    surfaces.note(&AssetEvent::Unused { id });
    assert!(surfaces.of.is_empty() && surfaces.set.is_empty());
}
