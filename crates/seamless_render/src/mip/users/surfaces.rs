//! Where within their boxes large meshes are. See [`MeshSurfaces`].

#[cfg(test)]
pub(super) mod tests;

use std::{collections::VecDeque, sync::Arc};

use bevy_app::App;
use bevy_asset::{AssetEvent, AssetId, Assets, RenderAssetUsages};
use bevy_ecs::entity::{Entity, EntityHashSet};
use bevy_mesh::{Mesh, VertexAttributeValues};
use bevy_platform::collections::{HashMap, HashSet};
use bevy_tasks::{AsyncComputeTaskPool, Task, futures::check_ready};
use seamless_asset::SeamlessAssetApp;

use super::{
    follow::MipUsers,
    meshes::{Triangles, coordinates},
};
use crate::mip::need::{LEAST_DIAGONAL, SurfaceSphere, surface_spheres};

/// How many meshes are looked at at once.
const TASKS: usize = 2;
/// So many bytes of meshes are copied for that in a frame, or one mesh.
const COPIED: usize = 4 << 20;

/// The spheres of meshes that are large, until they go. Those of packages come with them; others are found on tasks, if somebody draws with them and they are
/// still in memory. Until then, and where that is not so, it is only known in which box they are.
#[derive(Default)]
pub(in crate::mip) struct MeshSurfaces {
    of: HashMap<AssetId<Mesh>, Arc<[SurfaceSphere]>>,
    /// Meshes that were looked at, whether they have spheres or not.
    known: HashSet<AssetId<Mesh>>,
    /// Meshes that were set, and of which it was not told yet that they have come.
    set: HashSet<AssetId<Mesh>>,
    /// Meshes that are to be looked at, and who draws with them.
    sought: HashMap<AssetId<Mesh>, EntityHashSet>,
    /// The order in which they are; some may not be sought any more.
    queue: VecDeque<AssetId<Mesh>>,
    finding: Vec<(AssetId<Mesh>, Task<Vec<SurfaceSphere>>)>,
}

impl MeshSurfaces {
    /// Where the mesh is.
    pub fn get(&self, mesh: AssetId<Mesh>) -> Option<&Arc<[SurfaceSphere]>> {
        self.of.get(&mesh)
    }

    /// The mesh has come, or another in its place.
    pub fn set(&mut self, mesh: AssetId<Mesh>, spheres: Vec<SurfaceSphere>) {
        self.forget(mesh);
        self.set.insert(mesh);
        self.know(mesh, spheres);
    }

    /// An entity draws with the mesh, whose box is so long from corner to corner.
    pub fn seek(&mut self, mesh: AssetId<Mesh>, entity: Entity, diagonal: f32) {
        if diagonal < LEAST_DIAGONAL || self.known.contains(&mesh) {
            return;
        }
        let Self { sought, queue, .. } = self;
        let users = sought.entry(mesh).or_insert_with(|| {
            queue.push_back(mesh);
            EntityHashSet::default()
        });
        users.insert(entity);
    }

    /// Whether some mesh has not been looked at yet.
    pub fn is_seeking(&self) -> bool {
        !self.sought.is_empty()
    }

    /// Looks at the next meshes; `found` is told who draws with one of which it is known now where it is.
    pub fn find(&mut self, meshes: &Assets<Mesh>, mut found: impl FnMut(Entity)) {
        let mut done = Vec::new();
        self.finding.retain_mut(|(mesh, task)| match check_ready(task) {
            Some(spheres) => {
                done.push((*mesh, spheres));
                false
            }
            None => true,
        });
        for (mesh, spheres) in done {
            let users = self.sought.remove(&mesh).unwrap_or_default();
            if !spheres.is_empty() {
                users.into_iter().for_each(&mut found);
            }
            self.know(mesh, spheres);
        }
        let mut copied = 0;
        while self.finding.len() < TASKS && copied < COPIED {
            let Some(mesh) = self.queue.pop_front() else { return };
            let is_found = self.finding.iter().any(|(of, _)| *of == mesh);
            if is_found || !self.sought.contains_key(&mesh) {
                continue;
            }
            let Some(alone) = meshes.get(mesh).and_then(surface_alone) else {
                self.sought.remove(&mesh);
                // It is sought again when it comes.
                if meshes.contains(mesh) {
                    self.known.insert(mesh);
                }
                continue;
            };
            copied += alone.get_vertex_buffer_size();
            let task = AsyncComputeTaskPool::get().spawn(async move { spheres_of(&alone) });
            self.finding.push((mesh, task));
        }
    }

    /// The mesh may have gone, or have been edited: then it has another surface, which nobody knows.
    pub fn note(&mut self, event: &AssetEvent<Mesh>) {
        match *event {
            AssetEvent::Added { id } | AssetEvent::Modified { id } if self.set.remove(&id) => {}
            AssetEvent::Modified { id } => {
                let users = self.sought.remove(&id);
                self.forget(id);
                if let Some(users) = users {
                    self.queue.push_back(id);
                    self.sought.insert(id, users);
                }
            }
            AssetEvent::Removed { id } | AssetEvent::Unused { id } => self.forget(id),
            AssetEvent::Added { .. } | AssetEvent::LoadedWithDependencies { .. } => {}
        }
    }

    fn know(&mut self, mesh: AssetId<Mesh>, spheres: Vec<SurfaceSphere>) {
        self.known.insert(mesh);
        if !spheres.is_empty() {
            self.of.insert(mesh, spheres.into());
        }
    }

    fn forget(&mut self, mesh: AssetId<Mesh>) {
        self.of.remove(&mesh);
        self.set.remove(&mesh);
        self.known.remove(&mesh);
        self.sought.remove(&mesh);
        self.finding.retain(|(of, _)| *of != mesh);
    }
}

/// Finds the surfaces of meshes as they come from packages, off the main thread.
pub(in crate::mip) fn add_surfaces(app: &mut App) {
    app.add_post_load::<Mesh>(|mesh, load| {
        let spheres = spheres_of(mesh);
        load.when_inserted(move |world, id| {
            if let (Ok(id), Some(mut users)) = (id.try_typed(), world.get_resource_mut::<MipUsers>()) {
                users.surfaces.set(id, spheres);
            }
        });
        Ok(())
    });
}

/// Whether neither bones nor morph targets move it, and it is in memory.
fn is_rigid(mesh: &Mesh) -> bool {
    let is_skinned = !matches!(mesh.try_attribute_option(Mesh::ATTRIBUTE_JOINT_INDEX), Ok(None));
    let is_morphed = !matches!(mesh.try_has_morph_targets(), Ok(false));
    !is_skinned && !is_morphed
}

/// What of a mesh is needed for its spheres, for a task; none if it will have none.
fn surface_alone(mesh: &Mesh) -> Option<Mesh> {
    if !is_rigid(mesh) {
        return None;
    }
    let mut alone = Mesh::new(mesh.primitive_topology(), RenderAssetUsages::MAIN_WORLD);
    for attribute in [Mesh::ATTRIBUTE_POSITION, Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1] {
        if let Some(values) = mesh.try_attribute_option(attribute).ok()? {
            alone.insert_attribute(attribute, values.clone());
        }
    }
    if let Some(indices) = mesh.try_indices_option().ok()? {
        alone.insert_indices(indices.clone());
    }
    Some(alone)
}

/// None for small meshes, and for those that are not rigid.
pub(super) fn spheres_of(mesh: &Mesh) -> Vec<SurfaceSphere> {
    let Ok(Some(VertexAttributeValues::Float32x3(positions))) = mesh.try_attribute_option(Mesh::ATTRIBUTE_POSITION)
    else {
        return Vec::new();
    };
    let Some(triangles) = Triangles::new(mesh, positions.len()).filter(|_| is_rigid(mesh)) else {
        return Vec::new();
    };
    let channels = [Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1];
    let channels = channels.map(|channel| coordinates(mesh, channel).unwrap_or_default());
    let corners = (0..triangles.len).filter_map(|at| Some(triangles.get(at)?.map(|corner| corner as u32)));
    surface_spheres(positions, channels, corners)
}
