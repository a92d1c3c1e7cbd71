//! What becomes of an entity's effects: pure, of what it has, what is asked, and the time that has passed.

use core::time::Duration;

use bevy_asset::Assets;
use smallvec::SmallVec;

use super::{
    ActiveEffect, Effect, EffectDuration, EffectId, EffectRefused, EffectSpec, Effects, Expiry, OwnedTags, Restart,
    StackBy,
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
    /// Executions of its effects in one step.
    pub periods: u32,
}

/// An entity that has effects.
pub(crate) struct Bearer<'a> {
    pub effects: &'a mut Effects,
    pub tags: &'a mut OwnedTags,
    pub attributes: Option<&'a mut Attributes>,
}

/// What applying an effect came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectOutcome {
    /// It was an instant one, and is over.
    Executed,
    /// It lasts.
    Started(EffectId),
    /// It was put to those that were there.
    Stacked(EffectId),
}

/// How often tags that inhibit each other are looked at before it is left at that.
const MAX_ROUNDS: usize = 8;

impl Bearer<'_> {
    /// Applies an effect whose magnitudes are known.
    pub fn apply(
        &mut self,
        book: &Assets<Effect>,
        spec: &EffectSpec,
        magnitudes: SmallVec<[f32; 2]>,
        limits: EffectLimits,
        out: &mut Outputs,
    ) -> Result<EffectOutcome, EffectRefused> {
        let effect = book.get(spec.effect.id()).ok_or(EffectRefused::NotLoaded)?;
        self.check(book, effect)?;
        let joined = self.to_join(effect, spec);
        if joined.is_none() && !effect.is_instant() && self.effects.len() >= limits.effects {
            return Err(EffectRefused::TooMany { limit: limits.effects });
        }
        // One that joins others is no reason to remove them.
        let joined = joined.map(|at| self.effects.active[at].id);
        if !effect.removes.is_empty() {
            let is_removed = |other: &Effect| other.is_any_of(&effect.removes);
            self.remove_where(book, Removal::Removed, out, |active, other| {
                Some(active.id) != joined && other.is_some_and(is_removed)
            });
        }
        if effect.is_instant() {
            self.execute_once(effect, spec, &magnitudes, out);
            self.settle(book, out);
            return Ok(EffectOutcome::Executed);
        }
        Ok(match joined {
            Some(id) => self.stack(book, effect, id, spec, magnitudes, limits, out),
            None => self.start(book, effect, spec, magnitudes, out),
        })
    }

    fn check(&self, book: &Assets<Effect>, effect: &Effect) -> Result<(), EffectRefused> {
        if let Some(tag) = self.tags.first_missing(&effect.apply_if.require) {
            return Err(EffectRefused::MissingTag(tag));
        }
        if let Some(tag) = self.tags.first_of(&effect.apply_if.forbid) {
            return Err(EffectRefused::ForbiddenTag(tag));
        }
        let mut working = self.effects.active.iter().filter(|active| !active.is_inhibited());
        let blocks = |active: &&ActiveEffect| {
            let other = book.get(active.spec.effect.id());
            other.is_some_and(|other| effect.tags.has_any(&other.blocks))
        };
        match working.find(blocks) {
            Some(active) => Err(EffectRefused::Blocked(active.id)),
            None => Ok(()),
        }
    }

    /// The effect that this one is to be a stack of.
    fn to_join(&self, effect: &Effect, spec: &EffectSpec) -> Option<usize> {
        let by = effect.stacking?.by;
        let mut active = self.effects.active.iter();
        active.position(|active| {
            active.spec.effect.id() == spec.effect.id() && (by == StackBy::Target || active.spec.source == spec.source)
        })
    }

    fn start(
        &mut self,
        book: &Assets<Effect>,
        effect: &Effect,
        spec: &EffectSpec,
        magnitudes: SmallVec<[f32; 2]>,
        out: &mut Outputs,
    ) -> EffectOutcome {
        let id = EffectId(self.effects.next);
        self.effects.next += 1;
        self.effects.active.push(ActiveEffect {
            id,
            spec: spec.clone(),
            magnitudes,
            remaining: full_time(effect),
            to_period: effect.period.map(|period| period.every),
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
        magnitudes: SmallVec<[f32; 2]>,
        limits: EffectLimits,
        out: &mut Outputs,
    ) -> EffectOutcome {
        let outcome = EffectOutcome::Stacked(id);
        let (Some(at), Some(stacking)) = (self.effects.position(id), effect.stacking) else {
            return outcome;
        };
        let active = &mut self.effects.active[at];
        let old = active.stacks;
        active.stacks = (old + 1).min(stacking.limit).min(limits.stacks).max(old);
        active.spec = spec.clone();
        active.magnitudes = magnitudes;
        if stacking.duration == Restart::Restart {
            active.remaining = full_time(effect);
        }
        if stacking.period == Restart::Restart {
            active.to_period = effect.period.map(|period| period.every);
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

    fn remove_where(
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

    fn take_out(&mut self, at: usize, why: Removal, out: &mut Outputs) {
        self.stop(at, out);
        let active = self.effects.active.remove(at);
        out.push(Output::Removed {
            info: EffectInfo::of_active(&active),
            why,
        });
    }

    /// Time passes: executions and ends of all effects in the order of their times, so that it does not matter in how many steps it passes.
    /// At one moment, effects have their turn as they were applied, each execution before an end.
    pub fn tick(&mut self, book: &Assets<Effect>, mut passed: Duration, limits: EffectLimits, out: &mut Outputs) {
        self.remove_where(book, Removal::Gone, out, |_, effect| effect.is_none());
        // Tags may have changed since, too.
        self.settle(book, out);
        let mut executed = 0;
        loop {
            let next = self.effects.active.iter().filter_map(ActiveEffect::next_turn).min();
            let step = next.unwrap_or(Duration::MAX).min(passed);
            passed -= step;
            for active in &mut self.effects.active {
                active.pass(step);
            }
            // Only what takes its turn now can be due; it never is right after it.
            while let Some(at) = self.effects.active.iter().position(ActiveEffect::is_due) {
                self.take_turn(book, at, &mut executed, limits, out);
            }
            if passed.is_zero() {
                return;
            }
        }
    }

    /// Executes an effect, or ends it.
    fn take_turn(
        &mut self,
        book: &Assets<Effect>,
        at: usize,
        executed: &mut u32,
        limits: EffectLimits,
        out: &mut Outputs,
    ) {
        let active = &mut self.effects.active[at];
        let Some(effect) = book.get(active.spec.effect.id()) else {
            self.take_out(at, Removal::Gone, out);
            return self.settle(book, out);
        };
        if active.to_period != Some(Duration::ZERO) {
            return self.expire(book, effect, at, out);
        }
        // Its definition may have been changed meanwhile.
        active.to_period = effect.period.map(|period| period.every.max(SHORTEST));
        if *executed >= limits.periods {
            out.periods_dropped += 1;
            return;
        }
        *executed += 1;
        let id = active.id;
        self.execute(book, id, out);
    }

    /// An effect's time is over.
    fn expire(&mut self, book: &Assets<Effect>, effect: &Effect, at: usize, out: &mut Outputs) {
        let active = &mut self.effects.active[at];
        let begins_anew = effect
            .stacking
            .is_some_and(|stacking| stacking.expires == Expiry::OneStack);
        match full_time(effect) {
            Some(time) if begins_anew && active.stacks > 1 => {
                let old = active.stacks;
                active.stacks -= 1;
                active.remaining = Some(time);
                out.push(Output::Stacked {
                    info: EffectInfo::of_active(active),
                    old,
                });
            }
            _ => self.take_out(at, Removal::Expired, out),
        }
        self.settle(book, out);
    }

    /// Executes an effect that lasts, if it works.
    fn execute(&mut self, book: &Assets<Effect>, id: EffectId, out: &mut Outputs) {
        let Some(active) = self.effects.get(id).filter(|active| !active.is_inhibited()) else {
            return;
        };
        let Some(effect) = book.get(active.spec.effect.id()) else {
            return;
        };
        let modifiers = effect.modifiers.iter().zip(&active.magnitudes);
        if let Some(attributes) = self.attributes.as_deref_mut() {
            for (modifier, magnitude) in modifiers {
                attributes.change_base(modifier.attribute, modifier.operation, *magnitude, active.stacks);
            }
        }
        let origin = origin(&active.spec, &active.magnitudes, active.stacks);
        out.fire(&effect.cues.executed, CueAct::Execute, origin);
        out.push(Output::Periodic(EffectInfo::of_active(active)));
    }

    fn execute_once(&mut self, effect: &Effect, spec: &EffectSpec, magnitudes: &[f32], out: &mut Outputs) {
        if let Some(attributes) = self.attributes.as_deref_mut() {
            for (modifier, magnitude) in effect.modifiers.iter().zip(magnitudes) {
                attributes.change_base(modifier.attribute, modifier.operation, *magnitude, 1);
            }
        }
        out.fire(&effect.cues.executed, CueAct::Execute, origin(spec, magnitudes, 1));
        out.push(Output::Executed(EffectInfo::of(spec)));
    }

    /// An effect begins to work.
    fn begin(&mut self, at: usize, effect: &Effect, out: &mut Outputs) {
        let active = &mut self.effects.active[at];
        self.tags.add_all(&effect.grants);
        let cues: SmallVec<[GameplayTag; 2]> = effect.cues.active.iter().copied().collect();
        let origin = origin(&active.spec, &active.magnitudes, active.stacks);
        out.fire(&cues, CueAct::Add, origin);
        let tags = effect.grants.clone();
        active.given = Some(Given { tags, cues, origin });
    }

    /// An effect works no more. Gives whether it did.
    fn stop(&mut self, at: usize, out: &mut Outputs) -> bool {
        let active = &mut self.effects.active[at];
        let Some(given) = active.given.take() else { return false };
        self.tags.remove_all(&given.tags);
        out.fire(&given.cues, CueAct::Remove, given.origin);
        true
    }

    /// Who works and who does not follows from the tags, and these from who works; then modifiers are summed up anew.
    fn settle(&mut self, book: &Assets<Effect>, out: &mut Outputs) {
        let mut rounds = 0;
        while self.settle_once(book, out) {
            rounds += 1;
            if rounds == MAX_ROUNDS {
                out.unsettled += 1;
                break;
            }
        }
        self.sum_up(book);
    }

    fn settle_once(&mut self, book: &Assets<Effect>, out: &mut Outputs) -> bool {
        let mut has_changed = false;
        for at in 0..self.effects.active.len() {
            let active = &self.effects.active[at];
            let Some(effect) = book.get(active.spec.effect.id()) else {
                continue;
            };
            let works = effect.works_if.are_met_by(self.tags);
            if works != active.is_inhibited() {
                continue;
            }
            has_changed = true;
            match works {
                true => self.begin(at, effect, out),
                false => {
                    self.stop(at, out);
                }
            }
            out.push(Output::Inhibited {
                info: EffectInfo::of_active(&self.effects.active[at]),
                is_inhibited: !works,
            });
        }
        has_changed
    }

    /// Modifiers of the effects that work, in the order in which they were applied.
    fn sum_up(&mut self, book: &Assets<Effect>) {
        let Some(attributes) = self.attributes.as_deref_mut() else {
            return;
        };
        attributes.clear_modifiers();
        for active in self.effects.active.iter().filter(|active| !active.is_inhibited()) {
            let effect = book.get(active.spec.effect.id());
            let Some(effect) = effect.filter(|effect| effect.is_lasting()) else {
                continue;
            };
            for (modifier, magnitude) in effect.modifiers.iter().zip(&active.magnitudes) {
                attributes.add_modifier(modifier.attribute, modifier.operation, *magnitude, active.stacks);
            }
        }
        attributes.recompute();
    }
}

/// How long an effect lasts from its beginning.
fn full_time(effect: &Effect) -> Option<Duration> {
    match effect.duration {
        EffectDuration::For(time) => Some(time.max(SHORTEST)),
        // An instant one never lasts.
        EffectDuration::Instant | EffectDuration::Infinite => None,
    }
}

/// How much the modifiers of an effect do, between entities with these attributes.
pub(crate) fn magnitudes_of(
    book: &Assets<Effect>,
    spec: &EffectSpec,
    source: Option<&Attributes>,
    target: Option<&Attributes>,
) -> Result<SmallVec<[f32; 2]>, EffectRefused> {
    let effect = book.get(spec.effect.id()).ok_or(EffectRefused::NotLoaded)?;
    let modifiers = effect.modifiers.iter();
    let magnitudes = modifiers.map(|modifier| modifier.magnitude.evaluate(spec, source, target));
    Ok(magnitudes.collect::<Result<_, _>>()?)
}
