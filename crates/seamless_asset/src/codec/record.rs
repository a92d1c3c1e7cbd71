//! Components with a hand-written, positional record. See [`Record`].

use core::{any::TypeId, marker::PhantomData};

use bevy_ecs::{
    component::{Component, ComponentId},
    world::World,
};
use bevy_reflect::{Reflect, TypePath, TypeRegistry};
use seamless_package::{Cursor, Role, Schema};

use super::{ComponentCodec, DecodeContext, DecodeError, Encoding, schema};
#[cfg(feature = "write")]
use super::{EncodeContext, EncodeError};
use crate::spawn::{Column, typed_column};

/// A component that reads and writes itself, field by field, little-endian.
///
/// Hundreds of times faster than reflection; worth it for what sits on most entities.
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_reflect::prelude::*;
/// # use seamless_asset::{codec::{Record, DecodeError}, package::Cursor};
/// #[derive(Component, Reflect)]
/// struct Health(f32);
///
/// impl Record for Health {
///     const VERSION: u32 = 1;
///     fn write(&self, out: &mut Vec<u8>) {
///         out.extend_from_slice(&self.0.to_le_bytes());
///     }
///     fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
///         Ok(Self(cursor.f32()?))
///     }
/// }
/// ```
pub trait Record: Component + Reflect + TypePath + Sized {
    /// Raise it whenever the written form changes, so that old packages are refused by name, or read by
    /// [`read_version`](Self::read_version).
    const VERSION: u32;

    /// Appends the value.
    fn write(&self, out: &mut Vec<u8>);

    /// Reads what [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// When the bytes are no such value.
    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError>;

    /// Reads what an older `version` wrote. Not called in a build without the feature `migrations`.
    ///
    /// # Errors
    /// As [`read`](Self::read); by default [`DecodeError::SchemaChanged`], which names both versions.
    fn read_version(version: u32, cursor: &mut Cursor) -> Result<Self, DecodeError> {
        let _ = cursor;
        Err(DecodeError::version(Self::type_path(), version, Self::VERSION))
    }
}

/// Reads a column of records, each with `read`.
fn read_all<C>(
    data: &[u8],
    rows: usize,
    mut read: impl FnMut(&mut Cursor) -> Result<C, DecodeError>,
) -> Result<Vec<C>, DecodeError> {
    let mut cursor = Cursor::new(data);
    // A record may be empty, so the bytes do not bound the rows; the level's row limit does.
    let mut values = Vec::with_capacity(rows);
    for _ in 0..rows {
        values.push(read(&mut cursor)?);
    }
    cursor.finish()?;
    Ok(values)
}

/// The [`ComponentCodec`] of a [`Record`].
pub struct RecordCodec<C> {
    role: Role,
    marker: PhantomData<fn() -> C>,
}

impl<C: Record> RecordCodec<C> {
    /// A codec whose columns are for apps with one of `role`'s bits.
    #[must_use]
    pub fn new(role: Role) -> Self {
        Self {
            role,
            marker: PhantomData,
        }
    }
}

impl<C: Record> ComponentCodec for RecordCodec<C> {
    fn type_id(&self) -> TypeId {
        TypeId::of::<C>()
    }

    fn type_path(&self) -> &str {
        C::type_path()
    }

    fn schema(&self, _: &TypeRegistry) -> Schema {
        schema(C::type_path(), Encoding::Record, C::VERSION, "record")
    }

    fn role(&self) -> Role {
        self.role
    }

    fn register(&self, world: &mut World) -> ComponentId {
        world.register_component::<C>()
    }

    #[cfg(feature = "write")]
    fn encode(&self, values: &[&dyn Reflect], _: &mut EncodeContext, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        for value in values {
            let value = value
                .downcast_ref::<C>()
                .ok_or_else(|| EncodeError::Other(format!("is not a `{}`", C::type_path())))?;
            value.write(out);
        }
        Ok(())
    }

    fn decode(&self, data: &[u8], rows: usize, _: &DecodeContext) -> Result<Box<dyn Column>, DecodeError> {
        Ok(typed_column(read_all(data, rows, C::read)?))
    }

    #[cfg(feature = "migrations")]
    fn decode_version(
        &self,
        version: u32,
        data: &[u8],
        rows: usize,
        _: &DecodeContext,
    ) -> Result<Box<dyn Column>, DecodeError> {
        let values = read_all(data, rows, |cursor| C::read_version(version, cursor))?;
        Ok(typed_column(values))
    }

    #[cfg(feature = "migrations")]
    fn decode_values(
        &self,
        version: u32,
        data: &[u8],
        rows: usize,
        _: &DecodeContext,
    ) -> Result<Vec<Box<dyn Reflect>>, DecodeError> {
        read_all(data, rows, |cursor| {
            let value = match version == C::VERSION {
                true => C::read(cursor),
                false => C::read_version(version, cursor),
            };
            Ok(Box::new(value?) as Box<dyn Reflect>)
        })
    }
}
