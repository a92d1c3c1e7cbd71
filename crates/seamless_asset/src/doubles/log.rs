//! What the log says. See [`logged`].

use core::fmt::Debug;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bevy_log::{
    tracing::{
        Dispatch, Event, Level, Subscriber,
        field::{Field, Visit},
        subscriber::with_default,
    },
    tracing_subscriber::{
        Layer,
        layer::{Context, SubscriberExt},
        registry::Registry,
    },
};

/// Messages as they come.
#[derive(Clone, Default)]
struct Messages(Arc<Mutex<Vec<String>>>);

/// The text of a message.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl<S: Subscriber> Layer<S> for Messages {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() > Level::INFO {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        let line = format!("{} {}", event.metadata().level(), text.0);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

/// What this thread logs while something is done, a text for each message: `WARN blocking load of …`. What is only for debugging, and what other
/// threads log meanwhile, is not in it.
pub fn logged(act: impl FnOnce()) -> Vec<String> {
    // With only one listener, another thread that meets a message first would decide that nobody wants it.
    static OTHER: OnceLock<Dispatch> = OnceLock::new();
    OTHER.get_or_init(|| Dispatch::new(Registry::default()));
    let messages = Messages::default();
    with_default(Registry::default().with(messages.clone()), act);
    let mut messages = messages.0.lock().unwrap_or_else(PoisonError::into_inner);
    core::mem::take(&mut *messages)
}
