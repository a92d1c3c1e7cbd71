//! Hidden levels are not drawn. See [`RenderHider`].

use bevy_app::{App, SubApp};
use bevy_camera::{
    Projection,
    visibility::{NoCpuCulling, VisibilityRange},
};
use bevy_ecs::{
    archetype::ArchetypeId, component::ComponentId, entity_disabling::DefaultQueryFilters, prelude::*, world::World,
};
use bevy_mesh::Mesh3d;
use bevy_pbr::{
    Material, MeshMaterial3d, PreviousGlobalTransform, RenderMeshInstanceGpuQueue, RenderMeshInstanceGpuQueues,
    extract_meshes_for_gpu_building,
};
use bevy_render::{
    ExtractSchedule, MainWorld, RenderApp,
    sync_world::{MainEntity, RenderEntity, SyncToRenderWorld},
};
use bevy_transform::components::GlobalTransform;
use seamless_asset::{LevelHider, SeamlessAssetApp};

/// Takes hidden entities out of the picture, in the frame in which they are hidden.
///
/// Meshes that the CPU culls are drawn because a query finds them, which it does not while they are hidden. Two kinds of entities would stay
/// in the picture, for the render world keeps what it is not told of: lights, cameras and whatever else has a twin there, which loses it
/// until it is shown again; and meshes that only the GPU culls, of which the render world is told here.
pub(crate) struct RenderHider {
    /// Materials of drawn entities: Bevy has missed what was prepared anew meanwhile.
    materials: Vec<fn(&World) -> Option<ComponentId>>,
}

/// Its twin in the render world was taken away.
#[derive(Component)]
#[component(storage = "SparseSet")]
struct Untwinned;

/// Meshes that only the GPU culls and that were hidden in this frame. Only where there is a renderer.
#[derive(Resource, Default)]
struct HiddenMeshes(Vec<MainEntity>);

/// The types of materials that are streamed.
#[derive(Resource, Default)]
pub(crate) struct StreamedMaterials(Vec<fn(&World) -> Option<ComponentId>>);

impl StreamedMaterials {
    pub fn add<M: Material>(&mut self) {
        self.0.push(World::component_id::<MeshMaterial3d<M>>);
    }
}

impl LevelHider for RenderHider {
    fn hide(&self, world: &mut World, entities: &[Entity]) {
        let Kinds { twinned, gpu_culled } = Kinds::among(world, entities);
        for entity in twinned {
            if let Ok(mut entity) = world.get_entity_mut(entity) {
                // Both: a twin is made for whoever has the first, and must not be there when it is made.
                entity.remove::<(SyncToRenderWorld, RenderEntity)>();
                entity.insert(Untwinned);
            }
        }
        if let Some(mut hidden) = world.get_resource_mut::<HiddenMeshes>() {
            hidden.0.extend(gpu_culled);
        }
    }

    fn show(&self, world: &mut World, entities: &[Entity]) {
        for &entity in entities {
            if let Ok(mut entity) = world.get_entity_mut(entity)
                && entity.take::<Untwinned>().is_some()
            {
                entity.insert(SyncToRenderWorld);
            }
        }
    }

    /// Bevy keeps where each mesh was in the frame before, and begins in the frame after its first one: by a command for each, and then all are extracted once
    /// more. Here they have it from the beginning. Apps that draw no motion have it, too.
    fn spawned(&self, world: &mut World, entities: &[Entity]) {
        let ids = (
            world.component_id::<PreviousGlobalTransform>(),
            world.component_id::<Mesh3d>(),
        );
        // Nobody keeps that.
        let (Some(previous), Some(mesh)) = ids else { return };
        let place = |entity: &Entity| {
            let of = world.get_entity(*entity).ok()?;
            let is_new = of.contains_id(mesh) && !of.contains_id(previous);
            let place = of.get::<GlobalTransform>().filter(|_| is_new)?;
            Some((*entity, PreviousGlobalTransform(place.affine())))
        };
        let places: Vec<_> = entities.iter().filter_map(place).collect();
        // All of them are there.
        world.try_insert_batch(places).ok();
    }

    fn always_changed(&self, world: &World) -> Vec<ComponentId> {
        let materials = self.materials.iter().filter_map(|id| id(world));
        let others = [
            // When any range changes, Bevy forgets those that queries do not find.
            world.component_id::<VisibilityRange>(),
            // A camera has missed that its target has another size by now.
            world.component_id::<Projection>(),
        ];
        materials.chain(others.into_iter().flatten()).collect()
    }
}

/// What is not enough to hide from queries.
#[derive(Default)]
struct Kinds {
    twinned: Vec<Entity>,
    gpu_culled: Vec<MainEntity>,
}

impl Kinds {
    /// Looks at each archetype once in a row: levels have few.
    fn among(world: &mut World, entities: &[Entity]) -> Self {
        // What was spawned in this frame has no twin yet; the one that it gets has nothing to draw.
        let twin = [
            world.register_component::<SyncToRenderWorld>(),
            world.register_component::<RenderEntity>(),
        ];
        let culled = [
            world.register_component::<NoCpuCulling>(),
            world.register_component::<Mesh3d>(),
        ];
        // Bevy passes over these when their twins are to go, and would make a second one.
        let filters = world.get_resource::<DefaultQueryFilters>();
        let disabling: Vec<ComponentId> = filters
            .into_iter()
            .flat_map(DefaultQueryFilters::disabling_ids)
            .collect();
        let mut kinds = Self::default();
        let mut archetypes = world.archetypes().iter().filter(|of| !of.is_empty());
        let is_any = archetypes.any(|of| [twin, culled].iter().any(|ids| ids.iter().all(|id| of.contains(*id))));
        if !is_any {
            return kinds;
        }
        let mut last: Option<(ArchetypeId, bool, bool)> = None;
        for entity in entities {
            let Ok(at) = world.entities().get_spawned(*entity) else {
                continue;
            };
            let (_, is_twinned, is_gpu_culled) = match last {
                Some(known @ (archetype, ..)) if archetype == at.archetype_id => known,
                _ => {
                    let archetype = world.archetypes().get(at.archetype_id);
                    let has_all =
                        |ids: [ComponentId; 2]| archetype.is_some_and(|of| ids.iter().all(|id| of.contains(*id)));
                    let is_disabled = archetype.is_some_and(|of| disabling.iter().any(|id| of.contains(*id)));
                    (at.archetype_id, has_all(twin) && !is_disabled, has_all(culled))
                }
            };
            last = Some((at.archetype_id, is_twinned, is_gpu_culled));
            if is_twinned {
                kinds.twinned.push(*entity);
            }
            if is_gpu_culled {
                kinds.gpu_culled.push(MainEntity::from(*entity));
            }
        }
        kinds
    }
}

/// In an app with a renderer or without: lights have twins in both.
pub(crate) fn add_hider(app: &mut App) {
    if app.get_sub_app(RenderApp).is_some() {
        app.init_resource::<HiddenMeshes>();
    }
    let world = app.world_mut();
    let materials = core::mem::take(&mut world.get_resource_or_init::<StreamedMaterials>().0);
    app.add_level_hider(RenderHider { materials });
}

/// What only the GPU culls is drawn until the render world is told that it is gone.
pub(crate) fn hide_from_gpu(render_app: &mut SubApp) {
    render_app.init_resource::<HiddenMeshes>().add_systems(
        ExtractSchedule,
        (extract_hidden, forget_hidden)
            .chain()
            .after(extract_meshes_for_gpu_building),
    );
}

fn extract_hidden(mut world: ResMut<MainWorld>, mut hidden: ResMut<HiddenMeshes>) {
    if let Some(mut new) = world.get_resource_mut::<HiddenMeshes>() {
        hidden.0.append(&mut new.0);
    }
}

/// They go the way of meshes that have become invisible, so that they come as new ones when they are shown.
fn forget_hidden(mut hidden: ResMut<HiddenMeshes>, queues: Option<ResMut<RenderMeshInstanceGpuQueues>>) {
    if hidden.0.is_empty() {
        return;
    }
    let hidden = hidden.0.drain(..);
    let Some(queues) = queues else { return };
    match &mut *queues.borrow_local_mut() {
        RenderMeshInstanceGpuQueue::CpuCulling { removed, .. }
        | RenderMeshInstanceGpuQueue::GpuCulling { removed, .. } => removed.extend(hidden),
        // Where meshes are not built by the GPU, the CPU culls all of them.
        RenderMeshInstanceGpuQueue::None => {}
    }
}
