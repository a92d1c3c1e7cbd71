//! Levels whose entities all have the same components. See [`level`].

use bevy_app::App;
use bevy_ecs::{entity::Entity, reflect::AppTypeRegistry, world::World};
use bevy_reflect::Reflect;
use bevy_transform::components::Transform;
use seamless_asset::{
    codec::{Codecs, EncodeContext, EntityRows},
    level_data::LevelBuilder,
    package::{Codec, ObjectId, PackageWriter, Role},
};

use crate::app::writer;

/// What stands for the entity of a row in the components of a level that is written.
pub fn entity(row: usize) -> Entity {
    let row = u32::try_from(row).ok().and_then(Entity::from_raw_u32);
    row.expect("a level has fewer rows than there are entity ids")
}

/// Adds a level to the package `name`, not compressed: one entity for each row of `columns`, all of which are equally long.
/// Returns how each column is encoded, and its bytes.
pub fn level(writer: &mut PackageWriter, world: &World, name: &str, columns: &[Vec<&dyn Reflect>]) -> Vec<(u8, usize)> {
    let registry = world.resource::<AppTypeRegistry>().read();
    let codecs = world.resource::<Codecs>().read();
    let count = columns.first().map_or(0, Vec::len);
    let rows: EntityRows = (0..count).map(entity).zip(0..).collect();
    let mut context = EncodeContext::new(&registry, &rows);
    let mut encode = |values: &Vec<&dyn Reflect>| {
        let codec = codecs.component(values[0].as_any().type_id(), &registry);
        let codec = codec.expect("the type is registered");
        let schema = codec.schema(&registry);
        let class = writer.class(&schema).expect("one schema for a type").index() as u32;
        let mut data = Vec::new();
        codec
            .encode(values, &mut context, &mut data)
            .expect("every value can be carried over");
        (class, schema.encoding, data)
    };
    let columns: Vec<_> = columns.iter().map(&mut encode).collect();
    let ids = (0..count).map(|row| ObjectId::new(name, &row.to_string())).collect();
    let mut level = LevelBuilder::new(ids, (0..count as u32).collect());
    level.group(
        count as u32,
        columns
            .iter()
            .map(|(class, _, data)| (*class, Role::ALL, data.as_slice())),
    );
    level.export(writer, Vec::new(), Codec::None).expect("a new object");
    columns
        .iter()
        .map(|(_, encoding, data)| (*encoding, data.len()))
        .collect()
}

/// A package with a level of so many entities that are somewhere, and nothing else.
pub fn places(app: &App, package: &str, entities: usize) -> Vec<u8> {
    let mut writer = writer(app.world(), package);
    let places: Vec<Transform> = (0..entities)
        .map(|row| Transform::from_xyz(row as f32, 0.0, 0.0))
        .collect();
    let column = places.iter().map(|place| place as &dyn Reflect).collect();
    level(&mut writer, app.world(), package, &[column]);
    writer.finish().expect("the package is within the limits")
}
