//! What becomes of a cue, without Bevy's world: see [`Engine`]. Whatever it needs of the world it asks a [`Stage`] for.

mod cast;
mod fire;
mod replay;
#[cfg(test)]
mod tests;

use core::{cmp::Reverse, time::Duration};
use std::collections::BinaryHeap;

use bevy_ecs::entity::Entity;
use bevy_math::Vec3;

use self::cast::Cast;
use crate::{
    active::ActiveCues,
    config::CueConfig,
    cue::{CueAct, CueContext, CueEvent, Told},
    pending::Pending,
    route::NotifyId,
    stats::CueStats,
    tag::GameplayTag,
};

/// What the engine needs of the world.
pub(crate) trait Stage {
    /// Whether there is such an entity.
    fn is_alive(&self, entity: Entity) -> bool;

    /// What a cue of this tag is for its target; `None`: it is suppressed.
    fn translate(&self, tag: GameplayTag, context: &CueContext) -> Option<GameplayTag>;

    /// Where an entity is.
    fn location(&self, entity: Entity) -> Option<Vec3>;

    /// Where somebody listens.
    fn listeners(&self) -> &[Vec3];

    /// A notify that somebody else keeps loaded: how far it has come by that; `None`: it has to be loaded.
    fn find(&mut self, id: NotifyId) -> Option<NotifyState>;

    /// Begins to load a notify, or, if `now`, loads it; how far it has come.
    fn load(&mut self, id: NotifyId, tag: GameplayTag, now: bool) -> NotifyState;

    /// Whether an actor can play this cue at once; if not, one is on its way. A cue that was just fired asks for an instance of its own.
    fn has_actor(&mut self, id: NotifyId, context: &CueContext, is_new: bool) -> bool;

    /// Plays a cue: `tag` as it was fired, `of` the notify's.
    fn play(&mut self, id: NotifyId, event: CueEvent, tag: GameplayTag, context: Told);

    /// A cue has had its turn.
    fn done(&mut self);

    /// A cue is about to be played that has waited for so long.
    fn late(&mut self, tag: GameplayTag, waited: Duration);

    /// A cue that no notify is known for.
    fn unknown(&mut self, tag: GameplayTag);
}

/// How far a notify has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum NotifyState {
    #[default]
    Unloaded,
    Loading,
    Loaded {
        /// Whether it needs an instance.
        is_actor: bool,
        /// Whether an add of what is active is played again.
        allow_multiple: bool,
    },
    Failed,
}

/// A notify, by what is known of it without loading it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub tag: GameplayTag,
    pub overrides: bool,
    pub cull_distance: Option<f32>,
    pub state: NotifyState,
}

/// Routes cues to notifies, keeps those that wait, and plays them in order.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    pub cast: Cast,
    pub pending: Pending,
    pub active: ActiveCues,
    pub stats: CueStats,
    /// Kept for its memory.
    heads: BinaryHeap<Reverse<(u64, GameplayTag)>>,
}

impl Engine {
    /// How many wait for this notify, among others perhaps.
    pub fn waiting_for(&mut self, id: NotifyId) -> usize {
        let tags: Vec<_> = self.pending.tags().map(|(_, tag)| tag).collect();
        let leads_here = |tag: &GameplayTag| self.cast.routes.of(*tag).contains(&id);
        let tags: Vec<_> = tags.into_iter().filter(leads_here).collect();
        tags.into_iter().map(|tag| self.pending.count(tag)).sum()
    }

    /// Takes those away whose target is gone, and those that have expired, of so many places. All places are looked at in turn.
    pub fn sweep(&mut self, stage: &impl Stage, config: &CueConfig, now: Duration, places: usize) {
        let stats = &mut self.stats;
        self.pending.sweep(places, |act, at, target| {
            let is_dead = !stage.is_alive(target);
            let is_late = is_expired(act, at, now, config);
            stats.dead += u64::from(is_dead);
            stats.expired += u64::from(is_late && !is_dead);
            is_dead || is_late
        });
        self.active.sweep(places, |target| stage.is_alive(target));
        self.count();
    }

    fn count(&mut self) {
        self.stats.waiting = self.pending.len() as u64;
        self.stats.waiting_peak = self.stats.waiting_peak.max(self.stats.waiting);
        self.stats.active = self.active.len() as u64;
    }
}

/// Whether an executed cue has waited too long.
fn is_expired(act: CueAct, at: Duration, now: Duration, config: &CueConfig) -> bool {
    act == CueAct::Execute && now.saturating_sub(at) > config.expire_after
}
