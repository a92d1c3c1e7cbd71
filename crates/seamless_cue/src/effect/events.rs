//! Events about effects, for observers: on the entity that has the effect, or of all.

use bevy_ecs::{entity::Entity, event::EntityEvent, system::Commands};
use bevy_reflect::Reflect;

use super::{
    EffectId,
    output::{EffectInfo, Output, Removal},
};
use crate::{AbilityCue, GameplayTag, MagnitudeError, ability::tell_ability};

/// An effect that lasts has begun on an entity.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
pub struct EffectApplied {
    /// Who has it.
    pub entity: Entity,
    /// Which one.
    pub info: EffectInfo,
}

/// An instant effect was executed on an entity.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
pub struct EffectExecuted {
    /// On whom.
    pub entity: Entity,
    /// Which one.
    pub info: EffectInfo,
}

/// An effect with a period was executed on the entity that has it.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
pub struct EffectPeriodic {
    /// Who has it.
    pub entity: Entity,
    /// Which one.
    pub info: EffectInfo,
}

/// An effect was applied that was there already, or one of its stacks is over. At the limit the number stays as it is.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
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
    /// How much a modifier does is not known.
    #[error(transparent)]
    Magnitude(#[from] MagnitudeError),
}

/// An effect that was to be applied by a command was refused.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
pub struct EffectRejected {
    /// The target. It may be gone.
    pub entity: Entity,
    /// The effect.
    pub info: EffectInfo,
    /// Why.
    pub refused: EffectRefused,
}

/// Tells observers what came of a change.
pub(crate) fn tell(entity: Entity, outputs: impl IntoIterator<Item = Output>, commands: &mut Commands) {
    for output in outputs {
        match output {
            Output::Applied(info) => commands.trigger(EffectApplied { entity, info }),
            Output::Executed(info) => commands.trigger(EffectExecuted { entity, info }),
            Output::Periodic(info) => commands.trigger(EffectPeriodic { entity, info }),
            Output::Stacked { info, old } => commands.trigger(EffectStacked { entity, info, old }),
            Output::Removed { info, why } => commands.trigger(EffectRemoved { entity, info, why }),
            Output::Inhibited { info, is_inhibited } => commands.trigger(EffectInhibited {
                entity,
                info,
                is_inhibited,
            }),
            Output::Cue { tag, kind, origin } => commands.trigger(AbilityCue {
                target: entity,
                tag,
                kind,
                origin,
            }),
            Output::Ability(output) => tell_ability(entity, output, commands),
        }
    }
}
