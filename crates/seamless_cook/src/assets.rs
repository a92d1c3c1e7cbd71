//! Assets that levels refer to, each encoded once. See [`AssetStore`].

mod encode;
mod store;

pub(crate) use store::AssetStore;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bevy::platform::collections::HashSet;
use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use seamless_asset::StartupIndex;
use seamless_asset::codec::CodecRegistry;
use seamless_package::{Role, Schema, stored_size};
use serde::{Deserialize, Serialize};

use crate::clips::ClipOffers;
use crate::graph::blob::{self, Payload};
use crate::graph::digest::Digest;
use crate::graph::recorder::Recorder;
use crate::mesh_step::MeshUse;
use crate::report::ContentError;
use crate::texture::{TextureReport, TextureUse};
use crate::write::CODEC;

/// Which asset: the same for every level that uses it, and for every run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum AssetKey {
    /// An asset with a path: file, and label if it has one.
    Path { path: String, type_path: String },
    /// An asset without a path: the n-th of its type in the unit that it belongs to.
    Anonymous {
        unit: String,
        type_path: String,
        order: u32,
    },
    /// What stands for an asset in one level, because it leads to other variants of dialogue there.
    OfLevel { level: String, key: Box<Self> },
}

impl AssetKey {
    /// Whether it is the index of the startup content.
    pub(crate) fn is_startup_index(&self) -> bool {
        matches!(self, Self::Anonymous { type_path, .. } if type_path == StartupIndex::type_path())
    }

    /// Its path, or what stands for it.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Path { path, .. } => path.clone(),
            Self::Anonymous { type_path, order, .. } => {
                let name = type_path.rsplit("::").next().unwrap_or(type_path);
                format!("#{name}{order}")
            }
            Self::OfLevel { key, .. } => key.path(),
        }
    }

    /// The file that it is from, if it is from one.
    pub(crate) fn file(&self) -> Option<&str> {
        match self {
            Self::Path { path, .. } => path.split('#').next(),
            Self::Anonymous { .. } => None,
            Self::OfLevel { key, .. } => key.file(),
        }
    }

    /// The type of the asset.
    pub(crate) fn type_path(&self) -> &str {
        match self {
            Self::Path { type_path, .. } | Self::Anonymous { type_path, .. } => type_path,
            Self::OfLevel { key, .. } => key.type_path(),
        }
    }
}

/// An asset as bytes.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct EncodedObject {
    #[serde(with = "blob::schema")]
    pub schema: Arc<Schema>,
    #[serde(with = "blob::bytes")]
    pub data: Vec<u8>,
    pub bulk: Vec<Payload>,
}

/// How large an asset is, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectSize {
    /// As it is stored, with all payloads.
    pub stored: u64,
    /// Of that, what is read with it: no payloads that are read on demand. That much a copy takes.
    pub read: u64,
    /// What is read with it, unpacked.
    pub unpacked: u64,
}

impl core::ops::Add for ObjectSize {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            stored: self.stored.saturating_add(other.stored),
            read: self.read.saturating_add(other.read),
            unpacked: self.unpacked.saturating_add(other.unpacked),
        }
    }
}

impl ObjectSize {
    /// Of an encoded asset.
    pub(crate) fn of(object: &EncodedObject, is_on_demand: bool) -> Self {
        let stored = |bytes: &[u8]| stored_size(bytes, CODEC);
        let payloads: u64 = object.bulk.iter().map(|payload| stored(&payload.0)).sum();
        let unpacked: usize = object.bulk.iter().map(|payload| payload.0.len()).sum();
        let (data, unpacked_data) = (stored(&object.data), object.data.len());
        let (read, unpacked_read) = if is_on_demand { (0, 0) } else { (payloads, unpacked) };
        Self {
            stored: data + payloads,
            read: data + read,
            unpacked: (unpacked_data + unpacked_read) as u64,
        }
    }
}

/// What is known of an encoded asset without its bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ObjectRecord {
    /// Its [`EncodedObject`] in the cache.
    pub blob: Digest,
    pub type_path: String,
    #[serde(with = "blob::role")]
    pub role: Role,
    pub size: ObjectSize,
    /// Whether its payloads are read on demand.
    pub is_on_demand: bool,
    pub references: Vec<AssetKey>,
    /// Centre and half extents of a mesh.
    pub bounds: Option<([f32; 3], [f32; 3])>,
    /// Metres per unit of a mesh's two channels of texture coordinates, where meshes are looked at for that.
    pub uv_density: [Option<f32>; 2],
    /// Whether it is a material that hides what is behind it.
    pub hides: bool,
    /// What a mesh was put in order for, where meshes are.
    pub ordered: Option<MeshUse>,
    /// What is to be said about how it was encoded.
    pub warnings: Vec<String>,
    /// What a material uses textures for.
    pub uses: Vec<(AssetKey, TextureUse)>,
    /// How long it took to encode, and to compress.
    pub seconds: f64,
    /// What a texture was cooked for, and how.
    pub texture: Option<(TextureUse, TextureReport)>,
}

/// What a walk over a level's assets needs to know.
pub(crate) struct AssetWalk<'a> {
    pub world: &'a World,
    pub registry: &'a TypeRegistry,
    pub codecs: &'a CodecRegistry,
    /// The unit that assets without a path belong to.
    pub unit: &'a str,
    /// What was read of the channels of clips.
    pub clips: &'a ClipOffers,
    /// Who reads the files.
    pub recorder: &'a Recorder,
    /// Its source, for messages.
    pub source: &'a str,
}

/// What a glTF file holds beside what its scenes refer to.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct FileContents {
    /// Scenes that no level names, by index.
    pub scenes: BTreeMap<usize, bool>,
    /// Labels of materials.
    pub labels: BTreeSet<String>,
}

/// The assets that `roots` lead to, themselves included, whether they are known or not.
pub(crate) fn closure<'a>(
    objects: &'a BTreeMap<AssetKey, ObjectRecord>,
    roots: impl IntoIterator<Item = &'a AssetKey>,
) -> HashSet<&'a AssetKey> {
    let mut needed = HashSet::with_capacity(objects.len());
    let mut open: Vec<&AssetKey> = roots.into_iter().collect();
    while let Some(key) = open.pop() {
        if needed.insert(key) {
            open.extend(objects.get(key).into_iter().flat_map(|object| &object.references));
        }
    }
    needed
}

/// These assets, and all that lead to one of them.
pub(crate) fn referrers(objects: &BTreeMap<AssetKey, ObjectRecord>, of: &BTreeSet<AssetKey>) -> BTreeSet<AssetKey> {
    let mut users: BTreeMap<&AssetKey, Vec<&AssetKey>> = BTreeMap::new();
    for (key, object) in objects {
        for reference in &object.references {
            users.entry(reference).or_default().push(key);
        }
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<&AssetKey> = of.iter().collect();
    while let Some(key) = open.pop() {
        if found.insert(key.clone()) {
            open.extend(users.get(key).into_iter().flatten());
        }
    }
    found
}

/// What of the loaded files is not cooked.
pub(crate) fn left_out(
    files: &BTreeMap<String, FileContents>,
    objects: &BTreeMap<AssetKey, ObjectRecord>,
) -> Vec<ContentError> {
    let mut warnings = Vec::new();
    for (file, contents) in files {
        for (index, _) in contents.scenes.iter().filter(|(_, used)| !**used) {
            let message = format!("is part of no level; add one with the source `…#Scene{index}` to cook it");
            warnings.push(ContentError::new(file.as_str(), format!("Scene{index}"), message));
        }
        for label in contents.labels.iter().filter(|label| !uses(objects, file, label)) {
            let message = "is used by no cooked entity, and is left out";
            warnings.push(ContentError::new(file.as_str(), label.as_str(), message));
        }
    }
    warnings
}

/// Whether an asset with this label, or part of it (`Mesh0/Primitive1`), is cooked.
fn uses(objects: &BTreeMap<AssetKey, ObjectRecord>, file: &str, label: &str) -> bool {
    let prefix = format!("{file}#{label}");
    let first = AssetKey::Path {
        path: prefix.clone(),
        type_path: String::new(),
    };
    objects
        .range(first..)
        .map_while(|(key, _)| match key {
            AssetKey::Path { path, .. } => path.strip_prefix(&prefix),
            AssetKey::Anonymous { .. } | AssetKey::OfLevel { .. } => None,
        })
        .any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}
