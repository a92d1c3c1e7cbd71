//! Effects that an entity has. See [`Effects`].

use core::time::Duration;

use bevy_asset::AssetId;
use bevy_ecs::{
    component::Component,
    entity::{Entity, MapEntities},
    reflect::ReflectComponent,
};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use smallvec::SmallVec;

use super::{AppliedModifier, Effect, EffectSpec, OwnedTags, timer::Timer};
use crate::{CueOrigin, GameplayTag, TagSet, ability::leave};

/// Names an effect of an entity. Never used again for another one of that entity.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[reflect(Clone, Debug, PartialEq, Hash)]
pub struct EffectId(pub(crate) u64);

/// What an effect has given while it works, so that just this is taken away again.
#[derive(Reflect, MapEntities, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub(crate) struct Given {
    pub tags: TagSet,
    pub cues: SmallVec<[GameplayTag; 2]>,
    /// Whoever plays a cue finds it again by this, also where others have added stacks since.
    #[entities]
    pub origin: CueOrigin,
}

/// An effect that lasts, on an entity.
#[derive(Reflect, MapEntities, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct ActiveEffect {
    pub(crate) id: EffectId,
    #[entities]
    pub(crate) spec: EffectSpec,
    /// What it does to attributes; where its definition is changed meanwhile, it is as it was applied.
    pub(crate) modifiers: SmallVec<[AppliedModifier; 2]>,
    pub(crate) remaining: Option<Timer>,
    pub(crate) to_period: Option<Timer>,
    pub(crate) stacks: u32,
    /// While it works.
    #[entities]
    pub(crate) given: Option<Given>,
}

impl ActiveEffect {
    /// Names it.
    #[must_use]
    pub fn id(&self) -> EffectId {
        self.id
    }

    /// How it was applied, the last time if it is stacked.
    #[must_use]
    pub fn spec(&self) -> &EffectSpec {
        &self.spec
    }

    /// How long it still lasts; `None` if it has no end of its own.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.remaining.map(Timer::left)
    }

    /// The time to its next execution, if it has a period.
    #[must_use]
    pub fn to_period(&self) -> Option<Duration> {
        self.to_period.map(Timer::left)
    }

    /// What it does to attributes, with one stack.
    pub fn modifiers(&self) -> impl ExactSizeIterator<Item = &AppliedModifier> {
        self.modifiers.iter()
    }

    /// How often it is there.
    #[must_use]
    pub fn stacks(&self) -> u32 {
        self.stacks
    }

    /// Whether it is there and does nothing, because [`Effect::works_if`] is not so.
    #[must_use]
    pub fn is_inhibited(&self) -> bool {
        self.given.is_none()
    }
}

/// The effects that an entity has at the moment. Only who has this component can be affected; it brings [`OwnedTags`].
///
/// They change through [`EffectCommands`](crate::EffectCommands) and [`Gameplay`](crate::Gameplay). It counts as changed when an effect begins, is stacked,
/// executed, inhibited or over; that its time goes on is no change.
///
/// Who removes this component, or inserts another one in its place, removes the effects: what they have given is taken away, and observers hear that they
/// are [removed](crate::EffectRemoved). Only where the entity itself is despawned, nothing is told.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
#[require(OwnedTags)]
#[component(on_insert = leave::number_effects, on_despawn = leave::despawned, on_discard = leave::discard_effects)]
pub struct Effects {
    /// In the order in which they were applied.
    #[entities]
    pub(crate) active: Vec<ActiveEffect>,
    pub(crate) next: u64,
}

impl Effects {
    /// All of them, in the order in which they were applied.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ActiveEffect> {
        self.active.iter()
    }

    /// The one of this id.
    #[must_use]
    pub fn get(&self, id: EffectId) -> Option<&ActiveEffect> {
        self.position(id).map(|at| &self.active[at])
    }

    /// How many there are; stacks count as one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.active.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// How often an effect is there, its stacks counted; of `instigator` only, if one is said, and with `working` only where it is not
    /// inhibited.
    #[must_use]
    pub fn count(&self, effect: AssetId<Effect>, instigator: Option<Entity>, working: bool) -> u32 {
        let counts = |active: &&ActiveEffect| {
            active.spec.effect.id() == effect
                && (instigator.is_none() || active.spec.instigator == instigator)
                && !(working && active.is_inhibited())
        };
        self.active.iter().filter(counts).map(|active| active.stacks).sum()
    }

    pub(crate) fn position(&self, id: EffectId) -> Option<usize> {
        self.active.binary_search_by_key(&id, |active| active.id).ok()
    }
}
