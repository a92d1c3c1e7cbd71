//! Entities that are ready to be spawned. See [`Group`].

use core::any::TypeId;

use bevy_ecs::{
    component::{Component, ComponentId},
    entity::Entity,
    world::World,
};
use bevy_reflect::Reflect;

use super::{Column, PlainColumn, RowSets, TypedRows};
use crate::codec::DecodeError;

/// Entities that share one set of components, ready to be spawned.
pub struct Group {
    /// The reserved ids, one for each row.
    pub entities: Vec<Entity>,
    /// Their components.
    pub values: Values,
}

/// The components of a [`Group`].
pub enum Values {
    /// A column for each component; each holds as many values as there are entities.
    Columns(Vec<Box<dyn Column>>),
    /// A row for each entity: the set is one that was announced.
    Rows(Box<dyn TypedRows>),
}

impl Values {
    /// Rows if `sets` has the set of these columns, else the columns as they are.
    ///
    /// # Errors
    /// When the columns are not of one length.
    pub fn new(columns: Vec<Box<dyn Column>>, sets: &RowSets) -> Result<Self, DecodeError> {
        let types = columns.iter().map(|column| (**column).type_id()).collect();
        let Some(zip) = sets.zip_for(types) else {
            return Ok(Self::Columns(columns));
        };
        let rows = zip(columns).ok_or_else(|| DecodeError::Malformed("columns of different lengths".into()))?;
        Ok(Self::Rows(rows))
    }

    /// As columns, whatever they are.
    #[must_use]
    pub fn into_columns(self) -> Vec<Box<dyn Column>> {
        match self {
            Self::Columns(columns) => columns,
            Self::Rows(rows) => rows.into_columns(),
        }
    }

    /// Makes the components known to `world`, as far as the values can.
    pub(crate) fn register(&self, world: &mut World) {
        match self {
            Self::Columns(columns) => columns.iter().for_each(|column| column.register(world)),
            Self::Rows(rows) => rows.register(world),
        }
    }

    /// The components' types.
    #[must_use]
    pub fn types(&self) -> Vec<TypeId> {
        match self {
            Self::Columns(columns) => columns.iter().map(|column| (**column).type_id()).collect(),
            Self::Rows(rows) => rows.types(),
        }
    }
}

/// Which columns are inserted in which pass of a reveal; see [`spawn`](super::spawn).
pub trait Passes {
    /// Whether observers or hooks of the component `id` may look at other entities of the level, so that it must be
    /// inserted after all of them exist.
    fn is_late(&self, world: &World, id: ComponentId) -> bool;
}

/// The values of a column of `C`s; `None` when it is of another type.
pub(crate) fn values<C: Component>(column: Box<dyn Column>) -> Option<Vec<C>> {
    let other = match column.into_any().downcast::<Vec<C>>() {
        Ok(values) => return Some(*values),
        Err(other) => other,
    };
    let other = match other.downcast::<PlainColumn>() {
        Ok(plain) => return plain.into_values(),
        Err(other) => other,
    };
    let boxed = *other.downcast::<Vec<Box<dyn Reflect>>>().ok()?;
    let values = boxed.into_iter().map(|value| value.into_any().downcast::<C>());
    values.map(|value| Some(*value.ok()?)).collect()
}

/// The values that are picked, and the others.
pub(super) fn parted<T>(values: impl Iterator<Item = T>, picked: &[bool]) -> [Vec<T>; 2] {
    let is_picked = picked.iter().copied().chain(core::iter::repeat(false));
    let mut parts = [Vec::new(), Vec::new()];
    for (value, is_picked) in values.zip(is_picked) {
        parts[usize::from(!is_picked)].push(value);
    }
    parts
}
