//! The one moment in which a level's entities enter the world. See [`reveal`].

mod bounds;
mod hidden;
mod mesh_boxes;
mod observers;
mod passes;

pub(crate) use bounds::Bounds;
pub(crate) use hidden::HiddenSpawn;
#[cfg(test)]
pub(crate) use mesh_boxes::lend_boxes;
pub(crate) use mesh_boxes::{add_systems as add_mesh_boxes, keep_box};
pub(crate) use observers::BevysObservers;
pub(crate) use passes::LatePasses;

use core::any::TypeId;
use std::sync::Arc;

use bevy_asset::AssetPath;
use bevy_camera::visibility::Visibility;
use bevy_ecs::{
    change_detection::{CHECK_TICK_THRESHOLD, CheckChangeTicks, MAX_CHANGE_AGE, Tick},
    component::ComponentId,
    entity::Entity,
    hierarchy::{ChildOf, Children},
    reflect::ReflectComponent,
    relationship::{RelationshipHookMode, RelationshipTarget},
    resource::Resource,
    world::World,
};
use bevy_platform::collections::{HashMap, HashSet};
use bevy_reflect::{Reflect, TypeRegistry};
use bevy_transform::components::GlobalTransform;

use self::mesh_boxes::MeshBoxes;
use crate::{
    codec::Codecs,
    level_data::{LevelObjects, Run},
    load::{InstanceRequest, LevelInstance, LevelScans, LoadServices, LoadedLevel},
    objects::CookFolder,
    spawn::{Boxes, Group, Spawner, Spent, Values, typed_column},
};

/// What is in the world since the reveal.
pub(crate) struct Revealed {
    pub root: Entity,
    pub members: Members,
    pub spent: SpentLevel,
}

/// What is left of a level that was spawned, to be dropped where it costs no frame time.
pub(crate) struct SpentLevel {
    _values: Spent,
    _reserved: Vec<Entity>,
    _bounds: Option<Bounds>,
    /// None where whoever revealed the level has it.
    _loaded: Option<Box<LoadedLevel>>,
}

/// The entities of a level that is in the world, its root not counted.
#[derive(Default)]
pub(crate) struct Members {
    /// All of them, in order of spawning.
    pub entities: Arc<[Entity]>,
    /// Those that were cooked with children.
    pub parents: Vec<Entity>,
    /// The components that their file gave them, in the order of `entities`.
    pub runs: Arc<[Run]>,
    /// What they take in memory, about.
    pub memory: u64,
    /// They by object id.
    pub objects: Arc<LevelObjects>,
    /// All that changed later was changed by somebody else.
    pub since: Tick,
    /// Lists of children that were not changed later are as they were cooked. None: nobody knows.
    pub hung_since: Option<Tick>,
    /// What was changed by somebody else before that, and kept.
    pub edits: HashMap<Entity, Vec<ComponentId>>,
    /// What was found in its columns: gates are asked again when it is shown again.
    pub scans: Arc<LevelScans>,
}

impl Members {
    /// As Bevy does it with the ticks of components, now and then.
    pub fn keep_ticks_valid(&mut self, check: CheckChangeTicks) {
        self.since.check_tick(check);
        // Ticks that are too old pass for equally old: who was hung there later would be taken for the level's own.
        let age = |tick: Tick| check.present_tick().get().wrapping_sub(tick.get());
        self.hung_since = self
            .hung_since
            .filter(|tick| age(*tick) < MAX_CHANGE_AGE - 2 * CHECK_TICK_THRESHOLD);
    }
}

/// Spawns a staged level whole: its root, and all its entities below. What is left in `loaded` is memory only.
pub(crate) fn reveal(
    world: &mut World,
    loaded: &mut LoadedLevel,
    request: &InstanceRequest,
    services: &LoadServices,
) -> Revealed {
    insert_resources(world, loaded, request, services);
    let (mut spawner, passes, reserved) = spawner(world, loaded, request, services, false);
    let mut bounds = core::mem::take(&mut loaded.bounds).wanted(world, &passes, services);
    let boxes = bounds.as_mut().map(|bounds| bounds as &mut dyn Boxes);
    spawner.step(world, usize::MAX, &passes, boxes);
    // Before anybody hears of it, who may hang something below.
    let came = world.increment_change_tick();
    let spent = spawner.insert_late(world);
    if let Some(bounds) = &bounds {
        world.resource_mut::<MeshBoxes>().want(bounds);
    }
    Revealed {
        root: loaded.root,
        members: members(world, loaded, Some(came)),
        spent: SpentLevel {
            _values: spent,
            _reserved: reserved,
            _bounds: bounds,
            _loaded: None,
        },
    }
}

/// Gets a staged level ready to be spawned, its root first, its values taken out of `loaded`. With the ids that were reserved, which
/// are not returned any more.
fn spawner(
    world: &mut World,
    loaded: &mut LoadedLevel,
    request: &InstanceRequest,
    services: &LoadServices,
    hidden: bool,
) -> (Spawner, LatePasses, Vec<Entity>) {
    let reserved = loaded.reserved.take();
    let LoadedLevel { level, root, .. } = loaded;
    let registry = services.registry.read();
    let mut groups = Vec::with_capacity(level.groups.len() + 1);
    groups.push(root_group(
        *root,
        core::mem::take(&mut level.roots),
        request,
        LevelInstance {
            name: request.name.clone(),
            path: request.path(),
            package: level.package.clone(),
            cook: CookFolder::of(&request.package, &level.package),
            objects: level.objects.clone(),
        },
    ));
    groups.append(&mut level.groups);
    let types: Vec<_> = groups.iter().flat_map(|group| group.values.types()).collect();
    groups.iter().for_each(|group| group.values.register(world));
    register(world, types.iter().copied(), &services.codecs, &registry);
    let passes = LatePasses::new(world, types, &registry, hidden);
    drop(registry);
    (Spawner::new(groups, hidden), passes, reserved)
}

/// What is kept of a level that is in the world. Observers have changed what they like by now; that is how the level comes.
fn members(world: &mut World, loaded: &mut LoadedLevel, hung_since: Option<Tick>) -> Members {
    let level = &mut loaded.level;
    Members {
        entities: level.entities.clone(),
        parents: core::mem::take(&mut level.parents),
        runs: level.runs.clone(),
        memory: loaded.memory,
        objects: level.objects.clone(),
        since: world.increment_change_tick(),
        hung_since,
        edits: HashMap::default(),
        scans: loaded.scans.clone(),
    }
}

fn root_group(root: Entity, children: Vec<Entity>, request: &InstanceRequest, instance: LevelInstance) -> Group {
    let mut columns = vec![
        typed_column(vec![instance]),
        typed_column(vec![request.placement]),
        typed_column(vec![GlobalTransform::from(request.placement)]),
        typed_column(vec![Visibility::default()]),
    ];
    if !children.is_empty() {
        columns.push(typed_column(vec![Children::from_collection_risky(children)]));
    }
    Group {
        entities: vec![root],
        values: Values::Columns(columns),
    }
}

/// Components that this world has not met yet get their ids.
pub(crate) fn register(
    world: &mut World,
    types: impl Iterator<Item = TypeId>,
    codecs: &Codecs,
    registry: &TypeRegistry,
) {
    for type_id in types {
        if world.components().get_id(type_id).is_none()
            && let Ok(codec) = codecs.read().component(type_id, registry)
        {
            codec.register(world);
        }
    }
    world.register_component::<LevelInstance>();
    world.register_component::<Children>();
    world.register_component::<ChildOf>();
}

/// The persistent resources that levels have brought, each by its level's package: a level that comes again must not undo
/// what was changed since.
#[derive(Resource, Default)]
struct BroughtResources(HashSet<(AssetPath<'static>, TypeId)>);

fn insert_resources(world: &mut World, loaded: &LoadedLevel, request: &InstanceRequest, services: &LoadServices) {
    let registry = services.registry.read();
    for resource in &loaded.resources {
        insert_resource(world, &request.package, &**resource, &registry);
    }
}

/// Puts a persistent resource into the world, the first time that its level comes; over the one that is there, as Bevy's
/// scenes do.
fn insert_resource(world: &mut World, package: &AssetPath<'static>, resource: &dyn Reflect, registry: &TypeRegistry) {
    let type_id = resource.as_any().type_id();
    let Some(component) = registry.get_type_data::<ReflectComponent>(type_id) else {
        return;
    };
    let mut brought = world.get_resource_or_init::<BroughtResources>();
    if !brought.0.insert((package.clone(), type_id)) {
        return;
    }
    let id = component.register_component(world);
    let entity = match world.resource_entities().get(id) {
        Some(entity) => entity,
        None => world.spawn_empty().id(),
    };
    if let Ok(mut entity) = world.get_entity_mut(entity) {
        let value = resource.as_partial_reflect();
        component.apply_or_insert_mapped(&mut entity, value, registry, &mut (), RelationshipHookMode::Run);
    }
}
