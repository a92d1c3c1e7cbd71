//! The way of a cue that is fired.

use core::time::Duration;

use super::{Engine, Heard, NotifyState, Ready, Stage};
use crate::{
    active::Active,
    config::CueConfig,
    cue::{CueAct, CueContext, CueEvent, CueKey},
    pending::Waiting,
    route::Route,
    tag::GameplayTag,
};

impl Engine {
    /// Something happens: it is played, waits, or is dropped and counted.
    pub fn fire(
        &mut self,
        stage: &mut impl Stage,
        config: &CueConfig,
        now: Duration,
        act: CueAct,
        tag: GameplayTag,
        context: CueContext,
    ) {
        self.stats.fired += 1;
        if !stage.is_alive(context.target) {
            self.stats.dead += 1;
        } else if act == CueAct::Remove {
            self.end(stage, now, tag, context);
        } else if let Some(queue) = stage.translate(tag, &context) {
            let at = now;
            self.begin(
                stage,
                config,
                Waiting {
                    context,
                    tag,
                    queue,
                    at,
                    act,
                },
            );
        } else {
            self.stats.suppressed += 1;
        }
    }

    fn begin(&mut self, stage: &mut impl Stage, config: &CueConfig, mut cue: Waiting) {
        if cue.act.is_add()
            && let Some(active) = self.active.get_mut(&cue.key())
        {
            // Whatever the target's translations are by now: behind what waits of it, and to those who play it.
            cue.queue = active.queue;
        }
        let heard = match self.heard(stage, cue.queue, &cue.context) {
            Heard::By(heard) => heard,
            Heard::Culled => {
                self.stats.culled += 1;
                return;
            }
            Heard::Unknown => {
                self.stats.unknown += 1;
                stage.unknown(cue.tag);
                return;
            }
        };
        let ready = self.ready(stage, config, &heard, &cue.context, true);
        if ready == Ready::Never {
            self.stats.ignored += 1;
            return;
        }
        let must_wait = ready == Ready::NotYet || self.pending.has(cue.queue);
        let has_no_room = must_wait && self.pending.len() >= config.max_waiting;
        if has_no_room || (cue.act.is_add() && !self.note_add(&cue, config)) {
            self.stats.refused += 1;
        } else if must_wait {
            self.defer(cue);
        } else {
            self.play(stage, cue, &heard);
        }
    }

    fn defer(&mut self, cue: Waiting) {
        self.pending.push(cue);
        self.stats.deferred += 1;
        self.stats.waiting_peak = self.stats.waiting_peak.max(self.pending.len() as u64);
    }

    /// Something lasts from now on, or still; `false`: there is no room.
    fn note_add(&mut self, cue: &Waiting, config: &CueConfig) -> bool {
        let key = cue.key();
        if let Some(active) = self.active.get_mut(&key) {
            active.adds += 1;
            return true;
        }
        if self.active.len() >= config.max_active {
            return false;
        }
        self.active.insert(Active {
            key,
            queue: cue.queue,
            adds: 1,
            is_ending: false,
            played: Route::new(),
        });
        true
    }

    /// A cue that lasts ends, once all its adds are answered.
    fn end(&mut self, stage: &mut impl Stage, now: Duration, tag: GameplayTag, context: CueContext) {
        let key = context.key(tag);
        let Some(active) = self.active.get_mut(&key).filter(|active| active.adds > 0) else {
            self.stats.vain_removals += 1;
            return;
        };
        active.adds -= 1;
        if active.adds > 0 {
            self.stats.repeated += 1;
            return;
        }
        let (queue, has_played, is_ending) = (active.queue, !active.played.is_empty(), active.is_ending);
        self.stats.cancelled += self.pending.cancel_adds(&key) as u64;
        if is_ending {
            // The add behind a removal that waits is gone, and so is this one.
            self.stats.vain_removals += 1;
        } else if !has_played {
            self.active.remove(&key);
            self.stats.vain_removals += 1;
        } else if self.pending.has(queue) {
            active_ends(self.active.get_mut(&key));
            self.defer(Waiting {
                context,
                tag,
                queue,
                at: now,
                act: CueAct::Remove,
            });
        } else {
            self.play_end(stage, &key, context);
        }
    }

    /// Tells all who have heard that a cue is active that it is not any more.
    pub(super) fn play_end(&mut self, stage: &mut impl Stage, key: &CueKey, context: CueContext) {
        let Some(active) = self.active.get_mut(key) else {
            self.stats.dead += 1;
            return;
        };
        let played = core::mem::take(&mut active.played);
        active.is_ending = false;
        if active.adds == 0 {
            self.active.remove(key);
        }
        self.stats.played += 1;
        for id in played {
            stage.play(id, CueEvent::Removed, key.tag, context.clone());
        }
    }

    /// Plays a cue that is no removal.
    pub(super) fn play(&mut self, stage: &mut impl Stage, cue: Waiting, heard: &Route) {
        if cue.act.is_add() {
            return self.play_add(stage, cue, heard);
        }
        let is_loaded = |id: &&_| matches!(self.state(**id), NotifyState::Loaded { .. });
        let mut loaded = heard.iter().filter(is_loaded);
        let Some(mut id) = loaded.next() else {
            self.stats.failed += 1;
            return;
        };
        for next in loaded {
            stage.play(*id, CueEvent::Executed, cue.tag, cue.context.clone());
            id = next;
        }
        // The last one, mostly the only one, gets the context itself.
        stage.play(*id, CueEvent::Executed, cue.tag, cue.context);
        self.stats.played += 1;
    }

    fn play_add(&mut self, stage: &mut impl Stage, cue: Waiting, heard: &Route) {
        let mut plays = Route::new();
        let (mut has_loaded, key) = (false, cue.key());
        let Some(active) = self.active.get_mut(&key) else {
            self.stats.dead += 1;
            return;
        };
        for &id in heard {
            if let NotifyState::Loaded { allow_multiple, .. } = self.notifies[id.index()].state {
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
        for id in plays {
            if cue.act == CueAct::Add {
                stage.play(id, CueEvent::OnActive, cue.tag, cue.context.clone());
            }
            stage.play(id, CueEvent::WhileActive, cue.tag, cue.context.clone());
        }
    }
}

fn active_ends(active: Option<&mut Active>) {
    if let Some(active) = active {
        active.is_ending = true;
    }
}
