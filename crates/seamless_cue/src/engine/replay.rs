//! The way of a cue that has waited.

use core::{cmp::Reverse, time::Duration};

use super::{Engine, Heard, Ready, Stage, is_expired};
use crate::{config::CueConfig, cue::CueAct, tag::GameplayTag};

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
        let Some((act, fired, at, context)) = self.pending.peek(tag) else {
            return Turn::Waits;
        };
        if !stage.is_alive(context.target) {
            self.stats.dead += 1;
        } else if is_expired(act, at, now, config) {
            self.stats.expired += 1;
        } else if act == CueAct::Remove {
            return self.replay_end(stage, now, tag);
        } else {
            let context = context.clone();
            match self.heard(stage, tag, &context) {
                Heard::Culled => self.stats.culled += 1,
                Heard::Unknown => {
                    self.stats.unknown += 1;
                    stage.unknown(fired);
                }
                Heard::By(heard) => match self.ready(stage, config, &heard, &context, false) {
                    Ready::NotYet => return Turn::Waits,
                    Ready::Never => self.stats.ignored += 1,
                    Ready::Yes => {
                        if let Some(cue) = self.pending.pop(tag) {
                            self.note_replay(stage, fired, now.saturating_sub(at));
                            self.play(stage, cue, &heard);
                        }
                        return Turn::Done;
                    }
                },
            }
        }
        self.pending.pop(tag);
        Turn::Done
    }

    fn replay_end(&mut self, stage: &mut impl Stage, now: Duration, tag: GameplayTag) -> Turn {
        if let Some(cue) = self.pending.pop(tag) {
            self.note_replay(stage, cue.tag, now.saturating_sub(cue.at));
            self.play_end(stage, &cue.key(), cue.context);
        }
        Turn::Done
    }

    fn note_replay(&mut self, stage: &mut impl Stage, tag: GameplayTag, waited: Duration) {
        self.stats.replayed += 1;
        self.stats.longest_wait = self.stats.longest_wait.max(waited);
        stage.late(tag, waited);
    }
}
