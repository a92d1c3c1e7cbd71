//! Boxes of meshes: those that are known from their loads, and those that meshes know while Bevy looks for a level's. See [`MeshBoxes`].

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

use super::bounds::{Bounds, box_of, places};
use crate::{codec::DecodedAsset, settings::StreamingClock};

/// From how many vertices on a mesh's box is computed where the mesh is decoded, and kept: below, keeping it costs as much as computing it again.
const WORTH_KEEPING: usize = 256;

/// From how many entities on that show it a mesh lends its box, where that is still to be computed. Bevy computes a box for each of them, on the threads of
/// its pool and the one that waits for them; here one thread computes it once, so it is worth it where they are more than the threads.
fn least_shared() -> usize {
    let threads = ComputeTaskPool::try_get().map_or(0, |pool| pool.thread_num()) + 1;
    threads + 1
}

/// The boxes of meshes, where Bevy gives boxes to what is drawn.
///
/// Those of large meshes are computed where these are decoded, off the main thread, and are known here until Bevy tells that the mesh was changed: so a level
/// that shows many vertices is not the slower for them to be revealed.
///
/// And meshes are lent theirs, by [`Mesh::final_aabb`], while Bevy's `calculate_bounds` runs. Where a `Mesh3d` counts as changed, and in the frame of a
/// reveal they all do, that system makes each entity's box anew from all vertices of its mesh, unless the mesh knows its box. It knows it once its vertices
/// have gone to the GPU and are not kept; of those that are kept somebody may change the vertices, and whoever copies a mesh copies what it knows. So they
/// know it just then.
#[derive(Resource, Default)]
pub(crate) struct MeshBoxes {
    known: HashMap<AssetId<Mesh>, Known>,
    /// The meshes of levels that have come since Bevy looked last, with their boxes, as far as these are known and all changes since are told in this frame.
    wanted: HashMap<AssetId<Mesh>, Option<Aabb3d>>,
    lent: Vec<(AssetId<Mesh>, Aabb3d)>,
}

/// The box of a mesh as it was loaded.
struct Known {
    of: Aabb3d,
    /// Bevy has told that it is there, or in the place of another. What is told after that is somebody's change.
    is_told: bool,
}

impl MeshBoxes {
    /// The box of a mesh, if it is known: as the mesh was before this frame's changes, which Bevy tells after them.
    pub(super) fn known(&self, mesh: AssetId<Mesh>) -> Option<Aabb3d> {
        self.known.get(&mesh).map(|known| known.of)
    }

    /// The meshes of a level are to know their boxes: those whose boxes are known, and those that many entities show.
    pub(super) fn want(&mut self, bounds: &Bounds) {
        let least = least_shared();
        for (mesh, of, entities) in bounds.meshes() {
            let of = of.or_else(|| self.known(mesh));
            if of.is_some() || entities >= least {
                let wanted = self.wanted.entry(mesh).or_default();
                *wanted = of.or(*wanted);
            }
        }
    }

    /// Bevy tells of a mesh: if it is not just that it was loaded, it is another, or gone.
    fn note(&mut self, event: &AssetEvent<Mesh>) {
        let (mesh, is_new) = match event {
            AssetEvent::Added { id } => (*id, true),
            AssetEvent::Modified { id } | AssetEvent::Removed { id } | AssetEvent::Unused { id } => (*id, false),
            AssetEvent::LoadedWithDependencies { .. } => return,
        };
        let is_gone = matches!(event, AssetEvent::Removed { .. } | AssetEvent::Unused { .. });
        let known = self.known.get_mut(&mesh).filter(|known| !is_gone && !known.is_told);
        let is_load = known.map(|known| known.is_told = true).is_some();
        if !is_load {
            self.known.remove(&mesh);
        }
        // Another load may have put it in the place of what a level that came before it shows.
        if !(is_load && is_new)
            && let Some(known) = self.wanted.get_mut(&mesh)
        {
            *known = None;
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
    app.init_resource::<MeshBoxes>().add_systems(
        PostUpdate,
        (
            forget_changed.run_if(are_told).after(AssetEventSystems),
            lend_boxes
                .run_if(MeshBoxes::are_wanted)
                .after(forget_changed)
                .before(VisibilitySystems::CalculateBounds),
            take_back_boxes
                .run_if(MeshBoxes::are_lent)
                .after(VisibilitySystems::CalculateBounds),
        ),
    );
}

/// Computes the box of a decoded mesh if it is worth it, to be known when the mesh is there. Its post-loads have run.
pub(crate) fn keep_box(value: &mut dyn DecodedAsset) {
    let mesh = value.value_mut().and_then(|value| value.downcast_ref::<Mesh>());
    let is_large = |mesh: &Mesh| places(mesh).is_some_and(|places| places.len() >= WORTH_KEEPING);
    let is_worth_it = |mesh: &&Mesh| mesh.final_aabb.is_none() && is_large(mesh);
    if let Some(of) = mesh.filter(is_worth_it).and_then(box_of) {
        value.when_inserted(Box::new(move |world, id| {
            let boxes = world.get_resource_mut::<MeshBoxes>();
            if let (Some(mut boxes), Ok(mesh)) = (boxes, id.try_typed()) {
                boxes.known.insert(mesh, Known { of, is_told: false });
            }
        }));
    }
}

fn are_told(events: Option<Res<Messages<AssetEvent<Mesh>>>>) -> bool {
    events.is_some_and(|events| !events.is_empty())
}

/// What is known of meshes is forgotten when they are changed, or gone.
fn forget_changed(
    mut boxes: ResMut<MeshBoxes>,
    mut events: MessageReader<AssetEvent<Mesh>>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("boxes of meshes");
    events.read().for_each(|event| boxes.note(event));
}

/// Of meshes whose boxes are not known they are computed.
pub(crate) fn lend_boxes(mut boxes: ResMut<MeshBoxes>, mut meshes: ResMut<Assets<Mesh>>, clock: Res<StreamingClock>) {
    let _time = clock.measure("boxes of meshes");
    let MeshBoxes { wanted, lent, .. } = &mut *boxes;
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
fn take_back_boxes(mut boxes: ResMut<MeshBoxes>, mut meshes: ResMut<Assets<Mesh>>, clock: Res<StreamingClock>) {
    let _time = clock.measure("boxes of meshes");
    let meshes = meshes.bypass_change_detection();
    for (id, of) in boxes.lent.drain(..) {
        if let Some(mesh) = meshes.get_mut_untracked(id)
            && mesh.final_aabb == Some(of)
        {
            mesh.final_aabb = None;
        }
    }
}
