//! What becomes of an entity's effects: pure, of what it has, what is asked, and the time that has passed.

use core::time::Duration;

use bevy_asset::Assets;
use bevy_reflect::Reflect;
use smallvec::SmallVec;

use super::{
    ActiveEffect, AppliedModifier, BaseChange, Effect, EffectDuration, EffectId, EffectRefused, EffectSpec, Effects,
    OwnedTags, Restart, Timer, View,
    active::Given,
    output::{EffectInfo, Output, Outputs, Removal, origin},
    seconds::SHORTEST,
};
use crate::{Attributes, CueAct, GameplayTag, TagSet};

/// What an entity may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffectLimits {
    pub effects: usize,
    pub stacks: u32,
    /// Executions, ends of stacks, and abilities that begin by themselves, in one step.
    pub periods: u32,
}

/// An entity that has effects.
pub(crate) struct Bearer<'a> {
    pub effects: &'a mut Effects,
    pub tags: &'a mut OwnedTags,
    pub attributes: Option<&'a mut Attributes>,
    /// How much of the time that will pass in the next step has passed already for what begins now.
    pub ahead: Duration,
}

/// What applying an effect came to.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq)]
#[reflect(Clone, Debug, PartialEq)]
pub enum EffectOutcome {
    /// It was an instant one, and is over.
    Executed,
    /// It lasts.
    Started(EffectId),
    /// It was put to those that were there.
    Stacked(EffectId),
}

type Modifiers = SmallVec<[AppliedModifier; 2]>;

impl Bearer<'_> {
    /// To look at.
    pub fn view(&self) -> View<'_> {
        View {
            effects: self.effects,
            tags: self.tags,
            attributes: self.attributes.as_deref(),
        }
    }

    /// Applies an effect whose magnitudes are known.
    pub fn apply(
        &mut self,
        book: &Assets<Effect>,
        spec: &EffectSpec,
        modifiers: Modifiers,
        limits: EffectLimits,
        out: &mut Outputs,
    ) -> Result<EffectOutcome, EffectRefused> {
        let (effect, joined) = self.view().may_apply(book, spec, limits)?;
        // One that joins others is no reason to remove them.
        let joined = joined.map(|at| self.effects.active[at].id);
        if !effect.removes.is_empty() {
            let is_removed = |other: &Effect| other.is_any_of(&effect.removes);
            self.remove_where(book, Removal::Removed, out, |active, other| {
                Some(active.id) != joined && other.is_some_and(is_removed)
            });
        }
        if effect.is_instant() {
            self.execute_once(effect, spec, modifiers, out);
            self.settle(book, out);
            return Ok(EffectOutcome::Executed);
        }
        Ok(match joined {
            Some(id) => self.stack(book, effect, id, spec, modifiers, limits, out),
            None => self.start(book, effect, spec, modifiers, out),
        })
    }

    fn start(
        &mut self,
        book: &Assets<Effect>,
        effect: &Effect,
        spec: &EffectSpec,
        modifiers: Modifiers,
        out: &mut Outputs,
    ) -> EffectOutcome {
        let id = EffectId(self.effects.next);
        self.effects.next += 1;
        self.effects.active.push(ActiveEffect {
            id,
            spec: spec.clone(),
            modifiers,
            remaining: self.timer(full_time(effect)),
            to_period: self.timer(every(effect)),
            stacks: 1,
            given: None,
        });
        let at = self.effects.active.len() - 1;
        out.push(Output::Applied(EffectInfo::of_active(&self.effects.active[at])));
        if effect.works_if.are_met_by(self.tags) {
            self.begin(at, effect, out);
        }
        self.settle(book, out);
        if effect.period.is_some_and(|period| period.at_once) {
            self.execute(book, id, out);
        }
        EffectOutcome::Started(id)
    }

    fn stack(
        &mut self,
        book: &Assets<Effect>,
        effect: &Effect,
        id: EffectId,
        spec: &EffectSpec,
        modifiers: Modifiers,
        limits: EffectLimits,
        out: &mut Outputs,
    ) -> EffectOutcome {
        let outcome = EffectOutcome::Stacked(id);
        let (Some(at), Some(stacking)) = (self.effects.position(id), effect.stacking) else {
            return outcome;
        };
        let (remaining, to_period) = (self.timer(full_time(effect)), self.timer(every(effect)));
        let active = &mut self.effects.active[at];
        let old = active.stacks;
        active.stacks = (old + 1).min(stacking.limit).min(limits.stacks).max(old);
        active.spec = spec.clone();
        active.modifiers = modifiers;
        if stacking.duration == Restart::Restart {
            active.remaining = remaining;
        }
        if stacking.period == Restart::Restart {
            active.to_period = to_period;
        }
        out.push(Output::Stacked {
            info: EffectInfo::of_active(active),
            old,
        });
        self.settle(book, out);
        if effect
            .period
            .is_some_and(|period| period.at_once && stacking.period == Restart::Restart)
        {
            self.execute(book, id, out);
        }
        outcome
    }

    /// Removes an effect, or some stacks of it. Gives whether it was there.
    pub fn remove(&mut self, book: &Assets<Effect>, id: EffectId, stacks: Option<u32>, out: &mut Outputs) -> bool {
        let Some(at) = self.effects.position(id) else {
            return false;
        };
        let active = &mut self.effects.active[at];
        match stacks {
            Some(0) => return true,
            Some(stacks) if stacks < active.stacks => {
                let old = active.stacks;
                active.stacks -= stacks;
                out.push(Output::Stacked {
                    info: EffectInfo::of_active(active),
                    old,
                });
            }
            _ => self.take_out(at, Removal::Removed, out),
        }
        self.settle(book, out);
        true
    }

    /// Removes those that are, or give, a kind of one of these tags. Gives how many.
    pub fn remove_with(&mut self, book: &Assets<Effect>, tags: &TagSet, out: &mut Outputs) -> usize {
        let before = self.effects.len();
        self.remove_where(book, Removal::Removed, out, |_, effect| {
            effect.is_some_and(|effect| effect.is_any_of(tags))
        });
        self.settle(book, out);
        before - self.effects.len()
    }

    /// Removes all of them.
    pub fn clear(&mut self, out: &mut Outputs) {
        while !self.effects.is_empty() {
            self.take_out(0, Removal::Removed, out);
        }
        self.sum_up(out);
    }

    pub(super) fn remove_where(
        &mut self,
        book: &Assets<Effect>,
        why: Removal,
        out: &mut Outputs,
        is_it: impl Fn(&ActiveEffect, Option<&Effect>) -> bool,
    ) {
        let mut at = 0;
        while let Some(active) = self.effects.active.get(at) {
            match is_it(active, book.get(active.spec.effect.id())) {
                true => self.take_out(at, why, out),
                false => at += 1,
            }
        }
    }

    pub(super) fn take_out(&mut self, at: usize, why: Removal, out: &mut Outputs) {
        self.stop(at, out);
        let active = self.effects.active.remove(at);
        out.push(Output::Removed {
            info: EffectInfo::of_active(&active),
            why,
        });
    }

    /// Executes an effect that lasts, if it works.
    pub(super) fn execute(&mut self, book: &Assets<Effect>, id: EffectId, out: &mut Outputs) {
        let Some(active) = self.effects.get(id).filter(|active| !active.is_inhibited()) else {
            return;
        };
        let Some(effect) = book.get(active.spec.effect.id()) else {
            return;
        };
        let changes = change_bases(self.attributes.as_deref_mut(), &active.modifiers, active.stacks);
        let origin = origin(&active.spec, &active.modifiers, active.stacks);
        out.fire(&effect.cues.executed, CueAct::Execute, origin);
        let info = EffectInfo::of_active(active);
        out.push(Output::Periodic { info, changes });
    }

    fn execute_once(&mut self, effect: &Effect, spec: &EffectSpec, modifiers: Modifiers, out: &mut Outputs) {
        let changes = change_bases(self.attributes.as_deref_mut(), &modifiers, 1);
        out.fire(&effect.cues.executed, CueAct::Execute, origin(spec, &modifiers, 1));
        let info = EffectInfo {
            modifiers,
            ..EffectInfo::of(spec)
        };
        out.push(Output::Executed { info, changes });
    }

    /// An effect begins to work.
    pub(super) fn begin(&mut self, at: usize, effect: &Effect, out: &mut Outputs) {
        let active = &mut self.effects.active[at];
        self.tags.add_all(&effect.grants);
        let cues: SmallVec<[GameplayTag; 2]> = effect.cues.active.iter().copied().collect();
        let origin = origin(&active.spec, &active.modifiers, active.stacks);
        out.fire(&cues, CueAct::Add, origin);
        let tags = effect.grants.clone();
        active.given = Some(Given { tags, cues, origin });
    }

    /// An effect works no more.
    pub(super) fn stop(&mut self, at: usize, out: &mut Outputs) {
        if let Some(given) = self.effects.active[at].given.take() {
            self.tags.remove_all(&given.tags);
            out.fire(&given.cues, CueAct::Remove, given.origin);
        }
    }

    /// A timer that begins now.
    fn timer(&self, time: Option<Duration>) -> Option<Timer> {
        time.map(|time| Timer::new(time, self.ahead))
    }
}

/// Executes modifiers. Gives what came of it.
fn change_bases(
    attributes: Option<&mut Attributes>,
    modifiers: &[AppliedModifier],
    stacks: u32,
) -> SmallVec<[BaseChange; 2]> {
    let Some(attributes) = attributes else {
        return SmallVec::new();
    };
    let change = |modifier: &AppliedModifier| {
        let attribute = modifier.attribute;
        let old = attributes.base(attribute)?;
        attributes.change_base(attribute, modifier.operation, modifier.magnitude, stacks);
        let new = attributes.base(attribute)?;
        Some(BaseChange { attribute, old, new })
    };
    modifiers.iter().filter_map(change).collect()
}

/// How long an effect lasts from its beginning.
pub(super) fn full_time(effect: &Effect) -> Option<Duration> {
    match effect.duration {
        EffectDuration::For(time) => Some(time.max(SHORTEST)),
        // An instant one never lasts.
        EffectDuration::Instant | EffectDuration::Infinite => None,
    }
}

/// The time between two executions. A definition that nobody has checked must not stop the app.
pub(super) fn every(effect: &Effect) -> Option<Duration> {
    effect.period.map(|period| period.every.max(SHORTEST))
}
