//! Files of memory, of which it is counted what is read.

use core::{
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll, ready},
};
use std::{
    io::{Result as IoResult, SeekFrom},
    path::Path,
    sync::Arc,
};

use bevy_asset::io::{
    AssetReader, AssetReaderError, AssetSourceBuilder, PathStream, Reader, ReaderNotSeekableError, SeekableReader,
    VecReader,
    memory::{Dir, MemoryAssetReader},
};
use futures_lite::{AsyncRead, AsyncSeek};

/// Bytes that were read.
#[derive(Clone, Default)]
pub struct Reads(Arc<AtomicU64>);

impl Reads {
    /// Those since the last call.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// Reads files of memory.
pub struct CountingReader {
    inner: MemoryAssetReader,
    reads: Reads,
    can_seek: bool,
}

impl CountingReader {
    pub fn source(dir: &Dir, reads: &Reads, can_seek: bool) -> AssetSourceBuilder {
        let (dir, reads) = (dir.clone(), reads.clone());
        AssetSourceBuilder::new(move || {
            Box::new(Self {
                inner: MemoryAssetReader { root: dir.clone() },
                reads: reads.clone(),
                can_seek,
            })
        })
    }
}

impl AssetReader for CountingReader {
    async fn read<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        let mut bytes = Vec::new();
        Reader::read_to_end(&mut self.inner.read(path).await?, &mut bytes).await?;
        Ok(Counted {
            inner: VecReader::new(bytes),
            reads: &self.reads,
            can_seek: self.can_seek,
        })
    }

    async fn read_meta<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        self.inner.read_meta(path).await
    }

    async fn read_directory<'a>(&'a self, path: &'a Path) -> Result<Box<PathStream>, AssetReaderError> {
        self.inner.read_directory(path).await
    }

    async fn is_directory<'a>(&'a self, path: &'a Path) -> Result<bool, AssetReaderError> {
        self.inner.is_directory(path).await
    }
}

/// A file that is read.
struct Counted<'a> {
    inner: VecReader,
    reads: &'a Reads,
    can_seek: bool,
}

impl AsyncRead for Counted<'_> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context, buf: &mut [u8]) -> Poll<IoResult<usize>> {
        let got = ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        self.reads.0.fetch_add(got as u64, Ordering::Relaxed);
        Poll::Ready(Ok(got))
    }
}

impl AsyncSeek for Counted<'_> {
    fn poll_seek(mut self: Pin<&mut Self>, cx: &mut Context, pos: SeekFrom) -> Poll<IoResult<u64>> {
        Pin::new(&mut self.inner).poll_seek(cx, pos)
    }
}

impl Reader for Counted<'_> {
    fn seekable(&mut self) -> Result<&mut dyn SeekableReader, ReaderNotSeekableError> {
        match self.can_seek {
            true => Ok(self),
            false => Err(ReaderNotSeekableError),
        }
    }
}
