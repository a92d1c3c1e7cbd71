//! How much a frame may do. Pure; see [`plan_frame`].

#[cfg(test)]
mod tests;

use core::time::Duration;

use super::budget::{budget_for, planned};

/// A frame is slow when it takes so much longer than it should: a little more is noise, or the display's own rate.
const SLOWER: f64 = 1.25;

/// Frames that say how long frames take at the moment.
const RECENT: usize = 8;

/// Part of what is known of the time that is no unit's that each frame renews.
const RENEWED: f64 = 0.1;

/// A frame counts no more than so many times as long as others, and so many seconds.
const LONG: f64 = 4.0;
const SHORT: f64 = 1e-4;

/// The time that is no unit's is taken for no more than this part of the budget.
const MOST_RESERVED: u32 = 4;

/// What decides about a frame's budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameInputs {
    /// The budget of settings.
    pub base: Duration,
    /// It grows to so many times as much, at most.
    pub boost: f32,
    /// It grows when a source arrives so soon.
    pub horizon: Duration,
    /// It shrinks to this part, at least.
    pub least: f32,
    /// What a frame should take.
    pub slow_frame: Duration,
    /// Seconds until something is needed that is not there.
    pub arrival: Option<f32>,
    /// What the work will take that the main thread could do now; what is [more than counts](enough_work) may be left out.
    pub ready: Duration,
    /// What frames have taken lately, streaming apart.
    pub recent_frame: Option<Duration>,
}

/// A frame's budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FramePlan {
    pub budget: Duration,
    /// More than the base, because something is needed soon.
    pub is_boosted: bool,
    /// Less than the base, because frames are slow.
    pub is_reduced: bool,
}

impl FramePlan {
    fn of(budget: Duration, base: Duration) -> Self {
        Self {
            budget,
            is_boosted: budget > base,
            is_reduced: budget < base,
        }
    }

    /// Whether a frame that took so long would have been too long without the boost.
    pub fn has_used_boost(&self, took: Duration, base: Duration) -> bool {
        self.is_boosted && took > base
    }
}

/// The budget of a frame: the base; more of it, as much as it takes, when work would not be done by the time that it is needed; less
/// when frames are slow anyway.
pub(super) fn plan_frame(inputs: &FrameInputs) -> FramePlan {
    let base = inputs.base;
    let boosted = needed(inputs).min(multiplied(base, inputs.boost));
    if boosted > base {
        return FramePlan::of(boosted, base);
    }
    let slowed = slowed(inputs);
    let budget = if slowed < 1.0 {
        multiplied(base, slowed).max(boosted.min(base))
    } else {
        base
    };
    FramePlan::of(budget, base)
}

/// What each frame would have to do until the arrival for all that is ready to be done by then; nothing if that is far away.
fn needed(inputs: &FrameInputs) -> Duration {
    let Some(frames) = frames_until_needed(inputs) else {
        return Duration::ZERO;
    };
    let each = inputs.ready.as_secs_f64() / frames;
    Duration::try_from_secs_f64(each).map_or(Duration::MAX, budget_for)
}

/// Frames until something is needed, one at least; none if that is far away, or not known.
fn frames_until_needed(inputs: &FrameInputs) -> Option<f64> {
    let is_soon = |arrival: &f32| *arrival < inputs.horizon.as_secs_f32();
    let arrival = inputs.arrival.filter(is_soon)?;
    // Slow frames are fewer.
    let frame = inputs.slow_frame.max(inputs.recent_frame.unwrap_or_default());
    let frame = frame.as_secs_f64().max(1e-3);
    Some((f64::from(arrival) / frame).max(1.0))
}

/// So much work that is ready has a frame do all that it may: however many levels wait, only so much of it has to be known.
pub(super) fn enough_work(inputs: &FrameInputs) -> Duration {
    let Some(frames) = frames_until_needed(inputs) else {
        return Duration::ZERO;
    };
    let most = planned(multiplied(inputs.base, inputs.boost).max(inputs.base)).as_secs_f64();
    // And what rounding takes from it.
    Duration::try_from_secs_f64(most * frames * 1.001).unwrap_or(Duration::MAX)
}

/// The part of the budget that is left where frames are slow.
fn slowed(inputs: &FrameInputs) -> f32 {
    let slow = inputs.slow_frame.as_secs_f64() * SLOWER;
    let part = inputs.recent_frame.map_or(1.0, |recent| slow / recent.as_secs_f64());
    // Neither a setting nor a clock that stands still makes it more than all.
    let least = inputs.least.clamp(0.0, 1.0);
    if part < 1.0 { (part as f32).max(least) } else { 1.0 }
}

/// What is none is once; without an end it is as long as a frame may last.
pub(crate) fn multiplied(time: Duration, by: f32) -> Duration {
    let seconds = time.as_secs_f64() * f64::from(by);
    let most = if seconds > 0.0 { Duration::MAX } else { time };
    Duration::try_from_secs_f64(seconds).unwrap_or(most)
}

/// How long frames take, streaming apart.
#[derive(Debug, Default)]
pub(super) struct Rhythm {
    recent: [Duration; RECENT],
    seen: usize,
    last: Option<Duration>,
}

impl Rhythm {
    /// A frame begins at `now`, since some beginning; the one before took `ours` for streaming.
    pub fn begin(&mut self, now: Duration, ours: Duration) {
        if let Some(last) = self.last.replace(now) {
            self.recent[self.seen % RECENT] = now.saturating_sub(last).saturating_sub(ours);
            self.seen += 1;
        }
    }

    /// The mean of recent frames, once there were enough.
    pub fn frame(&self) -> Option<Duration> {
        (self.seen >= RECENT).then(|| self.recent.iter().sum::<Duration>() / RECENT as u32)
    }
}

/// What streaming takes in a frame beside its units, once these may begin: gates are asked, states and counters told, and systems run after
/// the pipeline. None of it can wait, so it is left to them beforehand.
#[derive(Debug, Default)]
pub(super) struct Reserve {
    mean: f64,
    deviation: f64,
}

impl Reserve {
    pub fn learn(&mut self, took: Duration) {
        // One long frame, after a level of a hundred thousand has come, is forgotten soon.
        let most = (self.mean + self.deviation) * LONG + SHORT;
        let off = took.as_secs_f64().min(most) - self.mean;
        self.mean += off * RENEWED;
        self.deviation += (off.abs() - self.deviation) * RENEWED;
    }

    /// What to leave them of a budget.
    pub fn of(&self, budget: Duration) -> Duration {
        Duration::from_secs_f64(self.mean + self.deviation).min(budget / MOST_RESERVED)
    }
}
