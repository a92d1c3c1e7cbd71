//! The output folder: files are written aside and put in their places together. See [`Output`].
//!
//! ```text
//! .cook/staged/a.pkg …  ──►  .cook/journal  ──►  a.pkg …  ──►  (journal removed)
//!     written, synced         written whole       renamed
//! ```
//!
//! A cook that ends before the journal is there has changed nothing; what it staged is thrown away. One that ends later is completed by
//! the next one. Each file of the output is at any time the old one or the new one, whole; the manifest is the last of them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::storage::Storage;
use crate::report::CookError;

/// The folder in the output folder for everything that the game does not need.
pub(crate) const COOK_FOLDER: &str = ".cook";

/// What is to be done to the output folder.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Journal {
    /// Staged files, in the order in which they take their places.
    files: Vec<String>,
    /// Files to remove afterwards.
    removed: Vec<String>,
}

impl Journal {
    fn to_bytes(&self) -> Vec<u8> {
        // Plain data into memory: nothing that could fail.
        let body = postcard::to_allocvec(self).unwrap_or_default();
        let digest = postcard::to_allocvec(&Digest::of(&body)).unwrap_or_default();
        [digest, body].concat()
    }

    /// None if it is not whole.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (digest, body): (Digest, _) = postcard::take_from_bytes(bytes).ok()?;
        if Digest::of(body) != digest {
            return None;
        }
        let journal: Self = postcard::from_bytes(body).ok()?;
        // Whoever wrote it, it leads nowhere else.
        let mut names = journal.files.iter().chain(&journal.removed);
        names.all(|name| is_plain_name(name)).then_some(journal)
    }
}

/// Whether this is the name of a file in a folder, on every system, and no path that leads out of it.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let bad = |c: char| c.is_control() || "/\\:".contains(c);
    !name.is_empty() && name != "." && name != ".." && !name.contains(bad)
}

/// The output folder of one cook.
pub(crate) struct Output<'a> {
    storage: &'a dyn Storage,
    folder: PathBuf,
    staged: Vec<String>,
    /// Nobody else cooks here as long as it is open.
    _lock: File,
    writes: u64,
}

impl<'a> Output<'a> {
    /// Opens the folder, makes it if it is not there, and completes what an earlier cook began.
    pub fn open(storage: &'a dyn Storage, folder: &Path) -> Result<Self, CookError> {
        let fail = |source| write_error(folder, source);
        let cook = folder.join(COOK_FOLDER);
        if !cook.is_dir() {
            storage.make_folder(&cook).map_err(fail)?;
        }
        refuse_links(&cook)?;
        let lock = lock(&cook.join("lock"), folder)?;
        let mut output = Self {
            storage,
            folder: folder.to_owned(),
            staged: Vec::new(),
            _lock: lock,
            writes: 0,
        };
        output.recover()?;
        Ok(output)
    }

    /// Where the cooker keeps what the game does not need.
    pub fn cook_folder(&self) -> PathBuf {
        self.folder.join(COOK_FOLDER)
    }

    /// Where a file of the output is.
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Writes a file that will take its place with all others.
    pub fn stage(&mut self, file: &str, bytes: &[u8]) -> Result<(), CookError> {
        if !is_plain_name(file) {
            return Err(write_error(&self.path(file), io::ErrorKind::InvalidFilename.into()));
        }
        let folder = self.staged_folder();
        if self.staged.is_empty() {
            self.storage
                .make_folder(&folder)
                .map_err(|source| write_error(&folder, source))?;
        }
        // Known before it is there, so that it is removed if it is not whole.
        self.staged.push(file.to_owned());
        self.writes += 1;
        let path = folder.join(file);
        self.storage
            .write(&path, bytes, true)
            .map_err(|source| write_error(&self.path(file), source))
    }

    /// A file as it will be.
    pub fn read(&self, file: &str) -> io::Result<Vec<u8>> {
        if self.staged.iter().any(|staged| staged == file) {
            self.storage.read(&self.staged_folder().join(file))
        } else {
            self.storage.read(&self.path(file))
        }
    }

    /// Puts all staged files in their places, and removes others.
    pub fn commit(&mut self, removed: Vec<String>) -> Result<(), CookError> {
        let journal = Journal {
            files: core::mem::take(&mut self.staged),
            removed,
        };
        if journal == Journal::default() {
            return Ok(());
        }
        let result = self.write_journal(&journal);
        result.map_err(|source| write_error(&self.folder, source))?;
        self.complete(&journal)
    }

    /// Replaces a file in [`COOK_FOLDER`] at once.
    pub fn replace_own(&mut self, file: &str, bytes: &[u8]) -> Result<(), CookError> {
        let path = self.cook_folder().join(file);
        let aside = path.with_extension("tmp");
        self.writes += 1;
        let result = self.storage.write(&aside, bytes, false);
        let result = result.and_then(|()| self.storage.rename(&aside, &path));
        result.map_err(|source| write_error(&path, source))
    }

    fn write_journal(&self, journal: &Journal) -> io::Result<()> {
        if !journal.files.is_empty() {
            self.storage.sync_folder(&self.staged_folder())?;
        }
        let path = self.journal_path();
        let aside = path.with_extension("tmp");
        self.storage.write(&aside, &journal.to_bytes(), true)?;
        self.storage.rename(&aside, &path)?;
        self.storage.sync_folder(&self.cook_folder())
    }

    fn complete(&self, journal: &Journal) -> Result<(), CookError> {
        for file in &journal.files {
            let (from, to) = (self.staged_folder().join(file), self.path(file));
            // Not there: it is in its place already.
            if from.is_file() {
                self.storage
                    .rename(&from, &to)
                    .map_err(|source| write_error(&to, source))?;
            }
        }
        for file in &journal.removed {
            // A package that stays behind is unused, no more.
            let _ = self.storage.remove(&self.path(file));
        }
        let done = self.storage.sync_folder(&self.folder);
        let done = done.and_then(|()| self.storage.remove(&self.journal_path()));
        done.map_err(|source| write_error(&self.folder, source))
    }

    fn recover(&mut self) -> Result<(), CookError> {
        let path = self.journal_path();
        if path.is_file() {
            let bytes = self.storage.read(&path).map_err(|source| write_error(&path, source))?;
            // It was renamed when it was whole: a damaged one is none of a cook's, and says nothing.
            let journal = Journal::parse(&bytes).unwrap_or_default();
            self.complete(&journal)?;
        }
        for left in std::fs::read_dir(self.staged_folder()).into_iter().flatten().flatten() {
            let path = left.path();
            self.storage
                .remove(&path)
                .map_err(|source| write_error(&path, source))?;
        }
        Ok(())
    }

    fn staged_folder(&self) -> PathBuf {
        self.cook_folder().join("staged")
    }

    fn journal_path(&self) -> PathBuf {
        self.cook_folder().join("journal")
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        for file in &self.staged {
            // Best effort: the cook failed already, and says why.
            let _ = self.storage.remove(&self.staged_folder().join(file));
        }
    }
}

/// Writing through a link would change what lies elsewhere. Nobody but the cooker has business in its folder; files further down are
/// removed before they are written.
fn refuse_links(cook: &Path) -> Result<(), CookError> {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let entries = |folder: &Path| {
        std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
    };
    let all = core::iter::once(cook.to_owned());
    let all = all.chain(entries(cook)).chain(entries(&cook.join("objects")));
    match all.into_iter().find(|path| is_link(path)) {
        Some(path) => Err(CookError::Link { path }),
        None => Ok(()),
    }
}

fn lock(path: &Path, folder: &Path) -> Result<File, CookError> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    let file = file.map_err(|source| write_error(path, source))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(CookError::Busy {
            path: folder.to_owned(),
        }),
        // A file system without locks: then nobody can be kept away.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(source)) => Err(write_error(path, source)),
    }
}

pub(crate) fn write_error(path: &Path, source: io::Error) -> CookError {
    CookError::Write {
        path: path.to_owned(),
        source,
    }
}
