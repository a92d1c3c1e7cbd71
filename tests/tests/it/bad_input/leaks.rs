//! What thousands of loads that come to nothing leave behind: nothing.

use std::{
    thread,
    time::{Duration, Instant},
};

use bevy::{asset::UntypedAssetId, prelude::*};
use bevy_seamless::{
    asset::{LiveObjectsResource, LoadState, RevealGate, RevealGates},
    prelude::*,
};
pub(crate) use seamless_tests::footprint::{assets, entities, taken_ids};
use seamless_tests::{
    app::run_until,
    cooked::{Ask, Cooked, STREAM_LIMIT, ask, level_of, reveal, state},
    fixtures::register_types,
};

use super::{level_with_doors, register_old_door, wait_until_empty, write_sources};

/// A gate that never opens.
struct Closed;

impl RevealGate for Closed {
    fn watch(&self, _: &[UntypedAssetId]) {}

    fn is_open(&self, _: &[UntypedAssetId]) -> bool {
        false
    }

    fn forget(&self, _: &[UntypedAssetId]) {}
}

/// How often something comes to nothing in a test.
const ROUNDS: usize = 1000;
/// Levels that are asked for and cancelled in each round.
const BATCH: usize = 10;
/// Ids that were freed and that no allocation finds: Bevy keeps up to so many to itself before others may have them.
const KEPT_BY_BEVY: usize = 128;

/// No more ids are taken than at the peak, one level, and what Bevy keeps. The last tasks may still hold ids.
pub(crate) fn assert_ids_are_back(app: &mut App, peak: usize, level: usize) {
    let allowed = peak + level + KEPT_BY_BEVY;
    let start = Instant::now();
    let mut taken = taken_ids(app.world_mut());
    while taken > allowed && start.elapsed() < STREAM_LIMIT {
        thread::sleep(Duration::from_millis(10));
        app.update();
        taken = taken_ids(app.world_mut());
    }
    assert!(taken <= allowed, "{taken} ids are taken, and {peak} were");
}

/// Lets `load` come to nothing a thousand times, and looks for what is left.
fn assert_nothing_left(cooked: &Cooked, register: fn(&mut App), load: fn(&mut App, Entity, usize)) -> StreamingStats {
    let levels = &cooked.report.levels;
    let largest = levels.iter().map(|level| level.entities as usize).max();
    let (mut app, world) = cooked.start(register);
    // What asks is an entity, too.
    ask(&mut app, "good", Ask::Release);
    app.update();
    app.update();
    let (before, assets_before) = (entities(app.world()), assets(app.world()));
    let peak = taken_ids(app.world_mut());
    for round in 0..ROUNDS {
        load(&mut app, world, round);
    }
    for level in levels {
        ask(&mut app, &level.name, Ask::Unload);
    }
    wait_until_empty(&mut app);
    let back = run_until(&mut app, STREAM_LIMIT, |ecs| {
        entities(ecs) == before && assets(ecs) == assets_before && ecs.resource::<LiveObjectsResource>().0.is_empty()
    });
    let now = app.world();
    assert!(
        back,
        "{before} {assets_before:?} became {} {:?}",
        entities(now),
        assets(now)
    );
    // One more for the root.
    assert_ids_are_back(&mut app, peak, largest.unwrap_or_default() + 1);
    // And all still works, without what holds it back.
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = 0;
    ask(&mut app, "good", Ask::Load);
    reveal(&mut app, world, "good");
    app.world().resource::<StreamingStats>().clone()
}

fn bad(at: usize) -> String {
    format!("bad_{at}")
}

/// Levels that share a package, and `good`, which shares nothing with them.
fn many_levels() -> Cooked {
    let level = |at| format!("(name: \"{}\", source: \"everything.scn.ron\")", bad(at));
    let levels: Vec<String> = (0..BATCH).map(level).collect();
    let world = format!(
        "(levels: [{}, (name: \"good\", source: \"animated.gltf\")])",
        levels.join(", ")
    );
    Cooked::new(write_sources, &world, register_types)
}

#[test]
fn ten_thousand_cancelled_loads() {
    let cooked = many_levels();
    let stats = assert_nothing_left(&cooked, register_types, |app, world, round| {
        if round == 0 {
            app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
            app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
        }
        (0..BATCH).for_each(|at| ask(app, &bad(at), Ask::Load));
        // Each stage is hit, from the queue to the frame before the reveal, for which the gate makes it wait.
        for _ in 0..=round % 4 {
            app.update();
            thread::sleep(Duration::from_micros(round as u64 % 5 * 200));
        }
        if round.is_multiple_of(100) {
            let staged = LevelState::Loading(LoadState::Staged);
            let waits = |ecs: &World| (0..BATCH).all(|at| state(ecs, world, &bad(at)) == staged);
            assert!(run_until(app, STREAM_LIMIT, waits), "all get as far as the gate");
        }
        (0..BATCH).for_each(|at| ask(app, &bad(at), Ask::Unload));
        app.update();
    });
    assert_eq!(stats.cancelled, (ROUNDS * BATCH) as u64, "{stats:?}");
    assert_eq!(stats.failed, 0);
}

/// The type is unknown, which is found after the level's ids were reserved.
#[test]
fn a_thousand_failing_loads() {
    let cooked = level_with_doors();
    let stats = assert_nothing_left(&cooked, register_types, |app, world, _| {
        let failures = level_of(app.world(), world, "bad").times_failed();
        ask(app, "bad", Ask::Load);
        let failed = run_until(app, STREAM_LIMIT, |ecs| {
            level_of(ecs, world, "bad").times_failed() > failures
        });
        assert!(failed, "it fails each time");
        ask(app, "bad", Ask::Unload);
        app.update();
    });
    assert_eq!(stats.failed, ROUNDS as u64);
}

/// The measure itself: it sees each id that is lost.
#[test]
fn the_measure_sees_a_leak() {
    let cooked = level_with_doors();
    let (mut app, _) = cooked.start(register_old_door);
    let peak = taken_ids(app.world_mut());
    let allocator = app.world().entity_allocator().build_remote_allocator();
    for _ in 0..ROUNDS {
        allocator.alloc();
    }
    assert_eq!(taken_ids(app.world_mut()), peak + ROUNDS);
}
