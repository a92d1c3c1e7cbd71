//! Meshes that are changed while nobody sees who shows them. See [`ChangedMeshes`].

use bevy_asset::{AssetEvent, AssetId};
use bevy_ecs::{
    entity::{Entity, EntityHashSet},
    message::MessageReader,
    resource::Resource,
    system::ResMut,
    world::World,
};
use bevy_mesh::{Mesh, Mesh3d};
use bevy_platform::collections::HashMap;

/// When meshes were last changed, counted in hides. Bevy makes the boxes of what is drawn anew in the frame in which a mesh changes, for those that queries
/// find by then; others have to look again when they are shown.
#[derive(Resource, Default)]
pub(crate) struct ChangedMeshes {
    hides: u64,
    at: HashMap<AssetId<Mesh>, u64>,
}

impl ChangedMeshes {
    /// Something is hidden; gives what tells it from what was hidden before.
    pub fn begin_hide(&mut self) -> u64 {
        self.hides += 1;
        self.hides
    }

    /// Those of the entities whose meshes were changed since this hide.
    pub fn shown_by(world: &World, entities: &[Entity], since: u64) -> EntityHashSet {
        let Some(changed) = world.get_resource::<Self>() else {
            return EntityHashSet::default();
        };
        if changed.at.values().all(|at| *at < since) {
            return EntityHashSet::default();
        }
        let has_changed = |entity: &Entity| {
            let mesh = world.get::<Mesh3d>(*entity).map(|mesh| mesh.id());
            mesh.and_then(|mesh| changed.at.get(&mesh))
                .is_some_and(|at| *at >= since)
        };
        entities.iter().copied().filter(has_changed).collect()
    }
}

/// Notes which meshes change.
pub(crate) fn note_changed_meshes(mut events: MessageReader<AssetEvent<Mesh>>, mut changed: ResMut<ChangedMeshes>) {
    for event in events.read() {
        match *event {
            AssetEvent::Added { id } | AssetEvent::Modified { id } => {
                let hides = changed.hides;
                changed.at.insert(id, hides);
            }
            AssetEvent::Removed { id } => drop(changed.at.remove(&id)),
            AssetEvent::Unused { .. } | AssetEvent::LoadedWithDependencies { .. } => {}
        }
    }
}
