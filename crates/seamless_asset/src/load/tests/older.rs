//! Packages that were cooked with older types, whole.

#[cfg(feature = "migrations")]
mod components;
#[cfg(feature = "migrations")]
mod immutable;
#[cfg(feature = "migrations")]
mod objects;
mod refused;
mod versions;

use bevy_asset::UntypedHandle;
use bevy_reflect::{GetTypeRegistration, TypeRegistry};
use seamless_package::Schema;

use super::*;
use crate::codec::{CodecRegistry, ComponentCodec, Migrations};

/// A column as an older app cooked it.
struct OldColumn {
    schema: Schema,
    data: Vec<u8>,
    references: Vec<UntypedHandle>,
}

/// The entities of a level in the older app: the row of each is its index.
fn rows(count: u32) -> (Vec<Entity>, EntityRows) {
    let mut world = World::new();
    let entities: Vec<Entity> = (0..count).map(|_| world.spawn_empty().id()).collect();
    let rows = entities.iter().copied().zip(0..).collect();
    (entities, rows)
}

fn column_of(
    codec: &dyn ComponentCodec,
    values: &[&dyn Reflect],
    rows: &EntityRows,
    types: &TypeRegistry,
) -> OldColumn {
    let mut context = EncodeContext::new(types, rows);
    let mut data = Vec::new();
    codec.encode(values, &mut context, &mut data).unwrap();
    OldColumn {
        schema: codec.schema(types),
        data,
        references: context.into_references(),
    }
}

/// A column by reflection, of a type that only the older app knows.
fn column<C: Component + GetTypeRegistration + Reflect>(values: &[C], rows: &EntityRows) -> OldColumn {
    let mut types = TypeRegistry::default();
    types.register::<C>();
    types.register::<bevy_asset::Handle<Mesh>>();
    types.register_type_data::<bevy_asset::Handle<Mesh>, bevy_asset::ReflectHandle>();
    let codec = CodecRegistry::default()
        .component(core::any::TypeId::of::<C>(), &types)
        .unwrap();
    let values: Vec<&dyn Reflect> = values.iter().map(|value| value as &dyn Reflect).collect();
    column_of(&*codec, &values, rows, &types)
}

/// A package with a level of these columns, each on all `count` entities, whose references all lead to a mesh of its own.
fn level(app: &App, name: &str, count: u32, columns: &[OldColumn]) -> Vec<u8> {
    let mut writer = old_package(name);
    level_in(&mut writer, app, name, count, columns);
    writer.finish().unwrap()
}

fn level_in(writer: &mut PackageWriter, app: &App, name: &str, count: u32, columns: &[OldColumn]) {
    let mesh = mesh_object(writer, app, None);
    let ids = (0..count).map(|row| ObjectId::new(name, &row.to_string())).collect();
    let mut level = LevelBuilder::new(ids, (0..count).collect());
    let mut classes: Vec<u32> = Vec::new();
    for column in columns {
        assert!(column.references.len() < 2, "there is one mesh");
        classes.push(writer.class(&column.schema).unwrap().index() as u32);
    }
    let data = columns.iter().map(|column| column.data.as_slice());
    let table: Vec<_> = classes
        .iter()
        .zip(data)
        .map(|(class, data)| (*class, Role::ALL, data))
        .collect();
    level.group(count, table.into_iter());
    level.export(writer, vec![mesh], Codec::None).unwrap();
}

/// Loads a level, and waits until it is there.
fn come(app: &mut App, package: &str, dependencies: &[&str]) {
    let id = load(app, package, dependencies);
    run_until(app, |world| {
        let state = state(world, id);
        if state == Some(LoadState::Failed) {
            let error = world.resource_mut::<Messages<InstanceEvent>>().drain().last();
            panic!("{error:?}");
        }
        state == Some(LoadState::Live)
    });
}

/// Loads a level that must fail, and says why.
fn refusal(app: &mut App, package: &str) -> (LoadErrorKind, String) {
    let id = load(app, package, &[]);
    run_until(app, |world| state(world, id) == Some(LoadState::Failed));
    let mut events = app.world_mut().resource_mut::<Messages<InstanceEvent>>();
    let error = events.drain().find_map(|event| match event {
        InstanceEvent::Failed { error, .. } => Some(error),
        _ => None,
    });
    let error = error.expect("a failure was told");
    let text = error.to_string();
    (std::sync::Arc::into_inner(error).unwrap().kind, text)
}

/// What the components of a type are, by value.
fn all<C: Component + Clone + PartialOrd>(app: &mut App) -> Vec<C> {
    let world = app.world_mut();
    let mut found: Vec<C> = world.query::<&C>().iter(world).cloned().collect();
    found.sort_by(|a, b| a.partial_cmp(b).unwrap());
    found
}
