//! Reads that never come to an end.

use super::{
    gated::{gated_app, mesh_is_gone},
    *,
};
use crate::{
    BulkRequest, ObjectRequest, OpenRequest, StreamingTime,
    doubles::{Fate, ReadGate},
};

const SECOND: Duration = Duration::from_secs(1);

/// An app whose time stands still, and that does one load after the other.
fn stopped_app(dir: &Dir) -> (App, ReadGate) {
    let (mut app, gate) = gated_app(dir);
    app.insert_resource(StreamingTime::stopped());
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 1;
    gate.otherwise(Some(Fate::Pass));
    (app, gate)
}

/// So many seconds, a frame each.
fn pass(app: &mut App, seconds: u64) {
    for _ in 0..seconds {
        app.world_mut().resource_mut::<StreamingTime>().advance(SECOND);
        app.update();
    }
}

#[test]
fn a_level_whose_reader_never_answers_fails_and_others_go_on() {
    let dir = Dir::default();
    let (mut app, gate) = stopped_app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    put(&dir, "b.pkg", chain(&app, "b.pkg", 4, None));
    app.update();
    let before = taken_ids(app.world_mut());
    // It is opened, and then come three reads.
    for stalled in 0..4 {
        let begun = gate.begun().iter().filter(|read| read.path == "a.pkg").count();
        gate.script("a.pkg", begun + stalled, Fate::Stall);
        let hung = load(&mut app, "a.pkg", &[]);
        run_until(&mut app, |_| !gate.stalled().is_empty());
        let other = load(&mut app, "b.pkg", &[]);
        pass(&mut app, 9);
        assert_eq!(gate.stalled().len(), 1);
        assert_eq!(state(app.world(), other), Some(LoadState::Requested));
        // The first look finds that the read has begun.
        pass(&mut app, 2);
        run_until(&mut app, |world| state(world, hung) == Some(LoadState::Failed));
        assert_eq!(gate.stalled(), []);
        let error = error_of(&mut app, hung);
        run_until(&mut app, |world| state(world, other) == Some(LoadState::Live));
        assert!(matches!(error, LoadErrorKind::Stalled { seconds: 10 }), "{error:?}");
        for id in [hung, other] {
            app.world_mut().resource_mut::<Streamer>().unload(id);
        }
        run_until(&mut app, |world| {
            let is_counted = world.resource::<StreamingStats>().bytes_read == gate.bytes();
            world.resource::<Streamer>().is_empty() && mesh_is_gone(world) && is_counted
        });
    }
    assert_ids_are_back(&mut app, before);
    // And when it answers again, it comes.
    let again = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, again) == Some(LoadState::Live));
}

#[test]
fn a_package_that_stalls_fails_those_that_need_it() {
    let dir = Dir::default();
    let (mut app, gate) = stopped_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 2;
    put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, Some("s.pkg")));
    // By the level's task, which compares imports, and by its own.
    (0..10).for_each(|index| gate.script("s.pkg", index, Fate::Stall));
    let id = load(&mut app, "a.pkg", &["s.pkg"]);
    run_until(&mut app, |_| gate.stalled().len() == 2);
    pass(&mut app, 11);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
    let LoadErrorKind::Dependency { package, message, .. } = error_of(&mut app, id) else {
        panic!("it is the fault of the other");
    };
    assert_eq!(package, "s.pkg");
    assert!(message.contains("10 s"), "{message}");
    run_until(&mut app, |_| gate.stalled().is_empty());
}

/// Those that a level shares with others count, too.
#[test]
fn no_more_packages_are_under_way_than_may_be() {
    let dir = Dir::default();
    let (mut app, gate) = stopped_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 2;
    let shared = ["s.pkg", "t.pkg", "u.pkg"];
    for name in shared {
        put(&dir, name, shared_package(&app, name));
        gate.script(name, 0, Fate::Stall);
    }
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let id = load(&mut app, "a.pkg", &shared);
    // The level's own comes, and then the others wait.
    run_until(&mut app, |_| gate.stalled().len() == 2);
    pass(&mut app, 5);
    assert_eq!(gate.stalled().len(), 2, "the third has no place");
    pass(&mut app, 8);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
    // The third was given up: in its turn, or before it had one, and then its first read is still to come.
    gate.clear_script();
    let again = load(&mut app, "a.pkg", &shared);
    run_until(&mut app, |world| state(world, again) == Some(LoadState::Live));
}

#[test]
fn other_requests_stall_too() {
    let dir = Dir::default();
    let (mut app, gate) = stopped_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 3;
    put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
    (0..3).for_each(|index| gate.script("s.pkg", index, Fate::Stall));
    let mut streamer = app.world_mut().resource_mut::<Streamer>();
    let objects = streamer.load_objects(ObjectRequest::new(["s.pkg#Mesh"]));
    let bulk = streamer.load_bulk(BulkRequest::new("s.pkg#Mesh", 0));
    let package = "s.pkg".into();
    let open = streamer.open(OpenRequest { package, priority: 0.0 });
    run_until(&mut app, |_| gate.stalled().len() == 3);
    pass(&mut app, 11);
    run_until(&mut app, |_| {
        let errors = [
            objects.result().and_then(Result::err),
            bulk.result().and_then(Result::err),
            open.result().and_then(Result::err),
        ];
        let stalled = errors.into_iter().flatten();
        stalled
            .filter(|error| matches!(error.kind, LoadErrorKind::Stalled { .. }))
            .count()
            == 3
    });
    assert_eq!(app.world().resource::<StreamingStats>().failed, 3);
}

/// Only a read that is under way can stall, and none does without a timeout.
#[test]
fn what_waits_for_no_read_does_not_stall() {
    let dir = Dir::default();
    let (mut app, gate) = stopped_app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    put(&dir, "b.pkg", chain(&app, "b.pkg", 4, None));
    app.world_mut().resource_mut::<StreamingSettings>().read_timeout = Duration::ZERO;
    gate.script("a.pkg", 1, Fate::Stall);
    let ids = [load(&mut app, "a.pkg", &[]), load(&mut app, "b.pkg", &[])];
    run_until(&mut app, |_| !gate.stalled().is_empty());
    pass(&mut app, 1000);
    assert_eq!(state(app.world(), ids[0]), Some(LoadState::Opening));
    assert_eq!(state(app.world(), ids[1]), Some(LoadState::Requested), "in the queue");
    gate.script("a.pkg", 1, Fate::Pass);
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
}
