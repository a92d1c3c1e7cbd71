//! What a cook tells: its report, its errors, its progress.

use std::path::PathBuf;

use seamless_asset::StartupReport;
use serde::{Deserialize, Serialize};

use crate::graph::recorder::file_and_label;
use crate::layout::LayoutReport;
use crate::texture::TextureReport;

/// Something about one file, and one object in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContentError {
    /// The source file, as written in the world file, or relative to the asset root.
    pub file: String,
    /// The object in it; empty when it is about the whole file.
    pub object: String,
    /// What is wrong, and how to mend it.
    pub message: String,
}

impl ContentError {
    /// An error about `object` of `file`; an empty object stands for the whole file.
    pub fn new(file: impl Into<String>, object: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            object: object.into(),
            message: message.into(),
        }
    }

    /// An error about the asset of this path.
    pub(crate) fn at(path: &str, message: impl Into<String>) -> Self {
        let (file, label) = file_and_label(path);
        Self::new(file, label.unwrap_or_default(), message)
    }
}

impl core::fmt::Display for ContentError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.object.is_empty() {
            write!(f, "{}: {}", self.file, self.message)
        } else {
            write!(f, "{} ({}): {}", self.file, self.object, self.message)
        }
    }
}

/// One cooked level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelReport {
    /// Its name.
    pub name: String,
    /// Its source, as written in the world file.
    pub source: String,
    /// How many entities it has.
    pub entities: u32,
    /// Size of its package in bytes.
    pub bytes: u64,
    /// The other packages that it needs, or brings along for others.
    pub dependencies: Vec<String>,
}

/// One package that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageReport {
    /// Its file name in the output directory.
    pub file: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many assets it holds.
    pub assets: u32,
    /// How many levels use it.
    pub users: u32,
}

/// What a cook did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CookReport {
    /// The world's name.
    pub world: String,
    /// The levels, in the order of the world file.
    pub levels: Vec<LevelReport>,
    /// What the startup content pins, and for whom; none if there is no such content.
    pub startup: Option<StartupReport>,
    /// The packages, that of the startup content and the shared ones first. Empty when there were errors: then nothing is written.
    pub packages: Vec<PackageReport>,
    /// Where the objects lie that several levels use, and what that costs.
    pub layout: LayoutReport,
    /// Size of all packages in bytes.
    pub bytes: u64,
    /// Entities of all levels.
    pub entities: u64,
    /// Which variants of dialogue came with which level, where the world file limits them.
    pub dialogue: Vec<DialogueReport>,
    /// Levels and instances that no volume loads, in a world whose author wrote its volumes, and that are neither always loaded nor on request: they come by
    /// their distance, or when the game asks for them.
    pub without_volume: Vec<String>,
    /// What was left out, or looks wrong but is not.
    pub warnings: Vec<ContentError>,
    /// What is wrong with the content, all of it.
    pub errors: Vec<ContentError>,
    /// What became of the textures; empty where the profile leaves them as they are.
    pub textures: Vec<CookedTextureReport>,
    /// The assets and levels that took longest, the slowest first; at most [`SLOWEST_OBJECTS`].
    pub slowest: Vec<ObjectTiming>,
    /// How long it took.
    pub seconds: f64,
    /// What had to be done: all of it for a first cook, nothing where nothing has changed.
    pub work: CookWork,
}

/// How many of the slowest objects a report tells.
pub const SLOWEST_OBJECTS: usize = 40;

/// A texture that was cooked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CookedTextureReport {
    /// Its object path in the sources: file, and label if it has one.
    pub object: String,
    /// What was done to it, and how good it is.
    pub texture: TextureReport,
}

/// A set of dialogue variants of which a level has some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialogueReport {
    /// The level.
    pub level: String,
    /// The set: its path in the sources.
    pub set: String,
    /// The sounds that came with the level, by their paths.
    pub sounds: Vec<String>,
    /// How many variants the set has in all.
    pub variants: u32,
}

/// How long the cook of an object took, whichever cook it was that last had to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectTiming {
    /// The object: its path in the sources.
    pub object: String,
    /// What was done: `compress` a texture, or `encode` anything else.
    pub step: String,
    /// How long it took on its thread, in seconds. What Bevy's loaders took is not in it.
    pub seconds: f64,
}

/// What a cook had to do, beside looking whether there is anything to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CookWork {
    /// Source files that Bevy's loaders loaded.
    pub sources_loaded: u64,
    /// Levels and assets that became bytes.
    pub encoded: u64,
    /// Packages that were written; all others were as they should be.
    pub packages_written: u64,
    /// Files that were written, those of the cache included.
    pub files_written: u64,
}

/// Why a world was not cooked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CookError {
    /// The content has errors; nothing was written.
    #[error("{} in the content of `{}`; nothing was written", counted(.0.errors.len(), "error"), .0.world)]
    Content(Box<CookReport>),
    /// The output cannot be written.
    #[error("{} cannot be written: {source}; free the disk, or give another `--out`", path.display())]
    Write {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another cook is at work in the output directory.
    #[error("another cook is at work in {}; wait until it is done, or cook into another directory", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// The cooker's folder in the output directory has a symbolic link in it, or is one.
    #[error("{} is a symbolic link, and what is written there would end up elsewhere; remove it", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The output directory holds another world's packages under the same names.
    #[error("`{file}` in the output directory belongs to the world `{world}`; cook into a directory of its own")]
    ForeignPackage {
        /// The package.
        file: String,
        /// The other world.
        world: String,
    },
    /// The output directory holds a package that a newer build saved, or one with another plugin.
    #[error("{} was saved by a newer build, or one with another plugin, and is not overwritten: {why}; or cook into another directory", path.display())]
    NewerPackage {
        /// The package's file.
        path: PathBuf,
        /// What is in it that this build does not know.
        why: String,
    },
}

impl CookError {
    /// The content errors, if it is about content.
    #[must_use]
    pub fn content_errors(&self) -> &[ContentError] {
        match self {
            Self::Content(report) => &report.errors,
            _ => &[],
        }
    }
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The stages of a cook, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Bevy's loaders load the levels' sources. Steps are levels.
    Load,
    /// Levels and their assets become bytes. Steps are levels; runs interleaved with [`Stage::Load`].
    Encode,
    /// Deciding which assets are shared, copied, or persistent. Steps are assets.
    Share,
    /// Packages are compressed and written. Steps are packages.
    Write,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 4] = [Self::Load, Self::Encode, Self::Share, Self::Write];

    /// A short name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Encode => "encode",
            Self::Share => "share",
            Self::Write => "write",
        }
    }
}

/// Is told how far a cook has come. All methods do nothing unless implemented.
pub trait Progress {
    /// `stage` begins; it has `steps` steps.
    fn begin(&self, stage: Stage, steps: u64) {
        let _ = (stage, steps);
    }

    /// One step of `stage` is done; `what` was it.
    fn step(&self, stage: Stage, what: &str) {
        let _ = (stage, what);
    }

    /// `stage` is over.
    fn end(&self, stage: Stage) {
        let _ = stage;
    }
}

/// No progress is shown.
impl Progress for () {}
