//! Time in which nothing may begin to load.

use super::{order::with_priority, *};
use crate::{BlockingLoads, StreamingTime};

/// What is loaded comes all the same, and what has been asked for begins when that is over.
#[test]
fn while_loading_is_suspended_nothing_begins() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let loaded = with_priority(&mut app, "a.pkg", 0.0, InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, loaded) == Some(LoadState::Staged));
    app.world_mut().resource_mut::<StreamingSettings>().suspended = true;
    let waiting = with_priority(&mut app, "a.pkg", 1.0, InstanceTarget::Shown);
    let set_target = |app: &mut App| {
        app.world_mut()
            .resource_mut::<Streamer>()
            .set_target(loaded, InstanceTarget::Shown)
    };
    set_target(&mut app);
    run_until(&mut app, |world| state(world, loaded) == Some(LoadState::Live));
    (0..20).for_each(|_| app.update());
    assert_eq!(state(app.world(), waiting), Some(LoadState::Requested));
    let urgent = with_priority(&mut app, "a.pkg", 2.0, InstanceTarget::Shown);
    app.world_mut()
        .finish_level_blocking(urgent)
        .expect("a frame waits for it");
    assert_eq!(state(app.world(), waiting), Some(LoadState::Requested));
    app.world_mut().resource_mut::<StreamingSettings>().suspended = false;
    run_until(&mut app, |world| state(world, waiting) == Some(LoadState::Live));
}

/// After a minute of it, what was asked for at its beginning is no more urgent than before.
#[test]
fn while_loading_is_suspended_nobody_grows_urgent() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.insert_resource(StreamingTime::stopped());
    let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
    (settings.suspended, settings.max_loads_in_flight) = (true, 1);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    put(&dir, "b.pkg", chain(&app, "b.pkg", 5, None));
    let early = with_priority(&mut app, "a.pkg", 0.01, InstanceTarget::Shown);
    for _ in 0..60 {
        app.update();
        app.world_mut()
            .resource_mut::<StreamingTime>()
            .advance(Duration::from_secs(1));
    }
    app.update();
    let urgent = with_priority(&mut app, "b.pkg", 1.0, InstanceTarget::Shown);
    app.world_mut().resource_mut::<StreamingSettings>().suspended = false;
    app.update();
    let waits = [early, urgent].map(|id| state(app.world(), id) == Some(LoadState::Requested));
    assert_eq!(waits, [true, false]);
}
