//! Assets that levels refer to, each encoded once. See [`AssetStore`].

use core::any::TypeId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use bevy::asset::{LoadState, UntypedAssetId, UntypedHandle};
use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use seamless_asset::StartupIndex;
use seamless_asset::codec::{BulkUse, CodecRegistry, EncodeContext, EntityRows};
use seamless_package::{Role, Schema};

use crate::report::ContentError;

/// Which asset: the same for every level that uses it, and for every run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum AssetKey {
    /// An asset with a path: file, and label if it has one.
    Path { path: String, type_path: String },
    /// An asset without a path: the n-th of its type in the level that met it first.
    Anonymous {
        /// Its index; of no level for startup content.
        level: usize,
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
}

/// An asset as bytes.
#[derive(Clone)]
pub(crate) struct EncodedObject {
    pub schema: Schema,
    pub role: Role,
    pub data: Vec<u8>,
    pub bulk: Vec<Vec<u8>>,
    pub bulk_use: BulkUse,
    pub references: Vec<AssetKey>,
}

/// What a walk over a level's assets needs to know.
pub(crate) struct AssetWalk<'a> {
    pub world: &'a World,
    pub registry: &'a TypeRegistry,
    pub codecs: &'a CodecRegistry,
    /// Index of the level.
    pub level: usize,
    /// Its source, for messages.
    pub source: &'a str,
}

/// What a glTF file holds beside what its scenes refer to.
#[derive(Default)]
pub(crate) struct FileContents {
    /// Scenes that no level names, by index.
    pub scenes: BTreeMap<usize, bool>,
    /// Names of animation clips.
    pub animations: BTreeSet<String>,
    /// Labels of materials and meshes.
    pub labels: BTreeSet<String>,
}

/// All assets of a world, encoded.
#[derive(Default)]
pub(crate) struct AssetStore {
    pub(crate) objects: BTreeMap<AssetKey, EncodedObject>,
    failed: BTreeSet<AssetKey>,
    anonymous: HashMap<(usize, UntypedAssetId), AssetKey>,
    counts: HashMap<(usize, TypeId), u32>,
    /// The contents of each glTF file, by its asset path.
    pub(crate) files: BTreeMap<String, FileContents>,
}

impl AssetStore {
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
            if self.objects.contains_key(&key) || self.failed.contains(&key) {
                continue;
            }
            match encode(walk, &handle) {
                Ok((mut object, handles)) => {
                    for handle in handles {
                        let reference = self.key(walk, &handle);
                        object.references.push(reference.clone());
                        open.push((reference, handle, Some(format!("`{}`", key.path()))));
                    }
                    self.objects.insert(key, object);
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

    fn key(&mut self, walk: &AssetWalk, handle: &UntypedHandle) -> AssetKey {
        let type_path = type_path(walk, handle.type_id());
        let server = walk.world.resource::<AssetServer>();
        let path = server.get_path(handle.id()).map(|path| path.to_string());
        if let Some(path) = path.or_else(|| handle.path().map(ToString::to_string)) {
            let path = path.replace('\\', "/");
            return AssetKey::Path { path, type_path };
        }
        let id = (walk.level, handle.id());
        if let Some(key) = self.anonymous.get(&id) {
            return key.clone();
        }
        let count = self.counts.entry((walk.level, handle.type_id())).or_default();
        let key = AssetKey::Anonymous {
            level: walk.level,
            type_path,
            order: *count,
        };
        *count += 1;
        self.anonymous.insert(id, key.clone());
        key
    }

    /// What of the loaded files is not cooked; to be asked once, when all levels are encoded.
    pub(crate) fn take_warnings(&mut self) -> Vec<ContentError> {
        let mut warnings = Vec::new();
        for (file, contents) in core::mem::take(&mut self.files) {
            for name in &contents.animations {
                let message = "animation clips are not carried over yet; the level's entities are cooked without it";
                warnings.push(ContentError::new(file.as_str(), format!("animation `{name}`"), message));
            }
            for (index, _) in contents.scenes.iter().filter(|(_, used)| !**used) {
                let message = format!("is part of no level; add one with the source `…#Scene{index}` to cook it");
                warnings.push(ContentError::new(file.as_str(), format!("Scene{index}"), message));
            }
            for label in contents.labels.iter().filter(|label| !self.uses(&file, label)) {
                let message = "is used by no cooked entity, and is left out";
                warnings.push(ContentError::new(file.as_str(), label.as_str(), message));
            }
        }
        warnings
    }

    /// Whether an asset with this label, or part of it (`Mesh0/Primitive1`), is cooked.
    fn uses(&self, file: &str, label: &str) -> bool {
        let prefix = format!("{file}#{label}");
        let first = AssetKey::Path {
            path: prefix.clone(),
            type_path: String::new(),
        };
        self.objects
            .range(first..)
            .map_while(|(key, _)| match key {
                AssetKey::Path { path, .. } => path.strip_prefix(&prefix),
                AssetKey::Anonymous { .. } => None,
            })
            .any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    }
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

/// Encodes one asset; gives it with the handles that it refers to.
fn encode(walk: &AssetWalk, handle: &UntypedHandle) -> Result<(EncodedObject, Vec<UntypedHandle>), String> {
    let state = walk.world.resource::<AssetServer>().load_state(handle.id());
    match state {
        LoadState::Failed(cause) => {
            return Err(format!(
                "failed to load: {cause}; correct the path or the file, or remove the reference"
            ));
        }
        LoadState::Loading => {
            let message =
                "was still loading when its level was given up; check the file, then mend the level's other errors";
            return Err(message.into());
        }
        LoadState::NotLoaded | LoadState::Loaded => {}
    }
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
            EncodedObject {
                schema: codec.schema(walk.registry),
                role: codec.role,
                data: encoded.data,
                bulk: encoded.bulk,
                bulk_use: codec.bulk,
                references: Vec::new(),
            },
            context.into_references(),
        )),
        Ok(None) => Err("there is no such asset; load it from a file, or remove the reference".into()),
        Err(error) => Err(error.to_string()),
    }
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
