//! The way of a cue that has waited.

use core::{cmp::Reverse, time::Duration};

use super::{
    Engine, Stage,
    cast::{Heard, Ready},
    is_expired,
};
use crate::{config::CueConfig, cue::CueAct, pending::Waiting, tag::GameplayTag};

/// What became of the first cue of a tag.
#[derive(PartialEq)]
enum Turn {
    /// It is gone, one way or another.
    Done,
    /// It still waits, and so does all behind it.
    Waits,
}

impl Engine {
    /// Plays what has waited and need not any more, in the order in which it was fired, until `has_time` says that the frame is full; it is asked
    /// after each. How many are done with.
    pub fn replay(
        &mut self,
        stage: &mut impl Stage,
        config: &CueConfig,
        now: Duration,
        mut has_time: impl FnMut() -> bool,
    ) -> usize {
        if self.pending.len() == 0 {
            return 0;
        }
        let mut heads = core::mem::take(&mut self.heads);
        heads.clear();
        heads.extend(self.pending.tags().map(Reverse));
        let mut done = 0;
        while let Some(Reverse((_, tag))) = heads.pop() {
            if self.turn(stage, config, now, tag) == Turn::Waits {
                continue;
            }
            stage.done();
            done += 1;
            heads.extend(self.pending.number(tag).map(|number| Reverse((number, tag))));
            if !has_time() {
                break;
            }
        }
        self.heads = heads;
        self.count();
        done
    }

    fn turn(&mut self, stage: &mut impl Stage, config: &CueConfig, now: Duration, tag: GameplayTag) -> Turn {
        let Some(first) = self.pending.peek(tag) else {
            return Turn::Waits;
        };
        let context = &first.context;
        if !stage.is_alive(context.target) {
            self.stats.dead += 1;
        } else if is_expired(first.act, first.at(), now, config) {
            self.stats.expired += 1;
        } else if first.act == CueAct::Remove {
            self.replay_end(stage, now, tag);
            return Turn::Done;
        } else {
            match self.cast.heard(stage, tag, context) {
                Heard::Culled => self.stats.culled += 1,
                Heard::Unknown => {
                    self.stats.unknown += 1;
                    stage.unknown(first.tag);
                }
                Heard::By(heard) => match self.cast.ready(stage, config, &heard, context, false) {
                    Ready::NotYet => return Turn::Waits,
                    Ready::Never => self.stats.ignored += 1,
                    Ready::Yes => {
                        if let Some(mut waiting) = self.take_first(tag) {
                            self.note_replay(stage, &waiting, now);
                            self.play(stage, waiting.cue(), &heard);
                        }
                        return Turn::Done;
                    }
                },
            }
        }
        self.take_first(tag);
        Turn::Done
    }

    fn take_first(&mut self, tag: GameplayTag) -> Option<Waiting> {
        let first = self.pending.pop(tag)?;
        if let Some(id) = first.of()
            && let Some(active) = self.active.at(id, &first.context.key(first.tag))
        {
            active.waiting.pop(&first);
        }
        Some(first)
    }

    fn replay_end(&mut self, stage: &mut impl Stage, now: Duration, tag: GameplayTag) {
        if let Some(mut waiting) = self.take_first(tag) {
            self.note_replay(stage, &waiting, now);
            let key = waiting.context.key(waiting.tag);
            self.play_end(stage, &key, &mut waiting.context);
        }
    }

    fn note_replay(&mut self, stage: &mut impl Stage, cue: &Waiting, now: Duration) {
        let waited = now.saturating_sub(cue.at());
        self.stats.replayed += 1;
        self.stats.longest_wait = self.stats.longest_wait.max(waited);
        stage.late(cue.tag, waited);
    }
}
