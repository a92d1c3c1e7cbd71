//! Objects to ids and back. See [`NetObjects`].

use bevy_asset::UntypedHandle;
use bevy_ecs::{
    entity::{Entities, Entity},
    system::{Res, SystemParam},
};
use seamless_package::{
    ObjectId,
    package_map::{ObjectIndex, Objects},
};

use super::{
    NetObject, NetPackages,
    packages::{Several, one_of},
};
use crate::{LevelEntities, LiveObjectsResource};

/// What is live, by object id, and the object ids of what is live.
#[derive(SystemParam)]
pub struct NetObjects<'w, 's> {
    packages: Res<'w, NetPackages>,
    live: Res<'w, LiveObjectsResource>,
    levels: LevelEntities<'w, 's>,
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
    /// Nothing says of which of several levels it is.
    Unclear,
}

impl NetObjects<'_, '_> {
    /// The packages that references may lead into.
    #[must_use]
    pub fn packages(&self) -> &NetPackages {
        &self.packages
    }

    /// The object id of an entity that came with a level; none for those that the game has spawned, and for those of levels that cannot be told from
    /// others: a further placement of a package that no manifest lists. Its [`StableId`](crate::StableId) can travel in the body of a message.
    #[must_use]
    pub fn id_of(&self, entity: Entity) -> Option<ObjectId> {
        let (root, level) = self.levels.level_of(entity)?;
        let object = level.objects.object(entity)?;
        self.packages.id_in((root, level), object, |root| self.is_there(root))
    }

    /// The object with this id, if it is live: an asset that is loaded, or an entity of a level that is in the world.
    #[must_use]
    pub fn get(&self, id: ObjectId) -> Option<NetObject> {
        let index = self.packages.map().index_of(id)?;
        if !self.packages.is_entity(index) {
            let handle = self.asset(index.package, id)?;
            return Some(NetObject::Asset { id, handle });
        }
        match self.level_entity(index) {
            LevelEntity::Live(entity) => Some(NetObject::Entity { id, entity }),
            LevelEntity::Away | LevelEntity::Despawned | LevelEntity::Unclear => None,
        }
    }

    pub(super) fn asset(&self, package: u32, id: ObjectId) -> Option<UntypedHandle> {
        self.live.0.get(self.packages.live_id(package, id)?)
    }

    fn is_there(&self, root: Entity) -> bool {
        self.levels.get(root).is_some()
    }

    pub(super) fn level_entity(&self, object: ObjectIndex) -> LevelEntity {
        let Some((row, levels)) = self.packages.row(object) else {
            return LevelEntity::Away;
        };
        let level = match one_of(levels, |root| self.is_there(root)) {
            Ok(root) => root.and_then(|root| self.levels.get(root)),
            Err(Several) => return LevelEntity::Unclear,
        };
        let Some(level) = level else {
            return LevelEntity::Away;
        };
        match level.objects.entity_at(row) {
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
