//! Sets that come and go: what is read, what stays, what is told.

use bevy_app::{App, Last, Plugin};
use bevy_asset::io::memory::Dir;
use bevy_ecs::prelude::{MessageReader, ResMut, Resource};
use bevy_math::Vec3;
use bevy_state::{
    app::{AppExtStates, StatesPlugin},
    prelude::{NextState, State, States, SubStates},
};
use bevy_transform::components::{GlobalTransform, Transform};

use super::*;
use crate::{
    ObjectRegistries, StreamableState, StreamableStats, StreamingStats,
    doubles::Fate,
    load::tests::{gated::gated_app, run_until},
    streamable::tests::build::{fill, kitchen, load_registry, plain_kitchen, recipe, titles},
};

/// Dishes: `soup` is soup, stock and water, `salad` salad and salt, `menu` both soup and toast's salt.
fn dishes() -> (Dir, App) {
    let (dir, mut app) = kitchen();
    declare(&mut app);
    (dir, app)
}

fn declare(app: &mut App) {
    app.init_resource::<Told>().add_systems(Last, listen);
    let mut sets = app.world_mut().resource_mut::<PreloadSets>();
    sets.declare("soup", PreloadSet::new([recipe("soup")]));
    sets.declare("salad", PreloadSet::new([recipe("salad")]));
    sets.declare("menu", PreloadSet::new([recipe("soup"), recipe("salt")]));
}

fn want(app: &mut App, reason: &str, sets: &[&str]) {
    app.world_mut()
        .resource_mut::<PreloadSets>()
        .want(reason, sets.iter().copied());
}

fn progress(app: &App) -> PreloadProgress {
    *app.world().resource::<PreloadProgress>()
}

fn settle(app: &mut App) {
    app.update();
    run_until(app, |world| world.resource::<PreloadProgress>().is_ready());
}

fn state(app: &App, set: &str) -> PreloadState {
    app.world().resource::<PreloadSets>().state(set)
}

fn loads(app: &App) -> (u64, u64) {
    let stats = app.world().resource::<StreamableStats>();
    (stats.loads, app.world().resource::<StreamingStats>().bytes_read)
}

/// All messages since the last look.
#[derive(Resource, Default)]
struct Told(Vec<PreloadEvent>);

fn listen(mut events: MessageReader<PreloadEvent>, mut told: ResMut<Told>) {
    told.0.extend(events.read().cloned());
}

/// Messages since the last look, in words.
fn told(app: &mut App) -> Vec<String> {
    let told = core::mem::take(&mut app.world_mut().resource_mut::<Told>().0);
    let told = told.into_iter().map(|event| match event {
        PreloadEvent::Loaded { set } => format!("{set} loaded"),
        PreloadEvent::Failed { set, .. } => format!("{set} failed"),
        PreloadEvent::Released { set } => format!("{set} released"),
    });
    told.collect()
}

#[test]
fn a_switch_reads_the_difference_and_releases_the_rest() {
    let (_dir, mut app) = dishes();
    want(&mut app, "phase", &["soup"]);
    assert_eq!(state(&app, "soup"), PreloadState::Loading);
    settle(&mut app);
    assert_eq!(
        (titles(&app), loads(&app).0),
        (vec!["soup".into(), "stock".into(), "water".into()], 1)
    );
    assert_eq!(told(&mut app), ["soup loaded"]);
    // Soup is in both: only salt is asked for.
    want(&mut app, "phase", &["menu"]);
    settle(&mut app);
    assert_eq!(
        (titles(&app), loads(&app).0),
        (["salt", "soup", "stock", "water"].map(String::from).to_vec(), 2)
    );
    assert_eq!(told(&mut app), ["menu loaded", "soup released"]);
    let read = loads(&app);
    want(&mut app, "phase", &["soup"]);
    settle(&mut app);
    run_until(&mut app, |world| {
        world.resource::<bevy_asset::Assets<crate::load::tests::Recipe>>().len() == 3
    });
    assert_eq!(titles(&app), ["soup", "stock", "water"]);
    assert_eq!(loads(&app), read, "it was there");
    want(&mut app, "phase", &[]);
    run_until(&mut app, |world| {
        world
            .resource::<bevy_asset::Assets<crate::load::tests::Recipe>>()
            .is_empty()
    });
    assert_eq!(
        (state(&app, "soup"), progress(&app)),
        (PreloadState::Unwanted, PreloadProgress::default())
    );
}

#[test]
fn what_leaves_stays_until_the_new_is_there() {
    let (_dir, mut app) = dishes();
    want(&mut app, "phase", &["soup"]);
    settle(&mut app);
    want(&mut app, "phase", &["salad"]);
    app.update();
    while progress(&app).wanted > 0 && !progress(&app).is_ready() {
        assert_eq!(progress(&app).leaving, 1);
        assert!(titles(&app).contains(&"soup".to_owned()));
        app.update();
    }
    assert_eq!(
        told(&mut app),
        ["soup loaded", "salad loaded", "soup released"]
            .map(String::from)
            .to_vec()
    );
}

#[test]
fn it_is_released_first_where_that_is_wanted_but_for_what_both_have() {
    let (_dir, mut app) = dishes();
    app.world_mut().resource_mut::<PreloadSettings>().release_first = true;
    want(&mut app, "phase", &["soup"]);
    settle(&mut app);
    let read = loads(&app).1;
    told(&mut app);
    want(&mut app, "phase", &["menu"]);
    app.update();
    assert_eq!((progress(&app).leaving, progress(&app).is_ready()), (0, false));
    assert_eq!(told(&mut app), ["soup released"]);
    settle(&mut app);
    let (_dir, mut alone) = dishes();
    want(&mut alone, "phase", &["soup"]);
    settle(&mut alone);
    let salt = crate::StreamableRequest::new([recipe("salt")]);
    let salt = crate::streamable::tests::build::ask(&mut alone, salt);
    run_until(&mut alone, |_| salt.is_finished());
    assert_eq!(
        loads(&app).1 - read,
        loads(&alone).1 - read,
        "the soup was not read again"
    );
}

#[test]
fn sets_that_several_want_stay_when_one_goes() {
    let (_dir, mut app) = dishes();
    want(&mut app, "class", &["soup"]);
    want(&mut app, "zone", &["soup", "salad"]);
    settle(&mut app);
    let read = loads(&app);
    want(&mut app, "class", &[]);
    settle(&mut app);
    assert_eq!(state(&app, "soup"), PreloadState::Loaded);
    app.world_mut().resource_mut::<PreloadSets>().remove("zone", "soup");
    app.update();
    assert_eq!(
        (state(&app, "soup"), state(&app, "salad")),
        (PreloadState::Unwanted, PreloadState::Loaded)
    );
    assert_eq!(loads(&app), read);
}

/// Back before it was released: nothing is asked for.
#[test]
fn who_comes_back_in_time_finds_it() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    gate.otherwise(Some(Fate::Pass));
    fill(&dir, &mut app);
    run_until(&mut app, |world| !world.resource::<ObjectRegistries>().is_empty());
    declare(&mut app);
    want(&mut app, "phase", &["soup"]);
    settle(&mut app);
    let first = app
        .world()
        .resource::<PreloadSets>()
        .streamable("soup")
        .map(crate::Streamable::id);
    // However long that takes, it does not come.
    gate.otherwise(None);
    want(&mut app, "phase", &["salad"]);
    app.update();
    assert!(!progress(&app).is_ready());
    want(&mut app, "phase", &["soup"]);
    settle(&mut app);
    gate.otherwise(Some(Fate::Pass));
    app.update();
    let again = app
        .world()
        .resource::<PreloadSets>()
        .streamable("soup")
        .map(crate::Streamable::id);
    assert_eq!(first, again);
    assert_eq!((progress(&app).wanted, progress(&app).leaving), (1, 0));
    assert_eq!(
        app.world().resource::<StreamableStats>().cancelled,
        1,
        "nobody waits for the salad"
    );
}

#[test]
fn a_set_that_fails_tells_why_and_keeps_the_rest() {
    let (_dir, mut app) = dishes();
    let mut sets = app.world_mut().resource_mut::<PreloadSets>();
    sets.declare(
        "lunch",
        PreloadSet::new([recipe("burnt"), recipe("salad")]).folder("nowhere"),
    );
    sets.want("phase", ["lunch", "soup", "missing"]);
    settle(&mut app);
    assert_eq!(
        (
            progress(&app).loaded,
            progress(&app).failed,
            progress(&app).is_complete()
        ),
        (1, 2, false)
    );
    assert_eq!(progress(&app).fraction(), 1.0);
    let events = core::mem::take(&mut app.world_mut().resource_mut::<Told>().0);
    let errors = |name: &str| -> Vec<String> {
        let of_set = events.iter().filter_map(|event| match event {
            PreloadEvent::Failed { set, errors } if **set == *name => Some(errors.iter().map(ToString::to_string)),
            _ => None,
        });
        of_set.flatten().collect()
    };
    let [folder, object] = &errors("lunch")[..] else {
        panic!("{events:?}")
    };
    assert!(
        folder.contains("`nowhere`") && folder.contains("1 registries"),
        "{folder}"
    );
    assert!(object.contains("`burnt.recipe`"), "{object}");
    let [undeclared] = &errors("missing")[..] else {
        panic!("{events:?}")
    };
    assert!(
        undeclared.contains("`missing`") && undeclared.contains("phase"),
        "{undeclared}"
    );
    assert!(titles(&app).contains(&"salad".to_owned()));
    // Each is said once; when it is mended it is loaded.
    app.update();
    assert!(told(&mut app).is_empty());
    let mut sets = app.world_mut().resource_mut::<PreloadSets>();
    sets.declare("missing", PreloadSet::new([recipe("salt")]));
    sets.declare("lunch", PreloadSet::new([recipe("salad")]));
    settle(&mut app);
    assert!(progress(&app).is_complete());
    assert_eq!(told(&mut app), ["lunch loaded", "missing loaded"]);
}

#[test]
fn a_failed_set_is_tried_again() {
    let (_dir, mut app) = dishes();
    let mut sets = app.world_mut().resource_mut::<PreloadSets>();
    sets.declare("lunch", PreloadSet::new([recipe("burnt")]));
    sets.want("phase", ["lunch", "soup"]);
    settle(&mut app);
    told(&mut app);
    let asked = app.world().resource::<StreamableStats>().requested;
    let mut sets = app.world_mut().resource_mut::<PreloadSets>();
    assert_eq!(
        (sets.retry("lunch"), sets.retry("soup"), sets.retry("nothing")),
        (true, false, false)
    );
    settle(&mut app);
    assert_eq!(app.world().resource::<StreamableStats>().requested, asked + 1);
    assert_eq!(told(&mut app), ["lunch failed"]);
}

#[test]
fn folders_are_what_registries_have_there_when_they_are_loaded() {
    let (dir, mut app) = plain_kitchen();
    let mut sets = app.world_mut().resource_mut::<PreloadSets>();
    sets.declare("all of soup", PreloadSet::of_folder("soup.recipe").with(recipe("soup")));
    sets.want("zone", ["all of soup"]);
    for _ in 0..5 {
        app.update();
    }
    // Nobody knows yet what is there.
    assert_eq!(state(&app, "all of soup"), PreloadState::Loading);
    load_registry(&dir, &mut app);
    settle(&mut app);
    assert_eq!(state(&app, "all of soup"), PreloadState::Loaded);
    let streamable = app
        .world()
        .resource::<PreloadSets>()
        .streamable("all of soup")
        .unwrap()
        .clone();
    assert!(streamable.get(&recipe("soup")).is_some());
    assert_eq!(streamable.state(), StreamableState::Loaded);
    assert_eq!(
        (progress(&app).bytes, progress(&app).total_bytes > 0),
        (progress(&app).total_bytes, true)
    );
}

#[test]
fn more_than_may_be_wanted_fail_by_name() {
    let (_dir, mut app) = dishes();
    app.world_mut().resource_mut::<PreloadSettings>().max_wanted = 1;
    want(&mut app, "phase", &["salad", "soup"]);
    settle(&mut app);
    assert_eq!(
        (state(&app, "salad"), state(&app, "soup")),
        (PreloadState::Loaded, PreloadState::Failed)
    );
    app.world_mut().resource_mut::<PreloadSettings>().max_wanted = 2;
    settle(&mut app);
    assert!(progress(&app).is_complete());
}

#[derive(States, Clone, PartialEq, Eq, Hash, Debug, Default)]
enum Phase {
    #[default]
    Lobby,
    Match,
}

#[derive(SubStates, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[source(Phase = Phase::Match)]
enum Step {
    #[default]
    Loading,
    Playing,
}

#[test]
fn phases_want_their_sets_and_a_step_goes_on_when_they_are_there() {
    let (_dir, mut app) = dishes();
    // By hand, because the app has run already.
    StatesPlugin.build(&mut app);
    app.init_state::<Phase>()
        .add_sub_state::<Step>()
        .preload_in_state(Phase::Lobby, ["salad"])
        .preload_in_state(Phase::Match, ["soup"])
        .preload_in_state(Step::Playing, ["menu"])
        .advance_when_preloaded(Step::Loading, Step::Playing);
    app.update();
    settle(&mut app);
    assert_eq!(
        (state(&app, "salad"), state(&app, "soup")),
        (PreloadState::Loaded, PreloadState::Unwanted)
    );
    app.world_mut().resource_mut::<NextState<Phase>>().set(Phase::Match);
    app.update();
    // In the frame in which it begins nothing is there yet.
    assert_eq!(*app.world().resource::<State<Step>>().get(), Step::Loading);
    assert_eq!(state(&app, "soup"), PreloadState::Loading);
    run_until(&mut app, |world| {
        *world.resource::<State<Step>>().get() == Step::Playing
    });
    assert_eq!(state(&app, "soup"), PreloadState::Loaded);
    settle(&mut app);
    assert_eq!(state(&app, "menu"), PreloadState::Loaded);
    // The step goes with its phase, and with it what it wants.
    app.world_mut().resource_mut::<NextState<Phase>>().set(Phase::Lobby);
    app.update();
    settle(&mut app);
    let states = ["soup", "menu", "salad"].map(|set| state(&app, set));
    assert_eq!(
        states,
        [PreloadState::Unwanted, PreloadState::Unwanted, PreloadState::Loaded]
    );
}

#[test]
fn zones_want_their_sets_while_somebody_is_near() {
    let (_dir, mut app) = dishes();
    let zone = PreloadZone {
        ahead: 2.0,
        keep: 1.0,
        ..PreloadZone::new(Vec3::splat(5.0), ["soup"])
    };
    let middle = Transform::from_xyz(10.0, 0.0, 0.0);
    app.world_mut().spawn((zone, middle, GlobalTransform::from(middle)));
    let walker = app.world_mut().spawn((PreloadSource, GlobalTransform::default())).id();
    let mut at = |x: f32| {
        let place = Transform::from_xyz(x, 0.0, 0.0);
        app.world_mut()
            .entity_mut(walker)
            .insert((place, GlobalTransform::from(place)));
        app.update();
        app.world().resource::<PreloadSets>().is_wanted("soup")
    };
    assert!(!at(0.0));
    assert!(!at(2.9));
    assert!(at(3.1), "ahead of its face");
    assert!(at(2.1), "until it is farther than that");
    assert!(!at(1.9));
    assert!(!at(f32::NAN));
    assert!(at(10.0));
}
