//! Entity ids for levels that are still loading. See [`EntityPool`].

use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use bevy_ecs::{
    entity::{Entity, RemoteAllocator},
    world::World,
};

/// Hands out final entity ids on any thread; what is not used comes back by itself.
///
/// Nothing in Bevy frees an id that was allocated remotely and never spawned; [`ReservedEntities`] does, when dropped.
#[derive(Clone)]
pub struct EntityPool {
    allocator: Arc<RemoteAllocator>,
    returned: Arc<Mutex<Vec<Entity>>>,
}

impl EntityPool {
    /// The pool of a world.
    #[must_use]
    pub fn new(world: &World) -> Self {
        Self {
            allocator: Arc::new(world.entity_allocator().build_remote_allocator()),
            returned: Arc::default(),
        }
    }

    /// Reserves `count` ids, in order of their indices. Ids that were freed come in any order, and what Bevy draws in front of
    /// what, among surfaces at the same place, follows from it: a level looks the same each time it comes.
    #[must_use]
    pub fn reserve(&self, count: usize) -> ReservedEntities {
        let mut entities: Vec<Entity> = (0..count).map(|_| self.allocator.alloc()).collect();
        entities.sort_unstable_by_key(|entity| entity.index_u32());
        ReservedEntities {
            entities,
            returned: self.returned.clone(),
        }
    }

    /// Gives what came back to the world's allocator. Call it on the main thread, once a frame.
    pub fn free_returned(&self, world: &mut World) {
        let returned = match self.returned.try_lock() {
            Ok(mut returned) => core::mem::take(&mut *returned),
            Err(TryLockError::Poisoned(returned)) => core::mem::take(&mut *returned.into_inner()),
            // A task is just returning some; next frame is soon enough.
            Err(TryLockError::WouldBlock) => return,
        };
        if !returned.is_empty() && world.entity_allocator().has_remote_allocator(&self.allocator) {
            world.entity_allocator_mut().free_many(&returned);
        }
    }
}

/// Ids that were reserved and not spawned yet; they return to the pool when this is dropped.
pub struct ReservedEntities {
    entities: Vec<Entity>,
    returned: Arc<Mutex<Vec<Entity>>>,
}

impl ReservedEntities {
    /// The ids.
    #[must_use]
    pub fn as_slice(&self) -> &[Entity] {
        &self.entities
    }

    /// Takes the ids to spawn them all; they do not return any more.
    pub fn take(&mut self) -> Vec<Entity> {
        core::mem::take(&mut self.entities)
    }
}

impl Drop for ReservedEntities {
    fn drop(&mut self) {
        if !self.entities.is_empty() {
            self.returned
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .append(&mut self.entities);
        }
    }
}
