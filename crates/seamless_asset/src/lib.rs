//! Packages to live objects: the loading pipeline of bevy_seamless.
//!
//! Bevy's own scenes are spawned one component at a time on the main thread, from values that were parsed a moment ago.
//! This crate moves the work: packages are read and decoded on tasks, into columns with final entity ids and final asset
//! handles; the main thread only moves what is ready into the world, a level at a time, within a budget.
//!
//! * [`Streamer`] takes requests for level instances, [`InstanceEvent`] tells what became of them.
//! * [`ObjectRequest`] asks for single objects, [`BulkRequest`] for a payload alone, [`BlockingLoads`] does not come back before it is done.
//! * [`OpenRequest`] opens the tables of a package without its objects.
//! * [`net`] sends references to objects over a network, as small numbers.
//! * [`ReloadRequest`] brings what is live up to date with a file that was cooked again, in place.
//! * [`Linkers`] holds the packages that are open: their tables, each read once.
//! * [`codec`] turns components and assets into bytes and back; a game adds its own through [`SeamlessAssetApp`].
//! * [`OfLevel`] is for who goes with a level and is none of its own, [`KeepInWorld`] for who stays.
//! * [`StableIds`] leads from ids that are the same on every machine to entities of levels.
//! * [`LiveObjects`] knows every object that is live: an object is in memory once, whoever asks.
//! * [`RevealGate`] lets others hold a reveal back, until the GPU has its meshes for instance.
//! * [`StartupContent`] has what plugins refer to directly: one package, read before the first frame, live for ever.
//! * [`SoftHandle`] names an object and does not keep it alive; [`SoftObjects`] finds it, and a [`Streamable`] loads a set of them.
//! * [`ObjectRegistries`] tell what there is in cooked packages, without opening one.
//! * [`PreloadSets`] are loaded ahead for phases of a game, for zones and for what a player has chosen.
//! * [`DialogueVariants`] are sets of sounds of which a speaker says one.
//! * [`StreamingSettings`] limits a frame's work, [`StreamingStats`] counts what was done, and [`diagnostics`] measures all of that.
//!
//! # What holds
//! * A level is in the world whole or not at all. Observers of its components find all its entities alive.
//! * Entity ids, handles and tasks of a load that fails or is cancelled come back.
//! * Nothing panics on content: every error is a [`LoadError`] that names file, object and mend.

mod actors;
mod app_ext;
pub mod assets;
pub mod codec;
pub mod diagnostics;
pub mod dialogue;
#[cfg(any(test, feature = "doubles"))]
pub mod doubles;
mod edits;
mod entities;
mod error;
mod gate;
mod hide;
mod leave;
pub mod level_data;
mod linker;
mod load;
pub mod net;
mod objects;
mod panel;
mod preload;
mod primary;
mod registry;
mod reload;
mod reveal;
// For the crates on top of this one.
#[doc(hidden)]
pub mod scan;
mod settings;
mod soft;
pub mod spawn;
mod stable;
mod startup;
mod streamable;
#[cfg(test)]
mod tests;
mod threads;
mod time;
mod trees;
mod urgency;
mod viewpoints;

pub use actors::{KeepInWorld, LevelActors, OfLevel};
pub use app_ext::SeamlessAssetApp;
pub use dialogue::{DialogueVariant, DialogueVariants};
pub use edits::AssetTouches;
pub use entities::{EntityPool, ReservedEntities};
pub use error::{LoadError, LoadErrorKind};
pub use gate::{RevealGate, RevealGates};
pub use hide::{InHiddenLevel, LevelHider, LevelHiders};
pub use linker::{Linker, Linkers, NameError, PACKAGE_EXTENSION};
#[cfg(feature = "bench")]
#[doc(hidden)]
pub use load::bench_support;
pub use load::{
    BlockingLoads, BulkLoad, BulkRequest, FilePartRequest, InstanceData, InstanceEvent, InstanceId, InstanceInfo,
    InstanceRequest, InstanceTarget, LevelInstance, LevelScans, LoadPolicy, LoadState, MemoryAccount, MemoryPressure,
    ObjectLoad, ObjectRequest, OpenRequest, PackageOpen, PostLoad, ReloadLoad, ReloadPolicy, ReloadReport,
    ReloadRequest, Reloaded, StagedGroup, StagedLevel, Streamer, UnitKind, Verify, WastedBytes,
};
pub use objects::{CookFolder, LiveId, LiveObjects};
pub use panel::{PanelLine, PanelLines, PanelSystems};
pub use preload::{
    PreloadAppExt, PreloadError, PreloadEvent, PreloadProgress, PreloadSet, PreloadSets, PreloadSettings,
    PreloadSource, PreloadState, PreloadSystems, PreloadZone,
};
pub use primary::{PrimaryAssets, PrimaryError};
pub use registry::{
    FoundObject, ObjectRegistries, ObjectRegistry, ObjectScan, REGISTRY_EXTENSION, REGISTRY_FORMAT, REGISTRY_MAGIC,
    RegistryError, RegistryLevel, RegistryLimits, RegistryLoader, RegistryObject,
};
#[cfg(feature = "write")]
pub use registry::{resize_registry, write_registry};
pub use seamless_package as package;
pub use settings::{ClockGuard, OVERRUNS_KEPT, Overrun, StreamingClock, StreamingSettings, StreamingStats};
pub use soft::{
    LevelAsset, LoadSoftBlocking, ReflectSoftHandle, SoftError, SoftHandle, SoftObjects, SoftPath, SoftReference,
    SoftType, get_soft_if_loaded,
};
pub use stable::{InstancePath, LevelEntities, StableId, StableIds};
pub use startup::{
    STARTUP_EXPORT, SeamlessStartupPlugin, StartupContent, StartupContentError, StartupEntry, StartupIndex,
    StartupIndexCodec, StartupMissing, StartupOwner, StartupPinned, StartupRead, StartupRegistration, StartupReport,
    StartupTable,
};
pub use streamable::{
    Finished, HeldStreamable, Streamable, StreamableEnd, StreamableFinished, StreamableId, StreamableProgress,
    StreamableReport, StreamableRequest, StreamableSettings, StreamableState, StreamableStats, Streamables,
};
pub use threads::LoadingThreads;
pub use time::StreamingTime;
pub use urgency::StreamingUrgency;
pub use viewpoints::{Viewpoint, Viewpoints};

use core::time::Duration;
use std::sync::Arc;

use bevy_animation::{
    AnimatedBy, AnimationClip, AnimationPlayer, AnimationTargetId,
    graph::{AnimationGraph, AnimationGraphHandle},
};
use bevy_app::{App, Last, Plugin, SceneSpawnerSystems, SpawnScene};
use bevy_asset::{AssetApp, AssetEvent, AssetServer, Assets};
use bevy_camera::{
    primitives::Aabb,
    visibility::{InheritedVisibility, ViewVisibility, Visibility, VisibilityPlugin},
};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry, schedule::SingleThreadedExecutor};
use bevy_mesh::{Mesh, Mesh3d, MeshVertexAttribute, skinning::SkinnedMeshInverseBindposes};
use bevy_transform::components::{GlobalTransform, Transform, TransformTreeChanged};
use seamless_package::{Limits, Role};

use assets::MeshUvDensity;
use codec::Codecs;
use edits::AssetEdits;
use hide::{ChangedMeshes, note_changed_meshes};
use load::{LoadServices, LostRoots, Pipeline, RegisteredPostLoads};
use soft::SoftTable;
use streamable::StreamableHub;
use threads::loading_threads;

/// Loads, reveals and unloads level instances.
///
/// All its systems are in [`SpawnScene`], which runs on one thread from then on: see [`StreamingSystems`].
pub struct SeamlessAssetPlugin {
    /// The app's [`StreamingSettings`] from the start, unless it has some already: those that were inserted before the plugin are kept. They may
    /// be changed at any time after that.
    pub settings: StreamingSettings,
    /// What this app is: objects and columns that it does not need are not decoded. Default: client and server.
    pub role: Role,
    /// What a package may hold before it is refused. Default: [`Limits::default`].
    pub limits: Limits,
    /// Entities that a level may have before it is refused. Default: 1 048 576.
    pub max_entities_per_level: u32,
    /// Vertex attributes of the game's own, as given to `GltfPlugin`. Default: none.
    pub mesh_attributes: Vec<MeshVertexAttribute>,
    /// Threads that read and decode packages. Default: a quarter of the machine's cores, one to four.
    pub threads: usize,
    /// Whether the tables of a package stay in memory as long as it is in use, so that they are not read again. Consoles drop
    /// them after the load. Default: true.
    pub keep_linkers: bool,
    /// Whether these threads have the lowest priority, so that they never take time from a frame. Where all cores are busy they may get none for
    /// seconds; then threads of normal priority help them, which is logged and [counted](StreamingStats::starved). Turn it off where a game keeps
    /// all cores busy all the time. Default: true.
    pub background: bool,
    /// Whether levels that take more than a small part of a frame come and go in slices, and levels can be hidden without being unloaded.
    /// For that this app's queries skip entities that are [`InHiddenLevel`], which costs the others a little: see there. Add the plugin
    /// after `DefaultPlugins` and before those of the game: queries and observers that exist already do not skip them. What game code
    /// observes of a level comes in the frame that shows it, however large the level is. Default: false.
    pub sliced_levels: bool,
    /// [Registries](ObjectRegistry) that are loaded when the app starts, by their asset paths. Those of worlds come with their manifests.
    /// Default: none.
    pub registries: Vec<String>,
}

impl Default for SeamlessAssetPlugin {
    fn default() -> Self {
        Self {
            settings: StreamingSettings::default(),
            role: Role::CLIENT.union(Role::SERVER),
            limits: Limits::default(),
            max_entities_per_level: 1 << 20,
            mesh_attributes: Vec::new(),
            threads: threads::default_count(),
            keep_linkers: true,
            background: true,
            sliced_levels: false,
            registries: Vec::new(),
        }
    }
}

impl SeamlessAssetPlugin {
    /// For an app that is no client: what only clients need is not decoded, and a server that ticks twenty times a second is not slow.
    #[must_use]
    pub fn server() -> Self {
        Self {
            role: Role::SERVER,
            settings: StreamingSettings {
                slow_frame: Duration::from_millis(50),
                ..StreamingSettings::default()
            },
            ..Self::default()
        }
    }
}

/// Settings of the plugin that are needed once all plugins are there.
#[derive(Resource)]
struct PluginSettings {
    role: Role,
    limits: Limits,
    max_entities: u32,
    mesh_attributes: Arc<[MeshVertexAttribute]>,
    threads: usize,
    keep_linkers: bool,
    background: bool,
    sliced_levels: bool,
    registries: Vec<String>,
}

/// The pipeline's place in the frame, in [`SpawnScene`], where Bevy spawns its own scenes too: after `Update`, before
/// transforms and visibility are propagated in `PostUpdate`, so that a level is drawn right in the frame of its reveal.
///
/// The whole schedule runs on one thread, since nearly all of it is one row of short systems. A game that has long ones there, which
/// could run at the same time, gives it another executor after it has added the plugin (`App::edit_schedule`), or has them elsewhere.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
pub enum StreamingSystems {
    /// Whoever decides what to load puts requests into the [`Streamer`] here.
    Request,
    /// [`ObjectRegistries`] take in what has come, and [`Streamable`]s ask the [`Streamer`] for what is wanted of them.
    Objects,
    /// All main-thread work of the pipeline: one exclusive system.
    Reveal,
    /// [`Streamable`]s take in what has come, and tell who has ended.
    Settle,
}

impl Plugin for SeamlessAssetPlugin {
    fn build(&self, app: &mut App) {
        // What the game has said before counts.
        if !app.world().contains_resource::<StreamingSettings>() {
            app.insert_resource(self.settings.clone());
        }
        app.init_resource::<Codecs>()
            .init_resource::<LiveObjectsResource>()
            .init_resource::<LinkersResource>()
            .init_resource::<StreamingClock>()
            .init_resource::<StreamingStats>()
            .init_resource::<StreamingTime>()
            .init_resource::<StreamingUrgency>()
            .init_resource::<RevealGates>()
            .init_resource::<Streamer>()
            .init_resource::<StableIds>()
            .init_resource::<AssetEdits>()
            .init_resource::<Viewpoints>()
            .init_resource::<PanelLines>()
            .init_resource::<LostRoots>()
            .init_resource::<LevelHiders>()
            .insert_resource(PluginSettings {
                role: self.role,
                limits: self.limits.clone(),
                max_entities: self.max_entities_per_level,
                mesh_attributes: self.mesh_attributes.clone().into(),
                threads: self.threads,
                keep_linkers: self.keep_linkers,
                background: self.background,
                sliced_levels: self.sliced_levels,
                registries: self.registries.clone(),
            })
            .add_message::<InstanceEvent>()
            .add_message::<Reloaded>()
            .add_observer(load::keep_ticks_valid)
            .add_observer(load::note_lost_root)
            // One after the other, and short: on a thread of its own, each would wait for that to wake, and begin with cold caches.
            .edit_schedule(SpawnScene, |schedule| {
                schedule.set_executor(SingleThreadedExecutor::new());
            })
            .configure_sets(
                SpawnScene,
                (
                    StreamingSystems::Request,
                    StreamingSystems::Objects,
                    StreamingSystems::Reveal,
                    StreamingSystems::Settle,
                )
                    .chain()
                    .after(SceneSpawnerSystems::WorldInstanceSpawn)
                    .after(SceneSpawnerSystems::SceneSpawn),
            )
            .add_systems(
                SpawnScene,
                load::pump
                    .in_set(StreamingSystems::Reveal)
                    .run_if(resource_exists::<Pipeline>),
            )
            .add_systems(
                Last,
                (
                    (load::roll_frame, diagnostics::write_diagnostics)
                        .chain()
                        .run_if(resource_exists::<Pipeline>),
                    // Without Bevy's assets it is told why there is none.
                    tell_unfinished
                        .run_if(not(resource_exists::<Pipeline>))
                        .run_if(resource_exists::<AssetServer>),
                ),
            );
        register_own_types(app);
        add_soft(app);
        preload::add_preload(app);
        diagnostics::register(app);
        if self.sliced_levels {
            app.world_mut().register_disabling_component::<InHiddenLevel>();
            let note = note_changed_meshes.run_if(resource_exists::<Messages<AssetEvent<Mesh>>>);
            app.init_resource::<ChangedMeshes>().add_systems(Last, note);
            trees::add_systems(app);
        }
    }

    /// All codecs and asset types are registered by now.
    fn finish(&self, app: &mut App) {
        let Some(server) = app.world().get_resource::<AssetServer>().cloned() else {
            bevy_log::error!("SeamlessAssetPlugin loads nothing: add Bevy's AssetPlugin before it");
            return;
        };
        add_missing_assets(app);
        let bevys = reveal::BevysObservers::of(app);
        app.insert_resource(bevys);
        register_types(app);
        if app.is_plugin_added::<VisibilityPlugin>() {
            app.world().resource::<Codecs>().write().give_boxes();
            reveal::add_mesh_boxes(app);
        }
        let world = app.world_mut();
        let objects = world.resource::<LiveObjectsResource>().0.clone();
        let codecs = world.resource::<Codecs>().clone();
        for codec in codecs.read().assets() {
            if let Some(provider) = codec.provider(app.world()) {
                objects.set_provider(codec.type_id, provider);
                codec.watch_edits(app);
            }
        }
        let world = app.world_mut();
        add_registries(world, &server);
        let registry = world.get_resource_or_init::<AppTypeRegistry>().clone();
        let post_loads = world.get_resource_or_init::<RegisteredPostLoads>().take();
        let settings = world.resource::<PluginSettings>();
        let threads = Arc::new(loading_threads(settings.threads, settings.background));
        let services = LoadServices {
            server,
            codecs,
            registry,
            objects,
            post_loads,
            linkers: world.resource::<LinkersResource>().0.clone(),
            pool: EntityPool::new(world),
            limits: settings.limits.clone(),
            max_entities: settings.max_entities,
            role: settings.role,
            mesh_attributes: settings.mesh_attributes.clone(),
            is_sliced: settings.sliced_levels,
        };
        let (background, keep_linkers) = (settings.background, settings.keep_linkers);
        // A frame at rest that the machine has halted is noted without an allocation.
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.overruns.reserve(OVERRUNS_KEPT);
        world.resource_mut::<Streamer>().threads = Some(LoadingThreads::new(threads.clone()));
        world.insert_resource(Pipeline::new(services, threads, background, keep_linkers));
    }
}

/// Tells once, in the second frame, that the app goes on and nothing can be loaded.
fn tell_unfinished(mut frames: Local<u8>) {
    *frames = frames.saturating_add(1);
    if *frames == 2 {
        bevy_log::error!(
            "SeamlessAssetPlugin loads nothing: the app was never finished; call `App::finish` and `App::cleanup` before the first `App::update`, \
             or leave all three to `App::run`"
        );
    }
}

fn register_own_types(app: &mut App) {
    app.register_type::<StreamingSettings>()
        .register_type::<StreamingStats>()
        .register_type::<StreamingUrgency>()
        .register_type::<Viewpoints>()
        .register_type::<LevelInstance>()
        .register_type::<OfLevel>()
        .register_type::<LevelActors>()
        .register_type::<KeepInWorld>()
        .register_type::<StableIds>()
        .register_type::<InstancePath>()
        .register_type::<StableId>()
        .register_type::<InHiddenLevel>();
}

/// Soft handles, registries and streamables.
fn add_soft(app: &mut App) {
    let objects = app.world().resource::<LiveObjectsResource>().0.clone();
    let linkers = app.world().resource::<LinkersResource>().0.clone();
    app.insert_resource(SoftTable::new(objects, linkers))
        .init_resource::<ObjectRegistries>()
        .init_resource::<StreamableHub>()
        .init_resource::<primary::HeldPrimaries>()
        .init_resource::<StreamableSettings>()
        .init_resource::<StreamableStats>()
        .register_type::<StreamableSettings>()
        .register_type::<StreamableStats>()
        .add_systems(
            SpawnScene,
            (
                (registry::take_registries, streamable::drive)
                    .chain()
                    .in_set(StreamingSystems::Objects),
                (streamable::settle, primary::settle)
                    .chain()
                    .in_set(StreamingSystems::Settle),
            )
                .run_if(resource_exists::<Pipeline>),
        );
}

/// Loads the registries that the plugin names.
fn add_registries(world: &mut World, server: &AssetServer) {
    let paths = world.resource::<PluginSettings>().registries.clone();
    let mut registries = world.resource_mut::<ObjectRegistries>();
    for path in paths {
        registries.add(server.load(path));
    }
}

/// The components that this crate has codecs for: a reload compares values by reflection.
fn register_types(app: &mut App) {
    app.register_type::<Transform>()
        .register_type::<GlobalTransform>()
        .register_type::<TransformTreeChanged>()
        .register_type::<Name>()
        .register_type::<Visibility>()
        .register_type::<InheritedVisibility>()
        .register_type::<ViewVisibility>()
        .register_type::<Aabb>()
        .register_type::<ChildOf>()
        .register_type::<Children>()
        .register_type::<Mesh3d>()
        .register_type::<MeshUvDensity>()
        .register_type::<AnimationTargetId>()
        .register_type::<AnimatedBy>()
        .register_type::<AnimationPlayer>()
        .register_type::<AnimationGraphHandle>();
}

/// A server has none of the plugins that bring these types, and may want them all the same: meshes for collisions, and animations.
fn add_missing_assets(app: &mut App) {
    if !app.world().contains_resource::<Assets<Mesh>>() {
        app.init_asset::<Mesh>();
    }
    if !app.world().contains_resource::<Assets<SkinnedMeshInverseBindposes>>() {
        app.init_asset::<SkinnedMeshInverseBindposes>();
    }
    if !app.world().contains_resource::<Assets<AnimationClip>>() {
        app.init_asset::<AnimationClip>();
    }
    if !app.world().contains_resource::<Assets<AnimationGraph>>() {
        app.init_asset::<AnimationGraph>();
    }
    app.init_asset::<StartupIndex>()
        .init_asset::<ObjectRegistry>()
        .register_asset_loader(RegistryLoader);
    #[cfg(feature = "audio")]
    assets::add_audio(app);
}

/// The app's [`LiveObjects`].
#[derive(Resource, Default, Clone)]
pub struct LiveObjectsResource(pub LiveObjects);

/// The app's [`Linkers`].
#[derive(Resource, Default, Clone)]
pub struct LinkersResource(pub Linkers);
