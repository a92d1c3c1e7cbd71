//! Manifests that cannot be used.

use std::fs;

use bevy::prelude::*;
use bevy_seamless::{level::MANIFEST_FORMAT, prelude::*};
use seamless_tests::{
    app::run_until,
    cooked::{Ask, Cooked, MANIFEST, STREAM_LIMIT, ask, cook, describe, reveal, spawn_world, streaming_app},
    fixtures::register_types,
};

use super::{assert_parts, two_levels};

/// Changes the manifest's text into a second file beside it, and loads both: the broken one fails with these words, the
/// other world goes on.
fn assert_world_fails(cooked: &Cooked, change: impl FnOnce(String) -> Vec<u8>, parts: &[&str]) {
    const BROKEN: &str = "broken.seamless";
    let text = fs::read_to_string(cooked.file(MANIFEST)).expect("it is there");
    let changed = change(text.clone());
    assert_ne!(changed, text.into_bytes(), "the test changes something");
    fs::write(cooked.file(BROKEN), changed).expect("it is written");

    let mut app = streaming_app(&cooked.out(), register_types);
    let broken = spawn_world(&mut app, BROKEN);
    let error = failure_of(&mut app, broken);
    assert_parts(&error, &[BROKEN]);
    assert_parts(&error, parts);
    assert!(app.world().get::<LevelTable>(broken).is_none());

    let world = spawn_world(&mut app, MANIFEST);
    // No world has levels yet, so the request waits for one that has.
    ask(&mut app, "good", Ask::Load);
    let there = run_until(&mut app, STREAM_LIMIT, |ecs| ecs.get::<LevelTable>(world).is_some());
    assert!(there, "the sound world comes");
    reveal(&mut app, world, "good");
}

/// The text of the failure that `world` ends in.
fn failure_of(app: &mut App, world: Entity) -> String {
    let failed = run_until(app, STREAM_LIMIT, |ecs| ecs.get::<WorldFailure>(world).is_some());
    assert!(failed, "the world fails");
    let failure = app.world().get::<WorldFailure>(world).expect("it was seen above");
    failure.0.to_string()
}

#[test]
fn a_level_that_lists_itself() {
    let loops = |text: String| {
        text.replacen("dependencies: [", "dependencies: [\"bad.pkg\", ", 1)
            .into_bytes()
    };
    let parts = ["level `bad`", "bad.pkg", "depends on itself", "cook the world again"];
    assert_world_fails(&two_levels(), loops, &parts);
}

#[test]
fn an_empty_world() {
    let empty = |_| br#"(format: 2, name: "void", levels: [], volumes: [])"#.to_vec();
    assert_world_fails(&two_levels(), empty, &["world `void` has no levels", "cook it again"]);

    let cooked = two_levels();
    let result = cook(
        cooked.sources(),
        "(levels: [])",
        &cooked.sources().join("empty"),
        register_types,
    );
    let error = describe(&result.expect_err("an empty world is not cooked"));
    assert_parts(&error, &["test.world.ron", "level"]);
}

#[test]
fn a_volume_with_nan() {
    let volume = "volumes: [(name: \"hole\", shape: Sphere(center: (NaN, 0.0, 0.0), radius: 1.0), unload_margin: 1.0, \
                  levels: [\"good\"]), ";
    let change = |text: String| text.replacen("volumes: [", volume, 1).into_bytes();
    assert_world_fails(
        &two_levels(),
        change,
        &["volume `hole`", "not a number", "give finite numbers"],
    );
}

#[test]
fn garbage() {
    let cooked = two_levels();
    let noise: Vec<u8> = (0..4000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    assert_world_fails(&cooked, |_| noise, &["not understood", "cook"]);
    assert_world_fails(&cooked, |_| Vec::new(), &["not understood", "cook"]);
    assert_world_fails(
        &cooked,
        |text| text.into_bytes()[..100].to_vec(),
        &["not understood", "cook"],
    );
    let deep = |_| format!("(format: 2, levels: {})", "[".repeat(100_000)).into_bytes();
    assert_world_fails(&cooked, deep, &["not understood", "cook"]);
}

#[test]
fn another_format() {
    let written = format!("format: {MANIFEST_FORMAT}");
    let change = |text: String| text.replacen(&written, "format: 999", 1).into_bytes();
    assert_world_fails(&two_levels(), change, &["format 999", "cook the world again"]);
}

#[test]
fn a_missing_manifest() {
    let cooked = two_levels();
    let mut app = streaming_app(&cooked.out(), register_types);
    let world = spawn_world(&mut app, "nowhere/none.seamless");
    let error = failure_of(&mut app, world);
    assert_parts(
        &error,
        &["nowhere/none.seamless", "is the world cooked", "seamless cook"],
    );
}
