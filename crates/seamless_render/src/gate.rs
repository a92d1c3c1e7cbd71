//! Holds reveals back until the GPU has what they show. See [`GpuGate`].

use core::any::TypeId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bevy_asset::UntypedAssetId;
use bevy_ecs::{
    resource::Resource,
    system::{Res, ResMut},
};
use bevy_image::Image;
use bevy_mesh::Mesh;
use bevy_pbr::PreparedMaterial;
use bevy_platform::collections::{HashMap, HashSet};
use bevy_render::{
    erased_render_asset::ErasedRenderAssets, mesh::RenderMesh, render_asset::RenderAssets, texture::GpuImage,
};
use seamless_asset::RevealGate;

/// A [`RevealGate`] that is open for assets which the render world has prepared.
///
/// Meshes, images and materials are prepared without any entity that shows them, so a level's first frame is complete.
/// Pipelines are not: see [`PipelineGate`](crate::PipelineGate).
#[derive(Resource, Clone, Default)]
pub struct GpuGate {
    watched: Arc<Mutex<Watched>>,
}

#[derive(Default)]
pub(crate) struct Watched {
    /// Types of materials, besides meshes and images.
    materials: HashSet<TypeId>,
    /// Whether each asset is prepared, and how many packages wait for it.
    pub(crate) assets: HashMap<UntypedAssetId, (bool, u32)>,
}

impl GpuGate {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Also waits for materials of this type.
    pub(crate) fn add_material(&self, type_id: TypeId) {
        self.lock().materials.insert(type_id);
    }
}

impl Watched {
    fn knows(&self, id: &UntypedAssetId) -> bool {
        let type_id = id.type_id();
        type_id == TypeId::of::<Mesh>() || type_id == TypeId::of::<Image>() || self.materials.contains(&type_id)
    }
}

impl RevealGate for GpuGate {
    fn watch(&self, assets: &[UntypedAssetId]) {
        let mut watched = self.lock();
        for id in assets {
            if watched.knows(id) {
                watched.assets.entry(*id).or_insert((false, 0)).1 += 1;
            }
        }
    }

    fn is_open(&self, assets: &[UntypedAssetId]) -> bool {
        let watched = self.lock();
        assets
            .iter()
            .all(|id| !watched.knows(id) || watched.assets.get(id).is_some_and(|(ready, _)| *ready))
    }

    fn forget(&self, assets: &[UntypedAssetId]) {
        let mut watched = self.lock();
        for id in assets {
            if let Some((_, users)) = watched.assets.get_mut(id) {
                *users = users.saturating_sub(1);
                if *users == 0 {
                    watched.assets.remove(id);
                }
            }
        }
    }
}

/// On another device, nothing is prepared yet.
pub(crate) fn start_over(gate: ResMut<GpuGate>) {
    gate.lock().assets.values_mut().for_each(|(ready, _)| *ready = false);
}

/// In the render world, after everything was prepared: notes which watched assets are there. In an app without Bevy's `PbrPlugin`, as one of sprites alone, nobody prepares
/// materials, and nothing waits for them.
pub(crate) fn note_prepared(
    gate: ResMut<GpuGate>,
    images: Res<RenderAssets<GpuImage>>,
    meshes: Res<RenderAssets<RenderMesh>>,
    materials: Option<Res<ErasedRenderAssets<PreparedMaterial>>>,
) {
    for (id, (ready, _)) in &mut gate.lock().assets {
        if *ready {
            continue;
        }
        *ready = if let Ok(id) = id.try_typed::<Mesh>() {
            meshes.get(id).is_some()
        } else if let Ok(id) = id.try_typed::<Image>() {
            images.get(id).is_some()
        } else {
            materials.as_ref().is_none_or(|materials| materials.get(*id).is_some())
        };
    }
}
