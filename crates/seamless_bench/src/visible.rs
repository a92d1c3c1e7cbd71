//! `time_to_visible`: from the request for a level of 1 000 renderable entities to the frame that has them, on an idle machine.
//!
//! Both roads read a file that is in the system's cache, in apps of the same plugins, without a renderer; frames follow each other without a
//! pause. Ours reads a package. The peer is Bevy's own: a `.scn.ron` file that a `DynamicWorldRoot` spawns. Meshes and materials are
//! live in both. Wall time.

use std::{marker::PhantomData, path::Path, time::Instant};

use bevy_app::App;
use bevy_asset::{Asset, AssetApp, AssetLoader, AssetPath, AssetServer, Handle, LoadContext, io::Reader};
use bevy_ecs::prelude::*;
use bevy_mesh::Mesh;
use bevy_mesh::Mesh3d;
use bevy_pbr::StandardMaterial;
use bevy_reflect::TypePath;
use bevy_transform::components::Transform;
use bevy_world_serialization::{DynamicWorld, DynamicWorldRoot};
use seamless_asset::{InstanceRequest, LoadState, Streamer};

use crate::{
    app::{KIT, Kit, MATERIALS, MESHES, Plugins, app, grid, material, material_name, mesh_name},
    flight::write_kit,
    row::{Row, Samples, Targets},
    scene::{Scene, package, ron},
};

const ENTITIES: usize = 1_000;
const LEVEL: &str = "level.pkg";
const SCENE: &str = "level.scn.ron";

/// Measures both roads.
pub fn run(samples: Option<usize>) -> Row {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let scene = Scene::Renderable(ENTITIES);
    let (mut ours, kit) = our_app(dir.path(), &scene);
    let (mut peer, theirs) = peer_app(dir.path(), &scene);
    let expected = drawn_of(&scene);
    let mut result = Samples::default();
    for round in 0..samples.unwrap_or(31) + 2 {
        let our_ms = our_road(&mut ours, expected);
        let peer_ms = peer_road(&mut peer, expected);
        // The first rounds make room.
        if round >= 2 {
            result.ours.push(our_ms);
            result.peer.push(peer_ms);
        }
    }
    drop((kit, theirs));
    let targets = Targets {
        first: 5.0,
        aim: 5.0,
        of_limit: None,
    };
    result.row(
        "time_to_visible",
        "ms",
        Some("DynamicWorldRoot of a .scn.ron file"),
        None,
        targets,
    )
}

fn our_app(dir: &Path, scene: &Scene) -> (App, Kit) {
    let mut app = app(Plugins::Game, dir);
    let kit = Kit::live(&mut app);
    write_kit(&app, &kit, dir).expect("a package can be written");
    let level = package(app.world(), scene, &kit, LEVEL);
    std::fs::write(dir.join(LEVEL), level).expect("a package can be written");
    (app, kit)
}

/// Bevy loads the kit's assets by their file names, which have no ending; what is in the files does not matter.
fn peer_app(dir: &Path, scene: &Scene) -> (App, Kit) {
    let mut app = app(Plugins::Game, dir);
    app.register_asset_loader(KitLoader::<Mesh>::new(|number| grid(4 + number as u32)))
        .register_asset_loader(KitLoader::<StandardMaterial>::new(material));
    let names = (0..MESHES).map(mesh_name).chain((0..MATERIALS).map(material_name));
    for name in names {
        std::fs::write(dir.join(name), []).expect("a file can be written");
    }
    let kit = Kit::named(&app);
    let server = app.world().resource::<AssetServer>().clone();
    let start = Instant::now();
    while !(kit.meshes.iter().all(|mesh| server.is_loaded(mesh)) && kit.materials.iter().all(|of| server.is_loaded(of)))
    {
        assert!(start.elapsed().as_secs() < 60, "the kit can be loaded");
        app.update();
    }
    let text = ron(app.world(), scene, &kit);
    std::fs::write(dir.join(SCENE), text).expect("a scene can be written");
    (app, kit)
}

/// How many entities show a mesh.
fn drawn_of(scene: &Scene) -> usize {
    // Of four, one is a parent.
    scene.len() - scene.len() / 4
}

fn drawn(app: &mut App) -> usize {
    let world = app.world_mut();
    world.query_filtered::<(), With<Mesh3d>>().iter(world).count()
}

fn our_road(app: &mut App, expected: usize) -> f64 {
    let start = Instant::now();
    let id = app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        name: LEVEL.to_owned(),
        package: AssetPath::from(LEVEL),
        dependencies: vec![AssetPath::from(KIT)],
        ..InstanceRequest::default()
    });
    while app.world().resource::<Streamer>().state(id) != Some(LoadState::Live) {
        app.update();
        assert!(start.elapsed().as_secs() < 60, "the level can be loaded");
    }
    let took = start.elapsed();
    assert!(drawn(app) >= expected, "{} of {expected} entities", drawn(app));
    app.world_mut().resource_mut::<Streamer>().unload(id);
    while drawn(app) > 0 || !app.world().resource::<Streamer>().is_empty() {
        app.update();
    }
    (0..8).for_each(|_| app.update());
    took.as_secs_f64() * 1e3
}

fn peer_road(app: &mut App, expected: usize) -> f64 {
    let server = app.world().resource::<AssetServer>().clone();
    let start = Instant::now();
    let scene: Handle<DynamicWorld> = server.load(SCENE);
    let root = app
        .world_mut()
        .spawn((DynamicWorldRoot(scene), Transform::default()))
        .id();
    while drawn(app) < expected {
        app.update();
        assert!(start.elapsed().as_secs() < 60, "the scene can be loaded");
    }
    let took = start.elapsed();
    app.world_mut().entity_mut(root).despawn();
    while drawn(app) > 0 {
        app.update();
    }
    (0..8).for_each(|_| app.update());
    took.as_secs_f64() * 1e3
}

/// Makes an asset of the number at the end of its name.
#[derive(TypePath)]
struct KitLoader<A: Asset> {
    make: fn(usize) -> A,
    of: PhantomData<fn() -> A>,
}

impl<A: Asset> KitLoader<A> {
    fn new(make: fn(usize) -> A) -> Self {
        Self { make, of: PhantomData }
    }
}

impl<A: Asset> AssetLoader for KitLoader<A> {
    type Asset = A;
    type Settings = ();
    type Error = std::num::ParseIntError;

    async fn load(&self, _: &mut dyn Reader, (): &(), context: &mut LoadContext<'_>) -> Result<A, Self::Error> {
        let name = context.path().path().to_string_lossy().into_owned();
        let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        Ok((self.make)(digits.parse()?))
    }
}
