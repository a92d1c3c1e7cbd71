//! How urgent levels are, who is left out at the cap, and what is another target than before.

use super::{Asker, Selector};
use crate::select::{LevelTarget, MAX_SOURCE_PRIORITY, Presence, SourceInput, VolumeInput, VolumeMode};

/// What being wanted already is worth at the cap.
const INCUMBENT: f32 = 1.25;
/// What a volume that only loads counts beside one that shows.
const LOAD_WEIGHT: f32 = 0.5;

/// A level, and how urgent it is.
#[derive(Copy, Clone, Debug)]
pub(super) struct Candidate {
    level: u32,
    rank: f32,
}

impl Selector {
    /// Leaves out what is beyond the cap.
    pub(super) fn cap(&mut self, most: usize) {
        let is_over = self.asked.members().len() - self.failed > most;
        if !is_over && self.plan.dropped == 0 {
            return;
        }
        self.ranked.clear();
        for &level in self.asked.members() {
            let Some(slot) = self.levels.get(level as usize).filter(|slot| slot.takes_place()) else {
                continue;
            };
            let is_there = slot.target != LevelTarget::Unloaded;
            let factor = if is_there { INCUMBENT } else { 1.0 };
            let rank = self.priority(level) * factor;
            self.ranked.push(Candidate { level, rank });
        }
        if is_over {
            self.ranked.sort_unstable_by(most_urgent_first);
        }
        self.plan.dropped = self.ranked.len().saturating_sub(most);
        for (place, candidate) in self.ranked.iter().enumerate() {
            if let Some(slot) = self.levels.get_mut(candidate.level as usize) {
                slot.is_cut = place >= most;
                // Whoever was cut or is cut now may be told something else.
                self.requests.mark(candidate.level);
            }
        }
    }

    /// Lists what is another target than before.
    pub(super) fn compare(&mut self) {
        self.ranked.clear();
        for place in 0..self.requests.dirty().len() {
            let Some(&level) = self.requests.dirty().get(place) else {
                continue;
            };
            let priority = self.priority(level);
            let Some(slot) = self.levels.get_mut(level as usize) else {
                continue;
            };
            slot.is_cut &= slot.takes_place();
            let target = if slot.is_cut { LevelTarget::Unloaded } else { slot.asked };
            let was = core::mem::replace(&mut slot.target, target);
            if target > was {
                slot.told = priority;
                self.ranked.push(Candidate { level, rank: priority });
            } else if target < was {
                self.plan.fall.push((level, target));
                self.forget_failure(level, target);
            }
        }
        self.requests.clear_dirty();
        self.plan.fall.sort_unstable();
        self.ranked.sort_unstable_by(most_urgent_first);
        let levels = &self.levels;
        let risen = self.ranked.iter().filter_map(|candidate| {
            let slot = levels.get(candidate.level as usize)?;
            Some((candidate.level, slot.target))
        });
        self.plan.rise.extend(risen);
    }

    /// A level that failed may be tried again when it is wanted anew.
    fn forget_failure(&mut self, level: u32, target: LevelTarget) {
        if target == LevelTarget::Unloaded && self.presence(level) == Presence::Failed {
            self.set_presence(level, Presence::Away);
        }
    }

    /// How much one of those who ask for a level wants it.
    pub(super) fn score(&self, asker: Asker) -> f32 {
        match asker {
            Asker::Request(key) => {
                let request = self.explicit.get(key as usize).copied().flatten();
                request.map_or(0.0, |request| request.priority)
            }
            Asker::Volume(volume) => {
                let Some(Some(slot)) = self.volumes.get(volume as usize) else {
                    return 0.0;
                };
                let scores = self.sources.iter().map(|source| score(source, &slot.input));
                scores.fold(0.0, f32::max)
            }
        }
    }
}

/// How much a volume wants its levels for a source; nothing for one that is outside of the margin.
fn score(source: &SourceInput, volume: &VolumeInput) -> f32 {
    let distance = volume.shape.signed_distance(source.position);
    let is_near = distance <= 0.0 || distance <= volume.unload_margin;
    if !is_near {
        return 0.0;
    }
    let importance = (source.priority * volume.priority).clamp(0.0, MAX_SOURCE_PRIORITY);
    let weight = if volume.mode == VolumeMode::Load {
        LOAD_WEIGHT
    } else {
        1.0
    };
    importance * weight / (1.0 + volume.shape.center_distance(source.position))
}

fn most_urgent_first(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.rank.total_cmp(&a.rank).then(a.level.cmp(&b.level))
}
