//! What becomes of a cue, without Bevy's world: see [`Engine`]. Whatever it needs of the world it asks a [`Stage`] for.

mod fire;
mod replay;
#[cfg(test)]
mod tests;

use core::{cmp::Reverse, time::Duration};
use std::collections::BinaryHeap;

use bevy_ecs::entity::Entity;
use bevy_math::Vec3;

use crate::{
    active::ActiveCues,
    config::{CueConfig, Missing},
    cue::{CueAct, CueContext, CueEvent},
    pending::Pending,
    route::{NotifyId, Route, Routes, cull::is_culled},
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

    /// Begins to load a notify, or, if `now`, loads it; how far it has come.
    fn load(&mut self, id: NotifyId, tag: GameplayTag, now: bool) -> NotifyState;

    /// Whether an actor can play this cue at once; if not, one is on its way. A cue that was just fired asks for an instance of its own.
    fn has_actor(&mut self, id: NotifyId, context: &CueContext, is_new: bool) -> bool;

    /// Plays a cue: `tag` as it was fired, `of` the notify's.
    fn play(&mut self, id: NotifyId, event: CueEvent, tag: GameplayTag, context: CueContext);

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

/// Whether a cue can be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    Yes,
    NotYet,
    /// No notify is there, and none will be loaded.
    Never,
}

/// Routes cues to notifies, keeps those that wait, and plays them in order.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    pub routes: Routes,
    pub notifies: Vec<Known>,
    pub pending: Pending,
    pub active: ActiveCues,
    pub stats: CueStats,
    /// Kept for its memory.
    heads: BinaryHeap<Reverse<(u64, GameplayTag)>>,
}

impl Engine {
    /// From now on cues of its tag lead to this notify. Its id is the next one, or that of a notify that was removed.
    pub fn insert(&mut self, id: NotifyId, known: Known) {
        if let Some(former) = self.notifies.get(id.index()) {
            self.routes.remove(id, former.tag);
        }
        self.routes.insert(id, known.tag, known.overrides);
        match self.notifies.get_mut(id.index()) {
            Some(place) => *place = known,
            None => self.notifies.push(known),
        }
    }

    /// No cue leads to this notify any more. Who heard from it that something is active still hears that it ends.
    pub fn remove(&mut self, id: NotifyId) {
        if let Some(known) = self.notifies.get(id.index()) {
            self.routes.remove(id, known.tag);
        }
    }

    /// How far a notify has come.
    pub fn state(&self, id: NotifyId) -> NotifyState {
        self.notifies
            .get(id.index())
            .map(|known| known.state)
            .unwrap_or_default()
    }

    /// A notify has come so far. Cues that wait for it are played by the next [`replay`](Self::replay).
    pub fn set_state(&mut self, id: NotifyId, state: NotifyState) {
        if let Some(known) = self.notifies.get_mut(id.index()) {
            known.state = state;
        }
    }

    /// How many wait for this notify, among others perhaps.
    pub fn waiting_for(&mut self, id: NotifyId) -> usize {
        let tags: Vec<_> = self.pending.tags().map(|(_, tag)| tag).collect();
        let leads_here = |tag: &GameplayTag| self.routes.of(*tag).contains(&id);
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

    /// The notifies of a tag that somebody is near enough to notice.
    fn heard(&mut self, stage: &impl Stage, tag: GameplayTag, context: &CueContext) -> Heard {
        let route = self.routes.of(tag);
        if route.is_empty() {
            return Heard::Unknown;
        }
        let notifies = &self.notifies;
        let distance = |id: &NotifyId| notifies[id.index()].cull_distance;
        if route.iter().all(|id| distance(id).is_none()) {
            return Heard::By(route.clone());
        }
        let location = context.location.or_else(|| stage.location(context.target));
        let is_near = |id: &NotifyId| !is_culled(stage.listeners(), location, distance(id));
        let near: Route = route.iter().copied().filter(is_near).collect();
        if near.is_empty() {
            Heard::Culled
        } else {
            Heard::By(near)
        }
    }

    /// Whether these notifies can play a cue, all of them at once. What is missing is loaded, if it is to be.
    fn ready(
        &mut self,
        stage: &mut impl Stage,
        config: &CueConfig,
        heard: &Route,
        context: &CueContext,
        is_new: bool,
    ) -> Ready {
        let (mut is_missing, mut all_dropped) = (false, true);
        for &id in heard {
            let known = &mut self.notifies[id.index()];
            if matches!(known.state, NotifyState::Unloaded | NotifyState::Loading) {
                let missing = config.missing();
                match (missing, known.state) {
                    (Missing::Drop, _) => continue,
                    (Missing::Wait, NotifyState::Loading) => {}
                    _ => known.state = stage.load(id, known.tag, missing == Missing::LoadNow),
                }
            }
            all_dropped = false;
            is_missing |= match known.state {
                NotifyState::Unloaded | NotifyState::Loading => true,
                NotifyState::Loaded { is_actor, .. } => is_actor && !stage.has_actor(id, context, is_new),
                NotifyState::Failed => false,
            };
        }
        match (all_dropped, is_missing) {
            (true, _) => Ready::Never,
            (false, true) => Ready::NotYet,
            (false, false) => Ready::Yes,
        }
    }
}

enum Heard {
    By(Route),
    Culled,
    Unknown,
}

/// Whether an executed cue has waited too long.
fn is_expired(act: CueAct, at: Duration, now: Duration, config: &CueConfig) -> bool {
    act == CueAct::Execute && now.saturating_sub(at) > config.expire_after
}
