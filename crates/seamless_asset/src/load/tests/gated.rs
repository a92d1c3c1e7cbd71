//! Levels whose reads are decided about one by one.

use bevy_asset::io::memory::Dir;

use super::*;
use crate::doubles::{Fate, GatedReader, ReadGate};

/// An app that reads `dir` through a gate.
pub(super) fn gated_app(dir: &Dir) -> (App, ReadGate) {
    let gate = ReadGate::default();
    let (root, reads) = (dir.clone(), gate.clone());
    // Nothing else wants the cores.
    let plugin = SeamlessAssetPlugin {
        background: false,
        ..SeamlessAssetPlugin::default()
    };
    (
        app_reading(move || GatedReader::of(&root, &reads), plugin, |_| {}),
        gate,
    )
}

/// Updates until a read of this file waits.
pub(super) fn run_until_pending(app: &mut App, gate: &ReadGate, path: &str) {
    run_until(app, |_| gate.pending().iter().any(|read| read.path == path));
}

fn mesh_is_gone(world: &mut World) -> bool {
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

/// Loads both levels with their reads in this order, and lets go of one before the read `at`.
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
        gate.release(LEVELS[victim], Fate::Pass);
        state(world, ids[1 - victim]) == Some(LoadState::Live) && state(world, ids[victim]).is_none()
    });
    assert_eq!(level_entities(app.world_mut()), 3 + (1 - victim));
    app.world_mut().resource_mut::<Streamer>().unload(ids[1 - victim]);
    run_until(app, |world| {
        world.resource::<Streamer>().is_empty() && mesh_is_gone(world)
    });
    run_until(app, |world| {
        gate.release(LEVELS[victim], Fate::Pass);
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
    let before = highest_index(app.world_mut());
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
