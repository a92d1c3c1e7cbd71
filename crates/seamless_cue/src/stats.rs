//! What became of cues, in numbers, and those as Bevy diagnostics. See [`CueStats`].

#[cfg(test)]
mod tests;

use core::time::Duration;

use bevy_app::App;
use bevy_diagnostic::{DiagnosticPath, Diagnostics, DiagnosticsStore};
use bevy_ecs::{reflect::ReflectResource, resource::Resource, schedule::IntoScheduleConfigs, system::Res};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::{
    counters::{self, Counter, counts},
    plugin::{CueSystems, PlayCues},
};

/// What became of cues since the app started. Each cue that was fired is counted in one of the others, once its way has come to its end. Each number is a
/// diagnostic, `seamless/cues/` and its name, where cues are played.
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

/// All of them but the next; a test looks for the one that is missing.
static COUNTS: [Counter<CueStats>; 26] = counts! {
    "seamless/cues/":
    fired played replayed deferred waiting waiting_peak active suppressed culled unknown ignored
    expired cancelled vain_removals repeated dead failed refused merged postponed loads
    blocking_loads failed_loads unloaded full_pools instances_made
};

static LONGEST_WAIT: Counter<CueStats> = Counter {
    field: "longest_wait",
    path: DiagnosticPath::const_new("seamless/cues/longest_wait"),
    suffix: " ms",
    value: |stats| stats.longest_wait.as_secs_f64() * 1e3,
};

fn all() -> impl Iterator<Item = &'static Counter<CueStats>> {
    COUNTS.iter().chain([&LONGEST_WAIT])
}

/// In an app that has diagnostics: one to which `SeamlessAssetPlugin` was added before.
pub(crate) fn add_diagnostics(app: &mut App) {
    if !app.world().contains_resource::<DiagnosticsStore>() {
        return;
    }
    counters::register(app, all());
    app.add_systems(PlayCues, write_diagnostics.after(CueSystems::Play));
}

fn write_diagnostics(stats: Res<CueStats>, mut diagnostics: Diagnostics) {
    counters::write(&*stats, all(), &mut diagnostics);
}
