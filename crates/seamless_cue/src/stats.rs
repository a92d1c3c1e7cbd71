//! What became of cues. See [`CueStats`].

use core::time::Duration;

use bevy_ecs::{reflect::ReflectResource, resource::Resource};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// What became of cues since the app started. Each cue that was fired is counted in one of the others, once its way has come to its end.
#[derive(Resource, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Resource, Default, Clone, Debug, PartialEq)]
pub struct CueStats {
    /// Cues that game code fired.
    pub fired: u64,
    /// Cues that at least one notify has played, right away or later; removals among them.
    pub played: u64,
    /// Of these, those that had waited.
    pub replayed: u64,
    /// The longest that one of these had waited.
    pub longest_wait: Duration,
    /// Cues that had to wait, whatever became of them.
    pub deferred: u64,
    /// Cues that wait now.
    pub waiting: u64,
    /// The most that have waited at the same time.
    pub waiting_peak: u64,
    /// Cues that last now.
    pub active: u64,
    /// Dropped because of [`SuppressCues`](crate::SuppressCues), [`CueConfig::suppressed`](crate::CueConfig::suppressed) or
    /// [`suppressed_while`](crate::CueConfig::suppressed_while).
    pub suppressed: u64,
    /// Dropped because all listeners were too far away from it.
    pub culled: u64,
    /// Dropped because no notify is known for its tag.
    pub unknown: u64,
    /// Dropped because its notify was missing, and [`CueConfig`](crate::CueConfig) says that nothing be loaded.
    pub ignored: u64,
    /// Executed cues that had waited too long.
    pub expired: u64,
    /// Adds that waited, and were taken away by their removal.
    pub cancelled: u64,
    /// Removals of adds that had not been played: those that took an add away, and those of which there was none.
    pub vain_removals: u64,
    /// Adds of what was active already, and removals that left it active.
    pub repeated: u64,
    /// Dropped because the target was gone.
    pub dead: u64,
    /// Dropped because all its notifies have failed to load.
    pub failed: u64,
    /// Dropped because of [`CueConfig::max_waiting`](crate::CueConfig::max_waiting) or [`max_active`](crate::CueConfig::max_active).
    pub refused: u64,
    /// Executed cues of one batch that were merged with an equal one. Not counted as fired.
    pub merged: u64,
    /// Cues fired by observers of cues that had to wait for the next cue or frame.
    pub postponed: u64,
    /// Notifies whose load was begun.
    pub loads: u64,
    /// Of these, those that game code waited for.
    pub blocking_loads: u64,
    /// Notifies that failed to load.
    pub failed_loads: u64,
    /// Notifies that were let go of because no cue had needed them for a while; see [`CueConfig::max_idle`](crate::CueConfig::max_idle).
    pub unloaded: u64,
    /// Actors' plays that got no instance, because their pool was full.
    pub full_pools: u64,
    /// Actors' instances that were made.
    pub instances_made: u64,
}
