//! Decides what still fits into a frame. Pure; see [`FrameBudget`].

use core::time::Duration;

/// Part of the budget that is planned with; the rest absorbs what estimates miss.
const PLANNED: f64 = 0.5;

/// A unit that takes more than this part of what is planned with is a large one.
const LARGE: f64 = 0.25;

/// What can wait takes no more than this part of what is planned with: a frame that is not filled to the brim has room for what takes
/// longer than thought.
const SPARE: f64 = 0.4;

/// Units of fewer items say little about the time per item.
const FEW: u64 = 24;

/// The units of work that are estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Entities into the world.
    Reveal,
    /// Entities out of the world.
    Leave,
    /// Bytes into `Assets`.
    Insert,
    /// Entities compared with a new file, and changed.
    Reload,
    /// Entities into the world, hidden.
    Slice,
    /// Hidden entities that are seen for the first time.
    Unveil,
    /// Entities out of sight.
    Hide,
    /// Entities that are seen again.
    Show,
    /// Hidden entities out of the world.
    Sweep,
}

/// Time per item, learnt from what was measured.
#[derive(Debug, Clone)]
pub(super) struct Estimates {
    nanoseconds: [f64; 9],
}

impl Default for Estimates {
    /// Cautious first guesses: a microsecond an entity, two where it is compared, a few tenths where it only becomes visible or
    /// invisible, a nanosecond a byte.
    fn default() -> Self {
        Self {
            nanoseconds: [1000.0, 1000.0, 1.0, 2000.0, 1000.0, 300.0, 200.0, 300.0, 1000.0],
        }
    }
}

impl Estimates {
    pub fn of(&self, work: Work, items: u64) -> Duration {
        Duration::from_nanos((self.nanoseconds[work as usize] * items as f64) as u64)
    }

    /// Learns from one unit: quickly when it was slower than thought, slowly when it was faster.
    pub fn learn(&mut self, work: Work, items: u64, took: Duration) {
        if items < FEW {
            return;
        }
        let found = took.as_nanos() as f64 / items as f64;
        let known = &mut self.nanoseconds[work as usize];
        let weight = if found > *known { 0.25 } else { 0.1 };
        // A unit that was interrupted tells nothing about the work.
        *known += (found.min(*known * 4.0) - *known) * weight;
    }
}

/// What is left of one frame.
#[derive(Debug)]
pub(super) struct FrameBudget {
    planned: Duration,
    spent: Duration,
    largest: Option<(Duration, String)>,
    units: u32,
}

impl FrameBudget {
    /// A frame with `budget`, of which `spent` is gone.
    pub fn new(budget: Duration, spent: Duration) -> Self {
        Self {
            planned: budget.mul_f64(PLANNED),
            spent,
            largest: None,
            units: 0,
        }
    }

    /// Whether a unit may start: it fits, or it fits no frame and this one is still untouched.
    pub fn allows(&self, estimate: Duration) -> bool {
        self.spent + estimate <= self.planned || self.units == 0
    }

    /// Whether a unit may start that can wait: it fits into a part of what is planned with.
    pub fn has_spare(&self, estimate: Duration) -> bool {
        self.spent + estimate <= self.planned.mul_f64(SPARE) || self.units == 0
    }

    /// Whether a unit takes so much of a frame that it is better done in slices. What is much smaller fits a frame even when it takes
    /// a few times as long as it is thought to.
    pub fn is_large(&self, estimate: Duration) -> bool {
        estimate > self.planned.mul_f64(LARGE)
    }

    /// Books a unit.
    pub fn book(&mut self, took: Duration, name: impl FnOnce() -> String) {
        self.spent += took;
        self.units += 1;
        if self.largest.as_ref().is_none_or(|(largest, _)| took > *largest) {
            self.largest = Some((took, name()));
        }
    }

    /// The unit that took longest.
    pub fn largest(self) -> Option<(Duration, String)> {
        self.largest
    }
}
