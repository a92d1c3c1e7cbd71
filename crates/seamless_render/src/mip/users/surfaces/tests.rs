use bevy_asset::{RenderAssetUsages, uuid::Uuid};
use bevy_math::Vec3;
use bevy_mesh::{Indices, PrimitiveTopology};

use super::*;

/// Two squares of a metre, so far apart.
pub(in crate::mip::users) fn gates(apart: f32) -> Mesh {
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
    assert!(surfaces.of.is_empty() && surfaces.set.is_empty() && surfaces.known.is_empty());
}

/// Looks until all are known; who was told.
fn find(surfaces: &mut MeshSurfaces, meshes: &Assets<Mesh>) -> Vec<Entity> {
    AsyncComputeTaskPool::get_or_init(Default::default);
    let mut told = vec![];
    while surfaces.is_seeking() {
        surfaces.find(meshes, |entity| told.push(entity));
        std::thread::yield_now();
    }
    told.sort_unstable_by_key(|entity| core::cmp::Reverse(*entity));
    told
}

#[test]
fn what_is_drawn_is_looked_at_once() {
    let mut meshes = Assets::<Mesh>::default();
    let handles = [40.0, 30.0, 0.5].map(|apart| meshes.add(gates(apart)));
    let [large, other, small] = handles.each_ref().map(|handle| handle.id());
    let entity = |number| Entity::from_raw_u32(number).expect("it is a number");
    let mut surfaces = MeshSurfaces::default();
    for number in 0..3 {
        surfaces.seek(large, entity(number), 40.0);
    }
    surfaces.seek(other, entity(3), 30.0);
    surfaces.seek(small, entity(4), 1.5);
    assert_eq!(find(&mut surfaces, &meshes), [0, 1, 2, 3].map(entity));
    assert!(surfaces.get(large).is_some() && surfaces.get(small).is_none());
    surfaces.seek(large, entity(0), 40.0);
    // Whose triangles are all in one corner of a large box.
    surfaces.seek(small, entity(4), 40.0);
    assert_eq!(find(&mut surfaces, &meshes), []);
    surfaces.seek(small, entity(4), 40.0);
    assert!(!surfaces.is_seeking(), "it is known to have none");
    // It was edited, and again while it was looked at.
    surfaces.note(&AssetEvent::Modified { id: large });
    assert!(surfaces.get(large).is_none());
    surfaces.seek(large, entity(1), 40.0);
    surfaces.find(&meshes, |_| {});
    let _ = meshes.insert(large, gates(50.0));
    surfaces.note(&AssetEvent::Modified { id: large });
    assert_eq!(find(&mut surfaces, &meshes), [entity(1)]);
    let farthest = |of: &Arc<[SurfaceSphere]>| of.iter().fold(0.0, |most: f32, sphere| most.max(sphere.center.x));
    assert!(surfaces.get(large).is_some_and(|of| farthest(of) > 45.0));
    // It goes while it is looked at.
    surfaces.note(&AssetEvent::Modified { id: large });
    surfaces.seek(large, entity(1), 40.0);
    surfaces.note(&AssetEvent::Unused { id: large });
    assert_eq!(find(&mut surfaces, &meshes), []);
    // One that is not in memory any more.
    meshes.remove(other);
    surfaces.note(&AssetEvent::Removed { id: other });
    surfaces.seek(other, entity(3), 30.0);
    assert_eq!(find(&mut surfaces, &meshes), []);
}
