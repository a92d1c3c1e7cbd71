//! Relationships: components that are one entity, or a list of entities of the same level.

use core::{any::TypeId, marker::PhantomData};

use bevy_ecs::{
    component::ComponentId,
    relationship::{Relationship, RelationshipSourceCollection, RelationshipTarget},
    world::World,
};
use bevy_reflect::{Reflect, TypePath, TypeRegistry};
use seamless_package::{Cursor, Schema};

use super::{ComponentCodec, DecodeContext, DecodeError, Encoding, schema};
#[cfg(feature = "write")]
use super::{EncodeContext, EncodeError};
use crate::spawn::{Column, typed_column};

/// The [`ComponentCodec`] of a [`Relationship`] that is nothing but its target, such as `ChildOf`.
pub struct RelationshipCodec<R>(PhantomData<fn() -> R>);

impl<R> Default for RelationshipCodec<R> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<R: Relationship + Reflect + TypePath> ComponentCodec for RelationshipCodec<R> {
    fn type_id(&self) -> TypeId {
        TypeId::of::<R>()
    }

    fn type_path(&self) -> &str {
        R::type_path()
    }

    fn schema(&self, _: &TypeRegistry) -> Schema {
        schema(R::type_path(), Encoding::Relation, 1, "row")
    }

    fn register(&self, world: &mut World) -> ComponentId {
        world.register_component::<R>()
    }

    #[cfg(feature = "write")]
    fn encode(
        &self,
        values: &[&dyn Reflect],
        context: &mut EncodeContext,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        for value in values {
            let value = value
                .downcast_ref::<R>()
                .ok_or_else(|| EncodeError::Other(format!("is not a `{}`", R::type_path())))?;
            out.extend_from_slice(&context.row(value.get())?.to_le_bytes());
        }
        Ok(())
    }

    fn decode(&self, data: &[u8], rows: usize, context: &DecodeContext) -> Result<Box<dyn Column>, DecodeError> {
        let mut cursor = Cursor::new(data);
        let mut values = Vec::with_capacity(rows);
        for _ in 0..rows {
            values.push(R::from(context.entity(cursor.u32()?)?));
        }
        cursor.finish()?;
        Ok(typed_column(values))
    }
}

/// The [`ComponentCodec`] of a [`RelationshipTarget`] that is nothing but its list, such as `Children`.
pub struct RelationshipTargetCodec<T>(PhantomData<fn() -> T>);

impl<T> Default for RelationshipTargetCodec<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: RelationshipTarget + Reflect + TypePath> ComponentCodec for RelationshipTargetCodec<T> {
    fn type_id(&self) -> TypeId {
        TypeId::of::<T>()
    }

    fn type_path(&self) -> &str {
        T::type_path()
    }

    fn schema(&self, _: &TypeRegistry) -> Schema {
        schema(T::type_path(), Encoding::Relation, 1, "rows")
    }

    fn register(&self, world: &mut World) -> ComponentId {
        world.register_component::<T>()
    }

    #[cfg(feature = "write")]
    fn encode(
        &self,
        values: &[&dyn Reflect],
        context: &mut EncodeContext,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        for value in values {
            let value = value
                .downcast_ref::<T>()
                .ok_or_else(|| EncodeError::Other(format!("is not a `{}`", T::type_path())))?;
            let sources: Vec<_> = value.iter().collect();
            out.extend_from_slice(&(sources.len() as u32).to_le_bytes());
            for source in sources {
                out.extend_from_slice(&context.row(source)?.to_le_bytes());
            }
        }
        Ok(())
    }

    fn decode(&self, data: &[u8], rows: usize, context: &DecodeContext) -> Result<Box<dyn Column>, DecodeError> {
        let mut cursor = Cursor::new(data);
        let mut values = Vec::with_capacity(rows);
        for _ in 0..rows {
            let count = cursor.u32()? as usize;
            if count > context.entities.len() {
                return Err(DecodeError::Malformed(format!(
                    "{count} related entities in a level of {}",
                    context.entities.len()
                )));
            }
            let mut collection = T::Collection::with_capacity(count);
            for _ in 0..count {
                collection.add(context.entity(cursor.u32()?)?);
            }
            values.push(T::from_collection_risky(collection));
        }
        cursor.finish()?;
        Ok(typed_column(values))
    }
}
