//! Codecs of Bevy's own assets that need no renderer: meshes, images, inverse bind poses, animation clips and graphs, and with the feature `audio` sounds.

pub mod animation;
mod arrays;
#[cfg(feature = "audio")]
mod audio;
mod image;
mod mesh;
mod planes;
mod skin;
mod uv_density;

#[cfg(feature = "audio")]
pub use audio::{AudioSourceCodec, add_audio};
pub use image::{ImageApart, ImageCodec};
pub use mesh::MeshCodec;
pub use skin::InverseBindposesCodec;
pub use uv_density::MeshUvDensity;
