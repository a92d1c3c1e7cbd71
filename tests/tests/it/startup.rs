//! Startup content: as Bevy's own loaders load it, before the first frame, and once in memory whatever streams later.

use std::path::Path;

use bevy::{asset::LoadState, prelude::*};
use bevy_seamless::prelude::*;
use seamless_tests::{
    app::{LOAD_LIMIT, bevy_spawn, headless_with, run_until},
    cooked::{Cooked, reveal, spawn_world, streaming_app},
    fixtures::{register_types, write_everything_gltf},
    snapshot::{Snapshot, SnapshotOptions, assert_same},
};

const MESHES: [&str; 3] = [
    "everything.gltf#Mesh0/Primitive0",
    "everything.gltf#Mesh1/Primitive0",
    "everything.gltf#Mesh2/Primitive0",
];
const MATERIALS: [&str; 3] = [
    "everything.gltf#Material0/std",
    "everything.gltf#Material1/std",
    "everything.gltf#Material2/std",
];

/// A plugin of the game and of its cook program.
struct Statues;

impl Plugin for Statues {
    fn build(&self, app: &mut App) {
        register_types(app);
        app.add_startup_content::<Self, Mesh>(MESHES)
            .add_startup_content::<Self, StandardMaterial>(MATERIALS);
    }
}

fn statues(app: &mut App) {
    app.add_plugins(Statues);
}

fn with_startup(app: &mut App) {
    app.add_plugins((Statues, SeamlessStartupPlugin::new("startup.pkg")));
}

fn cooked(seek_free: bool) -> Cooked {
    let write = |dir: &Path| {
        write_everything_gltf(dir);
    };
    let world = format!("(levels: [(name: \"level\", source: \"everything.gltf\", seek_free: {seek_free})])");
    Cooked::new(write, &world, statues)
}

/// One entity for each mesh, below a root.
fn place(world: &mut World, handles: impl IntoIterator<Item = (Handle<Mesh>, Handle<StandardMaterial>)>) -> Entity {
    let root = world.spawn((Transform::default(), Visibility::default())).id();
    for (number, (mesh, material)) in handles.into_iter().enumerate() {
        let name = Name::new(number.to_string());
        world.spawn((name, Mesh3d(mesh), MeshMaterial3d(material), ChildOf(root)));
    }
    root
}

fn snapshot(app: &mut App, root: Entity) -> Snapshot {
    for _ in 0..3 {
        app.update();
    }
    let snapshot = Snapshot::of(app.world(), root);
    assert_eq!(snapshot.problems(), Vec::<String>::new());
    snapshot
}

#[test]
fn it_equals_what_bevy_loads() {
    let cooked = cooked(false);
    let mut ours = streaming_app(&cooked.out(), with_startup);
    // No frame has run.
    let content = ours.world().resource::<StartupContent>();
    let get = |(mesh, material): (&'static str, &'static str)| {
        let (mesh, material) = (content.get::<Mesh>(mesh), content.get::<StandardMaterial>(material));
        (mesh.expect("it is there"), material.expect("it is there"))
    };
    let handles: Vec<_> = MESHES.into_iter().zip(MATERIALS).map(get).collect();
    let meshes = ours.world().resource::<Assets<Mesh>>();
    assert!(handles.iter().all(|(mesh, _)| meshes.contains(mesh)));
    let our_root = place(ours.world_mut(), handles);

    let mut bevy = headless_with(cooked.sources(), register_types);
    let server = bevy.world().resource::<AssetServer>().clone();
    let load = |(mesh, material): (&'static str, &'static str)| (server.load(mesh), server.load(material));
    let handles: Vec<(Handle<Mesh>, Handle<StandardMaterial>)> = MESHES.into_iter().zip(MATERIALS).map(load).collect();
    let is_loaded = |(mesh, material): &(Handle<Mesh>, Handle<StandardMaterial>)| {
        assert!(!matches!(server.load_state(mesh), LoadState::Failed(_)));
        server.is_loaded_with_dependencies(mesh) && server.is_loaded_with_dependencies(material)
    };
    assert!(run_until(&mut bevy, LOAD_LIMIT, |_| handles.iter().all(is_loaded)));
    let bevy_root = place(bevy.world_mut(), handles);
    assert_same(&snapshot(&mut bevy, bevy_root), &snapshot(&mut ours, our_root));
}

/// A level that uses startup content equals Bevy's too, and brings none of it a second time.
#[test]
fn levels_share_it() {
    let options = SnapshotOptions::default().without_root_components();
    for seek_free in [false, true] {
        let cooked = cooked(seek_free);
        let mut bevy = headless_with(cooked.sources(), register_types);
        let root = bevy_spawn(&mut bevy, "everything.gltf#Scene0");
        let expected = Snapshot::with(bevy.world(), root, &options);

        let counts = [with_startup, statues].map(|configure: fn(&mut App)| {
            let mut app = streaming_app(&cooked.out(), configure);
            let world = spawn_world(&mut app, "test.seamless");
            assert!(run_until(&mut app, LOAD_LIMIT, |ecs| ecs
                .get::<LevelTable>(world)
                .is_some()));
            let root = reveal(&mut app, world, "level");
            for _ in 0..3 {
                app.update();
            }
            assert_same(&expected, &Snapshot::with(app.world(), root, &options));
            let ecs = app.world();
            let live = ecs.resource::<bevy_seamless::asset::LiveObjectsResource>().0.len();
            let (meshes, images) = (
                ecs.resource::<Assets<Mesh>>().len(),
                ecs.resource::<Assets<Image>>().len(),
            );
            (live, meshes, images, ecs.resource::<Assets<StandardMaterial>>().len())
        });
        // Loaded at the start, or as a package that the level imports from: the same objects, each once.
        assert_eq!(counts[0], counts[1]);
    }
}
