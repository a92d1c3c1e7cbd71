//! UV densities on the entities that draw meshes. See [`place`].
//!
//! A density follows from the mesh, which may be another file's than the level, and change without it. So a level's bytes only say which
//! mesh each row draws, and the numbers are filled in when its package is written.

use std::collections::BTreeMap;

use bevy::asset::UntypedHandle;
use bevy::prelude::*;
use seamless_asset::assets::MeshUvDensity;
use seamless_asset::codec::Record;
use serde::{Deserialize, Serialize};

use crate::assets::{AssetKey, Objects};
use crate::source::SourceEntity;

/// What an entity has until its package is written.
static UNKNOWN: MeshUvDensity = MeshUvDensity { uv_0: None, uv_1: None };

/// A row whose density is to be filled in, and the mesh that it draws, as its place among the level's references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DensityRow {
    pub row: u32,
    pub mesh: u32,
}

/// Gives every entity that draws a mesh a density, unless the scene did.
pub(crate) fn place(entities: &mut [SourceEntity]) {
    for entity in entities {
        if entity.components.contains_key(Mesh3d::type_path()) {
            let density = entity.components.entry(MeshUvDensity::type_path());
            density.or_insert(&UNKNOWN);
        }
    }
}

/// The rows of a group whose densities are to be filled in.
pub(crate) fn rows<'a>(
    group: impl Iterator<Item = &'a SourceEntity<'a>>,
    references: &BTreeMap<&AssetKey, u32>,
    mut key: impl FnMut(&UntypedHandle) -> AssetKey,
) -> Vec<DensityRow> {
    let mut mesh_of = |entity: &SourceEntity| {
        let density = entity.components.get(MeshUvDensity::type_path())?;
        // One that the scene has may be none, too: only ours is filled in.
        let is_ours = core::ptr::addr_eq(*density, &raw const UNKNOWN);
        let mesh = entity.components.get(Mesh3d::type_path())?.downcast_ref::<Mesh3d>()?;
        let mesh = references.get(&key(&mesh.0.clone().untyped())).copied()?;
        is_ours.then_some(mesh)
    };
    let rows = (0..).zip(group);
    rows.filter_map(|(row, entity)| {
        Some(DensityRow {
            row,
            mesh: mesh_of(entity)?,
        })
    })
    .collect()
}

/// The column with the densities of the meshes in it.
pub(crate) fn filled(column: &[u8], rows: &[DensityRow], references: &[AssetKey], objects: &Objects) -> Vec<u8> {
    let mut column = column.to_vec();
    for DensityRow { row, mesh } in rows {
        let object = references.get(*mesh as usize).and_then(|key| objects.get(key));
        let [uv_0, uv_1] = object.map(|object| object.uv_density).unwrap_or_default();
        let mut record = Vec::new();
        MeshUvDensity { uv_0, uv_1 }.write(&mut record);
        let start = *row as usize * record.len();
        if let Some(place) = column.get_mut(start..start + record.len()) {
            place.copy_from_slice(&record);
        }
    }
    column
}
