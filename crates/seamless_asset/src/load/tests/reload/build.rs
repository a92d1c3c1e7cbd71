//! Levels in a few words, cooked to packages and read back from the world.

use std::collections::BTreeMap;

use bevy_camera::visibility::Visibility;
use bevy_ecs::{entity::EntityHashMap, relationship::RelationshipTarget};
use bevy_transform::components::GlobalTransform;

use super::*;
use crate::level_data::LevelBuilder;

#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
pub(super) struct Label(pub String);

/// Nothing but a number.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
pub(super) struct Weight(pub f32);

#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
pub(super) struct Serves(pub Handle<Recipe>);

#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
#[relationship(relationship_target = FollowedBy)]
pub(super) struct Follows(#[entities] pub Entity);

#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
#[relationship_target(relationship = Follows)]
pub(super) struct FollowedBy(Vec<Entity>);

/// An entity of a level. Others are named by their numbers; a number that the level does not have is nobody.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Thing {
    pub parent: Option<u8>,
    /// Its place among its siblings.
    pub rank: u8,
    pub place: u8,
    pub label: Option<String>,
    pub weight: Option<u8>,
    pub likes: Option<u8>,
    pub follows: Option<u8>,
    pub serves: Option<u8>,
    pub is_shown: bool,
    pub is_hidden: Option<bool>,
    /// The file has its global transform, as files of running worlds do.
    pub is_placed: bool,
}

/// A package: a level, and a recipe for each title.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Content {
    pub things: BTreeMap<u8, Thing>,
    pub titles: Vec<String>,
}

impl Content {
    /// Things in a row, each labelled with its number.
    pub fn labelled(count: u8) -> Self {
        let thing = |number: u8| Thing {
            label: Some(number.to_string()),
            rank: number,
            ..Thing::default()
        };
        Self {
            things: (0..count).map(|number| (number, thing(number))).collect(),
            titles: Vec::new(),
        }
    }

    pub fn thing(&mut self, number: u8) -> &mut Thing {
        self.things.entry(number).or_default()
    }

    fn children(&self, of: Option<u8>) -> Vec<u8> {
        let things = self.things.iter();
        let below = things.filter(|(_, thing)| thing.parent.filter(|parent| self.things.contains_key(parent)) == of);
        let mut below: Vec<_> = below.map(|(number, thing)| (thing.rank, *number)).collect();
        below.sort_unstable();
        below.into_iter().map(|(_, number)| number).collect()
    }

    /// The components of a thing.
    fn components(
        &self,
        number: u8,
        ids: &BTreeMap<u8, Entity>,
        dishes: &[Handle<Recipe>],
        mesh: &Handle<Mesh>,
    ) -> Vec<Box<dyn Reflect>> {
        let thing = &self.things[&number];
        let id = |number: Option<u8>| ids.get(&number?).copied();
        let list = |numbers: Vec<u8>| numbers.iter().map(|number| ids[number]).collect::<Vec<_>>();
        let mut all: Vec<Option<Box<dyn Reflect>>> =
            vec![Some(Box::new(Transform::from_xyz(f32::from(thing.place), 0.0, 0.0)))];
        all.push(thing.label.clone().map(|label| Box::new(Label(label)) as _));
        all.push(thing.weight.map(|weight| Box::new(Weight(f32::from(weight))) as _));
        all.push(id(thing.likes).map(|entity| Box::new(Likes(entity)) as _));
        let follows =
            |number: u8| id(self.things[&number].follows).filter(|_| self.things[&number].follows != Some(number));
        all.push(follows(number).map(|entity| Box::new(Follows(entity)) as _));
        let followers: Vec<u8> = self
            .things
            .keys()
            .copied()
            .filter(|other| follows(*other) == Some(ids[&number]))
            .collect();
        all.push((!followers.is_empty()).then(|| Box::new(FollowedBy(list(followers))) as _));
        let dish = thing.serves.and_then(|dish| dishes.get(usize::from(dish)));
        all.push(dish.map(|dish| Box::new(Serves(dish.clone())) as _));
        all.push(thing.is_shown.then(|| Box::new(Mesh3d(mesh.clone())) as _));
        let visibility = |hidden| {
            if hidden {
                Visibility::Hidden
            } else {
                Visibility::Visible
            }
        };
        all.push(thing.is_hidden.map(|hidden| Box::new(visibility(hidden)) as _));
        all.push(id(thing.parent).map(|parent| Box::new(ChildOf(parent)) as _));
        let place = || Box::new(GlobalTransform::from_xyz(f32::from(thing.place), 0.0, 0.0)) as _;
        all.push(thing.is_placed.then(place));
        let children = list(self.children(Some(number)));
        all.push(
            (!children.is_empty())
                .then(|| Box::new(<Children as RelationshipTarget>::from_collection_risky(children)) as _),
        );
        all.into_iter().flatten().collect()
    }

    fn cook_dishes(
        &self,
        app: &App,
        writer: &mut PackageWriter,
        refs: &mut BTreeMap<UntypedAssetId, ObjectRef>,
    ) -> Vec<Handle<Recipe>> {
        let mut kitchen = World::new();
        kitchen.init_resource::<Assets<Recipe>>();
        let dishes = self.titles.iter().map(|title| {
            kitchen.resource_mut::<Assets<Recipe>>().add(Recipe {
                title: title.clone(),
                before: vec![],
            })
        });
        let dishes: Vec<Handle<Recipe>> = dishes.collect();
        let registry = app.world().resource::<AppTypeRegistry>().read();
        let codecs = app.world().resource::<Codecs>().read();
        let codec = codecs.asset(core::any::TypeId::of::<Recipe>()).unwrap();
        for (number, dish) in dishes.iter().enumerate() {
            let class = writer.class(&codec.schema(&registry)).unwrap();
            let rows = EntityRows::default();
            let mut context = EncodeContext::new(&registry, &rows);
            let encoded = codec
                .encode(&kitchen, dish.id().untyped(), &mut context)
                .unwrap()
                .unwrap();
            let name = format!("dish{number}");
            let export = new_export(&name, class, encoded.data, vec![]);
            refs.insert(dish.id().untyped(), writer.export(export).unwrap());
        }
        dishes
    }

    /// Cooks it.
    pub fn package(&self, app: &App, name: &str) -> Vec<u8> {
        let mut writer = new_package(app, name);
        let mut refs: BTreeMap<UntypedAssetId, ObjectRef> = BTreeMap::new();
        let dishes = self.cook_dishes(app, &mut writer, &mut refs);
        let mesh = app.world().resource::<Assets<Mesh>>().reserve_handle();
        if self.things.values().any(|thing| thing.is_shown) {
            refs.insert(mesh.id().untyped(), mesh_object(&mut writer, app, None));
        }
        let registry = app.world().resource::<AppTypeRegistry>().read();
        let codecs = app.world().resource::<Codecs>().read();
        let mut source = World::new();
        let ids: BTreeMap<u8, Entity> = self
            .things
            .keys()
            .map(|number| (*number, source.spawn_empty().id()))
            .collect();
        let mut groups: BTreeMap<Vec<String>, Vec<(u8, Vec<Box<dyn Reflect>>)>> = BTreeMap::new();
        for number in self.things.keys() {
            let components = self.components(*number, &ids, &dishes, &mesh);
            let kinds = components
                .iter()
                .map(|component| component.reflect_type_path().to_owned());
            groups.entry(kinds.collect()).or_default().push((*number, components));
        }
        let order: Vec<u8> = groups.values().flatten().map(|(number, _)| *number).collect();
        let row = |number: &u8| order.iter().position(|other| other == number).unwrap() as u32;
        let rows: EntityHashMap<u32> = ids.iter().map(|(number, entity)| (*entity, row(number))).collect();
        let mut context = EncodeContext::new(&registry, &rows);
        let objects = order.iter().map(|number| ObjectId::new(name, &number.to_string()));
        let mut level = LevelBuilder::new(objects.collect(), self.children(None).iter().map(row).collect());
        for things in groups.values() {
            let columns = (0..things[0].1.len()).map(|column| {
                let values: Vec<&dyn Reflect> = things.iter().map(|(_, components)| &*components[column]).collect();
                let codec = codecs.component(values[0].as_any().type_id(), &registry).unwrap();
                let class = writer.class(&codec.schema(&registry)).unwrap().index() as u32;
                let mut data = Vec::new();
                codec.encode(&values, &mut context, &mut data).unwrap();
                (class, data)
            });
            let columns: Vec<(u32, Vec<u8>)> = columns.collect();
            let columns = columns.iter().map(|(class, data)| (*class, Role::ALL, data.as_slice()));
            level.group(things.len() as u32, columns.collect::<Vec<_>>().into_iter());
        }
        let used = context.into_references();
        let used = used.iter().map(|handle| refs[&handle.id()]).collect();
        level.export(&mut writer, used, Codec::None).unwrap();
        writer.finish().unwrap()
    }
}

/// The entity of a thing.
pub(super) fn entity(world: &World, root: Entity, package: &str, number: u8) -> Option<Entity> {
    let instance = world.get::<crate::LevelInstance>(root)?;
    instance.entity(ObjectId::new(package, &number.to_string()))
}

/// The type path of a component.
pub(super) fn name_of(world: &World, id: bevy_ecs::component::ComponentId) -> String {
    let type_id = world.components().get_info(id).and_then(|info| info.type_id());
    let registry = world.resource::<AppTypeRegistry>().read();
    let info = type_id.and_then(|type_id| registry.get_type_info(type_id));
    info.map_or_else(|| format!("{type_id:?}"), |info| info.type_path().to_owned())
}

/// Everything about a level instance that does not depend on ids: the things by number, with their components in words, and the
/// children of the root under 255.
pub(super) fn picture(world: &World, root: Entity, package: &str) -> BTreeMap<u8, Vec<String>> {
    let things = (0..=254).filter_map(|number| Some((number, entity(world, root, package, number)?)));
    let things: BTreeMap<u8, Entity> = things.filter(|(_, entity)| world.get_entity(*entity).is_ok()).collect();
    let number = |entity: Entity| match things.iter().find(|(_, other)| **other == entity) {
        Some((number, _)) => number.to_string(),
        None if entity == root => "root".into(),
        None => "a stranger".into(),
    };
    let numbers = |entities: &[Entity]| entities.iter().map(|entity| number(*entity)).collect::<Vec<_>>();
    let recipes = world.resource::<Assets<Recipe>>();
    let meshes = world.resource::<Assets<Mesh>>();
    let look = |entity: Entity| {
        let entity = world.entity(entity);
        let components = entity.archetype().components().iter();
        let mut words: Vec<String> = components.map(|id| name_of(world, *id)).collect();
        words.push(format!("{:?}", entity.get::<Transform>()));
        words.push(format!("{:?}", entity.get::<Label>()));
        words.push(format!("{:?}", entity.get::<Weight>()));
        words.push(format!(
            "likes {:?}",
            entity.get::<Likes>().map(|likes| number(likes.0))
        ));
        words.push(format!(
            "follows {:?}",
            entity.get::<Follows>().map(|follows| number(follows.0))
        ));
        let mut followers = entity.get::<FollowedBy>().map(|list| numbers(&list.0));
        // Their order is Bevy's.
        followers.iter_mut().for_each(|list| list.sort());
        words.push(format!("followed by {followers:?}"));
        let dish = entity.get::<Serves>().map(|serves| recipes.get(&serves.0));
        words.push(format!("serves {dish:?}"));
        let mesh = entity
            .get::<Mesh3d>()
            .map(|mesh| meshes.get(&mesh.0).map(Mesh::count_vertices));
        words.push(format!("shows {mesh:?}"));
        words.push(format!("{:?}", entity.get::<Visibility>()));
        words.push(format!(
            "below {:?}",
            entity.get::<ChildOf>().map(|parent| number(parent.parent()))
        ));
        words.push(format!(
            "above {:?}",
            entity.get::<Children>().map(|list| numbers(list))
        ));
        words.sort_unstable();
        words
    };
    let mut picture: BTreeMap<u8, Vec<String>> =
        things.iter().map(|(number, entity)| (*number, look(*entity))).collect();
    let roots = world.get::<Children>(root).map(|list| numbers(list));
    picture.insert(255, vec![format!("{roots:?}")]);
    picture
}
