//! Who works and who does not, because of tags; and what attributes are then.

use bevy_asset::Assets;

use super::{Bearer, Effect, EffectInfo, Output, Outputs, OwnedTags};
use crate::{GameplayTag, TagSet};

/// How often tags that depend on each other are looked at before it is found that they go in a circle.
const MOST_ROUNDS: usize = 64;

/// Who would work, tried out on a copy.
struct Trial {
    tags: OwnedTags,
    works: Vec<bool>,
}

impl Bearer<'_> {
    /// Who works and who does not follows from the tags, and these from who works; then modifiers are summed up anew.
    pub fn settle(&mut self, book: &Assets<Effect>, out: &mut Outputs) {
        if self.is_unsettled(book) {
            let works = self.who_works(book, out);
            for (at, works) in works.into_iter().enumerate() {
                self.let_work(book, at, works, out);
            }
        }
        self.sum_up(out);
    }

    /// Whether an effect works that may not, or the other way round.
    pub fn is_unsettled(&self, book: &Assets<Effect>) -> bool {
        self.effects.active.iter().any(|active| {
            let effect = book.get(active.spec.effect.id());
            effect.is_some_and(|effect| effect.works_if.are_met_by(self.tags) == active.is_inhibited())
        })
    }

    fn let_work(&mut self, book: &Assets<Effect>, at: usize, works: bool, out: &mut Outputs) {
        let active = &self.effects.active[at];
        let Some(effect) = book.get(active.spec.effect.id()) else {
            return;
        };
        if works != active.is_inhibited() {
            return;
        }
        match works {
            true => self.begin(at, effect, out),
            false => self.stop(at, out),
        }
        out.push(Output::Inhibited {
            info: EffectInfo::of_active(&self.effects.active[at]),
            is_inhibited: !works,
        });
    }

    /// Who works in the end. Where tags go in a circle there is no end: then those that come first are tried first, and of these nobody works
    /// against its tags, though some could that do not. That depends on nothing but the tags that others have given and the order in which effects
    /// were applied, so it stays as it is until one of these changes.
    fn who_works(&self, book: &Assets<Effect>, out: &mut Outputs) -> Vec<bool> {
        let mut trial = Trial {
            tags: self.tags.clone(),
            works: self.effects.iter().map(|active| !active.is_inhibited()).collect(),
        };
        let rounds = self.effects.len().saturating_add(1).min(MOST_ROUNDS);
        if (0..rounds).any(|_| self.turn_all(book, &mut trial, true).is_empty()) {
            return trial.works;
        }
        out.unsettled += 1;
        out.circle = (0..rounds)
            .flat_map(|_| self.turn_all(book, &mut trial, true))
            .collect();
        for at in 0..trial.works.len() {
            self.turn(book, &mut trial, at, false);
        }
        self.turn_all(book, &mut trial, true);
        while !self.turn_all(book, &mut trial, false).is_empty() {}
        trial.works
    }

    /// Lets each work that may, if `begin`, and none that may not. Gives the tags that have come or gone by that; without any, all is at rest.
    fn turn_all(&self, book: &Assets<Effect>, trial: &mut Trial, begin: bool) -> Vec<GameplayTag> {
        let mut turned = Vec::new();
        for at in 0..trial.works.len() {
            let Some(effect) = book.get(self.effects.active[at].spec.effect.id()) else {
                continue;
            };
            let works = effect.works_if.are_met_by(&trial.tags) && (begin || trial.works[at]);
            if works == trial.works[at] {
                continue;
            }
            let tags = self.turn(book, trial, at, works);
            turned.extend(tags.into_iter().flat_map(TagSet::iter));
        }
        turned
    }

    /// Gives the tags that the effect gives.
    fn turn<'b>(&'b self, book: &'b Assets<Effect>, trial: &mut Trial, at: usize, works: bool) -> Option<&'b TagSet> {
        let active = &self.effects.active[at];
        let tags = match &active.given {
            Some(given) => &given.tags,
            None => &book.get(active.spec.effect.id())?.grants,
        };
        if core::mem::replace(&mut trial.works[at], works) != works {
            match works {
                true => trial.tags.add_all(tags),
                false => trial.tags.remove_all(tags),
            }
        }
        Some(tags)
    }

    /// Modifiers of the effects that work, in the order in which they were applied.
    pub(super) fn sum_up(&mut self, out: &mut Outputs) {
        let Some(attributes) = self.attributes.as_deref_mut() else {
            return;
        };
        attributes.clear_modifiers();
        // One with a period changes bases, and adds nothing.
        let working = self.effects.iter().filter(|active| !active.is_inhibited());
        for active in working.filter(|active| active.to_period.is_none()) {
            for modifier in &active.modifiers {
                attributes.add_modifier(
                    modifier.attribute,
                    modifier.operation,
                    modifier.magnitude,
                    active.stacks,
                );
            }
        }
        out.has_new_values |= attributes.recompute();
    }
}
