//! The entities of a loaded scene, in one form whichever loader they come from. See [`Scene`].

use core::any::TypeId;
use std::collections::BTreeMap;

use bevy::asset::UntypedHandle;
use bevy::ecs::component::ComponentCloneBehavior;
use bevy::ecs::entity_disabling::DefaultQueryFilters;
use bevy::ecs::reflect::ReflectComponent;
use bevy::ecs::resource::IS_RESOURCE;
use bevy::gltf::{Gltf, GltfMesh, GltfSkin};
use bevy::prelude::*;
use bevy::reflect::{PartialReflect, ReflectFromReflect, TypeRegistration, TypeRegistry};
use bevy::world_serialization::WorldAsset;

use crate::assets::FileContents;
use crate::plan::{PlannedLevel, SourceKind};

/// An entity's components, by type path.
pub(crate) type Components<'a> = BTreeMap<&'a str, &'a dyn Reflect>;

/// One entity of a scene.
pub(crate) struct SourceEntity<'a> {
    /// Its id in the scene.
    pub entity: Entity,
    pub components: Components<'a>,
}

/// A scene's entities and resources; what cannot be read is listed.
#[derive(Default)]
pub(crate) struct Scene<'a> {
    pub entities: Vec<SourceEntity<'a>>,
    pub resources: Vec<&'a dyn Reflect>,
    /// Type paths of resources that cannot be reflected.
    pub opaque_resources: Vec<String>,
    /// What is wrong, and with which entity.
    pub problems: Vec<(Entity, String)>,
}

/// Values made concrete, which a [`Scene`] of a `DynamicWorld` borrows.
#[derive(Default)]
pub(crate) struct Concrete {
    entities: Vec<(Entity, Vec<Box<dyn Reflect>>)>,
    resources: Vec<Box<dyn Reflect>>,
    problems: Vec<(Entity, String)>,
}

/// The world of the glTF scene that the level names, or why there is none.
fn gltf_scene<'a>(world: &'a World, level: &PlannedLevel, root: &UntypedHandle) -> Result<&'a World, String> {
    let gltf = gltf(world, root).ok_or("holds no glTF; export it again")?;
    let SourceKind::Gltf(index) = level.kind else {
        return Err("is no glTF".into());
    };
    let scene = match index {
        Some(index) => gltf.scenes.get(index).ok_or_else(|| {
            format!(
                "has no scene {index}; it has {} (`#Scene0` is the first)",
                gltf.scenes.len()
            )
        })?,
        None => gltf
            .default_scene
            .as_ref()
            .or(gltf.scenes.first())
            .ok_or("has no scene; add one and export it again")?,
    };
    let scenes = world.resource::<Assets<WorldAsset>>();
    let scene = scenes
        .get(scene)
        .ok_or("its scene was not loaded; is it a valid glTF file?")?;
    Ok(&scene.world)
}

/// The glTF file of a root handle.
pub(crate) fn gltf<'a>(world: &'a World, root: &UntypedHandle) -> Option<&'a Gltf> {
    world
        .get_resource::<Assets<Gltf>>()?
        .get(&root.clone().try_typed::<Gltf>().ok()?)
}

/// The scene of a level that is loaded; values that are made for it are left in `values`.
pub(crate) fn scene<'a>(
    world: &'a World,
    level: &PlannedLevel,
    root: &UntypedHandle,
    registry: &'a TypeRegistry,
    values: &'a mut Concrete,
) -> Result<Scene<'a>, String> {
    if let SourceKind::Gltf(_) = level.kind {
        return gltf_scene(world, level, root).map(|scene| Scene::of_world(scene, registry));
    }
    *values = concrete(world, root, registry)?;
    Ok(Scene::of_concrete(values))
}

/// Makes the values of a `.scn.ron` concrete, as Bevy's spawner would.
fn concrete(world: &World, root: &UntypedHandle, registry: &TypeRegistry) -> Result<Concrete, String> {
    let scene = root.clone().try_typed::<DynamicWorld>().ok();
    let scene = scene.and_then(|scene| world.get_resource::<Assets<DynamicWorld>>()?.get(&scene));
    let scene = scene.ok_or("was not loaded; is it a valid scene file?")?;
    // Only to learn how each component wants to be cloned; nothing is ever spawned in it.
    let mut scratch = World::new();
    let mut out = Concrete::default();
    for source in &scene.entities {
        let mut values = Vec::new();
        for component in &source.components {
            match concrete_component(&**component, registry, &mut scratch) {
                Ok(value) => values.extend(value),
                Err(message) => out.problems.push((source.entity, message)),
            }
        }
        out.entities.push((source.entity, values));
    }
    for resource in &scene.resources {
        match concrete_value(&**resource, registry) {
            Ok((value, _)) => out.resources.push(value),
            Err(message) => out.problems.push((Entity::PLACEHOLDER, message)),
        }
    }
    Ok(out)
}

/// `None` for a component that Bevy's spawner skips.
fn concrete_component(
    value: &dyn PartialReflect,
    registry: &TypeRegistry,
    scratch: &mut World,
) -> Result<Option<Box<dyn Reflect>>, String> {
    let (value, registration) = concrete_value(value, registry)?;
    let component = registration
        .data::<ReflectComponent>()
        .ok_or_else(|| not_reflected(registration))?;
    let id = component.register_component(scratch);
    Ok(carried_over(scratch, id).then_some(value))
}

fn not_reflected(registration: &TypeRegistration) -> String {
    let type_path = registration.type_info().type_path();
    format!("component `{type_path}` lacks `#[reflect(Component)]`; add that to the type")
}

/// Whether Bevy's spawner copies the component at all.
fn carried_over(world: &World, id: bevy::ecs::component::ComponentId) -> bool {
    let info = world.components().get_info(id);
    info.is_some_and(|info| !matches!(info.clone_behavior(), ComponentCloneBehavior::Ignore))
}

fn concrete_value<'r>(
    value: &dyn PartialReflect,
    registry: &'r TypeRegistry,
) -> Result<(Box<dyn Reflect>, &'r TypeRegistration), String> {
    let type_path = value.reflect_type_path().to_owned();
    let registration = value
        .get_represented_type_info()
        .and_then(|info| registry.get(info.type_id()))
        .ok_or_else(|| format!("type `{type_path}` is not registered; add `app.register_type::<…>()` to the cooker"))?;
    let made = registration
        .data::<ReflectFromReflect>()
        .and_then(|from| from.from_reflect(value));
    let made = made.or_else(|| {
        let mut made = registration.data::<ReflectDefault>()?.default();
        made.try_apply(value).ok()?;
        Some(made)
    });
    let made = made.filter(|made| made.as_any().type_id() == registration.type_id());
    let made = made.ok_or_else(|| {
        format!("a value of `{type_path}` cannot be made: a field is missing or of another type, and the type reflects no `Default`")
    })?;
    Ok((made, registration))
}

impl<'a> Scene<'a> {
    /// The scene of a `.scn.ron`, in the order of the file.
    pub(crate) fn of_concrete(concrete: &'a Concrete) -> Self {
        let entities = concrete.entities.iter().map(|(entity, values)| SourceEntity {
            entity: *entity,
            components: values
                .iter()
                .map(|value| (value.reflect_type_path(), &**value))
                .collect(),
        });
        Self {
            entities: entities.collect(),
            resources: concrete.resources.iter().map(|value| &**value).collect(),
            opaque_resources: Vec::new(),
            problems: concrete.problems.clone(),
        }
    }

    /// The scene that is a world, read exactly as Bevy's spawner reads it; in the order of the entities' indices.
    pub(crate) fn of_world(world: &'a World, registry: &'a TypeRegistry) -> Self {
        let mut scene = Self::default();
        let mut entities = BTreeMap::new();
        for archetype in world
            .archetypes()
            .iter()
            .filter(|archetype| !archetype.contains(IS_RESOURCE))
        {
            let components: Vec<_> = archetype
                .iter_components()
                .filter(|id| carried_over(world, *id))
                .map(|id| reflected(world, id, registry))
                .collect();
            for entity in archetype.entities() {
                let entity = entity.id();
                let mut values = Components::new();
                for component in &components {
                    match component {
                        Ok((type_path, component)) => {
                            if let Some(value) = component.reflect(world.entity(entity)) {
                                values.insert(*type_path, value);
                            }
                        }
                        Err(message) => scene.problems.push((entity, message.clone())),
                    }
                }
                entities.insert(
                    entity.index_u32(),
                    SourceEntity {
                        entity,
                        components: values,
                    },
                );
            }
        }
        scene.entities = entities.into_values().collect();
        scene.add_resources(world, registry);
        scene
    }

    fn add_resources(&mut self, world: &'a World, registry: &'a TypeRegistry) {
        let filters = world.components().get_id(TypeId::of::<DefaultQueryFilters>());
        let mut found = Vec::new();
        for (id, entity) in world.resource_entities().iter().filter(|(id, _)| Some(*id) != filters) {
            let name = world
                .components()
                .get_name(id)
                .map(|name| name.to_string())
                .unwrap_or_default();
            let value = reflected(world, id, registry).ok();
            let value = value.and_then(|(_, component)| component.reflect(world.entity(entity)));
            found.push((name, value));
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, value) in found {
            match value {
                Some(value) => self.resources.push(value),
                None => self.opaque_resources.push(name),
            }
        }
    }
}

fn reflected<'a>(
    world: &World,
    id: bevy::ecs::component::ComponentId,
    registry: &'a TypeRegistry,
) -> Result<(&'a str, &'a ReflectComponent), String> {
    let name = || {
        world
            .components()
            .get_name(id)
            .map(|name| name.to_string())
            .unwrap_or_default()
    };
    let type_id = world
        .components()
        .get_info(id)
        .and_then(bevy::ecs::component::ComponentInfo::type_id);
    let registration = type_id.and_then(|type_id| registry.get(type_id)).ok_or_else(|| {
        format!(
            "component `{}` is not registered; add `app.register_type::<…>()` to the cooker",
            name()
        )
    })?;
    let component = registration
        .data::<ReflectComponent>()
        .ok_or_else(|| not_reflected(registration))?;
    Ok((registration.type_info().type_path(), component))
}

/// What a glTF file holds, so that what no level uses can be told.
pub(crate) fn contents(world: &World, level: &PlannedLevel, root: &UntypedHandle) -> Option<FileContents> {
    let gltf = gltf(world, root)?;
    let server = world.resource::<AssetServer>();
    let mut contents = FileContents::default();
    let default = || {
        gltf.scenes
            .iter()
            .position(|scene| Some(scene) == gltf.default_scene.as_ref())
    };
    let used = match level.kind {
        SourceKind::Gltf(Some(index)) => index,
        _ => default().unwrap_or(0),
    };
    contents.scenes = (0..gltf.scenes.len()).map(|index| (index, index == used)).collect();
    let labels = gltf.materials.iter().map(|handle| handle.id().untyped());
    let labels = labels.filter_map(|id| Some(server.get_path(id)?.label()?.to_owned()));
    contents.labels.extend(labels);
    Some(contents)
}

/// The meshes, skins and clips of a glTF file, whether its scenes use them or not.
pub(crate) fn labelled(world: &World, root: &UntypedHandle) -> Vec<UntypedHandle> {
    let Some(gltf) = gltf(world, root) else {
        return Vec::new();
    };
    let meshes = world.get_resource::<Assets<GltfMesh>>();
    let meshes = gltf.meshes.iter().filter_map(|mesh| meshes?.get(mesh));
    let meshes = meshes
        .flat_map(|mesh| &mesh.primitives)
        .map(|primitive| primitive.mesh.clone().untyped());
    let skins = world.get_resource::<Assets<GltfSkin>>();
    let skins = gltf.skins.iter().filter_map(|skin| skins?.get(skin));
    let skins = skins.map(|skin| skin.inverse_bind_matrices.clone().untyped());
    let clips = gltf.animations.iter().map(|clip| clip.clone().untyped());
    meshes.chain(skins).chain(clips).collect()
}

impl FileContents {
    /// What two levels of one file tell of it.
    pub(crate) fn join(&mut self, other: &Self) {
        for (scene, used) in &other.scenes {
            *self.scenes.entry(*scene).or_default() |= used;
        }
        self.labels.extend(other.labels.iter().cloned());
    }
}
