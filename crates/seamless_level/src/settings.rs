//! The caps of this crate. See [`LevelSettings`].

use bevy_ecs::{reflect::ReflectResource, resource::Resource};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// Caps on levels; change them at any time, they are read every frame.
#[derive(Resource, Reflect, Copy, Clone, Debug, PartialEq, Eq)]
#[reflect(Resource, Default, Clone, PartialEq)]
pub struct LevelSettings {
    /// How many levels of one world may be wanted at a time, always-loaded ones included. Of more, the least urgent
    /// ones stay away; [`LevelTable::dropped`](crate::LevelTable::dropped) counts them. Default 4096.
    pub max_levels: usize,
    /// How many requests of the app there may be at a time: standing ones, tickets, and those of
    /// [`LevelWanted`](crate::LevelWanted). Default 65 536.
    pub max_requests: usize,
}

impl Default for LevelSettings {
    fn default() -> Self {
        Self {
            max_levels: 4096,
            max_requests: 1 << 16,
        }
    }
}
