//! The boxes of what is drawn, before it is seen. See [`Bounds`].

use bevy_asset::{AssetId, Assets};
use bevy_camera::{
    primitives::{Aabb, MeshAabb},
    visibility::{NoAutoAabb, NoFrustumCulling},
};
use bevy_ecs::{archetype::ArchetypeId, component::ComponentId, entity::Entity, world::World};
use bevy_mesh::{Mesh, Mesh3d};
use bevy_platform::collections::HashMap;

/// Gives hidden entities the [`Aabb`]s that Bevy's `calculate_bounds` would give them.
///
/// That system does not see them while they are hidden. In the frame of the reveal it would see them all, and move each into another
/// archetype by a command.
pub(super) struct Bounds {
    mesh: ComponentId,
    /// Who has one of these needs no box.
    but: [ComponentId; 3],
    of: HashMap<AssetId<Mesh>, Option<Aabb>>,
}

impl Bounds {
    pub fn new(world: &mut World) -> Self {
        Self {
            mesh: world.register_component::<Mesh3d>(),
            but: [
                world.register_component::<Aabb>(),
                world.register_component::<NoFrustumCulling>(),
                world.register_component::<NoAutoAabb>(),
            ],
            of: HashMap::default(),
        }
    }

    /// The component that [`add`](Self::add) inserts.
    pub fn component(&self) -> ComponentId {
        let [aabb, ..] = self.but;
        aabb
    }

    /// To those of `entities` that need one, and whose mesh is there.
    pub fn add(&mut self, world: &mut World, entities: &[Entity]) {
        let boxes: Vec<(Entity, Aabb)> = self.missing(world, entities);
        // All of them are alive.
        let _ = world.try_insert_batch(boxes);
    }

    fn missing(&mut self, world: &World, entities: &[Entity]) -> Vec<(Entity, Aabb)> {
        let Some(meshes) = world.get_resource::<Assets<Mesh>>() else {
            return Vec::new();
        };
        let mut missing = Vec::new();
        let mut last: Option<(ArchetypeId, bool)> = None;
        for &entity in entities {
            let Ok(at) = world.entities().get_spawned(entity) else {
                continue;
            };
            let needs_one = match last {
                Some((archetype, needs_one)) if archetype == at.archetype_id => needs_one,
                _ => self.is_missing(world, at.archetype_id),
            };
            last = Some((at.archetype_id, needs_one));
            if needs_one && let Some(mesh) = world.get::<Mesh3d>(entity) {
                let of = self.of.entry(mesh.id());
                let found = of.or_insert_with(|| meshes.get(mesh.id()).and_then(MeshAabb::compute_aabb));
                missing.extend(found.map(|found| (entity, found)));
            }
        }
        missing
    }

    fn is_missing(&self, world: &World, archetype: ArchetypeId) -> bool {
        let archetype = world.archetypes().get(archetype);
        archetype.is_some_and(|of| of.contains(self.mesh) && !self.but.iter().any(|id| of.contains(*id)))
    }
}
