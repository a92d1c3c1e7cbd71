//! What a trace shows of an app's frames.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex, OnceLock},
};

use bevy::{
    log::{
        tracing::{
            Dispatch, Subscriber,
            span::{Attributes, Id},
            subscriber::with_default,
        },
        tracing_subscriber::{
            Layer,
            layer::{Context, SubscriberExt},
            registry::Registry,
        },
    },
    prelude::*,
};
use bevy_seamless::prelude::*;
use seamless_tests::{
    app::{on_one_thread, run_until},
    cooked::{Ask, Cooked, STREAM_LIMIT, ask, state},
    fixtures::{register_types, write_everything_scn},
};

const WORLD: &str = r#"(levels: [(name: "hall", source: "everything.scn.ron", on_request: true)])"#;

/// The names of our spans.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<BTreeSet<&'static str>>>);

impl<S: Subscriber> Layer<S> for Names {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let metadata = attributes.metadata();
        if metadata.target().starts_with("seamless_") {
            self.0.lock().unwrap().insert(metadata.name());
        }
    }
}

/// The spans of this thread.
fn spans_of(act: impl FnOnce()) -> BTreeSet<&'static str> {
    // With only one listener, another thread that meets a span first would decide that nobody wants it.
    static OTHER: OnceLock<Dispatch> = OnceLock::new();
    OTHER.get_or_init(|| Dispatch::new(Registry::default()));
    let names = Names::default();
    with_default(Registry::default().with(names.clone()), act);
    core::mem::take(&mut names.0.lock().unwrap())
}

/// Each part of a frame that streaming takes is there, of what decides as well as of what is done.
#[test]
fn a_trace_shows_what_streaming_does_in_frames() {
    let write = |dir: &Path| {
        write_everything_scn(dir);
    };
    let cooked = Cooked::new(write, WORLD, register_types);
    let (mut app, world) = cooked.start(register_types);
    on_one_thread(app.world_mut());
    let mut until = |what: Ask, wanted: LevelState| {
        spans_of(|| {
            ask(&mut app, "hall", what);
            assert!(run_until(&mut app, STREAM_LIMIT, |ecs| {
                state(ecs, world, "hall") == wanted
            }));
        })
    };
    let coming = until(Ask::Load, LevelState::Visible);
    let missing = |names: &BTreeSet<_>, expected: &[&'static str]| {
        let expected: BTreeSet<_> = expected.iter().copied().collect();
        expected.difference(names).copied().collect::<Vec<_>>()
    };
    assert_eq!(
        missing(&coming, &["select", "pump", "reveal", "report"]),
        [""; 0],
        "{coming:?}"
    );
    let leaving = until(Ask::Unload, LevelState::Unloaded);
    assert_eq!(missing(&leaving, &["select", "pump", "leave", "report"]), [""; 0]);
    assert!(!leaving.contains("reveal"), "{leaving:?}");
}
