//! What the cooker computes of a mesh, so that no game has to: its bounds, how much world its texture coordinates cover, and an order
//! of triangles and vertices that a GPU reads with fewer misses.
//!
//! All of it is a pure function of the mesh, so that the same mesh gives the same bytes.

mod bounds;
mod order;
#[cfg(test)]
mod tests;
mod tipsify;
mod triangles;
mod uv_density;

pub(crate) use bounds::aabb;
pub use bounds::{MeshBounds, bounds};
pub use order::{Reorder, reordered};
pub use uv_density::uv_density;
