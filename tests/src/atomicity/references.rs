//! Which entities an entity refers to, in whatever component.

use bevy::{
    ecs::{entity::EntityMapper, reflect::ReflectComponent},
    prelude::*,
    reflect::ReflectFromReflect,
};
use bevy_seamless::asset::LevelInstance;

use super::level::is_there;

/// Writes down every entity that it is asked to map.
#[derive(Default)]
struct Recorder(Vec<Entity>);

impl EntityMapper for Recorder {
    fn get_mapped(&mut self, source: Entity) -> Entity {
        self.0.push(source);
        source
    }

    fn set_mapped(&mut self, _: Entity, _: Entity) {}
}

/// Whether an entity hangs below a level's root, or below one that does not exist yet: only levels hold such.
pub(super) fn is_in_level(world: &World, entity: Entity) -> bool {
    let mut at = entity;
    loop {
        let Ok(found) = world.get_entity(at) else {
            return at != entity;
        };
        if found.contains::<LevelInstance>() {
            return true;
        }
        match found.get::<ChildOf>() {
            Some(parent) => at = parent.parent(),
            None => return false,
        }
    }
}

/// How many entities the components of `entity` refer to, and those that are not alive, with the component's name.
pub(super) fn of_entity(world: &World, entity: Entity) -> (u64, Vec<(String, Entity)>) {
    let registry = world.resource::<AppTypeRegistry>().read();
    let (mut count, mut dead) = (0, Vec::new());
    let found = world.entity(entity);
    for id in found.archetype().components() {
        let type_id = world.components().get_info(*id).and_then(|info| info.type_id());
        let Some(registration) = type_id.and_then(|type_id| registry.get(type_id)) else {
            continue;
        };
        let Some(component) = registration.data::<ReflectComponent>() else {
            continue;
        };
        let Some(mut copy) = component.reflect(found).and_then(|value| {
            let from = || {
                registration
                    .data::<ReflectFromReflect>()?
                    .from_reflect(value.as_partial_reflect())
            };
            value.reflect_clone().ok().or_else(from)
        }) else {
            continue;
        };
        let mut recorder = Recorder::default();
        component.map_entities(&mut *copy, &mut recorder);
        count += recorder.0.len() as u64;
        let gone = recorder.0.iter().filter(|target| !is_there(world, **target));
        dead.extend(gone.map(|target| (registration.type_info().type_path().to_owned(), *target)));
    }
    (count, dead)
}
