//! Wherever the cooker puts what levels share, levels are what Bevy makes of them, alone and together, and nothing is in memory twice.

use std::{fs, path::Path};

use bevy::prelude::*;
use seamless_tests::{
    app::{LOAD_LIMIT, bevy_spawn, headless_with, run_until},
    cooked::{Ask, Cooked, ask, reveal, wait_until_live},
    fixtures::{register_types, write_animated_gltf, write_everything_gltf},
    snapshot::{Snapshot, SnapshotOptions, assert_same},
};

const WORLD: &str = r#"(levels: [
    (name: "a", source: "everything.gltf"), (name: "b", source: "everything.gltf"),
    (name: "always", source: "animated.gltf", always_loaded: true),
])"#;

fn cooked(place: &str) -> Cooked {
    let write = |dir: &Path| {
        write_everything_gltf(dir);
        write_animated_gltf(dir);
        let settings = format!("(layout: (rules: [(objects: \"everything.gltf\", place: {place})]))");
        fs::write(dir.join("cook.ron"), settings).expect("the settings are written");
    };
    Cooked::new(write, WORLD, register_types)
}

/// Meshes and materials in memory.
fn count(ecs: &World) -> (usize, usize) {
    (
        ecs.resource::<Assets<Mesh>>().len(),
        ecs.resource::<Assets<StandardMaterial>>().len(),
    )
}

#[test]
fn levels_are_the_same_wherever_their_objects_lie() {
    let options = SnapshotOptions::default().without_root_components();
    let mut counts = Vec::new();
    for (place, package) in [
        ("Duplicate", None),
        ("Share", Some("shared_0.pkg")),
        ("Persistent", Some("shared_persistent.pkg")),
    ] {
        let cooked = cooked(place);
        assert_eq!(cooked.report.levels[0].dependencies, package.as_slice(), "{place}");
        let mut bevy = headless_with(cooked.sources(), register_types);
        let root = bevy_spawn(&mut bevy, "everything.gltf#Scene0");
        let expected = Snapshot::with(bevy.world(), root, &options);

        let (mut app, world) = cooked.start(register_types);
        wait_until_live(&mut app, world, "always");
        let before = count(app.world());
        let check = |app: &mut App, root: Entity| {
            for _ in 0..3 {
                app.update();
            }
            assert_same(&expected, &Snapshot::with(app.world(), root, &options));
        };
        let a = reveal(&mut app, world, "a");
        check(&mut app, a);
        let one = count(app.world());
        let b = reveal(&mut app, world, "b");
        check(&mut app, b);
        assert_eq!(count(app.world()), one, "{place}: nothing comes twice");
        counts.push(one);

        // Who read it first may go, whoever uses it.
        ask(&mut app, "a", Ask::Unload);
        assert!(run_until(&mut app, LOAD_LIMIT, |ecs| ecs.get_entity(a).is_err()));
        check(&mut app, b);
        assert_eq!(count(app.world()), one, "{place}: it is still used");
        ask(&mut app, "b", Ask::Unload);
        assert!(run_until(&mut app, LOAD_LIMIT, |ecs| ecs.get_entity(b).is_err()));
        assert!(
            run_until(&mut app, LOAD_LIMIT, |ecs| count(ecs) == before),
            "{place}: it is as before the levels came"
        );
        // What is persistent was there before them.
        assert_eq!(before == one, place == "Persistent", "{place}");
    }
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

#[test]
fn clips_that_no_entity_refers_to_come_with_copies() {
    let write = |dir: &Path| {
        write_animated_gltf(dir);
        let settings = "(layout: (rules: [(objects: \"*\", place: Duplicate)]))";
        fs::write(dir.join("cook.ron"), settings).expect("the settings are written");
    };
    let world = r#"(levels: [(name: "a", source: "animated.gltf"), (name: "b", source: "animated.gltf")])"#;
    let cooked = Cooked::new(write, world, register_types);
    let (mut app, world) = cooked.start(register_types);
    let clips = |app: &App| app.world().resource::<Assets<AnimationClip>>().len();
    assert_eq!(clips(&app), 0);
    reveal(&mut app, world, "a");
    for _ in 0..3 {
        app.update();
    }
    let alone = clips(&app);
    assert!(alone > 0, "whoever asks for one finds it");
    reveal(&mut app, world, "b");
    app.update();
    assert_eq!(clips(&app), alone);
    for level in ["a", "b"] {
        ask(&mut app, level, Ask::Unload);
    }
    assert!(run_until(&mut app, LOAD_LIMIT, |ecs| ecs
        .resource::<Assets<AnimationClip>>()
        .is_empty()));
}
