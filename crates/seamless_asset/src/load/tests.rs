//! The pipeline on packages made here: reveal, leave, cancel, errors, and what is left behind.

mod any_read;
mod blocking;
mod boxes;
pub(crate) mod build;
mod bulk;
mod complete;
mod cooks;
mod counting;
mod errors;
mod finish;
mod frame;
pub(crate) mod gated;
mod gatekeeper;
mod gates;
mod golden;
mod hierarchy;
mod imports;
mod instances;
mod linkers;
mod live;
mod memory;
pub(crate) mod objects;
mod older;
mod order;
mod plain;
mod post_load;
mod processed;
mod rank;
mod reload;
mod seek_free;
mod sliced;
mod spans;
mod stall;
mod startup;
mod suspended;
mod targets;
mod transient;
mod upload;
mod waste;

use core::time::Duration;
use std::{path::Path, time::Instant};

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{
    Asset, AssetApp, AssetPath, AssetPlugin, Assets, Handle, RenderAssetUsages, UntypedAssetId,
    io::{
        AssetReader, AssetSourceBuilder, AssetSourceId,
        memory::{Dir, MemoryAssetReader},
    },
};
use bevy_ecs::{message::Messages, prelude::*, relationship::RelationshipTarget};
use bevy_mesh::{Mesh, Mesh3d, MeshPlugin, PrimitiveTopology};
use bevy_reflect::Reflect;
use bevy_transform::components::Transform;
use seamless_package::{Codec, Cursor, NewExport, ObjectId, ObjectRef, PackageWriter, Role};

use build::{chain, mesh_object, new_export, new_package, old_package, shared_package};

use super::{InstanceEvent, InstanceId, InstanceRequest, InstanceTarget, LoadState, Streamer, Verify};
use crate::{
    EntityPool, LiveObjectsResource, LoadErrorKind, RevealGate, RevealGates, SeamlessAssetApp, SeamlessAssetPlugin,
    StreamingSettings, StreamingStats,
    codec::{Codecs, DecodeError, EncodeContext, Encoding, EntityRows, Record, schema},
    level_data::LevelBuilder,
};

#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
struct Likes(#[entities] Entity);

/// An asset that refers to others.
#[derive(Asset, Reflect, Clone, Debug, PartialEq)]
pub(crate) struct Recipe {
    pub title: String,
    pub before: Vec<Handle<Recipe>>,
}

pub(crate) fn app(dir: &Dir) -> App {
    app_with(dir, |_| {})
}

/// With what a game's own plugins add.
pub(crate) fn app_with(dir: &Dir, game: impl FnOnce(&mut App)) -> App {
    app_after(dir, SeamlessAssetPlugin::default(), game)
}

pub(crate) fn app_after(dir: &Dir, plugin: SeamlessAssetPlugin, game: impl FnOnce(&mut App)) -> App {
    let root = dir.clone();
    app_reading(move || MemoryAssetReader { root: root.clone() }, plugin, game)
}

/// An app that has time for all that comes in a frame, though its thread is halted.
fn app_with_time(dir: &Dir) -> App {
    let mut app = app(dir);
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_secs(10);
    app
}

/// An app whose levels come and go in slices.
pub(crate) fn sliced_app(dir: &Dir) -> App {
    let plugin = SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    };
    app_after(dir, plugin, |_| {})
}

/// With a source of its own.
fn app_reading<R: AssetReader>(
    reader: impl Fn() -> R + Send + Sync + 'static,
    plugin: SeamlessAssetPlugin,
    game: impl FnOnce(&mut App),
) -> App {
    let source = AssetSourceBuilder::new(move || Box::new(reader()));
    app_of(source, AssetPlugin::default(), plugin, game)
}

fn app_of(
    source: AssetSourceBuilder,
    assets: AssetPlugin,
    plugin: SeamlessAssetPlugin,
    game: impl FnOnce(&mut App),
) -> App {
    // Frames follow each other without a pause here: threads of the lowest priority would get next to nothing.
    let plugin = SeamlessAssetPlugin {
        background: false,
        ..plugin
    };
    let mut app = App::new();
    app.register_asset_source(AssetSourceId::Default, source)
        .add_plugins((TaskPoolPlugin::default(), assets, MeshPlugin, plugin))
        .register_type::<Likes>()
        .init_asset::<Recipe>()
        .cook_by_reflection::<Recipe>();
    game(&mut app);
    app.finish();
    app.cleanup();
    app
}

pub(crate) fn put(dir: &Dir, path: &str, bytes: Vec<u8>) {
    dir.insert_asset(Path::new(path), bytes);
}

fn request(package: &str, dependencies: &[&str]) -> InstanceRequest {
    InstanceRequest {
        name: package.to_owned(),
        package: AssetPath::parse(package).into_owned(),
        dependencies: dependencies
            .iter()
            .map(|path| AssetPath::parse(path).into_owned())
            .collect(),
        placement: Transform::from_xyz(10.0, 0.0, 0.0),
        ..InstanceRequest::default()
    }
}

pub(crate) fn load(app: &mut App, package: &str, dependencies: &[&str]) -> InstanceId {
    app.world_mut()
        .resource_mut::<Streamer>()
        .load(request(package, dependencies))
}

#[track_caller]
pub(crate) fn run_until(app: &mut App, mut done: impl FnMut(&mut World) -> bool) {
    let start = Instant::now();
    // By the clock, and long: on a busy machine the threads that load get little of it.
    while start.elapsed() < Duration::from_secs(240) {
        app.update();
        if done(app.world_mut()) {
            return;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    panic!("it took too long");
}

fn state(world: &World, id: InstanceId) -> Option<LoadState> {
    world.resource::<Streamer>().state(id)
}

fn level_entities(world: &mut World) -> usize {
    world.query::<&Likes>().iter(world).count()
}

fn error_of(app: &mut App, id: InstanceId) -> LoadErrorKind {
    let mut found = None;
    for event in app.world_mut().resource_mut::<Messages<InstanceEvent>>().drain() {
        if let InstanceEvent::Failed { id: failed, error } = event
            && failed == id
        {
            found = Some(error);
        }
    }
    let error = std::sync::Arc::into_inner(found.expect("a failure was told")).unwrap();
    assert!(!error.package.is_empty());
    error.kind
}

#[test]
fn a_level_is_revealed_whole_and_leaves_whole() {
    let dir = Dir::default();
    drop(comes_and_goes_whole(app(&dir), &dir, 50));
}

/// The same from typed rows, in a table that has room for what is expected.
#[test]
fn announced_sets_come_and_go_alike() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.add_spawn_row::<(Transform, Mesh3d, Likes, ChildOf)>();
    app.world_mut().resource_mut::<Streamer>().expect_entities(5_000);
    app.update();
    let app = comes_and_goes_whole(app, &dir, 100);
    let likes = app.world().component_id::<Likes>().unwrap();
    let mut tables = app.world().storages().tables.iter();
    let table = tables.find(|table| table.has_column(likes)).unwrap();
    assert!(table.capacity() >= 5_000, "room for {}", table.capacity());
    let ids = app.world().entities().len();
    assert!(ids >= 10_000, "ids of those to come and of those that have left: {ids}");
}

fn comes_and_goes_whole(mut app: App, dir: &Dir, count: u32) -> App {
    put(dir, "a.pkg", chain(&app, "a.pkg", count, None));
    let count = count as usize;
    let before = app.world().entities().count_spawned();
    let id = load(&mut app, "a.pkg", &[]);
    let mut seen = Vec::new();
    run_until(&mut app, |world| {
        seen.push(level_entities(world));
        state(world, id) == Some(LoadState::Live)
    });
    assert!(seen.iter().all(|seen| *seen == 0 || *seen == count), "{seen:?}");
    let world = app.world_mut();
    let mut query = world.query::<(Entity, &Likes, &Mesh3d, &Transform)>();
    let meshes = world.resource::<Assets<Mesh>>();
    for (_, likes, mesh, transform) in query.iter(world) {
        assert!(
            world.get::<Likes>(likes.0).is_some(),
            "a reference leads to a live entity of the level"
        );
        assert_eq!(meshes.get(&mesh.0).map(Mesh::count_vertices), Some(1));
        let row = transform.translation.x;
        assert!(row < count as f32);
        assert_eq!(*transform, Transform::from_xyz(row, 2.0, 3.0));
    }
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(&mut app, |world| state(world, id).is_none());
    assert_eq!(level_entities(app.world_mut()), 0);
    assert_eq!(app.world().entities().count_spawned(), before);
    run_until(&mut app, |world| world.resource::<Assets<Mesh>>().is_empty());
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
    app
}

#[test]
fn two_levels_share_one_object_and_the_last_takes_it_along() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    put(&dir, "b.pkg", chain(&app, "b.pkg", 3, Some("s.pkg")));
    let a = load(&mut app, "a.pkg", &["s.pkg"]);
    let b = load(&mut app, "b.pkg", &["s.pkg"]);
    run_until(&mut app, |world| {
        [a, b].iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 1);
    app.world_mut().resource_mut::<Streamer>().unload(a);
    run_until(&mut app, |world| state(world, a).is_none());
    app.update();
    assert_eq!(
        app.world().resource::<Assets<Mesh>>().len(),
        1,
        "the other level still shows it"
    );
    app.world_mut().resource_mut::<Streamer>().unload(b);
    run_until(&mut app, |world| world.resource::<Assets<Mesh>>().is_empty());
}

#[test]
fn two_instances_of_one_package_have_their_own_entities_and_one_mesh() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 4, None));
    let ids = [load(&mut app, "a.pkg", &[]), load(&mut app, "a.pkg", &[])];
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    assert_eq!(level_entities(app.world_mut()), 8);
    assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 1);
}

/// A frame with new assets is long already, for Bevy looks at every entity in it.
#[test]
fn assets_and_levels_take_turns() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.world_mut()
        .resource_mut::<StreamingSettings>()
        .upload_bytes_per_frame = 1;
    let names: Vec<_> = (0..12).map(|index| format!("{index}.pkg")).collect();
    for name in &names {
        put(&dir, name, chain(&app, name, 5, None));
    }
    let ids: Vec<_> = names.iter().map(|name| load(&mut app, name, &[])).collect();
    let (mut seen, mut last) = (Vec::new(), (0, 0));
    run_until(&mut app, |world| {
        let now = (
            world.resource::<Assets<Mesh>>().len(),
            world.resource::<StreamingStats>().revealed,
        );
        seen.push((now.0 > last.0, now.1 > last.1));
        last = now;
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    assert!(!seen.contains(&(true, true)), "assets and levels came in one frame");
    let in_a_row = seen.windows(2).filter(|two| two[0].0 && two[1].0);
    assert_eq!(in_a_row.count(), 0, "assets came in two frames in a row");
    assert_eq!(seen.iter().filter(|(asset, _)| *asset).count(), 12, "one asset a turn");
}

#[derive(Resource, Default)]
struct Seen {
    adds: usize,
    dangling: usize,
}

#[test]
fn an_observer_finds_its_whole_level() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.init_resource::<Seen>();
    app.add_observer(
        |add: On<Add, Likes>, likes: Query<(&Likes, &Transform)>, all: Query<&Transform>, mut seen: ResMut<Seen>| {
            seen.adds += 1;
            let (likes, _) = likes.get(add.entity).unwrap();
            if !all.contains(likes.0) {
                seen.dangling += 1;
            }
        },
    );
    put(&dir, "a.pkg", chain(&app, "a.pkg", 20, None));
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let seen = app.world().resource::<Seen>();
    assert_eq!((seen.adds, seen.dangling), (20, 0));
}

#[test]
fn an_observer_that_despawns_entities_does_not_mix_up_rows() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.add_observer(|add: On<Add, Likes>, likes: Query<&Likes>, mut commands: Commands| {
        commands.entity(likes.get(add.entity).unwrap().0).try_despawn();
    });
    put(&dir, "a.pkg", chain(&app, "a.pkg", 20, None));
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(&mut app, |world| state(world, id).is_none());
    assert_eq!(level_entities(app.world_mut()), 0);
}

/// Free ids are handed out from the end of their list, so the next so many are not those above the last.
const BATCH: usize = 4_096;
/// Bevy keeps up to so many freed ids to itself before others may have them.
const KEPT_BY_BEVY: u32 = 128;

/// How many ids nobody else can have: those of entities, those that tasks hold, and those that were lost.
fn taken_ids(world: &mut World) -> u32 {
    let follow = |ids: &[Entity]| ids[0].index_u32() + 1 == ids[1].index_u32();
    let mut free: Vec<Entity> = Vec::new();
    // New ids go on upwards from one batch to the next: no free one is left then.
    while free.len() < 2 * BATCH || !free[free.len() - 2 * BATCH..].windows(2).all(follow) {
        free.extend(world.entity_allocator().alloc_many(BATCH as u32));
    }
    // What is freed last is handed out first: low indices, as without this.
    free.sort_unstable_by_key(|id| core::cmp::Reverse(id.index_u32()));
    world.entity_allocator_mut().free_many(&free);
    free.first().map_or(0, |id| id.index_u32() + 1) - free.len() as u32
}

/// No id was lost since so many were taken. What the last tasks hold comes back when they end.
#[track_caller]
fn assert_ids_are_back(app: &mut App, before: u32) {
    run_until(app, |world| taken_ids(world) <= before + KEPT_BY_BEVY);
}

/// A gate that never opens.
struct Closed;

impl RevealGate for Closed {
    fn watch(&self, _: &[UntypedAssetId]) {}

    fn is_open(&self, _: &[UntypedAssetId]) -> bool {
        false
    }

    fn forget(&self, _: &[UntypedAssetId]) {}
}

#[test]
fn cancelled_loads_give_their_entity_ids_back() {
    const ROUNDS: u64 = 1_250;
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 40, None));
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
    app.update();
    let before = taken_ids(app.world_mut());
    for round in 0..ROUNDS {
        let ids = [(); 8].map(|()| load(&mut app, "a.pkg", &[]));
        // Each stage is hit; the last one for certain, now and then.
        for _ in 0..round % 4 {
            app.update();
            std::thread::sleep(Duration::from_micros(round % 5 * 100));
        }
        if round.is_multiple_of(50) {
            run_until(&mut app, |world| {
                ids.iter().all(|id| state(world, *id) == Some(LoadState::Staged))
            });
        }
        for id in ids {
            app.world_mut().resource_mut::<Streamer>().unload(id);
        }
        app.update();
    }
    run_until(&mut app, |world| world.resource::<Streamer>().is_empty());
    assert_eq!(app.world().resource::<StreamingStats>().cancelled, ROUNDS * 8);
    assert_ids_are_back(&mut app, before);
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
}

/// The measure itself.
#[test]
fn ids_that_came_back_are_not_taken() {
    let mut world = World::new();
    let before = taken_ids(&mut world);
    let allocator = world.entity_allocator().build_remote_allocator();
    // New ones, while all others are looked at.
    let held: Vec<Entity> = (0..20 * BATCH).map(|_| allocator.alloc()).collect();
    assert_eq!(taken_ids(&mut world), before + held.len() as u32);
    world.entity_allocator_mut().free_many(&held);
    assert_eq!(taken_ids(&mut world), before);
}

#[test]
fn lost_ids_are_counted() {
    let mut world = World::new();
    let before = taken_ids(&mut world);
    let allocator = world.entity_allocator().build_remote_allocator();
    for _ in 0..300 {
        allocator.alloc();
    }
    assert_eq!(taken_ids(&mut world), before + 300);
}

#[test]
fn reserved_ids_return_when_dropped() {
    let mut world = World::new();
    let pool = EntityPool::new(&world);
    let mut highest = 0;
    for _ in 0..100 {
        let reserved = pool.reserve(10);
        highest = reserved
            .as_slice()
            .iter()
            .map(|entity| entity.index_u32())
            .fold(highest, u32::max);
        drop(reserved);
        pool.free_returned(&mut world);
    }
    // Bevy keeps up to 128 freed ids to itself before others may have them.
    assert!(
        highest < 200,
        "a thousand reservations of ten went up to index {highest}"
    );
}
