//! Who is whose child in a level. See [`Hierarchy`].

use core::{any::TypeId, cell::OnceCell};

use bevy_ecs::{
    component::Component,
    entity::{Entity, EntityHashMap},
    hierarchy::{ChildOf, Children},
};

use crate::{
    codec::DecodeError,
    spawn::{Column, typed_column, values},
};

/// Why the entities of a level are no forest. Rows are those of the level table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HierarchyError {
    /// An entity is listed more than once: by two parents, twice by one, or twice as a root.
    #[error("entity {row} is listed as a child more than once; cook the package again")]
    ListedTwice {
        /// The entity.
        row: u32,
    },
    /// The entity that lists another one as its child is not the parent that this one names; either may be none of the level's.
    #[error("entity {row} is a child of {}, but is listed by {}; cook the package again", name(*.parent), lister(*.listed_by))]
    WrongParent {
        /// The child.
        row: u32,
        /// The parent that it names; `None`: the root of the instance.
        parent: Option<u32>,
        /// The entity that lists it; `None`: nobody.
        listed_by: Option<Lister>,
    },
    /// An entity is its own ancestor.
    #[error("entity {row} is its own ancestor; cook the package again")]
    Circle {
        /// One of those that are.
        row: u32,
    },
    /// A parent or a child is no entity of the level. Only code of the game can do that: a migration, or a post-load.
    #[error(
        "{entity} is not of this level, and cannot be a parent or a child in it; correct the post-load or migration"
    )]
    Outside {
        /// Which entity.
        entity: Entity,
    },
}

/// Who lists an entity as its child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lister {
    /// The root of the instance.
    Root,
    /// The `Children` of the entity of this row.
    Row(u32),
}

fn name(parent: Option<u32>) -> String {
    parent.map_or_else(|| "the level's root".to_owned(), |row| format!("entity {row}"))
}

fn lister(lister: Option<Lister>) -> String {
    match lister {
        None => "nobody".to_owned(),
        Some(Lister::Root) => name(None),
        Some(Lister::Row(row)) => name(Some(row)),
    }
}

/// Checks that a level's `ChildOf`, `Children` and roots say the same, before they are put into the world without hooks.
///
/// Bevy relies on it: the propagation of transforms walks down `Children` on several threads without looking whether an entity
/// comes twice, and panics where `ChildOf` differs.
pub(crate) struct Hierarchy<'a> {
    root: Entity,
    entities: &'a [Entity],
    /// The parent's row, by row; `None` for the instance's root.
    parents: Vec<Option<u32>>,
    listed_by: Vec<Option<Lister>>,
    /// Rows whose columns were noted.
    noted: usize,
    /// Made when it is needed: ids that were reserved together mostly follow each other.
    rows: OnceCell<EntityHashMap<u32>>,
}

impl<'a> Hierarchy<'a> {
    /// Of the `entities` of a level, by row, below `root`.
    pub(crate) fn new(root: Entity, entities: &'a [Entity]) -> Self {
        Self {
            root,
            entities,
            parents: vec![None; entities.len()],
            listed_by: vec![None; entities.len()],
            noted: 0,
            rows: OnceCell::new(),
        }
    }

    /// Takes note of the columns of the next `rows` entities, and leaves them as they are.
    pub(crate) fn note(&mut self, rows: usize, columns: &mut [Box<dyn Column>]) -> Result<(), DecodeError> {
        let first = self.noted;
        self.noted += rows;
        for column in columns {
            if (**column).type_id() == TypeId::of::<ChildOf>() {
                look_into(column, |parents: &[ChildOf]| self.note_parents(first, parents))?;
            } else if (**column).type_id() == TypeId::of::<Children>() {
                look_into(column, |lists: &[Children]| self.note_lists(first, lists))?;
            }
        }
        Ok(())
    }

    fn note_parents(&mut self, first: usize, parents: &[ChildOf]) -> Result<(), HierarchyError> {
        for (row, parent) in (first..).zip(parents) {
            let parent = parent.parent();
            let parent = if parent == self.root {
                None
            } else {
                Some(self.row(parent)?)
            };
            if let Some(place) = self.parents.get_mut(row) {
                *place = parent;
            }
        }
        Ok(())
    }

    fn note_lists(&mut self, first: usize, lists: &[Children]) -> Result<(), HierarchyError> {
        for (row, children) in (first as u32..).zip(lists) {
            for &child in children.iter() {
                let child = self.row(child)?;
                self.list(child, Lister::Row(row))?;
            }
        }
        Ok(())
    }

    fn list(&mut self, row: u32, lister: Lister) -> Result<(), HierarchyError> {
        match self.listed_by.get_mut(row as usize) {
            Some(place @ None) => *place = Some(lister),
            _ => return Err(HierarchyError::ListedTwice { row }),
        }
        Ok(())
    }

    fn row(&self, entity: Entity) -> Result<u32, HierarchyError> {
        let first = self.entities.first().map_or(0, |first| first.index_u32());
        let likely = entity.index_u32().wrapping_sub(first);
        if self.entities.get(likely as usize) == Some(&entity) {
            return Ok(likely);
        }
        let rows = self
            .rows
            .get_or_init(|| self.entities.iter().copied().zip(0..).collect());
        rows.get(&entity).copied().ok_or(HierarchyError::Outside { entity })
    }

    /// All columns were noted, and `roots` are the rows that the instance's root will list.
    pub(crate) fn finish(mut self, roots: &[u32]) -> Result<(), HierarchyError> {
        for &row in roots {
            self.list(row, Lister::Root)?;
        }
        for ((row, &parent), &listed_by) in (0..).zip(&self.parents).zip(&self.listed_by) {
            if listed_by != Some(parent.map_or(Lister::Root, Lister::Row)) {
                return Err(HierarchyError::WrongParent { row, parent, listed_by });
            }
        }
        self.find_circle()
            .map_or(Ok(()), |row| Err(HierarchyError::Circle { row }))
    }

    /// Goes up from each entity to the root, or to one that another walk came by.
    fn find_circle(&self) -> Option<u32> {
        // By row: the number of the walk that came by, from 1.
        let mut seen = vec![0_u32; self.parents.len()];
        for (row, walk) in (0..self.parents.len()).zip(1..) {
            let mut at = row;
            while let Some(mark) = seen.get_mut(at).filter(|mark| **mark == 0 || **mark == walk) {
                if *mark == walk {
                    return Some(at as u32);
                }
                *mark = walk;
                match self.parents.get(at) {
                    Some(Some(parent)) => at = *parent as usize,
                    _ => break,
                }
            }
        }
        None
    }
}

/// Lends the values of a column of `C`s, which is put back as it was.
fn look_into<C: Component>(
    column: &mut Box<dyn Column>,
    look: impl FnOnce(&[C]) -> Result<(), HierarchyError>,
) -> Result<(), DecodeError> {
    let taken = core::mem::replace(column, typed_column(Vec::<C>::new()));
    let values = values::<C>(taken).ok_or_else(|| DecodeError::Malformed("a column is of another type".into()))?;
    look(&values)?;
    *column = typed_column(values);
    Ok(())
}
