//! Objects of old types become those of today.

/// Makes modules `was` and `is` with a type `game::Coin` in each.
macro_rules! coins {
    ($was:item $is:item) => {
        mod was {
            #[allow(unused_imports, reason = "not every coin needs all")]
            use super::*;
            #[derive(Reflect, Clone, Debug, PartialEq, Default)]
            #[reflect(no_auto_register)]
            #[type_path = "game"]
            $was
        }
        mod is {
            #[allow(unused_imports, reason = "not every coin needs all")]
            use super::*;
            #[derive(Reflect, Clone, Debug, PartialEq, Default)]
            #[reflect(no_auto_register)]
            #[type_path = "game"]
            $is
        }
    };
}

mod forged;
mod layouts;
mod leaves;
mod operations;
mod order;
mod own;
mod random;
mod tuples;

use bevy_asset::{Asset, Handle, ReflectHandle, UntypedHandle};
use bevy_reflect::{GetTypeRegistration, Reflect, TypePath, TypeRegistry, Typed};
use seamless_package::{Schema, VersionId};

use super::{Migrator, Plan};
use crate::codec::{
    DecodeContext, DecodeError, EncodeContext, Encoding, EntityRows, MigrateError, MigrationLists, Migrations,
    description_of, encode_reflected, schema,
};

#[derive(Asset, TypePath, Default)]
struct Sound;

/// An object as an older app cooked it.
struct Cooked {
    schema: Schema,
    data: Vec<u8>,
    handles: Vec<Option<UntypedHandle>>,
}

fn registry<T: GetTypeRegistration>() -> TypeRegistry {
    let mut registry = TypeRegistry::default();
    registry.register::<T>();
    registry.register::<Handle<Sound>>();
    registry.register_type_data::<Handle<Sound>, ReflectHandle>();
    registry
}

fn cook<T: GetTypeRegistration + Typed + Reflect>(value: &T) -> Cooked {
    let registry = registry::<T>();
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let mut data = Vec::new();
    encode_reflected(value, &mut context, &mut data).expect("it can be written");
    Cooked {
        schema: schema(
            T::type_path(),
            Encoding::Reflect,
            1,
            &description_of(T::type_info(), &registry),
        ),
        data,
        handles: context.into_references().into_iter().map(Some).collect(),
    }
}

/// All entries of one list.
fn game(list: Migrations) -> Plan {
    let mut lists = MigrationLists::default();
    lists.add(list).expect("the list has no mistake");
    all(&lists)
}

fn all(lists: &MigrationLists) -> Plan {
    let pending: Vec<_> = lists.iter().map(|list| (list.id(), 0..list.names().len())).collect();
    Plan::new(lists, &pending)
}

impl Cooked {
    /// The object as today's app reads it.
    fn load<T: GetTypeRegistration + Reflect>(&self, plan: &Plan) -> Result<T, DecodeError> {
        let value = self.load_with(plan, &registry::<T>())?;
        Ok(*value
            .expect("it is not left out")
            .downcast::<T>()
            .expect("it is of the type that was asked for"))
    }

    fn load_with(&self, plan: &Plan, registry: &TypeRegistry) -> Result<Option<Box<dyn Reflect>>, DecodeError> {
        let context = DecodeContext {
            registry,
            entities: &[],
            handles: &self.handles,
            mesh_attributes: &[],
            object: None,
        };
        let migrator = Migrator::for_class(&self.schema, false, plan, registry)?;
        migrator
            .expect("an older layout takes the slow road")
            .object(&self.data, &context)
    }
}

/// What an old object becomes without any migration.
fn load<T: GetTypeRegistration + Reflect>(old: &(impl GetTypeRegistration + Typed)) -> Result<T, DecodeError> {
    cook(old).load(&Plan::default())
}

#[track_caller]
fn error_of<T>(result: Result<T, DecodeError>) -> MigrateError {
    match result.err().expect("it is refused") {
        DecodeError::Migrate(error) => error,
        other => panic!("another error: {other}"),
    }
}
