//! Why a file is not loaded. See [`StreamedImageError`].

use bevy_image::{ImageLoaderError, TextureError};
use seamless_asset::{codec::DecodeError, package::PackageError};

/// A file that is no texture, or no package of textures. What is found later, when a large mip is read, is a [`MipFailed`](crate::mip::MipFailed).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamedImageError {
    /// It cannot be read.
    #[error("the file cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// It ends too early.
    #[error("the file ends before byte {end}, where {what} ends; write it again, as a whole")]
    Short {
        /// What is not all there.
        what: &'static str,
        /// Where that ends.
        end: u64,
    },
    /// Its head is none of a KTX2 file.
    #[error("it is no KTX2 file: {0}")]
    Head(String),
    /// A part of it is larger than any that is sound.
    #[error("{what} has {bytes} bytes, and {most} are the most; write the file again")]
    TooLarge {
        /// Which part.
        what: &'static str,
        /// What the file says.
        bytes: u64,
        /// What is believed.
        most: u64,
    },
    /// A mip is not what the texture's size and format say.
    #[error("mip {mip} {what}; write the file again")]
    Mip {
        /// Which one.
        mip: u8,
        /// What is wrong with it.
        what: String,
    },
    /// It has fewer texels than its size says, or a size that no GPU takes.
    #[error("no GPU takes its texture: {0}; write the file again")]
    Unusable(String),
    /// Bevy takes no such texture, or this GPU does not: block formats need its support.
    #[error("{0}; write the file in a format that this GPU has")]
    Texture(#[from] TextureError),
    /// It is no sound package.
    #[error(transparent)]
    Package(Box<PackageError>),
    /// An image of a package cannot be made of its bytes.
    #[error("`{name}`: {error}")]
    Object {
        /// Its name in the package.
        name: String,
        /// What is wrong with it.
        error: Box<DecodeError>,
    },
    /// Bevy's loader, by whom what does not stream is loaded, refuses it.
    #[error(transparent)]
    Whole(#[from] ImageLoaderError),
    /// Bevy's loader has panicked.
    #[error("Bevy's loader has panicked over it; write the file again")]
    Panicked,
}

impl From<PackageError> for StreamedImageError {
    fn from(error: PackageError) -> Self {
        Self::Package(Box::new(error))
    }
}
