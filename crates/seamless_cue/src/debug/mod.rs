//! What cues do and did, in words. See [`CueReport`].

mod hints;
#[cfg(test)]
mod tests;

pub(crate) use hints::Hints;
pub use hints::Hitch;

use core::{fmt, time::Duration};
use std::sync::Arc;

use bevy_ecs::{entity::Entity, world::World};
use bevy_log::info;

use crate::{
    cue::CueAct,
    engine::NotifyState,
    manager::{Manager, State},
    pool::PoolStats,
    tag::GameplayTag,
};

/// How far a notify has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CueState {
    /// Nobody has needed it.
    Unloaded,
    /// It is on its way.
    Loading,
    /// It is there.
    Loaded,
    /// It could not be loaded.
    Failed,
}

/// A notify, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct NotifyReport {
    /// The cues that it plays.
    pub tag: GameplayTag,
    /// Its path.
    pub path: Arc<str>,
    /// How far it has come.
    pub state: CueState,
    /// Whether it keeps cues from the notifies of the tag's parents.
    pub overrides: bool,
    /// Bytes that are read when it is loaded, as far as its registry knows.
    pub bytes: u64,
    /// Whether it is in the runtime library.
    pub is_always_loaded: bool,
}

/// A cue that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingReport {
    /// The cue.
    pub tag: GameplayTag,
    /// What it does.
    pub act: CueAct,
    /// Whom it happens to.
    pub target: Entity,
    /// How long it has waited.
    pub age: Duration,
}

/// A pool of instances.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolReport {
    /// Its notify's tag.
    pub of: GameplayTag,
    /// How it is used.
    pub stats: PoolStats,
    /// Instances that there may be.
    pub cap: u32,
    /// Instances that are made ahead.
    pub preallocated: u32,
    /// What to preallocate.
    pub recommended: u32,
}

/// All that is to be known when a cue does not play, plays late or costs a hitch. It is made when somebody asks for it, and its text has a line for each
/// entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CueReport {
    /// The map: all notifies, by tag.
    pub notifies: Vec<NotifyReport>,
    /// Cues that wait, those first that have waited longest.
    pub waiting: Vec<WaitingReport>,
    /// Pools, by tag.
    pub pools: Vec<PoolReport>,
    /// Blocking loads that cues have forced, with who fired them; the last ones.
    pub hitches: Vec<Hitch>,
}

impl CueReport {
    /// What there is now. Empty without the plugin, and in observers of cues, which run while cues are at work.
    #[must_use]
    pub fn of(world: &World) -> Self {
        let manager = world.get_resource::<Manager>().and_then(|manager| manager.0.as_deref());
        manager.map(Self::of_state).unwrap_or_default()
    }

    fn of_state(state: &State) -> Self {
        let mut report = Self {
            notifies: notifies(state),
            waiting: waiting(state),
            pools: pools(state),
            hitches: state.back.hints.hitches.iter().cloned().collect(),
        };
        report.notifies.sort_by(|a, b| (a.tag, &a.path).cmp(&(b.tag, &b.path)));
        report.waiting.sort_by_key(|waiting| core::cmp::Reverse(waiting.age));
        report.pools.sort_by_key(|pool| pool.of);
        report
    }

    /// The notifies that are loaded.
    pub fn loaded(&self) -> impl Iterator<Item = &NotifyReport> {
        self.notifies.iter().filter(|notify| notify.state == CueState::Loaded)
    }

    /// Bytes that loaded notifies have been read from.
    #[must_use]
    pub fn loaded_bytes(&self) -> u64 {
        self.loaded().map(|notify| notify.bytes).sum()
    }
}

fn notifies(state: &State) -> Vec<NotifyReport> {
    let records = state.back.records.iter().zip(&state.engine.cast.notifies);
    let known = records.filter(|(record, _)| record.is_known);
    let report = known.map(|(record, known)| NotifyReport {
        tag: known.tag,
        path: record.soft.path().into(),
        state: match known.state {
            NotifyState::Unloaded => CueState::Unloaded,
            NotifyState::Loading => CueState::Loading,
            NotifyState::Loaded { .. } => CueState::Loaded,
            NotifyState::Failed => CueState::Failed,
        },
        overrides: known.overrides,
        bytes: record.bytes,
        is_always_loaded: record.is_always_loaded,
    });
    report.collect()
}

fn waiting(state: &State) -> Vec<WaitingReport> {
    let waiting = state.engine.pending.iter();
    let report = waiting.map(|cue| WaitingReport {
        tag: cue.tag,
        act: cue.act,
        target: cue.context.target,
        age: state.back.now.saturating_sub(cue.at()),
    });
    report.collect()
}

fn pools(state: &State) -> Vec<PoolReport> {
    let pools = state.back.actors.stats();
    let report = pools.map(|(notify, stats)| PoolReport {
        of: notify.tag,
        stats,
        cap: notify.cap,
        preallocated: notify.preallocated,
        recommended: stats.recommended(notify.cap),
    });
    report.collect()
}

impl fmt::Display for CueReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loaded = self.loaded().count();
        let bytes = self.loaded_bytes();
        writeln!(
            f,
            "{} cue notifies, {loaded} loaded of {bytes} bytes",
            self.notifies.len()
        )?;
        for notify in &self.notifies {
            let overrides = if notify.overrides { ", overrides" } else { "" };
            let always = if notify.is_always_loaded { ", always loaded" } else { "" };
            writeln!(
                f,
                "  {} → {} ({:?}, {} bytes{overrides}{always})",
                notify.tag, notify.path, notify.state, notify.bytes
            )?;
        }
        writeln!(f, "{} cues wait", self.waiting.len())?;
        for cue in &self.waiting {
            writeln!(
                f,
                "  {:.3} s: {:?} {} of {}",
                cue.age.as_secs_f32(),
                cue.act,
                cue.tag,
                cue.target
            )?;
        }
        writeln!(f, "{} pools", self.pools.len())?;
        for pool in &self.pools {
            let stats = &pool.stats;
            writeln!(
                f,
                "  {}: {} free, {} playing, {} on their way, of {}; {} needed at most, {} made late, {} times full; `preallocated: {}` would do",
                pool.of,
                stats.free,
                stats.playing,
                stats.making,
                pool.cap,
                stats.high_water,
                stats.made_late,
                stats.full,
                pool.recommended
            )?;
        }
        writeln!(f, "{} blocking loads", self.hitches.len())?;
        self.hitches.iter().try_for_each(|hitch| writeln!(f, "  {hitch}"))
    }
}

/// A system that logs the [`CueReport`]: `commands.run_system_cached(log_cue_report)`.
pub fn log_cue_report(world: &mut World) {
    info!("{}", CueReport::of(world));
}
