//! What an app holds, to find what is left behind.

use std::cmp::Reverse;

use bevy::{mesh::skinning::SkinnedMeshInverseBindposes, prelude::*};

/// More ids than are ever free at the same time.
const MANY: u32 = 50_000;

/// All entities of a world.
#[must_use]
pub fn entities(ecs: &World) -> usize {
    ecs.archetypes().iter().map(|archetype| archetype.len() as usize).sum()
}

/// Meshes, images, materials and skins.
///
/// # Panics
/// When the app does not have one of these.
#[must_use]
pub fn assets(ecs: &World) -> [usize; 4] {
    [
        ecs.resource::<Assets<Mesh>>().len(),
        ecs.resource::<Assets<Image>>().len(),
        ecs.resource::<Assets<StandardMaterial>>().len(),
        ecs.resource::<Assets<SkinnedMeshInverseBindposes>>().len(),
    ]
}

/// The highest index of so many new entities that no free id is left over: one higher for each id that was lost. From then
/// on it is the peak: nothing else is ever higher, unless ids are lost.
#[must_use]
pub fn highest_index(ecs: &mut World) -> usize {
    let mut ids: Vec<Entity> = ecs.entity_allocator().alloc_many(MANY).collect();
    // What is freed last is handed out first: low indices, as without this.
    ids.sort_unstable_by_key(|id| Reverse(id.index_u32()));
    ecs.entity_allocator_mut().free_many(&ids);
    ids.first().map_or(0, |id| id.index_u32() as usize)
}
