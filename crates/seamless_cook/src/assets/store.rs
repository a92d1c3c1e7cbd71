//! Encodes assets, each once. See [`AssetStore`].

use core::any::TypeId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use bevy::asset::{UntypedAssetId, UntypedHandle};
use bevy::prelude::*;
use seamless_asset::assets::{ImageCodec, MeshCodec};
use seamless_asset::codec::{AssetCodec, BulkUse};
use seamless_package::Role;

use super::encode::{Encoded, content_error, encode, is_image, mesh_bounds, mesh_of, ready, settings, type_path};
use super::packing::{PackedAsset, Packing};
use super::{
    AssetKey, AssetName, AssetWalk, ByKey, MeasuredObject, ObjectRecord, ObjectSize, Objects, RawObject, Text,
};
use crate::app::{CookOptions, Profile};
use crate::clips::ClipOffers;
use crate::graph::cache::Cache;
use crate::graph::digest::Digest;
use crate::graph::recorder::slashed;
use crate::graph::state::{FileUnits, Loading, Settings};
use crate::mesh::uv_density;
use crate::mesh_step::{Draw, MeshUse, hides};
use crate::report::ContentError;
use crate::texture::{TextureUse, material_uses};
use crate::texture_step::{CookedTexture, TextureStep};

/// All assets of a world, encoded: the bytes in the cache, what is known of them here.
pub(crate) struct AssetStore<'c> {
    cache: &'c Cache<'c>,
    packing: Packing,
    pub(crate) objects: Objects,
    /// The files of what was encoded, with the settings that they were loaded with.
    pub(crate) fresh: BTreeMap<String, Loading>,
    /// How the files of what was taken over were loaded.
    pub(crate) inherited: Inherited,
    /// What was encoded by this cook, in order.
    pub(crate) encoded_now: Vec<AssetKey>,
    /// How many levels and assets were encoded.
    pub(crate) encoded: u64,
    /// Why the cache could not be written to.
    pub(crate) stopped: Option<std::io::Error>,
    failed: BTreeSet<AssetKey>,
    anonymous: HashMap<UntypedAssetId, AssetKey>,
    counts: HashMap<TypeId, u32>,
    /// None where textures stay as they are.
    pub(crate) textures: Option<TextureStep>,
    pub(crate) clips: ClipOffers,
    /// What meshes are used for, as far as that is known; none where they stay as they are.
    pub(crate) meshes: Option<ByKey<MeshUse>>,
}

/// How files were loaded of which something was taken over.
#[derive(Default)]
pub(crate) struct Inherited {
    files: Arc<FileUnits>,
    /// Those that are loaded otherwise now.
    others: BTreeSet<String>,
}

impl Inherited {
    pub(crate) fn new(files: Arc<FileUnits>) -> Self {
        let others = BTreeSet::new();
        Self { files, others }
    }

    fn get(&self, file: &str) -> Option<&Loading> {
        let unit = self.files.get(file).filter(|_| !self.others.contains(file));
        unit.map(|unit| &unit.loading)
    }
}

impl<'c> AssetStore<'c> {
    /// Nothing yet.
    pub(crate) fn new(cache: &'c Cache<'c>, textures: Option<TextureStep>, options: &CookOptions) -> Self {
        let profile = options.profile;
        Self {
            cache,
            packing: Packing::new(profile.codec(), options.jobs),
            objects: Objects::default(),
            fresh: BTreeMap::new(),
            inherited: Inherited::default(),
            encoded_now: Vec::new(),
            encoded: 0,
            stopped: None,
            failed: BTreeSet::new(),
            anonymous: HashMap::new(),
            counts: HashMap::new(),
            textures,
            clips: ClipOffers::default(),
            meshes: (profile == Profile::Ship).then(ByKey::default),
        }
    }

    /// All that is not small, to be freed.
    pub(crate) fn into_parts(self) -> impl Send + 'static {
        let loadings = (self.fresh, self.inherited);
        (self.objects, loadings, self.textures, self.meshes, self.encoded_now)
    }

    /// Whether the profile does more than to store what is there.
    pub(crate) fn changes_data(&self) -> bool {
        self.textures.is_some()
    }

    /// An encoded asset, ready to be inserted.
    pub(crate) fn measured(&self, object: RawObject, bulk_use: BulkUse) -> MeasuredObject {
        MeasuredObject::of(object, self.packing.codec, bulk_use)
    }

    /// Takes over what an earlier cook has encoded.
    pub(crate) fn inherit(&mut self, objects: Objects) {
        if let Some(textures) = &mut self.textures {
            for (texture, usage) in objects.values().flat_map(|object| &object.uses) {
                textures.note_use(texture.clone(), *usage);
            }
        }
        self.objects = objects;
    }

    /// Takes meshes to be used as they were by the last cook, until it is known.
    pub(crate) fn guess_uses(&mut self, objects: &Objects) {
        let Some(meshes) = &mut self.meshes else { return };
        for (key, object) in objects.iter().filter(|(key, _)| key.file().is_some()) {
            if let Some(usage) = object.ordered {
                meshes.insert(key.clone(), usage);
            }
        }
    }

    /// Textures are used as they were by the last cook, whoever used them.
    pub(crate) fn use_as_before<'k>(&mut self, uses: impl Iterator<Item = (&'k AssetKey, TextureUse)>) {
        if let Some(textures) = &mut self.textures {
            textures.uses.extend(uses.map(|(key, usage)| (key.clone(), usage)));
        }
    }

    /// What meshes are used for by the level at hand.
    pub(crate) fn note_draws(&mut self, draws: &BTreeMap<Draw, MeshUse>) {
        let Some(meshes) = &mut self.meshes else { return };
        for ((mesh, _), usage) in draws {
            let known = meshes.entry(mesh.clone()).or_insert(*usage);
            *known = known.join(*usage);
        }
    }

    /// From now on, assets without a path are another unit's.
    pub(crate) fn begin_unit(&mut self) {
        self.anonymous.clear();
        self.counts.clear();
    }

    /// Brings what is known into the order of the keys.
    pub(crate) fn sort(&mut self) {
        // Mostly it is, but for what was added last, which a stable sort makes use of.
        self.objects.sort_keys();
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
            self.compare_settings(walk, &key, &handle);
            if self.is_known(&key) {
                continue;
            }
            let start = Instant::now();
            let encoded =
                ready(walk, &handle).and_then(|()| match self.textures.is_some() && is_image(walk, &handle) {
                    true => Ok(None),
                    false => encode(walk, &handle, self.mesh_use(walk, &key, &handle)).map(Some),
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
                    self.insert(walk, key, &handle, object, references, start);
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
        let before = self.encoded_now.len();
        // What was told stays told, and what fails here is not.
        let told = core::mem::take(&mut self.failed);
        self.add(walk, handle, &String::new, &mut Vec::new());
        self.failed = told;
        let is_stray = |key: &AssetKey| key.unit() == Some(walk.unit);
        let new = self.encoded_now.get(before..).unwrap_or_default().to_vec();
        for key in new {
            let leads = |object: &ObjectRecord| object.references.iter().any(is_stray);
            if is_stray(&key) || self.objects.get(&key).is_some_and(leads) {
                self.objects.swap_remove(&key);
            }
        }
    }

    /// Whether it is a texture that is being cooked.
    pub(crate) fn is_pending(&self, key: &AssetKey) -> bool {
        (self.textures.as_ref()).is_some_and(|textures| textures.is_pending(key))
    }

    fn is_known(&self, key: &AssetKey) -> bool {
        self.is_pending(key) || self.objects.contains_key(key) || self.failed.contains(key)
    }

    fn note_settings(&mut self, walk: &AssetWalk, key: &AssetKey, handle: &UntypedHandle) {
        let Some(file) = key.file() else { return };
        let settings = settings(walk, file, key, handle);
        let known = self.fresh.entry(file.to_owned()).or_insert_with(|| Loading {
            settings: Settings::Own,
            owner: walk.unit.into(),
        });
        if settings != Settings::Own {
            known.settings = settings;
        }
    }

    /// A file was loaded by itself, as it was before.
    pub(crate) fn keep_loading(&mut self, file: &str, loading: Loading) {
        if let Some(fresh) = self.fresh.get_mut(file) {
            *fresh = loading;
        }
    }

    /// How a file was loaded that something is known of.
    pub(crate) fn loading(&self, file: &str) -> Option<&Loading> {
        self.fresh.get(file).or_else(|| self.inherited.get(file))
    }

    /// Somebody else decides how these files are loaded: their assets are others.
    pub(crate) fn forget_files(&mut self, files: &BTreeSet<String>) {
        if files.is_empty() {
            return;
        }
        self.objects
            .retain(|key, _| key.file().is_none_or(|file| !files.contains(file)));
        for file in files {
            self.fresh.remove(file);
            self.inherited.others.insert(file.clone());
        }
    }

    /// Who refers to a file first has it loaded otherwise than before: its assets are others.
    fn compare_settings(&mut self, walk: &AssetWalk, key: &AssetKey, handle: &UntypedHandle) {
        let Some(file) = key.file() else { return };
        let Some(known) = self.inherited.get(file).filter(|known| *known.owner == *walk.unit) else {
            return;
        };
        // A part of the file says nothing of how the file is loaded.
        if key.path() == file && settings(walk, file, key, handle) != known.settings {
            self.inherited.others.insert(file.to_owned());
            self.objects.swap_remove(key);
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
                    record.is_marked = texture.is_marked;
                    record.seconds = texture.seconds;
                    record.texture = texture.report.map(|report| Box::new((texture.usage, report)));
                    self.insert_encoded(texture.key, object, record);
                }
                Err(message) => {
                    errors.push(ContentError::at(&texture.key.path(), message));
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
        start: Instant,
    ) {
        self.note_settings(walk, &key, handle);
        self.encoded += 1;
        let mut record = Self::record(object.role, object.bulk_use, references);
        record.is_marked = object.is_marked;
        if let Some(mesh) = mesh_of(walk, handle) {
            record.bounds = mesh_bounds(mesh);
            if self.changes_data() {
                let density = uv_density(mesh);
                record.uv_density = [density.uv_0, density.uv_1];
            }
            record.ordered = self.mesh_use(walk, &key, handle);
        }
        record.warnings = object.warnings;
        record.told = object.told;
        self.tell_material(walk, handle, &mut record);
        record.seconds = start.elapsed().as_secs_f64();
        self.encoded_now.push(key.clone());
        self.objects.insert(key.clone(), record);
        let done = self.packing.pack(key, object.object, object.bulk_use);
        self.take_packed(done);
    }

    /// Waits until all that was encoded is packed, and in the cache.
    pub(crate) fn finish_packing(&mut self) {
        let done = self.packing.finish();
        self.take_packed(done);
    }

    /// What was packed for a key that is encoded again comes before what is packed then.
    fn take_packed(&mut self, done: Vec<PackedAsset>) {
        for asset in done {
            let Some(blob) = self.keep(&asset.measured.bytes) else {
                return;
            };
            if let Some(record) = self.objects.get_mut(&asset.key) {
                (record.blob, record.size) = (blob, asset.measured.size);
                record.seconds += asset.seconds;
            }
        }
    }

    /// Where meshes are put in order, what this one is used for as far as that is known.
    fn mesh_use(&self, walk: &AssetWalk, key: &AssetKey, handle: &UntypedHandle) -> Option<MeshUse> {
        mesh_of(walk, handle)?;
        // A codec of the game's own may rely on their order.
        let codec = walk.codecs.asset(TypeId::of::<Mesh>());
        codec.filter(|codec| codec.is::<MeshCodec>())?;
        let usage = self.meshes.as_ref()?.get(key).copied();
        Some(usage.unwrap_or(MeshUse::Any))
    }

    /// What a material does, and uses textures for.
    fn tell_material(&mut self, walk: &AssetWalk, handle: &UntypedHandle, record: &mut ObjectRecord) {
        let materials = walk.world.get_resource::<Assets<StandardMaterial>>();
        let id = handle.id().try_typed::<StandardMaterial>().ok();
        let Some(material) = materials.zip(id).and_then(|(materials, id)| materials.get(id)) else {
            return;
        };
        record.hides = hides(material);
        for (texture, usage) in material_uses(material) {
            let key = self.key(walk, &texture.untyped());
            if let Some(textures) = &mut self.textures {
                textures.note_use(key.clone(), usage);
            }
            record.uses.push((key, usage));
        }
    }

    /// What is known of an asset before its bytes are.
    pub(crate) fn record(role: Role, bulk_use: BulkUse, references: Vec<AssetKey>) -> ObjectRecord {
        ObjectRecord {
            blob: Digest::of(&[]),
            role,
            size: ObjectSize::default(),
            is_on_demand: bulk_use == BulkUse::OnDemand,
            is_marked: false,
            references,
            bounds: None,
            uv_density: [None; 2],
            hides: false,
            ordered: None,
            warnings: Vec::new(),
            seconds: 0.0,
            uses: Vec::new(),
            texture: None,
            told: None,
        }
    }

    /// Adds an asset that is encoded.
    pub(crate) fn insert_encoded(&mut self, key: AssetKey, object: MeasuredObject, record: ObjectRecord) {
        let Some(blob) = self.keep(&object.bytes) else { return };
        let record = ObjectRecord {
            blob,
            size: object.size,
            ..record
        };
        self.encoded_now.push(key.clone());
        self.objects.insert(key, record);
    }

    /// Who the asset of a handle is.
    pub(crate) fn key(&mut self, walk: &AssetWalk, handle: &UntypedHandle) -> AssetKey {
        let type_path = Text::from(&*type_path(walk, handle.type_id()));
        let server = walk.world.resource::<AssetServer>();
        let path = server.get_path(handle.id()).map(|path| path.to_string());
        if let Some(path) = path.or_else(|| handle.path().map(ToString::to_string)) {
            let path = slashed(path);
            return AssetKey::new(AssetName::Path { path, type_path });
        }
        if let Some(key) = self.anonymous.get(&handle.id()) {
            return key.clone();
        }
        let count = self.counts.entry(handle.type_id()).or_default();
        let key = AssetKey::new(AssetName::Anonymous {
            unit: walk.unit.into(),
            type_path,
            order: *count,
        });
        *count += 1;
        self.anonymous.insert(handle.id(), key.clone());
        key
    }
}
