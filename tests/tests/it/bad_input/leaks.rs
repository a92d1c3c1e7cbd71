//! What a thousand loads that come to nothing leave behind: nothing.

use std::{thread, time::Duration};

use bevy::{asset::UntypedAssetId, mesh::skinning::SkinnedMeshInverseBindposes, prelude::*};
use bevy_seamless::{
    asset::{LiveObjectsResource, RevealGate, RevealGates},
    prelude::*,
};
use seamless_tests::{
    app::run_until,
    cooked::{Ask, Cooked, STREAM_LIMIT, ask, level_of, reveal},
    fixtures::register_types,
};

use super::{level_with_doors, register_old_door, two_levels, wait_until_empty};

/// A gate that never opens.
struct Closed;

impl RevealGate for Closed {
    fn watch(&self, _: &[UntypedAssetId]) {}

    fn is_open(&self, _: &[UntypedAssetId]) -> bool {
        false
    }

    fn forget(&self, _: &[UntypedAssetId]) {}
}

/// Loads that come to nothing.
const LOADS: usize = 1000;
/// Ids that Bevy's remote allocator keeps at hand.
const KEPT_BY_BEVY: usize = 128;
/// Loads at the same time; each may hold the ids of one level, and so may a level that waits for its reveal.
const IN_FLIGHT: usize = 2;

fn entities(ecs: &World) -> usize {
    ecs.archetypes().iter().map(|archetype| archetype.len() as usize).sum()
}

fn assets(ecs: &World) -> [usize; 4] {
    [
        ecs.resource::<Assets<Mesh>>().len(),
        ecs.resource::<Assets<Image>>().len(),
        ecs.resource::<Assets<StandardMaterial>>().len(),
        ecs.resource::<Assets<SkinnedMeshInverseBindposes>>().len(),
    ]
}

/// Spawns so many entities that all ids below `peak` are in use, and returns the highest index.
fn highest_index(ecs: &mut World, peak: usize) -> usize {
    let missing = peak.saturating_sub(entities(ecs));
    let spawned: Vec<Entity> = (0..missing).map(|_| ecs.spawn_empty().id()).collect();
    let highest = spawned.iter().map(|entity| entity.index_u32() as usize).max();
    for entity in spawned {
        ecs.despawn(entity);
    }
    highest.unwrap_or_default()
}

/// Lets `load` come to nothing a thousand times, and looks for what is left.
fn assert_nothing_left(cooked: &Cooked, register: fn(&mut App), load: fn(&mut App, Entity, usize)) -> StreamingStats {
    let levels = cooked.report.levels.iter();
    let largest = levels.map(|level| level.entities as usize).max().unwrap_or_default();
    let (mut app, world) = cooked.start(register);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = IN_FLIGHT;
    ask(&mut app, "bad", Ask::Release);
    app.update();
    let (before, assets_before) = (entities(app.world()), assets(app.world()));
    for round in 0..LOADS {
        load(&mut app, world, round);
    }
    for level in ["bad", "good"] {
        ask(&mut app, level, Ask::Unload);
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
    // Returned ids come back once a frame.
    app.update();
    let peak = before + (IN_FLIGHT + 1) * (largest + 1);
    let highest = highest_index(app.world_mut(), peak);
    assert!(
        highest <= peak + largest + KEPT_BY_BEVY,
        "an entity has index {highest}, {peak} were in use at most"
    );
    // And all still works, without what holds it back.
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = 0;
    ask(&mut app, "good", Ask::Load);
    reveal(&mut app, world, "good");
    app.world().resource::<StreamingStats>().clone()
}

#[test]
fn a_thousand_cancelled_loads() {
    let cooked = two_levels();
    let stats = assert_nothing_left(&cooked, register_types, |app, _, round| {
        if round == 0 {
            app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
        }
        ask(app, "bad", Ask::Load);
        // Each stage is hit, from the queue to the frame before the reveal, for which the gate makes it wait.
        for _ in 0..=round % 4 {
            app.update();
            thread::sleep(Duration::from_micros(round as u64 % 5 * 200));
        }
        ask(app, "bad", Ask::Unload);
        app.update();
    });
    assert_eq!(stats.cancelled, LOADS as u64, "{stats:?}");
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
    assert_eq!(stats.failed, LOADS as u64);
}

/// The measure itself: with as many ids out as a level has, it sees them.
#[test]
fn the_measure_sees_a_leak() {
    let cooked = level_with_doors();
    let (mut app, _) = cooked.start(register_old_door);
    let peak = entities(app.world()) + 100;
    let before = highest_index(app.world_mut(), peak);
    let allocator = app.world().entity_allocator().build_remote_allocator();
    for _ in 0..LOADS {
        allocator.alloc();
    }
    assert!(highest_index(app.world_mut(), peak) >= before + LOADS - KEPT_BY_BEVY);
}
