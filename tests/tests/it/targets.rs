//! Levels are loaded, shown, hidden and let go by name: what the app hears, and what systems find.

use std::time::Duration;

use bevy::prelude::*;
use bevy_seamless::prelude::*;
use seamless_tests::{
    app::run_until,
    cooked::{Ask, Cooked, MANIFEST, STREAM_LIMIT, ask, level_of, spawn_world, state, streaming_app_with},
    fixtures::{register_types, write_everything_scn},
};

const WORLD: &str = r#"(levels: [(name: "hall", source: "everything.scn.ron")])"#;

/// What was told of the level, in its order.
#[derive(Resource, Default)]
struct Told(Vec<&'static str>);

fn listen(app: &mut App) {
    app.init_resource::<Told>()
        .add_observer(|_: On<LevelLoaded>, mut told: ResMut<Told>| told.0.push("loaded"))
        .add_observer(|_: On<LevelRevealed>, mut told: ResMut<Told>| told.0.push("revealed"))
        .add_observer(|_: On<LevelHidden>, mut told: ResMut<Told>| told.0.push("hidden"))
        .add_observer(|_: On<LevelShown>, mut told: ResMut<Told>| told.0.push("shown"))
        .add_observer(|_: On<LevelLeft>, mut told: ResMut<Told>| told.0.push("left"));
}

fn start(cooked: &Cooked, sliced_levels: bool) -> (App, Entity) {
    let plugins = SeamlessPlugins.set(SeamlessAssetPlugin {
        sliced_levels,
        ..SeamlessAssetPlugin::default()
    });
    let mut app = streaming_app_with(&cooked.out(), plugins, |app| {
        register_types(app);
        listen(app);
    });
    let world = spawn_world(&mut app, MANIFEST);
    let there = run_until(&mut app, STREAM_LIMIT, |ecs| ecs.get::<LevelTable>(world).is_some());
    assert!(there, "the manifest loads");
    (app, world)
}

fn cook() -> Cooked {
    let write = |dir: &std::path::Path| {
        write_everything_scn(dir);
    };
    Cooked::new(write, WORLD, register_types)
}

/// Asks for the level, and waits until it is where it is to be.
#[track_caller]
fn bring(app: &mut App, world: Entity, what: Ask, to: LevelState) {
    ask(app, "hall", what);
    let there = run_until(app, STREAM_LIMIT, |ecs| state(ecs, world, "hall") == to);
    assert!(there, "{what:?} leads to {:?}", state(app.world(), world, "hall"));
}

fn seen(app: &mut App) -> usize {
    let ecs = app.world_mut();
    ecs.query_filtered::<(), With<Name>>().iter(ecs).count()
}

fn told(app: &mut App) -> Vec<&'static str> {
    core::mem::take(&mut app.world_mut().resource_mut::<Told>().0)
}

/// The states that a level goes through until it is where it is to be, each once.
#[track_caller]
fn states(app: &mut App, world: Entity, to: LevelState) -> Vec<LevelState> {
    let mut seen = vec![state(app.world(), world, "hall")];
    let there = run_until(app, STREAM_LIMIT, |ecs| {
        seen.push(state(ecs, world, "hall"));
        seen.dedup_by_key(|state| core::mem::discriminant(state));
        seen.last() == Some(&to)
    });
    assert!(there, "{to:?} does not come: {seen:?}");
    seen
}

#[test]
fn a_level_that_comes_in_slices_says_so() {
    let cooked = cook();
    let (mut app, world) = start(&cooked, true);
    // Every level comes in slices, one in each frame.
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    let before = seen(&mut app);
    ask(&mut app, "hall", Ask::Load);
    let come = states(&mut app, world, LevelState::Visible);
    let [.., LevelState::Loading(_), LevelState::Revealing, LevelState::Visible] = come[..] else {
        panic!("{come:?}");
    };
    bring(&mut app, world, Ask::Unload, LevelState::Unloaded);
    // Half way, somebody wants it only to be got ready; and to see it, after all.
    bring(&mut app, world, Ask::Load, LevelState::Revealing);
    bring(&mut app, world, Ask::Preload, LevelState::Hidden);
    assert_eq!(seen(&mut app), before);
    assert_eq!(level_of(app.world(), world, "hall").root(), None);
    ask(&mut app, "hall", Ask::Load);
    let come = states(&mut app, world, LevelState::Visible);
    assert_eq!(come, [LevelState::Hidden, LevelState::Revealing, LevelState::Visible]);
    assert!(seen(&mut app) > before);
}

#[test]
fn a_level_is_loaded_shown_hidden_and_shown_again() {
    let cooked = cook();
    let (mut app, world) = start(&cooked, true);
    let before = seen(&mut app);
    bring(&mut app, world, Ask::Preload, LevelState::Hidden);
    let heard = |ecs: &World| !ecs.resource::<Told>().0.is_empty();
    assert!(run_until(&mut app, STREAM_LIMIT, heard));
    assert_eq!(told(&mut app), ["loaded"]);
    assert_eq!(seen(&mut app), before);
    assert_eq!(level_of(app.world(), world, "hall").root(), None);

    bring(&mut app, world, Ask::Load, LevelState::Visible);
    assert_eq!(told(&mut app), ["revealed"]);
    let root = level_of(app.world(), world, "hall").root();
    let all = seen(&mut app);
    assert!(root.is_some() && all > before);

    bring(&mut app, world, Ask::Preload, LevelState::Hidden);
    assert_eq!(told(&mut app), ["hidden"]);
    assert_eq!(seen(&mut app), before);
    assert_eq!(level_of(app.world(), world, "hall").root(), None);

    bring(&mut app, world, Ask::Load, LevelState::Visible);
    assert_eq!(told(&mut app), ["shown"]);
    assert_eq!(
        (seen(&mut app), level_of(app.world(), world, "hall").root()),
        (all, root)
    );

    bring(&mut app, world, Ask::Preload, LevelState::Hidden);
    bring(&mut app, world, Ask::Unload, LevelState::Unloaded);
    assert_eq!(told(&mut app), ["hidden", "left"]);
    assert_eq!(seen(&mut app), before);
}

#[test]
fn without_the_opt_in_a_level_that_is_there_stays() {
    let cooked = cook();
    let (mut app, world) = start(&cooked, false);
    bring(&mut app, world, Ask::Preload, LevelState::Hidden);
    bring(&mut app, world, Ask::Load, LevelState::Visible);
    let all = seen(&mut app);
    ask(&mut app, "hall", Ask::Preload);
    for _ in 0..5 {
        app.update();
    }
    assert_eq!(state(app.world(), world, "hall"), LevelState::Visible);
    assert_eq!(seen(&mut app), all);
    assert_eq!(app.world().resource::<StreamingStats>().refused_hides, 1);
    bring(&mut app, world, Ask::Unload, LevelState::Unloaded);
}

/// It was asked to go and is asked for again before its turn: nobody notices.
#[test]
fn a_level_that_is_wanted_again_before_it_has_left_is_the_same() {
    let cooked = cook();
    let (mut app, world) = start(&cooked, false);
    bring(&mut app, world, Ask::Load, LevelState::Visible);
    let root = level_of(app.world(), world, "hall").root();
    told(&mut app);
    ask(&mut app, "hall", Ask::Unload);
    ask(&mut app, "hall", Ask::Load);
    for _ in 0..5 {
        app.update();
    }
    assert_eq!(state(app.world(), world, "hall"), LevelState::Visible);
    assert_eq!(level_of(app.world(), world, "hall").root(), root);
    assert!(told(&mut app).is_empty());
}
