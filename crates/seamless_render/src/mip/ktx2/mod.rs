//! Textures that stream by Bevy's server: of KTX2 files, see [`StreamedImage`], and of packages, see [`TexturePackage`]. The tail is read when a file is loaded, the
//! larger mips are left in it.

mod arrivals;
mod error;
mod head;
mod loader;
mod package;
mod read;
#[cfg(test)]
mod tests;

pub(super) use arrivals::{Arrivals, admit_files};
pub use error::StreamedImageError;
pub(super) use loader::Ktx2Files;
pub use loader::{StreamedImageLoader, StreamedKtx2Loader};
pub use package::{TexturePackage, TexturePackageLoader};

use bevy_asset::{Asset, Handle};
use bevy_image::Image;
use bevy_reflect::TypePath;

/// A texture that streams, of a KTX2 file with mips: `asset_server.load::<StreamedImage>("bark.ktx2")`.
///
/// Its [`image`](Self::image) is what materials take. Whoever wants that at once, without waiting for this asset, names the file `bark.stream.ktx2`: Bevy's
/// server then loads it as an [`Image`] that streams, wherever it comes from, a glTF file for instance. A `.meta` file with the loader
/// [`StreamedKtx2Loader`] does the same without another name.
///
/// A texture that cannot stream is loaded by Bevy's own loader, as a whole; [`Mips::not_streamed`](super::Mips::not_streamed) says why. Volumes, cubes, textures of
/// less than 256 texels, Basis Universal, and files that are compressed by ZLIB are such.
///
/// Settings are [`ImageLoaderSettings`](bevy_image::ImageLoaderSettings); of a texture that streams, the main world has no pixels, whatever `asset_usage` says.
#[derive(Asset, TypePath, Clone, Debug, PartialEq, Eq)]
#[type_path = "seamless_render::mip"]
pub struct StreamedImage {
    /// What is drawn.
    #[dependency]
    pub image: Handle<Image>,
}
