//! Events about abilities, for observers: on the entity that has the ability, or of all.

use core::time::Duration;

use bevy_asset::Handle;
use bevy_ecs::{entity::Entity, event::EntityEvent, reflect::ReflectEvent, world::World};
use bevy_reflect::Reflect;

use super::{Ability, AbilityId, Aim, GrantedAbility};
use crate::{EffectRefused, GameplayTag, MagnitudeError};

/// Which ability an event is about.
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct AbilityInfo {
    /// Names it on its entity.
    pub id: AbilityId,
    /// Its definition.
    pub ability: Handle<Ability>,
    /// As it was granted.
    pub level: f32,
    /// Where it was put.
    pub slot: Option<GameplayTag>,
    /// What it comes from.
    pub source: Option<Entity>,
}

impl AbilityInfo {
    pub(crate) fn of(granted: &GrantedAbility) -> Self {
        Self {
            id: granted.id,
            ability: granted.spec.ability.clone(),
            level: granted.spec.level,
            slot: granted.spec.slot,
            source: granted.spec.source,
        }
    }
}

/// An entity has a new ability.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct AbilityGranted {
    /// Who has it.
    pub entity: Entity,
    /// Which one.
    pub info: AbilityInfo,
}

/// An entity has lost an ability.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct AbilityRevoked {
    /// Who had it.
    pub entity: Entity,
    /// Which one.
    pub info: AbilityInfo,
}

/// An ability is used: here is where a game says what it does. An instant one is over already, and its [`AbilityEnded`] follows.
///
/// ```no_run
/// # use bevy_ecs::prelude::*; use bevy_asset::Assets;
/// # use seamless_cue::{Ability, AbilityActivated, EffectCommands, EffectSpec};
/// fn burn(used: On<AbilityActivated>, abilities: Res<Assets<Ability>>, mut commands: Commands) {
///     let burn = abilities.get(&used.info.ability).and_then(|ability| ability.effect("burn"));
///     if let (Some(burn), Some(target)) = (burn, used.aim.target) {
///         commands.apply_effect(target, EffectSpec::new(burn.clone()).level(used.info.level).from(used.entity));
///     }
/// }
/// ```
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct AbilityActivated {
    /// Who uses it.
    pub entity: Entity,
    /// Which one.
    pub info: AbilityInfo,
    /// At what it is aimed.
    pub aim: Aim,
}

/// An ability was paid for, and its cooldown has begun.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct AbilityCommitted {
    /// Who uses it.
    pub entity: Entity,
    /// Which one.
    pub info: AbilityInfo,
}

/// Why an ability is not active any more.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq)]
#[reflect(Clone, Debug, PartialEq)]
pub enum AbilityEnd {
    /// Its time was over, or game code has ended it.
    Finished,
    /// Game code has cancelled it, or another ability, or it begins anew.
    Cancelled,
    /// The owner got a tag of [`Ability::interrupted_by`].
    Interrupted(GameplayTag),
    /// It was taken away.
    Revoked,
}

/// An ability is not active any more. Exactly one for each [`AbilityActivated`], unless the entity is despawned.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct AbilityEnded {
    /// Who has used it.
    pub entity: Entity,
    /// Which one.
    pub info: AbilityInfo,
    /// Why.
    pub why: AbilityEnd,
}

/// A cooldown is over.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct CooldownOver {
    /// Whose it was.
    pub entity: Entity,
    /// The ability that had begun it. It may have been revoked since.
    pub ability: AbilityId,
}

/// Why an ability is not activated, or not committed.
#[derive(Reflect, Debug, Clone, PartialEq, thiserror::Error)]
#[reflect(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AbilityRefused {
    /// The entity is not there, or can do nothing.
    #[error("the entity is not there, or has no `Abilities`; insert that component")]
    NoOwner,
    /// The entity has no such ability (any more).
    #[error("the entity has no such ability; grant it first")]
    NotGranted,
    /// Its definition is not in `Assets`.
    #[error("the ability is not loaded; grant it when it is")]
    NotLoaded,
    /// It is active.
    #[error("the ability is active")]
    Active,
    /// It is not active, so it cannot be committed.
    #[error("the ability is not active; activate it first")]
    NotActive,
    /// It was paid for already.
    #[error("the ability was committed before, in this activation")]
    Committed,
    /// The owner has not this tag.
    #[error("the owner is not `{0}`")]
    MissingTag(GameplayTag),
    /// The owner has this tag.
    #[error("the owner is `{0}`")]
    ForbiddenTag(GameplayTag),
    /// Another ability stands in the way.
    #[error("the active ability {0:?} blocks it")]
    Blocked(AbilityId),
    /// It was used a moment ago.
    #[error("it can be used again in {} s", tenths(*remaining))]
    Cooldown {
        /// How long not.
        remaining: Duration,
    },
    /// It costs what the owner has not.
    #[error("it costs `{attribute}`, which the owner does not have; give it that attribute")]
    CostAttribute {
        /// Of what.
        attribute: GameplayTag,
    },
    /// Observers answer each other without end, and have not heard of so much that has happened.
    #[error(
        "observers are still to hear of {untold} things that have happened; does one of them activate whenever something is activated?"
    )]
    Untold {
        /// How many.
        untold: usize,
    },
    /// It costs more than there is.
    #[error("it costs {amount} of `{attribute}`, and there is {available}")]
    Cost {
        /// Of what.
        attribute: GameplayTag,
        /// How much.
        amount: f32,
        /// How much there is to spend.
        available: f32,
    },
    /// What it costs is not known.
    #[error("its cost is not known: {0}")]
    Magnitude(#[from] MagnitudeError),
    /// The effect that comes with the costs cannot be applied.
    #[error("its cost effect cannot be applied: {0}")]
    CostEffect(EffectRefused),
}

/// An ability that a command was to activate or to commit was refused.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct AbilityRejected {
    /// Whose it is. It may be gone.
    pub entity: Entity,
    /// Which one; `None` if the entity has none in the slot that was asked for.
    pub ability: Option<AbilityId>,
    /// Why.
    pub refused: AbilityRefused,
}

/// Something to tell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AbilityOutput {
    Granted(AbilityInfo),
    Revoked(AbilityInfo),
    Activated {
        info: AbilityInfo,
        aim: Aim,
    },
    Committed(AbilityInfo),
    Ended {
        info: AbilityInfo,
        why: AbilityEnd,
    },
    CooldownOver(AbilityId),
    /// What a command was to do.
    Rejected {
        ability: Option<AbilityId>,
        refused: AbilityRefused,
    },
}

/// Seconds with one decimal, and no less than there are: what is not ready is not ready in 0.0 s.
fn tenths(time: Duration) -> String {
    let tenths = time.as_millis().div_ceil(100);
    format!("{}.{}", tenths / 10, tenths % 10)
}

impl AbilityOutput {
    /// The event by which it is told.
    pub fn event(&self) -> &'static str {
        match self {
            Self::Granted(_) => "AbilityGranted",
            Self::Revoked(_) => "AbilityRevoked",
            Self::Activated { .. } => "AbilityActivated",
            Self::Committed(_) => "AbilityCommitted",
            Self::Ended { .. } => "AbilityEnded",
            Self::CooldownOver(_) => "CooldownOver",
            Self::Rejected { .. } => "AbilityRejected",
        }
    }
}

/// Tells observers of something.
pub(crate) fn trigger_ability(entity: Entity, output: AbilityOutput, world: &mut World) {
    match output {
        AbilityOutput::Granted(info) => world.trigger(AbilityGranted { entity, info }),
        AbilityOutput::Revoked(info) => world.trigger(AbilityRevoked { entity, info }),
        AbilityOutput::Activated { info, aim } => world.trigger(AbilityActivated { entity, info, aim }),
        AbilityOutput::Committed(info) => world.trigger(AbilityCommitted { entity, info }),
        AbilityOutput::Ended { info, why } => world.trigger(AbilityEnded { entity, info, why }),
        AbilityOutput::CooldownOver(ability) => world.trigger(CooldownOver { entity, ability }),
        AbilityOutput::Rejected { ability, refused } => world.trigger(AbilityRejected {
            entity,
            ability,
            refused,
        }),
    }
}
