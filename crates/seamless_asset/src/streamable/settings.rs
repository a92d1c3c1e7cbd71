//! How much may be asked for, and what was. See [`StreamableSettings`] and [`StreamableStats`].

use bevy_ecs::{reflect::ReflectResource, resource::Resource};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// Limits of streamables and soft handles. Change it at any time.
#[derive(Resource, Reflect, Debug, Clone, PartialEq)]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
pub struct StreamableSettings {
    /// [`Streamable`](crate::Streamable)s that may be there at the same time, at work or held. A further one fails at once. Default 65 536.
    pub max_streamables: usize,
    /// Paths that one may ask for. A larger one fails at once. Default 65 536.
    pub max_paths: usize,
    /// Soft paths that are remembered, so that they are resolved without a lock; further ones are looked up anew each time. Default 65 536.
    pub max_resolved: usize,
    /// The part of a frame's [`budget`](crate::StreamingSettings::budget) in which requests are begun, and of which as much is for telling who has
    /// ended. Of those that find no time the most urgent are first in the next frame; a few have their turn in each. Default: 0.125.
    pub share: f32,
    /// Whether the source of a path that no registry has is loaded by Bevy's `AssetServer`: for an app that is played without having been cooked.
    /// Its objects have no priority, cannot be cancelled, and count no bytes. A blocking load does not work on them. Default: false.
    pub sources: bool,
}

impl Default for StreamableSettings {
    fn default() -> Self {
        Self {
            max_streamables: 1 << 16,
            max_paths: 1 << 16,
            max_resolved: 1 << 16,
            share: 0.125,
            sources: false,
        }
    }
}

/// What streamables did since the app started.
#[derive(Resource, Reflect, Debug, Clone, Default, PartialEq, Eq)]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
pub struct StreamableStats {
    /// Requests so far.
    pub requested: u64,
    /// Those that have loaded everything.
    pub loaded: u64,
    /// Those of which something could not be loaded.
    pub failed: u64,
    /// Those that were cancelled, or dropped, before their end.
    pub cancelled: u64,
    /// Objects that were wanted and live already.
    pub found_live: u64,
    /// Objects that were wanted while another streamable was loading them.
    pub shared: u64,
    /// Objects that were asked of the pipeline.
    pub loads: u64,
    /// How often one had to wait for the next frame, to begin or to be told its end; see [`StreamableSettings::share`].
    pub postponed: u64,
    /// Those that are under way now.
    pub active: u64,
    /// Those that have come to an end and are still held.
    pub held: u64,
}
