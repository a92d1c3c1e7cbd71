//! The budget of frames: more when something is needed, less when frames are slow.

use core::time::Duration;

use bevy_app::Update;

use super::*;
use crate::{StreamingUrgency, UnitKind, load::budget::FrameBudget};

/// A budget that any work exceeds.
const LITTLE: Duration = Duration::from_nanos(1);

fn app_in_a_hurry(dir: &Dir, boost: f32) -> App {
    let mut app = app(dir);
    let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
    (settings.budget, settings.boost, settings.least) = (LITTLE, boost, 1.0);
    app.world_mut().resource_mut::<StreamingUrgency>().arrival = Some(0.0);
    app
}

fn loaded(app: &mut App, dir: &Dir) -> StreamingStats {
    put(dir, "a.pkg", chain(app, "a.pkg", 500, None));
    let id = load(app, "a.pkg", &[]);
    // Only so many are kept.
    let mut overruns = Vec::new();
    run_until(app, |world| {
        overruns.append(&mut world.resource_mut::<StreamingStats>().overruns);
        state(world, id) == Some(LoadState::Live)
    });
    let mut stats = app.world().resource::<StreamingStats>().clone();
    stats.overruns = overruns;
    stats
}

#[test]
fn what_is_needed_soon_may_take_more_and_is_counted() {
    let dir = Dir::default();
    let mut app = app_in_a_hurry(&dir, 2.0);
    for _ in 0..10 {
        app.update();
        let stats = app.world().resource::<StreamingStats>();
        assert_eq!(
            (stats.budget_last, stats.boosted),
            (LITTLE, 0),
            "there is nothing to do"
        );
    }
    let stats = loaded(&mut app, &dir);
    assert!(stats.boosted > 0 && stats.boosted < stats.frame);
    let raised = stats.overruns.iter().filter(|over| over.budget == LITTLE * 2);
    assert_eq!(raised.count() as u64, stats.boosted, "all took longer than that");
    let reveal = stats.overruns.iter().find(|over| over.kind == Some(UnitKind::Reveal));
    let what = reveal.map_or("", |over| over.what.as_ref());
    assert!(what.contains("reveal a.pkg (500 entities"), "{what}");
    assert!(what.contains("`SeamlessAssetPlugin::sliced_levels`"), "{what}");
}

/// Who has opted in need not be told how, and what is small is not told either.
#[test]
fn an_overrun_tells_how_to_opt_in_where_that_would_help() {
    let overruns = |sliced_levels, budget| {
        let dir = Dir::default();
        let plugin = SeamlessAssetPlugin {
            sliced_levels,
            ..SeamlessAssetPlugin::default()
        };
        let mut app = app_after(&dir, plugin, |_| {});
        let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
        (settings.budget, settings.boost) = (budget, 1.0);
        put(&dir, "a.pkg", chain(&app, "a.pkg", 500, None));
        let id = load(&mut app, "a.pkg", &[]);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
        app.world_mut().resource_mut::<StreamingStats>().overruns.clear();
        app.world_mut().resource_mut::<Streamer>().unload(id);
        run_until(&mut app, |world| state(world, id).is_none());
        let stats = app.world().resource::<StreamingStats>();
        stats
            .overruns
            .iter()
            .map(|over| over.what.to_string())
            .collect::<Vec<_>>()
    };
    let told = overruns(false, LITTLE);
    assert!(
        told.iter()
            .any(|what| what.contains("leave a.pkg") && what.contains("sliced_levels"))
    );
    assert!(
        overruns(true, LITTLE)
            .iter()
            .all(|what| !what.contains("sliced_levels"))
    );
}

/// The level is gone by then, for all but those who have to make room.
#[test]
fn an_overrun_says_whose_entities_are_despawned() {
    let dir = Dir::default();
    let mut app = sliced_app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 500, None));
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    app.world_mut().resource_mut::<StreamingSettings>().budget = LITTLE;
    app.world_mut().resource_mut::<Streamer>().unload(id);
    let mut told = Vec::new();
    run_until(&mut app, |world| {
        let overruns = &mut world.resource_mut::<StreamingStats>().overruns;
        told.extend(overruns.drain(..).map(|over| over.what.to_string()));
        world.resource::<StreamingStats>().hidden_entities == 0 && state(world, id).is_none()
    });
    let of_whom = |what: &String| what.contains("despawn 32 entities of a.pkg");
    assert!(told.iter().any(of_whom), "{told:?}");
}

#[test]
fn without_a_boost_or_a_hurry_it_does_not() {
    let dir = Dir::default();
    let mut app = app_in_a_hurry(&dir, 1.0);
    assert_eq!(loaded(&mut app, &dir).boosted, 0);
    let mut app = app_in_a_hurry(&dir, 2.0);
    app.world_mut().resource_mut::<StreamingUrgency>().arrival = Some(5.0);
    assert_eq!(loaded(&mut app, &dir).boosted, 0);
}

#[test]
fn slow_frames_have_less() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.add_systems(Update, || std::thread::sleep(Duration::from_millis(5)));
    let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
    (settings.budget, settings.slow_frame) = (Duration::from_millis(2), Duration::from_millis(1));
    for _ in 0..9 {
        app.update();
    }
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((stats.reduced, stats.budget_last), (1, Duration::from_millis(1)));
    // A game that is made for such frames is not slow.
    app.world_mut().resource_mut::<StreamingSettings>().slow_frame = Duration::from_secs(10);
    app.update();
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((stats.reduced, stats.budget_last), (1, Duration::from_millis(2)));
}

/// Other plugins measure their own systems.
#[test]
fn an_overrun_names_what_is_no_unit() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let long = |world: &World| {
        let clock = world.resource::<crate::StreamingClock>();
        clock.add("footprints", Duration::from_secs(2));
        clock.add("birds", Duration::from_secs(1));
        drop(clock.measure("clouds"));
    };
    let told = |app: &App| {
        let stats = app.world().resource::<StreamingStats>();
        let named = stats.overruns.iter().map(|over| (over.kind, over.what.to_string()));
        (stats.overrun_count, named.collect::<Vec<_>>())
    };
    app.update();
    app.world_mut().resource_mut::<StreamingStats>().overruns.clear();
    let before = app.world().resource::<StreamingStats>().overrun_count;
    long(app.world());
    app.update();
    assert_eq!(told(&app), (before + 1, vec![(None, "footprints".to_owned())]));
    // The next frame has its own.
    app.world()
        .resource::<crate::StreamingClock>()
        .add("birds", Duration::from_secs(1));
    app.update();
    assert_eq!(told(&app).1[1..], [(None, "birds".to_owned())]);
}

/// The frame in which a level is revealed, beside this.
fn told_of_reveal(app: &mut App, dir: &Dir, beside: fn(Res<crate::StreamingClock>)) -> String {
    app.add_systems(Update, beside);
    app.world_mut().resource_mut::<StreamingSettings>().budget = LITTLE;
    let stats = loaded(app, dir);
    assert!(stats.overruns.iter().all(|over| !over.what.is_empty()));
    let besides = stats
        .overruns
        .iter()
        .any(|over| over.what.contains("bookkeeping") || over.what.contains("birds"));
    assert!(besides, "frames without a unit have names, too: {:?}", stats.overruns);
    let mut reveals = stats.overruns.iter().filter(|over| over.kind == Some(UnitKind::Reveal));
    let what = reveals.next().map(|over| over.what.to_string());
    assert_eq!(reveals.count(), 0);
    what.expect("it is over the budget")
}

/// However long many small ones took together.
#[test]
fn an_overrun_names_the_unit_where_nothing_else_took_longer() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let what = told_of_reveal(&mut app, &dir, |clock| {
        (0..50_000).for_each(|_| clock.add("birds", Duration::from_micros(1)));
    });
    // On a machine that halts threads anything may take longer.
    assert!(
        what.contains("reveal a.pkg (500 entities") && !what.contains("birds"),
        "{what}"
    );
}

#[test]
fn an_overrun_names_the_unit_behind_what_took_longer() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let what = told_of_reveal(&mut app, &dir, |clock| clock.add("birds", Duration::from_secs(20)));
    assert!(
        what.starts_with("birds, 20000.00 ms; reveal a.pkg (500 entities"),
        "{what}"
    );
}

/// Units are what they took themselves, not what lay between them.
#[test]
fn what_lies_between_units_is_none() {
    let mut budget = FrameBudget::new(Duration::from_secs(1));
    budget.watch();
    std::thread::sleep(Duration::from_millis(2));
    budget.book(UnitKind::Insert, Duration::from_micros(1), String::new);
    assert_eq!(budget.of_units(), Duration::from_micros(1));
    assert!(budget.known() >= Duration::from_millis(2));
}
