//! Commands about effects and abilities. See [`EffectCommands`] and [`AbilityCommands`].

use bevy_ecs::{entity::Entity, system::Commands, world::World};

use super::{AbilityId, AbilityRefused, AbilityRejected, AbilitySpec, Aim, WorldGameplay};
use crate::{EffectId, EffectRejected, EffectSpec, GameplayTag, TagSet, effect::EffectInfo};

/// Effects by commands: done, in their order, when the commands are applied. What is refused is told by [`EffectRejected`].
pub trait EffectCommands {
    /// Applies an effect to an entity.
    fn apply_effect(&mut self, target: Entity, spec: EffectSpec);

    /// Removes an effect, or only so many stacks of it.
    fn remove_effect(&mut self, target: Entity, id: EffectId, stacks: Option<u32>);

    /// Removes the effects that are, or give, a kind of one of these tags.
    fn remove_effects_with(&mut self, target: Entity, tags: TagSet);
}

/// Abilities by commands: done, in their order, when the commands are applied. What is refused is told by [`AbilityRejected`].
pub trait AbilityCommands {
    /// Gives an entity an ability. That there is no room for it is logged.
    fn grant_ability(&mut self, entity: Entity, spec: AbilitySpec);

    /// Takes an ability away.
    fn revoke_ability(&mut self, entity: Entity, id: AbilityId);

    /// Activates an ability.
    fn activate_ability(&mut self, entity: Entity, id: AbilityId, aim: Aim);

    /// Activates the first ability in a slot, or in a kind of it.
    fn activate_slot(&mut self, entity: Entity, slot: GameplayTag, aim: Aim);

    /// Pays for an active ability; if that is refused, it is cancelled.
    fn commit_ability(&mut self, entity: Entity, id: AbilityId);

    /// Ends an active ability: it is done.
    fn end_ability(&mut self, entity: Entity, id: AbilityId);

    /// Cancels an active ability: it is not done.
    fn cancel_ability(&mut self, entity: Entity, id: AbilityId);
}

impl EffectCommands for Commands<'_, '_> {
    fn apply_effect(&mut self, target: Entity, spec: EffectSpec) {
        self.queue(move |world: &mut World| {
            let info = EffectInfo::of(&spec);
            let applied = world.gameplay(move |gameplay| gameplay.apply_effect(target, &spec));
            if let Some(Err(refused)) = applied {
                world.trigger(EffectRejected {
                    entity: target,
                    info,
                    refused,
                });
            }
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

fn reject(world: &mut World, entity: Entity, ability: Option<AbilityId>, refused: AbilityRefused) {
    world.trigger(AbilityRejected {
        entity,
        ability,
        refused,
    });
}

fn activate(world: &mut World, entity: Entity, id: AbilityId, aim: Aim) {
    let activated = world.gameplay(move |gameplay| gameplay.try_activate(entity, id, aim));
    if let Some(Err(refused)) = activated {
        reject(world, entity, Some(id), refused);
    }
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
        self.queue(move |world: &mut World| activate(world, entity, id, aim));
    }

    fn activate_slot(&mut self, entity: Entity, slot: GameplayTag, aim: Aim) {
        self.queue(move |world: &mut World| {
            let abilities = world.get::<super::Abilities>(entity);
            match abilities.map(|abilities| abilities.in_slot(slot).map(super::GrantedAbility::id)) {
                None => reject(world, entity, None, AbilityRefused::NoOwner),
                Some(None) => reject(world, entity, None, AbilityRefused::NotGranted),
                Some(Some(id)) => activate(world, entity, id, aim),
            }
        });
    }

    fn commit_ability(&mut self, entity: Entity, id: AbilityId) {
        self.queue(move |world: &mut World| {
            let committed = world.gameplay(move |gameplay| {
                let result = gameplay.commit(entity, id);
                if result.is_err() {
                    gameplay.cancel(entity, id);
                }
                result
            });
            if let Some(Err(refused)) = committed {
                reject(world, entity, Some(id), refused);
            }
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
}
