//! How columns are made.

use core::any::TypeId;

use bevy_ecs::component::Component;
use bevy_reflect::Reflect;

use super::{Column, PlainColumn, ReflectedColumn, TypedColumn};
use crate::codec::{DecodeError, PlainType};

/// A column of values whose type is known.
#[must_use]
pub fn typed_column<C: Component>(values: Vec<C>) -> Box<dyn Column> {
    Box::new(TypedColumn(values.into_iter()))
}

/// A column of `rows` values of a plain type, whose memory is `data`; `None` when that is not exactly so many. They are copied, all
/// at once, to memory that is aligned as the type is.
#[must_use]
pub fn plain_column(plain: &PlainType, data: &[u8], rows: usize) -> Option<Box<dyn Column>> {
    Some(Box::new(PlainColumn::new(plain, data, rows)?))
}

/// A column of reflected values, all of the component type `type_id`.
///
/// # Errors
/// When a value is of another type.
pub fn reflected_column(values: Vec<Box<dyn Reflect>>, type_id: TypeId) -> Result<Box<dyn Column>, DecodeError> {
    if let Some(other) = values.iter().find(|value| value.as_any().type_id() != type_id) {
        return Err(DecodeError::Malformed(format!(
            "a column holds a `{}`",
            other.reflect_type_path()
        )));
    }
    Ok(Box::new(ReflectedColumn {
        values: values.into_iter(),
        type_id,
    }))
}
