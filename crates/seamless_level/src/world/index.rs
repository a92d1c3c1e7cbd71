//! Whose an instance is. See [`InstanceIndex`].

use std::collections::HashMap;

use bevy_ecs::{entity::Entity, resource::Resource};
use seamless_asset::InstanceId;

use crate::{events::LevelLeft, requests::Unheard};

/// The level that an instance belongs to, for all instances that this crate asked for and that are not gone yet.
#[derive(Resource, Default)]
pub(crate) struct InstanceIndex {
    owners: HashMap<InstanceId, Owner>,
    /// Here, and in no resource of its own: whoever asks for levels has this one in no other way than to look at it.
    pub unheard: Unheard,
}

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
        /// What is told when it is gone; nothing of one that nobody was told of.
        left: Option<LevelLeft>,
    },
}

impl InstanceIndex {
    pub fn insert(&mut self, id: InstanceId, world: Entity, level: u32) {
        self.owners.insert(id, Owner::Level { world, level });
    }

    pub fn orphan(&mut self, id: InstanceId, left: Option<LevelLeft>) {
        self.owners.insert(id, Owner::Orphan { left });
    }

    pub fn get(&self, id: InstanceId) -> Option<&Owner> {
        self.owners.get(&id)
    }

    pub fn remove(&mut self, id: InstanceId) -> Option<Owner> {
        self.owners.remove(&id)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.owners.len()
    }
}
