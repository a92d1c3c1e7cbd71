use bevy::math::Vec3;
use bevy::mesh::morph::MorphAttributes;
use bevy::mesh::{MeshVertexAttribute, VertexAttributeValues, VertexFormat};
use proptest::prelude::*;

use super::{triangles::indices, *};

/// Every vertex has its number, in the mesh as in its morph targets, so that it is known wherever it goes.
const NUMBER: MeshVertexAttribute = MeshVertexAttribute::new("Number", 988_540_917, VertexFormat::Uint32);

fn numbered(mesh: Mesh) -> Mesh {
    let count = mesh.count_vertices() as u32;
    let morph = |target: u32, vertex: u32| MorphAttributes {
        position: Vec3::new(target as f32, vertex as f32, 0.0),
        ..Default::default()
    };
    let morphs = (0..3).flat_map(|target| (0..count).map(move |vertex| morph(target, vertex)));
    mesh.with_morph_targets(morphs.collect())
        .with_inserted_attribute(NUMBER, VertexAttributeValues::Uint32((0..count).collect()))
}

fn numbers(mesh: &Mesh) -> Vec<u32> {
    match mesh.attribute(NUMBER) {
        Some(VertexAttributeValues::Uint32(numbers)) => numbers.clone(),
        other => panic!("{other:?}"),
    }
}

/// The triangles in the vertices' old numbers, in the order of their corners.
fn picture(mesh: &Mesh) -> Vec<[u32; 3]> {
    let numbers = numbers(mesh);
    let indices = indices(mesh).unwrap();
    let mut triangles: Vec<[u32; 3]> = indices
        .as_chunks::<3>()
        .0
        .iter()
        .map(|corners| corners.map(|corner| numbers[corner as usize]))
        .collect();
    triangles.sort_unstable();
    triangles
}

#[track_caller]
fn assert_same_picture(old: &Mesh, new: &Mesh) {
    assert_eq!(picture(old), picture(new), "the same triangles with the same winding");
    let numbers = numbers(new);
    let mut all = numbers.clone();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..old.count_vertices() as u32), "every vertex once");
    let (old_at, new_at) = (triangles::positions(old).unwrap(), triangles::positions(new).unwrap());
    for (place, number) in numbers.iter().enumerate() {
        assert_eq!(new_at[place], old_at[*number as usize]);
    }
    let morphs = new.morph_targets().unwrap();
    for (target, of_target) in morphs.chunks(numbers.len()).enumerate() {
        for (morph, number) in of_target.iter().zip(&numbers) {
            assert_eq!(morph.position, Vec3::new(target as f32, *number as f32, 0.0));
        }
    }
}

fn misses(mesh: &Mesh) -> usize {
    let indices = indices(mesh).unwrap();
    tipsify::misses(indices.as_chunks::<3>().0, mesh.count_vertices())
}

/// The triangles of a grid in an order that has nothing to do with where they are.
fn shuffled(side: u16) -> Mesh {
    let mesh = grid(side);
    let old = indices(&mesh).unwrap();
    let triangles = old.as_chunks::<3>().0;
    // Any number without a common divisor steps through all of them.
    let step = 7919;
    let order = (0..triangles.len()).map(|index| triangles[index * step % triangles.len()]);
    numbered(mesh.with_inserted_indices(Indices::U32(order.flatten().collect())))
}

#[test]
fn a_shuffled_grid_is_put_in_order() {
    let old = shuffled(40);
    let new = reordered(&old, Reorder::TrianglesAndVertices).unwrap();
    assert_same_picture(&old, &new);
    let per_triangle = misses(&new) as f32 / 3200.0;
    assert!(
        misses(&old) > 9000 && per_triangle < 0.85,
        "{per_triangle} misses a triangle"
    );
    // Vertices are in the order in which they are used.
    let firsts = indices(&new).unwrap();
    let mut next = 0;
    for index in firsts {
        assert!(index <= next);
        next = next.max(index + 1);
    }
    assert!(
        reordered(&new, Reorder::TrianglesAndVertices).is_none(),
        "it is good as it is"
    );
}

#[test]
fn vertices_stay_when_asked() {
    let old = shuffled(20);
    let new = reordered(&old, Reorder::Triangles).unwrap();
    assert_same_picture(&old, &new);
    assert_eq!(numbers(&new), numbers(&old));
    assert!(misses(&new) < misses(&old) / 2);
}

#[test]
fn indices_stay_as_wide_as_they_are() {
    for wide in [true, false] {
        let mesh = shuffled(10);
        let indices = indices(&mesh).unwrap();
        let old = match wide {
            true => mesh,
            false => mesh.with_inserted_indices(Indices::U16(indices.iter().map(|index| *index as u16).collect())),
        };
        let new = reordered(&old, Reorder::TrianglesAndVertices).unwrap();
        assert_eq!(matches!(new.indices(), Some(Indices::U32(_))), wide);
        assert_same_picture(&old, &new);
    }
}

/// What is drawn last in the same place is seen.
#[test]
fn triangles_in_the_same_place_stay_in_order() {
    let mesh = shuffled(10);
    let mut twice = indices(&mesh).unwrap();
    let [a, b, c] = [twice[0], twice[1], twice[2]];
    twice.extend([c, a, b]);
    let mesh = mesh.with_inserted_indices(Indices::U32(twice));
    assert!(reordered(&mesh, Reorder::Triangles).is_none());
    let moved = reordered(&mesh, Reorder::TrianglesAndVertices).unwrap();
    let (old, new) = (indices(&mesh).unwrap(), indices(&moved).unwrap());
    let numbers = numbers(&moved);
    assert!(
        new.iter().map(|index| numbers[*index as usize]).eq(old),
        "only vertices moved"
    );
}

/// Many exporters leave some behind.
#[test]
fn triangles_without_area_are_in_nobodys_way() {
    let mesh = shuffled(10);
    let mut more = indices(&mesh).unwrap();
    more.extend([5, 5, 6, 5, 5, 6, 7, 7, 7]);
    let mesh = mesh.with_inserted_indices(Indices::U32(more));
    let new = reordered(&mesh, Reorder::TrianglesAndVertices).unwrap();
    assert_same_picture(&mesh, &new);
}

#[test]
fn what_is_no_list_of_triangles_stays() {
    let list = shuffled(10);
    let indices = indices(&list).unwrap();
    for topology in [
        PrimitiveTopology::TriangleStrip,
        PrimitiveTopology::LineList,
        PrimitiveTopology::PointList,
    ] {
        let other = mesh(topology, triangles::positions(&list).unwrap().to_vec());
        let other = numbered(other.with_inserted_indices(Indices::U32(indices.clone())));
        assert!(
            reordered(&other, Reorder::TrianglesAndVertices).is_none(),
            "{topology:?}"
        );
    }
    let mut without = list.clone();
    without.remove_indices();
    assert!(reordered(&without, Reorder::TrianglesAndVertices).is_none());
}

/// The codec refuses such meshes, and tells why; here they only must not end the cook.
#[test]
fn meshes_with_faults_stay() {
    let beyond = shuffled(4).with_inserted_indices(Indices::U32(vec![0, 1, 999]));
    let rest = shuffled(4).with_inserted_indices(Indices::U32(vec![5, 1, 2, 3]));
    let short = shuffled(4).with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, vec![[0.0, 0.0]; 3]);
    let morphs = shuffled(4).with_morph_targets(vec![MorphAttributes::default(); 7]);
    let empty = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default());
    let none = grid(1).with_inserted_indices(Indices::U16(vec![]));
    for mesh in [beyond, rest, short, morphs, empty, none] {
        assert!(reordered(&mesh, Reorder::TrianglesAndVertices).is_none());
    }
}

proptest! {
    /// Any triangles, also those with one corner twice, and vertices that none has.
    #[test]
    fn any_mesh_keeps_its_picture(
        corners in proptest::collection::vec(proptest::array::uniform3(0..40_u32), 1..200),
        places in proptest::collection::vec(proptest::array::uniform3(-4_i8..4), 40),
    ) {
        let positions = places.iter().map(|place| place.map(f32::from)).collect();
        let old = mesh(PrimitiveTopology::TriangleList, positions);
        let old = numbered(old.with_inserted_indices(Indices::U32(corners.concat())));
        for what in [Reorder::Triangles, Reorder::TrianglesAndVertices] {
            if let Some(new) = reordered(&old, what) {
                assert_same_picture(&old, &new);
                prop_assert!(misses(&new) <= misses(&old));
            }
        }
    }
}
