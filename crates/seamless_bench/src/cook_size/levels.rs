//! The levels of packages as Bevy's text. See [`Levels`].

use std::{
    any::TypeId,
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};

use bevy_app::App;
use bevy_asset::{AssetPath, AssetServer, Handle, UntypedAssetId};
use bevy_camera::visibility::{InheritedVisibility, ViewVisibility};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_mesh::Mesh3d;
use bevy_pbr::{MeshMaterial3d, StandardMaterial};
use bevy_transform::components::{GlobalTransform, TransformTreeChanged};
use bevy_world_serialization::{DynamicWorldBuilder, WorldFilter};
use seamless_asset::{
    CookFolder, InstanceEvent, InstanceId, InstanceRequest, LevelInstance, LiveObjectsResource, LoadState,
    PACKAGE_EXTENSION, Streamer,
    level_data::LEVEL_CLASS,
    package::{ObjectId, Package},
};

use crate::app::{Plugins, app};

const PATIENCE: Duration = Duration::from_secs(60);

/// An app into which one level comes after the other.
pub struct Levels {
    app: App,
}

/// A level as text.
pub struct Texts {
    /// With every component that is cooked.
    pub whole: String,
    /// Without those that Bevy computes by itself.
    pub lean: String,
    pub entities: usize,
}

impl Levels {
    /// For the packages in `folder`.
    pub fn new(folder: &Path) -> Self {
        // Bevy's asset server takes paths from where the program lies.
        let folder = folder.canonicalize().expect("the folder is there");
        Self {
            app: app(Plugins::Scenes, &folder),
        }
    }

    /// The texts of a package's level, if it has one.
    pub fn texts(&mut self, package: &Package) -> Option<Texts> {
        let cooked: Vec<&str> = package.schemas().map(|(_, schema)| schema.type_path.as_str()).collect();
        cooked.contains(&LEVEL_CLASS).then_some(())?;
        let id = self.load(package.name());
        let entities = self.entities();
        self.name_handles(package, &entities);
        let texts = Texts {
            whole: self.text(&entities, &self.filter(&cooked, &[])),
            lean: self.text(&entities, &self.filter(&cooked, &computed())),
            entities: entities.len(),
        };
        self.unload(id);
        Some(texts)
    }

    fn load(&mut self, package: &str) -> InstanceId {
        let request = InstanceRequest {
            name: package.to_owned(),
            package: AssetPath::from(package.to_owned()),
            ..InstanceRequest::default()
        };
        let id = self.app.world_mut().resource_mut::<Streamer>().load(request);
        let has_ended = |state| matches!(state, Some(LoadState::Live | LoadState::Failed));
        self.wait(package, |streamer| has_ended(streamer.state(id)));
        for event in self.app.world_mut().resource_mut::<Messages<InstanceEvent>>().drain() {
            if let InstanceEvent::Failed { error, .. } = event {
                panic!("{error}");
            }
        }
        id
    }

    fn unload(&mut self, id: InstanceId) {
        self.app.world_mut().resource_mut::<Streamer>().unload(id);
        self.wait("a level", |streamer| streamer.state(id).is_none());
    }

    fn wait(&mut self, what: &str, is_done: impl Fn(&Streamer) -> bool) {
        let start = Instant::now();
        while !is_done(self.app.world().resource::<Streamer>()) {
            assert!(start.elapsed() < PATIENCE, "{what} comes or goes in time");
            self.app.update();
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// The entities of the level that is live.
    fn entities(&mut self) -> Vec<Entity> {
        let world = self.app.world_mut();
        let mut instances = world.query::<&LevelInstance>();
        let instance = instances.single(world).expect("one level at a time");
        instance.objects.entities().collect()
    }

    /// Gives meshes and materials of entities handles with paths: Bevy writes no others.
    fn name_handles(&mut self, package: &Package, entities: &[Entity]) {
        let server = self.app.world().resource::<AssetServer>().clone();
        let paths = self.paths(package);
        let (mut meshes, mut materials) = (HashMap::new(), HashMap::new());
        for &entity in entities {
            let mut entity = self.app.world_mut().entity_mut(entity);
            if let Some(mut mesh) = entity.get_mut::<Mesh3d>() {
                mesh.0 = named(&server, &paths, &mut meshes, &mesh.0);
            }
            if let Some(mut material) = entity.get_mut::<MeshMaterial3d<StandardMaterial>>() {
                material.0 = named(&server, &paths, &mut materials, &material.0);
            }
        }
    }

    /// What the objects of a package, and those that it imports, would be called in the sources.
    fn paths(&self, package: &Package) -> HashMap<UntypedAssetId, String> {
        let objects = &self.app.world().resource::<LiveObjectsResource>().0;
        let own = package.exports().iter().enumerate().map(|(index, export)| {
            (
                export.object_id,
                source_path(package.name(), package.export_name(index).unwrap_or_default()),
            )
        });
        let imported = package.imports().iter().enumerate().map(|(index, import)| {
            let home = package.import_package(index).unwrap_or_default();
            (
                import.object_id,
                source_path(home, package.import_name(index).unwrap_or_default()),
            )
        });
        let cook = CookFolder::default();
        let live = |(id, path): (ObjectId, String)| Some((objects.get(cook.object(id))?.id(), path));
        own.chain(imported).filter_map(live).collect()
    }

    /// The components of these type paths, less some.
    fn filter(&self, cooked: &[&str], less: &[TypeId]) -> WorldFilter {
        let registry = self.app.world().resource::<AppTypeRegistry>().read();
        let ids = cooked
            .iter()
            .filter_map(|path| Some(registry.get_with_type_path(path)?.type_id()));
        ids.filter(|id| !less.contains(id))
            .fold(WorldFilter::deny_all(), WorldFilter::allow_by_id)
    }

    fn text(&self, entities: &[Entity], filter: &WorldFilter) -> String {
        let world = self.app.world();
        let registry = world.resource::<AppTypeRegistry>().read();
        let dynamic = DynamicWorldBuilder::from_world(world, &registry)
            .with_component_filter(filter.clone())
            .extract_entities(entities.iter().copied())
            .build();
        dynamic.serialize(&registry).expect("every component can be written")
    }
}

/// A handle with the path of the object that `handle` stands for. It has no value: nobody reads it.
fn named<A: bevy_asset::Asset>(
    server: &AssetServer,
    paths: &HashMap<UntypedAssetId, String>,
    made: &mut HashMap<UntypedAssetId, Handle<A>>,
    handle: &Handle<A>,
) -> Handle<A> {
    let id = handle.id().untyped();
    let path = || paths.get(&id).expect("the package names all that its level shows");
    made.entry(id).or_insert_with(|| server.load(path().clone())).clone()
}

/// An object path as of a source: there is no loader for that ending here, so nothing is read.
fn source_path(package: &str, object: &str) -> String {
    let name = package.strip_suffix(PACKAGE_EXTENSION).unwrap_or(package);
    format!("{name}glb#{object}")
}

/// What Bevy makes of other components in every frame.
fn computed() -> [TypeId; 4] {
    [
        TypeId::of::<GlobalTransform>(),
        TypeId::of::<TransformTreeChanged>(),
        TypeId::of::<InheritedVisibility>(),
        TypeId::of::<ViewVisibility>(),
    ]
}
