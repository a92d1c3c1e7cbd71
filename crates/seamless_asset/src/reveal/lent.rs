//! Boxes that meshes know while Bevy looks for those of a level's entities. See [`LentBoxes`].

#[cfg(test)]
mod tests;

use bevy_app::{App, PostUpdate};
use bevy_asset::{AssetEvent, AssetEventSystems, AssetId, Assets};
use bevy_camera::visibility::VisibilitySystems;
use bevy_ecs::prelude::*;
use bevy_math::bounding::Aabb3d;
use bevy_mesh::Mesh;
use bevy_platform::collections::HashMap;
use bevy_tasks::ComputeTaskPool;

use super::bounds::{Bounds, box_of};
use crate::settings::StreamingClock;

/// From how many entities on that show it a mesh lends its box, where that is still to be computed. Bevy computes a box for each of them, on the threads of
/// its pool and the one that waits for them; here one thread computes it once, so it is worth it where they are more than the threads.
fn least_shared() -> usize {
    let threads = ComputeTaskPool::try_get().map_or(0, |pool| pool.thread_num()) + 1;
    threads + 1
}

/// Meshes that know their boxes by [`Mesh::final_aabb`] while Bevy's `calculate_bounds` runs.
///
/// Where a `Mesh3d` counts as changed, and in the frame of a reveal they all do, that system makes each entity's box anew from all vertices of its mesh,
/// unless the mesh knows its box. It knows it once its vertices have gone to the GPU and are not kept; of those that are kept somebody may change the
/// vertices, and whoever copies a mesh copies what it knows. So they know it just then.
#[derive(Resource, Default)]
pub(crate) struct LentBoxes {
    /// The meshes of levels that have come since Bevy looked last, with their boxes, as far as these are known and all changes since are told in this frame.
    wanted: HashMap<AssetId<Mesh>, Option<Aabb3d>>,
    lent: Vec<(AssetId<Mesh>, Aabb3d)>,
}

impl LentBoxes {
    /// The meshes of a level are to know their boxes: those whose boxes are known, and those that many entities show.
    pub(super) fn want(&mut self, bounds: &Bounds) {
        for (mesh, known) in bounds.worth_lending(least_shared()) {
            let wanted = self.wanted.entry(mesh).or_default();
            *wanted = known.or(*wanted);
        }
    }

    fn are_wanted(boxes: Res<Self>) -> bool {
        !boxes.wanted.is_empty()
    }

    fn are_lent(boxes: Res<Self>) -> bool {
        !boxes.lent.is_empty()
    }
}

/// Where Bevy gives boxes.
pub(crate) fn add_systems(app: &mut App) {
    app.init_resource::<LentBoxes>().add_systems(
        PostUpdate,
        (
            lend_boxes
                .run_if(LentBoxes::are_wanted)
                .after(AssetEventSystems)
                .before(VisibilitySystems::CalculateBounds),
            take_back_boxes
                .run_if(LentBoxes::are_lent)
                .after(VisibilitySystems::CalculateBounds),
        ),
    );
}

/// Of meshes that were changed in this frame the box is computed anew.
pub(crate) fn lend_boxes(
    mut boxes: ResMut<LentBoxes>,
    mut meshes: ResMut<Assets<Mesh>>,
    events: Res<Messages<AssetEvent<Mesh>>>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure();
    let LentBoxes { wanted, lent } = &mut *boxes;
    for event in events.iter_current_update_messages() {
        if let AssetEvent::Modified { id } = event
            && let Some(known) = wanted.get_mut(id)
        {
            *known = None;
        }
    }
    // What is lent is nobody's change.
    let meshes = meshes.bypass_change_detection();
    for (id, known) in wanted.drain() {
        if let Some(mesh) = meshes.get_mut_untracked(id)
            && mesh.final_aabb.is_none()
            && let Some(of) = known.or_else(|| box_of(mesh))
        {
            mesh.final_aabb = Some(of);
            lent.push((id, of));
        }
    }
}

/// They do not know their boxes any more.
fn take_back_boxes(mut boxes: ResMut<LentBoxes>, mut meshes: ResMut<Assets<Mesh>>, clock: Res<StreamingClock>) {
    let _time = clock.measure();
    let meshes = meshes.bypass_change_detection();
    for (id, of) in boxes.lent.drain(..) {
        if let Some(mesh) = meshes.get_mut_untracked(id)
            && mesh.final_aabb == Some(of)
        {
            mesh.final_aabb = None;
        }
    }
}
