//! What is drawn, and comes with its box. See [`DrawnRows`].

use core::any::TypeId;

use bevy_asset::AssetId;
use bevy_camera::{
    primitives::Aabb,
    visibility::{NoAutoAabb, NoFrustumCulling},
};
use bevy_ecs::{component::ComponentId, entity::Entity, relationship::RelationshipHookMode, world::World};
use bevy_mesh::{Mesh, Mesh3d};
use bevy_platform::collections::HashMap;

use super::{Column, Sight, SpawnRow, TypedRows, rows::reserve};
use crate::hide::InHiddenLevel;

/// Knows the boxes of what is drawn.
pub trait Boxes {
    /// The box of a mesh, if that is there.
    fn of(&mut self, world: &World, mesh: AssetId<Mesh>) -> Option<Aabb>;
}

/// Whether Bevy gives a box to what has such components, unless it has one: to what shows a mesh, and does not say that it needs none.
pub(crate) fn may_have_box(has: impl Fn(TypeId) -> bool) -> bool {
    let is_without = [TypeId::of::<NoAutoAabb>(), TypeId::of::<NoFrustumCulling>()];
    has(TypeId::of::<Mesh3d>()) && !is_without.into_iter().any(has)
}

/// The same of what comes without one.
pub(super) fn gets_box(has: impl Fn(TypeId) -> bool) -> bool {
    may_have_box(&has) && !has(TypeId::of::<Aabb>())
}

/// The same of components among which the mesh is, with all that they bring.
pub(super) fn gets_box_in(world: &World, ids: impl Iterator<Item = ComponentId> + Clone) -> bool {
    let id_of = |type_id| world.components().get_id(type_id);
    let mesh = id_of(TypeId::of::<Mesh3d>());
    if !ids.clone().any(|id| Some(id) == mesh) {
        return false;
    }
    let is_brought = |id| {
        ids.clone()
            .any(|own| with_required(world, own).any(|brought| brought == id))
    };
    gets_box(|type_id| id_of(type_id).is_some_and(is_brought))
}

/// The component, and those that it brings.
pub(crate) fn with_required(world: &World, id: ComponentId) -> impl Iterator<Item = ComponentId> {
    let info = world.components().get_info(id);
    let required = info.map(|info| info.required_components().iter_ids());
    core::iter::once(id).chain(required.into_iter().flatten())
}

/// Rows of which each shows a mesh, and has no box of its own.
///
/// A row lies beside the place for its box, so that both move as one; and each mesh is looked up once, however many rows show it.
pub(super) struct DrawnRows<R> {
    rows: std::vec::IntoIter<(R, Aabb)>,
    /// The mesh of each row that is left, by its place in `meshes`, the last row first.
    shown: Vec<u32>,
    meshes: Vec<(AssetId<Mesh>, Known)>,
}

/// The box of a mesh, once it was asked for; none where that is not there.
type Known = Option<Option<Aabb>>;

impl<R: SpawnRow> DrawnRows<R> {
    pub fn new(rows: Vec<R>) -> Self {
        let mut places = HashMap::<AssetId<Mesh>, u32>::default();
        let mut meshes = Vec::new();
        let mut place = |row: &R| {
            let mesh = row.component::<Mesh3d>().map(|mesh| mesh.id()).unwrap_or_default();
            *places.entry(mesh).or_insert_with(|| {
                meshes.push((mesh, None));
                meshes.len() as u32 - 1
            })
        };
        let shown = rows.iter().rev().map(&mut place).collect();
        let with_place = rows.into_iter().map(|row| (row, Aabb::default()));
        Self {
            rows: with_place.collect::<Vec<_>>().into_iter(),
            shown,
            meshes,
        }
    }

    /// The box of the next row.
    fn next_box(&mut self, world: &World, sight: &mut Sight) -> Option<Aabb> {
        let place = self.shown.pop()?;
        let boxes = sight.boxes.as_mut()?;
        let (mesh, known) = self.meshes.get_mut(place as usize)?;
        *known.get_or_insert_with(|| boxes.of(world, *mesh))
    }
}

impl<R: SpawnRow> TypedRows for DrawnRows<R> {
    fn row_type(&self) -> TypeId {
        TypeId::of::<R>()
    }

    fn row_bytes(&self) -> usize {
        size_of::<(R, Aabb)>()
    }

    fn types(&self) -> Vec<TypeId> {
        R::types()
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn register(&self, world: &mut World) {
        R::register(world);
    }

    fn reserve(&self, world: &mut World, count: usize) {
        reserve::<(R, Aabb)>(world, count);
    }

    fn spawn(&mut self, world: &mut World, entities: &[Entity], sight: &mut Sight) {
        for &entity in entities {
            let found = self.next_box(world, sight);
            let Some(mut row) = self.rows.next() else { return };
            let Ok(mut entity) = world.spawn_empty_at(entity) else {
                continue;
            };
            let is_boxed = found.is_some();
            row.1 = found.unwrap_or_default();
            // The marker and the box are part of the one move into the table.
            let skip = RelationshipHookMode::Skip;
            match (sight.is_hidden, is_boxed) {
                (false, false) => entity.insert_with_relationship_hook_mode(row.0, skip),
                (false, true) => entity.insert_with_relationship_hook_mode(row, skip),
                (true, false) => entity.insert_with_relationship_hook_mode((row.0, InHiddenLevel), skip),
                (true, true) => entity.insert_with_relationship_hook_mode((row, InHiddenLevel), skip),
            };
        }
    }

    fn into_columns(self: Box<Self>) -> Vec<Box<dyn Column>> {
        R::unzip(self.rows.map(|(row, _)| row).collect())
    }
}
