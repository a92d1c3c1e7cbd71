//! The one moment in which a level's entities enter the world, and the one in which they leave. See [`reveal`].

use core::any::TypeId;
use std::sync::Arc;

use bevy_asset::AssetPath;
use bevy_camera::visibility::Visibility;
use bevy_ecs::{
    change_detection::Tick,
    component::ComponentId,
    entity::Entity,
    hierarchy::{ChildOf, Children},
    lifecycle::{ADD, INSERT},
    reflect::ReflectComponent,
    relationship::{RelationshipHookMode, RelationshipTarget},
    resource::Resource,
    world::World,
};
use bevy_platform::collections::{HashMap, HashSet};
use bevy_reflect::{Reflect, TypeRegistry};

use crate::{
    codec::Codecs,
    level_data::{LevelObjects, Run},
    load::{InstanceRequest, LevelInstance, LoadServices, LoadedLevel},
    spawn::{Group, Passes, Spent, Values, spawn, typed_column},
};

/// What is in the world since the reveal.
pub(crate) struct Revealed {
    pub root: Entity,
    pub members: Members,
    /// To be dropped where it costs no frame time.
    pub spent: (Spent, Vec<Entity>),
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
    /// They by object id.
    pub objects: Arc<LevelObjects>,
    /// All that changed later was changed by somebody else.
    pub since: Tick,
    /// What was changed by somebody else before that, and kept.
    pub edits: HashMap<Entity, Vec<ComponentId>>,
}

/// Spawns a staged level whole: its root, and all its entities below. What is left in `loaded` is memory only.
pub(crate) fn reveal(
    world: &mut World,
    loaded: &mut LoadedLevel,
    request: &InstanceRequest,
    services: &LoadServices,
) -> Revealed {
    let LoadedLevel { level, root, .. } = loaded;
    // From here on the ids are spawned, not returned.
    let reserved = loaded.reserved.take();
    let registry = services.registry.read();
    for resource in &loaded.resources {
        insert_resource(world, &request.package, &**resource, &registry);
    }
    let mut groups = Vec::with_capacity(level.groups.len() + 1);
    groups.push(root_group(
        *root,
        core::mem::take(&mut level.roots),
        request,
        LevelInstance {
            name: request.name.clone(),
            package: level.package.clone(),
            objects: level.objects.clone(),
        },
    ));
    groups.append(&mut level.groups);
    let types: Vec<_> = groups.iter().flat_map(|group| group.values.types()).collect();
    register(world, types.iter().copied(), &services.codecs, &registry);
    let passes = LatePasses::new(world, types, &registry);
    drop(registry);
    let spent = spawn(world, groups, &passes);
    // Observers have changed what they like by now; that is how the level comes.
    let since = world.increment_change_tick();
    Revealed {
        root: *root,
        members: Members {
            entities: level.entities.clone(),
            parents: core::mem::take(&mut level.parents),
            runs: level.runs.clone(),
            objects: level.objects.clone(),
            since,
            edits: HashMap::default(),
        },
        spent: (spent, reserved),
    }
}

fn root_group(root: Entity, children: Vec<Entity>, request: &InstanceRequest, instance: LevelInstance) -> Group {
    let mut columns = vec![
        typed_column(vec![instance]),
        typed_column(vec![request.placement]),
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

/// Late are the components that somebody observes, or whose hooks are not Bevy's own: such code may follow references
/// to other entities of the level, and must find them all. So are those that require such a component, since they bring it.
///
/// Such code may register types, so nobody holds the type registry while it runs: what is to be known of types is known before.
pub(crate) struct LatePasses {
    /// The components whose hooks are not Bevy's own.
    hooked: HashSet<ComponentId>,
}

impl LatePasses {
    /// For columns of these types, which `world` knows.
    pub fn new(world: &World, types: impl IntoIterator<Item = TypeId>, registry: &TypeRegistry) -> Self {
        let ids: HashSet<_> = types
            .into_iter()
            .filter_map(|type_id| world.components().get_id(type_id))
            .collect();
        let ids = ids.into_iter().flat_map(|id| with_required(world, id));
        Self {
            hooked: ids.filter(|id| has_foreign_hooks(world, *id, registry)).collect(),
        }
    }
}

impl Passes for LatePasses {
    fn is_late(&self, world: &World, id: ComponentId) -> bool {
        with_required(world, id).any(|id| is_observed(world, id) || self.hooked.contains(&id))
    }
}

/// The component, and those that it brings.
fn with_required(world: &World, id: ComponentId) -> impl Iterator<Item = ComponentId> {
    let info = world.components().get_info(id);
    let required = info.map(|info| info.required_components().iter_ids());
    core::iter::once(id).chain(required.into_iter().flatten())
}

/// Bevy's hooks on insertion touch the entity itself only, those of relationships apart, which are skipped.
fn has_foreign_hooks(world: &World, id: ComponentId, registry: &TypeRegistry) -> bool {
    let Some(info) = world.components().get_info(id) else {
        return false;
    };
    // Bevy does not say whether a hook is set; setting one more time on a copy does.
    let mut hooks = info.hooks().clone();
    let any = hooks.try_on_add(|_, _| {}).is_none() || hooks.try_on_insert(|_, _| {}).is_none();
    if !any || info.relationship_accessor().is_some() {
        return false;
    }
    let type_info = info.type_id().and_then(|type_id| registry.get_type_info(type_id));
    // A type without reflection does not say whose it is.
    type_info.is_none_or(|info| !is_bevys_own(info.type_path()))
}

/// The crates of Bevy 0.19 whose components levels hold. Those of any other crate, however it is called, may look around.
const BEVYS_CRATES: [&str; 24] = [
    "bevy_animation",
    "bevy_anti_alias",
    "bevy_audio",
    "bevy_camera",
    "bevy_core_pipeline",
    "bevy_ecs",
    "bevy_gizmos",
    "bevy_gltf",
    "bevy_input",
    "bevy_input_focus",
    "bevy_light",
    "bevy_mesh",
    "bevy_pbr",
    "bevy_picking",
    "bevy_post_process",
    "bevy_render",
    "bevy_sprite",
    "bevy_sprite_render",
    "bevy_text",
    "bevy_transform",
    "bevy_ui",
    "bevy_ui_render",
    "bevy_window",
    "bevy_world_serialization",
];

fn is_bevys_own(type_path: &str) -> bool {
    type_path
        .split("::")
        .next()
        .is_some_and(|name| BEVYS_CRATES.contains(&name))
}

fn is_observed(world: &World, id: ComponentId) -> bool {
    [ADD, INSERT].into_iter().any(|event| {
        world.observers().try_get_observers(event).is_some_and(|observers| {
            let own = observers.component_observers().get(&id);
            let count = own.map_or(0, |own| {
                own.global_observers().len() + own.entity_component_observers().len()
            });
            let expected = usize::from(event == INSERT && is_parent_check(world, id));
            !observers.global_observers().is_empty() || count > expected
        })
    })
}

/// The components whose insertion Bevy's own [`ValidateParentHasComponentPlugin`](bevy_app::ValidateParentHasComponentPlugin)
/// observes, to warn when the parent lacks them. Levels are cooked parents first, so it is content in the first pass.
#[derive(Resource, Default)]
pub(crate) struct ParentChecks(pub Vec<TypeId>);

fn is_parent_check(world: &World, id: ComponentId) -> bool {
    let type_id = world
        .components()
        .get_info(id)
        .and_then(bevy_ecs::component::ComponentInfo::type_id);
    let checks = world.get_resource::<ParentChecks>();
    type_id
        .zip(checks)
        .is_some_and(|(type_id, checks)| checks.0.contains(&type_id))
}

/// Despawns a level whole: its own entities, those that game code took out of the hierarchy as well, and what game
/// code hung below them.
///
/// Bevy despawns a hierarchy with two commands per child. Here the lists of children are emptied first, and parents go before
/// their children, so that no hook has anything to do; the rest goes in reverse order of spawning, which moves few rows.
pub(crate) fn leave(world: &mut World, root: Entity, members: &Members) {
    let Members { entities, parents, .. } = members;
    let mut children = Vec::with_capacity(entities.len());
    for &parent in core::iter::once(&root).chain(parents) {
        if let Some(mut below) = world.get_mut::<Children>(parent) {
            children.append(below.collection_mut_risky());
        }
    }
    for &entity in core::iter::once(&root).chain(parents).chain(entities.iter().rev()) {
        despawn(world, entity);
    }
    // Only what is not the level's own is still alive.
    for entity in children {
        despawn(world, entity);
    }
}

fn despawn(world: &mut World, entity: Entity) {
    if let Ok(entity) = world.get_entity_mut(entity) {
        entity.despawn();
    }
}
