//! A level as bytes: its entities in rows, their components in columns. See [`LevelEncoder`].

mod asset;
mod faults;
mod resources;

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bevy::asset::{UntypedAssetId, UntypedHandle};
use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use seamless_asset::SoftReference;
use seamless_asset::codec::{CodecRegistry, Codecs, EncodeContext, EntityRows};
use seamless_asset::level_data::LEVEL_EXPORT;
use seamless_package::{Role, Schema};

use serde::{Deserialize, Serialize};

use self::faults::{list_culprits, list_misfits, list_problems};
use crate::assets::{AssetKey, AssetStore, AssetWalk, FileContents, SoftTarget, soft_targets};
use crate::bounds::{self, Drawn};
use crate::clips::ClipOffers;
use crate::density::{self, DensityRow};
use crate::graph::blob;
use crate::graph::recorder::Recorder;
use crate::hierarchy::{Hierarchy, grouped};
use crate::mesh_step::{self, Draw};
use crate::plan::{PlannedLevel, SourceKind};
use crate::report::ContentError;
use crate::source::{self, Concrete, Scene, SourceEntity};
use crate::world_file::ResourcePolicy;

/// A level that only needs to be written.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct EncodedLevel {
    /// The entities' object names, by row.
    pub entities: Vec<String>,
    /// Rows of entities without a parent inside the level.
    pub roots: Vec<u32>,
    pub groups: Vec<EncodedGroup>,
    /// Of the columns, each once.
    pub schemas: Vec<StoredSchema>,
    /// What the columns' handles refer to, in the order of their reference numbers.
    pub references: Vec<AssetKey>,
    pub resources: Vec<EncodedResource>,
    /// What is drawn, and where.
    pub drawn: Vec<Drawn>,
}

/// Entities with one set of components.
#[derive(Serialize, Deserialize)]
pub(crate) struct EncodedGroup {
    pub rows: u32,
    /// Those whose UV densities are filled in when the package is written.
    pub densities: Vec<DensityRow>,
    /// By type path.
    pub columns: Vec<EncodedColumn>,
}

/// One component of a group.
#[derive(Serialize, Deserialize)]
pub(crate) struct EncodedColumn {
    /// Index of its schema.
    pub schema: u32,
    #[serde(with = "blob::role")]
    pub role: Role,
    #[serde(with = "blob::bytes")]
    pub data: Vec<u8>,
}

/// A resource of the scene, to be kept for ever.
#[derive(Serialize, Deserialize)]
pub(crate) struct EncodedResource {
    pub schema: StoredSchema,
    #[serde(with = "blob::bytes")]
    pub data: Vec<u8>,
    pub references: Vec<AssetKey>,
}

/// A schema that can go into the cache.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct StoredSchema(#[serde(with = "blob::schema")] pub Arc<Schema>);

impl EncodedLevel {
    /// What columns and resources refer to, each once.
    pub fn all_references(&self) -> Vec<AssetKey> {
        let resources = self.resources.iter().flat_map(|resource| &resource.references);
        let all: BTreeSet<&AssetKey> = self.references.iter().chain(resources).collect();
        all.into_iter().cloned().collect()
    }

    /// Of a column of it.
    pub fn schema(&self, column: &EncodedColumn) -> Option<&Schema> {
        self.schemas.get(column.schema as usize).map(|schema| &*schema.0)
    }
}

/// A level as bytes, and what is to be said about it.
pub(crate) struct NewLevel {
    pub level: EncodedLevel,
    pub contents: Option<FileContents>,
    pub drawn: BTreeSet<Draw>,
    /// Parts of its file that are exported whether anything refers to them or not.
    pub labelled: Vec<AssetKey>,
    pub warnings: Vec<ContentError>,
    /// What its components refer to softly.
    pub soft: Vec<SoftTarget>,
}

/// Encodes levels one after the other; remembers the schemas.
pub(crate) struct LevelEncoder {
    policy: ResourcePolicy,
    recorder: Recorder,
    known: HashMap<String, Arc<Schema>>,
}

/// The schemas of one level's columns.
#[derive(Default)]
struct Schemas {
    list: Vec<StoredSchema>,
    places: HashMap<String, u32>,
}

/// A level that is loaded, and what it is encoded by.
struct Loaded<'a> {
    world: &'a World,
    unit: &'a str,
    level: &'a PlannedLevel,
    root: &'a UntypedHandle,
    registry: &'a TypeRegistry,
    codecs: &'a CodecRegistry,
}

impl<'a> Loaded<'a> {
    fn walk(&self, clips: &'a ClipOffers, recorder: &'a Recorder) -> AssetWalk<'a> {
        AssetWalk {
            world: self.world,
            registry: self.registry,
            codecs: self.codecs,
            unit: self.unit,
            clips,
            recorder,
            source: &self.level.source,
        }
    }

    fn job(&self) -> Job<'a> {
        Job {
            registry: self.registry,
            codecs: self.codecs,
            level: self.level,
            names: Vec::new(),
            rows: EntityRows::default(),
            errors: Vec::new(),
            soft: BTreeSet::new(),
        }
    }
}

/// One level while it is encoded.
struct Job<'a> {
    registry: &'a TypeRegistry,
    codecs: &'a CodecRegistry,
    level: &'a PlannedLevel,
    /// By scene index.
    names: Vec<String>,
    rows: EntityRows,
    errors: Vec<ContentError>,
    /// What components and resources refer to softly.
    soft: BTreeSet<SoftReference>,
}

impl Job<'_> {
    fn error(&mut self, object: impl Into<String>, message: impl Into<String>) {
        self.errors
            .push(ContentError::new(self.level.source.as_str(), object, message));
    }
}

impl LevelEncoder {
    pub(crate) fn new(policy: ResourcePolicy, recorder: &Recorder) -> Self {
        Self {
            policy,
            recorder: recorder.clone(),
            known: HashMap::new(),
        }
    }

    /// Encodes a loaded level, and its assets into `store`. `None` when it has errors, which are then in `errors`.
    pub(crate) fn encode(
        &mut self,
        world: &World,
        unit: &str,
        level: &PlannedLevel,
        root: &UntypedHandle,
        store: &mut AssetStore,
        errors: &mut Vec<ContentError>,
    ) -> Option<NewLevel> {
        if level.kind == SourceKind::Asset {
            return asset::encode(self, world, unit, level, root, store, errors);
        }
        let codecs = world.resource::<Codecs>().clone();
        let loaded = Loaded {
            world,
            unit,
            level,
            root,
            registry: &world.resource::<AppTypeRegistry>().read(),
            codecs: &codecs.read(),
        };
        let mut concrete = Concrete::default();
        match source::scene(world, level, root, loaded.registry, &mut concrete) {
            Ok(scene) => self.encode_loaded(&loaded, scene, store, errors),
            Err(message) => {
                errors.push(ContentError::new(level.source.as_str(), "", message));
                None
            }
        }
    }

    fn encode_loaded(
        &mut self,
        loaded: &Loaded,
        scene: Scene,
        store: &mut AssetStore,
        errors: &mut Vec<ContentError>,
    ) -> Option<NewLevel> {
        let hierarchy = Hierarchy::of(&scene.entities);
        // It holds what is completed, and so goes first.
        let mut scene = scene;
        for (index, children) in &hierarchy.completed {
            scene.entities[*index]
                .components
                .insert(Children::type_path(), children);
        }
        if store.changes_data() {
            density::place(&mut scene.entities);
        }
        // Not changed by the walk, which changes the store.
        let clips = core::mem::take(&mut store.clips);
        let recorder = self.recorder.clone();
        let walk = loaded.walk(&clips, &recorder);
        store.begin_unit();
        let drawn = mesh_step::draws(loaded.world, &scene.entities, |asset| store.key(&walk, asset));
        store.note_draws(&drawn);
        let labelled = source::labelled(loaded.world, loaded.root);
        let mut job = loaded.job();
        let mut warnings = Vec::new();
        let encoded = self.encode_scene(&mut job, &scene, &hierarchy, &walk, store, &mut warnings);
        let sound = job.errors.is_empty();
        errors.append(&mut job.errors);
        let labelled = match sound {
            true => store.add_labelled(&walk, &labelled, &mut warnings),
            false => Vec::new(),
        };
        store.clips = clips;
        sound.then(|| NewLevel {
            level: encoded,
            contents: source::contents(loaded.world, loaded.level, loaded.root),
            drawn: drawn.into_keys().collect(),
            labelled,
            warnings,
            soft: soft_targets(core::mem::take(&mut job.soft)),
        })
    }

    fn encode_scene(
        &mut self,
        job: &mut Job,
        scene: &Scene,
        hierarchy: &Hierarchy,
        walk: &AssetWalk,
        store: &mut AssetStore,
        warnings: &mut Vec<ContentError>,
    ) -> EncodedLevel {
        // In a scene that somebody has written, who has no name has a number.
        let numbered = !matches!(job.level.kind, SourceKind::Gltf(_));
        let number = |entity: &SourceEntity| numbered.then(|| entity.entity.to_bits().to_string());
        job.names = hierarchy.names(&scene.entities, &[LEVEL_EXPORT], number);
        list_misfits(job, scene, hierarchy);
        list_problems(job, scene);
        let groups = grouped(hierarchy, &scene.entities);
        let rows: Vec<usize> = groups.iter().flatten().copied().collect();
        for (row, index) in rows.iter().enumerate() {
            job.rows.insert(scene.entities[*index].entity, row as u32);
        }
        let (mut encoded, schemas, handles) = self.encode_groups(job, &scene.entities, &groups);
        let references = add_entity_assets(job, &scene.entities, &handles, walk, store);
        let places = references.iter().zip(0..).collect();
        for (encoded, group) in encoded.iter_mut().zip(&groups) {
            let entities = group.iter().map(|index| &scene.entities[*index]);
            encoded.densities = density::rows(entities, &places, |mesh| store.key(walk, mesh));
        }
        let resources = self.encode_resources(job, scene, walk, store, warnings);
        EncodedLevel {
            entities: rows.iter().map(|index| job.names[*index].clone()).collect(),
            roots: (0_u32..)
                .zip(&rows)
                .filter(|(_, index)| hierarchy.parents[**index].is_none())
                .map(|(row, _)| row)
                .collect(),
            groups: encoded,
            schemas,
            references,
            resources,
            drawn: bounds::drawn(&scene.entities, hierarchy, |mesh| store.key(walk, mesh)),
        }
    }

    fn encode_groups(
        &mut self,
        job: &mut Job,
        entities: &[SourceEntity],
        groups: &[Vec<usize>],
    ) -> (Vec<EncodedGroup>, Vec<StoredSchema>, Vec<UntypedHandle>) {
        let mut schemas = Schemas::default();
        let rows = core::mem::take(&mut job.rows);
        let mut context = EncodeContext::new(job.registry, &rows);
        let mut encoded = Vec::new();
        for group in groups {
            let mut columns = Vec::new();
            let Some(first) = group.first() else { continue };
            for type_path in entities[*first].components.keys() {
                let values: Vec<(usize, &dyn Reflect)> = group
                    .iter()
                    .filter_map(|index| Some((*index, *entities[*index].components.get(type_path)?)))
                    .collect();
                columns.extend(self.encode_column(job, &values, &mut context, &rows, &mut schemas));
            }
            encoded.push(EncodedGroup {
                rows: group.len() as u32,
                densities: Vec::new(),
                columns,
            });
        }
        job.soft.extend(context.take_told().soft);
        let handles = context.into_references();
        job.rows = rows;
        (encoded, schemas.list, handles)
    }

    fn encode_column(
        &mut self,
        job: &mut Job,
        values: &[(usize, &dyn Reflect)],
        context: &mut EncodeContext,
        rows: &EntityRows,
        schemas: &mut Schemas,
    ) -> Option<EncodedColumn> {
        let (index, first) = values.first()?;
        let codec = match job.codecs.component(first.as_any().type_id(), job.registry) {
            Ok(codec) => codec,
            Err(error) => {
                let object = format!("entity `{}`, `{}`", job.names[*index], first.reflect_type_path());
                job.error(object, error.to_string());
                return None;
            }
        };
        let mut data = Vec::new();
        let plain: Vec<&dyn Reflect> = values.iter().map(|(_, value)| *value).collect();
        if let Err(error) = codec.encode(&plain, context, &mut data) {
            list_culprits(job, &*codec, values, rows, &error);
            return None;
        }
        let known = self.known.entry(codec.type_path().to_owned());
        let schema = known.or_insert_with(|| Arc::new(codec.schema(job.registry)));
        let place = *schemas.places.entry(schema.type_path.clone()).or_insert_with(|| {
            schemas.list.push(StoredSchema(schema.clone()));
            schemas.list.len() as u32 - 1
        });
        Some(EncodedColumn {
            schema: place,
            role: codec.role(),
            data,
        })
    }
}

/// Adds what the entities refer to; an error names the first entity that does.
fn add_entity_assets(
    job: &mut Job,
    entities: &[SourceEntity],
    handles: &[UntypedHandle],
    walk: &AssetWalk,
    store: &mut AssetStore,
) -> Vec<AssetKey> {
    let users = OnceCell::new();
    let mut errors = Vec::new();
    let seen: &Job = job;
    let keys = handles
        .iter()
        .map(|handle| {
            let referrer = || {
                let users = users.get_or_init(|| first_users(seen, entities));
                let user = users.get(&handle.id()).and_then(|index| seen.names.get(*index));
                user.map_or_else(|| "an entity".to_owned(), |name| format!("entity `{name}`"))
            };
            store.add(walk, handle, &referrer, &mut errors)
        })
        .collect();
    job.errors.append(&mut errors);
    keys
}

/// The first entity that refers to each asset, by scene index. Columns do not tell, so each value is encoded once more:
/// only for a level that has errors.
fn first_users(job: &Job, entities: &[SourceEntity]) -> HashMap<UntypedAssetId, usize> {
    let mut users = HashMap::new();
    for (index, entity) in entities.iter().enumerate() {
        for value in entity.components.values() {
            let Ok(codec) = job.codecs.component(value.as_any().type_id(), job.registry) else {
                continue;
            };
            let mut context = EncodeContext::new(job.registry, &job.rows);
            // A value that cannot be encoded is an error of its own.
            let _ = codec.encode(&[*value], &mut context, &mut Vec::new());
            for handle in context.into_references() {
                users.entry(handle.id()).or_insert(index);
            }
        }
    }
    users
}
