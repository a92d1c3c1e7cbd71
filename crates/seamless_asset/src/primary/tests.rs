//! Bundles that are changed: the difference is read, the rest goes.

use bevy_app::App;
use bevy_asset::io::memory::Dir;
use bevy_ecs::system::RunSystemOnce;

use super::*;
use crate::{
    ObjectRegistry, StreamableStats, StreamingStats,
    load::tests::run_until,
    registry::tests::object,
    streamable::tests::build::{kitchen, titles},
};

const MENU: &str = "menu.recipe";

/// A kitchen with a menu: toast, with salt for the eyes, and salt and soup for the mouth.
fn restaurant() -> (Dir, App) {
    let (dir, mut app) = kitchen();
    let mut menu = object(MENU, "lunch.pkg#toast", "Recipe", 1);
    let bundle = |name: &str, paths: &[&str]| (Arc::from(name), paths.iter().map(|path| Arc::from(*path)).collect());
    menu.bundles = vec![
        bundle("match", &["salt.recipe", "soup.recipe"]),
        bundle("ui", &["salt.recipe"]),
        bundle("lost", &["lost.recipe", "salad.recipe"]),
    ];
    let registry = ObjectRegistry::new("cooked/", vec![menu]).expect("one object");
    app.world_mut().resource_mut::<ObjectRegistries>().insert(registry);
    app.update();
    (dir, app)
}

fn set(app: &mut App, bundles: &'static [&'static str]) -> Streamable {
    let set = move |mut primary: PrimaryAssets| primary.set_bundles(MENU, bundles);
    let set = app.world_mut().run_system_once(set).expect("it runs");
    set.expect("the menu has them")
}

/// Sets bundles, waits for them, and gives how many bytes were read for that.
fn change(app: &mut App, bundles: &'static [&'static str]) -> u64 {
    let before = read(app);
    let streamable = set(app, bundles);
    run_until(app, |_| streamable.is_finished());
    assert!(streamable.is_loaded(), "{:?}", streamable.end());
    read(app) - before
}

fn read(app: &App) -> u64 {
    app.world().resource::<StreamingStats>().bytes_read
}

#[track_caller]
fn only(app: &mut App, expected: &[&str]) {
    // What is let go of is freed by a task.
    let start = std::time::Instant::now();
    while titles(app) != expected {
        assert!(start.elapsed().as_secs() < 60, "{:?} and not {expected:?}", titles(app));
        app.update();
    }
    for _ in 0..3 {
        app.update();
    }
    assert_eq!(titles(app), expected);
}

#[test]
fn the_difference_is_read_and_the_rest_let_go() {
    let (_dir, mut app) = restaurant();
    let ui = change(&mut app, &["ui"]);
    only(&mut app, &["salt", "toast"]);
    let live = |app: &App| app.world().resource::<StreamableStats>().found_live;
    let before = live(&app);
    let more = change(&mut app, &["ui", "match"]);
    assert_eq!(live(&app) - before, 2, "the toast and the salt");
    only(&mut app, &["salt", "soup", "stock", "toast", "water"]);
    assert!(ui > 0 && more > 0);
    // Nothing that both have is read again, and what goes costs nothing.
    assert_eq!(change(&mut app, &["match"]), 0);
    only(&mut app, &["salt", "soup", "stock", "toast", "water"]);
    assert_eq!(change(&mut app, &["ui"]), 0);
    only(&mut app, &["salt", "toast"]);
    assert_eq!(change(&mut app, &[]), 0);
    only(&mut app, &["toast"]);
    let released = app
        .world_mut()
        .run_system_once(|mut primary: PrimaryAssets| (primary.release(MENU), primary.release(MENU)));
    assert_eq!(released.expect("it runs"), (true, false));
    only(&mut app, &[]);
    // Both at once are one look at each package, and no less.
    let (_dir, mut app) = restaurant();
    let whole = change(&mut app, &["match", "ui", "match"]);
    assert!(more < whole && whole <= ui + more, "{ui} and {more}, {whole} at once");
}

#[test]
fn what_was_there_stays_until_what_is_wanted_has_come() {
    let (_dir, mut app) = restaurant();
    change(&mut app, &["match"]);
    let ui = set(&mut app, &["ui"]);
    let again = set(&mut app, &["match"]);
    let same = set(&mut app, &["match"]);
    assert_eq!(again.id(), same.id(), "nothing else is wanted");
    let before = read(&app);
    run_until(&mut app, |_| ui.is_finished() && again.is_finished());
    assert_eq!(read(&app), before, "the soup was never let go of");
    drop((ui, again, same));
    only(&mut app, &["salt", "soup", "stock", "toast", "water"]);
}

#[test]
fn who_cancels_has_what_was_there_before() {
    let (_dir, mut app) = restaurant();
    change(&mut app, &["ui"]);
    set(&mut app, &["match"]).cancel();
    app.update();
    let bundles = |primary: PrimaryAssets| primary.bundles(MENU).map(<[_]>::to_vec);
    let held = app.world_mut().run_system_once(bundles).expect("it runs");
    assert_eq!(held, Some(vec!["ui".into()]));
    only(&mut app, &["salt", "toast"]);
    // And nothing where there was nothing.
    app.world_mut()
        .run_system_once(|mut primary: PrimaryAssets| primary.release(MENU))
        .expect("it runs");
    set(&mut app, &["match"]).cancel();
    app.update();
    assert_eq!(app.world_mut().run_system_once(bundles).expect("it runs"), None);
    only(&mut app, &[]);
}

#[test]
fn what_fails_is_told_and_the_others_come() {
    let (_dir, mut app) = restaurant();
    change(&mut app, &["ui"]);
    let lost = set(&mut app, &["lost"]);
    run_until(&mut app, |_| lost.is_finished());
    assert!(
        lost.end().expect("it is over").errors()[0]
            .to_string()
            .contains("lost.recipe")
    );
    only(&mut app, &["salad", "salt", "toast"]);
    // Once more is asked for again.
    assert_ne!(set(&mut app, &["lost"]).id(), lost.id());
}

#[test]
fn what_nobody_knows_is_refused_and_changes_nothing() {
    let (_dir, mut app) = restaurant();
    change(&mut app, &["ui"]);
    let refused = |mut primary: PrimaryAssets| {
        let unknown = primary.set_bundles("lunch.recipe", &["ui"]).map(|_| ());
        let bundle = primary.set_bundles(MENU, &["ui", "sound"]).map(|_| ());
        let known: Vec<_> = primary.known().map(|object| object.path.to_string()).collect();
        let held: Vec<_> = primary.held().map(ToString::to_string).collect();
        (
            unknown,
            bundle,
            known,
            held,
            primary.streamable(MENU).is_some_and(Streamable::is_loaded),
        )
    };
    let (unknown, bundle, known, held, is_loaded) = app.world_mut().run_system_once(refused).expect("it runs");
    let text = unknown.expect_err("no registry has it").to_string();
    assert!(text.contains("lunch.recipe") && !text.contains("ask again"), "{text}");
    let text = bundle.expect_err("it has none").to_string();
    assert!(text.contains("sound") && text.contains("match"), "{text}");
    assert_eq!(
        (known, held, is_loaded),
        (vec![MENU.to_owned()], vec![MENU.to_owned()], true)
    );
}
