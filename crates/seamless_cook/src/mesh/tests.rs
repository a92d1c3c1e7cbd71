//! Bounds, UV densities, and orders that keep the picture.

mod bounds;
mod order;
mod uv_density;

use bevy::asset::RenderAssetUsages;
use bevy::mesh::{Indices, Mesh, PrimitiveTopology};

use super::*;

fn mesh(topology: PrimitiveTopology, positions: Vec<[f32; 3]>) -> Mesh {
    Mesh::new(topology, RenderAssetUsages::default()).with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
}

/// A square of `side` by `side` quads in the XZ plane, each one metre wide.
fn grid(side: u16) -> Mesh {
    let corners = (0..=side).flat_map(|z| (0..=side).map(move |x| [f32::from(x), 0.0, f32::from(z)]));
    let row = side + 1;
    let quads = (0..side).flat_map(|z| (0..side).map(move |x| z * row + x));
    let indices = quads.flat_map(|a| [a, a + row, a + 1, a + 1, a + row, a + row + 1]);
    mesh(PrimitiveTopology::TriangleList, corners.collect()).with_inserted_indices(Indices::U16(indices.collect()))
}
