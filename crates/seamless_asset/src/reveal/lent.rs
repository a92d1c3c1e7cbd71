//! Boxes that meshes know for the frame of a reveal. See [`LentBoxes`].

#[cfg(test)]
mod tests;

use bevy_asset::{AssetEvent, AssetId, Assets};
use bevy_ecs::prelude::*;
use bevy_math::bounding::Aabb3d;
use bevy_mesh::Mesh;
use bevy_platform::collections::HashSet;
use bevy_tasks::ComputeTaskPool;

use super::bounds::{ShownMeshes, box_of};
use crate::settings::StreamingClock;

/// From how many entities on that show it a mesh lends its box. Bevy computes a box for each of them, on the threads of its pool and the
/// one that waits for them; here one thread computes it once, so it is worth it where they are more than the threads.
fn least_shared() -> usize {
    let threads = ComputeTaskPool::try_get().map_or(0, |pool| pool.thread_num()) + 1;
    threads + 1
}

/// Meshes that know their boxes by [`Mesh::final_aabb`] until the end of this frame, and the boxes.
///
/// Where a `Mesh3d` counts as changed, and in the frame of a reveal they all do, Bevy's `calculate_bounds` makes each entity's box anew from all
/// vertices of its mesh, unless the mesh knows its box. It knows it once its vertices have gone to the GPU and are not kept; of those that are kept
/// somebody may change the vertices, and then a box that is known would be wrong. So they know it for one frame only.
#[derive(Resource, Default)]
pub(crate) struct LentBoxes(Vec<(AssetId<Mesh>, Aabb3d)>);

impl LentBoxes {
    /// Lends their boxes to the meshes of a level: those that are known, and those that many entities show.
    pub(super) fn lend(world: &mut World, shown: &ShownMeshes) {
        if !world.contains_resource::<Assets<Mesh>>() {
            return;
        }
        world.resource_scope(|world, mut lent: Mut<Self>| {
            let mut meshes = world.resource_mut::<Assets<Mesh>>();
            // What is lent is nobody's change.
            let meshes = meshes.bypass_change_detection();
            for (id, known) in shown.worth_lending(least_shared()) {
                if let Some(mesh) = meshes.get_mut_untracked(id)
                    && mesh.final_aabb.is_none()
                    && let Some(of) = known.or_else(|| box_of(mesh))
                {
                    mesh.final_aabb = Some(of);
                    lent.0.push((id, of));
                }
            }
        });
    }

    /// Whether some meshes have lent boxes.
    pub fn are_any(lent: Res<Self>) -> bool {
        !lent.0.is_empty()
    }
}

/// At the end of the frame they do not know their boxes any more. Whose vertices were changed after the reveal, so late that its entities
/// got the box from before, counts as modified once more.
pub(crate) fn take_back_boxes(
    mut lent: ResMut<LentBoxes>,
    mut meshes: ResMut<Assets<Mesh>>,
    events: Res<Messages<AssetEvent<Mesh>>>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure();
    let mut modified = HashSet::new();
    for event in events.iter_current_update_messages() {
        if let AssetEvent::Modified { id } = event {
            modified.insert(*id);
        }
    }
    for (id, of) in lent.0.drain(..) {
        let Some(mesh) = meshes.bypass_change_detection().get_mut_untracked(id) else {
            continue;
        };
        if mesh.final_aabb != Some(of) {
            continue;
        }
        mesh.final_aabb = None;
        if modified.contains(&id) && box_of(mesh) != Some(of) {
            // To be written to is to be modified.
            meshes.get_mut(id).as_deref_mut();
        }
    }
}
