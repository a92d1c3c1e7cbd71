//! The disk, as narrow as the cooker needs it. See [`Storage`].

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// What tells, without reading it, that a file was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub bytes: u64,
    /// Nanoseconds since 1970.
    modified: i128,
    /// When the file was changed in any way, and its number, where the system tells: an old time can be given to new content.
    changed: i128,
    inode: u64,
}

impl Stamp {
    pub fn of(metadata: &fs::Metadata) -> Self {
        let modified = metadata.modified().ok();
        let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = since.map_or(0, |since| since.as_nanos() as i128);
        let (changed, inode) = identity(metadata);
        Self {
            bytes: metadata.len(),
            modified,
            changed,
            inode,
        }
    }

    /// Of a file that is not in its place yet: equal to none that is.
    pub fn of_new(bytes: u64) -> Self {
        Self {
            bytes,
            modified: 0,
            changed: 0,
            inode: 0,
        }
    }

    /// When the file was changed last, in nanoseconds since 1970; as it says itself, where the system does not tell.
    pub fn latest(&self) -> i128 {
        if self.changed == 0 { self.modified } else { self.changed }
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> (i128, u64) {
    use std::os::unix::fs::MetadataExt;
    let changed = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
    (changed, metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> (i128, u64) {
    (0, 0)
}

/// What the cooker does to its output folder, and nothing else does.
pub(crate) trait Storage {
    /// All of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// A new file with these bytes, which are on the disk when this returns if `sync` says so.
    fn write(&self, path: &Path, bytes: &[u8], sync: bool) -> io::Result<()>;
    /// Puts a file in the place of another one, if there is one, at once.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes a folder, and those that it lies in.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Has the names in a folder on the disk.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
}

/// The real one.
pub(crate) struct Disk;

impl Storage for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
        let mut file = create(path)?;
        file.write_all(bytes)?;
        if sync { file.sync_data() } else { Ok(()) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        // Windows has no such thing, and needs none.
        #[cfg(unix)]
        File::open(path)?.sync_all()?;
        let _ = path;
        Ok(())
    }
}

/// A file that was not there before: what has its name is removed, so that nothing is written through a link.
fn create(path: &Path) -> io::Result<File> {
    match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            File::create_new(path)
        }
        created => created,
    }
}

/// The stamp of a file; none if there is no such file.
pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    metadata.is_file().then(|| Stamp::of(&metadata))
}
