//! Events about effects, for observers: on the entity that has the effect, or of all.

use bevy_ecs::{entity::Entity, event::EntityEvent, reflect::ReflectEvent, world::World};
use bevy_reflect::Reflect;
use smallvec::SmallVec;

use super::{
    EffectId,
    output::{BaseChange, EffectInfo, Output, Removal},
};
use crate::{AbilityCue, GameplayTag, MagnitudeError, ability::trigger_ability};

/// An effect that lasts has begun on an entity.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct EffectApplied {
    /// Who has it.
    pub entity: Entity,
    /// Which one.
    pub info: EffectInfo,
}

/// An instant effect was executed on an entity.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct EffectExecuted {
    /// On whom.
    pub entity: Entity,
    /// Which one.
    pub info: EffectInfo,
    /// What it has changed.
    pub changes: SmallVec<[BaseChange; 2]>,
}

/// An effect with a period was executed on the entity that has it.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct EffectPeriodic {
    /// Who has it.
    pub entity: Entity,
    /// Which one.
    pub info: EffectInfo,
    /// What it has changed.
    pub changes: SmallVec<[BaseChange; 2]>,
}

/// An effect was applied that was there already, or one of its stacks is over. At the limit the number stays as it is.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct EffectStacked {
    /// Who has it.
    pub entity: Entity,
    /// Which one, with the stacks that it has now.
    pub info: EffectInfo,
    /// The stacks that it had.
    pub old: u32,
}

/// An effect that has lasted is not there any more. Exactly one for each [`EffectApplied`], unless the entity is despawned.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct EffectRemoved {
    /// Who had it.
    pub entity: Entity,
    /// Which one, with the stacks that it had.
    pub info: EffectInfo,
    /// Why.
    pub why: Removal,
}

/// An effect that lasts works no more, or works again, because of tags; see [`Effect::works_if`](crate::Effect::works_if).
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct EffectInhibited {
    /// Who has it.
    pub entity: Entity,
    /// Which one.
    pub info: EffectInfo,
    /// Whether it does nothing now.
    pub is_inhibited: bool,
}

/// Why an effect was not applied.
#[derive(Reflect, Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[reflect(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EffectRefused {
    /// The entity is not there, or cannot be affected.
    #[error("the target is not there, or has no `Effects`; insert that component")]
    NoTarget,
    /// Its definition is not in `Assets`.
    #[error("the effect is not loaded; load it before, or refer to it from the ability that applies it")]
    NotLoaded,
    /// The target has not this tag.
    #[error("the target is not `{0}`")]
    MissingTag(GameplayTag),
    /// The target has this tag.
    #[error("the target is `{0}`")]
    ForbiddenTag(GameplayTag),
    /// An effect that the target has keeps it away.
    #[error("the target's effect {0:?} blocks it")]
    Blocked(EffectId),
    /// There is no room for it.
    #[error("the target has {limit} effects; raise `AbilityPlugin::max_effects` if so many are meant")]
    TooMany {
        /// How many there may be.
        limit: usize,
    },
    /// Observers answer each other without end, and have not heard of so much that has happened.
    #[error(
        "observers are still to hear of {untold} things that have happened; does one of them apply an effect whenever one is applied?"
    )]
    Untold {
        /// How many.
        untold: usize,
    },
    /// How much a modifier does is not known.
    #[error(transparent)]
    Magnitude(#[from] MagnitudeError),
}

/// An effect that was to be applied by a command was refused.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct EffectRejected {
    /// The target. It may be gone.
    pub entity: Entity,
    /// The effect.
    pub info: EffectInfo,
    /// Why.
    pub refused: EffectRefused,
}

/// Tells observers of something.
pub(crate) fn trigger(entity: Entity, output: Output, world: &mut World) {
    match output {
        Output::Applied(info) => world.trigger(EffectApplied { entity, info }),
        Output::Executed { info, changes } => world.trigger(EffectExecuted { entity, info, changes }),
        Output::Periodic { info, changes } => world.trigger(EffectPeriodic { entity, info, changes }),
        Output::Stacked { info, old } => world.trigger(EffectStacked { entity, info, old }),
        Output::Removed { info, why } => world.trigger(EffectRemoved { entity, info, why }),
        Output::Inhibited { info, is_inhibited } => world.trigger(EffectInhibited {
            entity,
            info,
            is_inhibited,
        }),
        Output::Cue { tag, kind, origin } => world.trigger(AbilityCue {
            target: entity,
            tag,
            kind,
            origin,
        }),
        Output::Rejected { info, refused } => world.trigger(EffectRejected { entity, info, refused }),
        Output::Ability(output) => trigger_ability(entity, output, world),
    }
}
