//! Whether an ability could be used: looking only.

use bevy_ecs::entity::Entity;
use smallvec::SmallVec;

use super::{
    Abilities, Ability, AbilityId, AbilityRefused, Cost, GrantedAbility, WhileActive,
    actor::{ActorLimits, Books},
};
use crate::{
    Attributes, EffectRefused, EffectSpec, GameplayTag,
    effect::{View, modifiers_of},
};

/// An entity that can do something, to look at.
#[derive(Clone, Copy)]
pub(crate) struct ActorView<'a> {
    pub entity: Entity,
    pub body: View<'a>,
    pub abilities: &'a Abilities,
}

pub(super) type Costs = SmallVec<[(GameplayTag, f32); 2]>;

impl<'a> ActorView<'a> {
    pub fn find<'b>(
        self,
        books: Books<'b>,
        id: AbilityId,
    ) -> Result<(&'a GrantedAbility, &'b Ability), AbilityRefused> {
        let granted = self.abilities.get(id).ok_or(AbilityRefused::NotGranted)?;
        let ability = books.abilities.get(granted.spec.ability.id());
        Ok((granted, ability.ok_or(AbilityRefused::NotLoaded)?))
    }

    /// Whether an ability could be activated now.
    pub fn check(self, books: Books, id: AbilityId, limits: ActorLimits) -> Result<(), AbilityRefused> {
        let (granted, ability) = self.find(books, id)?;
        if granted.is_active() && ability.while_active == WhileActive::Refuse {
            return Err(AbilityRefused::Active);
        }
        let tags = self.body.tags;
        if let Some(tag) = tags.first_missing(&ability.activate_if.require) {
            return Err(AbilityRefused::MissingTag(tag));
        }
        let forbidden = tags.first_of(&ability.activate_if.forbid);
        if let Some(tag) = forbidden.or_else(|| tags.first_of(&ability.interrupted_by)) {
            return Err(AbilityRefused::ForbiddenTag(tag));
        }
        let blocks = |other: &&GrantedAbility| {
            let other_ability = books.abilities.get(other.spec.ability.id());
            other.id != id
                && other.is_active()
                && other_ability.is_some_and(|other| ability.tags.has_any(&other.blocks))
        };
        if let Some(other) = self.abilities.iter().find(blocks) {
            return Err(AbilityRefused::Blocked(other.id));
        }
        self.check_payment(books, granted, ability, limits).map(drop)
    }

    /// Whether an ability could be paid for now; what it costs.
    pub fn check_payment(
        self,
        books: Books,
        granted: &GrantedAbility,
        ability: &Ability,
        limits: ActorLimits,
    ) -> Result<Costs, AbilityRefused> {
        if let Some(running) = self.abilities.cooldown_of(granted.id, ability) {
            let remaining = running.remaining;
            return Err(AbilityRefused::Cooldown { remaining });
        }
        let spec = EffectSpec::default().level(granted.spec.level);
        let costs = ability.costs.iter().map(|cost| self.check_cost(cost, &spec));
        let costs = costs.collect::<Result<_, _>>()?;
        if let Some(spec) = self.cost_effect(granted, ability) {
            self.check_effect(books, &spec, limits)
                .map_err(AbilityRefused::CostEffect)?;
        }
        Ok(costs)
    }

    fn check_cost(self, cost: &Cost, spec: &EffectSpec) -> Result<(GameplayTag, f32), AbilityRefused> {
        let (attribute, own) = (cost.attribute, self.body.attributes);
        let amount = cost.amount.evaluate(spec, own, own)?.max(0.0);
        match own.and_then(|own| spendable(own, attribute)) {
            None if amount > 0.0 => Err(AbilityRefused::CostAttribute { attribute }),
            Some(available) if amount > available => Err(AbilityRefused::Cost {
                attribute,
                amount,
                available,
            }),
            _ => Ok((attribute, amount)),
        }
    }

    /// The effect that comes with the costs.
    pub fn cost_effect(self, granted: &GrantedAbility, ability: &Ability) -> Option<EffectSpec> {
        let effect = ability.cost_effect.clone()?;
        Some(EffectSpec::new(effect).level(granted.spec.level).from(self.entity))
    }

    fn check_effect(self, books: Books, spec: &EffectSpec, limits: ActorLimits) -> Result<(), EffectRefused> {
        let own = self.body.attributes;
        modifiers_of(books.effects, spec, own, own)?;
        self.body.may_apply(books.effects, spec, limits.effects).map(drop)
    }
}

/// What can be spent of an attribute without falling below its least value; passing modifiers cannot be spent.
fn spendable(attributes: &Attributes, name: GameplayTag) -> Option<f32> {
    let attribute = attributes.get(name)?;
    let least = attributes.least(name).unwrap_or_default();
    Some((attribute.base().min(attribute.current()) - least).max(0.0))
}
