//! Codecs of Bevy's own assets that need no renderer: meshes, images, inverse bind poses.

mod image;
mod mesh;
mod skin;

pub use image::ImageCodec;
pub use mesh::MeshCodec;
pub use skin::InverseBindposesCodec;
