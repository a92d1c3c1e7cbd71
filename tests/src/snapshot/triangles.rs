//! The triangles of a mesh, whatever their order is. See [`in_any_order`].

use bevy::{mesh::PrimitiveTopology, prelude::*};

/// The bytes of all triangles, sorted, each with all that its corners have, from the same corner on; `None` for other meshes.
pub(super) fn in_any_order(mesh: &Mesh) -> Option<Vec<u8>> {
    if mesh.primitive_topology() != PrimitiveTopology::TriangleList {
        return None;
    }
    let corners = corners(mesh)?;
    let count = corners.len();
    let order: Vec<usize> = match mesh.try_indices_option().ok()? {
        Some(indices) => indices.iter().collect(),
        None => (0..count).collect(),
    };
    let mut triangles = Vec::new();
    for triangle in order.as_chunks::<3>().0 {
        let mut triangle = [0, 1, 2].map(|at| corners.get(triangle[at]));
        let first = (0..3).min_by_key(|at| triangle[*at])?;
        triangle.rotate_left(first);
        triangles.push(triangle.map(|corner| corner.map_or(&[][..], Vec::as_slice)).concat());
    }
    triangles.sort_unstable();
    // Names and formats of what a corner has, and how many there are.
    let mut out = format!("{:?} {} of {count}", names(mesh)?, triangles.len()).into_bytes();
    out.extend(triangles.concat());
    Some(out)
}

fn names(mesh: &Mesh) -> Option<Vec<String>> {
    let attributes = mesh.try_attributes().ok()?;
    let name =
        |(attribute, _): (&bevy::mesh::MeshVertexAttribute, _)| format!("{} {:?}", attribute.name, attribute.format);
    Some(attributes.map(name).collect())
}

/// For each vertex the bytes of its attributes and morph targets.
fn corners(mesh: &Mesh) -> Option<Vec<Vec<u8>>> {
    let mut corners = vec![Vec::new(); mesh.count_vertices()];
    for (attribute, values) in mesh.try_attributes().ok()? {
        let size = attribute.format.size() as usize;
        for (corner, bytes) in corners.iter_mut().zip(values.get_bytes().chunks_exact(size)) {
            corner.extend(bytes);
        }
    }
    let targets = mesh.try_has_morph_targets().ok()?;
    let targets = targets.then(|| mesh.get_morph_targets()).flatten();
    for (at, target) in targets.into_iter().flatten().enumerate() {
        let vectors = [target.position, target.normal, target.tangent];
        let bytes = vectors
            .into_iter()
            .flat_map(|vector| vector.to_array())
            .flat_map(f32::to_le_bytes);
        let corner = at % corners.len().max(1);
        corners.get_mut(corner)?.extend(bytes);
    }
    Some(corners)
}
