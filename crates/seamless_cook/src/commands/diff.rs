//! What differs between two packages, or two cooked folders, object by object. See [`diff`].

mod folders;
mod level;
mod objects;
mod registries;

pub use level::{ComponentDiff, LevelDiff};
pub use objects::{BulkDiff, ObjectDiff};

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::folder::{CookedFolder, PackageFile};
use super::inspect::InspectError;

/// Why two things cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// One is a folder and the other a file.
    #[error("{} is a folder and {} a file; give two packages, or two cooked folders", folder.display(), file.display())]
    Unlike {
        /// The folder.
        folder: PathBuf,
        /// The file.
        file: PathBuf,
    },
    /// One of them cannot be read.
    #[error(transparent)]
    Inspect(#[from] InspectError),
}

/// What [`diff`] found.
#[derive(Debug, Default, Serialize)]
pub struct DiffReport {
    /// The packages that differ, by name.
    pub packages: Vec<PackageDiff>,
    /// The manifests that differ, by name.
    pub manifests: Vec<ManifestDiff>,
    /// The registries that differ, by name.
    pub registries: Vec<RegistryDiff>,
    /// How many packages are the same, byte for byte.
    pub equal: usize,
}

impl DiffReport {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.packages.is_empty() && self.manifests.is_empty() && self.registries.is_empty()
    }
}

/// What became of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Only the second has it.
    Added,
    /// Only the first has it.
    Removed,
    /// Both have it, and it is not the same.
    Changed,
}

/// Bytes before and after; none where it is not there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// In the first.
    pub before: Option<u64>,
    /// In the second.
    pub after: Option<u64>,
}

impl Sizes {
    /// What became of the thing with these sizes.
    #[must_use]
    pub fn change(&self) -> Change {
        match (self.before, self.after) {
            (None, _) => Change::Added,
            (Some(_), None) => Change::Removed,
            (Some(_), Some(_)) => Change::Changed,
        }
    }
}

/// A package that differs.
#[derive(Debug, Serialize)]
pub struct PackageDiff {
    /// Its path in the folder; of two packages alone, the name that the first was cooked under.
    pub package: String,
    /// What became of it.
    pub change: Change,
    /// Its size.
    pub bytes: Sizes,
    /// What differs of the package as a whole: its name, its format, its versions, its imports.
    pub header: Vec<String>,
    /// The objects that differ; all of them where the package was added or removed.
    pub objects: Vec<ObjectDiff>,
    /// What differs of its level, entity by entity.
    pub level: Option<LevelDiff>,
}

/// A manifest that differs.
#[derive(Debug, Serialize)]
pub struct ManifestDiff {
    /// Its file.
    pub manifest: String,
    /// What became of it.
    pub change: Change,
    /// What differs, a line each.
    pub what: Vec<String>,
}

/// A registry that differs.
#[derive(Debug, Serialize)]
pub struct RegistryDiff {
    /// Its file.
    pub registry: String,
    /// What became of it.
    pub change: Change,
    /// What differs, a line each.
    pub what: Vec<String>,
    /// How many objects are as they were, but cost other bytes to load: why is told with the packages.
    pub resized: usize,
}

/// Compares two packages, or two cooked folders: what was added, removed and changed from `a` to `b`.
///
/// # Errors
/// When one of both cannot be read, or they are not of one kind.
pub fn diff(a: &Path, b: &Path) -> Result<DiffReport, DiffError> {
    match (a.is_dir(), b.is_dir()) {
        (true, true) => {
            let folders = [CookedFolder::open_sound(a)?, CookedFolder::open_sound(b)?];
            Ok(folders::diff(&folders[0], &folders[1])?)
        }
        (false, false) => {
            let packages = [PackageFile::alone(a)?, PackageFile::alone(b)?];
            let mut report = DiffReport::default();
            folders::add(Some(&packages[0]), Some(&packages[1]), &mut report)?;
            Ok(report)
        }
        (a_is_folder, _) => {
            let (folder, file) = if a_is_folder { (a, b) } else { (b, a) };
            Err(DiffError::Unlike {
                folder: folder.to_owned(),
                file: file.to_owned(),
            })
        }
    }
}
