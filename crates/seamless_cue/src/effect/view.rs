//! What of an entity decides about its effects, to look at only.

use bevy_asset::Assets;
use smallvec::SmallVec;

use super::{AppliedModifier, Effect, EffectLimits, EffectRefused, EffectSpec, Effects, OwnedTags, StackBy};
use crate::Attributes;

/// An entity that has effects, to look at.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub effects: &'a Effects,
    pub tags: &'a OwnedTags,
    pub attributes: Option<&'a Attributes>,
}

impl View<'_> {
    /// Whether an effect could be applied: its definition, and the place of the one that it is to be a stack of.
    pub fn may_apply<'b>(
        self,
        book: &'b Assets<Effect>,
        spec: &EffectSpec,
        limits: EffectLimits,
    ) -> Result<(&'b Effect, Option<usize>), EffectRefused> {
        let effect = book.get(spec.effect.id()).ok_or(EffectRefused::NotLoaded)?;
        if let Some(tag) = self.tags.first_missing(&effect.apply_if.require) {
            return Err(EffectRefused::MissingTag(tag));
        }
        if let Some(tag) = self.tags.first_of(&effect.apply_if.forbid) {
            return Err(EffectRefused::ForbiddenTag(tag));
        }
        let mut working = self.effects.iter().filter(|active| !active.is_inhibited());
        let blocks = working.find(|active| {
            let other = book.get(active.spec.effect.id());
            other.is_some_and(|other| effect.tags.has_any(&other.blocks))
        });
        if let Some(active) = blocks {
            return Err(EffectRefused::Blocked(active.id));
        }
        let joined = self.to_join(effect, spec);
        match joined.is_none() && !effect.is_instant() && self.effects.len() >= limits.effects {
            true => Err(EffectRefused::TooMany { limit: limits.effects }),
            false => Ok((effect, joined)),
        }
    }

    fn to_join(self, effect: &Effect, spec: &EffectSpec) -> Option<usize> {
        let by = effect.stacking?.by;
        self.effects.iter().position(|active| {
            active.spec.effect.id() == spec.effect.id() && (by == StackBy::Target || active.spec.source == spec.source)
        })
    }
}

/// What the modifiers of an effect do, between entities with these attributes.
pub(crate) fn modifiers_of(
    book: &Assets<Effect>,
    spec: &EffectSpec,
    source: Option<&Attributes>,
    target: Option<&Attributes>,
) -> Result<SmallVec<[AppliedModifier; 2]>, EffectRefused> {
    let effect = book.get(spec.effect.id()).ok_or(EffectRefused::NotLoaded)?;
    let modifiers = effect.modifiers.iter().map(|modifier| {
        let magnitude = modifier.magnitude.evaluate(spec, source, target)?;
        let (attribute, operation) = (modifier.attribute, modifier.operation);
        Ok::<_, EffectRefused>(AppliedModifier {
            attribute,
            operation,
            magnitude,
        })
    });
    modifiers.collect()
}
