//! How far the sets that are wanted have come. See [`PreloadProgress`].

use core::time::Duration;
use std::sync::Arc;

use bevy_ecs::{message::Message, reflect::ReflectResource, resource::Resource};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use super::PreloadError;
use crate::streamable::StreamableProgress;

/// How preload sets are switched. Change it at any time.
#[derive(Resource, Reflect, Debug, Clone, PartialEq, Eq)]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
pub struct PreloadSettings {
    /// Whether what is not wanted any more is released as soon as the new is under way, rather than when it is there: less memory at the peak, and
    /// nothing to fall back on. What both have stays in any case. Default: false.
    pub release_first: bool,
    /// Sets that may be wanted at the same time; further ones fail. Default: 4096.
    pub max_wanted: usize,
}

impl Default for PreloadSettings {
    fn default() -> Self {
        Self {
            release_first: false,
            max_wanted: 4096,
        }
    }
}

/// Where a preload set stands.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[reflect(Debug, Clone, PartialEq, Hash)]
pub enum PreloadState {
    /// Nobody wants it. What it had may still be there, until what replaces it has come.
    Unwanted,
    /// It is on its way.
    Loading,
    /// All of it is there.
    Loaded,
    /// Some of it could not be loaded; the rest is there.
    Failed,
}

/// How far all sets that are wanted have come, as of this frame: what a loading screen shows. It changes only when a number does, so a system may
/// wait for it with `resource_changed`; [`PreloadAppExt::advance_when_preloaded`](super::PreloadAppExt::advance_when_preloaded) goes from one state to
/// the next when it [is ready](Self::is_ready). What two sets have counts in both.
#[derive(Resource, Reflect, Debug, Clone, Copy, Default, PartialEq)]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
pub struct PreloadProgress {
    /// Sets that are wanted.
    pub wanted: u32,
    /// Of these, those that are there.
    pub loaded: u32,
    /// Of these, those of which something could not be loaded.
    pub failed: u32,
    /// Sets that are not wanted any more, and stay until what replaces them is there.
    pub leaving: u32,
    /// Bytes of what is there, as far as registries know.
    pub bytes: u64,
    /// Bytes of all of it.
    pub total_bytes: u64,
    /// Objects that are there, or have failed.
    pub objects: u32,
    /// All of them, as far as they are known: those of folders are when no registry is on its way.
    pub total_objects: u32,
    /// How long it will take from here, at the pace so far; none as long as nothing has come, and when all is there.
    pub eta: Option<Duration>,
}

impl PreloadProgress {
    /// Whether nothing is on its way any more. What could not be loaded will not come: the game goes on without it.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.loaded + self.failed == self.wanted
    }

    /// Whether all that is wanted is there.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.loaded == self.wanted
    }

    /// From 0 to 1: by bytes where they are known, else by objects, else by sets. It is 1 only when it is ready.
    #[must_use]
    pub fn fraction(&self) -> f32 {
        if self.is_ready() {
            return 1.0;
        }
        let part = |done: u64, all: u64| (done as f64 / all.max(1) as f64) as f32;
        let fraction = match (self.total_bytes, self.total_objects) {
            (0, 0) => part(u64::from(self.loaded + self.failed), u64::from(self.wanted)),
            (0, all) => part(u64::from(self.objects), u64::from(all)),
            (all, _) => part(self.bytes, all),
        };
        fraction.min(0.999)
    }

    pub(super) fn add(&mut self, state: PreloadState, of: &StreamableProgress) {
        self.wanted += 1;
        self.loaded += u32::from(state == PreloadState::Loaded);
        self.failed += u32::from(state == PreloadState::Failed);
        self.bytes += of.bytes;
        self.total_bytes += of.total_bytes;
        self.objects += of.objects;
        self.total_objects += of.total_objects;
        // They load side by side.
        self.eta = self.eta.max(of.eta.filter(|_| state == PreloadState::Loading));
    }
}

/// What became of a preload set.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_asset::PreloadEvent;
/// fn tell(mut events: MessageReader<PreloadEvent>) {
///     for event in events.read() {
///         if let PreloadEvent::Failed { set, errors } = event {
///             eprintln!("{set} is there in part: {}", errors[0]);
///         }
///     }
/// }
/// ```
#[derive(Message, Debug, Clone)]
pub enum PreloadEvent {
    /// All of it is there.
    Loaded {
        /// Its name.
        set: Arc<str>,
    },
    /// Some of it could not be loaded, each for one of these reasons; the rest is there.
    Failed {
        /// Its name.
        set: Arc<str>,
        /// Why.
        errors: Arc<[PreloadError]>,
    },
    /// Nobody wants it any more, and what was only its is let go.
    Released {
        /// Its name.
        set: Arc<str>,
    },
}
