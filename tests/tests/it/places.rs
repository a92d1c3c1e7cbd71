//! Places that somebody comes to: what must be there is there in that very frame, what was prepared costs nothing then, and a file that could
//! not be read for a while is read later.

use std::{fs, thread, time::Duration};

use bevy::{ecs::system::RunSystemOnce, prelude::*, tasks::block_on};
use bevy_seamless::{
    asset::{LoadState, RevealGates, StreamingTime},
    prelude::*,
};
use seamless_asset::doubles::LevelDoor;
use seamless_tests::{
    app::run_until,
    cooked::{Ask, Cooked, STREAM_LIMIT, ask, level_of, state},
    fixtures::{register_types, write_everything_scn},
};

const WORLD: &str = r#"(
    levels: [(name: "hall", source: "everything.scn.ron")],
    volumes: [(
        shape: Sphere(center: (100.0, 0.0, 0.0), radius: 10.0),
        levels: ["hall"],
        mode: BlockUntilLoaded,
        unload_delay: 0.0,
    )],
)"#;

const HALL: Vec3 = Vec3::new(100.0, 0.0, 0.0);

fn start() -> (Cooked, App, Entity, Entity) {
    let write = |dir: &std::path::Path| {
        write_everything_scn(dir);
    };
    let cooked = Cooked::new(write, WORLD, register_types);
    let (mut app, world) = cooked.start(register_types);
    let source = app.world_mut().spawn(StreamingSource::default()).id();
    app.update();
    (cooked, app, world, source)
}

/// A frame with the source somewhere else.
fn jump(app: &mut App, source: Entity, to: Vec3) {
    app.world_mut()
        .entity_mut(source)
        .insert(Transform::from_translation(to));
    app.update();
}

fn blocking_loads(app: &App) -> u64 {
    app.world().resource::<StreamingStats>().blocking_loads
}

#[test]
fn what_nobody_may_be_without_is_there_in_the_same_frame() {
    let (_cooked, mut app, world, source) = start();
    assert_eq!(state(app.world(), world, "hall"), LevelState::Unloaded);
    jump(&mut app, source, HALL);
    assert_eq!(state(app.world(), world, "hall"), LevelState::Visible);
    assert_eq!(blocking_loads(&app), 1);
    let times = level_of(app.world(), world, "hall").waited();
    assert!(times.blocking > Duration::ZERO, "{times:?}");
    assert_eq!(
        times.reading + times.decoding,
        Duration::ZERO,
        "no other frame has seen that"
    );
    let entities = level_of(app.world(), world, "hall").entities() as usize;
    let names = app
        .world_mut()
        .query_filtered::<(), With<Name>>()
        .iter(app.world())
        .count();
    assert!(entities > 0 && names > 0);
    for _ in 0..5 {
        app.update();
    }
    assert_eq!(blocking_loads(&app), 1, "once it is there nobody waits");
    // From the moment in which it is on its way.
    jump(&mut app, source, Vec3::ZERO);
    let gone = run_until(&mut app, STREAM_LIMIT, |ecs| {
        state(ecs, world, "hall") == LevelState::Unloaded
    });
    assert!(gone);
    ask(&mut app, "hall", Ask::Load);
    app.update();
    jump(&mut app, source, HALL);
    assert_eq!(state(app.world(), world, "hall"), LevelState::Visible);
    assert!(blocking_loads(&app) <= 2);
    assert_eq!(level_of(app.world(), world, "hall").entities() as usize, entities);
}

/// A player who is spawned above it does not fall.
#[test]
fn the_ground_is_there_in_the_frame_in_which_somebody_is_spawned() {
    let (_cooked, mut app, world, _) = start();
    let platform = app.world_mut().spawn(Transform::from_xyz(90.0, 0.0, 0.0)).id();
    let player = (
        StreamingSource::default(),
        Transform::from_xyz(10.0, 0.0, 0.0),
        ChildOf(platform),
    );
    app.world_mut().spawn(player);
    app.update();
    assert_eq!(state(app.world(), world, "hall"), LevelState::Visible);
    assert_eq!(blocking_loads(&app), 1);
}

/// Without any volume: by the distance to its bounds.
#[test]
fn frames_may_wait_for_levels_by_their_distance() {
    let write = |dir: &std::path::Path| {
        write_everything_scn(dir);
    };
    let world = r#"(
        levels: [(name: "hall", source: "everything.scn.ron", bounds: ((90.0, -10.0, -10.0), (110.0, 10.0, 10.0)))],
        volumes: [],
    )"#;
    let cooked = Cooked::new(write, world, register_types);
    let (mut app, world) = cooked.start(register_types);
    let source = app.world_mut().spawn(StreamingSource::default()).id();
    let mut distances = DistanceStreaming {
        load: 5.0,
        show: 5.0,
        unload: 5.0,
        delay: 0.0,
        ..DistanceStreaming::default()
    };
    app.world_mut().entity_mut(world).insert(distances);
    app.update();
    // Somebody comes there, and goes again.
    let come_and_go = |app: &mut App, to: Vec3| {
        jump(app, source, to);
        assert!(matches!(state(app.world(), world, "hall"), LevelState::Loading(_)));
        jump(app, source, Vec3::ZERO);
        let is_gone = |ecs: &World| state(ecs, world, "hall") == LevelState::Unloaded;
        assert!(run_until(app, STREAM_LIMIT, is_gone));
    };
    come_and_go(&mut app, HALL);
    distances.block = Some(2.0);
    app.world_mut().entity_mut(world).insert(distances);
    // Not as near as that.
    come_and_go(&mut app, HALL - Vec3::X * 13.0);
    assert_eq!(blocking_loads(&app), 0);
    jump(&mut app, source, HALL - Vec3::X * 11.0);
    assert_eq!(state(app.world(), world, "hall"), LevelState::Visible);
    assert_eq!(blocking_loads(&app), 1);
}

/// A cap that leaves room for little leaves it for the ground.
#[test]
fn no_cap_cuts_what_nobody_may_be_without() {
    let (_cooked, mut app, world, source) = start();
    app.world_mut().resource_mut::<LevelSettings>().max_levels = 1;
    let mut sheds = Vec::new();
    for index in 0..4 {
        let place = Transform::from_translation(HALL + Vec3::X * 300.0 * index as f32);
        let name = format!("shed {index}");
        let shed = NewInstance {
            target: LevelTarget::Loaded,
            ..NewInstance::new(name.clone(), "hall", place)
        };
        let add = move |mut levels: Levels| levels.add_instance(shed.clone());
        sheds.push(app.world_mut().run_system_once(add).unwrap().unwrap());
        // It is small, and whoever is in the hall stands in its middle.
        app.world_mut().spawn(StreamingVolume {
            shape: VolumeShape::Sphere {
                center: HALL + Vec3::X * 9.0,
                radius: 0.5,
            },
            levels: vec![name],
            ..default()
        });
    }
    app.update();
    jump(&mut app, source, HALL + Vec3::X * 9.0);
    assert_eq!(state(app.world(), world, "hall"), LevelState::Visible);
    for _ in 0..20 {
        app.update();
        assert_eq!(state(app.world(), world, "hall"), LevelState::Visible);
    }
}

/// The server goes on while one of its players waits.
#[test]
fn no_frame_of_a_server_waits_for_a_player_of_another_machine() {
    let (_cooked, mut app, world, source) = start();
    app.world_mut().resource_mut::<LevelSettings>().follow_remote = true;
    app.world_mut().get_mut::<StreamingSource>(source).unwrap().remote = true;
    jump(&mut app, source, HALL);
    assert_ne!(
        state(app.world(), world, "hall"),
        LevelState::Unloaded,
        "it is asked for"
    );
    let there = run_until(&mut app, STREAM_LIMIT, |ecs| {
        state(ecs, world, "hall") == LevelState::Visible
    });
    assert!(there && blocking_loads(&app) == 0);
}

#[test]
fn a_place_that_was_prepared_makes_no_frame_wait() {
    let (_cooked, mut app, world, source) = start();
    let prepare = |mut levels: Levels| levels.prepare(ArrivalPoint::at(HALL));
    let arrival = app.world_mut().run_system_once(prepare).unwrap();
    let waiting = arrival.clone();
    let waiter = thread::spawn(move || block_on(waiting.into_future()));
    let over = run_until(&mut app, STREAM_LIMIT, |_| arrival.is_streaming_complete());
    assert!(over && waiter.join().unwrap() == StreamingResult::Ready);
    assert_eq!(
        arrival.progress().there_bytes,
        level_of(app.world(), world, "hall").entry().bytes
    );
    let root = level_of(app.world(), world, "hall").root();
    assert!(root.is_some() && blocking_loads(&app) == 0);
    jump(&mut app, source, HALL);
    drop(arrival);
    for _ in 0..5 {
        app.update();
    }
    assert_eq!(level_of(app.world(), world, "hall").root(), root);
    assert_eq!(blocking_loads(&app), 0);
}

/// What is only to be loaded is ready when all of it is, and what is to be seen when it is seen.
#[test]
fn a_ticket_waits_for_what_it_asks_for() {
    let (_cooked, mut app, world, _) = start();
    let request = |app: &mut App, target| {
        let request = move |mut levels: Levels| levels.request("hall", target);
        app.world_mut().run_system_once(request).unwrap().unwrap()
    };
    let loaded = request(&mut app, LevelTarget::Loaded);
    let over = run_until(&mut app, STREAM_LIMIT, |_| loaded.result().is_some());
    assert!(over && loaded.result() == Some(StreamingResult::Ready));
    assert_eq!(state(app.world(), world, "hall"), LevelState::Hidden);
    assert!(
        level_of(app.world(), world, "hall").root().is_none(),
        "nothing of it is in the world"
    );
    let seen = request(&mut app, LevelTarget::Visible);
    let waiting = seen.clone();
    let waiter = thread::spawn(move || block_on(waiting.into_future()));
    let over = run_until(&mut app, STREAM_LIMIT, |_| seen.result().is_some());
    assert!(over && waiter.join().unwrap() == StreamingResult::Ready);
    assert_eq!(state(app.world(), world, "hall"), LevelState::Visible);
    let away = request(&mut app, LevelTarget::Unloaded);
    let over = run_until(&mut app, STREAM_LIMIT, |_| away.result().is_some());
    assert!(over && state(app.world(), world, "hall") == LevelState::Unloaded);
}

/// Somebody else wants to see what is loaded, and it waits for its turn.
#[test]
fn who_only_loads_waits_for_nothing_to_be_seen() {
    let (_cooked, mut app, world, _) = start();
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
    let prepare = |app: &mut App, target| {
        let point = ArrivalPoint {
            target,
            ..ArrivalPoint::at(HALL)
        };
        let prepare = move |mut levels: Levels| levels.prepare(point);
        app.world_mut().run_system_once(prepare).unwrap()
    };
    let first = prepare(&mut app, LevelTarget::Loaded);
    assert!(run_until(&mut app, STREAM_LIMIT, |_| first.result().is_some()));
    assert_eq!(state(app.world(), world, "hall"), LevelState::Hidden);
    // Gates are asked once more before it is seen.
    let door = LevelDoor::default();
    app.world_mut()
        .resource_mut::<RevealGates>()
        .0
        .push(Box::new(door.clone()));
    ask(&mut app, "hall", Ask::Load);
    (0..3).for_each(|_| app.update());
    assert_ne!(state(app.world(), world, "hall"), LevelState::Visible);
    let second = prepare(&mut app, LevelTarget::Loaded);
    let shown = prepare(&mut app, LevelTarget::Visible);
    (0..3).for_each(|_| app.update());
    assert_eq!((second.result(), shown.result()), (Some(StreamingResult::Ready), None));
    door.open();
    assert!(run_until(&mut app, STREAM_LIMIT, |_| shown.result().is_some()));
    assert_eq!(state(app.world(), world, "hall"), LevelState::Visible);
}

/// A gate held it back, and it is told that it was no slow disk.
#[test]
fn what_a_level_waited_for_is_told() {
    let (_cooked, mut app, world, _) = start();
    app.insert_resource(StreamingTime::stopped());
    let door = LevelDoor::default();
    let gates = &mut app.world_mut().resource_mut::<RevealGates>().0;
    gates.push(Box::new(door.clone()));
    ask(&mut app, "hall", Ask::Load);
    let staged = LevelState::Loading(LoadState::Staged);
    assert!(run_until(&mut app, STREAM_LIMIT, |ecs| state(ecs, world, "hall") == staged));
    let second = Duration::from_secs(1);
    app.world_mut().resource_mut::<StreamingTime>().advance(second);
    app.update();
    door.open();
    assert!(run_until(&mut app, STREAM_LIMIT, |ecs| {
        state(ecs, world, "hall") == LevelState::Visible
    }));
    let waited = LevelWaits {
        waiting: second,
        ..LevelWaits::default()
    };
    assert_eq!(level_of(app.world(), world, "hall").waited(), waited);
}

fn retry_for_long(app: &mut App) {
    app.world_mut().resource_mut::<LevelSettings>().retry = RetryPolicy {
        attempts: 1000,
        factor: 1.0,
        ..RetryPolicy::default()
    };
}

/// A disk that hangs would stop one frame after another.
#[test]
fn one_frame_waits_for_a_file_that_is_away_and_no_other_one() {
    let (cooked, mut app, world, source) = start();
    retry_for_long(&mut app);
    let package = level_of(app.world(), world, "hall").entry().package.clone();
    let (file, away) = (cooked.file(&package), cooked.file("away"));
    fs::rename(&file, &away).unwrap();
    jump(&mut app, source, HALL);
    assert_eq!(state(app.world(), world, "hall"), LevelState::Failed);
    let fails = |times| move |ecs: &World| level_of(ecs, world, "hall").times_failed() >= times;
    assert!(run_until(&mut app, STREAM_LIMIT, fails(3)));
    fs::rename(&away, &file).unwrap();
    let there = run_until(&mut app, STREAM_LIMIT, |ecs| {
        state(ecs, world, "hall") == LevelState::Visible
    });
    assert!(there, "{:?}", level_of(app.world(), world, "hall").error());
    assert_eq!(blocking_loads(&app), 1);
    // What has come has no past.
    jump(&mut app, source, Vec3::ZERO);
    let gone = run_until(&mut app, STREAM_LIMIT, |ecs| {
        state(ecs, world, "hall") == LevelState::Unloaded
    });
    assert!(gone);
    jump(&mut app, source, HALL);
    assert_eq!(state(app.world(), world, "hall"), LevelState::Visible);
    assert_eq!(blocking_loads(&app), 2);
}

#[test]
fn a_file_that_comes_back_is_read_then() {
    let (cooked, mut app, world, _) = start();
    retry_for_long(&mut app);
    let package = level_of(app.world(), world, "hall").entry().package.clone();
    let (file, away) = (cooked.file(&package), cooked.file("away"));
    fs::rename(&file, &away).unwrap();
    ask(&mut app, "hall", Ask::Load);
    let fails = |times| move |ecs: &World| level_of(ecs, world, "hall").times_failed() >= times;
    assert!(run_until(&mut app, STREAM_LIMIT, fails(2)));
    assert!(level_of(app.world(), world, "hall").error().is_some());
    fs::rename(&away, &file).unwrap();
    let there = run_until(&mut app, STREAM_LIMIT, |ecs| {
        state(ecs, world, "hall") == LevelState::Visible
    });
    assert!(there, "{:?}", level_of(app.world(), world, "hall").error());
}
