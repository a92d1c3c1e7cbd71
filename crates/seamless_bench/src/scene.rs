//! The entities that are measured, in every form that a road needs: typed bundles, a world, RON, a package.

use std::collections::HashMap;

use bevy_asset::UntypedHandle;
use bevy_camera::visibility::{InheritedVisibility, ViewVisibility, Visibility};
use bevy_ecs::{
    component::ComponentCloneBehavior,
    entity::EntityHashMap,
    prelude::*,
    reflect::AppTypeRegistry,
    relationship::{RelationshipHookMode, RelationshipTarget},
};
use bevy_math::{Quat, Vec3};
use bevy_mesh::Mesh3d;
use bevy_pbr::{MeshMaterial3d, StandardMaterial};
use bevy_reflect::{Reflect, TypeRegistry};
use bevy_transform::components::{GlobalTransform, Transform, TransformTreeChanged};
use bevy_world_serialization::{DynamicWorld, DynamicWorldBuilder};
use seamless_asset::{
    codec::{CodecRegistry, EncodeContext, EntityRows},
    level_data::LevelBuilder,
    package::{Codec, ObjectId, ObjectRef, PackageWriter, Role},
};

use crate::app::{Kit, MATERIALS, MESHES, writer};

/// A game's own component, without a codec: it goes through reflection.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
pub struct Crate {
    label: String,
    weight: f32,
    slots: Vec<u32>,
    lock: Lock,
    #[entities]
    next: Entity,
}

/// A part of [`Crate`].
#[derive(Reflect, Clone, Debug, PartialEq)]
enum Lock {
    Open,
    Code { digits: u32, tries: u8 },
}

/// What is on every entity.
type Base = (
    Transform,
    GlobalTransform,
    TransformTreeChanged,
    Visibility,
    InheritedVisibility,
    ViewVisibility,
);
type Root = (Base, Children);
type Parent = (Base, Name, Children, ChildOf);
type Drawn = (Base, Mesh3d, MeshMaterial3d<StandardMaterial>, ChildOf);
type NamedDrawn = (Base, Name, Mesh3d, MeshMaterial3d<StandardMaterial>, ChildOf);
type Reflected = (Base, Crate, ChildOf);

/// Entities below one root, each once.
pub enum Scene {
    /// This many entities: parents with a name and three children with mesh and material each, one of them named.
    Renderable(usize),
    /// This many entities with a [`Crate`], all children of the root.
    Reflected(usize),
}

/// The entities as bundles that only need to be moved into a world.
#[derive(Default)]
pub struct Bundles {
    root: Option<(Entity, Root)>,
    parents: Vec<(Entity, Parent)>,
    drawn: Vec<(Entity, Drawn)>,
    named: Vec<(Entity, NamedDrawn)>,
    reflected: Vec<(Entity, Reflected)>,
}

fn base(row: usize) -> Base {
    let place = Vec3::new(
        (row % 32) as f32 * 2.0,
        (row % 7) as f32 * 0.25,
        (row / 32 % 32) as f32 * 2.0,
    );
    let transform = Transform::from_translation(place).with_rotation(Quat::from_rotation_y(row as f32));
    (
        transform,
        GlobalTransform::from(transform),
        TransformTreeChanged,
        Visibility::Inherited,
        InheritedVisibility::VISIBLE,
        ViewVisibility::HIDDEN,
    )
}

impl Scene {
    /// How many entities there are, the root not counted.
    pub fn len(&self) -> usize {
        match self {
            Self::Renderable(count) | Self::Reflected(count) => *count,
        }
    }

    /// The bundles under `root`, whose entities are `ids`.
    pub fn bundles(&self, root: Entity, ids: &[Entity], kit: &Kit) -> Bundles {
        let mut bundles = Bundles::default();
        let mut top = Vec::new();
        match self {
            Self::Renderable(_) => {
                for (family, ids) in ids.chunks(4).enumerate() {
                    top.push(ids[0]);
                    bundles.add_family(family, root, ids, kit);
                }
            }
            Self::Reflected(_) => {
                top.extend_from_slice(ids);
                for (row, &id) in ids.iter().enumerate() {
                    let next = ids[(row + 1) % ids.len()];
                    bundles
                        .reflected
                        .push((id, (base(row), crate_number(row, next), ChildOf(root))));
                }
            }
        }
        bundles.root = Some((root, (base(0), Children::from_collection_risky(top))));
        bundles
    }
}

/// A crate that differs from those of other rows.
pub fn crate_number(row: usize, next: Entity) -> Crate {
    let lock = if row.is_multiple_of(3) {
        Lock::Open
    } else {
        Lock::Code {
            digits: row as u32 * 7,
            tries: 3,
        }
    };
    Crate {
        label: format!("crate {row}"),
        weight: row as f32 * 0.5,
        slots: vec![1, 2, row as u32],
        lock,
        next,
    }
}

impl Bundles {
    fn add_family(&mut self, family: usize, root: Entity, ids: &[Entity], kit: &Kit) {
        let row = family * 4;
        let (&parent, children) = ids.split_first().expect("chunks are not empty");
        let list = Children::from_collection_risky(children.to_vec());
        let name = Name::new(format!("family {family}"));
        self.parents.push((parent, (base(row), name, list, ChildOf(root))));
        for (index, &child) in children.iter().enumerate() {
            let row = row + index + 1;
            let mesh = Mesh3d(kit.meshes[row % MESHES].clone());
            let material = MeshMaterial3d(kit.materials[row % MATERIALS].clone());
            if index == 0 {
                let name = Name::new(format!("trunk {row}"));
                self.named
                    .push((child, (base(row), name, mesh, material, ChildOf(parent))));
            } else {
                self.drawn.push((child, (base(row), mesh, material, ChildOf(parent))));
            }
        }
    }

    /// Spawns all entities at their ids: the least that Bevy can do. Ids must be allocated and free.
    pub fn spawn(self, world: &mut World) {
        spawn_all(world, self.root);
        spawn_all(world, self.parents);
        spawn_all(world, self.named);
        spawn_all(world, self.drawn);
        spawn_all(world, self.reflected);
    }
}

fn spawn_all<B: Bundle>(world: &mut World, rows: impl IntoIterator<Item = (Entity, B)>) {
    for (id, bundle) in rows {
        let mut entity = world.spawn_empty_at(id).expect("the id is allocated and free");
        entity.insert_with_relationship_hook_mode(bundle, RelationshipHookMode::Skip);
    }
}

/// A scene in a world of its own.
pub struct SourceWorld {
    /// The world.
    pub world: World,
    /// The scene's root.
    pub root: Entity,
    /// The scene's entities, by row.
    pub ids: Vec<Entity>,
}

impl SourceWorld {
    /// Spawns `scene`.
    pub fn new(scene: &Scene, kit: &Kit) -> Self {
        let mut world = World::new();
        let mut ids = world
            .entity_allocator()
            .alloc_many(scene.len() as u32 + 1)
            .collect::<Vec<_>>();
        let root = ids.remove(0);
        scene.bundles(root, &ids, kit).spawn(&mut world);
        Self { world, root, ids }
    }

    /// The scene as Bevy's dynamic world, the root included.
    pub fn dynamic(&self, registry: &TypeRegistry) -> DynamicWorld {
        DynamicWorldBuilder::from_world(&self.world, registry)
            .extract_entities(core::iter::once(self.root).chain(self.ids.iter().copied()))
            .build()
    }

    /// The scene as a level of the package `name`, as the cooker writes it; the root is the instance's own.
    /// `resolve` gives the objects that handles stand for.
    pub fn level(
        &self,
        registry: &TypeRegistry,
        codecs: &CodecRegistry,
        writer: &mut PackageWriter,
        name: &str,
        resolve: &mut dyn FnMut(&mut PackageWriter, &UntypedHandle) -> ObjectRef,
    ) {
        let groups = self.groups();
        let order: Vec<Entity> = groups.iter().flatten().copied().collect();
        let rows: EntityRows = order.iter().copied().zip(0..).collect();
        let is_root = |entity: &Entity| {
            self.world
                .get::<ChildOf>(*entity)
                .is_none_or(|parent| parent.0 == self.root)
        };
        let roots = order
            .iter()
            .filter(|entity| is_root(entity))
            .map(|entity| rows[entity])
            .collect();
        let ids = (0..order.len())
            .map(|row| ObjectId::new(name, &row.to_string()))
            .collect();
        let mut level = LevelBuilder::new(ids, roots);
        let mut context = EncodeContext::new(registry, &rows);
        for group in &groups {
            let columns = self.columns(group, registry, codecs, writer, &mut context);
            let columns: Vec<_> = columns
                .iter()
                .map(|(class, role, data)| (*class, *role, data.as_slice()))
                .collect();
            level.group(group.len() as u32, columns.into_iter());
        }
        let refs = context
            .into_references()
            .iter()
            .map(|handle| resolve(writer, handle))
            .collect();
        level.export(writer, refs, Codec::Lz4).expect("a new object");
    }

    /// Entities with the same components, in order of first appearance.
    fn groups(&self) -> Vec<Vec<Entity>> {
        let mut groups: Vec<Vec<Entity>> = Vec::new();
        let mut known = HashMap::new();
        for &id in &self.ids {
            let archetype = self.world.entity(id).archetype().id();
            let group = *known.entry(archetype).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[group].push(id);
        }
        groups
    }

    /// One column for each component of a group, by type path.
    fn columns(
        &self,
        group: &[Entity],
        registry: &TypeRegistry,
        codecs: &CodecRegistry,
        writer: &mut PackageWriter,
        context: &mut EncodeContext,
    ) -> Vec<(u32, Role, Vec<u8>)> {
        let first = self.world.entity(group[0]);
        let below_root = first.get::<ChildOf>().is_some_and(|parent| parent.0 == self.root);
        let mut codecs: Vec<_> = first
            .archetype()
            .iter_components()
            .filter_map(|id| self.world.components().get_info(id))
            .filter(|info| !matches!(info.clone_behavior(), ComponentCloneBehavior::Ignore))
            .filter_map(|info| info.type_id())
            .filter(|type_id| !below_root || *type_id != core::any::TypeId::of::<ChildOf>())
            .map(|type_id| {
                codecs
                    .component(type_id, registry)
                    .expect("every component is registered")
            })
            .collect();
        codecs.sort_by(|a, b| a.type_path().cmp(b.type_path()));
        let mut columns = Vec::new();
        for codec in codecs {
            let reflect = registry
                .get_type_data::<ReflectComponent>((*codec).type_id())
                .expect("it is a component");
            let values: Vec<&dyn Reflect> = group
                .iter()
                .filter_map(|entity| reflect.reflect(self.world.entity(*entity)))
                .collect();
            let mut data = Vec::new();
            codec
                .encode(&values, context, &mut data)
                .expect("every value can be carried over");
            let class = writer.class(&codec.schema(registry)).expect("one schema for a type");
            columns.push((class.index() as u32, codec.role(), data));
        }
        columns
    }
}

/// The level package of `scene`, with the kit as its only import.
pub fn package(world: &World, scene: &Scene, kit: &Kit, name: &str) -> Vec<u8> {
    let registry = world.resource::<AppTypeRegistry>().read();
    let codecs = world.resource::<seamless_asset::codec::Codecs>().read();
    let mut writer = writer(world, name);
    SourceWorld::new(scene, kit).level(&registry, &codecs, &mut writer, name, &mut |writer, handle| {
        kit.import(writer, handle)
            .expect("a new import")
            .expect("the handle is one of the kit")
    });
    writer.finish().expect("the package is within the limits")
}

/// `scene` as Bevy's text format.
pub fn ron(world: &World, scene: &Scene, named: &Kit) -> String {
    let registry = world.resource::<AppTypeRegistry>().read();
    let dynamic = SourceWorld::new(scene, named).dynamic(&registry);
    dynamic.serialize(&registry).expect("every component can be written")
}

/// Reads `text` as Bevy's loader does.
pub fn from_ron(registry: &TypeRegistry, text: &[u8], mut kit: &Kit) -> DynamicWorld {
    use serde::de::DeserializeSeed;
    let mut deserializer = ron::de::Deserializer::from_bytes(text).expect("it is text");
    let seed = bevy_world_serialization::serde::WorldDeserializer {
        type_registry: registry,
        load_from_path: &mut kit,
    };
    seed.deserialize(&mut deserializer)
        .expect("it was written a moment ago")
}

/// Writes `dynamic` into `world`; the entity without a parent is its root.
pub fn write_dynamic(world: &mut World, dynamic: &DynamicWorld) -> EntityHashMap<Entity> {
    let mut map = EntityHashMap::default();
    dynamic
        .write_to_world(world, &mut map)
        .expect("every component is registered");
    map
}
