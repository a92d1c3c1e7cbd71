//! Few glTF files are loaded at once. See [`turn`].

#[cfg(test)]
mod tests;

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::path::Path;

use async_lock::{Semaphore, SemaphoreGuard};
use bevy::asset::io::{Reader, ReaderNotSeekableError, STACK_FUTURE_SIZE, SeekableReader, StackFuture, VecReader};
use bevy::tasks::futures_lite::AsyncRead;

/// glTF files that are loaded at once in a process, whose threads all cooks share.
///
/// Bevy's loader waits for a file's textures in a scope of the I/O threads, and a thread that waits there begins the next file that is
/// asked for, below the first one on its stack: some 95 kB for each, without optimisations. So eight take less than half of a
/// thread's 2 MiB, and each still has all threads for its textures.
pub(crate) const AT_ONCE: usize = 8;

static TURNS: Semaphore = Semaphore::new(AT_ONCE);

/// That a file may be loaded, until this is dropped.
pub(crate) type Turn = SemaphoreGuard<'static>;

/// Waits until the file at `path` may be loaded; there is nothing to wait for, unless it is a glTF file.
///
/// A loader of glTF files that loads further glTF files before it is done, each by one of its own kind, would wait for itself where they
/// are [`AT_ONCE`] deep. Bevy's reads buffers and pictures only.
pub(crate) async fn turn(path: &Path) -> Option<Turn> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    match &*extension {
        "gltf" | "glb" => Some(TURNS.acquire().await),
        _ => None,
    }
}

/// A file's bytes, and its turn: Bevy keeps the reader until the loader is done.
pub(crate) struct InTurn {
    bytes: VecReader,
    _turn: Option<Turn>,
}

impl InTurn {
    pub fn new(bytes: VecReader, turn: Option<Turn>) -> Self {
        Self { bytes, _turn: turn }
    }
}

impl AsyncRead for InTurn {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.bytes).poll_read(context, to)
    }
}

impl Reader for InTurn {
    fn read_to_end<'a>(&'a mut self, to: &'a mut Vec<u8>) -> StackFuture<'a, io::Result<usize>, STACK_FUTURE_SIZE> {
        self.bytes.read_to_end(to)
    }

    fn seekable(&mut self) -> Result<&mut dyn SeekableReader, ReaderNotSeekableError> {
        self.bytes.seekable()
    }
}
