//! Whose an instance is. See [`InstanceIndex`].

use std::collections::HashMap;

use bevy_ecs::{entity::Entity, resource::Resource};
use seamless_asset::InstanceId;

/// The level that an instance belongs to, for all instances that this crate asked for and that are not gone yet.
#[derive(Resource, Default)]
pub(crate) struct InstanceIndex(HashMap<InstanceId, Owner>);

/// The level that an instance belongs to.
#[derive(Debug)]
pub(crate) enum Owner {
    /// A level of a world.
    Level {
        /// The seamless world.
        world: Entity,
        /// The level's index in its table.
        level: u32,
    },
    /// The level of a world that is gone; the instance is on its way out.
    Orphan {
        /// What was the seamless world.
        world: Entity,
        /// The level's name.
        name: String,
    },
}

impl InstanceIndex {
    pub fn insert(&mut self, id: InstanceId, world: Entity, level: u32) {
        self.0.insert(id, Owner::Level { world, level });
    }

    pub fn orphan(&mut self, id: InstanceId, world: Entity, name: String) {
        self.0.insert(id, Owner::Orphan { world, name });
    }

    pub fn get(&self, id: InstanceId) -> Option<&Owner> {
        self.0.get(&id)
    }

    pub fn remove(&mut self, id: InstanceId) -> Option<Owner> {
        self.0.remove(&id)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
