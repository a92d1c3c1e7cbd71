//! The example's flight, over a small world of the example's generator: every frame, and every observer, finds its levels
//! whole.

use std::{thread, time::Duration};

use bevy::prelude::*;
use bevy_seamless::prelude::*;
use seamless_cook::{CookApp, CookOptions, Profile};
use seamless_examples::{
    flight::Flight,
    generate::{WorldOptions, generate},
};
use seamless_tests::{
    app::run_until,
    atomicity::{Atomicity, AtomicityChecker, Counts},
    cooked::{STREAM_LIMIT, describe, spawn_world, streaming_app},
};
use tempfile::TempDir;

const SEED: u64 = 5;
/// Frames of the whole flight; the camera makes larger steps than in the example.
const FRAMES: usize = 480;
/// In one of so many frames the flight waits until all that is wanted is there, so that levels come on slow machines, too.
const REST: usize = 24;

fn options() -> WorldOptions {
    WorldOptions {
        grid: 5,
        towns: 2,
        items_per_cell: 8,
        load_distance: 0.5,
        texture_divisor: 64,
        ..WorldOptions::default()
    }
}

/// Generates the world and cooks it into `out`, as the example does.
fn cook_world() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (sources, out) = (dir.path().join("sources"), dir.path().join("out"));
    let world = generate(&sources, SEED, &options(), &mut |_, _, _| {}).expect("the world is generated");
    let profile = CookOptions {
        profile: Profile::Dev,
        ..CookOptions::default()
    };
    CookApp::new()
        .cook(&world.world_file, &out, &profile, &())
        .unwrap_or_else(|error| panic!("{}", describe(&error)));
    dir
}

/// Whether all that is wanted is there, and nothing else.
fn is_settled(table: &LevelTable) -> bool {
    table.iter().all(|level| {
        let expected = if level.is_wanted() {
            LevelState::Live
        } else {
            LevelState::Unloaded
        };
        level.state() == expected
    })
}

/// Waits until all that is wanted is there, and nothing else.
fn settle(app: &mut App, world: Entity) {
    // Where the camera is now is news to the selection in the frame after the next.
    app.update();
    app.update();
    let settled = run_until(app, STREAM_LIMIT, |ecs| {
        ecs.get::<LevelTable>(world).is_some_and(is_settled)
    });
    assert!(settled, "what is wanted comes, and the rest goes");
}

fn counts(app: &App) -> Counts {
    app.world().resource::<Atomicity>().assert_whole();
    app.world().resource::<Atomicity>().counts()
}

#[test]
fn the_flight_over_a_generated_world() {
    let dir = cook_world();
    let mut app = streaming_app(&dir.path().join("out"), |app| {
        app.add_plugins(AtomicityChecker::default());
    });
    let world = spawn_world(&mut app, "open_world.seamless");
    let there = run_until(&mut app, STREAM_LIMIT, |ecs| ecs.get::<LevelTable>(world).is_some());
    assert!(there, "the manifest loads");

    let flight = Flight::new(&options(), SEED);
    let camera = app.world_mut().spawn(StreamingSource::default()).id();
    for frame in 0..FRAMES {
        let pose = flight.pose(flight.duration() * frame as f32 / FRAMES as f32);
        let mut transform = app.world_mut().get_mut::<Transform>(camera).expect("the camera stays");
        transform.translation = pose.position;
        app.update();
        // Loads run on other threads, and there are few of them.
        thread::sleep(Duration::from_millis(2));
        if frame.is_multiple_of(REST) {
            settle(&mut app, world);
        }
    }
    let seen = counts(&app);
    assert!(seen.revealed > 20 && seen.left > 10, "levels come and go: {seen:?}");
    assert!(
        seen.adds > 500 && seen.references > 500 && seen.removals > 500,
        "the checker looks: {seen:?}"
    );

    let mut source = app
        .world_mut()
        .get_mut::<StreamingSource>(camera)
        .expect("the camera stays");
    source.enabled = false;
    settle(&mut app, world);
    let end = counts(&app);
    assert_eq!(end.failed, 0, "{end:?}");
    // Only the sky is always loaded.
    assert_eq!((end.open, end.revealed - end.left), (1, 1), "{end:?}");
}
