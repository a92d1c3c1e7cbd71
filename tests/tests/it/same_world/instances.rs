//! Instances of a level, one that the world file lists and one that game code adds, are what Bevy spawns at their places.

use std::path::Path;

use bevy::{ecs::system::RunSystemOnce, prelude::*};
use bevy_seamless::prelude::*;
use seamless_tests::{
    app::{bevy_spawn_at, headless_with},
    cooked::{Ask, Cooked, ask, wait_until_live},
    fixtures::{register_types, write_everything_gltf, write_everything_scn},
    snapshot::{SnapshotOptions, assert_same},
};

use super::{assert_stands, elsewhere, placed, snapshot};

/// The instance of the world file.
const LISTED: &str = "listed";
/// The instance of game code.
const ADDED: &str = "added";

/// Another placement, turned about another axis, and mirrored.
fn mirrored() -> Transform {
    Transform {
        translation: Vec3::new(-40.0, 7.5, 0.125),
        rotation: Quat::from_xyzw(0.6, 0.0, 0.0, 0.8),
        scale: Vec3::new(-0.75, 3.0, 1.25),
    }
}

/// Cooks a world whose level stands nowhere by itself, with one instance.
fn cook(write: impl FnOnce(&Path), source: &str) -> Cooked {
    let placed = placed(elsewhere());
    let world = format!(
        "(levels: [(name: \"level\", source: \"{source}\", on_request: true)], \
         instances: [(of: \"level\", name: \"{LISTED}\", on_request: true, {placed})])"
    );
    Cooked::new(write, &world, register_types)
}

/// The other instance. It is there as long as its ticket.
fn add(app: &mut App) -> LevelTicket {
    let instance = NewInstance::new(ADDED, "level", mirrored());
    let add = move |mut levels: Levels| levels.add_instance(instance.clone());
    let added = app.world_mut().run_system_once(add);
    added.expect("the system runs").expect("the instance is added")
}

/// Streams both instances at once, and compares each with a spawn of Bevy's own at its place, both at once as well.
fn compare(write: impl FnOnce(&Path), source: &str, bevy_path: &str) {
    let places = [elsewhere(), mirrored()];
    let cooked = cook(write, source);
    let mut bevy = headless_with(cooked.sources(), register_types);
    let expected = places.map(|at| bevy_spawn_at(&mut bevy, bevy_path, at));

    let (mut ours, world) = cooked.start(register_types);
    let _ticket = add(&mut ours);
    ask(&mut ours, LISTED, Ask::Load);
    // Now the world knows of the one that was added.
    ours.update();
    let found = [LISTED, ADDED].map(|name| wait_until_live(&mut ours, world, name));
    for _ in 0..3 {
        ours.update();
    }
    let options = SnapshotOptions::default();
    let texts = [0, 1].map(|at| {
        assert_stands(&bevy, expected[at], places[at]);
        assert_stands(&ours, found[at], places[at]);
        let found = snapshot(&ours, found[at], &options);
        assert_same(&snapshot(&bevy, expected[at], &options), &found);
        found.to_text()
    });
    for part in ["GlobalTransform", "Aabb"] {
        assert!(texts[0].contains(part), "{part} is compared");
    }
    assert_ne!(texts[0], texts[1], "they stand elsewhere");
}

#[test]
fn two_instances_of_a_gltf_level_are_what_bevy_spawns_at_their_places() {
    let write = |dir: &Path| {
        write_everything_gltf(dir);
    };
    compare(write, "everything.gltf", "everything.gltf#Scene0");
}

/// What its entities refer to is in the same instance, not in the other one.
#[test]
fn two_instances_of_a_scene_are_what_bevy_spawns_at_their_places() {
    let write = |dir: &Path| {
        write_everything_scn(dir);
    };
    compare(write, "everything.scn.ron", "everything.scn.ron");
}
