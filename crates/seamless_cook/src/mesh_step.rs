//! Meshes are put in order for the GPU where nobody sees it. See [`MeshUse`].

use std::collections::BTreeMap;

use bevy::asset::UntypedHandle;
use bevy::prelude::*;
use bevy::reflect::TypePath;
use seamless_asset::assets::MeshCodec;
use seamless_asset::codec::{AssetCodec, EncodeContext, EncodeError, EncodedAsset};
use serde::{Deserialize, Serialize};

use crate::assets::{AssetKey, ByKeyRef, Closure, Objects};
use crate::graph::state::LevelUnit;
use crate::mesh::{Reorder, reordered};
use crate::source::SourceEntity;

/// What a mesh is used for, as far as the order of its triangles goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum MeshUse {
    /// All that draws it hides what is behind: which triangle came first is not seen.
    Hides,
    /// Something blends, or does what the cooker knows nothing of.
    Any,
}

impl MeshUse {
    fn of(hides: bool) -> Self {
        if hides { Self::Hides } else { Self::Any }
    }

    /// What serves both.
    pub fn join(self, other: Self) -> Self {
        self.max(other)
    }
}

/// A mesh, and the material that a level draws it with, if that is one that the cooker knows.
pub(crate) type Draw = (AssetKey, Option<AssetKey>);

/// Whether a material hides what is behind it.
pub(crate) fn hides(material: &StandardMaterial) -> bool {
    let is_opaque = matches!(
        material.alpha_mode,
        AlphaMode::Opaque | AlphaMode::Mask(_) | AlphaMode::AlphaToCoverage
    );
    is_opaque && material.specular_transmission <= 0.0 && material.diffuse_transmission <= 0.0
}

/// What entities draw, each pair once, and what the mesh is used for there.
pub(crate) fn draws(
    world: &World,
    entities: &[SourceEntity],
    mut key: impl FnMut(&UntypedHandle) -> AssetKey,
) -> BTreeMap<Draw, MeshUse> {
    let materials = world.get_resource::<Assets<StandardMaterial>>();
    let mut drawn = BTreeMap::new();
    for entity in entities {
        let value = |type_path| entity.components.get(type_path);
        let mesh = value(Mesh3d::type_path()).and_then(|value| value.downcast_ref::<Mesh3d>());
        let material = value(MeshMaterial3d::<StandardMaterial>::type_path());
        let material = material.and_then(|value| value.downcast_ref::<MeshMaterial3d<StandardMaterial>>());
        if let Some(mesh) = mesh {
            let live = material.and_then(|material| materials?.get(&material.0));
            let material = material.map(|material| key(&material.0.clone().untyped()));
            let draw = (key(&mesh.0.clone().untyped()), material);
            drawn.insert(draw, MeshUse::of(live.is_some_and(hides)));
        }
    }
    drawn
}

/// What each mesh is used for by these levels and assets. One that nobody draws may be used for anything.
pub(crate) fn uses<'a>(
    levels: impl Iterator<Item = &'a LevelUnit>,
    needed: &Closure<'a>,
    objects: &'a Objects,
) -> ByKeyRef<'a, MeshUse> {
    let mut uses = ByKeyRef::default();
    let mut note = |mesh, usage: MeshUse| {
        let known = uses.entry(mesh).or_insert(usage);
        *known = known.join(usage);
    };
    for (mesh, material) in levels.flat_map(|level| &level.drawn) {
        let material = material.as_ref().and_then(|material| objects.get(material));
        note(mesh, MeshUse::of(material.is_some_and(|material| material.hides)));
    }
    let is_mesh = |key: &&AssetKey| key.type_path() == Mesh::type_path();
    let references = needed.known().flat_map(|(_, object)| &object.references);
    for mesh in references.filter(is_mesh) {
        note(mesh, MeshUse::Any);
    }
    uses
}

/// Encodes a mesh, in an order that a GPU draws with fewer misses of its caches where that is not seen.
pub(crate) fn encode(mesh: &Mesh, usage: MeshUse, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
    let ordered = match usage {
        MeshUse::Hides => reordered(mesh, Reorder::TrianglesAndVertices),
        MeshUse::Any => None,
    };
    MeshCodec::encode(ordered.as_ref().unwrap_or(mesh), context)
}
