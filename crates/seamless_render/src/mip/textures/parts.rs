//! What a texture that streams is made of, and where the rest of it lies. See [`MipParts`].

use core::ops::Range;
use std::{borrow::Cow, sync::Arc};

use bevy_asset::AssetPath;
use bevy_image::Image;
use seamless_asset::{BulkLoad, BulkRequest, FilePartRequest, Streamer, assets::ImageApart};

use crate::mip::{MipChain, zstd};

/// An image of which only the tail is in memory: where it came from, there the larger mips are.
#[derive(Clone, Debug)]
pub(in crate::mip) enum MipParts {
    /// An object of a package.
    Package {
        apart: Box<ImageApart>,
        /// As a [`BulkRequest`] takes it.
        path: String,
    },
    /// A file of its own.
    File(Arc<MipFile>),
}

/// A file with a texture, whose large mips were left in it.
#[derive(Clone, Debug)]
pub(in crate::mip) struct MipFile {
    pub path: AssetPath<'static>,
    /// The same for messages.
    pub name: String,
    /// How the file begins.
    pub head: Arc<[u8]>,
    /// The whole image but for its pixels.
    pub image: Image,
    /// The mips that are in the file only, the largest first.
    pub levels: Vec<MipLevel>,
    /// All others, unpacked, the largest first, each with all of its layers.
    pub tail: Vec<u8>,
    pub chain: MipChain,
}

/// A mip in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mip) struct MipLevel {
    /// Where it is.
    pub range: Range<u64>,
    /// As one Zstandard frame; else as it is.
    pub is_zstd: bool,
}

impl MipParts {
    /// The whole image but for its pixels.
    pub fn image(&self) -> &Image {
        match self {
            Self::Package { apart, .. } => &apart.image,
            Self::File(file) => &file.image,
        }
    }

    pub fn image_mut(&mut self) -> &mut Image {
        match self {
            Self::Package { apart, .. } => &mut apart.image,
            Self::File(file) => &mut Arc::make_mut(file).image,
        }
    }

    /// How many mips are not in memory.
    pub fn payloads(&self) -> u32 {
        match self {
            Self::Package { apart, .. } => apart.payloads(),
            Self::File(file) => file.levels.len() as u32,
        }
    }

    /// The others, the largest first, each with all of its layers.
    pub fn tail(&self) -> &[u8] {
        match self {
            Self::Package { apart, .. } => apart.tail(),
            Self::File(file) => &file.tail,
        }
    }

    /// The object, or the file.
    pub fn path(&self) -> &str {
        match self {
            Self::Package { path, .. } => path,
            Self::File(file) => &file.name,
        }
    }

    /// Has a mip that is not in memory read; it comes as it is stored.
    pub fn load(&self, mip: u32, priority: f32, streamer: &mut Streamer) -> BulkLoad {
        match self {
            Self::Package { path, .. } => streamer.load_bulk(BulkRequest {
                priority,
                ..BulkRequest::new(path.as_str(), mip as usize)
            }),
            Self::File(file) => streamer.load_file_part(FilePartRequest {
                path: file.path.clone(),
                head: file.head.clone(),
                range: file.levels.get(mip as usize).map_or(0..0, |level| level.range.clone()),
                priority,
            }),
        }
    }

    /// What was read of a mip as it is drawn. What does not unpack is empty, so that it is found to be no mip.
    pub fn unpack<'a>(&self, mip: u32, stored: &'a [u8]) -> Cow<'a, [u8]> {
        match self {
            Self::File(file) if file.levels.get(mip as usize).is_some_and(|level| level.is_zstd) => {
                let bytes = file.chain.payload_bytes(mip as u8);
                Cow::Owned(zstd::unpack(stored, bytes).unwrap_or_default())
            }
            _ => Cow::Borrowed(stored),
        }
    }

    /// The image with all of its pixels, `payloads` being all mips that are not in memory, unpacked.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn whole(&self, mut payloads: Vec<Vec<u8>>) -> Result<Image, String> {
        match self {
            Self::Package { apart, .. } => apart.whole(payloads).map_err(|error| error.to_string()),
            Self::File(file) => {
                for (mip, payload) in (0..).zip(&payloads) {
                    let (found, needed) = (payload.len() as u64, file.chain.payload_bytes(mip));
                    if found != needed {
                        return Err(format!("mip {mip} has {found} bytes where it needs {needed}"));
                    }
                }
                payloads.push(file.tail.clone());
                Ok(Image {
                    data: Some(payloads.concat()),
                    ..file.image.clone()
                })
            }
        }
    }
}
