//! Any reflected component or resource: its memory where it is nothing but numbers, else positional, through `postcard`. See
//! [`ReflectCodec`].

mod describe;
#[cfg(any(feature = "migrations", feature = "write"))]
mod parse;
mod rows;
mod shape;
#[cfg(test)]
mod tests;
#[cfg(feature = "write")]
mod write;

use core::any::TypeId;
use std::sync::Arc;

use bevy_asset::{ReflectHandle, UntypedHandle};
use bevy_ecs::{
    component::ComponentId,
    entity::{Entity, EntityMapper},
    reflect::ReflectComponent,
    world::World,
};
use bevy_reflect::{
    PartialReflect, Reflect, ReflectFromReflect, TypeInfo, TypeRegistration, TypeRegistry,
    serde::{ReflectDeserializerProcessor, TypedReflectDeserializer},
};
use seamless_package::{Role, Schema};
use serde::{Deserialize, Serialize, de::DeserializeSeed};

pub use self::describe::description_of;
pub(crate) use self::describe::first_difference;
#[cfg(feature = "migrations")]
pub(super) use self::describe::{SchemaField, is_option};
use self::rows::RowDecoder;
#[cfg(feature = "write")]
pub use self::write::encode_reflected;
#[cfg(any(feature = "migrations", feature = "write"))]
pub(super) use self::{
    describe::{SchemaShape, SchemaTree},
    parse::parse,
};
use super::{
    ComponentCodec, DecodeContext, DecodeError, Encoding, PlainType,
    attribute::with_promise,
    changed, check_layout,
    plain::{self, PlainTypes, Plan, decode_plain, plan_for},
    schema,
};
#[cfg(feature = "write")]
use super::{EncodeContext, EncodeError, encode::RowMapper};
use crate::spawn::{Column, reflected_column};

/// The [`ComponentCodec`] of any component registered with `#[reflect(Component)]`.
///
/// Entities are mapped by the component's own `MapEntities`, as Bevy's scenes do; handles become references to
/// objects wherever they are in the value. A component that is nothing but numbers has neither: its columns are copied.
pub struct ReflectCodec {
    registration: TypeRegistration,
    component: ReflectComponent,
    role: Role,
    form: Form,
}

/// How a column is stored.
enum Form {
    /// Value by value, field by field.
    ByField,
    /// As the memory of all values, which may be laid out otherwise than here.
    Plain(Arc<PlainType>, Plan),
}

impl ReflectCodec {
    /// The codec of a registered type, field by field even if it is plain: for types that cannot carry
    /// [`CookByField`](super::CookByField). Its columns are for apps with one of `role`'s bits.
    ///
    /// # Errors
    /// When the type does not reflect [`Component`](bevy_ecs::component::Component).
    pub fn by_field(registration: &TypeRegistration, role: Role) -> Result<Self, DecodeError> {
        Self::new(registration, role, None)
    }

    /// The codec of a registered type that may be plain.
    pub(super) fn new(
        registration: &TypeRegistration,
        role: Role,
        plain: Option<Arc<PlainType>>,
    ) -> Result<Self, DecodeError> {
        let type_path = registration.type_info().type_path();
        let component = registration
            .data::<ReflectComponent>()
            .ok_or_else(|| DecodeError::UnknownType(format!("{type_path}` (it lacks `#[reflect(Component)]`)")))?;
        Ok(Self {
            component: component.clone(),
            registration: registration.clone(),
            role,
            form: plain.map_or(Form::ByField, |plain| Form::Plain(plain, Plan::Copy)),
        })
    }

    /// The codec of a registered type for columns of the schema `stored`. Whether the type is plain matters only if these are.
    pub(super) fn reading(
        stored: &Schema,
        registration: &TypeRegistration,
        registry: &TypeRegistry,
        role: Role,
        plain_types: &PlainTypes,
    ) -> Result<Self, DecodeError> {
        let is_plain = Encoding::from_u8(stored.encoding) == Some(Encoding::Plain);
        let plain = is_plain.then(|| plain_types.of(registration, registry)).flatten();
        let mut codec = Self::new(registration, role, plain)?;
        let is = codec.schema(registry);
        if let Form::Plain(plain, plan) = &mut codec.form
            && stored.version == is.version
        {
            *plan = plan_for(stored, plain, &is)?.ok_or_else(|| changed(stored, &is))?;
        } else {
            check_layout(stored, &is)?;
        }
        Ok(codec)
    }
}

impl ComponentCodec for ReflectCodec {
    fn type_id(&self) -> TypeId {
        self.registration.type_id()
    }

    fn type_path(&self) -> &str {
        self.registration.type_info().type_path()
    }

    fn schema(&self, registry: &TypeRegistry) -> Schema {
        let info = self.registration.type_info();
        let schema = match &self.form {
            Form::ByField => schema(self.type_path(), Encoding::Reflect, 1, &description_of(info, registry)),
            Form::Plain(plain, _) => {
                let description = plain::description(plain.layout(), &description_of(info, registry));
                schema(self.type_path(), Encoding::Plain, 1, &description)
            }
        };
        with_promise(schema, Some(info))
    }

    fn role(&self) -> Role {
        self.role
    }

    fn register(&self, world: &mut World) -> ComponentId {
        self.component.register_component(world)
    }

    #[cfg(feature = "write")]
    fn encode(
        &self,
        values: &[&dyn Reflect],
        context: &mut EncodeContext,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let foreign = || EncodeError::Other(format!("is not a `{}`", self.type_path()));
        for value in values {
            if value.as_any().type_id() != self.type_id() {
                return Err(foreign());
            }
            let mut value = clone_value(*value, &self.registration)?;
            let mut mapper = RowMapper {
                rows: context.entities,
                outside: None,
                used: false,
            };
            self.component.map_entities(&mut *value, &mut mapper);
            if let Form::Plain(plain, _) = &self.form {
                if mapper.used {
                    return Err(EncodeError::MapsEntities(self.type_path().to_owned()));
                }
                plain.write(&mut *value, out).then_some(()).ok_or_else(foreign)?;
                continue;
            }
            if let Some(outside) = mapper.outside {
                return Err(EncodeError::OutsideEntity(outside));
            }
            encode_reflected(&*value, context, out)?;
        }
        Ok(())
    }

    fn decode(&self, data: &[u8], rows: usize, context: &DecodeContext) -> Result<Box<dyn Column>, DecodeError> {
        if let Form::Plain(plain, plan) = &self.form {
            return decode_plain(plain, plan, data, rows);
        }
        let mut values = Vec::with_capacity(rows);
        let mut rest = data;
        let mut decoder = RowDecoder::new(&self.registration, context);
        for _ in 0..rows {
            let mut value = decoder.next(&mut rest)?;
            map_rows(&self.component, &mut *value, context)?;
            values.push(value);
        }
        check_end(rest)?;
        reflected_column(values, self.type_id())
    }
}

/// Replaces the rows in a component by the level's entities.
pub(super) fn map_rows(
    component: &ReflectComponent,
    value: &mut dyn Reflect,
    context: &DecodeContext,
) -> Result<(), DecodeError> {
    let mut mapper = EntityOfRow {
        entities: context.entities,
        missing: None,
    };
    component.map_entities(value, &mut mapper);
    match mapper.missing {
        None => Ok(()),
        Some(missing) => Err(DecodeError::Malformed(format!("entity {missing} is not in the level"))),
    }
}

/// Maps entities whose index is a row to the level's entities.
struct EntityOfRow<'a> {
    entities: &'a [Entity],
    missing: Option<Entity>,
}

impl EntityMapper for EntityOfRow<'_> {
    fn get_mapped(&mut self, source: Entity) -> Entity {
        if source == Entity::PLACEHOLDER {
            return source;
        }
        match self.entities.get(source.index_u32() as usize) {
            Some(entity) => *entity,
            None => {
                self.missing.get_or_insert(source);
                source
            }
        }
    }

    fn set_mapped(&mut self, _: Entity, _: Entity) {}
}

/// A handle inside a reflected value.
#[derive(Serialize, Deserialize, Clone, Copy)]
pub(super) enum StoredHandle {
    /// An object, by index in the export's reference list.
    Object(u32),
    /// An asset that is none of the package's, by its constant UUID.
    Uuid([u8; 16]),
}

/// How deep values may be nested. Deserialisers call themselves for every level, and a forged package must not exhaust
/// the stack.
pub(super) const MAX_DEPTH: usize = 128;
pub(super) const TOO_DEEP: &str = "it is nested too deep, in more than 128 others";

/// Reads handles, and counts how deep the value is nested.
struct HandleReader<'a, 'b> {
    context: &'a DecodeContext<'b>,
    depth: usize,
    /// The value that comes next has been counted.
    is_counted: bool,
    /// What was wrong; postcard forgets it.
    why: Option<DecodeError>,
}

impl HandleReader<'_, '_> {
    fn fail<E: serde::de::Error>(&mut self, why: DecodeError) -> E {
        let error = E::custom(&why);
        self.why = Some(why);
        error
    }
}

impl ReflectDeserializerProcessor for HandleReader<'_, '_> {
    fn try_deserialize<'de, D>(
        &mut self,
        registration: &TypeRegistration,
        registry: &TypeRegistry,
        deserializer: D,
    ) -> Result<Result<Box<dyn PartialReflect>, D>, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        let Some(reflect_handle) = registration.data::<ReflectHandle>() else {
            if core::mem::take(&mut self.is_counted) {
                return Ok(Err(deserializer));
            }
            if self.depth == MAX_DEPTH {
                return Err(self.fail(DecodeError::Reflect {
                    type_path: registration.type_info().type_path().to_owned(),
                    message: TOO_DEEP.into(),
                }));
            }
            // Bevy tells when a value begins, not when it ends: so it is read from here.
            (self.depth, self.is_counted) = (self.depth + 1, true);
            let value =
                TypedReflectDeserializer::with_processor(registration, registry, self).deserialize(deserializer);
            self.depth -= 1;
            return value.map(Ok);
        };
        let stored = StoredHandle::deserialize(deserializer)?;
        let handle = read_handle(reflect_handle, stored, self.context).map_err(|why| self.fail(why))?;
        Ok(Ok(handle.into_partial_reflect()))
    }
}

pub(super) fn read_handle(
    reflect_handle: &ReflectHandle,
    stored: StoredHandle,
    context: &DecodeContext,
) -> Result<Box<dyn Reflect>, DecodeError> {
    let type_id = reflect_handle.asset_type_id();
    let handle = match stored {
        StoredHandle::Uuid(bytes) => UntypedHandle::Uuid {
            type_id,
            uuid: uuid::Uuid::from_bytes(bytes),
        },
        StoredHandle::Object(index) => context.handle(index)?.clone(),
    };
    if handle.type_id() != type_id {
        return Err(DecodeError::Malformed(
            "a reference is to an asset of another type".into(),
        ));
    }
    Ok(reflect_handle.typed(handle))
}

/// Reads one value of the registered type from the front of `data`; returns it with what is left.
///
/// # Errors
/// When the bytes are no such value, or a reference in it leads nowhere.
pub fn decode_reflected<'d>(
    registration: &TypeRegistration,
    data: &'d [u8],
    context: &DecodeContext,
) -> Result<(Box<dyn Reflect>, &'d [u8]), DecodeError> {
    decode_nested(registration, data, context, 0)
}

/// Reads a value that is all of `data`; as [`decode_reflected`].
///
/// # Errors
/// As there, and when something is left.
pub fn decode_reflected_whole(
    registration: &TypeRegistration,
    data: &[u8],
    context: &DecodeContext,
) -> Result<Box<dyn Reflect>, DecodeError> {
    let (value, rest) = decode_reflected(registration, data, context)?;
    check_end(rest)?;
    Ok(value)
}

pub(super) fn check_end(rest: &[u8]) -> Result<(), DecodeError> {
    if rest.is_empty() {
        Ok(())
    } else {
        Err(DecodeError::Malformed(format!("{} bytes too many", rest.len())))
    }
}

/// Reads a value with so many others around it.
fn decode_nested<'d>(
    registration: &TypeRegistration,
    data: &'d [u8],
    context: &DecodeContext,
    depth: usize,
) -> Result<(Box<dyn Reflect>, &'d [u8]), DecodeError> {
    let type_path = registration.type_info().type_path();
    let error = |message: String| DecodeError::Reflect {
        type_path: type_path.to_owned(),
        message,
    };
    let mut processor = HandleReader {
        context,
        depth,
        is_counted: false,
        why: None,
    };
    let mut deserializer = postcard::Deserializer::from_bytes(data);
    let value = TypedReflectDeserializer::with_processor(registration, context.registry, &mut processor)
        .deserialize(&mut deserializer);
    let value = value.map_err(|cause| processor.why.unwrap_or_else(|| error(cause.to_string())))?;
    let rest = deserializer.finalize().map_err(|cause| error(cause.to_string()))?;
    let value = match value.try_into_reflect() {
        Ok(value) if value.as_any().type_id() == registration.type_id() => value,
        Ok(value) => {
            from_reflect(registration, value.as_partial_reflect()).ok_or_else(|| error("wrong type".into()))?
        }
        Err(dynamic) => from_reflect(registration, &*dynamic)
            .ok_or_else(|| error("it has no `FromReflect`, or a field without a default is missing".into()))?,
    };
    Ok((value, rest))
}

fn from_reflect(registration: &TypeRegistration, value: &dyn PartialReflect) -> Option<Box<dyn Reflect>> {
    registration.data::<ReflectFromReflect>()?.from_reflect(value)
}

#[cfg(feature = "write")]
fn clone_value(value: &dyn Reflect, registration: &TypeRegistration) -> Result<Box<dyn Reflect>, EncodeError> {
    value
        .reflect_clone()
        .ok()
        .or_else(|| from_reflect(registration, value.as_partial_reflect()))
        .ok_or_else(|| EncodeError::Reflect {
            type_path: value.reflect_type_path().to_owned(),
            message: "it can be cloned neither by `Clone` nor by `FromReflect`".into(),
        })
}

/// The schema of a level's resource of this type.
#[must_use]
pub fn resource_schema(info: &'static TypeInfo, registry: &TypeRegistry) -> Schema {
    let schema = schema(info.type_path(), Encoding::Resource, 1, &description_of(info, registry));
    with_promise(schema, Some(info))
}
