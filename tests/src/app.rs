//! Headless Bevy apps: everything `DefaultPlugins` has, without a window and without a GPU.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use bevy::{
    app::PluginGroupBuilder,
    asset::{AssetPath, LoadState},
    ecs::schedule::{Schedules, SingleThreadedExecutor},
    image::{CompressedImageFormatSupport, CompressedImageFormats},
    log::LogPlugin,
    prelude::*,
    render::{
        ExtractSchedule, RenderPlugin,
        settings::{RenderCreation, WgpuSettings},
        sync_world::SyncWorldPlugin,
    },
    window::ExitCondition,
    winit::WinitPlugin,
    world_serialization::{WorldInstance, WorldInstanceSpawner},
};

/// All of Bevy's plugins but its windows and its logger, which is global to the process: several apps live in one test binary.
pub(crate) fn default_plugins(asset_dir: &Path, render: RenderPlugin) -> PluginGroupBuilder {
    DefaultPlugins
        .build()
        .disable::<WinitPlugin>()
        .disable::<LogPlugin>()
        .set(render)
        .set(WindowPlugin {
            primary_window: None,
            exit_condition: ExitCondition::DontExit,
            ..default()
        })
        .set(AssetPlugin {
            file_path: asset_dir.to_string_lossy().into_owned(),
            ..default()
        })
}

/// How long [`bevy_spawn`] waits before it calls a load stuck.
pub const LOAD_LIMIT: Duration = Duration::from_secs(240);

/// An app that reads assets from `asset_dir`, finished and ready for `update()`.
pub fn headless(asset_dir: &Path) -> App {
    headless_with(asset_dir, |_| {})
}

/// As [`headless`]; `configure` runs after `DefaultPlugins` and before `finish`, to add plugins and register types.
pub fn headless_with(asset_dir: &Path, configure: impl FnOnce(&mut App)) -> App {
    headless_after(|_| {}, asset_dir, configure)
}

/// As [`headless_with`]; `prepare` runs before `DefaultPlugins`, to register asset sources.
pub fn headless_after(prepare: impl FnOnce(&mut App), asset_dir: &Path, configure: impl FnOnce(&mut App)) -> App {
    let mut app = App::new();
    prepare(&mut app);
    let settings = WgpuSettings {
        backends: None,
        ..default()
    };
    let render = RenderPlugin {
        render_creation: RenderCreation::Automatic(Box::new(settings)),
        ..default()
    };
    app.add_plugins(default_plugins(asset_dir, render));
    app.insert_resource(CompressedImageFormatSupport(CompressedImageFormats::all()));
    // Without a renderer nobody adds it, and Bevy's hooks on lights and cameras panic on their removal.
    if !app.is_plugin_added::<SyncWorldPlugin>() {
        app.add_plugins(SyncWorldPlugin);
    }
    configure(&mut app);
    while app.plugins_state() == bevy::app::PluginsState::Adding {
        bevy::tasks::tick_global_task_pools_on_main_thread();
    }
    app.finish();
    app.cleanup();
    app
}

/// All systems of a world run on the calling thread from now on.
pub fn on_one_thread(world: &mut World) {
    let mut schedules = world.resource_mut::<Schedules>();
    for (_, schedule) in schedules.iter_mut() {
        schedule.set_executor(SingleThreadedExecutor::new());
    }
    // Bevy's renderer applies what it has extracted later, as it has told the executor that was there before.
    if let Some(extract) = schedules.get_mut(ExtractSchedule) {
        extract.set_apply_final_deferred(false);
    }
}

/// Updates `app` until `done` holds; false when `limit` passed first. `done` is asked before the first update too.
#[must_use]
pub fn run_until(app: &mut App, limit: Duration, mut done: impl FnMut(&World) -> bool) -> bool {
    let start = Instant::now();
    while !done(app.world()) {
        if start.elapsed() > limit {
            return false;
        }
        app.update();
        // Loads run on other threads, and there are few of them.
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Loads `path` (`file.gltf#Scene0` or `file.scn.ron`) the Bevy way under a new root entity, waits until the assets
/// are loaded with their dependencies and the instance is spawned, and updates three times more.
///
/// # Panics
/// When the load fails or takes longer than [`LOAD_LIMIT`].
pub fn bevy_spawn(app: &mut App, path: &str) -> Entity {
    bevy_spawn_at(app, path, Transform::default())
}

/// As [`bevy_spawn`], with the root placed at `transform`.
///
/// # Panics
/// When the load fails or takes longer than [`LOAD_LIMIT`].
pub fn bevy_spawn_at(app: &mut App, path: &str, transform: Transform) -> Entity {
    let server = app.world().resource::<AssetServer>().clone();
    let asset_path = AssetPath::parse(path).into_owned();
    let mut root = app.world_mut().spawn((transform, Visibility::default()));
    let id = if asset_path.path().to_string_lossy().contains(".scn") {
        let handle = server.load(asset_path);
        let id = handle.id().untyped();
        root.insert(DynamicWorldRoot(handle));
        id
    } else {
        let handle = server.load(asset_path);
        let id = handle.id().untyped();
        root.insert(WorldAssetRoot(handle));
        id
    };
    let root = root.id();
    let ready = run_until(app, LOAD_LIMIT, |world| {
        if let LoadState::Failed(error) = server.load_state(id) {
            panic!("{path} failed to load: {error}");
        }
        server.is_loaded_with_dependencies(id) && is_spawned(world, root)
    });
    assert!(ready, "{path} did not load: {:?}", server.get_load_states(id));
    for _ in 0..3 {
        app.update();
    }
    root
}

/// Takes away what [`bevy_spawn_at`] has spawned and spawns it once more, in its place. Nothing has to be loaded any more, so all of it comes in
/// one frame, and this is that frame.
///
/// # Panics
/// When `root` is none of its roots, or nothing comes.
pub fn bevy_spawn_again(app: &mut App, root: Entity) -> Entity {
    let world = app.world_mut();
    let transform = *world.get::<Transform>(root).expect("a root stands somewhere");
    let asset = world.get::<WorldAssetRoot>(root).cloned();
    let dynamic = world.get::<DynamicWorldRoot>(root).cloned();
    world.despawn(root);
    let mut again = world.spawn((transform, Visibility::default()));
    if let Some(asset) = asset {
        again.insert(asset);
    }
    if let Some(dynamic) = dynamic {
        again.insert(dynamic);
    }
    let again = again.id();
    let is_there = run_until(app, LOAD_LIMIT, |world| is_spawned(world, again));
    assert!(is_there, "what is loaded is spawned");
    again
}

fn is_spawned(world: &World, root: Entity) -> bool {
    world
        .get::<WorldInstance>(root)
        .is_some_and(|instance| world.resource::<WorldInstanceSpawner>().instance_is_ready(**instance))
}
