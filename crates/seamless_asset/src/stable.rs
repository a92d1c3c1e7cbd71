//! Ids of the entities of levels that mean the same on every machine. See [`StableId`].

#[cfg(test)]
mod tests;

use core::fmt;
use std::sync::Arc;

use bevy_ecs::{
    entity::Entity,
    hierarchy::ChildOf,
    reflect::ReflectResource,
    resource::Resource,
    system::{Query, SystemParam},
};
use bevy_log::warn_once;
use bevy_platform::collections::HashMap;
use bevy_reflect::{Reflect, ReflectDeserialize, ReflectSerialize, std_traits::ReflectDefault};
use seamless_package::ObjectId;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    level_data::LevelObjects,
    load::{InstanceId, LevelInstance},
};

/// What names a placement of a level on every machine: `open_world/harbour`, the world's name and the level's. One that was asked for without
/// a path is called by the [name](crate::InstanceRequest::name) of its request. Empty: it has no stable ids.
#[derive(Reflect, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[reflect(opaque, Default, Clone, PartialEq, Hash, Debug)]
pub struct InstancePath(Arc<str>);

impl InstancePath {
    /// The path of a level of a world.
    #[must_use]
    pub fn new(world: &str, level: &str) -> Self {
        Self(format!("{world}/{level}").into())
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it names nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number that stands for it in a [`StableId`]: the xxh3-64 hash of its text.
    #[must_use]
    pub fn id(&self) -> u64 {
        xxh3_64(self.0.as_bytes())
    }
}

impl From<&str> for InstancePath {
    fn from(path: &str) -> Self {
        Self(path.into())
    }
}

impl fmt::Display for InstancePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for InstancePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InstancePath({self})")
    }
}

/// Names an entity of a level in saves and on the wire: the same on every machine, in every run, in whatever order levels come, and for
/// each placement of a level another. [`LevelInstance::stable_id`](crate::LevelInstance::stable_id) gives it, [`StableIds`] leads back.
#[derive(Reflect, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[reflect(opaque, Serialize, Deserialize, Clone, Debug, PartialEq, Hash)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct StableId {
    /// Its level's [`InstancePath`], by its [number](InstancePath::id).
    pub instance: u64,
    /// Who it is in its level's package.
    pub object: ObjectId,
}

impl From<(u64, u64)> for StableId {
    fn from((instance, object): (u64, u64)) -> Self {
        let object = ObjectId(object);
        Self { instance, object }
    }
}

impl From<StableId> for (u64, u64) {
    fn from(id: StableId) -> Self {
        (id.instance, id.object.0)
    }
}

/// The levels that are in the world and not hidden, by their [`InstancePath`]s: from a [`StableId`] to its entity. Up to date at the end of
/// [`StreamingSystems::Reveal`](crate::StreamingSystems).
///
/// Where two levels have one path, the one that came first has the ids; the other is counted, and has them when the
/// first has gone. One that is to leave already gives them up: a world may be spawned anew while the levels of the one before still go.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_asset::{InstanceEvent, StableId, StableIds};
/// # use bevy_platform::collections::HashSet;
/// /// Chests that were opened, as the save has them.
/// #[derive(Resource)]
/// struct Opened(HashSet<StableId>);
///
/// #[derive(Component)]
/// struct Open;
///
/// fn open_chests(
///     mut events: MessageReader<InstanceEvent>,
///     opened: Res<Opened>,
///     ids: Res<StableIds>,
///     mut commands: Commands,
/// ) {
///     let is_revealed = |event: &InstanceEvent| matches!(event, InstanceEvent::Revealed { .. });
///     if events.read().filter(|event| is_revealed(event)).count() > 0 {
///         for chest in opened.0.iter().filter_map(|id| ids.get(*id)) {
///             commands.entity(chest).try_insert(Open); // its level is there
///         }
///     }
/// }
/// ```
#[derive(Resource, Reflect, Default, Debug)]
#[reflect(Resource, Default)]
pub struct StableIds {
    /// By the numbers of their paths. The first of each has the ids.
    #[reflect(ignore)]
    levels: HashMap<u64, SmallVec<[Placed; 1]>>,
    #[reflect(ignore)]
    paths: HashMap<InstanceId, u64>,
    refused: u64,
}

/// From an entity to its level, and to what it is called on all machines.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_asset::{LevelEntities, StableId};
/// # use bevy_platform::collections::HashSet;
/// # #[derive(Component)]
/// # struct Open;
/// #[derive(Resource)]
/// struct Opened(HashSet<StableId>);
///
/// fn note(add: On<Add, Open>, levels: LevelEntities, mut opened: ResMut<Opened>) {
///     // None for what no level has brought.
///     opened.0.extend(levels.stable_id(add.entity));
/// }
/// ```
#[derive(SystemParam)]
pub struct LevelEntities<'w, 's> {
    levels: Query<'w, 's, (Entity, &'static LevelInstance)>,
    parents: Query<'w, 's, &'static ChildOf>,
}

impl LevelEntities<'_, '_> {
    /// The level that has brought an entity, and its root; none for what the game has spawned, wherever that hangs, and for what a level
    /// has forgotten. What hangs below its level, as it came, is found at once; what hangs elsewhere by now, by a look at all levels.
    #[must_use]
    pub fn level_of(&self, entity: Entity) -> Option<(Entity, &LevelInstance)> {
        let has_brought = |(_, level): &(Entity, &LevelInstance)| level.objects.object(entity).is_some();
        let mut above = self.parents.iter_ancestors(entity);
        above
            .find_map(|root| self.levels.get(root).ok().filter(has_brought))
            .or_else(|| self.levels.iter().find(has_brought))
    }

    /// What an entity is called on all machines, if a level has brought it that is in the world and not hidden.
    #[must_use]
    pub fn stable_id(&self, entity: Entity) -> Option<StableId> {
        self.level_of(entity)?.1.stable_id(entity)
    }

    /// The level with this root.
    pub(crate) fn get(&self, root: Entity) -> Option<&LevelInstance> {
        Some(self.levels.get(root).ok()?.1)
    }
}

/// A level that is in the world.
#[derive(Debug)]
struct Placed {
    id: InstanceId,
    path: InstancePath,
    root: Entity,
    objects: Arc<LevelObjects>,
}

impl StableIds {
    /// The entity, if its level is in the world and not hidden. It may have been despawned since the reveal.
    #[must_use]
    pub fn get(&self, id: StableId) -> Option<Entity> {
        let entity = self.first(id.instance)?.objects.entity(id.object)?;
        // One that its level has forgotten has no id any more.
        (entity != Entity::PLACEHOLDER).then_some(entity)
    }

    /// The root of the level with this path, while it is in the world and not hidden.
    #[must_use]
    pub fn root(&self, path: &InstancePath) -> Option<Entity> {
        let level = self.first(path.id())?;
        (level.path == *path).then_some(level.root)
    }

    /// How many levels came so far while their path was taken.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn first(&self, path: u64) -> Option<&Placed> {
        self.levels.get(&path)?.first()
    }

    /// A level is in the world, and seen.
    pub(crate) fn show(
        &mut self,
        id: InstanceId,
        path: &InstancePath,
        (root, objects): (Entity, &Arc<LevelObjects>),
        is_leaving: impl Fn(InstanceId) -> bool,
    ) {
        if path.is_empty() || self.paths.contains_key(&id) {
            return;
        }
        let number = path.id();
        let levels = self.levels.entry(number).or_default();
        let stay = levels.iter().take_while(|level| !is_leaving(level.id)).count();
        if let Some(first) = levels.first().filter(|_| stay > 0) {
            self.refused += 1;
            warn_once!(
                "level `{path}` has no stable ids while `{}` is there: give the requests paths of their own (told once, counted in `StableIds`)",
                first.path
            );
        }
        let placed = Placed {
            id,
            path: path.clone(),
            root,
            objects: objects.clone(),
        };
        levels.insert(stay, placed);
        self.paths.insert(id, number);
    }

    /// A level is not seen any more.
    pub(crate) fn hide(&mut self, id: InstanceId) {
        let Some(number) = self.paths.remove(&id) else { return };
        if let Some(levels) = self.levels.get_mut(&number) {
            levels.retain(|level| level.id != id);
            if levels.is_empty() {
                self.levels.remove(&number);
            }
        }
    }

    /// A level has other objects since.
    pub(crate) fn renew(&mut self, path: &InstancePath, root: Entity, objects: &Arc<LevelObjects>) {
        let levels = self.levels.get_mut(&path.id()).into_iter().flatten();
        for level in levels.filter(|level| level.root == root) {
            level.objects = objects.clone();
        }
    }
}
