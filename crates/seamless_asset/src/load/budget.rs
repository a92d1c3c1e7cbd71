//! Decides what still fits into a frame. Pure, but for the clock of [`FrameBudget::watch`].

#[cfg(test)]
mod tests;

use core::time::Duration;

use bevy_platform::time::Instant;

use super::cost::UnitKind;

/// Part of a budget that is planned with, at most; the rest absorbs what estimates miss.
const MOST_PLANNED: f64 = 0.75;

/// The same of a small one. However small it is, the system takes the core away for a while, and caches are cold.
const LEAST_PLANNED: f64 = 0.5;

/// So much of a budget is never planned with, because of that, as long as it is no more than that part of it.
const UNPLANNED: Duration = Duration::from_micros(400);

/// What is planned with of a budget, or of what is left of one.
pub(super) fn planned(budget: Duration) -> Duration {
    let small = budget.mul_f64(LEAST_PLANNED);
    let large = budget.mul_f64(MOST_PLANNED);
    budget.saturating_sub(UNPLANNED).clamp(small, large)
}

/// The budget with which so much is planned.
pub(super) fn budget_for(planned: Duration) -> Duration {
    let by = |part: f64| Duration::try_from_secs_f64(planned.as_secs_f64() / part).unwrap_or(Duration::MAX);
    // As much as all of the three limits call for.
    let even = planned.saturating_add(UNPLANNED);
    even.clamp(by(MOST_PLANNED), by(LEAST_PLANNED))
}

/// A unit that takes more than this part of what is planned with is a large one.
const LARGE: f64 = 0.25;

/// What can wait takes no more than this part of what is planned with: a frame that is not filled to the brim has room for what takes
/// longer than thought.
const SPARE: f64 = 0.4;

/// Where frames have no time for streaming, it has this part of what it would plan with all the same: else a level of thousands would come by one slice a
/// frame.
const LEAST_ROOM: u32 = 8;

/// After so many such frames in a row: one alone has much to do, and the next has time again.
const MOST_STARVED: u32 = 8;

/// After so many frames in which what streaming has to do anyway left too little for any unit, one starts all the same.
const MOST_IDLE: u32 = 1;

/// What is left of the memory of a roomy frame with each frame that has less.
const REMEMBERED: f64 = 0.75;

/// What fits no frame waits for one that has this part of the room that there is at best.
const ROOMY: f64 = 0.8;

/// What takes more than so many times that room is not waited with: it would be over the budget by much in any frame.
const FAR_TOO_LARGE: u32 = 2;

/// A unit that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Booked {
    pub took: Duration,
    pub kind: UnitKind,
    pub name: String,
}

impl Booked {
    /// The one that took longer.
    pub fn longer(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        [a, b].into_iter().flatten().max_by_key(|booked| booked.took)
    }
}

/// What frames before this one had room for, and what they put off.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// The room that frames have at their best: what fits none of them has nothing to wait for. Where streaming has more to do anyway
    /// than its budget holds, as in a debug build, no frame has any.
    most: Duration,
    /// Frames in a row in which something was put off, and nothing done.
    idle: u32,
    /// Frames in a row without the least room.
    starved: u32,
}

impl Patience {
    /// A frame is over.
    pub fn learn(&mut self, frame: &FrameBudget) {
        // A frame in which nobody asked for anything says nothing: who was put off may ask in every second one.
        if frame.units > 0 {
            self.idle = 0;
        } else if frame.has_refused {
            self.idle += 1;
        }
    }

    /// Frames in a row, up to the last, in which something was put off, and nothing done.
    pub fn idle(&self) -> u32 {
        self.idle
    }
}

/// What is left of one frame.
#[derive(Debug)]
pub(super) struct FrameBudget {
    all: Duration,
    /// What was gone before units began, and is no unit's.
    gone: Duration,
    /// What units may take together.
    room: Duration,
    /// What they might take in one of the next frames.
    most: Duration,
    spent: Duration,
    booked: Duration,
    /// Since when all time is spent, once the clock is watched.
    since: Option<Instant>,
    largest: Option<Booked>,
    units: u32,
    is_lifted: bool,
    /// Something was put off to a later frame.
    has_refused: bool,
    /// Whether so much was put off already that the first unit starts, fitting or not.
    is_overdue: bool,
}

impl FrameBudget {
    /// A frame with `budget`, none of which is gone.
    pub fn new(budget: Duration) -> Self {
        let room = planned(budget);
        Self {
            all: budget,
            gone: Duration::ZERO,
            room,
            most: room,
            spent: Duration::ZERO,
            booked: Duration::ZERO,
            since: None,
            largest: None,
            units: 0,
            is_lifted: false,
            has_refused: false,
            is_overdue: false,
        }
    }

    /// A frame without a limit.
    pub fn unlimited() -> Self {
        Self::new(Duration::MAX)
    }

    /// Units begin that have to fit: `elapsed` is gone, what some have taken anyway included, and `reserved` will go.
    pub fn begin_units(&mut self, elapsed: Duration, reserved: Duration, others: &mut Patience) {
        self.gone = elapsed.saturating_sub(self.spent);
        // What is gone is certain.
        let left = self.all.saturating_sub(self.gone + reserved);
        self.room = planned(left);
        others.starved = if self.room < self.least_room() {
            others.starved + 1
        } else {
            0
        };
        if others.starved > MOST_STARVED {
            self.room = self.least_room();
        }
        // A budget that was lowered holds for what it was before, too.
        others.most = self.room.max(others.most.mul_f64(REMEMBERED)).min(planned(self.all));
        self.most = others.most;
        self.is_overdue = others.idle >= MOST_IDLE;
    }

    /// From now on, what lies before a unit and behind the last one is spent as well: with a thousand small ones, that is more than they take by
    /// themselves.
    pub fn watch(&mut self) {
        self.since = Instant::now().checked_sub(self.spent);
    }

    fn least_room(&self) -> Duration {
        planned(self.all) / LEAST_ROOM
    }

    fn look_at_clock(&mut self) {
        if let Some(since) = self.since {
            self.spent = self.spent.max(since.elapsed());
        }
    }

    /// Whether a unit may start: it fits, or it fits no frame and this one is still without any, and has about as much room as there is.
    pub fn allows(&mut self, estimate: Duration) -> bool {
        let room = self.room;
        self.fits(estimate, room)
    }

    /// Whether a unit may start that can wait: it fits into a part of what is planned with.
    pub fn has_spare(&mut self, estimate: Duration) -> bool {
        let room = self.room.mul_f64(SPARE);
        self.fits(estimate, room)
    }

    fn fits(&mut self, estimate: Duration, room: Duration) -> bool {
        let is_first = self.units == 0 && (self.is_overdue || self.is_oversize(estimate));
        let may = self.is_lifted || is_first || self.spent.saturating_add(estimate) <= room;
        self.has_refused |= !may;
        may
    }

    /// Whether a unit fits no frame, and has nothing to wait for.
    fn is_oversize(&self, estimate: Duration) -> bool {
        let is_roomy = self.room >= self.most.mul_f64(ROOMY);
        estimate > self.most && (is_roomy || estimate > self.most.saturating_mul(FAR_TOO_LARGE))
    }

    /// Whether a unit takes so much of a frame that it is better done in slices. What is much smaller fits a frame even when it takes
    /// a few times as long as it is thought to.
    pub fn is_large(&self, estimate: Duration) -> bool {
        !self.is_lifted && estimate > self.room.max(self.least_room()).mul_f64(LARGE)
    }

    /// Lifts the limit, because memory is short, or puts it back. What is done meanwhile is booked all the same.
    pub fn lift(&mut self, is_lifted: bool) {
        self.is_lifted = is_lifted;
    }

    pub fn is_lifted(&self) -> bool {
        self.is_lifted
    }

    /// For the names of units that are done without a limit.
    pub fn why_without_limit(&self) -> &'static str {
        if self.is_lifted {
            ", at once, because memory is over its ceiling"
        } else {
            ""
        }
    }

    /// Books a unit.
    pub fn book(&mut self, kind: UnitKind, took: Duration, name: impl FnOnce() -> String) {
        self.spent += took;
        self.booked += took;
        self.look_at_clock();
        self.units += 1;
        if self.largest.as_ref().is_none_or(|largest| took > largest.took) {
            let name = name();
            self.largest = Some(Booked { took, kind, name });
        }
    }

    /// Whether units have taken all that was planned with.
    pub fn is_full(&self) -> bool {
        self.spent > self.room
    }

    /// What is known of the frame by itself: what was gone before units began, and these, with what lies between them.
    pub fn known(&self) -> Duration {
        self.gone + self.spent
    }

    /// What units have taken, without what lay between them.
    pub fn of_units(&self) -> Duration {
        self.booked
    }

    /// The unit that took longest.
    pub fn largest(self) -> Option<Booked> {
        self.largest
    }
}
