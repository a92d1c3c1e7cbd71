//! What was asked for and has not been heard of yet. See [`Unheard`].

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use bevy_ecs::change_detection::{DetectChanges, Ref, Tick};

/// Whether anybody has asked for anything since the last selection: until it was heard, nobody knows what is to come.
///
/// Everybody notes it in here and nobody needs it for himself, so that a system may ask for levels and for the
/// [status](crate::StreamingStatus).
#[derive(Default)]
pub(crate) struct Unheard {
    is_any: AtomicBool,
    /// When entities that [want](super::LevelWanted) something were last heard.
    wanted: AtomicU32,
    /// As the [settings](crate::LevelSettings::follow_remote) were then.
    are_remote_followed: AtomicBool,
}

impl Unheard {
    /// Somebody has asked for something.
    pub fn note(&self) {
        self.is_any.store(true, Ordering::Relaxed);
    }

    /// All that was asked for has been heard, also by remote sources if they are followed.
    pub fn clear(&self, are_remote_followed: bool) {
        self.is_any.store(false, Ordering::Relaxed);
        self.are_remote_followed.store(are_remote_followed, Ordering::Relaxed);
    }

    /// All that entities want is heard, as of now.
    pub fn hear_wanted(&self, now: Tick) {
        self.wanted.store(now.get(), Ordering::Relaxed);
    }

    pub fn are_remote_followed(&self) -> bool {
        self.are_remote_followed.load(Ordering::Relaxed)
    }

    pub fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Relaxed)
    }

    /// Whether what an entity wants has changed since; `now` is who asks.
    pub fn is_news<T>(&self, wanted: &Ref<T>, now: Tick) -> bool {
        let heard = Tick::new(self.wanted.load(Ordering::Relaxed));
        wanted.last_changed().is_newer_than(heard, now)
    }
}
