//! Commands about effects and abilities. See [`EffectCommands`] and [`AbilityCommands`].

use bevy_ecs::{
    entity::Entity,
    system::{Commands, EntityCommands},
    world::World,
};

use super::{AbilityId, AbilityOutput, AbilityRefused, AbilitySpec, Aim, Gameplay, GrantedAbility, WorldGameplay};
use crate::{
    EffectId, EffectSpec, GameplayTag, TagSet,
    effect::{EffectInfo, Output},
};

/// Effects by commands: done, in their order, when the commands are applied. What is refused is told by
/// [`EffectRejected`](crate::EffectRejected).
pub trait EffectCommands {
    /// Applies an effect to an entity.
    fn apply_effect(&mut self, target: Entity, spec: EffectSpec);

    /// Removes an effect, or only so many stacks of it.
    fn remove_effect(&mut self, target: Entity, id: EffectId, stacks: Option<u32>);

    /// Removes the effects that are, or give, a kind of one of these tags.
    fn remove_effects_with(&mut self, target: Entity, tags: TagSet);
}

/// Abilities by commands: done, in their order, when the commands are applied. What is refused is told by
/// [`AbilityRejected`](crate::AbilityRejected).
pub trait AbilityCommands {
    /// Gives an entity an ability. That there is no room for it is logged.
    fn grant_ability(&mut self, entity: Entity, spec: AbilitySpec);

    /// Takes an ability away.
    fn revoke_ability(&mut self, entity: Entity, id: AbilityId);

    /// Activates an ability.
    fn activate_ability(&mut self, entity: Entity, id: AbilityId, aim: Aim);

    /// Activates the first ability in a slot, or in a kind of it.
    fn activate_slot(&mut self, entity: Entity, slot: GameplayTag, aim: Aim);

    /// Pays for an active ability; if that is refused, it is cancelled, unless it is paid for already.
    fn commit_ability(&mut self, entity: Entity, id: AbilityId);

    /// Ends an active ability: it is done.
    fn end_ability(&mut self, entity: Entity, id: AbilityId);

    /// Cancels an active ability: it is not done.
    fn cancel_ability(&mut self, entity: Entity, id: AbilityId);

    /// Takes all abilities, cooldowns and effects away, as [`Gameplay::clear`].
    fn clear_gameplay(&mut self, entity: Entity);
}

/// The most common commands for one entity, as for one that is being spawned:
///
/// ```no_run
/// # use bevy_ecs::prelude::*; use bevy_asset::Handle;
/// # use seamless_cue::{Abilities, Ability, AbilitySpec, ActorCommands, Effect, EffectSpec};
/// # fn spawn(mut commands: Commands, bolt: Handle<Ability>, shield: Handle<Effect>) {
/// commands
///     .spawn(Abilities::default())
///     .grant_ability(AbilitySpec::new(bolt))
///     .apply_effect(EffectSpec::new(shield));
/// # }
/// ```
pub trait ActorCommands {
    /// Applies an effect to the entity, as [`EffectCommands::apply_effect`].
    fn apply_effect(&mut self, spec: EffectSpec) -> &mut Self;

    /// Gives the entity an ability, as [`AbilityCommands::grant_ability`].
    fn grant_ability(&mut self, spec: AbilitySpec) -> &mut Self;

    /// Activates the first ability in a slot, as [`AbilityCommands::activate_slot`].
    fn activate_slot(&mut self, slot: GameplayTag, aim: Aim) -> &mut Self;

    /// Takes all abilities, cooldowns and effects away, as [`Gameplay::clear`].
    fn clear_gameplay(&mut self) -> &mut Self;
}

impl ActorCommands for EntityCommands<'_> {
    fn apply_effect(&mut self, spec: EffectSpec) -> &mut Self {
        let entity = self.id();
        self.commands_mut().apply_effect(entity, spec);
        self
    }

    fn grant_ability(&mut self, spec: AbilitySpec) -> &mut Self {
        let entity = self.id();
        self.commands_mut().grant_ability(entity, spec);
        self
    }

    fn activate_slot(&mut self, slot: GameplayTag, aim: Aim) -> &mut Self {
        let entity = self.id();
        self.commands_mut().activate_slot(entity, slot, aim);
        self
    }

    fn clear_gameplay(&mut self) -> &mut Self {
        let entity = self.id();
        self.commands_mut().clear_gameplay(entity);
        self
    }
}

impl EffectCommands for Commands<'_, '_> {
    fn apply_effect(&mut self, target: Entity, spec: EffectSpec) {
        self.queue(move |world: &mut World| {
            let info = EffectInfo::of(&spec);
            world.gameplay(move |gameplay| {
                if let Err(refused) = gameplay.apply_effect(target, &spec) {
                    gameplay.tell(target, Output::Rejected { info, refused });
                }
            });
        });
    }

    fn remove_effect(&mut self, target: Entity, id: EffectId, stacks: Option<u32>) {
        self.queue(move |world: &mut World| {
            world.gameplay(move |gameplay| gameplay.remove_effect(target, id, stacks));
        });
    }

    fn remove_effects_with(&mut self, target: Entity, tags: TagSet) {
        self.queue(move |world: &mut World| {
            world.gameplay(move |gameplay| gameplay.remove_effects_with(target, &tags));
        });
    }
}

fn activate(gameplay: &mut Gameplay, entity: Entity, id: AbilityId, aim: Aim) {
    if let Err(refused) = gameplay.try_activate(entity, id, aim) {
        reject(gameplay, entity, Some(id), refused);
    }
}

fn activate_slot(gameplay: &mut Gameplay, entity: Entity, slot: GameplayTag, aim: Aim) {
    let abilities = gameplay.abilities(entity);
    match abilities.map(|abilities| abilities.in_slot(slot).map(GrantedAbility::id)) {
        None => reject(gameplay, entity, None, AbilityRefused::NoOwner),
        Some(None) => reject(gameplay, entity, None, AbilityRefused::NotGranted),
        Some(Some(id)) => activate(gameplay, entity, id, aim),
    }
}

fn commit(gameplay: &mut Gameplay, entity: Entity, id: AbilityId) {
    let Err(refused) = gameplay.commit(entity, id) else {
        return;
    };
    if refused != AbilityRefused::Committed {
        gameplay.cancel(entity, id);
    }
    reject(gameplay, entity, Some(id), refused);
}

fn reject(gameplay: &mut Gameplay, entity: Entity, ability: Option<AbilityId>, refused: AbilityRefused) {
    let rejected = AbilityOutput::Rejected { ability, refused };
    gameplay.tell(entity, Output::Ability(rejected));
}

impl AbilityCommands for Commands<'_, '_> {
    fn grant_ability(&mut self, entity: Entity, spec: AbilitySpec) {
        self.queue(move |world: &mut World| {
            if let Some(Err(error)) = world.gameplay(move |gameplay| gameplay.grant(entity, spec)) {
                bevy_log::warn!("an ability was not granted to {entity}: {error}");
            }
        });
    }

    fn revoke_ability(&mut self, entity: Entity, id: AbilityId) {
        self.queue(move |world: &mut World| {
            world.gameplay(move |gameplay| gameplay.revoke(entity, id));
        });
    }

    fn activate_ability(&mut self, entity: Entity, id: AbilityId, aim: Aim) {
        self.queue(move |world: &mut World| {
            world.gameplay(move |gameplay| activate(gameplay, entity, id, aim));
        });
    }

    fn activate_slot(&mut self, entity: Entity, slot: GameplayTag, aim: Aim) {
        self.queue(move |world: &mut World| {
            world.gameplay(move |gameplay| activate_slot(gameplay, entity, slot, aim));
        });
    }

    fn commit_ability(&mut self, entity: Entity, id: AbilityId) {
        self.queue(move |world: &mut World| {
            world.gameplay(move |gameplay| commit(gameplay, entity, id));
        });
    }

    fn end_ability(&mut self, entity: Entity, id: AbilityId) {
        self.queue(move |world: &mut World| {
            world.gameplay(move |gameplay| gameplay.end(entity, id));
        });
    }

    fn cancel_ability(&mut self, entity: Entity, id: AbilityId) {
        self.queue(move |world: &mut World| {
            world.gameplay(move |gameplay| gameplay.cancel(entity, id));
        });
    }

    fn clear_gameplay(&mut self, entity: Entity) {
        self.queue(move |world: &mut World| {
            world.gameplay(move |gameplay| gameplay.clear(entity));
        });
    }
}
