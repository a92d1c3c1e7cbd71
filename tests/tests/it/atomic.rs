//! Levels are in the world whole or not at all, whatever is asked and whatever fails.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use bevy_seamless::{asset::Streamer, prelude::*};
use seamless_tests::{
    app::run_until,
    atomicity::{Atomicity, AtomicityChecker, Counts},
    cooked::{
        Ask, Cooked, MANIFEST, STREAM_LIMIT, ask, level_of, reveal, reveal_fails, spawn_world, state,
        streaming_app_with,
    },
    fixtures::{Mood, register_types, write_animated_gltf, write_everything_scn},
    random::Random,
};

/// Small levels with everything, three of each source: shared packages, skins, references in all directions.
const LEVELS: usize = 12;
const SOURCES: [&str; 4] = [
    "everything.gltf",
    "everything.gltf#Scene1",
    "everything.scn.ron",
    "animated.gltf",
];
/// How far apart the levels stand, in metres.
const SPACING: f32 = 200.0;
/// How far from its middle a level is wanted, in metres.
const REACH: f32 = 350.0;

fn write_sources(dir: &Path) {
    write_everything_scn(dir);
    write_animated_gltf(dir);
}

fn name(level: usize) -> String {
    format!("level_{level}")
}

fn cook_levels() -> Cooked {
    let levels: Vec<String> = (0..LEVELS)
        .map(|level| {
            let (source, at) = (SOURCES[level % SOURCES.len()], level as f32 * SPACING);
            format!(
                "(name: \"{}\", source: \"{source}\", translation: ({at:?}, 0.0, 0.0))",
                name(level)
            )
        })
        .collect();
    let volumes: Vec<String> = (0..LEVELS)
        .map(|level| {
            let at = level as f32 * SPACING;
            format!(
                "(shape: Sphere(center: ({at:?}, 0.0, 0.0), radius: {REACH:?}), levels: [\"{}\"], unload_delay: 0.0)",
                name(level)
            )
        })
        .collect();
    let world = format!("(levels: [{}], volumes: [{}])", levels.join(", "), volumes.join(", "));
    Cooked::new(write_sources, &world, register_types)
}

fn watch_all(app: &mut App) {
    register_types(app);
    app.add_plugins(AtomicityChecker::default());
}

fn counts(app: &App) -> Counts {
    app.world().resource::<Atomicity>().assert_whole();
    app.world().resource::<Atomicity>().counts()
}

/// Entities, meshes, images, materials and skins: what must be as before when all levels have left.
fn footprint(ecs: &World) -> [usize; 5] {
    [
        ecs.archetypes().iter().map(|archetype| archetype.len() as usize).sum(),
        ecs.resource::<Assets<Mesh>>().len(),
        ecs.resource::<Assets<Image>>().len(),
        ecs.resource::<Assets<StandardMaterial>>().len(),
        ecs.resource::<Assets<bevy::mesh::skinning::SkinnedMeshInverseBindposes>>()
            .len(),
    ]
}

/// Until nothing is on its way.
fn settle(app: &mut App, world: Entity) {
    let is_settled = |ecs: &World| {
        (0..LEVELS).all(|level| {
            matches!(
                state(ecs, world, &name(level)),
                LevelState::Visible | LevelState::Unloaded
            )
        })
    };
    assert!(run_until(app, STREAM_LIMIT, is_settled), "levels come and go");
}

#[test]
fn ten_thousand_random_requests() {
    const REQUESTS: u64 = 10_000;
    let cooked = cook_levels();
    let (mut app, world) = cooked.start(watch_all);
    // What asks is an entity, too.
    ask(&mut app, &name(0), Ask::Release);
    app.update();
    let before = footprint(app.world());
    let mut random = Random(7);
    let mut asked = 0;
    while asked < REQUESTS {
        for _ in 0..1 + random.below(20) {
            let what = [Ask::Load, Ask::Load, Ask::Unload, Ask::Release][random.below(4) as usize];
            ask(&mut app, &name(random.below(LEVELS as u64) as usize), what);
            asked += 1;
        }
        app.update();
        if asked % 8 == 0 {
            // On a busy machine loads take longer than most requests last.
            settle(&mut app, world);
        }
    }
    let seen = counts(&app);
    for level in 0..LEVELS {
        ask(&mut app, &name(level), Ask::Unload);
    }
    let empty = run_until(&mut app, STREAM_LIMIT, |ecs| {
        ecs.resource::<Streamer>().is_empty() && footprint(ecs) == before
    });
    let end = counts(&app);
    assert!(empty, "{before:?} became {:?}, {end:?}", footprint(app.world()));
    assert_eq!((end.open, end.failed), (0, 0), "{end:?}");
    assert_eq!(end.revealed, end.left, "{end:?}");
    assert!(
        seen.revealed > 100 && seen.cancelled > 100,
        "both happen often: {seen:?}"
    );
    assert!(
        end.references > 1000 && end.adds > 1000 && end.removals > 1000,
        "the checker looks: {end:?}"
    );
    let levels = (0..LEVELS).map(|level| u64::from(level_of(app.world(), world, &name(level)).times_revealed()));
    assert_eq!(levels.sum::<u64>(), end.revealed);
}

/// With few observers, most is inserted in the first pass of a reveal; the observed components must not be, not even as
/// components that others require.
#[test]
fn observers_of_single_components_find_the_level_whole() {
    const OBSERVED: [fn(&mut App); 6] = [
        |app| watch_only(app, "GlobalTransform"),
        |app| watch_only(app, "Transform"),
        |app| watch_only(app, "ChildOf"),
        |app| watch_only(app, "InheritedVisibility"),
        |app| watch_only(app, "Inventory"),
        |app| watch_only(app, "SkinnedMesh"),
    ];
    let cooked = cook_levels();
    for observe in OBSERVED {
        let (mut app, world) = cooked.start(observe);
        for level in 0..SOURCES.len() {
            reveal(&mut app, world, &name(level));
        }
        let seen = counts(&app);
        assert!(seen.adds > 0 && seen.references > 0, "{seen:?}");
    }
}

fn watch_only(app: &mut App, component: &'static str) {
    register_types(app);
    app.add_plugins(AtomicityChecker { only: vec![component] });
}

#[test]
fn a_level_that_fails_midway_leaves_nothing() {
    let cooked = cook_levels();
    let file = cooked.file(&level_file(1));
    let mut bytes = fs::read(&file).expect("the package is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).expect("the package is written");

    let (mut app, world) = cooked.start(watch_all);
    for level in 0..LEVELS {
        ask(&mut app, &name(level), Ask::Load);
    }
    let over = run_until(&mut app, STREAM_LIMIT, |ecs| {
        (0..LEVELS).all(|level| {
            matches!(
                state(ecs, world, &name(level)),
                LevelState::Visible | LevelState::Failed
            )
        })
    });
    assert!(over, "all levels end");
    app.update();
    for level in 0..LEVELS {
        let expected = if level == 1 {
            LevelState::Failed
        } else {
            LevelState::Visible
        };
        assert_eq!(state(app.world(), world, &name(level)), expected, "{}", name(level));
    }
    let error = level_of(app.world(), world, &name(1))
        .error()
        .expect("it says why")
        .to_string();
    for part in [level_file(1).as_str(), "damaged", "cook it again"] {
        assert!(error.contains(part), "{part} is in: {error}");
    }
    let seen = counts(&app);
    assert_eq!((seen.failed, seen.revealed), (1, LEVELS as u64 - 1), "{seen:?}");
    // It stays damaged, and the others stay.
    ask(&mut app, &name(1), Ask::Unload);
    app.update();
    reveal_fails(&mut app, world, &name(1));
    assert_eq!(counts(&app).failed, 2);
}

fn level_file(level: usize) -> String {
    format!("{}.pkg", name(level))
}

#[test]
fn a_flight_through_the_volumes() {
    const FRAMES: usize = 500;
    const STEP: f32 = 12.0;
    let cooked = cook_levels();
    let (mut app, _) = cooked.start(watch_all);
    // How fast it is in seconds depends on the machine; so what lies ahead of it would.
    let source = StreamingSource {
        ahead: 0.0,
        ..StreamingSource::default()
    };
    let source = app.world_mut().spawn(source).id();
    let length = SPACING * LEVELS as f32;
    let start = Instant::now();
    let mut frame = 0;
    // On a busy machine levels come late, so it goes on until there were some.
    while frame < FRAMES || (is_short(&app) && start.elapsed() < STREAM_LIMIT) {
        frame += 1;
        // To and fro, with a leap every hundredth frame.
        let way = frame as f32 * STEP + (frame / 100) as f32 * 900.0;
        let back_and_forth = (way % (2.0 * length) - length).abs();
        let mut transform = app.world_mut().get_mut::<Transform>(source).expect("the source stays");
        transform.translation.x = back_and_forth - SPACING;
        app.update();
        // Loads run on other threads, and there are few of them.
        thread::sleep(Duration::from_millis(6));
    }
    let seen = counts(&app);
    assert!(!is_short(&app), "{seen:?}");
    assert_eq!(seen.failed, 0);
}

/// Whether too few levels have come and gone for anything to be seen.
fn is_short(app: &App) -> bool {
    let seen = counts(app);
    seen.revealed <= 20 || seen.left <= 10
}

/// The checker itself: it sees an entity that is missing, and a reference that leads nowhere.
#[test]
fn the_checker_sees_a_torn_level() {
    let cooked = cook_levels();
    let (mut app, world) = cooked.start(watch_all);
    let root = reveal(&mut app, world, &name(2));
    assert_eq!(counts(&app).violations, 0);
    let child = app.world().get::<Children>(root).expect("the level has roots")[0];
    app.world_mut().despawn(child);
    app.update();
    let torn = app.world().resource::<Atomicity>().counts().violations;
    assert!(torn > 0);
    let other = app.world().get::<Children>(root).expect("the other root is there")[0];
    app.world_mut()
        .entity_mut(other)
        .insert(Mood::Following { whom: child });
    assert!(app.world().resource::<Atomicity>().counts().violations > torn);
}

/// And a level that is marked as hidden in part, or hidden and not marked in part.
#[test]
fn the_checker_sees_a_level_that_is_marked_in_part() {
    let cooked = cook_levels();
    let plugins = SeamlessPlugins.set(SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    });
    let mut app = streaming_app_with(&cooked.out(), plugins, watch_all);
    let world = spawn_world(&mut app, MANIFEST);
    assert!(run_until(&mut app, STREAM_LIMIT, |ecs| ecs
        .get::<LevelTable>(world)
        .is_some()));
    let root = reveal(&mut app, world, &name(2));
    assert_eq!(counts(&app).violations, 0);
    let child = app.world().get::<Children>(root).expect("the level has roots")[0];
    app.world_mut().entity_mut(child).insert(InHiddenLevel);
    app.update();
    let violations = |app: &App| app.world().resource::<Atomicity>().counts().violations;
    let torn = violations(&app);
    assert!(torn > 0, "one of it is marked");
    app.world_mut().entity_mut(child).remove::<InHiddenLevel>();
    app.update();
    assert_eq!(violations(&app), torn, "it is whole again");

    app.add_observer(move |_: On<LevelHidden>, mut commands: Commands| {
        commands.entity(child).remove::<InHiddenLevel>();
    });
    ask(&mut app, &name(2), Ask::Preload);
    let is_hidden = |ecs: &World| state(ecs, world, &name(2)) == LevelState::Hidden;
    assert!(run_until(&mut app, STREAM_LIMIT, is_hidden));
    assert!(violations(&app) > torn, "one of it is not marked");
}

/// Takes a component from an entity and gives it back a frame later: neither happens to an entity of a level that stays.
fn disturb<C: Component + Clone>(app: &mut App, entity: Entity) {
    let value = app.world().get::<C>(entity).cloned().expect("the entity has one");
    app.world_mut().entity_mut(entity).remove::<C>();
    app.update();
    app.world_mut().entity_mut(entity).insert(value);
    app.update();
}

/// And it hears of each component that it listens for.
#[test]
fn the_checker_hears_of_single_components() {
    let cooked = cook_levels();
    let (mut app, world) = cooked.start(watch_all);
    reveal(&mut app, world, &name(2));
    assert_eq!(counts(&app).violations, 0);
    let mut hulls = app
        .world_mut()
        .query_filtered::<Entity, (With<Name>, With<Mesh3d>, With<ChildOf>)>();
    let hull = hulls.iter(app.world()).next().expect("the ship has a hull");
    disturb::<Transform>(&mut app, hull);
    disturb::<Visibility>(&mut app, hull);
    disturb::<ChildOf>(&mut app, hull);
    disturb::<Name>(&mut app, hull);
    disturb::<Mesh3d>(&mut app, hull);
    let words = app.world().resource::<Atomicity>().words().join("\n");
    for component in ["Transform", "Visibility", "ChildOf", "Name", "Mesh3d"] {
        for news in ["RemovedComponents", "Added"] {
            let expected = format!("{news}<{component}>");
            assert!(words.contains(&expected), "{expected} is in: {words}");
        }
    }
}
