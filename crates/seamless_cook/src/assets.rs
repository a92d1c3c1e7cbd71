//! Assets that levels refer to, each encoded once. See [`AssetStore`].

mod encode;
mod key;
mod mentions;
mod packing;
mod store;

pub(crate) use key::{AssetKey, AssetName, ByKey, ByKeyRef, KeySet, Objects};
pub(crate) use mentions::{Text, from_bytes, in_words_of, mentioned, to_bytes, to_bytes_of_list};
pub(crate) use store::{AssetStore, Inherited};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use seamless_asset::SoftReference;
use seamless_asset::codec::{BulkUse, CodecRegistry, Told};
use seamless_package::{Codec, Packed, Role, Schema};
use serde::{Deserialize, Serialize};

use crate::clips::ClipOffers;
use crate::graph::blob::{self, Stored};
use crate::graph::digest::Digest;
use crate::graph::recorder::Recorder;
use crate::mesh_step::MeshUse;
use crate::report::ContentError;
use crate::texture::{TextureReport, TextureUse};

/// An asset as bytes.
pub(crate) struct RawObject {
    pub schema: Arc<Schema>,
    pub data: Vec<u8>,
    pub bulk: Vec<Vec<u8>>,
}

/// An asset as packages store it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct EncodedObject {
    #[serde(with = "blob::schema")]
    pub schema: Arc<Schema>,
    pub data: Stored,
    pub bulk: Vec<Stored>,
}

impl RawObject {
    /// For packages whose data is stored with `codec`.
    pub(crate) fn pack(self, codec: Codec) -> EncodedObject {
        let pack = |bytes| Stored(Packed::new(bytes, codec));
        EncodedObject {
            schema: self.schema,
            data: pack(self.data),
            bulk: self.bulk.into_iter().map(pack).collect(),
        }
    }
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
        let stored = |part: &Stored| part.0.stored().len() as u64;
        let payloads: u64 = object.bulk.iter().map(stored).sum();
        let unpacked: u64 = object.bulk.iter().map(|payload| payload.0.raw_size()).sum();
        let (data, unpacked_data) = (stored(&object.data), object.data.0.raw_size());
        let (read, unpacked_read) = if is_on_demand { (0, 0) } else { (payloads, unpacked) };
        Self {
            stored: data + payloads,
            read: data + read,
            unpacked: unpacked_data + unpacked_read,
        }
    }
}

/// An encoded asset as the cache keeps it, and what it will take in a package. Making it takes time, which threads have.
pub(crate) struct MeasuredObject {
    /// An [`EncodedObject`].
    pub bytes: Vec<u8>,
    pub size: ObjectSize,
}

impl MeasuredObject {
    /// For packages whose data is stored with `codec`.
    pub(crate) fn of(object: RawObject, codec: Codec, bulk_use: BulkUse) -> Self {
        let packed = object.pack(codec);
        Self {
            // Plain data into memory: nothing that could fail.
            bytes: postcard::to_allocvec(&packed).unwrap_or_default(),
            size: ObjectSize::of(&packed, bulk_use == BulkUse::OnDemand),
        }
    }
}

/// What is known of an encoded asset without its bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ObjectRecord {
    /// Its [`EncodedObject`] in the cache.
    pub blob: Digest,
    #[serde(with = "blob::role")]
    pub role: Role,
    pub size: ObjectSize,
    /// Whether its payloads are read on demand, by an app with the codecs of the cooker.
    pub is_on_demand: bool,
    /// Whether apps may do without its payloads.
    pub is_marked: bool,
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
    pub texture: Option<Box<(TextureUse, TextureReport)>>,
    /// What its codec told of it, if anything.
    pub told: Option<Box<StoredTold>>,
}

/// A path that something refers to softly, and the stable name of the type that is expected there; empty if any will do.
pub(crate) type SoftTarget = (String, String);

/// What is told of an object beside its bytes, for the registry; see [`Told`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredTold {
    pub soft: Vec<SoftTarget>,
    pub tags: Vec<(String, String)>,
    pub bundles: Vec<(String, Vec<String>)>,
}

impl StoredTold {
    /// None where nothing was told.
    pub(crate) fn of(told: Told) -> Option<Box<Self>> {
        if told.is_empty() {
            return None;
        }
        let paths = |references: Vec<SoftReference>| references.into_iter().map(|reference| reference.path).collect();
        Some(Box::new(Self {
            soft: soft_targets(told.soft),
            tags: told.tags.into_iter().collect(),
            bundles: told
                .bundles
                .into_iter()
                .map(|(name, bundle)| (name, paths(bundle)))
                .collect(),
        }))
    }
}

/// Soft references as they are kept.
pub(crate) fn soft_targets(soft: impl IntoIterator<Item = SoftReference>) -> Vec<SoftTarget> {
    let targets = soft.into_iter().map(|reference| (reference.path, reference.type_path));
    targets.collect()
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

/// The assets that some lead to. See [`closure`].
pub(crate) struct Closure<'a> {
    objects: &'a Objects,
    /// By index in `objects`.
    is_in: Vec<bool>,
    /// Those of which nothing is known.
    pub unknown: KeySet<'a>,
}

/// The assets that `roots` lead to, themselves included, whether they are known or not.
pub(crate) fn closure<'a>(objects: &'a Objects, roots: impl IntoIterator<Item = &'a AssetKey>) -> Closure<'a> {
    let (mut is_in, mut unknown) = (vec![false; objects.len()], KeySet::default());
    let mut open: Vec<&AssetKey> = roots.into_iter().collect();
    while let Some(key) = open.pop() {
        let Some((index, _, object)) = objects.get_full(key) else {
            unknown.insert(key);
            continue;
        };
        if let Some(is_in) = is_in.get_mut(index).filter(|is_in| !**is_in) {
            *is_in = true;
            open.extend(&object.references);
        }
    }
    Closure {
        objects,
        is_in,
        unknown,
    }
}

impl<'a> Closure<'a> {
    pub(crate) fn contains(&self, key: &AssetKey) -> bool {
        let index = self.objects.get_index_of(key);
        index.map_or_else(|| self.unknown.contains(key), |index| self.holds(index))
    }

    fn holds(&self, index: usize) -> bool {
        self.is_in.get(index).copied().unwrap_or_default()
    }

    /// Those that are known, in the order of the objects.
    pub(crate) fn known(&self) -> impl Iterator<Item = (&'a AssetKey, &'a ObjectRecord)> {
        let all = self.objects.iter().zip(&self.is_in);
        all.filter(|(_, is_in)| **is_in).map(|(object, _)| object)
    }

    /// Whether it is all that is known.
    pub(crate) fn is_all(&self) -> bool {
        self.is_in.iter().all(|is_in| *is_in)
    }
}

/// These assets, and all that lead to one of them.
pub(crate) fn referrers(objects: &Objects, of: &BTreeSet<AssetKey>) -> BTreeSet<AssetKey> {
    let mut users: ByKeyRef<Vec<&AssetKey>> = ByKeyRef::default();
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

/// What of the loaded files is not cooked; the objects are sorted.
pub(crate) fn left_out(files: &BTreeMap<String, FileContents>, objects: &Objects) -> Vec<ContentError> {
    let mut warnings = Vec::new();
    for (file, contents) in files {
        for (index, _) in contents.scenes.iter().filter(|(_, used)| !**used) {
            let message = format!("is part of no level; add one with the source `…#Scene{index}` to cook it");
            warnings.push(ContentError::new(file.as_str(), format!("Scene{index}"), message));
        }
        let used = labels(objects, file);
        for label in contents.labels.iter().filter(|label| !uses(&used, label)) {
            let message = "is used by no cooked entity, and is left out";
            warnings.push(ContentError::new(file.as_str(), label.as_str(), message));
        }
    }
    warnings
}

/// The labels of a file's assets, sorted.
fn labels<'a>(objects: &'a Objects, file: &str) -> Vec<&'a str> {
    let prefix = format!("{file}#");
    let names = objects.as_slice();
    let first = names.partition_point(|key, _| match key.name() {
        AssetName::Path { path, .. } => *path < prefix,
        AssetName::Anonymous { .. } | AssetName::OfLevel { .. } => false,
    });
    let below = names.iter().skip(first).map_while(|(key, _)| match key.name() {
        AssetName::Path { path, .. } => path.strip_prefix(&prefix),
        AssetName::Anonymous { .. } | AssetName::OfLevel { .. } => None,
    });
    below.collect()
}

/// Whether an asset with this label, or part of it (`Mesh0/Primitive1`), is among these.
fn uses(labels: &[&str], label: &str) -> bool {
    let first = labels.partition_point(|known| *known < label);
    let mut below = labels.iter().skip(first).map_while(|known| known.strip_prefix(label));
    below.any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}
