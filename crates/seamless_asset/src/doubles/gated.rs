//! An asset source behind a gate. See [`GatedReader`].

use core::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};
use std::{
    io::{Error, Result as IoResult, SeekFrom},
    path::Path,
    sync::Arc,
};

use bevy_asset::io::{
    AssetReader, AssetReaderError, PathStream, Reader, ReaderNotSeekableError, SeekableReader,
    memory::{Dir, MemoryAssetReader},
};
use futures_lite::{AsyncRead, AsyncSeek};

use super::gate::{Fate, Place, ReadGate};

/// An [`AssetReader`] whose every read waits at a [`ReadGate`], until a test has decided what becomes of it. To open a file is a
/// read, too. Metadata and directories pass, and so do seeks.
///
/// ```
/// # use bevy_asset::io::{AssetSourceBuilder, memory::Dir};
/// # use seamless_asset::doubles::{Fate, GatedReader, ReadGate};
/// let (dir, gate) = (Dir::default(), ReadGate::default());
/// let source = {
///     let gate = gate.clone();
///     AssetSourceBuilder::new(move || Box::new(GatedReader::of(&dir, &gate)))
/// };
/// // The second read of this file never ends; all others are as ever.
/// gate.script("market.pkg", 1, Fate::Stall);
/// gate.otherwise(Some(Fate::Pass));
/// # drop(source);
/// ```
pub struct GatedReader<R = MemoryAssetReader> {
    inner: R,
    gate: ReadGate,
}

impl GatedReader {
    /// Reads files that are in memory.
    #[must_use]
    pub fn of(dir: &Dir, gate: &ReadGate) -> Self {
        Self::new(MemoryAssetReader { root: dir.clone() }, gate)
    }
}

impl<R: AssetReader> GatedReader<R> {
    /// Reads what `inner` reads.
    #[must_use]
    pub fn new(inner: R, gate: &ReadGate) -> Self {
        let gate = gate.clone();
        Self { inner, gate }
    }
}

impl<R: AssetReader> AssetReader for GatedReader<R> {
    async fn read<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        let mut place = Place::new(&self.gate, path.to_string_lossy().replace('\\', "/"));
        let left = match poll_fn(|context| place.poll(context)).await {
            Fate::Fail(kind) => return Err(AssetReaderError::Io(Arc::new(Error::from(kind)))),
            Fate::Short(bytes) => Some(bytes),
            Fate::Pass | Fate::Stall => None,
        };
        Ok(GatedFile {
            inner: self.inner.read(path).await?,
            place,
            has_passed: false,
            left,
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

struct GatedFile<F> {
    inner: F,
    place: Place,
    /// The gate has let the read pass that is under way.
    has_passed: bool,
    /// Bytes until the file ends, if the gate has cut it.
    left: Option<usize>,
}

impl<F: Reader> GatedFile<F> {
    fn poll_gate(&mut self, context: &Context) -> Poll<IoResult<()>> {
        if self.has_passed {
            return Poll::Ready(Ok(()));
        }
        match ready!(self.place.poll(context)) {
            Fate::Fail(kind) => return Poll::Ready(Err(kind.into())),
            Fate::Short(bytes) => self.left = Some(self.left.map_or(bytes, |left| left.min(bytes))),
            Fate::Pass | Fate::Stall => {}
        }
        self.has_passed = true;
        Poll::Ready(Ok(()))
    }
}

impl<F: Reader> AsyncRead for GatedFile<F> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context, buffer: &mut [u8]) -> Poll<IoResult<usize>> {
        let this = self.get_mut();
        if buffer.is_empty() || this.left == Some(0) {
            return Poll::Ready(Ok(0));
        }
        ready!(this.poll_gate(context))?;
        let most = this.left.unwrap_or(usize::MAX).min(buffer.len());
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        let count = ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        this.has_passed = false;
        this.left = this.left.map(|left| left.saturating_sub(count));
        this.place.gate().count(count);
        Poll::Ready(Ok(count))
    }
}

impl<F: Reader> AsyncSeek for GatedFile<F> {
    fn poll_seek(self: Pin<&mut Self>, context: &mut Context, to: SeekFrom) -> Poll<IoResult<u64>> {
        let seekable = self.get_mut().inner.seekable().map_err(Error::other)?;
        Pin::new(seekable).poll_seek(context, to)
    }
}

impl<F: Reader> Reader for GatedFile<F> {
    fn seekable(&mut self) -> Result<&mut dyn SeekableReader, ReaderNotSeekableError> {
        self.inner.seekable()?;
        Ok(self)
    }
}
