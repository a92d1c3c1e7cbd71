//! An asset source in memory that notes what is read of it.

use core::{
    pin::Pin,
    task::{Context, Poll},
};
use std::{
    io::SeekFrom,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
};

use bevy_asset::io::{
    AssetReader, AssetReaderError, PathStream, Reader, ReaderNotSeekableError, SeekableReader,
    memory::{Dir, MemoryAssetReader},
};
use futures_lite::{AsyncRead, AsyncSeek};

use super::*;

/// What was read of all files, in order. Clones share it.
#[derive(Clone, Default)]
pub(super) struct ReadLog(Arc<Mutex<Noted>>);

#[derive(Default)]
struct Noted {
    opened: Vec<String>,
    reads: Vec<FileRead>,
    seeks: Vec<Seek>,
}

/// Bytes that came from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileRead {
    pub path: String,
    pub offset: u64,
    pub length: u64,
}

struct Seek {
    path: String,
    from: u64,
    to: u64,
}

impl ReadLog {
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap()
    }

    /// The files that were asked for, each time that they were, whether or not they are there.
    pub(super) fn opened(&self) -> Vec<String> {
        self.noted().opened.clone()
    }

    /// The bytes that came, reads that follow each other taken as one.
    pub(super) fn reads(&self) -> Vec<FileRead> {
        let mut reads: Vec<FileRead> = Vec::new();
        for read in &self.noted().reads {
            match reads.last_mut() {
                Some(last) if last.path == read.path && last.offset + last.length == read.offset => {
                    last.length += read.length;
                }
                _ => reads.push(read.clone()),
            }
        }
        reads
    }

    /// How many bytes came.
    pub(super) fn bytes(&self) -> u64 {
        self.noted().reads.iter().map(|read| read.length).sum()
    }

    /// Seeks that do not go forward: file, from, to.
    pub(super) fn seeks_back(&self) -> Vec<(String, u64, u64)> {
        let noted = self.noted();
        let back = noted.seeks.iter().filter(|seek| seek.to < seek.from);
        back.map(|seek| (seek.path.clone(), seek.from, seek.to)).collect()
    }

    /// How many seeks there were, in whichever direction.
    pub(super) fn seeks(&self) -> usize {
        self.noted().seeks.len()
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        *self.noted() = Noted::default();
    }
}

/// A [`MemoryAssetReader`] with a log.
pub(super) struct CountingReader {
    inner: MemoryAssetReader,
    log: ReadLog,
    can_seek: bool,
}

impl CountingReader {
    /// Reads `dir`; its files can be sought in, or only read from front to back.
    pub(super) fn new(dir: &Dir, log: &ReadLog, can_seek: bool) -> Self {
        Self {
            inner: MemoryAssetReader { root: dir.clone() },
            log: log.clone(),
            can_seek,
        }
    }
}

impl AssetReader for CountingReader {
    async fn read<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        let name = path.to_string_lossy().into_owned();
        self.log.noted().opened.push(name.clone());
        Ok(CountingFile {
            inner: self.inner.read(path).await?,
            log: self.log.clone(),
            path: name,
            position: 0,
            can_seek: self.can_seek,
        })
    }

    async fn read_meta<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        self.inner.read_meta(path).await
    }

    async fn read_directory<'a>(&'a self, path: &'a Path) -> Result<Box<PathStream>, AssetReaderError> {
        self.log.noted().opened.push(PathBuf::from(path).display().to_string());
        self.inner.read_directory(path).await
    }

    async fn is_directory<'a>(&'a self, path: &'a Path) -> Result<bool, AssetReaderError> {
        self.inner.is_directory(path).await
    }
}

struct CountingFile<R> {
    inner: R,
    log: ReadLog,
    path: String,
    position: u64,
    can_seek: bool,
}

impl<R: Reader> AsyncRead for CountingFile<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context, buffer: &mut [u8]) -> Poll<std::io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.inner).poll_read(context, buffer);
        if let Poll::Ready(Ok(length)) = &poll
            && *length > 0
        {
            let (path, offset, length) = (this.path.clone(), this.position, *length as u64);
            this.position += length;
            this.log.noted().reads.push(FileRead { path, offset, length });
        }
        poll
    }
}

impl<R: Reader> AsyncSeek for CountingFile<R> {
    fn poll_seek(self: Pin<&mut Self>, context: &mut Context, to: SeekFrom) -> Poll<std::io::Result<u64>> {
        let this = self.get_mut();
        let seekable = this.inner.seekable().map_err(std::io::Error::other)?;
        let poll = Pin::new(seekable).poll_seek(context, to);
        if let Poll::Ready(Ok(to)) = &poll {
            let (path, from, to) = (this.path.clone(), this.position, *to);
            this.position = to;
            this.log.noted().seeks.push(Seek { path, from, to });
        }
        poll
    }
}

impl<R: Reader> Reader for CountingFile<R> {
    fn seekable(&mut self) -> Result<&mut dyn SeekableReader, ReaderNotSeekableError> {
        if self.can_seek {
            Ok(self)
        } else {
            Err(ReaderNotSeekableError)
        }
    }
}

/// An app that reads `dir`, and what it reads of it.
pub(super) fn counting_app(dir: &Dir, can_seek: bool, game: impl FnOnce(&mut App)) -> (App, ReadLog) {
    let log = ReadLog::default();
    let app = noting_app(dir, can_seek, &log, SeamlessAssetPlugin::default(), game);
    (app, log)
}

/// The same with a log that is there before.
pub(super) fn noting_app(
    dir: &Dir,
    can_seek: bool,
    log: &ReadLog,
    plugin: SeamlessAssetPlugin,
    game: impl FnOnce(&mut App),
) -> App {
    let (root, noted) = (dir.clone(), log.clone());
    let reader = move || CountingReader::new(&root, &noted, can_seek);
    app_reading(reader, plugin, game)
}
