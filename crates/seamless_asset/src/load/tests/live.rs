//! What is merely live costs no frame anything.

use super::{targets::set_target, *};
use crate::load::Pipeline;

/// How many of them a frame looks at, at most, while one more comes beside so many that are live, and leaves again: one of their own package, and one of
/// another.
fn most_looks(live: u64) -> u64 {
    let dir = Dir::default();
    let mut app = app_with_time(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 64;
    for name in ["a.pkg", "b.pkg"] {
        put(&dir, name, chain(&app, name, 1, None));
    }
    for _ in 0..live {
        load(&mut app, "a.pkg", &[]);
    }
    run_until(&mut app, |world| {
        world.resource::<StreamingStats>().live_instances == live
    });
    let looks = |world: &World| world.resource::<Pipeline>().looks();
    let (mut most, mut before) = (0_u64, looks(app.world()));
    let mut watch = |world: &World| {
        let now = looks(world);
        most = most.max(now - before);
        before = now;
    };
    for name in ["a.pkg", "b.pkg"] {
        let id = load(&mut app, name, &[]);
        run_until(&mut app, |world| {
            watch(world);
            state(world, id) == Some(LoadState::Live)
        });
        set_target(&mut app, id, InstanceTarget::Gone);
        run_until(&mut app, |world| {
            watch(world);
            state(world, id).is_none()
        });
    }
    assert_eq!(level_entities(app.world_mut()) as u64, live, "the others stay");
    most
}

#[test]
fn no_frame_looks_at_those_that_are_merely_live() {
    let [few, many] = [30, 3_000].map(most_looks);
    // A frame may find more of the way of one done than another, and that is all.
    assert!(few > 0 && many <= few + 100, "{few} among few, {many} among many");
}
