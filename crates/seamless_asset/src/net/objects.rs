//! Objects to ids and back. See [`NetObjects`].

use bevy_asset::UntypedHandle;
use bevy_ecs::{
    entity::{Entities, Entity},
    hierarchy::ChildOf,
    system::{Query, Res, SystemParam},
};
use seamless_package::{
    ObjectId,
    package_map::{ObjectIndex, Objects},
};

use super::{NetObject, NetPackages};
use crate::{LiveObjectsResource, load::LevelInstance};

/// What is live, by object id, and the object ids of what is live.
#[derive(SystemParam)]
pub struct NetObjects<'w, 's> {
    packages: Res<'w, NetPackages>,
    live: Res<'w, LiveObjectsResource>,
    levels: Query<'w, 's, &'static LevelInstance>,
    parents: Query<'w, 's, &'static ChildOf>,
    entities: &'w Entities,
}

/// What became of an entity of a level.
pub(super) enum LevelEntity {
    /// Its level is not in the world.
    Away,
    /// It is there.
    Live(Entity),
    /// Its level is in the world, and the entity was despawned.
    Despawned,
}

impl NetObjects<'_, '_> {
    /// The packages that references may lead into.
    #[must_use]
    pub fn packages(&self) -> &NetPackages {
        &self.packages
    }

    /// The object id of an entity that came with a level; none for those that the game has spawned.
    #[must_use]
    pub fn id_of(&self, entity: Entity) -> Option<ObjectId> {
        let mut at = entity;
        loop {
            if let Ok(level) = self.levels.get(at) {
                return level.objects.object(entity);
            }
            at = self.parents.get(at).ok()?.parent();
        }
    }

    /// The object with this id, if it is live: an asset that is loaded, or an entity of a level that is in the world. Of several live levels
    /// of one package, the one that was revealed first is meant.
    #[must_use]
    pub fn get(&self, id: ObjectId) -> Option<NetObject> {
        let index = self.packages.map().index_of(id)?;
        if !self.packages.is_entity(index) {
            let handle = self.asset(id)?;
            return Some(NetObject::Asset { id, handle });
        }
        match self.level_entity(index) {
            LevelEntity::Live(entity) => Some(NetObject::Entity { id, entity }),
            LevelEntity::Away | LevelEntity::Despawned => None,
        }
    }

    pub(super) fn asset(&self, id: ObjectId) -> Option<UntypedHandle> {
        self.live.0.get(id)
    }

    pub(super) fn level_entity(&self, object: ObjectIndex) -> LevelEntity {
        let roots = self.packages.levels(object.package).iter();
        let Some(level) = roots.filter_map(|root| self.levels.get(*root).ok()).next() else {
            return LevelEntity::Away;
        };
        let id = self.packages.map().object_at(object);
        match id.and_then(|id| level.entity(id)) {
            Some(entity) if self.entities.contains_spawned(entity) => LevelEntity::Live(entity),
            _ => LevelEntity::Despawned,
        }
    }

    /// Calls `with` with what the protocol asks about objects.
    pub(super) fn ask<T>(&self, with: impl FnOnce(&Objects<'_>) -> T) -> T {
        let live = |id| self.get(id).is_some();
        with(&Objects {
            map: self.packages.map(),
            live: &live,
        })
    }
}
