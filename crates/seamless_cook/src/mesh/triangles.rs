//! The triangles of a mesh, whatever its topology.

use bevy::mesh::{Indices, Mesh, PrimitiveTopology, VertexAttributeValues};

/// Positions, if they are three floats as everywhere in Bevy, and still in memory.
pub(super) fn positions(mesh: &Mesh) -> Option<&[[f32; 3]]> {
    match mesh.try_attribute_option(Mesh::ATTRIBUTE_POSITION).ok()?? {
        VertexAttributeValues::Float32x3(positions) => Some(positions),
        _ => None,
    }
}

/// The mesh's indices, if it has any.
pub(super) fn indices(mesh: &Mesh) -> Option<Vec<u32>> {
    match mesh.try_indices_option().ok()?? {
        Indices::U16(indices) => Some(indices.iter().map(|index| u32::from(*index)).collect()),
        Indices::U32(indices) => Some(indices.clone()),
    }
}

/// Three vertices for each triangle of a list or a strip; empty for lines and points. The order of a strip's vertices is not turned.
pub(super) fn triangles(mesh: &Mesh, vertices: usize) -> Vec<[u32; 3]> {
    let indices = indices(mesh).unwrap_or_else(|| (0..vertices as u32).collect());
    match mesh.primitive_topology() {
        PrimitiveTopology::TriangleList => indices.as_chunks::<3>().0.to_vec(),
        PrimitiveTopology::TriangleStrip => indices.array_windows().copied().collect(),
        _ => Vec::new(),
    }
}
