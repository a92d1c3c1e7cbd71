//! Sizes of images, from their headers.

use std::io::Cursor;

use bevy::image::ImageFormat;
use image::{ImageDecoder, ImageError, ImageReader};

use super::{ClaimError, MAX_PIXEL_BYTES};

/// What a header says.
struct Size {
    width: u32,
    height: u32,
    /// Of the decoded pixels, as far as memory is taken for them that is not there already.
    bytes: u64,
}

/// Checks the size of an image; `what` names it.
pub(super) fn check(what: &str, format: ImageFormat, bytes: &[u8]) -> Result<(), ClaimError> {
    let size = match format {
        ImageFormat::Ktx2 if bytes.starts_with(b"\xabKTX 20\xbb") => ktx2(bytes),
        // Nothing of it is decoded: it takes what it holds.
        ImageFormat::Dds => None,
        _ => decoded(format, bytes),
    };
    let Some(Size { width, height, bytes }) = size else {
        return Ok(());
    };
    let what = what.to_owned();
    if bytes > MAX_PIXEL_BYTES {
        return Err(ClaimError::HugeImage {
            what,
            width,
            height,
            bytes,
        });
    }
    Ok(())
}

/// What is read by the `image` crate, which Bevy has work without limits.
fn decoded(format: ImageFormat, bytes: &[u8]) -> Option<Size> {
    let reader = ImageReader::with_format(Cursor::new(bytes), format.as_image_crate_format()?);
    match reader.into_decoder() {
        Ok(decoder) => {
            let (width, height) = decoder.dimensions();
            Some(Size {
                width,
                height,
                bytes: decoder.total_bytes(),
            })
        }
        // Larger than the crate allows for a header alone.
        Err(ImageError::Limits(_)) => Some(Size {
            width: u32::MAX,
            height: u32::MAX,
            bytes: u64::MAX,
        }),
        Err(_) => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?.first_chunk()?;
    Some(u32::from_le_bytes(*word))
}

/// Vulkan's numbers for formats of three bytes a texel, for which Bevy makes room of four.
const RGB8: core::ops::RangeInclusive<u32> = 23..=36;

fn ktx2(bytes: &[u8]) -> Option<Size> {
    let (width, height) = (word(bytes, 20)?, word(bytes, 24)?);
    let texels = u64::from(width).saturating_mul(u64::from(height));
    let padded = if RGB8.contains(&word(bytes, 12)?) {
        texels.saturating_mul(4)
    } else {
        0
    };
    Some(Size {
        width,
        height,
        bytes: padded.max(unpacked(bytes)?),
    })
}

/// What the supercompressed levels of a KTX2 file say they become. Others are as long as they are.
fn unpacked(bytes: &[u8]) -> Option<u64> {
    if word(bytes, 44)? == 0 {
        return Some(0);
    }
    let levels = word(bytes, 40)?.clamp(1, 32) as usize;
    let sizes = (0..levels).filter_map(|level| {
        let size = bytes.get(80 + level * 24 + 16..)?.first_chunk()?;
        Some(u64::from_le_bytes(*size))
    });
    Some(sizes.fold(0, u64::saturating_add))
}
