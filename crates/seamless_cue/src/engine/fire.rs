//! The way of a cue that is fired.

use core::time::Duration;

use super::{
    Engine, NotifyState, Stage,
    cast::{Heard, Ready},
};
use crate::{
    active::{Active, ActiveId, KeyHash},
    config::CueConfig,
    cue::{CueAct, CueContext, CueEvent, CueKey, Told},
    pending::{Adds, Cue},
    route::{NotifyId, Route},
    tag::GameplayTag,
};

impl Engine {
    /// Something happens: it is played, waits, or is dropped and counted. Of its context is taken what is kept or given away.
    pub fn fire(
        &mut self,
        stage: &mut impl Stage,
        config: &CueConfig,
        now: Duration,
        act: CueAct,
        tag: GameplayTag,
        context: &mut CueContext,
    ) {
        self.stats.fired += 1;
        if !stage.is_alive(context.target) {
            self.stats.dead += 1;
        } else if act == CueAct::Remove {
            self.end(stage, now, tag, context);
        } else if let Some(queue) = stage.translate(tag, context) {
            let (at, of) = (now, None);
            let cue = Cue {
                context,
                tag,
                queue,
                at,
                act,
                of,
            };
            self.begin(stage, config, cue);
        } else {
            self.stats.suppressed += 1;
            if act.is_add() {
                let key = context.key(tag);
                self.note_add(self.active.find(&key), key, tag, config);
            }
        }
        stage.done();
    }

    fn begin(&mut self, stage: &mut impl Stage, config: &CueConfig, mut cue: Cue) {
        let is_add = cue.act.is_add();
        let key = cue.key();
        // What lasts is looked up once.
        let found = is_add.then(|| self.active.find(&key));
        if let Some(Ok(id)) = found
            && let Some(active) = self.active.at(id, &key)
        {
            // Whatever the target's translations are by now: behind what waits of it, and to those who play it.
            match active.is_silent() {
                true => active.queue = cue.queue,
                false => cue.queue = active.queue,
            }
        }
        let heard = match self.cast.heard(stage, cue.queue, cue.context) {
            Heard::By(heard) => heard,
            Heard::Culled => {
                self.stats.culled += 1;
                if let Some(found) = found {
                    self.note_add(found, key, cue.queue, config);
                }
                return;
            }
            Heard::Unknown => {
                self.stats.unknown += 1;
                stage.unknown(cue.tag);
                return;
            }
        };
        let ready = self.cast.ready(stage, config, &heard, cue.context, true);
        if ready == Ready::Never {
            self.stats.ignored += 1;
            return;
        }
        let must_wait = ready == Ready::NotYet || self.pending.has(cue.queue);
        if must_wait && self.pending.len() >= config.max_waiting {
            self.stats.refused += 1;
            return;
        }
        if let Some(found) = found {
            cue.of = self.note_add(found, key, cue.queue, config);
            if cue.of.is_none() {
                self.stats.refused += 1;
                return;
            }
        }
        if must_wait {
            self.defer(cue);
        } else {
            self.play(stage, cue, &heard);
        }
    }

    fn defer(&mut self, cue: Cue) {
        let key = cue.key();
        let adds = cue.of.and_then(|id| self.active.at(id, &key));
        self.pending.push(cue, adds.map(|active| &mut active.waiting));
        self.stats.deferred += 1;
        self.stats.waiting_peak = self.stats.waiting_peak.max(self.pending.len() as u64);
    }

    /// Something lasts from now on, or still, whether anybody plays it or not: its removal will come. None: there is no room.
    fn note_add(
        &mut self,
        found: Result<ActiveId, KeyHash>,
        key: CueKey,
        queue: GameplayTag,
        config: &CueConfig,
    ) -> Option<ActiveId> {
        match found {
            Ok(id) => {
                self.active.at(id, &key)?.adds += 1;
                Some(id)
            }
            Err(_) if self.active.len() >= config.max_active => None,
            Err(hash) => Some(self.active.insert(
                hash,
                Active {
                    key,
                    queue,
                    adds: 1,
                    is_ending: false,
                    waiting: Adds::default(),
                    played: Route::new(),
                },
            )),
        }
    }

    /// A cue that lasts ends, once all its adds are answered.
    fn end(&mut self, stage: &mut impl Stage, now: Duration, tag: GameplayTag, context: &mut CueContext) {
        let key = context.key(tag);
        let found = self.active.find(&key).ok();
        let active = found.and_then(|id| Some((id, self.active.at(id, &key)?)));
        let Some((id, active)) = active.filter(|(_, active)| active.adds > 0) else {
            self.stats.vain_removals += 1;
            return;
        };
        active.adds -= 1;
        if active.adds > 0 {
            self.stats.repeated += 1;
            return;
        }
        self.stats.cancelled += self.pending.cancel(&key, &mut active.waiting) as u64;
        if active.is_ending {
            // The add behind a removal that waits is gone, and so is this one.
            self.stats.vain_removals += 1;
        } else if active.played.is_empty() {
            self.active.remove(id, &key);
            self.stats.vain_removals += 1;
        } else if self.pending.has(active.queue) {
            active.is_ending = true;
            let queue = active.queue;
            self.defer(Cue {
                context,
                tag,
                queue,
                at: now,
                act: CueAct::Remove,
                of: None,
            });
        } else {
            self.play_end(stage, &key, context);
        }
    }

    /// Tells all who have heard that a cue is active that it is not any more.
    pub(super) fn play_end(&mut self, stage: &mut impl Stage, key: &CueKey, context: &mut CueContext) {
        let found = self.active.find(key).ok();
        let Some((id, active)) = found.and_then(|id| Some((id, self.active.at(id, key)?))) else {
            self.stats.dead += 1;
            return;
        };
        let played = core::mem::take(&mut active.played);
        active.is_ending = false;
        if active.adds == 0 {
            self.active.remove(id, key);
        }
        self.stats.played += 1;
        tell(stage, CueEvent::Removed, key.tag, context, &played);
    }

    /// Plays a cue that is no removal.
    pub(super) fn play(&mut self, stage: &mut impl Stage, cue: Cue, heard: &Route) {
        if let Some(id) = cue.of {
            return self.play_add(stage, id, cue, heard);
        }
        let cast = &self.cast;
        let is_loaded = |id: &NotifyId| matches!(cast.state(*id), NotifyState::Loaded { .. });
        match heard.split_last() {
            // Mostly there is one.
            Some((only, [])) if is_loaded(only) => {
                stage.play(*only, CueEvent::Executed, cue.tag, Told::Last(cue.context));
            }
            _ => {
                let loaded: Route = heard.iter().copied().filter(is_loaded).collect();
                if loaded.is_empty() {
                    self.stats.failed += 1;
                    return;
                }
                tell(stage, CueEvent::Executed, cue.tag, cue.context, &loaded);
            }
        }
        self.stats.played += 1;
    }

    fn play_add(&mut self, stage: &mut impl Stage, id: ActiveId, cue: Cue, heard: &Route) {
        let mut plays = Route::new();
        let (mut has_loaded, key) = (false, cue.key());
        let Some(active) = self.active.at(id, &key) else {
            self.stats.dead += 1;
            return;
        };
        for &id in heard {
            if let NotifyState::Loaded { allow_multiple, .. } = self.cast.state(id) {
                has_loaded = true;
                let is_first = !active.played.contains(&id);
                if is_first {
                    active.played.push(id);
                }
                if is_first || allow_multiple {
                    plays.push(id);
                }
            }
        }
        match (has_loaded, plays.is_empty()) {
            (false, _) => self.stats.failed += 1,
            (true, true) => self.stats.repeated += 1,
            (true, false) => self.stats.played += 1,
        }
        if cue.act == CueAct::Join {
            return tell(stage, CueEvent::WhileActive, cue.tag, cue.context, &plays);
        }
        for (at, id) in plays.iter().enumerate() {
            stage.play(*id, CueEvent::OnActive, cue.tag, Told::Again(cue.context));
            let told = match at + 1 == plays.len() {
                true => Told::Last(cue.context),
                false => Told::Again(cue.context),
            };
            stage.play(*id, CueEvent::WhileActive, cue.tag, told);
        }
    }
}

/// Has several notifies play the same; the last one gets the context itself.
fn tell(stage: &mut impl Stage, event: CueEvent, tag: GameplayTag, context: &mut CueContext, by: &[NotifyId]) {
    if let Some((last, others)) = by.split_last() {
        for id in others {
            stage.play(*id, event, tag, Told::Again(context));
        }
        stage.play(*last, event, tag, Told::Last(context));
    }
}
