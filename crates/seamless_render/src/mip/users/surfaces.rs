//! Where within their boxes large meshes are. See [`MeshSurfaces`].

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bevy_app::App;
use bevy_asset::{AssetEvent, AssetId};
use bevy_mesh::{Mesh, VertexAttributeValues};
use bevy_platform::collections::{HashMap, HashSet};
use seamless_asset::SeamlessAssetApp;

use super::{
    follow::MipUsers,
    meshes::{Triangles, coordinates},
};
use crate::mip::need::{SurfaceSphere, surface_spheres};

/// The spheres of meshes that have come from packages and are large, until they go. Of other meshes it is only known in which box they are.
#[derive(Debug, Default)]
pub(in crate::mip) struct MeshSurfaces {
    of: HashMap<AssetId<Mesh>, Arc<[SurfaceSphere]>>,
    /// Meshes that were set, and of which it was not told yet that they have come.
    set: HashSet<AssetId<Mesh>>,
}

impl MeshSurfaces {
    /// Where the mesh is.
    pub fn get(&self, mesh: AssetId<Mesh>) -> Option<&Arc<[SurfaceSphere]>> {
        self.of.get(&mesh)
    }

    /// The mesh has come, or another in its place.
    pub fn set(&mut self, mesh: AssetId<Mesh>, spheres: Vec<SurfaceSphere>) {
        if spheres.is_empty() {
            self.forget(mesh);
        } else {
            self.of.insert(mesh, spheres.into());
            self.set.insert(mesh);
        }
    }

    /// The mesh may have gone, or have been edited: then it has another surface, which nobody knows.
    pub fn note(&mut self, event: &AssetEvent<Mesh>) {
        match *event {
            AssetEvent::Added { id } | AssetEvent::Modified { id } if self.set.remove(&id) => {}
            AssetEvent::Modified { id } | AssetEvent::Removed { id } | AssetEvent::Unused { id } => self.forget(id),
            AssetEvent::Added { .. } | AssetEvent::LoadedWithDependencies { .. } => {}
        }
    }

    fn forget(&mut self, mesh: AssetId<Mesh>) {
        self.of.remove(&mesh);
        self.set.remove(&mesh);
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

/// None for small meshes, and for those that bones or morph targets move.
fn spheres_of(mesh: &Mesh) -> Vec<SurfaceSphere> {
    let Ok(Some(VertexAttributeValues::Float32x3(positions))) = mesh.try_attribute_option(Mesh::ATTRIBUTE_POSITION)
    else {
        return Vec::new();
    };
    let is_skinned = !matches!(mesh.try_attribute_option(Mesh::ATTRIBUTE_JOINT_INDEX), Ok(None));
    let is_morphed = !matches!(mesh.try_has_morph_targets(), Ok(false));
    let Some(triangles) = Triangles::new(mesh, positions.len()).filter(|_| !is_skinned && !is_morphed) else {
        return Vec::new();
    };
    let channels = [Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1];
    let channels = channels.map(|channel| coordinates(mesh, channel).unwrap_or_default());
    let corners = (0..triangles.len).filter_map(|at| Some(triangles.get(at)?.map(|corner| corner as u32)));
    surface_spheres(positions, channels, corners)
}
