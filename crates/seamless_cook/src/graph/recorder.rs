//! Which files a source depends on: those that its loader reads. See [`Recorder`].

use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bevy::asset::io::file::FileAssetReader;
use bevy::asset::io::{AssetReader, AssetReaderError, PathStream, Reader, VecReader};
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::storage::{Stamp, stamp};
use super::turns::{InTurn, turn};
use crate::source_check::check;

/// A source file as a cook saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenFile {
    /// Before it was read; none if it was not there.
    pub stamp: Option<Stamp>,
    /// Of the bytes that the loader got; none if it got none.
    pub digest: Option<Digest>,
}

/// The files that a source depends on, with what they held. That one was not there is told as well: it could come.
pub(crate) type Dependencies = BTreeMap<String, Option<Digest>>;

/// Reads for Bevy's `AssetServer`, and remembers who read what.
///
/// Bevy loads each file in a task of its own, in which its loader reads whatever else it needs. The first file that a task asks for is
/// the one that it loads, all others are what that one depends on. Tasks are told apart by their wakers. What a loader reads in further
/// tasks of its own counts for everything that was loaded meanwhile: too much is cooked again then, never too little.
#[derive(Clone)]
pub(crate) struct Recorder {
    root: PathBuf,
    state: Arc<Mutex<Recorded>>,
}

#[derive(Default)]
struct Recorded {
    /// By the path that Bevy knows them by.
    files: BTreeMap<String, SeenFile>,
    /// By task. The waker is kept so that no later task is taken for this one.
    tasks: BTreeMap<usize, Task>,
    /// The tasks that loaded each file.
    sources: BTreeMap<String, Vec<usize>>,
    /// The tasks that read for others.
    helpers: Vec<usize>,
    /// What is read instead of the file's own settings.
    settings: BTreeMap<String, Vec<u8>>,
}

struct Task {
    _waker: Waker,
    files: BTreeSet<String>,
}

/// The path of the settings beside a file.
pub(crate) fn meta_path(file: &str) -> String {
    format!("{file}.meta")
}

impl Recorder {
    /// Reads below `root`, which is absolute.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            state: Arc::default(),
        }
    }

    /// Has a file loaded with these settings, in Bevy's text format for them.
    pub fn load_with(&self, file: &str, settings: Vec<u8>) {
        self.lock().settings.insert(file.to_owned(), settings);
    }

    /// Ends what [`load_with`](Self::load_with) began.
    pub fn load_all_as_they_are(&self) {
        self.lock().settings.clear();
    }

    /// Whether a file has settings of its own.
    pub fn has_meta(&self, file: &str) -> bool {
        let state = self.lock();
        state
            .files
            .get(&meta_path(file))
            .is_some_and(|meta| meta.digest.is_some())
    }

    /// The bytes of a file that was loaded, once more.
    pub fn read_again(&self, file: &str) -> std::io::Result<Vec<u8>> {
        std::fs::read(self.root.join(file))
    }

    /// What loading `file` depends on, as far as it was loaded.
    pub fn dependencies(&self, file: &str) -> Dependencies {
        let state = self.lock();
        let own = state.sources.get(file).into_iter().flatten();
        let tasks = own.chain(&state.helpers).filter_map(|task| state.tasks.get(task));
        tasks
            .flat_map(|task| &task.files)
            .map(|path| (path.clone(), state.files.get(path).and_then(|seen| seen.digest)))
            .collect()
    }

    /// Whether a file was loaded.
    pub fn has_loaded(&self, file: &str) -> bool {
        self.lock().sources.contains_key(file)
    }

    /// What was seen of a file, if anybody asked for it.
    pub fn seen(&self, path: &str) -> Option<SeenFile> {
        self.lock().files.get(path).copied()
    }

    /// How many sources were loaded.
    pub fn loads(&self) -> u64 {
        self.lock().sources.values().map(|tasks| tasks.len() as u64).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        // Whole between two statements: a panic elsewhere does not harm it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a read of the calling task. Bevy asks for the settings of what it loads first.
    fn note(&self, waker: &Waker, source: Option<&str>, path: &str, seen: SeenFile) {
        let mut state = self.lock();
        let id = waker.data() as usize;
        if !state.tasks.contains_key(&id) {
            match source {
                Some(source) => state.sources.entry(source.to_owned()).or_default().push(id),
                None => state.helpers.push(id),
            }
        }
        let task = state.tasks.entry(id).or_insert_with(|| Task {
            _waker: waker.clone(),
            files: BTreeSet::new(),
        });
        task.files.insert(path.to_owned());
        // A file that changes meanwhile: the first look is compared with the next cook's.
        state.files.entry(path.to_owned()).or_insert(seen);
    }

    async fn record(
        &self,
        path: &str,
        source: Option<&str>,
        read: impl AsyncRead,
    ) -> Result<VecReader, AssetReaderError> {
        let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
        let stamp = stamp(&self.root.join(path));
        let bytes = read.await;
        let digest = bytes.as_ref().ok().map(|bytes| Digest::of(bytes));
        self.note(&waker, source, path, SeenFile { stamp, digest });
        bytes.map(VecReader::new)
    }

    fn reader(&self) -> FileAssetReader {
        FileAssetReader::new(&self.root)
    }
}

trait AsyncRead: Future<Output = Result<Vec<u8>, AssetReaderError>> {}

impl<F: Future<Output = Result<Vec<u8>, AssetReaderError>>> AsyncRead for F {}

/// The path as Bevy writes it, on every system.
pub(crate) fn text(path: &Path) -> String {
    slashed(path.to_string_lossy())
}

/// A path, or an asset path with source and label, with slashes.
pub(crate) fn slashed(path: impl ToString) -> String {
    path.to_string().replace('\\', "/")
}

/// The file of an asset's path, and the label behind it, if it has one.
pub(crate) fn file_and_label(path: &str) -> (&str, Option<&str>) {
    match path.split_once('#') {
        Some((file, label)) => (file, Some(label)),
        None => (path, None),
    }
}

impl AssetReader for Recorder {
    async fn read<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        let turn = turn(path).await;
        let files = self.reader();
        let read = async {
            let mut bytes = Vec::new();
            files.read(path).await?.read_to_end(&mut bytes).await?;
            Ok(bytes)
        };
        let reader = self.record(&text(path), None, read).await?;
        match check(&self.root.join(path), &reader.bytes) {
            Ok(()) => Ok(InTurn::new(reader, turn)),
            Err(error) => Err(std::io::Error::other(error).into()),
        }
    }

    async fn read_meta<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        let file = text(path);
        let files = self.reader();
        let read = files.read_meta_bytes(path);
        let own = self.record(&meta_path(&file), Some(&file), read).await;
        let settings = self.lock().settings.get(&file).cloned();
        settings.map_or(own, |settings| Ok(VecReader::new(settings)))
    }

    async fn read_directory<'a>(&'a self, path: &'a Path) -> Result<Box<PathStream>, AssetReaderError> {
        FileAssetReader::new(&self.root).read_directory(path).await
    }

    async fn is_directory<'a>(&'a self, path: &'a Path) -> Result<bool, AssetReaderError> {
        FileAssetReader::new(&self.root).is_directory(path).await
    }
}
