//! The boxes of what is drawn, before it is seen. See [`Bounds`].

use bevy_asset::{AssetId, Assets};
use bevy_camera::primitives::Aabb;
use bevy_ecs::world::World;
use bevy_math::{Vec3A, bounding::Aabb3d};
use bevy_mesh::{Mesh, Mesh3d, VertexAttributeValues};
use bevy_platform::collections::HashMap;

use super::mesh_boxes::MeshBoxes;
use crate::{
    load::LoadServices,
    spawn::{Boxes, Passes},
};

/// Gives entities of a level the [`Aabb`]s that Bevy's `calculate_bounds` would give them after their reveal.
///
/// That system computes a box for each of them from all vertices of its mesh, and moves each into another archetype by a command, in the one frame in which
/// most is done anyway. Here a box is [known](MeshBoxes) or computed once for each mesh, and the entity comes with it. Who shows which mesh is counted where the level is decoded.
#[derive(Default)]
pub(crate) struct Bounds(HashMap<AssetId<Mesh>, Shown>);

/// A mesh that the level shows.
#[derive(Default)]
struct Shown {
    /// Its box, once an entity came that had none.
    of: Option<Option<Aabb3d>>,
    /// Entities whose boxes follow from it.
    entities: usize,
}

impl Boxes for Bounds {
    fn of(&mut self, world: &World, mesh: AssetId<Mesh>) -> Option<Aabb> {
        let shown = self.0.entry(mesh).or_default();
        let find = || {
            let value = world.get_resource::<Assets<Mesh>>()?.get(mesh)?;
            let known = world.get_resource::<MeshBoxes>()?.known(mesh);
            known.or_else(|| box_of(value))
        };
        shown.of.get_or_insert_with(find).map(Aabb::from)
    }
}

impl Bounds {
    /// One more entity shows the mesh, and its box follows from it.
    pub fn note(&mut self, mesh: &Mesh3d) {
        self.0.entry(mesh.id()).or_default().entities += 1;
    }

    /// None where Bevy gives no boxes, or where somebody wants to hear of them: Bevy gives them when the level can be seen.
    pub fn wanted(self, world: &mut World, passes: &dyn Passes, services: &LoadServices) -> Option<Self> {
        let aabb = world.register_component::<Aabb>();
        let gives_boxes = services.codecs.read().rows().gives_boxes;
        (gives_boxes && !passes.is_late(world, aabb)).then_some(self)
    }

    /// No box is known any more: frames have passed, and somebody may have changed meshes.
    pub fn forget(&mut self) {
        self.0.values_mut().for_each(|shown| shown.of = None);
    }

    /// The meshes, their boxes if an entity came that had none, and how many entities' boxes follow from them.
    pub fn meshes(&self) -> impl Iterator<Item = (AssetId<Mesh>, Option<Aabb3d>, usize)> {
        let all = self.0.iter();
        all.map(|(mesh, shown)| (*mesh, shown.of.flatten(), shown.entities))
    }
}

/// As Bevy computes it when vertices go to the GPU; none where the mesh has none that can be looked at.
pub(super) fn box_of(mesh: &Mesh) -> Option<Aabb3d> {
    if mesh.final_aabb.is_some() {
        return mesh.final_aabb;
    }
    let mut places = places(mesh)?.iter().map(|place| Vec3A::from_array(*place));
    let first = places.next()?;
    let (min, max) = places.fold((first, first), |(min, max), place| (min.min(place), max.max(place)));
    Some(Aabb3d { min, max })
}

/// Where its vertices are; none where that cannot be looked at.
pub(super) fn places(mesh: &Mesh) -> Option<&[[f32; 3]]> {
    match mesh.try_attribute(Mesh::ATTRIBUTE_POSITION) {
        Ok(VertexAttributeValues::Float32x3(places)) => Some(places),
        _ => None,
    }
}
