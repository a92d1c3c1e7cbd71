//! Time in which nothing may begin to load.

use std::sync::{Arc, Mutex};

use super::{order::with_priority, *};
use crate::{BlockingLoads, StreamingTime};

/// The names of levels, in the order in which they are decoded.
type Decoded = Arc<Mutex<Vec<String>>>;

/// An app in which time stands still, one level is loaded at a time, and these packages are there.
fn slow_app(dir: &Dir, packages: &[&str]) -> (App, Decoded) {
    let decoded = Decoded::default();
    let told = decoded.clone();
    let mut app = app_with(dir, |app| {
        app.add_instance_hook(move |_, instance| {
            told.lock().unwrap().push(instance.name.to_string());
            Ok(())
        });
    });
    app.insert_resource(StreamingTime::stopped());
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 1;
    for name in packages {
        put(dir, name, chain(&app, name, 50, None));
    }
    (app, decoded)
}

/// A minute.
fn pass_a_minute(app: &mut App) {
    for _ in 0..60 {
        app.update();
        app.world_mut()
            .resource_mut::<StreamingTime>()
            .advance(Duration::from_secs(1));
    }
    app.update();
}

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
    let (mut app, decoded) = slow_app(&dir, &["a.pkg", "b.pkg"]);
    app.world_mut().resource_mut::<StreamingSettings>().suspended = true;
    let early = with_priority(&mut app, "a.pkg", 0.01, InstanceTarget::Shown);
    pass_a_minute(&mut app);
    with_priority(&mut app, "b.pkg", 1.0, InstanceTarget::Shown);
    app.world_mut().resource_mut::<StreamingSettings>().suspended = false;
    run_until(&mut app, |world| state(world, early) == Some(LoadState::Live));
    assert_eq!(*decoded.lock().unwrap(), ["b.pkg", "a.pkg"]);
}

/// Nor does what is to be loaded and not shown, while memory is tight.
#[test]
fn while_memory_is_tight_what_is_held_does_not_grow_urgent() {
    let dir = Dir::default();
    let (mut app, decoded) = slow_app(&dir, &["a.pkg", "b.pkg", "c.pkg"]);
    let there = with_priority(&mut app, "a.pkg", 1.0, InstanceTarget::Shown);
    run_until(&mut app, |world| state(world, there) == Some(LoadState::Live));
    let used = app.world().resource::<StreamingStats>().memory.total();
    app.world_mut().resource_mut::<StreamingSettings>().memory_ceiling = Some(used + used / 20);
    let held = with_priority(&mut app, "b.pkg", 0.01, InstanceTarget::Loaded);
    pass_a_minute(&mut app);
    assert_eq!(app.world().resource::<StreamingStats>().memory_held, 1);
    with_priority(&mut app, "c.pkg", 1.0, InstanceTarget::Shown);
    app.world_mut().resource_mut::<StreamingSettings>().memory_ceiling = None;
    run_until(&mut app, |world| state(world, held) == Some(LoadState::Staged));
    assert_eq!(*decoded.lock().unwrap(), ["a.pkg", "c.pkg", "b.pkg"]);
}
