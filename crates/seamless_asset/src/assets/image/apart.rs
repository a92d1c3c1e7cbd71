//! Images whose large mips are read apart. See [`ImageApart`].

use core::ops::Range;
use std::sync::Arc;

use bevy_image::Image;

use super::{StoredImage, StoredPixels, mips::MipLayout, pixels};
use crate::codec::DecodeError;

/// An image of a package without its payloads: all that is known of it, and its mip tail. For who reads the large mips when they are wanted; see
/// [`BulkUse::Marked`](crate::codec::BulkUse::Marked).
///
/// Payload `n` is mip `n` with all of its layers, rows and layers without padding.
#[derive(Clone, Debug)]
pub struct ImageApart {
    /// The whole image but for its pixels: size and number of mips are those of all of it.
    pub image: Image,
    payloads: u32,
    /// As it is in the export.
    data: Arc<[u8]>,
    tail: Range<usize>,
}

impl ImageApart {
    /// Reads what [`ImageCodec`](super::ImageCodec) wrote into an export, of version 1 or 2. `None` if its pixels are not stored mip by mip with payloads
    /// among them: then there is nothing to read later.
    ///
    /// # Errors
    /// When the bytes are no image, or the tail has not its size.
    pub fn read(data: &[u8]) -> Result<Option<Self>, DecodeError> {
        let (stored, rest) = StoredImage::read(data)?;
        if stored.pixels != StoredPixels::Mips {
            return Ok(None);
        }
        let layout = MipLayout::of(&stored)
            .ok_or_else(|| DecodeError::Malformed(format!("{:?} has no mips of its own", stored.format)))?;
        layout.check_tail(rest)?;
        let payloads = layout.large() as u32;
        if payloads == 0 {
            return Ok(None);
        }
        Ok(Some(Self {
            tail: data.len() - rest.len()..data.len(),
            data: data.into(),
            payloads,
            image: stored.into_image(None)?,
        }))
    }

    /// How many mips are payloads; the next one is the tail's first.
    #[must_use]
    pub fn payloads(&self) -> u32 {
        self.payloads
    }

    /// The mips that are no payloads, the largest first, each with all of its layers.
    #[must_use]
    pub fn tail(&self) -> &[u8] {
        self.data.get(self.tail.clone()).unwrap_or_default()
    }

    /// The image with all of its pixels, `payloads` being all of its payloads.
    ///
    /// # Errors
    /// When they are not as many, or as large, as they must be.
    pub fn whole(&self, payloads: Vec<Vec<u8>>) -> Result<Image, DecodeError> {
        let (stored, tail) = StoredImage::read(&self.data)?;
        let pixels = pixels(&stored, payloads, tail)?;
        stored.into_image(pixels)
    }
}
