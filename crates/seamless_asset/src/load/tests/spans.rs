//! What a trace shows of a load.

use std::sync::{Arc, Mutex, OnceLock};

use bevy_log::{
    tracing::{
        Dispatch, Subscriber,
        field::{Field, Visit},
        span::{Attributes, Id},
        subscriber::with_default,
    },
    tracing_subscriber::{
        Layer,
        layer::{Context, SubscriberExt},
        registry::{LookupSpan, Registry},
    },
};

use super::{
    gated::{gated_app, run_until_pending},
    *,
};
use crate::{
    BlockingLoads,
    doubles::{Fate, LevelDoor},
    load::{
        file::{FileJob, PartJob, load_part},
        open::{OpenJob, open_tables},
        stall::Pulse,
        task::Read,
    },
};
use bevy_tasks::block_on;

/// All spans that were opened, each with those around it, outermost first: `load{a.pkg} > open`.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

/// How a span is called.
struct Called(String);

impl Visit for Called {
    fn record_debug(&mut self, field: &Field, value: &dyn core::fmt::Debug) {
        if matches!(field.name(), "package" | "level" | "asset" | "file" | "stage" | "count") {
            self.0 += &format!("{{{value:?}}}").replace('"', "");
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Heard {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut called = Called(attributes.metadata().name().to_owned());
        attributes.record(&mut called);
        let Some(span) = context.span(id) else { return };
        span.extensions_mut().insert(called);
        let around = span.scope().from_root();
        let names = around.filter_map(|span| Some(span.extensions().get::<Called>()?.0.clone()));
        self.0.lock().unwrap().push(names.collect::<Vec<_>>().join(" > "));
    }
}

pub(super) fn heard(act: impl FnOnce()) -> Vec<String> {
    // With only one listener, another thread that meets a span first would decide that nobody wants it.
    static OTHER: OnceLock<Dispatch> = OnceLock::new();
    OTHER.get_or_init(|| Dispatch::new(Registry::default()));
    let heard = Heard::default();
    with_default(Registry::default().with(heard.clone()), act);
    core::mem::take(&mut heard.0.lock().unwrap())
}

#[test]
fn a_trace_shows_each_stage_of_a_load() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let mut request = request("a.pkg", &[]);
    request.name = "meadow".to_owned();
    // On this thread, which is the one that is listened to.
    let spans = heard(|| {
        let _ = app.world_mut().load_level_blocking(request).unwrap();
    });
    let load = |span: &str| format!("blocking_load{{a.pkg}} > load{{a.pkg}} > {span}");
    let expected = [
        "blocking_load{a.pkg}".to_owned(),
        "blocking_load{a.pkg} > load{a.pkg}".to_owned(),
        load("queue"),
        load("open"),
        load("verify"),
        load("wait"),
        load("read"),
        load("turn"),
        load("link"),
        load("decode"),
        load("post_load"),
        "blocking_load{a.pkg} > insert{Mesh}".to_owned(),
        "blocking_load{a.pkg} > room".to_owned(),
        "blocking_load{a.pkg} > reveal{meadow}".to_owned(),
    ];
    assert_eq!(spans, expected);
}

#[test]
fn a_trace_shows_each_unit_of_a_frame() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let mut spans = Vec::new();
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Staged));
    while state(app.world(), id).is_some() {
        if state(app.world(), id) == Some(LoadState::Live) {
            app.world_mut().resource_mut::<Streamer>().unload(id);
        }
        // The pump itself, on this thread.
        let world = app.world_mut();
        spans.extend(heard(|| crate::load::pump(world)));
        world.resource::<crate::StreamingClock>().restart();
    }
    assert!(spans.iter().all(|span| span.starts_with("pump")), "{spans:?}");
    for unit in ["pump > insert{Mesh}", "pump > reveal{a.pkg}", "pump > leave{a.pkg}"] {
        let found = spans.iter().filter(|span| *span == unit).count();
        assert!(found == 1 || unit.contains("insert"), "{unit}: {spans:?}");
    }
}

/// The wait for what a level is drawn with is as long as there is one of these in each frame.
#[test]
fn a_trace_shows_who_waits_for_gates() {
    const DEADLINE: u32 = 5;
    let dir = Dir::default();
    let mut app = app(&dir);
    let gates = &mut app.world_mut().resource_mut::<RevealGates>().0;
    gates.push(Box::new(Closed));
    gates.push(Box::new(LevelDoor::default()));
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = DEADLINE;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Staged));
    let mut spans = Vec::new();
    while state(app.world(), id) != Some(LoadState::Live) {
        let world = app.world_mut();
        spans.push(heard(|| crate::load::pump(world)));
        world.resource::<crate::StreamingClock>().restart();
    }
    // Both began to wait in the frame in which the values came.
    let comes = spans
        .iter()
        .position(|frame| frame.iter().any(|span| span.contains("reveal")));
    assert!(comes.is_some_and(|frame| frame >= DEADLINE as usize - 1), "{spans:?}");
    for gate in ["pump > gate of package{a.pkg}", "pump > gate of level{a.pkg}"] {
        let waits = |frame: &Vec<String>| frame.iter().any(|span| span == gate);
        assert!(spans.iter().take(DEADLINE as usize - 1).all(waits), "{gate}: {spans:?}");
    }
}

/// A task that waits for the disk has no thread, and is there in each frame all the same. Those that have no place are one span, however many they are.
#[test]
fn a_trace_shows_loads_that_wait() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 1;
    let ids = ["a.pkg", "b.pkg", "c.pkg"].map(|package| {
        put(&dir, package, chain(&app, package, 3, None));
        let id = load(&mut app, package, &[]);
        app.update();
        id
    });
    run_until_pending(&mut app, &gate, "a.pkg");
    for _ in 0..3 {
        let world = app.world_mut();
        let spans = heard(|| crate::load::pump(world));
        for span in ["pump > loading{a.pkg}{Opening}", "pump > queued{2}"] {
            let found = spans.iter().filter(|found| *found == span).count();
            assert_eq!(found, 1, "{span}: {spans:?}");
        }
        assert!(!spans.iter().any(|span| span.contains("b.pkg")), "{spans:?}");
    }
    gate.otherwise(Some(Fate::Pass));
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    let world = app.world_mut();
    let spans = heard(|| crate::load::pump(world));
    let waits = |span: &String| span.contains("loading") || span.contains("queued");
    assert!(!spans.iter().any(waits), "{spans:?}");
}

/// As a task reads it, here on this thread.
#[test]
fn a_trace_shows_what_is_read_of_a_file() {
    let dir = Dir::default();
    let app = app(&dir);
    put(&dir, "film.bin", vec![7; 100]);
    let services = app.world().resource::<crate::load::Pipeline>().services();
    let job = PartJob::File(FileJob {
        path: "film.bin".into(),
        head: [7; 10].into(),
        range: 50..60,
        progress: Arc::default(),
    });
    let spans = heard(|| {
        let (pulse, mut read) = (Pulse::default(), Read::default());
        let bytes = block_on(load_part(services, &job, &pulse, &mut read)).ok();
        assert_eq!(bytes, Some(vec![7; 10]));
    });
    assert_eq!(spans, ["load_part{film.bin}"]);
}

#[test]
fn a_trace_shows_whose_tables_are_opened() {
    let dir = Dir::default();
    let app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let services = app.world().resource::<crate::load::Pipeline>().services();
    let job = OpenJob {
        path: "a.pkg".into(),
        progress: Arc::default(),
    };
    let spans = heard(|| {
        let (pulse, mut read) = (Pulse::default(), Read::default());
        assert!(block_on(open_tables(services, &job, &pulse, &mut read)).is_ok());
    });
    assert_eq!(spans, ["open_tables{a.pkg}"]);
}

#[test]
fn a_trace_tells_whose_slices_they_are() {
    let dir = Dir::default();
    let mut app = sliced_app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let mut spans = Vec::new();
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Staged));
    // Every level is a large one.
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_nanos(1);
    let steps = [
        (LoadState::Live, InstanceTarget::Loaded),
        (LoadState::Hidden, InstanceTarget::Shown),
        (LoadState::Live, InstanceTarget::Gone),
    ];
    let mut steps = steps.into_iter().peekable();
    let is_there = |world: &World| state(world, id).is_some() || world.resource::<StreamingStats>().hidden_entities > 0;
    while is_there(app.world()) {
        let now = state(app.world(), id);
        if let Some((_, target)) = steps.next_if(|(then, _)| now == Some(*then)) {
            app.world_mut().resource_mut::<Streamer>().set_target(id, target);
        }
        let world = app.world_mut();
        spans.extend(heard(|| crate::load::pump(world)));
        world.resource::<crate::StreamingClock>().restart();
    }
    for unit in ["begin", "spawn", "reveal", "hide", "show", "sweep"] {
        let span = format!("pump > {unit}{{a.pkg}}");
        assert!(spans.contains(&span), "{span}: {spans:?}");
    }
}

/// A level that somebody takes back while it comes in slices, and one that leaves while it is hidden.
#[test]
fn a_trace_shows_what_goes_unseen() {
    let dir = Dir::default();
    let mut app = sliced_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 1000, None));
    for (wanted, span) in [
        (LoadState::Revealing, "pump > abandon"),
        (LoadState::Hidden, "pump > leave unseen{a.pkg}"),
    ] {
        let id = load(&mut app, "a.pkg", &[]);
        run_until(&mut app, |world| {
            let now = state(world, id);
            if now == Some(LoadState::Live) {
                world.resource_mut::<Streamer>().set_target(id, InstanceTarget::Loaded);
            }
            now == Some(wanted)
        });
        let world = app.world_mut();
        world.resource_mut::<Streamer>().set_target(id, InstanceTarget::Gone);
        let mut spans = Vec::new();
        while state(world, id).is_some() {
            spans.extend(heard(|| crate::load::pump(world)));
            world.resource::<crate::StreamingClock>().restart();
        }
        let found = spans.iter().filter(|found| *found == span).count();
        assert_eq!(found, 1, "{span}: {spans:?}");
    }
}
