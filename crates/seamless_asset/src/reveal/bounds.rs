//! The boxes of what is drawn, before it is seen. See [`Bounds`].

use bevy_asset::{AssetId, Assets};
use bevy_camera::primitives::{Aabb, MeshAabb};
use bevy_ecs::{archetype::ArchetypeId, component::ComponentId, entity::Entity, world::World};
use bevy_mesh::{Mesh, Mesh3d};
use bevy_platform::collections::HashMap;

use crate::spawn::{Boxes, may_have_box};

/// Gives hidden entities the [`Aabb`]s that Bevy's `calculate_bounds` would give them, and counts who shows which mesh.
///
/// That system does not see them while they are hidden. In the frame of the reveal it would see them all, and move each into another
/// archetype by a command.
pub(super) struct Bounds {
    aabb: ComponentId,
    shown: HashMap<AssetId<Mesh>, Shown>,
}

/// A mesh that the level shows.
#[derive(Default)]
struct Shown {
    /// Its box, once an entity came that had none.
    of: Option<Option<Aabb>>,
    /// Entities whose boxes follow from it.
    entities: usize,
}

impl Shown {
    /// The box of this mesh.
    fn get(&mut self, mesh: AssetId<Mesh>, meshes: &Assets<Mesh>) -> Option<Aabb> {
        let compute = || meshes.get(mesh).and_then(MeshAabb::compute_aabb);
        *self.of.get_or_insert_with(compute)
    }
}

impl Boxes for Bounds {
    fn of(&mut self, world: &World, mesh: &Mesh3d) -> Option<Aabb> {
        let shown = self.shown.entry(mesh.id()).or_default();
        shown.get(mesh.id(), world.get_resource::<Assets<Mesh>>()?)
    }
}

/// What entities of an archetype need.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Nothing,
    /// It has a box, which is that of its mesh.
    Count,
    Box,
}

impl Bounds {
    pub fn new(world: &mut World) -> Self {
        Self {
            aabb: world.register_component::<Aabb>(),
            shown: HashMap::default(),
        }
    }

    /// The component that [`add`](Self::add) inserts.
    pub fn component(&self) -> ComponentId {
        self.aabb
    }

    /// To those of `entities` that need one and did not come with it, and whose mesh is there.
    pub fn add(&mut self, world: &mut World, entities: &[Entity]) {
        let boxes: Vec<(Entity, Aabb)> = self.missing(world, entities);
        // All of them are alive.
        let _ = world.try_insert_batch(boxes);
    }

    /// The meshes from which at least so many boxes follow.
    pub fn shared(&self, least: usize) -> impl Iterator<Item = AssetId<Mesh>> {
        let shared = self.shown.iter().filter(move |(_, shown)| shown.entities >= least);
        shared.map(|(mesh, _)| *mesh)
    }

    fn missing(&mut self, world: &World, entities: &[Entity]) -> Vec<(Entity, Aabb)> {
        let Some(meshes) = world.get_resource::<Assets<Mesh>>() else {
            return Vec::new();
        };
        let mut missing = Vec::new();
        let mut last: Option<(ArchetypeId, Need)> = None;
        for &entity in entities {
            let Ok(at) = world.entities().get_spawned(entity) else {
                continue;
            };
            let need = match last {
                Some((archetype, need)) if archetype == at.archetype_id => need,
                _ => self.need(world, at.archetype_id),
            };
            last = Some((at.archetype_id, need));
            if need == Need::Nothing {
                continue;
            }
            let Some(mesh) = world.get::<Mesh3d>(entity) else {
                continue;
            };
            let shown = self.shown.entry(mesh.id()).or_default();
            shown.entities += 1;
            if need == Need::Box {
                missing.extend(shown.get(mesh.id(), meshes).map(|found| (entity, found)));
            }
        }
        missing
    }

    fn need(&self, world: &World, archetype: ArchetypeId) -> Need {
        let Some(archetype) = world.archetypes().get(archetype) else {
            return Need::Nothing;
        };
        let is_there = |id| archetype.contains(id);
        let has = |type_id| world.components().get_id(type_id).is_some_and(is_there);
        match (may_have_box(has), is_there(self.aabb)) {
            (false, _) => Need::Nothing,
            (true, true) => Need::Count,
            (true, false) => Need::Box,
        }
    }
}
