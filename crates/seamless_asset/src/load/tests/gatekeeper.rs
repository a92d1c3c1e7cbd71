//! How many bytes may be in flight.

use super::{
    gated::{gated_app, mesh_is_gone},
    *,
};
use crate::{
    ObjectRequest, WastedBytes,
    doubles::{Fate, ReadGate},
    load::Pipeline,
};

/// The read of a package's data, behind its opening, summary and tables.
pub(super) const DATA: usize = 3;

/// The packages whose data is being read.
fn reading(gate: &ReadGate) -> Vec<String> {
    gate.pending().into_iter().map(|read| read.path).collect()
}

/// Everything but the reads of data passes.
fn hold_data(gate: &ReadGate, packages: &[&str]) {
    for package in packages {
        (0..DATA).for_each(|index| gate.script(*package, index, Fate::Pass));
    }
}

#[test]
fn the_most_urgent_reads_next_also_if_it_became_so_while_it_waited() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_bytes_in_flight = 1;
    let names = ["a.pkg", "b.pkg", "c.pkg", "d.pkg"];
    hold_data(&gate, &names);
    let mut ids = Vec::new();
    for (name, priority) in names.into_iter().zip([1.0, 1e3, 1e6, 1e-3]) {
        put(&dir, name, chain(&app, name, 3, None));
        let request = InstanceRequest {
            priority,
            ..request(name, &[])
        };
        ids.push(app.world_mut().resource_mut::<Streamer>().load(request));
        // The first has begun before the others come.
        run_until(&mut app, |world| {
            !gate.pending().is_empty() && ids.iter().all(|id| state(world, *id) == Some(LoadState::Reading))
        });
    }
    app.world_mut().resource_mut::<Streamer>().set_priority(ids[1], 1e9);
    for _ in 0..100 {
        app.update();
        assert_eq!(reading(&gate), ["a.pkg"], "each is larger than the cap");
    }
    for (name, next) in [("a.pkg", "b.pkg"), ("b.pkg", "c.pkg"), ("c.pkg", "d.pkg")] {
        gate.release(name, Fate::Pass);
        run_until(&mut app, |_| reading(&gate) == [next]);
    }
    gate.otherwise(Some(Fate::Pass));
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
}

/// More packages than tasks that count.
fn put_many(dir: &Dir, app: &App) -> Vec<String> {
    let names: Vec<_> = (0..100).map(|index| format!("s{index}.pkg")).collect();
    for name in &names {
        put(dir, name, shared_package(app, name));
    }
    names
}

/// A level that needs many packages has begun before it.
#[test]
fn the_most_urgent_has_the_next_turn_however_many_packages_others_need() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 2;
    let shared = put_many(&dir, &app);
    for name in ["far.pkg", "near.pkg"] {
        put(&dir, name, chain(&app, name, 3, Some("s0.pkg")));
    }
    let names: Vec<_> = shared.iter().map(String::as_str).collect();
    let far = load(&mut app, "far.pkg", &names);
    run_until(&mut app, |_| gate.pending().len() >= 2);
    let near = app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        priority: 1e9,
        ..request("near.pkg", &[])
    });
    let first = reading(&gate).into_iter().find(|path| path.starts_with('s'));
    let first = first.expect("one of two is not the level's own");
    run_until(&mut app, |_| {
        let now = reading(&gate);
        if now.contains(&first) {
            gate.release(&first, Fate::Pass);
        }
        now.iter().any(|path| path == "near.pkg")
    });
    gate.otherwise(Some(Fate::Pass));
    for id in [near, far] {
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    }
}

#[test]
fn who_is_cancelled_while_it_waits_or_reads_makes_room() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_bytes_in_flight = 1;
    let names = ["a.pkg", "b.pkg", "c.pkg"];
    hold_data(&gate, &names);
    let ids = names.map(|name| {
        put(&dir, name, chain(&app, name, 3, None));
        let id = load(&mut app, name, &[]);
        run_until(&mut app, |world| {
            !gate.pending().is_empty() && state(world, id) == Some(LoadState::Reading)
        });
        id
    });
    app.world_mut().resource_mut::<Streamer>().unload(ids[1]);
    app.world_mut().resource_mut::<Streamer>().unload(ids[0]);
    run_until(&mut app, |_| reading(&gate) == ["c.pkg"]);
    app.world_mut().resource_mut::<Streamer>().unload(ids[2]);
    run_until(&mut app, |world| {
        let is_counted = world.resource::<StreamingStats>().bytes_read == gate.bytes();
        is_counted && gate.pending().is_empty() && mesh_is_gone(world)
    });
    // Summaries and tables were read for nothing, also of those that waited; of the data nobody had a byte.
    let wasted = WastedBytes {
        reading: gate.bytes(),
        ..WastedBytes::default()
    };
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((stats.wasted_by_stage, stats.bytes_wasted), (wasted, gate.bytes()));
}

/// Levels that wait for each other's packages do not hold up those packages.
#[test]
fn levels_with_shared_packages_come_one_byte_at_a_time() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    gate.otherwise(Some(Fate::Pass));
    app.world_mut().resource_mut::<StreamingSettings>().max_bytes_in_flight = 1;
    for name in ["s.pkg", "t.pkg"] {
        put(&dir, name, shared_package(&app, name));
    }
    for round in 0..20 {
        let ids = [0, 1, 2, 3, 4, 5].map(|level| {
            let name = format!("{level}.pkg");
            let shared = if level % 2 == 0 { "s.pkg" } else { "t.pkg" };
            put(&dir, &name, chain(&app, &name, level + 1, Some(shared)));
            load(&mut app, &name, if round % 2 == 0 { &[] } else { &["s.pkg", "t.pkg"] })
        });
        run_until(&mut app, |world| {
            ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
        });
        ids.iter()
            .for_each(|id| app.world_mut().resource_mut::<Streamer>().unload(*id));
        run_until(&mut app, mesh_is_gone);
    }
    let blocking = crate::BlockingLoads::load_level_blocking(app.world_mut(), request("1.pkg", &[]));
    assert!(blocking.is_ok(), "it asks nobody");
}

/// A request for objects of many packages has begun before it.
#[test]
fn the_most_urgent_has_the_next_turn_whatever_objects_others_need() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 2;
    let shared = put_many(&dir, &app);
    put(&dir, "near.pkg", chain(&app, "near.pkg", 3, None));
    let all = ObjectRequest::new(shared.iter().map(String::as_str));
    let objects = app.world_mut().resource_mut::<Streamer>().load_objects(all);
    run_until(&mut app, |_| gate.pending().len() >= 2);
    let near = app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        priority: 1e9,
        ..request("near.pkg", &[])
    });
    gate.release(&reading(&gate)[0], Fate::Pass);
    run_until(&mut app, |_| {
        let now = reading(&gate);
        let is_near = now.iter().any(|path| path == "near.pkg");
        // One package takes several reads, and between two of them nobody reads.
        if let Some(first) = now.first().filter(|_| !is_near) {
            gate.release(first, Fate::Pass);
        }
        is_near
    });
    let begun = gate.begun().iter().filter(|read| read.index == 0).count();
    assert!(begun <= 6, "{begun} packages have begun before it");
    gate.otherwise(Some(Fate::Pass));
    run_until(&mut app, |world| state(world, near) == Some(LoadState::Live));
    run_until(&mut app, |_| objects.is_finished());
    assert!(objects.result().unwrap().is_ok());
}

/// What it shared with one that is not wanted any more goes no longer before what is urgent now.
#[test]
fn a_package_is_as_urgent_as_those_that_are_left() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_bytes_in_flight = 1;
    hold_data(&gate, &["first.pkg", "s.pkg", "far.pkg", "taken_back.pkg", "now.pkg"]);
    put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
    for name in ["first.pkg", "now.pkg"] {
        put(&dir, name, chain(&app, name, 3, None));
    }
    for name in ["far.pkg", "taken_back.pkg"] {
        put(&dir, name, chain(&app, name, 3, Some("s.pkg")));
    }
    let ask = |app: &mut App, name: &str, others: &[&str], priority: f32| {
        let request = InstanceRequest {
            priority,
            // Nothing of one package is read for another.
            verify: Verify::Deferred,
            ..request(name, others)
        };
        app.world_mut().resource_mut::<Streamer>().load(request)
    };
    ask(&mut app, "first.pkg", &[], 1e3);
    run_until(&mut app, |_| reading(&gate) == ["first.pkg"]);
    let far = ask(&mut app, "far.pkg", &["s.pkg"], 1.0);
    let taken_back = ask(&mut app, "taken_back.pkg", &["s.pkg"], 1e9);
    let now = ask(&mut app, "now.pkg", &[], 1e6);
    // All others wait for the first one.
    let waiting = |world: &World| world.resource::<Pipeline>().waiting_for_bytes();
    run_until(&mut app, |world| waiting(world) == 4);
    app.world_mut().resource_mut::<Streamer>().unload(taken_back);
    run_until(&mut app, |world| {
        state(world, taken_back).is_none() && waiting(world) == 3
    });
    gate.release("first.pkg", Fate::Pass);
    run_until(&mut app, |_| {
        !reading(&gate).is_empty() && reading(&gate) != ["first.pkg"]
    });
    assert_eq!(reading(&gate), ["now.pkg"]);
    gate.otherwise(Some(Fate::Pass));
    run_until(&mut app, |world| {
        [far, now].iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
}
