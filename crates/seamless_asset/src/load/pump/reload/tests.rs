use bevy_app::App;
use bevy_asset::io::memory::Dir;
use bevy_ecs::change_detection::{CHECK_TICK_THRESHOLD, MAX_CHANGE_AGE, Tick};

use super::*;
use crate::{
    LoadState, Streamer,
    load::{
        InstanceTarget,
        tests::{build::chain, load, put, run_until, sliced_app},
    },
};

fn hidden_since(app: &mut App, change: impl FnOnce(&mut Tick)) -> Tick {
    let mut pipeline = app.world_mut().resource_mut::<Pipeline>();
    let mut found = None;
    let mut change = Some(change);
    pipeline.instances.for_each_unmarked(|instance| {
        if let Phase::Hidden { hiding, .. } = &mut instance.phase {
            change.take().into_iter().for_each(|change| change(&mut hiding.since));
            found = Some(hiding.since);
        }
    });
    found.expect("a level is hidden")
}

/// A tick that is older than ticks can tell apart would be in the future, some day: everything would count as changed, or nothing.
#[test]
fn when_a_level_was_hidden_stays_comparable_for_days() {
    let dir = Dir::default();
    let mut app = sliced_app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let id = load(&mut app, "a.pkg", &[]);
    let is = |world: &World, state| world.resource::<Streamer>().state(id) == Some(state);
    run_until(&mut app, |world| is(world, LoadState::Live));
    let mut streamer = app.world_mut().resource_mut::<Streamer>();
    streamer.set_target(id, InstanceTarget::Loaded);
    run_until(&mut app, |world| is(world, LoadState::Hidden));
    let now = app.world_mut().change_tick();
    let old = Tick::new(now.get().wrapping_sub(Tick::MAX.get()));
    hidden_since(&mut app, |since| *since = old);
    // As often as Bevy looks.
    for _ in 0..CHECK_TICK_THRESHOLD {
        app.world_mut().increment_change_tick();
    }
    app.update();
    let age = |tick: Tick, now: Tick| now.get().wrapping_sub(tick.get());
    let (since, now) = (hidden_since(&mut app, |_| {}), app.world_mut().change_tick());
    assert!(
        age(old, now) > Tick::MAX.get() + CHECK_TICK_THRESHOLD / 2,
        "it would be too old"
    );
    // A few ticks have gone by since Bevy looked.
    assert!(age(since, now) < Tick::MAX.get() + 10_000, "{}", age(since, now));
}

/// Long before ticks cannot tell any more who was hung there later.
#[test]
fn a_level_that_was_hung_long_ago_is_gone_through() {
    let mut world = World::new();
    for _ in 0..CHECK_TICK_THRESHOLD {
        world.increment_change_tick();
    }
    let check = world.check_change_ticks().expect("Bevy looks as often");
    let is_known = |age: u32| {
        let mut members = Members {
            hung_since: Some(Tick::new(check.present_tick().get().wrapping_sub(age))),
            ..Members::default()
        };
        members.keep_ticks_valid(check);
        members.hung_since.is_some()
    };
    let most = MAX_CHANGE_AGE - 2 * CHECK_TICK_THRESHOLD;
    assert!(is_known(0) && is_known(most - 1) && !is_known(most) && !is_known(u32::MAX));
}
