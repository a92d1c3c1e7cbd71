//! Codecs of Bevy's own assets that need no renderer: meshes, images, inverse bind poses, animation clips and graphs.

pub mod animation;
mod arrays;
mod image;
mod mesh;
mod planes;
mod skin;
mod uv_density;

pub use image::ImageCodec;
pub use mesh::MeshCodec;
pub use skin::InverseBindposesCodec;
pub use uv_density::MeshUvDensity;
