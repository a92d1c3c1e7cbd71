//! A frame's budget, and its account. See [`Pipeline::begin_frame`].

#[cfg(test)]
mod tests;

use core::{mem, time::Duration};
use std::borrow::Cow;

use bevy_ecs::prelude::*;
use bevy_platform::time::Instant;

use super::{Pipeline, sliced::SLICE};
use crate::{
    load::{
        budget::{Booked, FrameBudget, Patience},
        cost::UnitKind,
        frame::{FrameInputs, FramePlan, Reserve, Rhythm, enough_work, plan_frame},
        instance::Phase,
        packages::PackageStatus,
    },
    settings::{OVERRUNS_KEPT, Overrun, Piece, StreamingClock, StreamingSettings, StreamingStats},
    time::StreamingTime,
    urgency::StreamingUrgency,
};

/// What is known of frames, from one to the next.
pub(super) struct Frames {
    start: Instant,
    rhythm: Rhythm,
    reserve: Reserve,
    patience: Patience,
    /// What [`idle`](Self::idle) was when it was last asked whose frame it is.
    last_idle: u32,
    /// That of the frame that is under way.
    plan: Option<FramePlan>,
    /// What of this frame's streaming work is known by itself: what came before units began, and these, with what lies between them.
    known: Duration,
    /// The unit of this frame's work that took longest, and what all of them took.
    units: (Option<Booked>, Duration),
}

impl Default for Frames {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            rhythm: Rhythm::default(),
            reserve: Reserve::default(),
            patience: Patience::default(),
            last_idle: 0,
            plan: None,
            known: Duration::ZERO,
            units: (None, Duration::ZERO),
        }
    }
}

impl Frames {
    /// Frames in a row, up to the last, in which something was put off, and nothing done.
    pub fn idle(&self) -> u32 {
        self.patience.idle()
    }

    /// Whether this frame is for what the last one had no room for: all that can wait for the next one waits. Never twice in a row, and not again before something was
    /// done: who waited may have gone.
    pub fn gives_way(&mut self) -> bool {
        let idle = self.idle();
        mem::replace(&mut self.last_idle, idle) == 0 && idle > 0
    }

    /// Units were done: the longest of them, and what all took.
    pub fn note(&mut self, longest: Option<Booked>, took: Duration) {
        self.units.0 = Booked::longer(self.units.0.take(), longest);
        self.units.1 += took;
    }
}

impl Pipeline {
    /// Decides what this frame may do.
    pub(super) fn begin_frame(&mut self, world: &World, settings: &StreamingSettings) -> FrameBudget {
        self.frame += 1;
        self.gate_clock.tick(world.resource::<StreamingTime>());
        let ours = world.resource::<StreamingStats>().last_frame;
        self.frames.rhythm.begin(self.frames.start.elapsed(), ours);
        let urgency = world.resource::<StreamingUrgency>();
        let mut inputs = FrameInputs {
            base: settings.budget,
            boost: settings.boost,
            horizon: settings.boost_horizon,
            least: settings.least,
            slow_frame: settings.slow_frame,
            arrival: urgency.arrival,
            ready: Duration::ZERO,
            recent_frame: self.frames.rhythm.frame(),
        };
        inputs.ready = self.ready_work(enough_work(&inputs));
        let plan = plan_frame(&inputs);
        self.frames.plan = Some(plan);
        FrameBudget::new(plan.budget)
    }

    /// What has to be done anyway is done, and has taken `elapsed`, with what came before the pipeline: the rest is for units.
    pub(super) fn begin_units(&mut self, elapsed: Duration, budget: &mut FrameBudget) {
        let frames = &mut self.frames;
        let planned = frames.plan.map_or(Duration::ZERO, |plan| plan.budget);
        budget.begin_units(elapsed, frames.reserve.of(planned), &mut frames.patience);
        budget.watch();
    }

    /// What the work will take that could be done now, as soon as it is enough.
    fn ready_work(&mut self, enough: Duration) -> Duration {
        if enough.is_zero() {
            return Duration::ZERO;
        }
        self.look_at_coming();
        let coming = self
            .coming
            .ready
            .iter()
            .filter_map(|place| self.instances.get(&place.id));
        let levels = coming.map(|instance| match &instance.phase {
            Phase::Staged(level) => self.costs.of(UnitKind::Reveal, level.level.entities.len() as u64),
            Phase::Spawning(spawn) => {
                let (left, all) = (spawn.left() as u64, spawn.len() as u64);
                let spawned = self.costs.of_units(UnitKind::HiddenSpawn, left, SLICE as u64);
                spawned + self.costs.of(UnitKind::RevealSliced, all)
            }
            Phase::Hidden { members, .. } => self.costs.of(UnitKind::Show, members.entities.len() as u64),
            _ => Duration::ZERO,
        });
        let packages = self.packages.index().inserting.iter();
        let queues = packages.filter_map(|path| match &self.packages.get(path)?.status {
            PackageStatus::Inserting(queue) => Some(queue),
            _ => None,
        });
        let assets = queues
            .flatten()
            .map(|asset| self.costs.of(asset.cost_key(), asset.bytes));
        let mut sum = Duration::ZERO;
        for work in levels.chain(assets) {
            sum = sum.saturating_add(work);
            if sum >= enough {
                break;
            }
        }
        sum
    }

    /// No unit of this frame is left to do. What they took.
    pub(super) fn end_frame(&mut self, budget: FrameBudget) -> Duration {
        self.frames.known = budget.known();
        self.frames.patience.learn(&budget);
        let took = budget.of_units();
        self.frames.note(budget.largest(), took);
        took
    }
}

/// Closes the frame's account: what the streaming work took, and whether that was too long.
pub(crate) fn roll_frame(
    clock: Res<StreamingClock>,
    settings: Res<StreamingSettings>,
    mut pipeline: ResMut<Pipeline>,
    mut stats: ResMut<StreamingStats>,
) {
    let (took, piece) = clock.restart();
    let frames = &mut pipeline.frames;
    let (unit, units) = mem::take(&mut frames.units);
    let known = mem::take(&mut frames.known);
    frames.reserve.learn(took.saturating_sub(known));
    let plan = frames.plan.take();
    let budget = plan.map_or(settings.budget, |plan| plan.budget);
    if took > budget {
        let overrun = Overrun {
            frame: stats.frame,
            took,
            budget,
            kind: unit.as_ref().map(|unit| unit.kind),
            what: spent_on(unit, units, piece),
        };
        note_overrun(&mut stats, overrun);
    }
    stats.budget_last = budget;
    stats.boosted += u64::from(plan.is_some_and(|plan| plan.has_used_boost(took, settings.budget)));
    stats.reduced += u64::from(plan.is_some_and(|plan| plan.is_reduced));
    stats.last_frame = took;
    stats.frame += 1;
}

fn note_overrun(stats: &mut StreamingStats, overrun: Overrun) {
    stats.overrun_count += 1;
    // A long session forgets its first ones.
    if stats.overruns.len() >= OVERRUNS_KEPT {
        stats.overruns.remove(0);
    }
    stats.overruns.push(overrun);
}

/// What most of a frame was spent on: its longest unit of work, behind what is no unit and took longer than all of them. Nothing is allocated
/// where there was no unit: a frame at rest has an overrun when the machine halts its thread.
fn spent_on(unit: Option<Booked>, units: Duration, piece: Piece) -> Cow<'static, str> {
    match unit {
        None => Cow::Borrowed(piece.what),
        Some(unit) if units >= piece.took => Cow::Owned(named(unit)),
        Some(unit) => {
            let took = piece.took.as_secs_f64() * 1e3;
            Cow::Owned(format!("{}, {took:.2} ms; {}", piece.what, named(unit)))
        }
    }
}

/// A unit of work with what it took, in words.
fn named(unit: Booked) -> String {
    format!("{}, {:.2} ms", unit.name, unit.took.as_secs_f64() * 1e3)
}
