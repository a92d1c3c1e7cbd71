//! Textures: mips made in the right space, block compression by content and use, and its quality measured.
//!
//! [`cook_texture`] is a pure function of an [`Image`](bevy::image::Image), what it is used for, the settings and the encoder: the
//! same input gives the same bytes, on any machine and any number of threads. What an image is used for follows from the materials that show it:
//! [`material_uses`] tells it for one, [`TextureUse::join`] for several.
//!
//! * Colour is averaged in linear light, weighted by alpha where it blends or is cut out; directions of normal maps are
//!   renormalised; where alpha is cut out, each mip shows the same share of its texels as the image does; everything else is
//!   averaged as it is. A mip is the mean of exactly the area that it covers, whatever the size.
//! * An image that cannot be block-compressed, or should not be, keeps its format; one whose use is not known, or that has mips or is
//!   compressed already, stays as it is. The report says why, see [`Kept`]. For a target without block formats, blocks become
//!   texels again.
//! * Samplers stay as they are. Bevy's default one is set by `ImagePlugin`: `default_linear` blends between mips, `default_nearest`
//!   takes the nearest one; so does a sampler from glTF that asks for no mips, since wgpu knows no filter without them.
//!
//! ```
//! use core::num::NonZeroUsize;
//!
//! use bevy::image::Image;
//! use bevy::render::render_resource::TextureFormat;
//! use seamless_cook::texture::{AlphaUse, CpuEncoder, TextureSettings, TextureUse, cook_texture};
//!
//! let mut image = Image::default();
//! image.texture_descriptor.size.width = 256;
//! image.texture_descriptor.size.height = 64;
//! image.data = Some(vec![200; 256 * 64 * 4]);
//! let usage = TextureUse::Color(AlphaUse::Ignored);
//! let cooked = cook_texture(&image, usage, &TextureSettings::default(), &CpuEncoder, NonZeroUsize::MIN);
//! assert_eq!(cooked.image.texture_descriptor.format, TextureFormat::Bc1RgbaUnormSrgb);
//! assert_eq!(cooked.image.texture_descriptor.mip_level_count, 9);
//! ```

mod choose;
mod compress;
mod cook;
mod coverage;
mod encoder;
mod expand;
mod measure;
mod mips;
mod normals;
mod parts;
mod pixel;
mod report;
mod settings;
mod usage;

#[cfg(test)]
mod tests;

pub use cook::{Cooked, cook_texture};
pub use encoder::{BlockFormat, CpuEncoder, Surface, SurfaceTexels, TextureEncoder};
pub use report::{Kept, TextureReport};
pub use settings::{Quality, TargetFormats, TextureSettings};
pub use usage::{AlphaUse, Channels, NormalUse, TextureUse, material_uses};
