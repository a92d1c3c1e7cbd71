//! What is remembered of a cook. See [`Memory`].

#[cfg(test)]
mod tests;

use core::fmt;
use core::ops::Range;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use bevy::platform::hash::PassHash;
use serde::de::{DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::digest::Digest;
use super::recorder::{Dependencies, SeenFile};
use super::storage::Stamp;
use crate::assets::{AssetKey, FileContents, ObjectRecord, Objects, Text, from_bytes, to_bytes};
use crate::bounds::Bounds;
use crate::mesh_step::Draw;
use crate::report::{ContentError, CookReport};

/// Raised with every change of what is remembered: what an older cooker remembers is forgotten.
const FORMAT: u32 = 11;

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
#[derive(Debug, Default, Deserialize)]
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
    /// Its source: it holds as long as that one's unit does.
    pub file: String,
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
    pub files: FileUnits,
    /// By what they follow from beside their source.
    pub levels: BTreeMap<String, LevelUnit>,
    pub startup: StartupUnit,
    /// The assets of files, levels and startup content, sorted.
    #[serde(deserialize_with = "objects")]
    pub objects: Objects,
}

/// As [`Units`], with what is somebody else's: the same fields in the same order. Files are a part of their own.
#[derive(Serialize)]
pub(crate) struct UnitsOf<'a> {
    pub program: Option<Digest>,
    pub fingerprint: Option<Digest>,
    pub levels: BTreeMap<&'a str, &'a LevelUnit>,
    pub startup: &'a StartupUnit,
    pub objects: Vec<(&'a AssetKey, &'a ObjectRecord)>,
}

/// As [`FileUnits`].
pub(crate) type FileUnitsOf<'a> = BTreeMap<&'a str, FileUnitOf<'a>>;

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

/// The parts of a [`Memory`], in their order.
#[derive(Clone, Copy)]
enum Part {
    /// [`Units`], less files.
    Units,
    /// [`FileUnits`].
    FileUnits,
    /// [`SeenFiles`].
    Files,
    /// [`Outcome`].
    Outcome,
    /// [`CookReport`].
    Report,
    /// [`Seen`].
    Seen,
}

const PARTS: usize = 6;
/// Bytes of the format, then of length and hash of each part.
const FOOT: usize = 8 * (1 + 2 * PARTS);

/// What a cook leaves for the next, in parts, because a cook that finds nothing to do needs only some. Each is checked when it is
/// read; one that is damaged, or another version's, is none: then everything is cooked.
///
/// ```text
/// part, part …, format, length and xxh3 of each part
/// ```
pub(crate) struct Memory(Vec<u8>);

/// What a cook can tell of sources before it is done, as bytes.
pub(crate) struct Kept {
    bytes: Vec<u8>,
    lengths: [usize; 3],
}

impl Kept {
    /// Of units, and of all files that they depend on, sorted.
    pub fn new(units: &UnitsOf, files: &FileUnitsOf, seen: &[(&str, SeenFile)]) -> Self {
        let parts = [to_bytes(units), to_bytes(files), postcard::to_allocvec(seen)].map(encoded);
        Self {
            lengths: parts.each_ref().map(Vec::len),
            bytes: parts.concat(),
        }
    }
}

/// Plain data into memory: nothing that could fail.
fn encoded(bytes: postcard::Result<Vec<u8>>) -> Vec<u8> {
    bytes.unwrap_or_default()
}

impl Memory {
    /// What is to be remembered.
    pub fn new(kept: Kept, outcome: &Outcome, report: &CookReport, seen: &Seen) -> Self {
        let (mut bytes, mut lengths) = (kept.bytes, kept.lengths.to_vec());
        for part in [
            postcard::to_allocvec(outcome),
            to_bytes(report),
            postcard::to_allocvec(seen),
        ] {
            let part = encoded(part);
            lengths.push(part.len());
            bytes.extend(part);
        }
        let mut foot = u64::from(FORMAT).to_le_bytes().to_vec();
        let mut start = 0;
        for length in lengths {
            let part = bytes.get(start..start + length).unwrap_or_default();
            foot.extend((length as u64).to_le_bytes());
            foot.extend(xxh3_64(part).to_le_bytes());
            start += length;
        }
        bytes.extend(foot);
        Self(bytes)
    }

    /// The bytes of a file, whatever they are.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn seen(&self) -> Option<Seen> {
        self.read(Part::Seen)
    }

    pub fn files(&self) -> Option<SeenFiles> {
        self.read(Part::Files)
    }

    pub fn report(&self) -> Option<CookReport> {
        from_bytes(self.part(Part::Report)?).ok()
    }

    pub fn outcome(&self) -> Option<Outcome> {
        self.read(Part::Outcome)
    }

    /// Without files, which are a part of their own.
    pub fn units(&self) -> Option<Units> {
        from_bytes(self.part(Part::Units)?).ok()
    }

    pub fn file_units(&self) -> Option<FileUnits> {
        from_bytes(self.part(Part::FileUnits)?).ok()
    }

    fn read<T: DeserializeOwned>(&self, part: Part) -> Option<T> {
        postcard::from_bytes(self.part(part)?).ok()
    }

    /// The bytes of a part, if they are what was written.
    fn part(&self, part: Part) -> Option<&[u8]> {
        let (parts, foot) = self.0.split_last_chunk::<FOOT>()?;
        let ([format, told @ ..], _) = foot.as_chunks::<8>() else {
            return None;
        };
        if u64::from_le_bytes(*format) != u64::from(FORMAT) {
            return None;
        }
        let mut start = 0;
        for (index, [length, hash]) in told.as_chunks::<2>().0.iter().enumerate() {
            let range = range(start, u64::from_le_bytes(*length))?;
            start = range.end;
            if index == part as usize {
                let bytes = parts.get(range)?;
                return (xxh3_64(bytes) == u64::from_le_bytes(*hash)).then_some(bytes);
            }
        }
        None
    }
}

fn range(start: usize, length: u64) -> Option<Range<usize>> {
    let length = usize::try_from(length).ok()?;
    Some(start..start.checked_add(length)?)
}
