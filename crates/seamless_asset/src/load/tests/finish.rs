//! Levels that are on their way, and are brought into the world at once from wherever they are.

use super::{
    gated::{gated_app, mesh_is_gone, run_until_pending, until_all_is_brought},
    targets::{events, load_to},
    *,
};
use crate::{
    BlockingLoads, LoadErrorKind, RevealGate, RevealGates,
    doubles::{Fate, ReadGate},
    load::Pipeline,
};

const COUNT: usize = 6;

fn app_with_levels() -> (Dir, App, ReadGate) {
    let dir = Dir::default();
    let (app, gate) = gated_app(&dir);
    gate.otherwise(Some(Fate::Pass));
    put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
    put(&dir, "a.pkg", chain(&app, "a.pkg", COUNT as u32, Some("s.pkg")));
    put(&dir, "b.pkg", chain(&app, "b.pkg", 3, Some("s.pkg")));
    (dir, app, gate)
}

/// Brings it into the world; all of it is there before the next frame.
fn finish(app: &mut App, id: InstanceId) {
    let before = app.world().resource::<StreamingStats>().blocking_loads;
    app.world_mut().finish_level_blocking(id).unwrap();
    assert_eq!(level_entities(app.world_mut()), COUNT);
    assert_eq!(app.world().resource::<StreamingStats>().blocking_loads, before + 1);
    // Once more is nothing.
    app.world_mut().finish_level_blocking(id).unwrap();
    assert_eq!(app.world().resource::<StreamingStats>().blocking_loads, before + 1);
    app.update();
    assert_eq!(state(app.world(), id), Some(LoadState::Live));
    assert!(matches!(events(app)[..], [InstanceEvent::Revealed { entities: 6, .. }]));
}

/// Nothing comes late, and nothing is left when it goes.
fn assert_it_ends_well(app: &mut App, id: InstanceId) {
    run_until(app, |world| world.resource::<Pipeline>().in_flight() == 0);
    app.update();
    assert_eq!(
        (
            level_entities(app.world_mut()),
            app.world().resource::<Assets<Mesh>>().len()
        ),
        (COUNT, 1)
    );
    app.world_mut().resource_mut::<Streamer>().unload(id);
    let mut told = Vec::new();
    run_until(app, |world| {
        // They are kept for two frames, and threads free what has left when they get to it.
        told.extend(world.resource_mut::<Messages<InstanceEvent>>().drain());
        mesh_is_gone(world)
    });
    assert_eq!(level_entities(app.world_mut()), 0);
    assert!(matches!(told[..], [InstanceEvent::Left { .. }]), "{told:?}");
}

#[test]
fn from_the_queue() {
    let (_dir, mut app, _gate) = app_with_levels();
    let id = load(&mut app, "a.pkg", &["s.pkg"]);
    finish(&mut app, id);
    assert_it_ends_well(&mut app, id);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 0;
    let id = load(&mut app, "a.pkg", &[]);
    app.update();
    assert_eq!(state(app.world(), id), Some(LoadState::Requested));
    finish(&mut app, id);
    assert_it_ends_well(&mut app, id);
}

/// The task hangs in each of its reads, that of the level's package or of the one that it needs.
#[test]
fn from_a_task_that_hangs() {
    for (path, reads) in [("a.pkg", 4), ("s.pkg", 3)] {
        for read in 0..reads {
            let (_dir, mut app, gate) = app_with_levels();
            gate.script(path, read, Fate::Stall);
            let id = load(&mut app, "a.pkg", &["s.pkg"]);
            run_until(&mut app, |_| !gate.stalled().is_empty());
            finish(&mut app, id);
            if path == "s.pkg" {
                gate.script(path, read, Fate::Pass);
            }
            run_until(&mut app, |_| gate.stalled().is_empty());
            assert_it_ends_well(&mut app, id);
        }
    }
}

/// The task is done, and nobody has looked yet: what it brings is not loaded again.
#[test]
fn from_a_task_that_is_done() {
    let (_dir, mut app, gate) = app_with_levels();
    let id = load(&mut app, "a.pkg", &["s.pkg"]);
    app.update();
    until_all_is_brought(&app);
    let reads = gate.begun().len();
    finish(&mut app, id);
    assert_eq!(gate.begun().len(), reads, "nothing is read again");
    assert_eq!(app.world().resource::<Pipeline>().in_flight(), 0);
    let stats = app.world().resource::<StreamingStats>();
    assert!(stats.bytes_read > 0);
    assert_eq!(stats.bytes_wasted, 0);
    assert_it_ends_well(&mut app, id);
}

struct Shut;

impl RevealGate for Shut {
    fn watch(&self, _: &[bevy_asset::UntypedAssetId]) {}
    fn is_open(&self, _: &[bevy_asset::UntypedAssetId]) -> bool {
        false
    }
    fn forget(&self, _: &[bevy_asset::UntypedAssetId]) {}
}

#[test]
fn from_where_it_waits() {
    let (_dir, mut app, _gate) = app_with_levels();
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Staged));
    run_until(&mut app, |world| world.resource::<Pipeline>().in_flight() == 0);
    events(&mut app);
    finish(&mut app, id);
    assert_it_ends_well(&mut app, id);
    // The renderer is not waited for.
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Shut));
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Staged));
    finish(&mut app, id);
}

#[test]
fn others_go_on_where_they_are() {
    let (_dir, mut app, gate) = app_with_levels();
    // This one loads the shared package, for both.
    gate.script("b.pkg", 3, Fate::Stall);
    let other = load(&mut app, "b.pkg", &["s.pkg"]);
    run_until(&mut app, |_| !gate.stalled().is_empty());
    let id = load(&mut app, "a.pkg", &["s.pkg"]);
    finish(&mut app, id);
    assert_eq!(state(app.world(), other), Some(LoadState::Reading));
    gate.script("b.pkg", 3, Fate::Pass);
    run_until(&mut app, |world| state(world, other) == Some(LoadState::Live));
    assert_eq!(
        (
            level_entities(app.world_mut()),
            app.world().resource::<Assets<Mesh>>().len()
        ),
        (COUNT + 3, 1)
    );
    // Two instances of a package, one of which loads the assets of both.
    let (_dir, mut app, gate) = app_with_levels();
    gate.script("a.pkg", 3, Fate::Stall);
    let first = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |_| !gate.stalled().is_empty());
    let second = load(&mut app, "a.pkg", &[]);
    for _ in 0..20 {
        app.update();
    }
    app.world_mut().finish_level_blocking(first).unwrap();
    run_until(&mut app, |world| state(world, second) == Some(LoadState::Live));
    assert_eq!(
        (
            level_entities(app.world_mut()),
            app.world().resource::<Assets<Mesh>>().len()
        ),
        (2 * COUNT, 1)
    );
}

#[test]
fn failures_come_back_and_are_told_once() {
    let (_dir, mut app, gate) = app_with_levels();
    gate.script("a.pkg", 3, Fate::Stall);
    gate.script("a.pkg", 4, Fate::Fail(std::io::ErrorKind::NotFound));
    let id = load(&mut app, "a.pkg", &[]);
    run_until_stalled(&mut app, &gate);
    let error = app.world_mut().finish_level_blocking(id).unwrap_err();
    assert!(matches!(error.kind, LoadErrorKind::Io(_)), "{error}");
    app.update();
    assert_eq!(state(app.world(), id), Some(LoadState::Failed));
    assert!(matches!(events(&mut app)[..], [InstanceEvent::Failed { .. }]));
    let again = app.world_mut().finish_level_blocking(id).unwrap_err();
    assert!(matches!(again.kind, LoadErrorKind::NoSuchInstance), "it has failed");
    app.world_mut().resource_mut::<Streamer>().unload(id);
    app.update();
    let error = app.world_mut().finish_level_blocking(id).unwrap_err();
    assert!(matches!(error.kind, LoadErrorKind::NoSuchInstance), "{error}");
    assert_eq!(level_entities(app.world_mut()), 0);
    run_until(&mut app, mesh_is_gone);
}

fn run_until_stalled(app: &mut App, gate: &ReadGate) {
    run_until(app, |_| !gate.stalled().is_empty());
}

#[test]
fn what_was_let_go_of_comes_back() {
    let (_dir, mut app, gate) = app_with_levels();
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    events(&mut app);
    app.world_mut().resource_mut::<Streamer>().unload(id);
    // It leaves in the next frame; until then it stays what it is.
    app.world_mut().finish_level_blocking(id).unwrap();
    app.update();
    assert_eq!(state(app.world(), id), Some(LoadState::Live));
    assert!(events(&mut app).is_empty());
    // One whose load is cancelled is gone.
    let id = load(&mut app, "b.pkg", &[]);
    run_until_pending_or_done(&mut app, &gate, id);
    app.world_mut().resource_mut::<Streamer>().unload(id);
    assert!(app.world_mut().finish_level_blocking(id).is_err());
}

fn run_until_pending_or_done(app: &mut App, gate: &ReadGate, id: InstanceId) {
    gate.otherwise(None);
    run_until_pending(app, gate, "b.pkg");
    assert!(state(app.world(), id).is_some());
    gate.otherwise(Some(Fate::Pass));
}

#[test]
fn from_the_world_where_nobody_sees_it() {
    let dir = Dir::default();
    let mut app = sliced_app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 500, None));
    // Each frame does one slice.
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Revealing));
    assert_eq!(level_entities(app.world_mut()), 0);
    app.world_mut().finish_level_blocking(id).unwrap();
    assert_eq!(level_entities(app.world_mut()), 500);
    app.update();
    assert!(matches!(
        events(&mut app)[..],
        [InstanceEvent::Revealed { entities: 500, .. }]
    ));
    app.world_mut()
        .resource_mut::<Streamer>()
        .set_target(id, InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Hidden));
    assert_eq!(level_entities(app.world_mut()), 0);
    app.world_mut().finish_level_blocking(id).unwrap();
    assert_eq!(level_entities(app.world_mut()), 500);
    app.update();
    assert!(matches!(
        events(&mut app)[..],
        [InstanceEvent::Hidden { .. }, InstanceEvent::Shown { .. }]
    ));
    assert_eq!(app.world().resource::<StreamingStats>().blocking_loads, 2);
}

/// Game code has despawned its root; the level has left, which is told with the next frame.
#[test]
fn what_has_lost_its_root_is_gone() {
    for is_leaving in [false, true] {
        let (_dir, mut app, _gate) = app_with_levels();
        let id = load(&mut app, "a.pkg", &["s.pkg"]);
        finish(&mut app, id);
        if is_leaving {
            app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
            app.world_mut().resource_mut::<Streamer>().unload(id);
        }
        let world = app.world_mut();
        let root = world
            .query_filtered::<Entity, With<crate::LevelInstance>>()
            .single(world)
            .unwrap();
        world.entity_mut(root).despawn();
        let error = world.finish_level_blocking(id).unwrap_err();
        assert!(matches!(error.kind, LoadErrorKind::NoSuchInstance), "{error}");
        run_until(&mut app, mesh_is_gone);
    }
}
