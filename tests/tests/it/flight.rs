//! The example's flight, over a small world of the example's generator: every frame, and every observer, finds its levels
//! whole.

use std::{collections::BTreeSet, thread, time::Duration};

use bevy::{prelude::*, reflect::TypePath};
use bevy_seamless::{
    asset::{
        codec::Codecs,
        level_data::{self, LEVEL_EXPORT},
        package::{Limits, Package},
    },
    prelude::*,
};
use seamless_cook::{CookApp, CookOptions, Profile};
use seamless_examples::{
    flight::Flight,
    generate::{WorldOptions, generate},
};
use seamless_tests::{
    app::run_until,
    atomicity::{Atomicity, AtomicityChecker, Counts},
    cooked::{STREAM_LIMIT, describe, spawn_world, streaming_app, streaming_app_with},
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
            LevelState::Visible
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
    fly(streaming_app(&dir.path().join("out"), |app| {
        app.add_plugins(AtomicityChecker::default());
    }));
}

/// All components of levels are not observed there, or they would all come in the frame of the reveal.
#[test]
fn the_flight_with_levels_in_slices() {
    let dir = cook_world();
    let plugins = SeamlessPlugins.set(SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    });
    let mut app = streaming_app_with(&dir.path().join("out"), plugins, |app| {
        app.add_plugins(AtomicityChecker {
            only: vec!["Transform"],
        });
    });
    // Every level is a large one.
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_micros(50);
    fly(app);
}

/// Levels come and go, and every frame and every observer finds them whole.
fn fly(mut app: App) {
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
    // The volumes ask for their levels a little longer.
    let are_left = run_until(&mut app, STREAM_LIMIT, |ecs| {
        let table = ecs.get::<LevelTable>(world);
        table.is_some_and(|table| table.iter().filter(|level| level.is_wanted()).count() == 1)
    });
    assert!(are_left, "the volumes let go");
    settle(&mut app, world);
    let end = counts(&app);
    assert_eq!(end.failed, 0, "{end:?}");
    // Only the sky is always loaded.
    assert_eq!((end.open, end.revealed - end.left), (1, 1), "{end:?}");
}

/// Sets of components that are not announced are spawned the slow way, into tables that nobody made room in.
#[test]
fn what_the_world_draws_is_of_announced_sets() {
    let dir = cook_world();
    let app = streaming_app(&dir.path().join("out"), |_| {});
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codecs = app.world().resource::<Codecs>().read();
    let type_id = |path: &str| {
        let registration = registry.get_with_type_path(path);
        registration.unwrap_or_else(|| panic!("{path} is known")).type_id()
    };
    let (mut drawn, mut others) = (0, BTreeSet::new());
    let files = std::fs::read_dir(dir.path().join("out")).expect("the world was cooked");
    let packages = files.flatten().map(|file| file.path());
    for file in packages.filter(|path| path.extension().is_some_and(|extension| extension == "pkg")) {
        let bytes = std::fs::read(file).expect("it can be read");
        let package = Package::parse(&bytes[..], &Limits::default()).expect("it is sound");
        let Some(level) = package.find_name(LEVEL_EXPORT) else {
            continue;
        };
        let data = package.export_data(level, &bytes, 0).expect("it is sound");
        for group in level_data::LevelTable::parse(&data, u32::MAX)
            .expect("it is sound")
            .groups
        {
            let columns = group.columns.iter();
            let paths = columns.filter_map(|column| Some(package.schema(column.class as usize)?.type_path.as_str()));
            let paths: Vec<&str> = paths.collect();
            if paths.contains(&Mesh3d::type_path()) {
                drawn += group.rows;
                let types = paths.iter().map(|path| type_id(path)).collect();
                if codecs.rows().zip_for(types).is_none() {
                    others.insert(paths.join(", "));
                }
            }
        }
    }
    assert!(drawn > 100, "{drawn}");
    assert_eq!(others, BTreeSet::new());
}
