//! A better order of a mesh's triangles and vertices. See [`reordered`].

use bevy::mesh::{Indices, Mesh, PrimitiveTopology, morph::MorphAttributes};

use super::tipsify::{misses, order};
use super::triangles::{indices, positions};

/// What may be put into another order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reorder {
    /// Triangles: the index data changes, and no vertex.
    Triangles,
    /// Triangles, and then vertices in the order in which they are used.
    #[default]
    TrianglesAndVertices,
}

/// The mesh with its triangles, and vertices if `what` says so, in an order that a GPU draws with fewer misses of its caches; `None`
/// when it is good as it is, or cannot be changed without changing the picture.
///
/// Only lists with indices are changed. Every triangle stays, with its corners in their order; every vertex stays, with all attributes and
/// morph targets. A mesh in which two triangles have the same corners keeps their order, because the one drawn last is seen.
///
/// Do not ask for meshes that are drawn with a blended material: their triangles' order is part of the picture.
#[must_use]
pub fn reordered(mesh: &Mesh, what: Reorder) -> Option<Mesh> {
    if mesh.primitive_topology() != PrimitiveTopology::TriangleList {
        return None;
    }
    let vertices = vertex_count(mesh)?;
    let old = indices(mesh)?;
    let (triangles, rest) = old.as_chunks::<3>();
    if !rest.is_empty() || old.iter().any(|index| *index as usize >= vertices) {
        return None;
    }
    let triangles = better_order(mesh, triangles, vertices);
    let new = triangles
        .as_deref()
        .map_or(old.as_slice(), |triangles| triangles.as_flattened());
    let places = match what {
        Reorder::Triangles => None,
        Reorder::TrianglesAndVertices => by_first_use(new, vertices),
    };
    if triangles.is_none() && places.is_none() {
        return None;
    }
    let mut mesh = mesh.clone();
    let is_short = matches!(mesh.indices(), Some(Indices::U16(_)));
    let new = match places {
        None => new.to_vec(),
        Some(old_of_new) => {
            move_vertices(&mut mesh, &old_of_new);
            let new_of_old = inverse(&old_of_new);
            new.iter().map(|index| new_of_old[*index as usize]).collect()
        }
    };
    mesh.insert_indices(match is_short {
        true => Indices::U16(new.iter().map(|index| *index as u16).collect()),
        false => Indices::U32(new),
    });
    Some(mesh)
}

/// How many vertices there are, if all attributes and morph targets agree on it and are in memory.
fn vertex_count(mesh: &Mesh) -> Option<usize> {
    let mut counts = mesh.try_attributes().ok()?.map(|(_, values)| values.len());
    let count = counts.next()?;
    let agree = counts.all(|other| other == count);
    let morphs = mesh.try_morph_targets().map_or(0, Vec::len);
    (agree && count > 0 && morphs.is_multiple_of(count)).then_some(count)
}

/// Triangles in an order with fewer misses; `None` when theirs has no more, or must stay.
fn better_order(mesh: &Mesh, triangles: &[[u32; 3]], vertices: usize) -> Option<Vec<[u32; 3]>> {
    let ordered = order(triangles, vertices);
    let is_better = misses(&ordered, vertices) < misses(triangles, vertices);
    (is_better && !has_covered_triangles(positions(mesh)?, triangles)).then_some(ordered)
}

/// Whether two triangles that draw something lie in the same place.
fn has_covered_triangles(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> bool {
    let place = |corner: &u32| {
        let position = positions.get(*corner as usize).copied().unwrap_or_default();
        // Both zeros are the same place.
        position.map(|value| (value + 0.0).to_bits())
    };
    let mut places: Vec<[[u32; 3]; 3]> = triangles
        .iter()
        .map(|corners| {
            let mut places = corners.each_ref().map(place);
            places.sort_unstable();
            places
        })
        .filter(|[a, b, c]| a != b && b != c)
        .collect();
    places.sort_unstable();
    places.array_windows().any(|[a, b]| a == b)
}

/// The vertices in the order of their first use, then those that are not used; `None` when they are already.
fn by_first_use(indices: &[u32], vertices: usize) -> Option<Vec<u32>> {
    let mut is_placed = vec![false; vertices];
    let mut old_of_new = Vec::with_capacity(vertices);
    for vertex in indices.iter().copied().chain(0..vertices as u32) {
        if !core::mem::replace(&mut is_placed[vertex as usize], true) {
            old_of_new.push(vertex);
        }
    }
    let is_same = old_of_new.iter().copied().eq(0..vertices as u32);
    (!is_same).then_some(old_of_new)
}

fn inverse(old_of_new: &[u32]) -> Vec<u32> {
    let mut new_of_old = vec![0; old_of_new.len()];
    for (new, old) in (0..).zip(old_of_new) {
        new_of_old[*old as usize] = new;
    }
    new_of_old
}

fn move_vertices(mesh: &mut Mesh, old_of_new: &[u32]) {
    if let Ok(targets) = mesh.try_morph_targets() {
        let of_target =
            |target: &[MorphAttributes]| old_of_new.iter().map(|old| target[*old as usize]).collect::<Vec<_>>();
        let moved = targets.chunks_exact(old_of_new.len()).flat_map(of_target).collect();
        mesh.set_morph_targets(moved);
    }
    // Bevy gathers the attributes of whatever the indices name, whatever their formats.
    mesh.insert_indices(Indices::U32(old_of_new.to_vec()));
    mesh.duplicate_vertices();
}
