//! A level that comes in slices. See [`HiddenSpawn`].

use core::time::Duration;
use std::sync::Arc;

use bevy_camera::primitives::Aabb;
use bevy_ecs::{entity::Entity, hierarchy::ChildOf, world::World};
use bevy_platform::time::Instant;

use super::{
    LatePasses, Revealed, SpentLevel, bounds::Bounds, insert_resources, members, mesh_boxes::MeshBoxes, spawner,
};
use crate::{
    hide::{LevelHiders, show_first},
    leave::Sweep,
    load::{InstanceRequest, LevelScans, LoadServices, LoadedLevel},
    spawn::{Boxes, Spawner},
    trees::{CameAt, SettledTrees, Untouched},
};

/// A level that is spawned over several frames, [hidden](crate::InHiddenLevel) until all of it is there and one frame shows it.
///
/// The slices have what the first pass of a reveal has, the one frame the second: what somebody observes comes when the level is
/// whole and can be seen.
pub(crate) struct HiddenSpawn {
    spawner: Spawner,
    passes: LatePasses,
    /// None where Bevy gives no boxes, and where somebody wants to hear of them: then Bevy gives them when the level can be seen.
    bounds: Option<Bounds>,
    /// How many entities are there, the root counted.
    spawned: usize,
    came_at: CameAt,
    /// Whether it comes with its final places.
    is_settled: bool,
    loaded: Box<LoadedLevel>,
    reserved: Vec<Entity>,
}

impl HiddenSpawn {
    pub fn new(
        world: &mut World,
        mut loaded: Box<LoadedLevel>,
        request: &InstanceRequest,
        services: &LoadServices,
    ) -> Self {
        let (mut spawner, passes, reserved) = spawner(world, &mut loaded, request, services, true);
        let bounds = core::mem::take(&mut loaded.bounds).wanted(world, &passes, services);
        spawner.bring(bounds.as_ref().and_then(|_| world.component_id::<Aabb>()));
        Self {
            spawner,
            passes,
            bounds,
            spawned: 0,
            came_at: CameAt::default(),
            is_settled: loaded.settled == Some(request.placement),
            loaded,
            reserved,
        }
    }

    /// Bytes read for this level alone.
    pub fn bytes(&self) -> u64 {
        self.loaded.bytes
    }

    /// The content of its file.
    pub fn content_hash(&self) -> u64 {
        self.loaded.content_hash
    }

    /// Spawns the next entities, `most` at most; gives how many.
    pub fn step(&mut self, world: &mut World, most: usize) -> usize {
        let (spawner, passes, bounds) = (&mut self.spawner, &self.passes, &mut self.bounds);
        let boxes = bounds.as_mut().map(|bounds| bounds as &mut dyn Boxes);
        let done = self
            .came_at
            .bring(world, |world| spawner.step(world, most, passes, boxes));
        let before = self.spawned;
        self.spawned += done;
        if self.is_settled {
            // The root is not among them, and came first.
            let come = before.saturating_sub(1)..self.spawned.saturating_sub(1);
            let entities = self.loaded.level.entities.get(come).unwrap_or_default();
            LevelHiders::spawned(world, entities);
        }
        done
    }

    /// Whether all are there.
    pub fn is_done(&self) -> bool {
        self.spawner.is_done()
    }

    /// What all of it will take in memory, about.
    pub fn memory(&self) -> u64 {
        self.loaded.memory
    }

    /// What was found in its columns.
    pub fn scans(&self) -> &Arc<LevelScans> {
        &self.loaded.scans
    }

    pub fn root(&self) -> Entity {
        self.loaded.root
    }

    /// The level's entities, the root not counted.
    pub fn len(&self) -> usize {
        self.loaded.level.entities.len()
    }

    /// How many are still to come.
    pub fn left(&self) -> usize {
        (self.len() + 1).saturating_sub(self.spawned)
    }

    /// How many entities the one frame has to move once more.
    pub fn late_rows(&self) -> usize {
        self.spawner.late_rows()
    }

    /// Whether it cannot go on: somebody has begun to observe a component that has come already, or the root is gone.
    pub fn is_spoilt(&self, world: &World) -> bool {
        let is_rootless = self.spawner.has_begun() && !world.entities().contains_spawned(self.root());
        is_rootless || self.spawner.is_overheard(world, &self.passes.insertions())
    }

    /// The one frame in which the level can be seen, all components of it added just now. And what those took of it that somebody observes.
    pub fn show(self, world: &mut World, request: &InstanceRequest, services: &LoadServices) -> (Revealed, Duration) {
        let Self {
            mut spawner,
            mut bounds,
            came_at,
            is_settled,
            mut loaded,
            reserved,
            ..
        } = self;
        insert_resources(world, &loaded, request, services);
        despawn_orphans(world, &loaded);
        let root = loaded.root;
        let mut entities = Vec::with_capacity(loaded.level.entities.len() + 1);
        entities.push(root);
        entities.extend_from_slice(&loaded.level.entities);
        // Before anybody hears of it: observers find the whole level.
        let untouched = untouched(
            world,
            &loaded,
            came_at,
            is_settled && loaded.settled == Some(request.placement),
        );
        let shown = show_first(world, &entities, untouched);
        if let Some(at) = shown.settled_at {
            world.get_resource_or_init::<SettledTrees>().come(at);
        }
        let start = Instant::now();
        if spawner.insert_ties(world) {
            despawn_orphans(world, &loaded);
        }
        let spent = spawner.insert_late(world);
        let observed = start.elapsed();
        if let Some(bounds) = &mut bounds {
            bounds.forget();
            world.resource_mut::<MeshBoxes>().want(bounds);
        }
        let revealed = Revealed {
            root,
            members: members(world, &mut loaded, shown.hung_since),
            spent: SpentLevel {
                _values: spent,
                _reserved: reserved,
                _bounds: bounds,
                _loaded: Some(loaded),
            },
        };
        (revealed, observed)
    }

    /// It is not wanted any more: what is to be despawned, what ids are to be given back after that, and the rest.
    pub fn abandon(mut self: Box<Self>, world: &World) -> (Sweep, Vec<Entity>, Box<Self>) {
        let waiting = self.spawner.waiting().collect();
        let is_spawned = |entity: &Entity| world.entities().contains_spawned(*entity);
        let level = &mut self.loaded.level;
        let mut parents = core::mem::take(&mut level.parents);
        parents.retain(is_spawned);
        // In their order, the root first. The sweep passes over those that have gone by themselves.
        let spawned = self.spawned.saturating_sub(1);
        let entities = level.entities.get(..spawned).unwrap_or_default().into();
        (Sweep::new(self.loaded.root, entities, parents), waiting, self)
    }
}

/// How a level is known to hang together as it came and, if it came with final global transforms, to stand there.
fn untouched(world: &mut World, loaded: &LoadedLevel, came_at: CameAt, is_settled: bool) -> Untouched {
    let level = &loaded.level;
    // The root has no parent, and children.
    Untouched::new(
        world,
        is_settled,
        level.entities.len(),
        level.parents.len() + 1,
        came_at,
    )
}

/// Despawns what hangs below whom somebody has despawned while the level came in slices: those who were to come after that could not go with it.
fn despawn_orphans(world: &mut World, loaded: &LoadedLevel) {
    let is_there = |entity: Entity| world.entities().contains_spawned(entity);
    let level = &loaded.level;
    if level.parents.iter().all(|parent| is_there(*parent)) {
        return;
    }
    let is_orphan = |entity: &Entity| {
        let parent = world.get::<ChildOf>(*entity);
        parent.is_some_and(|parent| !is_there(parent.parent()))
    };
    let orphans: Vec<Entity> = level.entities.iter().copied().filter(is_orphan).collect();
    for orphan in orphans {
        // One may hang below another.
        world.try_despawn(orphan).ok();
    }
}
