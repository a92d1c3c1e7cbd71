//! Levels whose reads are decided about one by one.

use bevy_asset::io::memory::Dir;

use super::*;
use crate::{
    BulkRequest, ObjectRequest, OpenRequest,
    doubles::{Fate, GatedReader, ReadGate},
    load::Pipeline,
};

/// An app that reads `dir` through a gate.
pub(crate) fn gated_app(dir: &Dir) -> (App, ReadGate) {
    gated_app_with(dir, |_| {})
}

pub(super) fn gated_app_with(dir: &Dir, game: impl FnOnce(&mut App)) -> (App, ReadGate) {
    let gate = ReadGate::default();
    let (root, reads) = (dir.clone(), gate.clone());
    // One after the other reads, so that there is one order.
    let plugin = SeamlessAssetPlugin {
        threads: 1,
        ..SeamlessAssetPlugin::default()
    };
    (app_reading(move || GatedReader::of(&root, &reads), plugin, game), gate)
}

/// The tasks have come to their ends, and nobody has looked yet: the next frame finds all that they bring.
pub(super) fn until_all_is_brought(app: &App) {
    let pipeline = app.world().resource::<Pipeline>();
    assert!(pipeline.in_flight() > 0, "nothing is under way");
    let start = Instant::now();
    while pipeline.brought() < pipeline.in_flight() {
        assert!(start.elapsed() < Duration::from_secs(240), "the tasks come to no end");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Updates until a read of this file waits.
pub(crate) fn run_until_pending(app: &mut App, gate: &ReadGate, path: &str) {
    run_until(app, |_| gate.pending().iter().any(|read| read.path == path));
}

pub(super) fn mesh_is_gone(world: &mut World) -> bool {
    world.resource::<Assets<Mesh>>().is_empty() && world.resource::<LiveObjectsResource>().0.is_empty()
}

#[test]
fn a_level_comes_read_by_read() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let id = load(&mut app, "a.pkg", &[]);
    // It is opened; then come summary, tables, and data.
    let expected = [
        LoadState::Opening,
        LoadState::Opening,
        LoadState::Opening,
        LoadState::Reading,
    ];
    for expected in expected {
        run_until_pending(&mut app, &gate, "a.pkg");
        for _ in 0..5 {
            app.update();
        }
        assert_eq!(state(app.world(), id), Some(expected), "{:?}", gate.pending());
        assert_eq!(level_entities(app.world_mut()), 0);
        assert_eq!(
            gate.release_next(Fate::Pass).map(|read| read.path),
            Some("a.pkg".into())
        );
    }
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    assert_eq!(gate.begun().len(), expected.len());
    assert_eq!(app.world().resource::<StreamingStats>().bytes_read, gate.bytes());
    assert_eq!(level_entities(app.world_mut()), 5);
}

/// Reads of a level behind its opening.
const READS: usize = 3;
const LEVELS: [&str; 2] = ["a.pkg", "b.pkg"];

/// All orders in which the reads of two levels can end, each as which level is next.
fn orders() -> Vec<Vec<usize>> {
    let all = 0..1_u32 << (2 * READS);
    let halves = all.filter(|bits| bits.count_ones() as usize == READS);
    halves
        .map(|bits| (0..2 * READS).map(|at| (bits >> at & 1) as usize).collect())
        .collect()
}

/// Loads both levels with their reads in this order, and lets go of one before the read `at`. The reads of that one never end.
fn cancel_one(app: &mut App, gate: &ReadGate, order: &[usize], victim: usize, at: usize) {
    let ids = LEVELS.map(|level| load(app, level, &[]));
    for level in LEVELS {
        run_until_pending(app, gate, level);
        gate.release(level, Fate::Pass);
    }
    let is_over = |at_read: usize, level: usize| level == victim && at_read >= at;
    for (at_read, level) in order.iter().copied().enumerate() {
        if at_read == at {
            app.world_mut().resource_mut::<Streamer>().unload(ids[victim]);
            app.update();
        }
        if !is_over(at_read, level) {
            run_until_pending(app, gate, LEVELS[level]);
            gate.release(LEVELS[level], Fate::Pass);
        }
    }
    if at == order.len() {
        app.world_mut().resource_mut::<Streamer>().unload(ids[victim]);
    }
    run_until(app, |world| {
        state(world, ids[1 - victim]) == Some(LoadState::Live) && state(world, ids[victim]).is_none()
    });
    assert_eq!(level_entities(app.world_mut()), 3 + (1 - victim));
    app.world_mut().resource_mut::<Streamer>().unload(ids[1 - victim]);
    run_until(app, |world| {
        world.resource::<Streamer>().is_empty() && mesh_is_gone(world)
    });
    run_until(app, |world| {
        world.resource::<StreamingStats>().bytes_read == gate.bytes()
    });
}

#[test]
fn all_orders_of_two_levels_with_a_cancel_at_each_point() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    for (count, level) in (3..).zip(LEVELS) {
        put(&dir, level, chain(&app, level, count, None));
    }
    app.update();
    let before = taken_ids(app.world_mut());
    let orders = orders();
    assert_eq!(orders.len(), 20);
    for order in &orders {
        for victim in [0, 1] {
            (0..=order.len()).for_each(|at| cancel_one(&mut app, &gate, order, victim, at));
        }
    }
    assert_ids_are_back(&mut app, before);
    assert_eq!(gate.pending(), []);
}

/// Holds every read back and lets so many of them pass.
fn release(app: &mut App, gate: &ReadGate, count: usize) {
    for _ in 0..count {
        run_until(app, |_| gate.release_next(Fate::Pass).is_some());
    }
}

/// What was read since `before` is accounted for, all of it wasted.
fn run_until_all_is_wasted(app: &mut App, gate: &ReadGate, before: u64) {
    run_until(app, |world| {
        let stats = world.resource::<StreamingStats>();
        assert_eq!(stats.wasted_by_stage.total(), stats.bytes_wasted);
        stats.bytes_read == gate.bytes() && stats.bytes_wasted == gate.bytes() - before
    });
}

#[test]
fn a_load_that_is_cancelled_in_the_middle_of_a_read_does_not_wait_for_it() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, Some("s.pkg")));
    put(&dir, "b.pkg", chain(&app, "b.pkg", 4, None));
    app.update();
    let before = taken_ids(app.world_mut());
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| {
        gate.release_next(Fate::Pass);
        state(world, id) == Some(LoadState::Live)
    });
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(&mut app, mesh_is_gone);
    let (reads, good) = (gate.begun().len(), gate.bytes());
    // The level's own package, and the one that it imports from: by the level's task and by its own.
    assert!(reads >= 7, "{:?}", gate.begun());
    for passed in 0..reads {
        let id = load(&mut app, "a.pkg", &["s.pkg"]);
        release(&mut app, &gate, passed);
        run_until(&mut app, |world| {
            let is_staged = state(world, id) == Some(LoadState::Staged);
            !gate.pending().is_empty() || is_staged
        });
        app.world_mut().resource_mut::<Streamer>().unload(id);
        run_until(&mut app, |world| {
            world.resource::<Streamer>().is_empty() && gate.pending().is_empty() && mesh_is_gone(world)
        });
        run_until_all_is_wasted(&mut app, &gate, good);
    }
    assert_eq!(app.world().resource::<StreamingStats>().cancelled, reads as u64);
    assert_ids_are_back(&mut app, before);
}

#[test]
fn a_read_that_hangs_holds_no_place_once_it_is_cancelled() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 1;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    put(&dir, "b.pkg", chain(&app, "b.pkg", 4, None));
    gate.script("a.pkg", 2, Fate::Stall);
    gate.otherwise(Some(Fate::Pass));
    let hung = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |_| !gate.stalled().is_empty());
    let other = load(&mut app, "b.pkg", &[]);
    for _ in 0..50 {
        app.update();
        assert_eq!(state(app.world(), other), Some(LoadState::Requested), "one at a time");
    }
    app.world_mut().resource_mut::<Streamer>().unload(hung);
    run_until(&mut app, |world| state(world, other) == Some(LoadState::Live));
    assert_eq!(gate.stalled(), []);
    assert_eq!(state(app.world(), hung), None);
}

/// Requests for objects, payloads and tables are cancelled when their outcome is dropped.
#[test]
fn other_requests_that_are_dropped_do_not_wait_for_their_reads() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
    for passed in 0..3 {
        let mut streamer = app.world_mut().resource_mut::<Streamer>();
        let objects = streamer.load_objects(ObjectRequest::new(["s.pkg#Mesh"]));
        let bulk = streamer.load_bulk(BulkRequest::new("s.pkg#Mesh", 0));
        let open = streamer.open(OpenRequest {
            package: "s.pkg".into(),
            ..OpenRequest::default()
        });
        run_until(&mut app, |_| gate.pending().len() == 3);
        release(&mut app, &gate, passed);
        drop((objects, bulk, open));
        run_until(&mut app, |_| gate.pending().is_empty());
        run_until_all_is_wasted(&mut app, &gate, 0);
    }
    assert_eq!(app.world().resource::<StreamingStats>().cancelled, 9);
    assert_eq!(app.world().resource::<LiveObjectsResource>().0.len(), 0);
}
