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
//! * [`LiveObjects`] knows every object that is live: an object is in memory once, whoever asks.
//! * [`RevealGate`] lets others hold a reveal back, until the GPU has its meshes for instance.
//! * [`StartupContent`] has what plugins refer to directly: one package, read before the first frame, live for ever.
//! * [`DialogueVariants`] are sets of sounds of which a speaker says one.
//! * [`StreamingSettings`] limits a frame's work, [`StreamingStats`] counts what was done.
//!
//! # What holds
//! * A level is in the world whole or not at all. Observers of its components find all its entities alive.
//! * Entity ids, handles and tasks of a load that fails or is cancelled come back.
//! * Nothing panics on content: every error is a [`LoadError`] that names file, object and mend.

pub mod assets;
pub mod codec;
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
mod reload;
mod reveal;
mod settings;
pub mod spawn;
mod startup;
mod threads;
mod time;
mod urgency;

pub use dialogue::{DialogueVariant, DialogueVariants};
pub use entities::{EntityPool, ReservedEntities};
pub use error::{LoadError, LoadErrorKind};
pub use gate::{RevealGate, RevealGates};
pub use hide::{InHiddenLevel, LevelHider, LevelHiders};
pub use linker::{Linker, Linkers, NameError, PACKAGE_EXTENSION};
#[cfg(feature = "bench")]
#[doc(hidden)]
pub use load::bench_support;
pub use load::{
    BlockingLoads, BulkLoad, BulkRequest, InstanceEvent, InstanceId, InstanceRequest, InstanceTarget, LevelInstance,
    LoadPolicy, LoadState, ObjectLoad, ObjectRequest, OpenRequest, PackageOpen, PostLoad, ReloadLoad, ReloadPolicy,
    ReloadReport, ReloadRequest, Reloaded, Streamer, Verify, WastedBytes,
};
pub use objects::LiveObjects;
pub use seamless_package as package;
pub use settings::{ClockGuard, OVERRUNS_KEPT, Overrun, StreamingClock, StreamingSettings, StreamingStats};
pub use startup::{
    STARTUP_EXPORT, SeamlessStartupPlugin, StartupContent, StartupContentError, StartupEntry, StartupIndex,
    StartupIndexCodec, StartupMissing, StartupOwner, StartupPinned, StartupRead, StartupRegistration, StartupReport,
    StartupTable,
};
pub use time::StreamingTime;
pub use urgency::StreamingUrgency;

use core::any::TypeId;
use std::sync::Arc;

use bevy_animation::{
    AnimatedBy, AnimationClip, AnimationPlayer, AnimationTargetId,
    graph::{AnimationGraph, AnimationGraphHandle},
};
use bevy_app::{App, Last, Plugin, SpawnScene, ValidateParentHasComponentPlugin};
use bevy_asset::{Asset, AssetApp, AssetPath, AssetServer, Assets};
use bevy_camera::{
    primitives::Aabb,
    visibility::{InheritedVisibility, ViewVisibility, Visibility},
};
use bevy_diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, RegisterDiagnostic};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_mesh::{Mesh, Mesh3d, MeshVertexAttribute, skinning::SkinnedMeshInverseBindposes};
use bevy_reflect::{FromReflect, GetTypeRegistration};
use bevy_transform::components::{GlobalTransform, Transform, TransformTreeChanged};
use seamless_package::{Limits, Role};

use assets::MeshUvDensity;
use codec::{AssetCodec, Codecs, ComponentCodec, Migrations, Record, ReflectAssetCodec};
use dialogue::{DialogueLoader, DialogueVariantsCodec};
use edits::AssetEdits;
use load::{LoadServices, LostRoots, Pipeline, RegisteredPostLoads};
use spawn::SpawnRow;
use threads::loading_threads;

/// Loads, reveals and unloads level instances.
pub struct SeamlessAssetPlugin {
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
    /// Whether these threads have the lowest priority, so that they never take time from a frame. Turn it off where a game
    /// keeps all cores busy all the time: loads would hardly get on. Default: true.
    pub background: bool,
    /// Whether levels that take more than a small part of a frame come and go in slices, and levels can be hidden without being unloaded.
    /// For that this app's queries skip entities that are [`InHiddenLevel`], which costs the others a little: see there. Add the plugin
    /// after `DefaultPlugins` and before those of the game: queries and observers that exist already do not skip them. Default: false.
    pub sliced_levels: bool,
}

impl Default for SeamlessAssetPlugin {
    fn default() -> Self {
        Self {
            role: Role::CLIENT.union(Role::SERVER),
            limits: Limits::default(),
            max_entities_per_level: 1 << 20,
            mesh_attributes: Vec::new(),
            threads: threads::default_count(),
            keep_linkers: true,
            background: true,
            sliced_levels: false,
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
}

/// The pipeline's place in the frame, in [`SpawnScene`], where Bevy spawns its own scenes too: after `Update`, before
/// transforms and visibility are propagated in `PostUpdate`, so that a level is drawn right in the frame of its reveal.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
pub enum StreamingSystems {
    /// Whoever decides what to load puts requests into the [`Streamer`] here.
    Request,
    /// All main-thread work of the pipeline: one exclusive system.
    Reveal,
}

impl Plugin for SeamlessAssetPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Codecs>()
            .init_resource::<LiveObjectsResource>()
            .init_resource::<LinkersResource>()
            .init_resource::<StreamingSettings>()
            .init_resource::<StreamingClock>()
            .init_resource::<StreamingStats>()
            .init_resource::<StreamingTime>()
            .init_resource::<StreamingUrgency>()
            .init_resource::<RevealGates>()
            .init_resource::<Streamer>()
            .init_resource::<AssetEdits>()
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
            })
            .register_type::<StreamingSettings>()
            .register_type::<StreamingStats>()
            .register_type::<StreamingUrgency>()
            .register_type::<LevelInstance>()
            .register_type::<InHiddenLevel>()
            .add_message::<InstanceEvent>()
            .add_message::<Reloaded>()
            .add_observer(load::keep_ticks_valid)
            .add_observer(load::note_lost_root)
            .register_diagnostic(Diagnostic::new(STREAM_MS).with_suffix(" ms"))
            .register_diagnostic(Diagnostic::new(LIVE_ENTITIES))
            .register_diagnostic(Diagnostic::new(LIVE_BYTES).with_suffix(" B"))
            .configure_sets(
                SpawnScene,
                (StreamingSystems::Request, StreamingSystems::Reveal).chain(),
            )
            .add_systems(
                SpawnScene,
                load::pump
                    .in_set(StreamingSystems::Reveal)
                    .run_if(resource_exists::<Pipeline>),
            )
            .add_systems(
                Last,
                (load::roll_frame, write_diagnostics)
                    .chain()
                    .run_if(resource_exists::<Pipeline>),
            );
        if self.sliced_levels {
            app.world_mut().register_disabling_component::<InHiddenLevel>();
        }
    }

    /// All codecs and asset types are registered by now.
    fn finish(&self, app: &mut App) {
        let Some(server) = app.world().get_resource::<AssetServer>().cloned() else {
            bevy_log::error!("SeamlessAssetPlugin loads nothing: add Bevy's AssetPlugin before it");
            return;
        };
        add_missing_assets(app);
        note_parent_checks(app);
        register_types(app);
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
        let registry = world.get_resource_or_init::<AppTypeRegistry>().clone();
        let post_loads = world.get_resource_or_init::<RegisteredPostLoads>().take();
        let settings = world.resource::<PluginSettings>();
        let threads = loading_threads(settings.threads, settings.background);
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
        };
        let (keep_linkers, sliced) = (settings.keep_linkers, settings.sliced_levels);
        world.insert_resource(Pipeline::new(services, threads, keep_linkers, sliced));
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

fn note_parent_checks(app: &mut App) {
    let mut checks = reveal::ParentChecks::default();
    if app.is_plugin_added::<ValidateParentHasComponentPlugin<GlobalTransform>>() {
        checks.0.push(TypeId::of::<GlobalTransform>());
    }
    if app.is_plugin_added::<ValidateParentHasComponentPlugin<InheritedVisibility>>() {
        checks.0.push(TypeId::of::<InheritedVisibility>());
    }
    app.insert_resource(checks);
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
    app.init_asset::<StartupIndex>();
    #[cfg(feature = "audio")]
    assets::add_audio(app);
}

/// The app's [`LiveObjects`].
#[derive(Resource, Default, Clone)]
pub struct LiveObjectsResource(pub LiveObjects);

/// The app's [`Linkers`].
#[derive(Resource, Default, Clone)]
pub struct LinkersResource(pub Linkers);

/// Main-thread time of the last frame's streaming work.
pub const STREAM_MS: DiagnosticPath = DiagnosticPath::const_new("seamless/stream_ms");
/// Entities of live levels.
pub const LIVE_ENTITIES: DiagnosticPath = DiagnosticPath::const_new("seamless/live_entities");
/// Stored bytes of live packages.
pub const LIVE_BYTES: DiagnosticPath = DiagnosticPath::const_new("seamless/live_bytes");

fn write_diagnostics(stats: Res<StreamingStats>, mut diagnostics: Diagnostics) {
    diagnostics.add_measurement(&STREAM_MS, || stats.last_frame.as_secs_f64() * 1e3);
    diagnostics.add_measurement(&LIVE_ENTITIES, || stats.live_entities as f64);
    diagnostics.add_measurement(&LIVE_BYTES, || stats.live_bytes as f64);
}

/// Adds codecs to an app; call it in the game and in its cooker alike, best from one plugin of the game.
pub trait SeamlessAssetApp {
    /// Adds the codec of an asset type.
    fn add_asset_codec<C: AssetCodec>(&mut self) -> &mut Self;

    /// Cooks assets of type `A` by reflection. Fields with `#[reflect(ignore)]` are lost: make sure there are none.
    fn cook_by_reflection<A: Asset + FromReflect + GetTypeRegistration>(&mut self) -> &mut Self;

    /// Adds [`DialogueVariants`] of sounds of type `S`: the asset type, its loader and its codec. Add it after Bevy's `AssetPlugin` and the
    /// plugin that brings `S`. The feature `audio` does it for Bevy's `AudioSource`.
    fn add_dialogue<S: Asset>(&mut self) -> &mut Self;

    /// Adds the codec of a component, in place of the one by reflection.
    fn add_component_codec(&mut self, codec: impl ComponentCodec) -> &mut Self;

    /// Adds a component that reads and writes itself.
    fn add_record<C: Record>(&mut self) -> &mut Self;

    /// Adds code that runs on every asset of type `A` after it was decoded, off the main thread, before anybody sees it; see
    /// [`PostLoad`]. An error fails the load. Add it before the app runs.
    fn add_post_load<A: Asset>(
        &mut self,
        hook: impl Fn(&mut A, &mut PostLoad) -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self;

    /// As [`add_post_load`](Self::add_post_load), for a component of levels: the hook gets the values of a run of entities.
    fn add_component_post_load<C: Component>(
        &mut self,
        hook: impl Fn(&mut [C], &mut PostLoad) -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self;

    /// Registers content that the code of `P`, a plugin usually, refers to directly, by the paths of its sources. It is cooked into the
    /// startup package, live before the first frame, and in memory for ever; see [`StartupContent`].
    fn add_startup_content<P: ?Sized, A: Asset>(
        &mut self,
        paths: impl IntoIterator<Item = impl Into<AssetPath<'static>>>,
    ) -> &mut Self;

    /// Announces the set of components that many entities of the game's levels consist of: their reveal takes less time.
    fn add_spawn_row<R: SpawnRow>(&mut self) -> &mut Self;

    /// Adds the history of the game's types, or of a plugin's: what is done to objects that were cooked before they changed.
    /// Do it in a plugin that the game and its cook program share: a package that was saved without a list counts as one from before
    /// its first entry.
    ///
    /// # Panics
    /// When the list has a mistake in it or is there already. Without it older objects would be taken for current ones, and
    /// current ones be migrated once more later. [`CodecRegistry::add_migrations`] returns the error.
    ///
    /// [`CodecRegistry::add_migrations`]: codec::CodecRegistry::add_migrations
    fn add_migrations(&mut self, list: Migrations) -> &mut Self;
}

impl SeamlessAssetApp for App {
    fn add_asset_codec<C: AssetCodec>(&mut self) -> &mut Self {
        self.world_mut()
            .get_resource_or_init::<Codecs>()
            .write()
            .add_asset::<C>();
        self
    }

    fn cook_by_reflection<A: Asset + FromReflect + GetTypeRegistration>(&mut self) -> &mut Self {
        self.register_type::<A>();
        self.add_asset_codec::<ReflectAssetCodec<A>>()
    }

    fn add_dialogue<S: Asset>(&mut self) -> &mut Self {
        self.init_asset::<DialogueVariants<S>>()
            .register_asset_loader(DialogueLoader::<S>::default())
            .add_asset_codec::<DialogueVariantsCodec<S>>()
    }

    fn add_component_codec(&mut self, codec: impl ComponentCodec) -> &mut Self {
        self.world_mut()
            .get_resource_or_init::<Codecs>()
            .write()
            .add_component(codec);
        self
    }

    fn add_record<C: Record>(&mut self) -> &mut Self {
        self.world_mut()
            .get_resource_or_init::<Codecs>()
            .write()
            .add_record::<C>(Role::ALL);
        self
    }

    fn add_post_load<A: Asset>(
        &mut self,
        hook: impl Fn(&mut A, &mut PostLoad) -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self {
        let mut hooks = self.world_mut().get_resource_or_init::<RegisteredPostLoads>();
        hooks.0.add_asset(hook);
        self
    }

    fn add_component_post_load<C: Component>(
        &mut self,
        hook: impl Fn(&mut [C], &mut PostLoad) -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self {
        let mut hooks = self.world_mut().get_resource_or_init::<RegisteredPostLoads>();
        hooks.0.add_component(hook);
        self
    }

    fn add_startup_content<P: ?Sized, A: Asset>(
        &mut self,
        paths: impl IntoIterator<Item = impl Into<AssetPath<'static>>>,
    ) -> &mut Self {
        let mut content = self.world_mut().get_resource_or_init::<StartupContent>();
        for path in paths {
            content.register::<P, A>(path.into());
        }
        self
    }

    fn add_spawn_row<R: SpawnRow>(&mut self) -> &mut Self {
        self.world_mut().get_resource_or_init::<Codecs>().write().add_row::<R>();
        self
    }

    fn add_migrations(&mut self, list: Migrations) -> &mut Self {
        let codecs = self.world_mut().get_resource_or_init::<Codecs>().clone();
        let added = codecs.write().add_migrations(list);
        if let Err(error) = added {
            panic!("{error}");
        }
        self
    }
}
