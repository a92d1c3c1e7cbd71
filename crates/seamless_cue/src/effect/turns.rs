//! Time passes for an entity's effects.

use core::time::Duration;

use bevy_asset::Assets;

use super::{
    ActiveEffect, Bearer, Effect, EffectInfo, Expiry, Output, Outputs, Removal, Timer,
    bearer::{every, full_time},
    timer::times,
};

/// What of a step is still to come.
pub(crate) struct Step {
    /// How much of its time.
    pub rest: Duration,
    /// How much may still happen; see [`EffectLimits::periods`](super::EffectLimits::periods).
    pub budget: u32,
}

impl ActiveEffect {
    /// What comes next: its execution, where it is to have one, or its end.
    fn next_turn(&self, executes: bool) -> Option<Duration> {
        let to_period = self.to_period.filter(|_| executes && !self.is_inhibited());
        let timers = [self.remaining, to_period].into_iter().flatten();
        timers.map(Timer::until_over).min()
    }

    fn is_due(&self) -> bool {
        [self.remaining, self.to_period]
            .into_iter()
            .flatten()
            .any(Timer::is_over)
    }
}

impl Bearer<'_> {
    /// Those whose definition is gone are gone; and tags may have changed since the last step.
    pub fn begin_step(&mut self, book: &Assets<Effect>, out: &mut Outputs) {
        self.remove_where(book, Removal::Gone, out, |_, effect| effect.is_none());
        self.settle(book, out);
    }

    /// The time to the next execution or end.
    pub fn next_turn(&self, step: &Step) -> Option<Duration> {
        let active = self.effects.iter();
        active.filter_map(|active| active.next_turn(step.budget > 0)).min()
    }

    /// Time passes, to the next turn at most. Executions of those that are inhibited just go by, and beyond the budget those of all.
    pub fn pass(&mut self, book: &Assets<Effect>, time: Duration, step: &Step, out: &mut Outputs) {
        for active in &mut self.effects.active {
            let goes_by = step.budget == 0 || active.is_inhibited();
            if let Some(remaining) = &mut active.remaining {
                remaining.pass(time);
            }
            let Some(to_period) = &mut active.to_period else {
                continue;
            };
            match book.get(active.spec.effect.id()).and_then(every) {
                Some(every) if goes_by => {
                    let missed = to_period.pass_again_and_again(time, every);
                    if active.given.is_some() {
                        out.periods_dropped += missed;
                    }
                }
                _ => to_period.pass(time),
            }
        }
    }

    /// What is due at this moment happens: effects as they were applied, an execution before an end.
    pub fn take_turns(&mut self, book: &Assets<Effect>, step: &mut Step, out: &mut Outputs) {
        // Only what takes its turn now can be due; it never is right after it.
        while let Some(at) = self.effects.active.iter().position(ActiveEffect::is_due) {
            self.take_turn(book, at, step, out);
        }
    }

    fn take_turn(&mut self, book: &Assets<Effect>, at: usize, step: &mut Step, out: &mut Outputs) {
        let active = &mut self.effects.active[at];
        let Some(effect) = book.get(active.spec.effect.id()) else {
            self.take_out(at, Removal::Gone, out);
            return self.settle(book, out);
        };
        if !active.to_period.is_some_and(Timer::is_over) {
            return self.expire(book, effect, at, step, out);
        }
        // Its definition may have been changed meanwhile.
        active.to_period = every(effect).map(|every| Timer::new(every, Duration::ZERO));
        if active.is_inhibited() {
            return;
        }
        let id = active.id;
        match step.budget.checked_sub(1) {
            None => out.periods_dropped += 1,
            Some(budget) => {
                step.budget = budget;
                self.execute(book, id, out);
            }
        }
    }

    /// An effect's time is over.
    fn expire(&mut self, book: &Assets<Effect>, effect: &Effect, at: usize, step: &mut Step, out: &mut Outputs) {
        let active = &mut self.effects.active[at];
        let old = active.stacks;
        let goes_on = effect.stacking.filter(|stacking| stacking.expires == Expiry::OneStack);
        let again = goes_on.and(full_time(effect)).and_then(|time| {
            // Beyond the budget, all stacks that would be over in the rest of the step are so at once.
            let over = match step.budget {
                0 => times(step.rest, time).saturating_add(1),
                _ => 1,
            };
            let stacks = old.checked_sub(over).filter(|stacks| *stacks > 0)?;
            Some((stacks, time.saturating_mul(over)))
        });
        match again {
            Some((stacks, time)) => {
                step.budget = step.budget.saturating_sub(1);
                active.stacks = stacks;
                active.remaining = Some(Timer::new(time, Duration::ZERO));
                out.push(Output::Stacked {
                    info: EffectInfo::of_active(active),
                    old,
                });
            }
            None => self.take_out(at, Removal::Expired, out),
        }
        self.settle(book, out);
    }
}
