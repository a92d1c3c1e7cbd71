//! Reads parts of a file. See [`Parts`].

use core::ops::Range;
use std::io::SeekFrom;

use bevy_asset::{
    AssetPath,
    io::{Reader, SeekableReader, VecReader},
};
use futures_lite::{AsyncReadExt, AsyncSeekExt};
use ktx2::Header;

use super::{StreamedImageError, head::Ktx2Head};
use crate::mip::zstd;

/// How much memory is taken ahead of what arrives.
const CHUNK: u64 = 1 << 20;

/// A file of which parts are read.
pub(super) struct Parts<'r> {
    reader: &'r mut dyn SeekableReader,
    position: u64,
}

impl<'r> Parts<'r> {
    /// A file of which nothing is read yet; all of it comes into memory if its source cannot seek.
    pub async fn open(
        reader: &'r mut dyn Reader,
        in_memory: &'r mut VecReader,
        path: &AssetPath<'_>,
    ) -> Result<Self, StreamedImageError> {
        let position = 0;
        if reader.seekable().is_ok() {
            let reader = reader.seekable().map_err(std::io::Error::other)?;
            return Ok(Self { reader, position });
        }
        bevy_log::debug!("`{path}` is of a source that cannot seek, so it is read whole each time");
        reader.read_to_end(&mut in_memory.bytes).await?;
        Ok(Self {
            reader: in_memory,
            position,
        })
    }

    /// Reads how the file begins.
    pub async fn head(&mut self) -> Result<Ktx2Head, StreamedImageError> {
        let mut bytes = self.read(0..Header::LENGTH as u64, "its header").await?;
        let header = bytes.first_chunk().map(Ktx2Head::len);
        let len = header.unwrap_or_else(|| Err(StreamedImageError::Head("it is too short".into())))?;
        let index = self.read(bytes.len() as u64..len as u64, "its index of mips").await?;
        bytes.extend(index);
        Ktx2Head::new(bytes)
    }

    /// Reads a mip, and unpacks it.
    pub async fn level(&mut self, head: &Ktx2Head, mip: u8) -> Result<Vec<u8>, StreamedImageError> {
        let (range, raw) = head.level(mip)?;
        let stored = self.read(range, "a mip").await?;
        if !head.is_zstd() {
            return Ok(stored);
        }
        zstd::unpack(&stored, raw).ok_or_else(|| StreamedImageError::Mip {
            mip,
            what: format!("does not unpack to {raw} bytes"),
        })
    }

    /// Reads these bytes; memory grows with what arrives.
    pub async fn read(&mut self, range: Range<u64>, what: &'static str) -> Result<Vec<u8>, StreamedImageError> {
        if range.start != self.position {
            self.reader.seek(SeekFrom::Start(range.start)).await?;
            self.position = range.start;
        }
        let mut bytes = Vec::new();
        while self.position < range.end {
            let (start, step) = (bytes.len(), CHUNK.min(range.end - self.position) as usize);
            bytes.resize(start + step, 0);
            let got = self.reader.read(&mut bytes[start..]).await?;
            bytes.truncate(start + got);
            self.position += got as u64;
            if got == 0 {
                let end = range.end;
                return Err(StreamedImageError::Short { what, end });
            }
        }
        Ok(bytes)
    }

    /// Reads all of it.
    pub async fn all(self) -> Result<Vec<u8>, StreamedImageError> {
        self.reader.seek(SeekFrom::Start(0)).await?;
        let mut bytes = Vec::new();
        Reader::read_to_end(self.reader, &mut bytes).await?;
        Ok(bytes)
    }
}
