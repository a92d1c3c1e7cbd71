//! Derived data: what steps of earlier cooks made, by its content. See [`Cache`].

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};

use super::digest::Digest;
use super::storage::Storage;

/// A folder of files that are named after the digest of their content.
///
/// What is read is compared with its name: a damaged file is as good as none, and made again. So nothing has to be on the disk
/// before a cook ends.
pub(crate) struct Cache<'a> {
    storage: &'a dyn Storage,
    folder: PathBuf,
    writes: Cell<u64>,
}

impl<'a> Cache<'a> {
    pub fn new(storage: &'a dyn Storage, folder: PathBuf) -> Self {
        Self {
            storage,
            folder,
            writes: Cell::new(0),
        }
    }

    /// How many files were written.
    pub fn writes(&self) -> u64 {
        self.writes.get()
    }

    /// Keeps bytes.
    pub fn put(&self, bytes: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(bytes);
        if self.get(&digest).is_some() {
            return Ok(digest);
        }
        let path = self.path(&digest);
        if let Some(folder) = path.parent() {
            self.storage.make_folder(folder)?;
        }
        let aside = path.with_extension("tmp");
        self.storage.write(&aside, bytes, false)?;
        self.storage.rename(&aside, &path)?;
        self.writes.set(self.writes.get() + 1);
        Ok(digest)
    }

    /// What was kept, if it is still there and sound.
    pub fn get(&self, digest: &Digest) -> Option<Vec<u8>> {
        let bytes = self.storage.read(&self.path(digest)).ok()?;
        (Digest::of(&bytes) == *digest).then_some(bytes)
    }

    /// Where it is, if it is there.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_string();
        let (folder, file) = name.split_at(2);
        self.folder.join(Path::new(folder)).join(file)
    }
}
