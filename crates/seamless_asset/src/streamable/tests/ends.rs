//! Who is told of the end, and what ends one early: cancel, drop, pause, parts.

use core::time::Duration;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use bevy_ecs::prelude::*;
use futures_lite::future::{block_on, poll_once};

use super::{build::Recipe, *};
use crate::{LiveObjectsResource, StreamingTime, doubles::ReadGate};

#[derive(Resource, Default, Clone)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn add(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn take(&self) -> Vec<String> {
        core::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[test]
fn future_callback_and_event_tell_of_the_end() {
    let (_dir, mut app) = kitchen();
    let told = Told::default();
    let by_event = told.clone();
    app.add_observer(move |finished: On<StreamableFinished>| {
        by_event.add(format!("event {} {}", finished.name, finished.end.is_loaded()));
    });
    for (name, good) in [("soup", true), ("burnt", false)] {
        let set = ask(&mut app, StreamableRequest::new([recipe(name)]).named(name));
        let by_callback = told.clone();
        set.on_finish(move |world, end| {
            let recipes = world.resource::<Assets<Recipe>>().len();
            by_callback.add(format!("callback {} {}", end.is_loaded(), recipes > 0));
        });
        let mut future = set.finished();
        assert!(block_on(poll_once(&mut future)).is_none());
        finish(&mut app, &set);
        assert_eq!(block_on(future).is_loaded(), good);
        assert_eq!(
            told.take(),
            [format!("callback {good} {good}"), format!("event {name} {good}")]
        );
        // Who comes too late is told in the next frame, once.
        let late = told.clone();
        set.on_finish(move |_, end| late.add(format!("late {}", end.is_loaded())));
        app.update();
        app.update();
        assert_eq!(told.take(), [format!("late {good}")]);
        assert_eq!(block_on(set.clone().into_future()).is_loaded(), good);
        drop(set);
        run_until(&mut app, |world| world.resource::<Assets<Recipe>>().is_empty());
    }
}

#[test]
fn a_waker_is_woken() {
    let (_dir, mut app) = kitchen();
    let set = ask(&mut app, StreamableRequest::new([recipe("soup")]));
    let waiting = std::thread::spawn({
        let finished = set.finished();
        move || block_on(finished).is_loaded()
    });
    run_until(&mut app, |_| waiting.is_finished());
    assert!(waiting.join().unwrap());
}

/// Everything is as it was: no handle, no load, no row of the hub.
fn all_is_gone(app: &mut App) {
    run_until(app, |world| {
        world.resource::<Assets<Recipe>>().is_empty()
            && world.resource::<LiveObjectsResource>().0.is_empty()
            && world.resource::<StreamableStats>().active == 0
    });
    let hub = app.world().resource::<StreamableHub>();
    assert!(hub.wanted.is_empty() && hub.active.is_empty() && hub.all().is_empty());
}

fn gated() -> (App, ReadGate) {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    build::fill(&dir, &mut app);
    gate.otherwise(Some(Fate::Pass));
    run_until(&mut app, |world| {
        !world.resource::<crate::ObjectRegistries>().is_empty()
    });
    gate.otherwise(None);
    (app, gate)
}

/// Ends one after each of its reads, by each of two ways.
#[test]
fn it_can_be_given_up_at_each_stage() {
    let reads = {
        let (mut app, gate) = gated();
        let before = gate.begun().len();
        gate.otherwise(Some(Fate::Pass));
        let set = ask(&mut app, StreamableRequest::new([recipe("soup")]));
        finish(&mut app, &set);
        gate.begun().len() - before
    };
    assert!(reads > 4, "{reads}");
    for is_dropped in [false, true] {
        for after in 0..=reads {
            let (mut app, gate) = gated();
            let set = ask(&mut app, StreamableRequest::new([recipe("soup")]));
            let ends = Arc::new(AtomicUsize::new(0));
            let counted = ends.clone();
            set.on_finish(move |_, _| {
                counted.fetch_add(1, Ordering::Relaxed);
            });
            for _ in 0..after {
                run_until(&mut app, |_| !gate.pending().is_empty() || set.is_finished());
                gate.release_next(Fate::Pass);
            }
            if is_dropped {
                drop(set);
            } else {
                set.cancel();
                app.update();
                assert!(set.is_finished());
                assert_eq!(set.handles().iter().flatten().count(), 0);
                drop(set);
            }
            gate.otherwise(Some(Fate::Pass));
            all_is_gone(&mut app);
            let ends = ends.load(Ordering::Relaxed);
            assert!(ends == 1 || is_dropped && ends == 0, "{ends} ends after {after} reads");
        }
    }
}

/// What another one waits for goes on.
#[test]
fn a_cancel_leaves_what_others_want() {
    let (mut app, gate) = gated();
    let [mine, other] = [0, 1].map(|_| ask(&mut app, StreamableRequest::new([recipe("soup")])));
    run_until(&mut app, |_| !gate.pending().is_empty());
    mine.cancel();
    gate.otherwise(Some(Fate::Pass));
    finish(&mut app, &other);
    assert!(other.is_loaded());
    assert!(matches!(mine.end(), Some(StreamableEnd::Cancelled)));
    // After its end, a cancel lets go.
    other.cancel();
    run_until(&mut app, |world| world.resource::<Assets<Recipe>>().is_empty());
    assert!(other.is_loaded(), "its end stays what it was");
}

#[test]
fn a_paused_one_asks_for_nothing() {
    let (_dir, mut app) = kitchen();
    let request = StreamableRequest {
        is_paused: true,
        ..StreamableRequest::new([recipe("soup")])
    };
    let set = ask(&mut app, request);
    for _ in 0..5 {
        app.update();
    }
    assert_eq!(set.state(), StreamableState::Paused);
    assert_eq!(app.world().resource::<StreamableStats>().loads, 0);
    set.resume();
    app.update();
    assert_eq!(app.world().resource::<StreamableStats>().loads, 1);
    finish(&mut app, &set);
    assert!(set.is_loaded());
}

/// What waits for its turn is given back, and asked for again.
#[test]
fn a_pause_gives_back_what_has_not_begun() {
    let (mut app, gate) = gated();
    app.world_mut()
        .resource_mut::<crate::StreamingSettings>()
        .max_loads_in_flight = 1;
    let first = ask(&mut app, StreamableRequest::new([recipe("salt")]));
    run_until(&mut app, |_| !gate.pending().is_empty());
    let second = ask(&mut app, StreamableRequest::new([recipe("soup")]));
    app.update();
    second.pause();
    app.update();
    gate.otherwise(Some(Fate::Pass));
    finish(&mut app, &first);
    for _ in 0..10 {
        app.update();
    }
    assert!(!gate.begun().iter().any(|read| read.path.ends_with("dinner.pkg")));
    assert_eq!(second.state(), StreamableState::Paused);
    second.resume();
    finish(&mut app, &second);
    assert!(second.is_loaded());
}

#[test]
fn one_of_parts_ends_with_them() {
    let (_dir, mut app) = kitchen();
    let combine = |app: &App, parts: Vec<Streamable>| {
        let hub = app.world().resource::<StreamableHub>();
        hub.combine("menu".into(), parts.into(), core::panic::Location::caller())
    };
    let parts = ["soup", "salad"].map(|name| ask(&mut app, StreamableRequest::new([recipe(name)])));
    let menu = combine(&app, parts.to_vec());
    drop(parts);
    finish(&mut app, &menu);
    assert!(menu.is_loaded(), "it keeps its parts alive");
    assert_eq!((menu.progress().total_bytes, menu.progress().fraction()), (70, 1.0));
    assert!(menu.get(&recipe("salad")).is_some());
    let parts = vec![ask(&mut app, StreamableRequest::new([recipe("burnt")])), menu.clone()];
    let larger = combine(&app, parts);
    finish(&mut app, &larger);
    assert_eq!(larger.end().unwrap().errors().len(), 1);
    let empty = combine(&app, Vec::new());
    finish(&mut app, &empty);
    assert!(empty.is_loaded() && empty.progress().fraction() == 1.0);
    drop((menu, larger, empty));
    all_is_gone(&mut app);
    // Together they are given up.
    let part = ask(&mut app, StreamableRequest::new([recipe("soup")]));
    let whole = combine(&app, vec![part.clone()]);
    whole.cancel();
    app.update();
    assert!(part.is_finished() && matches!(whole.end(), Some(StreamableEnd::Cancelled)));
}

#[test]
fn progress_goes_by_bytes_and_tells_the_time() {
    let (mut app, gate) = gated();
    app.insert_resource(StreamingTime::stopped());
    let set = ask(&mut app, StreamableRequest::new([recipe("salt"), recipe("soup")]));
    run_until(&mut app, |_| !gate.pending().is_empty());
    assert_eq!((set.progress().bytes, set.progress().total_bytes), (0, 50));
    assert_eq!(set.progress().eta, None);
    app.world_mut()
        .resource_mut::<StreamingTime>()
        .advance(Duration::from_secs(2));
    // Only what lies in the one package.
    run_until(&mut app, |_| {
        while gate.pending().iter().any(|read| read.path.ends_with("basics.pkg")) {
            gate.release("cooked/basics.pkg", Fate::Pass);
        }
        set.progress().bytes > 0
    });
    let progress = set.progress();
    assert_eq!((progress.bytes, progress.objects, progress.total_objects), (10, 1, 2));
    assert_eq!(progress.fraction(), 0.2);
    assert_eq!(
        progress.eta,
        Some(Duration::from_secs(8)),
        "10 bytes took 2 s, 40 are left"
    );
    gate.otherwise(Some(Fate::Pass));
    finish(&mut app, &set);
    assert_eq!(set.progress().eta, Some(Duration::ZERO));
}

#[test]
fn the_report_names_who_holds_what() {
    let (_dir, mut app) = kitchen();
    let first = line!();
    let set = ask(
        &mut app,
        StreamableRequest::new([recipe("soup"), recipe("salad")]).named("menu"),
    );
    let lines = first..=line!();
    let leaked = set.clone();
    finish(&mut app, &set);
    drop(set);
    let report = app
        .world_mut()
        .run_system_cached(|streamables: Streamables| streamables.report())
        .unwrap();
    let text = report.to_string();
    for part in [
        "1 streamables, 70 bytes",
        "`menu`, Loaded, 70 bytes",
        "ends.rs",
        "soup.recipe",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(lines.contains(&report.held[0].caller.line()), "{text}");
    assert_eq!(report.holders("salad.recipe").count(), 1);
    drop(leaked);
    let report = app
        .world_mut()
        .run_system_cached(|streamables: Streamables| streamables.report())
        .unwrap();
    assert!(report.held.is_empty(), "{report}");
}
