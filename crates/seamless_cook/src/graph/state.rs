//! What is remembered of a cook. See [`Memory`].

mod memory;
#[cfg(test)]
mod tests;

use core::fmt;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use bevy::platform::hash::PassHash;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::digest::Digest;
use super::recorder::{Dependencies, SeenFile};
use super::storage::Stamp;
use crate::assets::{AssetKey, FileContents, ObjectRecord, Objects, SoftTarget, Text};
use crate::bounds::Bounds;
use crate::layout::LaidOut;
use crate::mesh_step::Draw;
use crate::report::ContentError;

pub(crate) use self::memory::{Kept, Memory};

/// Raised with every change of what is remembered: what an older cooker remembers is forgotten.
const FORMAT: u32 = 16;

/// With the files, enough to see that there is nothing to do.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// Of the program, the options, the world file and the settings beside it.
    pub identity: Option<Digest>,
    /// The asset root.
    pub root: PathBuf,
    /// When the cook began that looked at the files, in nanoseconds since 1970.
    pub began: i128,
    /// What was written, by file name.
    pub outputs: BTreeMap<String, Stamp>,
}

/// Files as a cook saw them, sorted by path.
#[derive(Default, Deserialize)]
pub(crate) struct SeenFiles(Vec<(String, SeenFile)>);

impl SeenFiles {
    pub fn all(&self) -> &[(String, SeenFile)] {
        &self.0
    }

    /// The place of a file.
    pub fn find(&self, path: &str) -> Option<usize> {
        let found = self.0.binary_search_by(|(known, _)| known.as_str().cmp(path));
        found.ok()
    }
}

/// Files, by their places in [`SeenFiles`], with what they held.
pub(crate) type SeenDependencies = Vec<(u32, Option<Digest>)>;

/// A source file that was loaded.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct FileUnit {
    /// It holds as long as these do.
    pub dependencies: SeenDependencies,
    pub loading: Loading,
}

/// By path.
pub(crate) type FileUnits = BTreeMap<String, FileUnit>;

/// How a file was loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Loading {
    pub settings: Settings,
    /// The unit that refers to it first, whose settings these are.
    pub owner: Text,
}

/// The settings that whoever refers to a file has it loaded with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Settings {
    /// Its own.
    #[default]
    Own,
    /// These, in Bevy's text format.
    Given(Text),
    /// Those changed in this way: the file is loaded through its referrer.
    Through(Text),
    /// Only the referrer knows: the file is loaded through it.
    Unknown,
}

impl Settings {
    /// Whether the file can be loaded by itself.
    pub fn is_replayable(&self) -> bool {
        matches!(self, Self::Own | Self::Given(_))
    }
}

/// The entities of a level as bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LevelUnit {
    /// Its source: unless it is an asset, it holds as long as that one's unit does.
    pub file: String,
    /// It has no entities, but is one asset, which is known by its path.
    pub is_asset: bool,
    /// It was planned because of a soft reference: whether it still is will be known when all else is.
    pub is_soft: bool,
    pub blob: Digest,
    /// How long it took to encode.
    pub seconds: f64,
    pub entities: u32,
    /// What columns and resources refer to, each once.
    pub references: Vec<AssetKey>,
    /// Parts of its file that are exported whether anything refers to them or not.
    pub labelled: Vec<AssetKey>,
    /// What is drawn, each pair once.
    pub drawn: BTreeSet<Draw>,
    pub contents: Option<FileContents>,
    pub warnings: Vec<ContentError>,
    /// What its components refer to softly.
    pub soft: Vec<SoftTarget>,
}

impl LevelUnit {
    /// All assets that the level brings in, before what these refer to.
    pub fn roots(&self) -> impl Iterator<Item = &AssetKey> {
        self.references.iter().chain(&self.labelled)
    }
}

/// The startup content as bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StartupUnit {
    /// What was asked for, and by whom.
    pub asked: Option<Digest>,
    /// The files that were asked for.
    pub files: BTreeSet<String>,
    pub dependencies: Dependencies,
    /// Its index; none if there is no startup content.
    pub root: Option<AssetKey>,
}

/// A package in the output folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// Of all that it was made from.
    pub key: Digest,
    pub stamp: Stamp,
    pub content_hash: u64,
    pub exports: u32,
    /// Of what its assets' names follow from, and these names, in the order of its assets.
    pub names_key: Digest,
    #[serde(with = "shared")]
    pub names: Arc<Vec<String>>,
    /// The packages that it imports from.
    pub used: Vec<String>,
}

/// A list that is passed on as it is.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(list: &Arc<Vec<String>>, serializer: S) -> Result<S::Ok, S::Error> {
        (**list).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Vec<String>>, D::Error> {
        Vec::deserialize(deserializer).map(Arc::new)
    }
}

/// What sources became.
#[derive(Default, Deserialize)]
pub(crate) struct Units {
    /// Of what the app is built by, where that can be told: where it is the same, so is the fingerprint.
    pub program: Option<Digest>,
    /// Of the app's types, codecs, loaders and versions.
    pub fingerprint: Option<Digest>,
    /// A part of its own.
    #[serde(skip)]
    pub files: Arc<FileUnits>,
    /// By what they follow from beside their source.
    pub levels: BTreeMap<String, LevelUnit>,
    pub startup: StartupUnit,
    /// The assets of files, levels and startup content, sorted.
    #[serde(deserialize_with = "objects")]
    pub objects: Objects,
}

/// As [`Units`], with what is somebody else's: the same fields in the same order, and the objects behind them. Files are a part of their own.
#[derive(Serialize)]
pub(crate) struct UnitsOf<'a> {
    pub program: Option<Digest>,
    pub fingerprint: Option<Digest>,
    pub levels: BTreeMap<&'a str, &'a LevelUnit>,
    pub startup: &'a StartupUnit,
    #[serde(skip)]
    pub objects: Vec<(&'a AssetKey, &'a ObjectRecord)>,
}

/// As [`FileUnits`], sorted by path.
pub(crate) type FileUnitsOf<'a> = Vec<(&'a str, FileUnitOf<'a>)>;

/// As [`FileUnit`].
#[derive(Serialize)]
pub(crate) struct FileUnitOf<'a> {
    pub dependencies: Cow<'a, [(u32, Option<Digest>)]>,
    pub loading: Cow<'a, Loading>,
}

/// What levels and packages became of the units.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// By level: of what they follow from, and the bounds.
    pub bounds: BTreeMap<String, (Digest, Option<Bounds>)>,
    pub packages: BTreeMap<String, Written>,
    /// Where the objects lie, if these are all that is remembered.
    pub layout: Option<LaidOut>,
}

/// For so many objects there is room before they are read.
const MOST_AHEAD: usize = 1 << 16;

fn objects<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Objects, D::Error> {
    struct InOrder;

    impl<'de> Visitor<'de> for InOrder {
        type Value = Objects;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("objects")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Objects, A::Error> {
            let capacity = list.size_hint().unwrap_or_default().min(MOST_AHEAD);
            let mut objects = Objects::with_capacity_and_hasher(capacity, PassHash);
            while let Some((key, object)) = list.next_element()? {
                objects.insert(key, object);
            }
            Ok(objects)
        }
    }

    deserializer.deserialize_seq(InOrder)
}
