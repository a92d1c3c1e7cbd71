//! Telling what became of attributes.

use bevy_ecs::{
    change_detection::DetectChangesMut,
    entity::Entity,
    event::EntityEvent,
    query::Changed,
    reflect::ReflectEvent,
    system::{Commands, Query},
};
use bevy_reflect::Reflect;

use super::Attributes;
use crate::GameplayTag;

/// An attribute of an entity has another current value than the last time that observers were told. Told once a run of
/// [`AbilitySystems::Tell`](crate::AbilitySystems::Tell), for all that happened since the last.
#[derive(EntityEvent, Reflect, Clone, Debug, PartialEq)]
#[reflect(Event, Clone, Debug, PartialEq)]
pub struct AttributeChanged {
    /// Whose it is.
    pub entity: Entity,
    /// Which one.
    pub attribute: GameplayTag,
    /// What it was.
    pub old: f32,
    /// What it is.
    pub new: f32,
}

/// Tells what has changed since it last ran.
pub(crate) fn tell_changes(mut changed: Query<(Entity, &mut Attributes), Changed<Attributes>>, mut commands: Commands) {
    for (entity, mut attributes) in &mut changed {
        // That it was told is no change.
        for (attribute, old, new) in attributes.bypass_change_detection().take_changes() {
            commands.trigger(AttributeChanged {
                entity,
                attribute,
                old,
                new,
            });
        }
    }
}
