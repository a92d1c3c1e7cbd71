//! How urgent levels are, who is left out at the cap, and what is another target than before.

use bevy_math::Vec3;

use super::{Asker, Places, Selector, point_of};
use crate::{
    requests::RequestKind,
    select::{
        ALWAYS_PRIORITY, BLOCKING_PRIORITY, EXPLICIT_PRIORITY, LevelTarget, MAX_SOURCE_PRIORITY, Presence,
        SelectionLimits, SourceInput, VolumeInput, VolumeMode, probe::POINTS,
    },
    volume::VolumeShape,
};

/// What being wanted already is worth at the cap.
const INCUMBENT: f32 = 1.25;
/// What a volume that only loads counts beside one that shows.
const LOAD_WEIGHT: f32 = 0.5;
/// What counts at the cap for who is not there, beside who is: whatever somebody asks for who is there is more urgent.
const ABSENT: f32 = 1e-6;

/// What the distance to a volume's middle counts beside that to the volume: it tells those apart that somebody is in.
const MIDDLE: f32 = 0.1;

/// A level, and how urgent it is.
#[derive(Copy, Clone, Debug)]
pub(super) struct Candidate {
    level: u32,
    rank: f32,
}

impl Selector {
    /// Leaves out what is beyond the caps, as far as it is less urgent than what fits.
    pub(super) fn cap(&mut self, limits: &SelectionLimits) {
        let most = u128::from(limits.max_bytes.min(limits.room));
        let is_over = self.places.levels > limits.max_levels || self.places.bytes > most;
        if !is_over && self.plan.dropped == 0 && self.outs == 0 {
            return;
        }
        self.ranked.clear();
        for &level in self.asked.members() {
            let Some(slot) = self.levels.get(level as usize).filter(|slot| slot.takes_place()) else {
                continue;
            };
            let is_there = slot.target != LevelTarget::Unloaded;
            let rank = rank_at_cap(self.urgency(level, weight_at_cap), is_there);
            self.ranked.push(Candidate { level, rank });
        }
        if is_over {
            self.ranked.sort_unstable_by(most_urgent_first);
        }
        let (mut taken, mut has_first) = (Places::default(), false);
        self.plan.dropped = 0;
        for candidate in &self.ranked {
            let Some(slot) = self.levels.get_mut(candidate.level as usize) else {
                continue;
            };
            let bytes = taken.bytes + u128::from(slot.bytes);
            // Both come whatever room there is: what is essential, and the most urgent one beside it.
            let is_essential = candidate.rank >= EXPLICIT_PRIORITY;
            let is_first = !(has_first || slot.is_out || is_essential);
            has_first |= is_first;
            let has_room = bytes <= limits.room.into() || is_first || is_essential;
            let is_capped = taken.levels >= limits.max_levels || bytes > limits.max_bytes.into();
            // Somebody stands on it.
            let is_ground = (BLOCKING_PRIORITY..ALWAYS_PRIORITY).contains(&candidate.rank);
            let was_cut = slot.is_cut;
            let is_out = slot.is_out && !is_essential;
            slot.is_cut = !is_ground && (is_out || is_capped || !has_room);
            let is_changed = slot.is_cut != was_cut;
            if slot.is_cut {
                self.plan.dropped += 1;
            } else {
                taken.levels += 1;
                taken.bytes = bytes;
            }
            // Whose request has changed is looked at anyway.
            if is_changed {
                self.requests.mark(candidate.level);
            }
        }
    }

    /// All levels that are wanted and that no cap leaves out: how urgent each is at a cap, how many bytes it has, and whether it is
    /// [left out](Self::set_out) all the same.
    pub fn listed(&self) -> impl Iterator<Item = (u32, f32, u64, bool)> {
        let levels = self.asked.members().iter();
        levels.filter_map(|&level| {
            let slot = self.level(level)?;
            let is_listed = slot.takes_place() && (slot.is_out || !slot.is_cut);
            is_listed.then(|| (level, self.urgency(level, weight_at_cap), slot.bytes, slot.is_out))
        })
    }

    /// Lists what is another target than before.
    pub(super) fn compare(&mut self) {
        self.ranked.clear();
        for place in 0..self.requests.dirty().len() {
            let Some(&level) = self.requests.dirty().get(place) else {
                continue;
            };
            let Some(slot) = self.levels.get_mut(level as usize) else {
                continue;
            };
            slot.is_cut &= slot.takes_place();
            let target = if slot.is_cut { LevelTarget::Unloaded } else { slot.asked };
            let was = core::mem::replace(&mut slot.target, target);
            if target > was {
                let rank = self.priority(level);
                self.ranked.push(Candidate { level, rank });
                if let Some(slot) = self.levels.get_mut(level as usize) {
                    slot.told = rank;
                }
            } else if target < was {
                self.plan.fall.push((level, target));
                self.forget_failure(level, target);
            } else if self.presence(level) == Presence::There {
                self.tell_if_essential(level);
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

    /// What is there has no priority that changes with each step, but whether it may go for others has to be known.
    fn tell_if_essential(&mut self, level: u32) {
        let told = self.level(level).map_or(0.0, |slot| slot.told);
        let is_essential = |priority: f32| priority >= EXPLICIT_PRIORITY;
        let priority = self.priority(level);
        if is_essential(told) != is_essential(priority) {
            self.plan.priorities.push((level, priority));
        }
    }

    /// A level that failed may be tried again when it is wanted anew.
    fn forget_failure(&mut self, level: u32, target: LevelTarget) {
        let has_failed = matches!(self.presence(level), Presence::Failed | Presence::Waiting);
        if target == LevelTarget::Unloaded && has_failed {
            self.set_presence(level, Presence::Away);
        }
    }

    /// How much one of those who ask for a level wants it, by what each source counts.
    pub(super) fn score(&self, asker: Asker, weigh: impl Fn(&SourceInput) -> f32) -> f32 {
        match asker {
            Asker::Request(key) => {
                let request = self.explicit.get(key as usize).copied().flatten();
                // Who only hides it does not want it.
                let wish = request.filter(|request| request.kind != RequestKind::Hide);
                wish.map_or(0.0, |request| request.priority)
            }
            Asker::Volume(volume) => {
                let Some(Some(slot)) = self.volumes.get(volume as usize) else {
                    return 0.0;
                };
                let worths = self
                    .points_at(volume, &slot.input)
                    .chain(self.entries_into(volume, &slot.input));
                let worths = worths.map(|(source, time, at)| worth(source, weigh(source), &slot.input, (time, at)));
                worths.fold(0.0, f32::max)
            }
        }
    }

    /// The points that are in a volume or within its margin: their sources, when they are there, and where.
    fn points_at(&self, volume: u32, input: &VolumeInput) -> impl Iterator<Item = (&SourceInput, f32, Vec3)> {
        let points = or_all(self.contain.points(volume), self.sources.len() * POINTS);
        points.filter_map(move |point| {
            let (source, time, probe) = point_of(&self.sources, point)?;
            let is_near = probe.test(&input.shape, input.range, input.unload_margin).1;
            is_near.then_some((source, time, probe.at))
        })
    }

    /// The same of the points at which ways enter it.
    fn entries_into(&self, volume: u32, input: &VolumeInput) -> impl Iterator<Item = (&SourceInput, f32, Vec3)> {
        let sources = or_all(self.contain.ways(volume), self.sources.len());
        sources.filter_map(move |source| {
            let source = self.sources.get(source)?;
            let (time, at) = entry(source, &input.shape)?;
            Some((source, time, at))
        })
    }
}

/// These, or all if it is not known which.
fn or_all(known: Option<&[u32]>, all: usize) -> impl Iterator<Item = usize> {
    let rest = 0..if known.is_none() { all } else { 0 };
    let known = known.into_iter().flatten();
    known.map(|place| *place as usize).chain(rest)
}

impl SourceInput {
    /// Whether it is where no frame goes on without what a volume asks for.
    fn is_blocked_in(&self, volume: &VolumeInput) -> bool {
        let here = self.probe();
        here.asks.blocks && here.test(&volume.shape, volume.range, volume.unload_margin).0
    }
}

/// How urgent a level is at the cap by its urgency: nothing becomes essential by being there.
fn rank_at_cap(urgency: f32, is_there: bool) -> f32 {
    let rank = urgency * if is_there { INCUMBENT } else { 1.0 };
    if urgency < EXPLICIT_PRIORITY {
        rank.min(EXPLICIT_PRIORITY.next_down())
    } else {
        rank
    }
}

/// What a source counts at the cap: nobody loses what is there for a place to which somebody may come.
fn weight_at_cap(source: &SourceInput) -> f32 {
    if source.is_present {
        source.priority
    } else {
        source.priority.min(1.0) * ABSENT
    }
}

/// How much a volume wants its levels for a source that is somewhere after a time.
fn worth(source: &SourceInput, priority: f32, volume: &VolumeInput, (time, at): (f32, Vec3)) -> f32 {
    // Whatever the cap, nobody loses the ground below.
    if volume.mode == VolumeMode::BlockUntilLoaded && source.is_blocked_in(volume) {
        return BLOCKING_PRIORITY;
    }
    let importance = (priority * volume.priority).clamp(0.0, MAX_SOURCE_PRIORITY);
    let only_loads = volume.mode == VolumeMode::Load || source.target == LevelTarget::Loaded;
    let weight = if only_loads { LOAD_WEIGHT } else { 1.0 };
    let distance = seen_distance(source, &volume.shape, at);
    importance * weight / ((1.0 + distance) * (1.0 + time))
}

/// When and where a source comes into a volume, if that is as soon as it looks ahead.
pub(super) fn entry(source: &SourceInput, shape: &VolumeShape) -> Option<(f32, Vec3)> {
    if !source.looks_ahead() {
        return None;
    }
    let time = shape.entry_time(source.position, source.velocity)?;
    (time <= source.ahead).then(|| (time, source.position + source.velocity * time))
}

/// The distance to a volume, and a little of that to its middle; longer where the source does not look.
fn seen_distance(source: &SourceInput, shape: &VolumeShape, from: Vec3) -> f32 {
    let to_middle = shape.center_distance(from);
    // The ground that somebody stands on comes before the house over there, however far its middle is.
    let distance = shape.signed_distance(from).max(0.0) + to_middle * MIDDLE;
    let Some(look) = source.look.filter(|_| source.look_weight > 0.0) else {
        return distance;
    };
    let cos = (look.dot(shape.center_offset(from)) / to_middle).clamp(-1.0, 1.0);
    // Who is right in the middle looks nowhere else.
    if cos.is_nan() {
        distance
    } else {
        distance * (1.0 + source.look_weight * (1.0 - cos) * 0.5)
    }
}

fn most_urgent_first(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.rank.total_cmp(&a.rank).then(a.level.cmp(&b.level))
}
