//! Boxes that meshes know for the frame of a reveal. See [`LentBoxes`].

#[cfg(test)]
mod tests;

use bevy_asset::{AssetEvent, AssetId, Assets};
use bevy_ecs::prelude::*;
use bevy_math::{Vec3A, bounding::Aabb3d};
use bevy_mesh::{Mesh, VertexAttributeValues};
use bevy_tasks::ComputeTaskPool;

use super::bounds::Bounds;
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
    /// Lends their boxes to the meshes that many entities of a level show.
    pub(super) fn lend(world: &mut World, bounds: &Bounds) {
        if !world.contains_resource::<Assets<Mesh>>() {
            return;
        }
        world.resource_scope(|world, mut lent: Mut<Self>| {
            let mut meshes = world.resource_mut::<Assets<Mesh>>();
            // What is lent is nobody's change.
            let meshes = meshes.bypass_change_detection();
            for id in bounds.shared(least_shared()) {
                if let Some(mesh) = meshes.get_mut_untracked(id)
                    && mesh.final_aabb.is_none()
                    && let Some(of) = box_of(mesh)
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
    for (id, of) in lent.0.drain(..) {
        let Some(mesh) = meshes.bypass_change_detection().get_mut_untracked(id) else {
            continue;
        };
        if mesh.final_aabb != Some(of) {
            continue;
        }
        mesh.final_aabb = None;
        let mut events = events.iter_current_update_messages();
        let is_modified = events.any(|event| event.is_modified(id));
        if is_modified && box_of(mesh) != Some(of) {
            // To be written to is to be modified.
            meshes.get_mut(id).as_deref_mut();
        }
    }
}

/// As Bevy computes it when vertices go to the GPU; none where the mesh has none that can be looked at.
fn box_of(mesh: &Mesh) -> Option<Aabb3d> {
    let Ok(VertexAttributeValues::Float32x3(places)) = mesh.try_attribute(Mesh::ATTRIBUTE_POSITION) else {
        return None;
    };
    let mut places = places.iter().map(|place| Vec3A::from_array(*place));
    let first = places.next()?;
    let (min, max) = places.fold((first, first), |(min, max), place| (min.min(place), max.max(place)));
    Some(Aabb3d { min, max })
}
