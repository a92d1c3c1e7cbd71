//! Systems that follow the entities that draw with materials. See [`follow_users`].

#[cfg(test)]
mod tests;

use bevy_asset::{AssetEvent, Assets};
use bevy_camera::{
    primitives::Aabb,
    visibility::{NoFrustumCulling, ViewVisibility},
};
use bevy_ecs::{prelude::*, query::QueryData};
use bevy_mesh::{Mesh, Mesh3d};
use bevy_transform::components::GlobalTransform;
use seamless_asset::{InHiddenLevel, LevelHider, assets::MeshUvDensity};

use super::{
    material::Materials,
    meshes::{Densities, Shape},
    seats::{Seats, Told},
    surfaces::MeshSurfaces,
};
use crate::mip::{Watch, plan::MipPlan};

/// How many entities that are new, or have other materials, are looked up in a frame; more wait for the next.
const NEW: usize = 2048;
/// How many meshes are measured in a frame before it ends early.
const MEASURED: usize = 64;

/// All that draws, and with what.
#[derive(Resource, Default)]
pub(in crate::mip) struct MipUsers {
    pub materials: Materials,
    pub seats: Seats,
    pub densities: Densities,
    pub surfaces: MeshSurfaces,
    /// Entities of levels that were hidden since the last frame.
    pub hidden: Vec<Entity>,
}

impl MipUsers {
    /// The textures that an entity draws with.
    pub fn textures(&self, entity: Entity) -> impl Iterator<Item = u32> {
        let material = self.seats.material(entity);
        material
            .into_iter()
            .flat_map(|material| self.materials.textures(material))
    }

    /// Another one whenever that may be others.
    pub fn version(&self) -> u64 {
        self.seats.version + self.materials.version
    }
}

/// What is asked of an entity that has a material.
#[derive(QueryData)]
pub(in crate::mip) struct Drawn {
    mesh: Option<&'static Mesh3d>,
    transform: Option<&'static GlobalTransform>,
    mesh_box: Option<&'static Aabb>,
    is_never_culled: Has<NoFrustumCulling>,
    density: Option<&'static MeshUvDensity>,
    visibility: Option<&'static ViewVisibility>,
    is_hidden: Has<InHiddenLevel>,
}

impl DrawnItem<'_, '_> {
    fn shape(&self, users: &mut MipUsers, meshes: &Assets<Mesh>) -> Option<Shape> {
        let mesh = self.mesh?.0.id();
        let world = self.transform?.affine();
        let metres = users.densities.of(mesh, self.density, meshes);
        match self.mesh_box {
            _ if self.is_never_culled => Some(Shape::everywhere(&world, metres)),
            Some(mesh_box) => {
                let shape = Shape::new(mesh_box, &world, metres);
                Some(shape.within(&world, users.surfaces.get(mesh)))
            }
            // Its mesh is not there yet.
            None => None,
        }
    }

    fn is_seen(&self) -> bool {
        !self.is_hidden && self.visibility.is_some_and(|visibility| visibility.get())
    }
}

/// What moves or changes an entity's shape.
pub(in crate::mip) type Moved = (
    With<Mesh3d>,
    Or<(
        Changed<GlobalTransform>,
        Changed<Aabb>,
        Changed<Mesh3d>,
        Changed<MeshUvDensity>,
    )>,
);

/// Looks up who is new or has another material, a few each frame, then who has moved, was seen or is not seen any more.
pub(in crate::mip) fn follow_users(
    mut users: ResMut<MipUsers>,
    mut plan: ResMut<MipPlan>,
    meshes: Res<Assets<Mesh>>,
    mut mesh_events: MessageReader<AssetEvent<Mesh>>,
    drawn: Query<Drawn>,
    moved: Query<(Entity, Drawn), Moved>,
    seen: Query<(Entity, &ViewVisibility), (With<Mesh3d>, Changed<ViewVisibility>)>,
    mut without_mesh: RemovedComponents<Mesh3d>,
) {
    let (users, watch) = (&mut *users, &mut plan.watch);
    users.densities.begin();
    for event in mesh_events.read() {
        users.densities.note(event);
        users.surfaces.note(event);
    }
    for entity in without_mesh.read() {
        if !drawn.get(entity).is_ok_and(|of| of.mesh.is_some()) {
            users.seats.place(entity, None, &users.materials, watch);
        }
    }
    for entity in users.hidden.drain(..) {
        users.seats.set_seen(entity, false, watch);
    }
    for _ in 0..NEW {
        if users.densities.computed() >= MEASURED {
            break;
        }
        let Some(told) = users.seats.next_told() else {
            break;
        };
        take(users, watch, told, &drawn, &meshes);
    }
    for (entity, of) in &moved {
        if users.seats.has(entity) {
            place(users, watch, entity, &of, &meshes);
        }
    }
    for (entity, visibility) in &seen {
        users.seats.set_seen(entity, visibility.get(), watch);
    }
}

fn take(users: &mut MipUsers, watch: &mut Watch, told: Told, drawn: &Query<Drawn>, meshes: &Assets<Mesh>) {
    let MipUsers { materials, seats, .. } = users;
    let entity = match told {
        Told::Lost(entity, kind) => return seats.leave(entity, Some(kind), materials, watch),
        Told::Has(entity, _) | Told::Again(entity) => entity,
    };
    let Ok(of) = drawn.get(entity) else {
        return seats.leave(entity, None, materials, watch);
    };
    if let Told::Has(_, material) = told {
        seats.assign(entity, material, materials, watch);
    }
    place(users, watch, entity, &of, meshes);
    users.seats.set_seen(entity, of.is_seen(), watch);
}

fn place(users: &mut MipUsers, watch: &mut Watch, entity: Entity, of: &DrawnItem, meshes: &Assets<Mesh>) {
    let shape = of.shape(users, meshes);
    users.seats.place(entity, shape, &users.materials, watch);
}

/// Hidden levels are not seen: nobody tells of that but this.
pub(in crate::mip) struct MipHider;

impl LevelHider for MipHider {
    fn hide(&self, world: &mut World, entities: &[Entity]) {
        if let Some(mut users) = world.get_resource_mut::<MipUsers>() {
            users.hidden.extend_from_slice(entities);
        }
    }

    /// Whether they are seen counts as changed then.
    fn show(&self, _: &mut World, _: &[Entity]) {}
}
