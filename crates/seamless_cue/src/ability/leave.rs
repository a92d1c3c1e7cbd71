//! Effects and abilities that leave an entity with their component.

use core::time::Duration;

use bevy_ecs::{change_detection::DetectChangesMut, entity::Entity, lifecycle::HookContext, world::DeferredWorld};

use super::{Abilities, actor::Actor, telling::Telling};
use crate::{
    Attributes, Effects, OwnedTags,
    effect::{Bearer, Outputs},
};

/// New components do not use ids that removed ones have used.
pub(crate) fn number_effects(mut world: DeferredWorld, context: HookContext) {
    let next = world.get_resource::<Telling>().map_or(0, |telling| telling.next_effect);
    if let Some(mut effects) = world.get_mut::<Effects>(context.entity) {
        effects.next = effects.next.max(next);
    }
}

pub(crate) fn number_abilities(mut world: DeferredWorld, context: HookContext) {
    let next = world
        .get_resource::<Telling>()
        .map_or(0, |telling| telling.next_ability);
    if let Some(mut abilities) = world.get_mut::<Abilities>(context.entity) {
        abilities.next = abilities.next.max(next);
    }
}

/// Remembers who is despawned: its components leave next.
pub(crate) fn despawned(mut world: DeferredWorld, context: HookContext) {
    if let Some(mut telling) = world.get_resource_mut::<Telling>() {
        telling.leaving = Some(context.entity);
    }
}

pub(crate) fn discard_effects(mut world: DeferredWorld, context: HookContext) {
    let entity = context.entity;
    let Some(effects) = world.get::<Effects>(entity) else {
        return;
    };
    let next = effects.next;
    if let Some(mut telling) = world.get_resource_mut::<Telling>() {
        telling.next_effect = telling.next_effect.max(next);
    }
    leave(world, entity, |actor, out| actor.bearer.clear(out));
}

pub(crate) fn discard_abilities(mut world: DeferredWorld, context: HookContext) {
    let entity = context.entity;
    let Some(abilities) = world.get::<Abilities>(entity) else {
        return;
    };
    let next = abilities.next;
    if let Some(mut telling) = world.get_resource_mut::<Telling>() {
        telling.next_ability = telling.next_ability.max(next);
    }
    leave(world, entity, |actor, out| actor.clear_abilities(out));
}

/// Takes away what was given, and tells it. The component that leaves stays as it is, for whoever observes that.
fn leave(mut world: DeferredWorld, entity: Entity, clear: impl FnOnce(&mut Actor, &mut Outputs)) {
    let telling = world.get_resource::<Telling>();
    if telling.is_some_and(|telling| telling.leaving == Some(entity)) {
        return;
    }
    let mut effects = world.get::<Effects>(entity).cloned().unwrap_or_default();
    let mut abilities = world.get::<Abilities>(entity).cloned().unwrap_or_default();
    let mut tags = world.get::<OwnedTags>(entity).cloned().unwrap_or_default();
    let mut attributes = world.get::<Attributes>(entity).cloned();
    let mut out = Outputs::default();
    let mut actor = Actor {
        entity,
        bearer: Bearer {
            effects: &mut effects,
            tags: &mut tags,
            attributes: attributes.as_mut(),
            ahead: Duration::ZERO,
        },
        abilities: &mut abilities,
    };
    clear(&mut actor, &mut out);
    if out.list.is_empty() {
        return;
    }
    if let Some(mut own) = world.get_mut::<OwnedTags>(entity) {
        own.set_if_neq(tags);
    }
    if let (Some(mut own), Some(attributes)) = (world.get_mut::<Attributes>(entity), attributes) {
        own.set_if_neq(attributes);
    }
    if let Some(mut telling) = world.get_resource_mut::<Telling>() {
        telling.push(entity, out.list);
        world.commands().queue(super::telling::tell_all);
    }
}
