//! Streaming sources: the points from which the world is seen. See [`StreamingSource`].

use bevy_ecs::{component::Component, reflect::ReflectComponent};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_transform::components::Transform;

/// A moving point of view, a camera or a player for instance: the levels of the volumes it is inside of are loaded.
///
/// Its position is its entity's `GlobalTransform` as last propagated, that is at the end of the frame before. A source
/// whose position is infinite or not a number is left out until it is a position again, and one that was just spawned until
/// it has one.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_transform::components::Transform;
/// # use seamless_level::StreamingSource;
/// fn spawn_player(mut commands: Commands) {
///     commands.spawn((Transform::from_xyz(0.0, 2.0, 0.0), StreamingSource::default()));
/// }
/// ```
#[derive(Component, Reflect, Copy, Clone, Debug, PartialEq)]
#[reflect(Component, Default, Clone, PartialEq)]
#[require(Transform)]
pub struct StreamingSource {
    /// How much it counts beside other sources, one by default: what a source of priority two is near to loads as if
    /// that were half as far away. Zero or less counts least; it still loads what it is inside of.
    pub priority: f32,
    /// Whether it asks for levels at all.
    pub enabled: bool,
}

impl Default for StreamingSource {
    fn default() -> Self {
        Self {
            priority: 1.0,
            enabled: true,
        }
    }
}
