//! What is remembered of a cook. See [`Memory`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::recorder::{Dependencies, SeenFile};
use super::storage::Stamp;
use crate::assets::{AssetKey, FileContents, ObjectRecord, from_bytes, to_bytes};
use crate::bounds::Bounds;
use crate::mesh_step::Draw;
use crate::report::{ContentError, CookReport};

/// Raised with every change of what is remembered: what an older cooker remembers is forgotten.
const FORMAT: u32 = 8;

/// What is enough to see that there is nothing to do.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// Of the program, the options, the world file and the settings beside it.
    pub identity: Option<Digest>,
    /// The asset root.
    pub root: PathBuf,
    /// When the cook began that looked at the files, in nanoseconds since 1970.
    pub began: i128,
    pub files: BTreeMap<String, SeenFile>,
    /// What was written, by file name.
    pub outputs: BTreeMap<String, Stamp>,
    pub report: CookReport,
}

/// A source file that was loaded, and its assets as bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct FileUnit {
    /// It holds as long as these do.
    pub dependencies: Dependencies,
    pub loading: Loading,
    /// Its assets, sorted.
    pub objects: Vec<(AssetKey, ObjectRecord)>,
}

/// How a file was loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Loading {
    pub settings: Settings,
    /// The unit that refers to it first, whose settings these are.
    pub owner: String,
}

/// The settings that whoever refers to a file has it loaded with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Settings {
    /// Its own.
    #[default]
    Own,
    /// These, in Bevy's text format.
    Given(Vec<u8>),
    /// Those changed in this way: the file is loaded through its referrer.
    Through(Vec<u8>),
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
    /// Assets of no file.
    pub objects: Vec<(AssetKey, ObjectRecord)>,
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
    /// Assets of no file.
    pub objects: Vec<(AssetKey, ObjectRecord)>,
    /// Its index, among these; none if there is no startup content.
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
    pub names: Vec<String>,
    /// The packages that it imports from.
    pub used: Vec<String>,
}

/// Everything that the next cook can start from.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Graph {
    /// Of what the app is built by, where that can be told: where it is the same, so is the fingerprint.
    pub program: Option<Digest>,
    /// Of the app's types, codecs, loaders and versions.
    pub fingerprint: Option<Digest>,
    pub files: BTreeMap<String, FileUnit>,
    /// By what they follow from beside their source.
    pub levels: BTreeMap<String, LevelUnit>,
    pub startup: StartupUnit,
    /// By level: of what they follow from, and the bounds.
    pub bounds: BTreeMap<String, (Digest, Option<Bounds>)>,
    pub packages: BTreeMap<String, Written>,
}

/// What a cook leaves for the next: two parts, of which the first is enough where nothing has changed. Each is checked when it is
/// read; one that is damaged, or another version's, is none: then everything is cooked.
pub(crate) struct Memory {
    head: Head,
    /// Both parts, one behind the other.
    parts: Vec<u8>,
}

impl Memory {
    /// The bytes of a file.
    pub fn encode(seen: &Seen, graph: &Graph) -> Vec<u8> {
        // Plain data into memory: nothing that could fail.
        let bytes = |value: Result<Vec<u8>, postcard::Error>| value.unwrap_or_default();
        let seen = bytes(postcard::to_allocvec(seen));
        let graph = bytes(to_bytes(graph));
        let head = Head {
            format: FORMAT,
            seen: Digest::of(&seen),
            graph: Digest::of(&graph),
            seen_bytes: seen.len() as u64,
        };
        let head = bytes(postcard::to_allocvec(&head));
        [&(head.len() as u32).to_le_bytes()[..], &head, &seen, &graph].concat()
    }

    /// What [`encode`](Self::encode) wrote.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (len, rest) = bytes.split_first_chunk::<4>()?;
        let (head, parts) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        let head: Head = postcard::from_bytes(head).ok()?;
        let parts = parts.to_owned();
        (head.format == FORMAT).then_some(Self { head, parts })
    }

    pub fn seen(&self) -> Option<Seen> {
        let bytes = checked(self.split()?.0, self.head.seen)?;
        postcard::from_bytes(bytes).ok()
    }

    pub fn graph(&self) -> Option<Graph> {
        let bytes = checked(self.split()?.1, self.head.graph)?;
        from_bytes(bytes).ok()
    }

    fn split(&self) -> Option<(&[u8], &[u8])> {
        self.parts.split_at_checked(usize::try_from(self.head.seen_bytes).ok()?)
    }
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
    seen: Digest,
    graph: Digest,
    seen_bytes: u64,
}

fn checked(bytes: &[u8], digest: Digest) -> Option<&[u8]> {
    (Digest::of(bytes) == digest).then_some(bytes)
}
