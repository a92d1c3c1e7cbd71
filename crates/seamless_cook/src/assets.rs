//! Assets that levels refer to, each encoded once. See [`AssetStore`].

use core::any::TypeId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bevy::animation::AnimationClip;
use bevy::asset::{LoadState, UntypedAssetId, UntypedHandle};
use bevy::camera::primitives::MeshAabb;
use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use bevy::tasks::block_on;
use seamless_asset::StartupIndex;
use seamless_asset::assets::ImageCodec;
use seamless_asset::codec::{AssetCodec, BulkUse, CodecRegistry, EncodeContext, EntityRows};
use seamless_package::{Role, Schema};
use serde::{Deserialize, Serialize};

use crate::clips::ClipOffers;
use crate::graph::blob::{self, Payload};
use crate::graph::cache::Cache;
use crate::graph::digest::Digest;
use crate::graph::recorder::Recorder;
use crate::graph::state::Settings;
use crate::report::ContentError;
use crate::texture::{TextureReport, TextureUse, material_uses};
use crate::texture_step::{CookedTexture, TextureStep};

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
        }
    }

    /// The file that it is from, if it is from one.
    pub(crate) fn file(&self) -> Option<&str> {
        match self {
            Self::Path { path, .. } => path.split('#').next(),
            Self::Anonymous { .. } => None,
        }
    }

    /// The type of the asset.
    pub(crate) fn type_path(&self) -> &str {
        match self {
            Self::Path { type_path, .. } | Self::Anonymous { type_path, .. } => type_path,
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

/// What is known of an encoded asset without its bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ObjectRecord {
    /// Its [`EncodedObject`] in the cache.
    pub blob: Digest,
    pub type_path: String,
    #[serde(with = "blob::role")]
    pub role: Role,
    /// Of data and payloads.
    pub bytes: u64,
    /// Whether its payloads are read on demand.
    pub is_on_demand: bool,
    pub references: Vec<AssetKey>,
    /// Centre and half extents of a mesh.
    pub bounds: Option<([f32; 3], [f32; 3])>,
    /// What is to be said about how it was encoded.
    pub warnings: Vec<String>,
    /// What a material uses textures for.
    pub uses: Vec<(AssetKey, TextureUse)>,
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

/// All assets of a world, encoded: the bytes in the cache, what is known of them here.
pub(crate) struct AssetStore<'c> {
    cache: &'c Cache<'c>,
    pub(crate) objects: BTreeMap<AssetKey, ObjectRecord>,
    /// The files of what was encoded, with the settings that they were loaded with.
    pub(crate) fresh: BTreeMap<String, Settings>,
    /// How many assets were encoded.
    pub(crate) encoded: u64,
    /// Why the cache could not be written to.
    pub(crate) stopped: Option<std::io::Error>,
    failed: BTreeSet<AssetKey>,
    anonymous: HashMap<UntypedAssetId, AssetKey>,
    counts: HashMap<TypeId, u32>,
    /// None where textures stay as they are.
    pub(crate) textures: Option<TextureStep>,
    pub(crate) clips: ClipOffers,
}

impl<'c> AssetStore<'c> {
    /// Nothing yet.
    pub(crate) fn new(cache: &'c Cache<'c>, textures: Option<TextureStep>) -> Self {
        Self {
            cache,
            objects: BTreeMap::new(),
            fresh: BTreeMap::new(),
            encoded: 0,
            stopped: None,
            failed: BTreeSet::new(),
            anonymous: HashMap::new(),
            counts: HashMap::new(),
            textures,
            clips: ClipOffers::default(),
        }
    }

    /// Takes over what an earlier cook has encoded.
    pub(crate) fn inherit(&mut self, objects: &BTreeMap<AssetKey, ObjectRecord>) {
        for (key, object) in objects {
            if let Some(textures) = &mut self.textures {
                for (texture, usage) in &object.uses {
                    textures.note_use(texture.clone(), *usage);
                }
            }
            self.objects.insert(key.clone(), object.clone());
        }
    }

    /// Drops what leads to something that could not be encoded: the next cook goes there again, and tells the same.
    pub(crate) fn drop_broken(&mut self) {
        loop {
            let is_broken = |object: &ObjectRecord| object.references.iter().any(|key| !self.objects.contains_key(key));
            let broken = self.objects.iter().filter(|(_, object)| is_broken(object));
            let broken: Vec<AssetKey> = broken.map(|(key, _)| key.clone()).collect();
            if broken.is_empty() {
                return;
            }
            broken.iter().for_each(|key| drop(self.objects.remove(key)));
        }
    }

    /// From now on, assets without a path are another unit's.
    pub(crate) fn begin_unit(&mut self) {
        self.anonymous.clear();
        self.counts.clear();
    }

    /// The assets without a path of a unit.
    pub(crate) fn anonymous_of(&self, of: &str) -> BTreeMap<AssetKey, ObjectRecord> {
        let own = |key: &AssetKey| matches!(key, AssetKey::Anonymous { unit, .. } if unit == of);
        let objects = self.objects.iter().filter(|(key, _)| own(key));
        objects.map(|(key, object)| (key.clone(), object.clone())).collect()
    }

    /// Puts bytes into the cache.
    pub(crate) fn keep(&mut self, bytes: &[u8]) -> Option<Digest> {
        match self.cache.put(bytes) {
            Ok(digest) => Some(digest),
            Err(error) => {
                self.stopped.get_or_insert(error);
                None
            }
        }
    }

    /// Encodes parts of a level's file that nothing may refer to. What cannot be encoded is told as a warning, and is left out.
    pub(crate) fn add_labelled(
        &mut self,
        walk: &AssetWalk,
        handles: &[UntypedHandle],
        warnings: &mut Vec<ContentError>,
    ) -> Vec<AssetKey> {
        let mut labelled = Vec::new();
        for handle in handles {
            let (before, failed) = (warnings.len(), self.failed.clone());
            let key = self.add(walk, handle, &|| "its file alone".to_owned(), warnings);
            if warnings.len() == before && !self.failed.contains(&key) {
                labelled.push(key);
            }
            // Whoever refers to it is told by an error.
            self.failed = failed;
        }
        labelled
    }

    /// Encodes `handle`'s asset and all that it refers to, where that is not done yet. `referrer` tells who needs it; it
    /// is only asked for a message.
    pub(crate) fn add(
        &mut self,
        walk: &AssetWalk,
        handle: &UntypedHandle,
        referrer: &dyn Fn() -> String,
        errors: &mut Vec<ContentError>,
    ) -> AssetKey {
        let root = self.key(walk, handle);
        // With the asset that refers to it; the first has none.
        let mut open = vec![(root.clone(), handle.clone(), None)];
        while let Some((key, handle, asset)) = open.pop() {
            if self.is_known(&key) {
                continue;
            }
            let encoded =
                ready(walk, &handle).and_then(|()| match self.textures.is_some() && is_image(walk, &handle) {
                    true => Ok(None),
                    false => encode(walk, &handle).map(Some),
                });
            match encoded {
                Ok(None) => self.start(walk, key, handle),
                Ok(Some((object, handles))) => {
                    let mut references = Vec::new();
                    for handle in handles {
                        let reference = self.key(walk, &handle);
                        references.push(reference.clone());
                        open.push((reference, handle, Some(format!("`{}`", key.path()))));
                    }
                    self.insert(walk, key, &handle, object, references);
                }
                Err(message) => {
                    let referrer = asset.unwrap_or_else(referrer);
                    errors.push(content_error(walk, &key, &referrer, &message));
                    self.failed.insert(key);
                }
            }
        }
        root
    }

    /// As [`add`](Self::add), of a file that was loaded by itself: what does not work is left to who refers to it, and so is what leads
    /// to assets without a path, since these belong to a level.
    pub(crate) fn add_lone(&mut self, walk: &AssetWalk, handle: &UntypedHandle) {
        self.begin_unit();
        self.add(walk, handle, &String::new, &mut Vec::new());
        self.failed.clear();
        let is_stray = |key: &AssetKey| matches!(key, AssetKey::Anonymous { unit, .. } if unit == walk.unit);
        self.objects
            .retain(|key, object| !is_stray(key) && !object.references.iter().any(is_stray));
    }

    fn is_known(&self, key: &AssetKey) -> bool {
        let is_pending = (self.textures.as_ref()).is_some_and(|textures| textures.is_pending(key));
        is_pending || self.objects.contains_key(key) || self.failed.contains(key)
    }

    fn note_settings(&mut self, walk: &AssetWalk, key: &AssetKey, handle: &UntypedHandle) {
        let Some(file) = key.file() else { return };
        let settings = settings(walk, file, key, handle);
        let known = self.fresh.entry(file.to_owned()).or_default();
        if settings != Settings::Own {
            *known = settings;
        }
    }

    /// A texture that is cooked on another thread.
    fn start(&mut self, walk: &AssetWalk, key: AssetKey, handle: UntypedHandle) {
        self.note_settings(walk, &key, &handle);
        let codec = walk.codecs.asset(TypeId::of::<Image>());
        if let (Some(textures), Some(codec)) = (&mut self.textures, codec) {
            textures.add(key, handle, || Arc::new(codec.schema(walk.registry)));
        }
    }

    /// Cooks the textures that were met; all materials of their level were, too.
    pub(crate) fn start_textures(&mut self, world: &World, errors: &mut Vec<ContentError>) {
        let done = self.textures.as_mut().map(|textures| textures.start(world));
        self.insert_textures(done.unwrap_or_default(), errors);
    }

    /// Waits for all textures.
    pub(crate) fn finish_textures(&mut self, errors: &mut Vec<ContentError>) {
        let done = self.textures.as_mut().map(TextureStep::finish);
        self.insert_textures(done.unwrap_or_default(), errors);
    }

    fn insert_textures(&mut self, done: Vec<CookedTexture>, errors: &mut Vec<ContentError>) {
        for texture in done {
            match texture.encoded {
                Ok(object) => {
                    self.encoded += 1;
                    let mut record = Self::record(ImageCodec::ROLE, ImageCodec::BULK, Vec::new());
                    record.texture = texture.report.map(|report| (texture.usage, report));
                    self.insert_encoded(texture.key, &object, record);
                }
                Err(message) => {
                    let path = texture.key.path();
                    let (file, label) = path.split_once('#').unwrap_or((&path, ""));
                    errors.push(ContentError::new(file, label, message));
                    self.failed.insert(texture.key);
                }
            }
        }
    }

    fn insert(
        &mut self,
        walk: &AssetWalk,
        key: AssetKey,
        handle: &UntypedHandle,
        object: Encoded,
        references: Vec<AssetKey>,
    ) {
        self.note_settings(walk, &key, handle);
        self.encoded += 1;
        let mut record = Self::record(object.role, object.bulk_use, references);
        record.bounds = mesh_bounds(walk, handle);
        record.warnings = object.warnings;
        record.uses = self.uses(walk, handle);
        self.insert_encoded(key, &object.object, record);
    }

    /// What a material uses textures for.
    fn uses(&mut self, walk: &AssetWalk, handle: &UntypedHandle) -> Vec<(AssetKey, TextureUse)> {
        let materials = walk.world.get_resource::<Assets<StandardMaterial>>();
        let id = handle.id().try_typed::<StandardMaterial>().ok();
        let Some(material) = materials.zip(id).and_then(|(materials, id)| materials.get(id)) else {
            return Vec::new();
        };
        let mut uses = Vec::new();
        for (texture, usage) in material_uses(material) {
            let key = self.key(walk, &texture.untyped());
            if let Some(textures) = &mut self.textures {
                textures.note_use(key.clone(), usage);
            }
            uses.push((key, usage));
        }
        uses
    }

    /// What is known of an asset before its bytes are.
    pub(crate) fn record(role: Role, bulk_use: BulkUse, references: Vec<AssetKey>) -> ObjectRecord {
        ObjectRecord {
            blob: Digest::of(&[]),
            type_path: String::new(),
            role,
            bytes: 0,
            is_on_demand: bulk_use == BulkUse::OnDemand,
            references,
            bounds: None,
            warnings: Vec::new(),
            uses: Vec::new(),
            texture: None,
        }
    }

    /// Adds an asset that is encoded.
    pub(crate) fn insert_encoded(&mut self, key: AssetKey, object: &EncodedObject, record: ObjectRecord) {
        let bytes = object.data.len() + object.bulk.iter().map(|payload| payload.0.len()).sum::<usize>();
        // Plain data into memory: nothing that could fail.
        let blob = postcard::to_allocvec(object).unwrap_or_default();
        let Some(blob) = self.keep(&blob) else { return };
        let record = ObjectRecord {
            blob,
            type_path: object.schema.type_path.clone(),
            bytes: bytes as u64,
            ..record
        };
        self.objects.insert(key, record);
    }

    /// Who the asset of a handle is.
    pub(crate) fn key(&mut self, walk: &AssetWalk, handle: &UntypedHandle) -> AssetKey {
        let type_path = type_path(walk, handle.type_id());
        let server = walk.world.resource::<AssetServer>();
        let path = server.get_path(handle.id()).map(|path| path.to_string());
        if let Some(path) = path.or_else(|| handle.path().map(ToString::to_string)) {
            let path = path.replace('\\', "/");
            return AssetKey::Path { path, type_path };
        }
        if let Some(key) = self.anonymous.get(&handle.id()) {
            return key.clone();
        }
        let count = self.counts.entry(handle.type_id()).or_default();
        let key = AssetKey::Anonymous {
            unit: walk.unit.to_owned(),
            type_path,
            order: *count,
        };
        *count += 1;
        self.anonymous.insert(handle.id(), key.clone());
        key
    }
}

/// The assets that `roots` lead to, themselves included, whether they are known or not.
pub(crate) fn closure<'a>(
    objects: &'a BTreeMap<AssetKey, ObjectRecord>,
    roots: impl IntoIterator<Item = &'a AssetKey>,
) -> BTreeSet<&'a AssetKey> {
    let mut needed = BTreeSet::new();
    let mut open: Vec<&AssetKey> = roots.into_iter().collect();
    while let Some(key) = open.pop() {
        if needed.insert(key) {
            open.extend(objects.get(key).into_iter().flat_map(|object| &object.references));
        }
    }
    needed
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
            AssetKey::Anonymous { .. } => None,
        })
        .any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The settings that whoever refers to `file` has it loaded with.
fn settings(walk: &AssetWalk, file: &str, key: &AssetKey, handle: &UntypedHandle) -> Settings {
    let Some(transform) = handle.meta_transform() else {
        return Settings::Own;
    };
    // With a label, or where the file has settings of its own that are changed: too much for what can be written down.
    if key.path() != file || walk.recorder.has_meta(file) {
        return Settings::Unknown;
    }
    let server = walk.world.resource::<AssetServer>();
    match block_on(server.get_path_asset_loader(file.to_owned())) {
        Ok(loader) if loader.asset_type_id() == handle.type_id() => {
            let mut meta = loader.default_meta();
            transform(&mut *meta);
            Settings::Given(meta.serialize())
        }
        _ => Settings::Unknown,
    }
}

fn mesh_bounds(walk: &AssetWalk, handle: &UntypedHandle) -> Option<([f32; 3], [f32; 3])> {
    let id = handle.id().try_typed::<Mesh>().ok()?;
    let aabb = walk.world.get_resource::<Assets<Mesh>>()?.get(id)?.compute_aabb()?;
    Some((aabb.center.into(), aabb.half_extents.into()))
}

fn content_error(walk: &AssetWalk, key: &AssetKey, referrer: &str, message: &str) -> ContentError {
    let (file, object) = match key {
        AssetKey::Path { path, .. } => match path.split_once('#') {
            Some((file, label)) => (file.to_owned(), label.to_owned()),
            None => (path.clone(), String::new()),
        },
        AssetKey::Anonymous { .. } => (walk.source.to_owned(), key.path()),
    };
    ContentError::new(
        file,
        object,
        format!("{message} (needed by {referrer} in `{}`)", walk.source),
    )
}

/// An asset as bytes, with what its codec says of it.
struct Encoded {
    object: EncodedObject,
    role: Role,
    bulk_use: BulkUse,
    warnings: Vec<String>,
}

/// Whether an asset is there, or why it is not.
fn ready(walk: &AssetWalk, handle: &UntypedHandle) -> Result<(), String> {
    let state = walk.world.resource::<AssetServer>().load_state(handle.id());
    match state {
        LoadState::Failed(cause) => Err(format!(
            "failed to load: {cause}; correct the path or the file, or remove the reference"
        )),
        LoadState::Loading => {
            let message =
                "was still loading when its level was given up; check the file, then mend the level's other errors";
            Err(message.into())
        }
        LoadState::NotLoaded | LoadState::Loaded => Ok(()),
    }
}

/// Whether it is an image, and there.
fn is_image(walk: &AssetWalk, handle: &UntypedHandle) -> bool {
    let id = handle.id().try_typed::<Image>().ok();
    let images = walk.world.get_resource::<Assets<Image>>();
    id.zip(images).is_some_and(|(id, images)| images.contains(id))
}

/// Encodes one asset; gives it with the handles that it refers to.
fn encode(walk: &AssetWalk, handle: &UntypedHandle) -> Result<(Encoded, Vec<UntypedHandle>), String> {
    let Some(codec) = walk.codecs.asset(handle.type_id()) else {
        return Err(format!(
            "assets of type `{}` have no codec; give them one (`AssetCodec`), or add \
             `app.cook_by_reflection::<…>()` to the cooker and the game",
            type_path(walk, handle.type_id())
        ));
    };
    let no_entities = EntityRows::default();
    let mut context = EncodeContext::new(walk.registry, &no_entities);
    match codec.encode(walk.world, handle.id(), &mut context) {
        Ok(Some(encoded)) => Ok((
            Encoded {
                warnings: warnings(walk, handle, &mut context),
                object: EncodedObject {
                    schema: Arc::new(codec.schema(walk.registry)),
                    data: encoded.data,
                    bulk: encoded.bulk.into_iter().map(Payload).collect(),
                },
                role: codec.role,
                bulk_use: codec.bulk,
            },
            context.into_references(),
        )),
        Ok(None) => Err("there is no such asset; load it from a file, or remove the reference".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// What the codec says, and what was said about the channels of a clip.
fn warnings(walk: &AssetWalk, handle: &UntypedHandle, context: &mut EncodeContext) -> Vec<String> {
    let clip = handle.id().try_typed::<AnimationClip>().ok();
    let notes = clip.map_or(&[][..], |clip| walk.clips.notes(clip));
    let told = context.take_warnings().into_iter().map(|warning| warning.to_string());
    notes.iter().cloned().chain(told).collect()
}

/// The stable name of an asset type, as far as this app knows one.
fn type_path(walk: &AssetWalk, type_id: TypeId) -> String {
    if let Some(codec) = walk.codecs.asset(type_id) {
        return codec.type_path.to_owned();
    }
    // An asset need not be reflected itself, but whoever refers to it reflects a `Handle` of it.
    let handles = walk.registry.iter().filter(|registration| {
        let handle = registration.data::<bevy::asset::ReflectHandle>();
        handle.is_some_and(|handle| handle.asset_type_id() == type_id)
    });
    let path = handles.map(|registration| registration.type_info().type_path()).min();
    let path = path.unwrap_or("an unknown type");
    let inner = path.split_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
    inner.unwrap_or(path).to_owned()
}
