//! Streamables from request to end, and soft handles that find what is there.

pub(crate) mod build;
mod ends;
mod soft;

use bevy_app::App;
use bevy_asset::{Assets, io::memory::Dir};

use build::{ask, kitchen, recipe, titles};

use super::*;
use crate::{
    StreamingStats,
    doubles::Fate,
    load::tests::{gated::gated_app, run_until},
};

fn finish(app: &mut App, streamable: &Streamable) {
    run_until(app, |_| streamable.is_finished());
}

#[test]
fn a_set_comes_with_what_it_refers_to_and_stays_as_long_as_it_is_held() {
    let (_dir, mut app) = kitchen();
    let set = StreamableRequest::new([recipe("soup"), recipe("salad"), recipe("soup")]);
    let set = ask(&mut app, set);
    assert_eq!((set.state(), set.paths().len()), (StreamableState::Waiting, 2));
    finish(&mut app, &set);
    assert!(set.is_loaded(), "{:?}", set.end());
    assert_eq!(set.state(), StreamableState::Loaded);
    assert_eq!(titles(&app), ["salad", "salt", "soup", "stock", "water"]);
    let progress = set.progress();
    assert_eq!((progress.fraction(), progress.bytes, progress.objects), (1.0, 70, 2));
    let soup = set.get(&recipe("soup")).expect("it is there");
    let recipes = app.world().resource::<Assets<build::Recipe>>();
    assert_eq!(recipes.get(&soup).unwrap().title, "how to soup");
    assert_eq!(set.handles().len(), 2);
    let copy = set.clone();
    drop((set, soup));
    app.update();
    assert_eq!(titles(&app).len(), 5);
    drop(copy);
    run_until(&mut app, |world| world.resource::<Assets<build::Recipe>>().is_empty());
}

#[test]
fn two_requests_for_one_object_are_one_read() {
    let (_dir, mut app) = kitchen();
    let alone = {
        let one = ask(&mut app, StreamableRequest::new([recipe("soup")]));
        finish(&mut app, &one);
        app.world().resource::<StreamingStats>().bytes_read
    };
    let (_dir, mut app) = kitchen();
    let sets = [0.0, 5.0, 1.0].map(|priority| {
        let soup = StreamableRequest::new([recipe("soup")]);
        ask(&mut app, StreamableRequest { priority, ..soup })
    });
    run_until(&mut app, |_| sets.iter().all(Streamable::is_loaded));
    assert_eq!(app.world().resource::<StreamingStats>().bytes_read, alone);
    let stats = app.world().resource::<StreamableStats>();
    assert_eq!((stats.loads, stats.shared, stats.loaded), (1, 2, 3));
    // Who comes later finds it.
    let late = ask(&mut app, StreamableRequest::new([recipe("soup")]));
    app.update();
    assert!(late.is_loaded());
    assert_eq!(app.world().resource::<StreamableStats>().found_live, 1);
    assert_eq!(app.world().resource::<StreamingStats>().bytes_read, alone);
    assert_eq!(late.get(&recipe("soup")), sets[0].get(&recipe("soup")));
}

/// An object of a set that has failed leaves the others alone, also where they lie in the same package.
#[test]
fn one_that_fails_takes_no_other_with_it() {
    let (_dir, mut app) = kitchen();
    let set = StreamableRequest::new([recipe("soup"), recipe("burnt"), recipe("unknown"), recipe("salad")]);
    let set = ask(&mut app, set.named("menu"));
    finish(&mut app, &set);
    assert_eq!(set.state(), StreamableState::Failed);
    let mut errors: Vec<_> = set.end().unwrap().errors().iter().map(ToString::to_string).collect();
    errors.sort();
    let [burnt, unknown] = &errors[..] else {
        panic!("{errors:?}")
    };
    for part in ["`burnt.recipe`", "dinner.pkg#burnt", "no such object"] {
        assert!(burnt.contains(part), "{burnt}");
    }
    for part in ["`unknown.recipe`", "1 registries", "`assets` of the world file"] {
        assert!(unknown.contains(part), "{unknown}");
    }
    let there = |name| set.get(&recipe(name)).is_some();
    assert!(there("soup") && there("salad") && !there("burnt") && !there("unknown"));
    assert_eq!(app.world().resource::<StreamableStats>().failed, 1);
}

#[test]
fn packages_that_are_not_there_are_told() {
    let (dir, mut app) = kitchen();
    dir.remove_asset(std::path::Path::new("cooked/dinner.pkg"));
    let set = ask(&mut app, StreamableRequest::new([recipe("soup"), recipe("salt")]));
    finish(&mut app, &set);
    let errors = set.end().unwrap().errors();
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].is_transient() && errors[0].to_string().contains("cooked/dinner.pkg"),
        "{}",
        errors[0]
    );
    assert!(set.get(&recipe("salt")).is_some());
}

#[test]
fn types_are_compared() {
    let (_dir, mut app) = kitchen();
    let wrong = crate::SoftHandle::<bevy_mesh::Mesh>::new("soup.recipe");
    let set = ask(&mut app, StreamableRequest::new([&wrong]));
    let any = ask(&mut app, StreamableRequest::new([crate::SoftPath::any("soup.recipe")]));
    run_until(&mut app, |_| set.is_finished() && any.is_finished());
    let error = set.end().unwrap().errors()[0].to_string();
    for part in ["`soup.recipe`", "Recipe", "Mesh", "correct the path"] {
        assert!(error.contains(part), "{error}");
    }
    assert!(any.is_loaded() && any.handles()[0].is_some());
}

#[test]
fn an_object_path_needs_no_registry() {
    let (_dir, mut app) = build::plain_kitchen();
    let soup = crate::SoftHandle::<build::Recipe>::new("cooked/dinner.pkg#soup");
    let set = ask(&mut app, StreamableRequest::new([&soup]));
    finish(&mut app, &set);
    assert!(set.is_loaded(), "{:?}", set.end());
    assert_eq!(titles(&app), ["soup", "stock", "water"]);
    assert_eq!(set.progress().fraction(), 1.0);
}

#[test]
fn requests_wait_for_registries_that_are_on_their_way() {
    let (dir, mut app) = build::plain_kitchen();
    let early = ask(&mut app, StreamableRequest::new([recipe("soup")]));
    finish(&mut app, &early);
    assert_eq!(early.state(), StreamableState::Failed, "nothing is on its way");
    build::load_registry(&dir, &mut app);
    let waiting = ask(&mut app, StreamableRequest::new([recipe("soup")]));
    finish(&mut app, &waiting);
    assert!(waiting.is_loaded(), "{:?}", waiting.end());
}

#[test]
fn what_is_too_much_is_refused_by_name() {
    let (_dir, mut app) = kitchen();
    app.insert_resource(StreamableSettings {
        max_streamables: 2,
        max_paths: 1,
        ..StreamableSettings::default()
    });
    let large = ask(&mut app, StreamableRequest::new([recipe("soup"), recipe("salad")]));
    let small = ask(&mut app, StreamableRequest::new([recipe("salt")]));
    let third = ask(&mut app, StreamableRequest::new([recipe("salt")]));
    run_until(&mut app, |_| {
        [&large, &small, &third].iter().all(|set| set.is_finished())
    });
    assert!(small.is_loaded());
    for (refused, setting) in [(&large, "max_paths"), (&third, "max_streamables")] {
        let error = refused.end().unwrap().errors()[0].to_string();
        assert!(error.contains(setting), "{error}");
    }
    // There is room again as soon as somebody is gone.
    drop((large, small, third));
    let again = ask(&mut app, StreamableRequest::new([recipe("salt")]));
    finish(&mut app, &again);
    assert!(again.is_loaded(), "{:?}", again.end());
}

/// More urgent ones overtake, also those that were asked for before.
#[test]
fn priorities_decide_and_can_be_changed() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    build::fill(&dir, &mut app);
    app.world_mut()
        .resource_mut::<crate::StreamingSettings>()
        .max_loads_in_flight = 1;
    gate.otherwise(Some(Fate::Pass));
    run_until(&mut app, |world| {
        !world.resource::<crate::ObjectRegistries>().is_empty()
    });
    gate.otherwise(None);
    let first = ask(&mut app, StreamableRequest::new([recipe("salt")]));
    app.update();
    let read = |gate: &crate::doubles::ReadGate| gate.begun().iter().filter(|read| read.path.ends_with("pkg")).count();
    run_until(&mut app, |_| read(&gate) == 1);
    let slow = ask(
        &mut app,
        StreamableRequest::new([crate::SoftPath::any("cooked/lunch.pkg#toast")]),
    );
    let fast = StreamableRequest::new([recipe("soup")]);
    let fast = ask(&mut app, StreamableRequest { priority: 2.0, ..fast });
    app.update();
    slow.set_priority(100.0);
    app.update();
    gate.otherwise(Some(Fate::Pass));
    run_until(&mut app, |_| [&first, &slow, &fast].iter().all(|set| set.is_loaded()));
    let order: Vec<_> = gate.begun().iter().map(|read| read.path.clone()).collect();
    let place = |name: &str| order.iter().position(|path| path.ends_with(name)).unwrap();
    assert!(place("lunch.pkg") < place("dinner.pkg"), "{order:?}");
}

/// Where many begin in one frame, the urgent are first, and nobody is forgotten.
#[test]
fn many_requests_begin_and_end_a_few_in_each_frame() {
    let (_dir, mut app) = kitchen();
    app.world_mut().resource_mut::<StreamableSettings>().share = 0.0;
    let many: Vec<Streamable> = (0..share::LEAST * 2 + 1)
        .map(|_| ask(&mut app, StreamableRequest::new([recipe("soup")])))
        .collect();
    let urgent = StreamableRequest {
        priority: 5.0,
        ..StreamableRequest::new([recipe("salad")])
    };
    let urgent = ask(&mut app, urgent);
    let waiting = |many: &[Streamable]| {
        let waits = many.iter().filter(|one| one.state() == StreamableState::Waiting);
        waits.count()
    };
    app.update();
    assert_eq!(waiting(&many), share::LEAST + 2, "one had to make way");
    assert_ne!(urgent.state(), StreamableState::Waiting);
    app.update();
    assert_eq!(waiting(&many), 2);
    let mut ended = vec![app.world().resource::<StreamableStats>().loaded];
    run_until(&mut app, |world| {
        ended.push(world.resource::<StreamableStats>().loaded);
        many.iter().all(Streamable::is_loaded)
    });
    assert!(urgent.is_loaded());
    let most = ended.windows(2).map(|two| two[1] - two[0]).max();
    assert!(most <= Some(share::LEAST as u64), "{ended:?}");
    assert!(app.world().resource::<StreamableStats>().postponed >= (share::LEAST + 4) as u64);
}
