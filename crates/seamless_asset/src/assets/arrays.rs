//! The form of exports that are a small header and plain arrays behind it.

#[cfg(feature = "write")]
use bytemuck::NoUninit;
use bytemuck::Pod;
#[cfg(feature = "write")]
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::DecodeError;
#[cfg(feature = "write")]
use crate::codec::{EncodeError, EncodedAsset};

/// An export with `header`, then `arrays`.
#[cfg(feature = "write")]
pub(super) fn with_header(header: &impl Serialize, arrays: &[u8]) -> Result<EncodedAsset, EncodeError> {
    let header = postcard::to_allocvec(header).map_err(|error| EncodeError::Other(error.to_string()))?;
    let mut data = (header.len() as u32).to_le_bytes().to_vec();
    data.extend_from_slice(&header);
    data.extend_from_slice(arrays);
    Ok(EncodedAsset { data, bulk: Vec::new() })
}

/// Appends an array as it lies in memory.
#[cfg(feature = "write")]
pub(super) fn push<T: NoUninit>(values: &[T], arrays: &mut Vec<u8>) {
    arrays.extend_from_slice(bytemuck::cast_slice(values));
}

/// The arrays that were not read yet.
pub(super) struct Arrays<'a>(&'a [u8]);

impl<'a> Arrays<'a> {
    /// The header of `data`, and its arrays. `what` is the header's, for messages.
    pub fn split<H: DeserializeOwned>(data: &'a [u8], what: &str) -> Result<(H, Self), DecodeError> {
        let mut rest = Self(data);
        let length = rest.bytes(4)?;
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
        let header = rest.bytes(length as usize)?;
        let header = postcard::from_bytes(header)
            .map_err(|error| DecodeError::Malformed(format!("the header of {what}: {error}")))?;
        Ok((header, rest))
    }

    /// Arrays without a header.
    #[cfg(test)]
    pub fn of(data: &'a [u8]) -> Self {
        Self(data)
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, left) = self.0.split_at_checked(count).ok_or_else(|| {
            DecodeError::Malformed(format!("an array needs {count} bytes, {} are left", self.0.len()))
        })?;
        self.0 = left;
        Ok(taken)
    }

    /// The next `count` values, stored by [`push`]. Memory is taken only for what is there.
    pub fn values<T: Pod>(&mut self, count: u32) -> Result<Vec<T>, DecodeError> {
        Ok(bytemuck::pod_collect_to_vec(self.bytes_of::<T>(count)?))
    }

    /// The bytes of the next `count` values.
    pub fn bytes_of<T>(&mut self, count: u32) -> Result<&'a [u8], DecodeError> {
        self.bytes((count as usize).saturating_mul(size_of::<T>()))
    }

    /// There must be nothing left.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.0.len() {
            0 => Ok(()),
            more => Err(DecodeError::Malformed(format!("{more} bytes too many"))),
        }
    }
}
