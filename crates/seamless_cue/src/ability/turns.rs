//! Time passes for whoever can do something: effects, cooldowns and abilities, in the order of their times.

use core::time::Duration;

use smallvec::SmallVec;

use super::{
    AbilityEnd, AbilityId, ActivationPolicy, Aim,
    actor::{Actor, ActorLimits, Books},
};
use crate::{
    GameplayTag,
    effect::{Outputs, Step, Timer},
};

impl Actor<'_> {
    /// Time passes: everything that falls due has its turn in the order of its time, so that it does not matter in how many steps it passes. At one
    /// moment: effects, as they were applied; cooldowns; abilities that are interrupted, that end, and that begin by themselves.
    pub fn tick(&mut self, books: Books, passed: Duration, limits: ActorLimits, out: &mut Outputs) {
        let mut step = Step {
            rest: passed,
            budget: limits.effects.periods,
        };
        self.bearer.begin_step(books.effects, out);
        self.settle(books, out);
        loop {
            let time = self.next_turn(&step).map_or(step.rest, |time| time.min(step.rest));
            step.rest -= time;
            self.pass(books, time, &step, out);
            self.take_turns(books, limits, &mut step, out);
            if step.rest.is_zero() {
                return;
            }
        }
    }

    /// Interrupts abilities because of tags, and lets effects work or not. Each round ends an ability, or is the last one.
    pub fn settle(&mut self, books: Books, out: &mut Outputs) {
        loop {
            if self.bearer.is_unsettled(books.effects) {
                self.bearer.settle(books.effects, out);
            }
            let interrupted = self.interrupted(books);
            if interrupted.is_empty() {
                return;
            }
            for (id, tag) in interrupted {
                self.end(id, AbilityEnd::Interrupted(tag), out);
            }
        }
    }

    fn interrupted(&self, books: Books) -> SmallVec<[(AbilityId, GameplayTag); 4]> {
        let active = self.abilities.iter().filter(|granted| granted.is_active());
        let interrupted = active.filter_map(|granted| {
            let ability = books.abilities.get(granted.spec.ability.id())?;
            let tag = self.bearer.tags.first_of(&ability.interrupted_by)?;
            Some((granted.id, tag))
        });
        interrupted.collect()
    }

    fn next_turn(&self, step: &Step) -> Option<Duration> {
        let cooldowns = self.abilities.cooldowns().map(|running| running.until_over());
        let ends = self.abilities.iter().filter_map(|granted| {
            let remaining = granted.activity.as_ref()?.remaining;
            remaining.map(Timer::until_over)
        });
        cooldowns.chain(ends).chain(self.bearer.next_turn(step)).min()
    }

    fn pass(&mut self, books: Books, time: Duration, step: &Step, out: &mut Outputs) {
        self.bearer.pass(books.effects, time, step, out);
        for running in &mut self.abilities.cooldowns {
            running.pass(time);
        }
        for granted in &mut self.abilities.granted {
            let remaining = granted
                .activity
                .as_mut()
                .and_then(|activity| activity.remaining.as_mut());
            if let Some(remaining) = remaining {
                remaining.pass(time);
            }
        }
    }

    fn take_turns(&mut self, books: Books, limits: ActorLimits, step: &mut Step, out: &mut Outputs) {
        let told = out.list.len();
        self.bearer.take_turns(books.effects, step, out);
        self.end_cooldowns(|running| running.until_over().is_zero(), out);
        self.settle(books, out);
        self.end_due(out);
        // Something may have made way; and what was granted since the last step begins at the end of this one.
        if out.list.len() > told || step.rest.is_zero() {
            self.settle(books, out);
            self.begin_by_themselves(books, limits, step, out);
        }
    }

    fn end_due(&mut self, out: &mut Outputs) {
        for at in 0..self.abilities.granted.len() {
            let granted = &self.abilities.granted[at];
            let remaining = granted.activity.as_ref().and_then(|activity| activity.remaining);
            if remaining.is_some_and(Timer::is_over) {
                self.end(granted.id, AbilityEnd::Finished, out);
            }
        }
    }

    fn begin_by_themselves(&mut self, books: Books, limits: ActorLimits, step: &mut Step, out: &mut Outputs) {
        let told = out.list.len();
        for at in 0..self.abilities.granted.len() {
            let granted = &self.abilities.granted[at];
            let ability = books.abilities.get(granted.spec.ability.id());
            let begins = ability.is_some_and(|ability| ability.activation == ActivationPolicy::Always);
            if !begins || granted.is_active() || step.budget == 0 {
                continue;
            }
            // Where something stands against it, it tries again.
            if self.activate(books, granted.id, Aim::default(), limits, out).is_ok() {
                step.budget -= 1;
            }
        }
        if out.list.len() > told {
            self.settle(books, out);
        }
    }
}
