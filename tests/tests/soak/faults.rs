//! Files in memory that cannot always be read: they fail when they are opened or read, end too early, or never come.

use std::{
    io::{Error, Result as IoResult},
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bevy::{
    asset::io::{
        AssetReader, AssetReaderError, PathStream, Reader, ReaderNotSeekableError, SeekableReader,
        memory::{Dir, MemoryAssetReader},
    },
    tasks::futures_lite::{AsyncRead, AsyncSeek},
};
use seamless_tests::random::Random;

/// One of so many files that are opened cannot be, fails in the middle, or ends there.
const FAULT_IN: u64 = 140;
/// One of so many never comes: each holds a task until it is given up.
const STALL_IN: u64 = 6_000;

/// What becomes of a package's file, from one opening to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It cannot be opened.
    Closed,
    /// A read after so many bytes fails.
    Broken(usize),
    /// It ends after so many bytes.
    Short(usize),
    /// A read after so many bytes never ends.
    Stalled(usize),
}

impl Fault {
    /// Of the opening with this number: always the same.
    fn of(opening: u64) -> Option<Self> {
        let mut random = Random(opening.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // The first numbers of two seeds are alike.
        random.below(2);
        let at = random.below(4_096) as usize;
        if random.below(STALL_IN) == 0 {
            return Some(Self::Stalled(at));
        }
        (random.below(FAULT_IN) == 0).then(|| match random.below(3) {
            0 => Self::Closed,
            1 => Self::Broken(at),
            _ => Self::Short(at),
        })
    }
}

/// What was done to files so far. Clones share it.
#[derive(Clone, Default)]
pub struct Faults(Arc<Counts>);

#[derive(Default)]
struct Counts {
    opened: AtomicU64,
    closed: AtomicU64,
    broken: AtomicU64,
    short: AtomicU64,
    stalls: AtomicU64,
    stalled: AtomicUsize,
    is_off: AtomicBool,
}

impl Faults {
    /// Whether files that are opened from now on are as they are to be.
    pub fn turn_off(&self, is_off: bool) {
        self.0.is_off.store(is_off, Ordering::Relaxed);
    }

    /// What becomes of the file that is opened now.
    fn next(&self) -> Option<Fault> {
        if self.0.is_off.load(Ordering::Relaxed) {
            return None;
        }
        Fault::of(self.0.opened.fetch_add(1, Ordering::Relaxed))
    }

    /// Reads that hang just now.
    pub fn stalled(&self) -> usize {
        self.0.stalled.load(Ordering::Relaxed)
    }

    /// Files that could not be opened, that failed, that were too short, and that hung, so far.
    pub fn counts(&self) -> [u64; 4] {
        let Counts {
            closed,
            broken,
            short,
            stalls,
            ..
        } = &*self.0;
        [closed, broken, short, stalls].map(|count| count.load(Ordering::Relaxed))
    }
}

/// An asset source of such files.
pub struct Flaky {
    inner: MemoryAssetReader,
    faults: Faults,
}

impl Flaky {
    pub fn new(root: &Dir, faults: &Faults) -> Self {
        Self {
            inner: MemoryAssetReader { root: root.clone() },
            faults: faults.clone(),
        }
    }
}

impl AssetReader for Flaky {
    async fn read<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        let is_package = path.extension().is_some_and(|extension| extension == "pkg");
        let fault = if is_package { self.faults.next() } else { None };
        if fault == Some(Fault::Closed) {
            self.faults.0.closed.fetch_add(1, Ordering::Relaxed);
            return Err(AssetReaderError::Io(Arc::new(Error::other("now and then"))));
        }
        Ok(FlakyFile {
            inner: self.inner.read(path).await?,
            fault,
            read: 0,
            hangs: None,
            faults: self.faults.clone(),
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

struct FlakyFile<F> {
    inner: F,
    fault: Option<Fault>,
    /// Bytes that were read.
    read: usize,
    hangs: Option<Hanging>,
    faults: Faults,
}

/// A read that never ends, until whoever reads gives it up.
struct Hanging(Faults);

impl Hanging {
    fn new(faults: &Faults) -> Self {
        faults.0.stalls.fetch_add(1, Ordering::Relaxed);
        faults.0.stalled.fetch_add(1, Ordering::Relaxed);
        Self(faults.clone())
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.0.stalled.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<F: Reader> AsyncRead for FlakyFile<F> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context, buffer: &mut [u8]) -> Poll<IoResult<usize>> {
        let this = self.get_mut();
        let left = |at: usize| at.saturating_sub(this.read);
        let most = match this.fault {
            Some(Fault::Broken(at) | Fault::Short(at) | Fault::Stalled(at)) => left(at),
            _ => usize::MAX,
        };
        if most > 0 || buffer.is_empty() {
            let most = most.min(buffer.len());
            let buffer = &mut buffer[..most];
            let count = std::task::ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
            this.read += count;
            return Poll::Ready(Ok(count));
        }
        match this.fault {
            Some(Fault::Stalled(_)) => {
                let faults = &this.faults;
                this.hangs.get_or_insert_with(|| Hanging::new(faults));
                Poll::Pending
            }
            Some(Fault::Short(_)) => {
                this.faults.0.short.fetch_add(1, Ordering::Relaxed);
                Poll::Ready(Ok(0))
            }
            _ => {
                this.faults.0.broken.fetch_add(1, Ordering::Relaxed);
                Poll::Ready(Err(Error::other("now and then, in the middle")))
            }
        }
    }
}

impl<F: Reader> AsyncSeek for FlakyFile<F> {
    fn poll_seek(self: Pin<&mut Self>, context: &mut Context, to: std::io::SeekFrom) -> Poll<IoResult<u64>> {
        let seekable = self.get_mut().inner.seekable().map_err(Error::other)?;
        Pin::new(seekable).poll_seek(context, to)
    }
}

impl<F: Reader> Reader for FlakyFile<F> {
    fn seekable(&mut self) -> Result<&mut dyn SeekableReader, ReaderNotSeekableError> {
        self.inner.seekable()?;
        Ok(self)
    }
}

/// Of all the openings of a run, each kind of fault has some.
#[test]
fn every_fault_happens_and_always_to_the_same() {
    let kinds = |openings: u64| {
        let faults = (0..openings).filter_map(Fault::of);
        faults.fold([0_u64; 4], |mut counts, fault| {
            let kind = match fault {
                Fault::Closed => 0,
                Fault::Broken(_) => 1,
                Fault::Short(_) => 2,
                Fault::Stalled(_) => 3,
            };
            counts[kind] += 1;
            counts
        })
    };
    let counts = kinds(60_000);
    assert!(counts[..3].iter().all(|count| (80..240).contains(count)), "{counts:?}");
    assert!((3..30).contains(&counts[3]), "{counts:?}");
    assert_eq!(kinds(60_000), counts);
}
