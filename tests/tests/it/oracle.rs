//! The oracle itself: the fixtures load, equal loads are equal, and every kind of change is seen.

mod changes;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use bevy::prelude::*;
use seamless_tests::{
    app::{LOAD_LIMIT, bevy_spawn, headless, headless_with, run_until},
    fixtures::{
        CrewOf, EscortedBy, Inventory, Marked, Mood, PartlyHidden, Skills, register_types, write_animated_gltf,
        write_everything_gltf, write_everything_scn, write_scn_with_resource,
    },
    skip::skipped,
    snapshot::{Snapshot, SnapshotOptions, assert_same},
};
use tempfile::TempDir;

/// The default scene of the glTF fixture.
const GLTF: &str = "everything.gltf#Scene0";
const SCN: &str = "everything.scn.ron";

fn temp() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn load(dir: &Path, path: &str) -> (App, Entity) {
    let mut app = headless_with(dir, register_types);
    let root = bevy_spawn(&mut app, path);
    (app, root)
}

fn snapshot(dir: &Path, path: &str) -> Snapshot {
    let (app, root) = load(dir, path);
    Snapshot::of(app.world(), root)
}

/// The entity whose name is `name`, the first in tree order.
fn named(world: &World, root: Entity, name: &str) -> Entity {
    find(world, root, name).unwrap_or_else(|| panic!("{name} is in the tree"))
}

fn find(world: &World, at: Entity, name: &str) -> Option<Entity> {
    if world.get::<Name>(at).is_some_and(|n| n.as_str() == name) {
        return Some(at);
    }
    let children = world.get::<Children>(at)?;
    children.iter().find_map(|child| find(world, child, name))
}

#[test]
fn gltf_fixture_holds_what_it_promises() {
    let dir = temp();
    write_everything_gltf(dir.path());
    let (app, root) = load(dir.path(), GLTF);
    let snapshot = Snapshot::of(app.world(), root);
    assert_eq!(snapshot.problems(), Vec::<String>::new());
    let text = format!("{snapshot:?}");
    for needle in [
        "MorphWeights",
        "SkinnedMesh",
        "DirectionalLight",
        "PointLight",
        "SpotLight",
        "Perspective",
        "Orthographic",
        "GltfExtras",
        "GltfSceneExtras",
        "GltfMeshExtras",
        "GltfMaterialExtras",
        "Vertex_Uv_1",
        "Vertex_Tangent",
        "Vertex_Color",
        "Vertex_JointIndex",
        "smile",
        "LineList",
        "Mask",
        "Blend",
        "skinned_mesh_bounds",
    ] {
        assert!(text.contains(needle), "{needle} is in the snapshot");
    }
    // What reflection cannot see is listed by name, and only what Bevy computes at run time.
    let unreflected: BTreeSet<_> = snapshot
        .paths()
        .flat_map(|path| snapshot.components(path))
        .filter(|name| name.starts_with('<'))
        .filter(|name| !name.contains("::"))
        .collect();
    assert_eq!(unreflected, BTreeSet::new());
    let paths: Vec<_> = snapshot.paths().collect();
    for end in ["/dup", "/dup~1", "/dup~2", "/dup%7e1", "/a%2fb", "/%230", "/%empty"] {
        assert!(paths.iter().any(|p| p.ends_with(end)), "{end} in {paths:#?}");
    }
    assert!(paths.iter().any(|p| p.contains("/Deep0/Deep1/Deep2/Deep3/Deep4/Deep5")));
}

#[test]
fn fixtures_are_the_same_every_time() {
    let (a, b) = (temp(), temp());
    write_everything_scn(a.path());
    write_everything_scn(b.path());
    for file in ["everything.gltf", "everything.bin", "base.png", "orm.png", SCN] {
        let read = |dir: &TempDir| std::fs::read(dir.path().join(file)).expect("it was written");
        assert!(read(&a) == read(&b), "{file} differs between two writes");
    }
}

#[test]
fn two_loads_of_a_gltf_are_equal() {
    let dir = temp();
    write_everything_gltf(dir.path());
    let first = snapshot(dir.path(), GLTF);
    assert!(first.entity_count() > 30, "{}", first.entity_count());
    assert_same(&first, &snapshot(dir.path(), GLTF));
    let other = snapshot(dir.path(), "everything.gltf#Scene1");
    assert!(!first.diff(&other).is_empty());
}

#[test]
fn two_loads_of_an_animated_gltf_are_equal() {
    let dir = temp();
    write_animated_gltf(dir.path());
    let path = "animated.gltf#Scene0";
    assert_same(&snapshot(dir.path(), path), &snapshot(dir.path(), path));
}

#[test]
fn a_clip_is_an_asset_to_compare() {
    let dir = temp();
    write_animated_gltf(dir.path());
    let load = || {
        let mut app = headless(dir.path());
        bevy_spawn(&mut app, "animated.gltf#Scene0");
        let server = app.world().resource::<AssetServer>().clone();
        let handle = server.load::<AnimationClip>("animated.gltf#Animation0");
        // No entity refers to a clip: the first load has dropped it.
        assert!(run_until(&mut app, LOAD_LIMIT, |_| server.is_loaded(&handle)));
        let handle = handle.untyped();
        Snapshot::of_asset(app.world(), &handle)
    };
    let first = load();
    assert_same(&first, &load());
    assert_eq!(first.problems(), Vec::<String>::new());
    assert_eq!(first.asset_count(), 1);
}

#[test]
fn scn_fixture_round_trips_every_component() {
    let dir = temp();
    write_everything_scn(dir.path());
    let (app, root) = load(dir.path(), SCN);
    let world = app.world();
    let ship = named(world, root, "Ship");
    let captain = named(world, root, "Crew");
    let escort = named(world, root, "Escort");
    let inventory = world.get::<Inventory>(captain).expect("an inventory");
    assert_eq!((inventory.owner, inventory.items[1]), (captain, escort));
    assert_eq!(inventory.items.len(), 3);
    assert_eq!(inventory.weight.to_bits(), (1.0_f32 / 3.0).to_bits());
    assert_eq!(world.get::<Mood>(captain), Some(&Mood::Following { whom: escort }));
    assert_eq!(world.get::<Skills>(captain).map(|s| s.levels.len()), Some(3));
    assert_eq!(world.get::<CrewOf>(ship).map(|c| c.iter().count()), Some(2));
    assert_eq!(world.get::<EscortedBy>(ship).map(|c| c.iter().count()), Some(1));
    assert!(world.get::<Marked>(ship).is_some());
    let hidden = world.iter_entities().find_map(|e| e.get::<PartlyHidden>().cloned());
    assert_eq!(
        hidden,
        Some(PartlyHidden {
            seen: -9_000_000_000,
            hidden: 0
        })
    );
    let hull = named(world, root, "Hull");
    let mesh = world.get::<Mesh3d>(hull).expect("a mesh");
    assert!(world.resource::<Assets<Mesh>>().contains(&mesh.0));
    let snapshot = Snapshot::of(world, root);
    assert_eq!(snapshot.problems(), Vec::<String>::new());
    assert_same(&snapshot, &self::snapshot(dir.path(), SCN));
}

#[test]
fn resource_fixture_has_a_resource() {
    let dir = temp();
    let path = write_scn_with_resource(dir.path());
    let text = std::fs::read_to_string(path).expect("it was written");
    assert!(text.contains("fixtures::types::Weather\": ("), "{text}");
    let plain = std::fs::read_to_string(write_everything_scn(dir.path())).expect("it was written");
    assert!(!plain.contains("Weather"));
}

#[test]
fn options_leave_components_out() {
    let dir = temp();
    write_everything_scn(dir.path());
    let (mut app, root) = load(dir.path(), SCN);
    let options = SnapshotOptions::default()
        .ignore_type::<Marked>()
        .ignore(Skills::type_path())
        .ignore_prefix("bevy_transform::")
        .without_root_components();
    let before = Snapshot::with(app.world(), root, &options);
    let (ship, crew) = (named(app.world(), root, "Ship"), named(app.world(), root, "Crew"));
    app.world_mut().entity_mut(root).insert(Visibility::Hidden);
    app.world_mut()
        .entity_mut(ship)
        .remove::<Marked>()
        .insert(Transform::from_xyz(9.0, 9.0, 9.0));
    app.world_mut().entity_mut(crew).remove::<Skills>();
    assert_same(&before, &Snapshot::with(app.world(), root, &options));
    app.world_mut().entity_mut(ship).remove::<Visibility>();
    assert_eq!(before.diff(&Snapshot::with(app.world(), root, &options)).len(), 1);
}

/// Real models, where they are at hand.
#[test]
fn two_loads_of_real_models_are_equal() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/gltf");
    for (folder, scene) in [
        ("FlightHelmet", "FlightHelmet.gltf#Scene0"),
        ("AlienCake", "alien.glb#Scene0"),
        ("AlienCake", "cakeBirthday.glb#Scene0"),
    ] {
        let dir = data.join(folder);
        let Some((file, _)) = scene.split_once('#') else {
            continue;
        };
        if !dir.join(file).exists() {
            skipped(&format!("{} is missing", dir.join(file).display()));
            continue;
        }
        let first = snapshot(&dir, scene);
        assert_eq!(first.problems(), Vec::<String>::new(), "{scene}");
        assert!(first.asset_count() > 1, "{scene} has assets");
        assert_same(&first, &snapshot(&dir, scene));
    }
}
