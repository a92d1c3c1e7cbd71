//! Systems that follow the entities that draw with materials. See [`follow_users`].

#[cfg(test)]
mod tests;

use bevy_asset::{AssetEvent, AssetId, Assets};
use bevy_camera::{
    primitives::Aabb,
    visibility::{NoFrustumCulling, ViewVisibility},
};
use bevy_ecs::{
    change_detection::Tick,
    component::ComponentId,
    prelude::*,
    query::QueryData,
    system::{ParamBuilder, SystemChangeTick, SystemParam, SystemParamBuilder},
};
use bevy_image::Image;
use bevy_log::debug_span;
use bevy_mesh::{Mesh, Mesh3d};
use bevy_transform::components::GlobalTransform;
use seamless_asset::{
    InHiddenLevel, LevelHider, StreamingClock,
    assets::MeshUvDensity,
    scan::{Scan, changed, scan},
};

use super::{
    drawn::DrawnImages,
    material::Materials,
    meshes::{Densities, Shape},
    notes::MipMaterialTypes,
    seats::{Seats, Told},
    strangers::Strangers,
    surfaces::MeshSurfaces,
};
use crate::mip::{Watch, plan::MipPlan};

/// How many entities that are new, or have other materials, are looked up in a frame; more wait for the next.
const NEW: usize = 2048;
/// How many meshes are measured in a frame before it ends early.
const MEASURED: usize = 64;
/// In one of so many frames it is looked who has another mesh, in another one who has another box, and in another who has other texture coordinates.
const TURNS: usize = 3;

/// All that draws, and with what.
#[derive(Resource, Default)]
pub(in crate::mip) struct MipUsers {
    pub materials: Materials,
    pub seats: Seats,
    pub densities: Densities,
    pub surfaces: MeshSurfaces,
    pub drawn: DrawnImages,
    pub strangers: Strangers,
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
            .chain(self.drawn.textures(entity))
    }

    /// An image streams now that did not, or the other way round, or is sampled in another way.
    pub fn image_changed(&mut self, image: AssetId<Image>) {
        self.materials.image_changed(image);
        self.drawn.image_changed(image);
        self.strangers.note(image);
    }

    /// Another one whenever that may be others.
    pub fn version(&self) -> u64 {
        self.seats.version + self.materials.version + self.drawn.version
    }
}

/// What is asked of an entity that has a material.
#[derive(QueryData)]
pub(in crate::mip) struct Drawn {
    mesh: Option<&'static Mesh3d>,
    transform: Option<&'static GlobalTransform>,
    mesh_box: Option<&'static Aabb>,
    is_never_culled: Has<NoFrustumCulling>,
    density: Option<Ref<'static, MeshUvDensity>>,
    visibility: Option<&'static ViewVisibility>,
    is_hidden: Has<InHiddenLevel>,
}

impl DrawnItem<'_, '_> {
    /// What the cooker has told of the mesh that the entity has now.
    fn density(&self, entity: Entity, seats: &mut Seats) -> Option<&MeshUvDensity> {
        let (mesh, density) = (self.mesh?.0.id(), self.density.as_ref()?);
        let is_cooked = seats.is_cooked(entity, mesh, density.last_changed());
        is_cooked.then_some(&**density)
    }

    fn shape(
        &self,
        entity: Entity,
        users: &mut MipUsers,
        density: Option<&MeshUvDensity>,
        meshes: &Assets<Mesh>,
    ) -> Option<Shape> {
        let mesh = self.mesh?.0.id();
        let world = self.transform?.affine();
        let metres = users.densities.of(mesh, density, meshes);
        // Bevy gives no box to what is never culled, as skinned meshes often are.
        let mesh_box = self.mesh_box.copied();
        let mesh_box = match self.is_never_culled {
            true => mesh_box.or_else(|| users.densities.mesh_box(mesh, meshes)),
            false => mesh_box,
        };
        let Some(mesh_box) = mesh_box else {
            // Its mesh is not there yet, or its vertices are of its shader's making.
            let is_there = meshes.contains(mesh);
            if self.is_never_culled && !is_there {
                users.densities.wait_for(mesh, entity);
            }
            return (self.is_never_culled && is_there).then(|| Shape::everywhere(&world, metres));
        };
        users.surfaces.seek(mesh, entity, 2.0 * mesh_box.half_extents.length());
        let shape = Shape::new(&mesh_box, &world, metres);
        Some(shape.within(&world, users.surfaces.get(mesh)))
    }

    fn is_seen(&self) -> bool {
        !self.is_hidden && self.visibility.is_some_and(|visibility| visibility.get())
    }
}

/// What moves or changes an entity's shape, and whether it is seen.
#[derive(SystemParam)]
#[system_param(builder)]
struct Shapes<'w, 's> {
    transforms: Scan<'w, 's, GlobalTransform, With<Mesh3d>>,
    boxes: Scan<'w, 's, Aabb, With<Mesh3d>>,
    meshes: Scan<'w, 's, Mesh3d>,
    densities: Scan<'w, 's, MeshUvDensity, With<Mesh3d>>,
    seen: Scan<'w, 's, ViewVisibility, With<Mesh3d>>,
}

/// Whose turn it was, and when each had its own.
#[derive(Default)]
struct Turns {
    turn: usize,
    since: [Tick; TURNS],
}

impl Turns {
    /// Whose it is in this frame, and when it was the last time.
    fn next(&mut self, this: Tick) -> (usize, Tick) {
        self.turn = (self.turn + 1) % TURNS;
        (self.turn, core::mem::replace(&mut self.since[self.turn], this))
    }
}

/// A system that looks up who is new or has another material, a few each frame, then who has moved, was seen or is not seen any more.
pub(in crate::mip) fn follow_users(world: &mut World) -> impl System<In = (), Out = ()> + use<> {
    let shapes = ShapesBuilder {
        transforms: scan(world),
        boxes: scan(world),
        meshes: scan(world),
        densities: scan(world),
        seen: scan(world),
    };
    let any = || ParamBuilder;
    (any(), any(), any(), any(), any(), shapes, any(), any(), any(), any())
        .build_state(world)
        .build_system(follow)
}

fn follow(
    mut users: ResMut<MipUsers>,
    mut plan: ResMut<MipPlan>,
    meshes: Res<Assets<Mesh>>,
    mut mesh_events: MessageReader<AssetEvent<Mesh>>,
    drawn: Query<Drawn>,
    shapes: Shapes,
    ticks: SystemChangeTick,
    mut scratch: Local<(Turns, Vec<(Entity, bool)>)>,
    mut without_mesh: RemovedComponents<Mesh3d>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("who draws with textures");
    let _span = debug_span!("follow_users").entered();
    let (users, watch) = (&mut *users, &mut plan.watch);
    let (turns, seen) = &mut *scratch;
    users.densities.begin();
    for event in mesh_events.read() {
        users.densities.note(event, |entity| users.seats.tell_again(entity));
        users.surfaces.note(event);
    }
    let MipUsers { surfaces, seats, .. } = users;
    surfaces.find(&meshes, |entity| seats.tell_again(entity));
    for entity in without_mesh.read() {
        if !drawn.get(entity).is_ok_and(|of| of.mesh.is_some()) {
            users.seats.place(entity, None, &mut users.materials, watch);
        }
    }
    for entity in users.hidden.drain(..) {
        users.seats.set_seen(entity, false, watch);
    }
    for _ in 0..NEW {
        if users.densities.computed() >= MEASURED {
            break;
        }
        let Some((entity, told)) = users.seats.next_told() else {
            break;
        };
        take(users, watch, (entity, told), &drawn, &meshes);
    }
    let mut again = |entity: Entity| look_again(users, watch, entity, &drawn, &meshes);
    changed(&shapes.transforms, ticks.last_run(), |entity, _| again(entity));
    match turns.next(ticks.this_run()) {
        (0, since) => changed(&shapes.meshes, since, |entity, _| again(entity)),
        (1, since) => changed(&shapes.boxes, since, |entity, _| again(entity)),
        (_, since) => changed(&shapes.densities, since, |entity, _| again(entity)),
    }
    seen.clear();
    changed(&shapes.seen, ticks.last_run(), |entity, visibility| {
        seen.push((entity, visibility.get()));
    });
    // Who is hidden or disabled may have been seen last.
    let is_seen = |entity: Entity| drawn.get(entity).is_ok_and(|of| of.is_seen());
    let all = seen.iter().map(|(entity, seen)| (*entity, *seen && is_seen(*entity)));
    users.seats.set_all_seen(all, watch);
}

/// It may be somewhere else, or have another shape, or a mesh again.
fn look_again(users: &mut MipUsers, watch: &mut Watch, entity: Entity, drawn: &Query<Drawn>, meshes: &Assets<Mesh>) {
    if let Some(of) = drawn.get(entity).ok().filter(|_| users.seats.has(entity)) {
        place(users, watch, entity, &of, meshes);
        // Nobody told of that while it had no mesh.
        users.seats.set_seen(entity, of.is_seen(), watch);
    }
}

fn take(
    users: &mut MipUsers,
    watch: &mut Watch,
    (entity, told): (Entity, Told),
    drawn: &Query<Drawn>,
    meshes: &Assets<Mesh>,
) {
    let MipUsers { materials, seats, .. } = users;
    let Some(of) = drawn.get(entity).ok().filter(|_| told != Told::Lost) else {
        return seats.leave(entity, materials, watch);
    };
    if let Told::Has(material) = told {
        seats.assign(entity, material, materials, watch);
    }
    place(users, watch, entity, &of, meshes);
    users.seats.set_seen(entity, of.is_seen(), watch);
}

/// If its mesh has to be measured and too many were in this frame, it waits. Where nothing streams, nobody has to know where that is.
fn place(users: &mut MipUsers, watch: &mut Watch, entity: Entity, of: &DrawnItem, meshes: &Assets<Mesh>) {
    let density = of.density(entity, &mut users.seats);
    let material = users.seats.material(entity);
    if material.is_none_or(|material| users.materials.layers(material).is_empty()) {
        return users.seats.place(entity, None, &mut users.materials, watch);
    }
    let is_known = |mesh: &Mesh3d| density.is_some() || users.densities.is_known(mesh.0.id(), meshes);
    if users.densities.computed() >= MEASURED && !of.mesh.is_none_or(is_known) {
        return users.seats.tell_again(entity);
    }
    let shape = of.shape(entity, users, density, meshes);
    users.seats.place(entity, shape, &mut users.materials, watch);
}

/// Hidden levels are not seen: nobody tells of that but this.
pub(in crate::mip) struct MipHider;

impl LevelHider for MipHider {
    fn hide(&self, world: &mut World, entities: &[Entity]) {
        if let Some(mut users) = world.get_resource_mut::<MipUsers>() {
            users.hidden.extend_from_slice(entities);
            users.drawn.hide(entities);
        }
    }

    /// Whether meshes are seen counts as changed then.
    fn show(&self, world: &mut World, entities: &[Entity]) {
        if let Some(mut users) = world.get_resource_mut::<MipUsers>() {
            users.drawn.show(entities);
        }
    }

    /// Their textures were replaced meanwhile.
    fn always_changed(&self, world: &World) -> Vec<ComponentId> {
        let types = world.get_resource::<MipMaterialTypes>();
        types.map_or_else(Vec::new, |types| types.components(world))
    }
}
