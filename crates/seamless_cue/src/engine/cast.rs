//! Who plays what. See [`Cast`].

use smallvec::SmallVec;

use super::{Known, NotifyState, Stage};
use crate::{
    config::{CueConfig, Missing},
    cue::CueContext,
    route::{NotifyId, Route, Routes, cull::is_culled},
    tag::GameplayTag,
};

/// All notifies, what is known of them, and which cues lead to them.
#[derive(Debug, Default)]
pub(crate) struct Cast {
    pub routes: Routes,
    pub notifies: Vec<Known>,
}

/// Whether a cue can be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    Yes,
    NotYet,
    /// No notify is there, and none will be loaded.
    Never,
}

/// Who hears of a cue.
pub(super) enum Heard {
    By(Route),
    Culled,
    Unknown,
}

impl Cast {
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

    /// The notifies of a tag that somebody is near enough to notice.
    #[inline]
    pub(super) fn heard(&mut self, stage: &impl Stage, tag: GameplayTag, context: &CueContext) -> Heard {
        let route = self.routes.of(tag);
        if route.is_empty() {
            return Heard::Unknown;
        }
        let notifies = &self.notifies;
        let distance = |id: &NotifyId| notifies[id.index()].cull_distance;
        if route.iter().all(|id| distance(id).is_none()) {
            return Heard::By(SmallVec::from_slice(route));
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
    pub(super) fn ready(
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
            if known.state == NotifyState::Unloaded
                && let Some(found) = stage.find(id)
            {
                known.state = found;
            }
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
