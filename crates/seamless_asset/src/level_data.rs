//! The level table: the entities of a level and their columns, as the data of one export.
//!
//! ```text
//! u32  entities                        number of entities, E
//! u64  object id × E                   one for each entity, in row order
//! u32  roots, then u32 row × roots     entities without a parent inside the level, in their order
//! u32  groups                          entities that share one set of components lie together
//! per group:   u32 rows   u32 columns
//! per column:  u32 class (export index)   u8 role   u32 bytes   …the codec's column
//! ```

mod hierarchy;
#[cfg(test)]
mod tests;

pub(crate) use hierarchy::Hierarchy;
pub use hierarchy::{HierarchyError, Lister};

use core::any::TypeId;
use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_platform::collections::{HashMap, HashSet};
use seamless_package::{Cursor, ObjectId, Role};
#[cfg(feature = "write")]
use seamless_package::{NewExport, ObjectRef, PackageWriter, Schema, WriteError};

use crate::codec::DecodeError;
#[cfg(feature = "write")]
use crate::codec::{Encoding, schema};
use crate::spawn::{Column, Group};

/// The type path of the class of level tables.
pub const LEVEL_CLASS: &str = "seamless::Level";
/// The name of the level table's export.
pub const LEVEL_EXPORT: &str = "Level";
/// Raised whenever the layout above changes.
pub const LEVEL_VERSION: u32 = 1;

/// A level table, taken apart but not yet decoded; borrows the export's data.
pub struct LevelTable<'a> {
    /// The entities' object ids, by row.
    pub ids: Vec<ObjectId>,
    /// Rows of the entities without a parent inside the level.
    pub roots: Vec<u32>,
    /// Runs of entities with one set of components; they cover all rows in order.
    pub groups: Vec<GroupTable<'a>>,
}

/// A run of entities with one set of components.
pub struct GroupTable<'a> {
    /// How many entities.
    pub rows: u32,
    /// Their components.
    pub columns: Vec<ColumnTable<'a>>,
}

/// One component of a run of entities, still encoded.
pub struct ColumnTable<'a> {
    /// The export index of the component's schema.
    pub class: u32,
    /// Who needs it.
    pub role: Role,
    /// What the codec wrote.
    pub data: &'a [u8],
}

impl<'a> LevelTable<'a> {
    /// Takes `data` apart. Allocates no more than the bytes that are there call for.
    ///
    /// # Errors
    /// When the data is no level table, or holds more than `max_entities`.
    pub fn parse(data: &'a [u8], max_entities: u32) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(data);
        let entities = cursor.u32()?;
        if entities > max_entities {
            return Err(DecodeError::Malformed(format!(
                "{entities} entities, {max_entities} are allowed (raise `SeamlessAssetPlugin::max_entities_per_level`)"
            )));
        }
        let id_bytes = cursor.bytes(entities as usize * 8)?;
        let ids = id_bytes
            .chunks_exact(8)
            .map(|bytes| ObjectId(bytes.try_into().map_or(0, u64::from_le_bytes)))
            .collect();
        let roots = read_roots(&mut cursor, entities)?;
        let count = cursor.u32()?;
        let mut groups = Vec::new();
        let mut covered = 0_u32;
        let mut classes = HashMap::default();
        for index in 0..count {
            let group = GroupTable::parse(&mut cursor, index, &mut classes)?;
            // Every group has entities, so there are no more groups than entities that were paid for with bytes.
            covered = covered.saturating_add(group.rows);
            if covered > entities {
                break;
            }
            groups.push(group);
        }
        if covered != entities {
            return Err(DecodeError::Malformed(format!(
                "its groups hold {covered} of {entities} entities"
            )));
        }
        cursor.finish()?;
        Ok(Self { ids, roots, groups })
    }
}

fn read_roots(cursor: &mut Cursor, entities: u32) -> Result<Vec<u32>, DecodeError> {
    let count = cursor.u32()?;
    if count > entities {
        return Err(DecodeError::Malformed(format!(
            "{count} roots among {entities} entities"
        )));
    }
    let mut roots = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let row = cursor.u32()?;
        if row >= entities {
            return Err(DecodeError::Malformed(format!("root {row} of {entities} entities")));
        }
        roots.push(row);
    }
    Ok(roots)
}

impl<'a> GroupTable<'a> {
    /// Reads group `index`; `classes` has the last group that had a column of each class.
    fn parse(cursor: &mut Cursor<'a>, index: u32, classes: &mut HashMap<u32, u32>) -> Result<Self, DecodeError> {
        let rows = cursor.u32()?;
        if rows == 0 {
            return Err(DecodeError::Malformed(format!("group {index} has no entities")));
        }
        let count = cursor.u32()?;
        let mut columns = Vec::new();
        for _ in 0..count {
            let class = cursor.u32()?;
            // Before anything is decoded: a column of a type without fields is a few bytes for any number of rows.
            if classes.insert(class, index) == Some(index) {
                return Err(DecodeError::Malformed(format!(
                    "group {index} has two columns of class {class}"
                )));
            }
            let role = Role::from_bits(cursor.u8()?)
                .ok_or_else(|| DecodeError::Malformed("a column's role is unknown".into()))?;
            let length = cursor.u32()? as usize;
            let data = cursor.bytes(length)?;
            columns.push(ColumnTable { class, role, data });
        }
        Ok(Self { rows, columns })
    }
}

/// Rows of a level that have one set of components; a few dozen bytes for a whole run of entities, kept as long as the instance is
/// live, so that a reload knows which components are the level's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How many rows.
    pub rows: u32,
    /// Their components.
    pub types: Vec<TypeId>,
}

/// A level that is decoded, with its final entity ids.
#[derive(Default)]
pub struct DecodedLevel {
    /// What to spawn.
    pub groups: Vec<Group>,
    /// All entities, by row.
    pub entities: Arc<[Entity]>,
    /// The components of the rows, in the same order.
    pub runs: Arc<[Run]>,
    /// Entities with children.
    pub parents: Vec<Entity>,
    /// Entities without a parent inside the level, in order; they become children of the instance's root.
    pub roots: Vec<Entity>,
    /// The entities and their object ids.
    pub objects: Arc<LevelObjects>,
    /// Name that the level's package was cooked under.
    pub package: Arc<str>,
}

/// The entities of a level instance with their object ids, as they were revealed, in the rows of the level table: an entity's row is the same
/// wherever the same package is loaded.
#[derive(Debug, Default, PartialEq)]
pub struct LevelObjects {
    table: Arc<Table>,
    /// Rows whose entities are the level's no more.
    forgotten: HashSet<u32>,
}

/// As the level was revealed.
#[derive(Debug, Default, PartialEq)]
struct Table {
    rows: Vec<(ObjectId, Entity)>,
    by_id: HashMap<u64, u32>,
    /// The rows, ascending by the entity's index. Empty where they are so as they stand: ids are reserved in order, and only a reload
    /// mixes old and new ones.
    by_entity: Vec<u32>,
}

impl LevelObjects {
    /// The objects `ids`, row by row.
    #[must_use]
    pub fn new(ids: &[ObjectId], entities: &[Entity]) -> Self {
        let index = |row: &u32| entities.get(*row as usize).map(|entity| entity.index_u32());
        let mut by_entity = Vec::new();
        if !entities.is_sorted_by_key(|entity| entity.index_u32()) {
            by_entity = (0..entities.len() as u32).collect();
            by_entity.sort_unstable_by_key(index);
        }
        let table = Table {
            rows: ids.iter().copied().zip(entities.iter().copied()).collect(),
            by_id: ids.iter().map(|id| id.0).zip(0..).collect(),
            by_entity,
        };
        Self {
            table: table.into(),
            forgotten: HashSet::default(),
        }
    }

    /// The same objects, some rows of which have no entity any more. It is as cheap as these are few.
    pub(crate) fn without(&self, rows: impl Iterator<Item = u32>) -> Self {
        Self {
            table: self.table.clone(),
            forgotten: self.forgotten.iter().copied().chain(rows).collect(),
        }
    }

    /// The entity with this object id. It may have been despawned since the reveal.
    #[must_use]
    pub fn entity(&self, id: ObjectId) -> Option<Entity> {
        let row = *self.table.by_id.get(&id.0)?;
        Some(self.at(row, self.table.rows.get(row as usize)?.1))
    }

    /// The object id of an entity.
    #[must_use]
    pub fn object(&self, entity: Entity) -> Option<ObjectId> {
        let row = self.row(entity)?;
        self.table.rows.get(row as usize).map(|(id, _)| *id)
    }

    /// The row of an entity.
    pub(crate) fn row(&self, entity: Entity) -> Option<u32> {
        let Table { rows, by_entity, .. } = &*self.table;
        let index = |row: &(ObjectId, Entity)| row.1.index_u32();
        let row = if by_entity.is_empty() {
            rows.binary_search_by_key(&entity.index_u32(), index).ok()? as u32
        } else {
            let index = |row: &u32| rows.get(*row as usize).map(index);
            let at = by_entity.binary_search_by_key(&Some(entity.index_u32()), index);
            *by_entity.get(at.ok()?)?
        };
        let (_, found) = rows.get(row as usize)?;
        (*found == entity && !self.forgotten.contains(&row)).then_some(row)
    }

    fn at(&self, row: u32, entity: Entity) -> Entity {
        if self.forgotten.contains(&row) {
            Entity::PLACEHOLDER
        } else {
            entity
        }
    }

    /// The least and the greatest index of its entities.
    pub(crate) fn indices(&self) -> (u32, u32) {
        let Table { rows, by_entity, .. } = &*self.table;
        let index = |at: usize| {
            let row = by_entity.get(at).map_or(at, |row| *row as usize);
            rows.get(row).map_or(0, |(_, entity)| entity.index_u32())
        };
        (index(0), index(rows.len().saturating_sub(1)))
    }

    /// The object ids, by row.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = ObjectId> {
        self.table.rows.iter().map(|(id, _)| *id)
    }

    /// The entities, by row. Some may have been despawned since the reveal.
    pub fn entities(&self) -> impl ExactSizeIterator<Item = Entity> {
        let rows = self.table.rows.iter().enumerate();
        rows.map(|(row, (_, entity))| self.at(row as u32, *entity))
    }

    /// The entity in a row.
    pub(crate) fn entity_at(&self, row: u32) -> Option<Entity> {
        let (_, entity) = self.table.rows.get(row as usize)?;
        Some(self.at(row, *entity))
    }

    /// How many entities the level was revealed with.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.rows.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.rows.is_empty()
    }
}

/// Checks what the spawner relies on: no component twice, and a value for every entity.
///
/// # Errors
/// When a column breaks that.
pub(crate) fn check_columns(columns: &[Box<dyn Column>], rows: usize) -> Result<(), DecodeError> {
    for (index, column) in columns.iter().enumerate() {
        if column.len() != rows {
            return Err(DecodeError::Malformed(format!(
                "a column holds {} of {rows} values",
                column.len()
            )));
        }
        if columns
            .iter()
            .take(index)
            .any(|other| (**other).type_id() == (**column).type_id())
        {
            return Err(DecodeError::Malformed("a component is there twice".into()));
        }
    }
    Ok(())
}

/// The schema of level tables.
#[cfg(feature = "write")]
#[must_use]
pub fn level_schema() -> Schema {
    schema(LEVEL_CLASS, Encoding::Level, LEVEL_VERSION, "level")
}

/// Builds a level table; columns name their classes by export index.
#[cfg(feature = "write")]
#[derive(Default)]
pub struct LevelBuilder {
    ids: Vec<ObjectId>,
    roots: Vec<u32>,
    groups: u32,
    body: Vec<u8>,
}

#[cfg(feature = "write")]
impl LevelBuilder {
    /// A table of the entities `ids` (in row order) with the given roots.
    #[must_use]
    pub fn new(ids: Vec<ObjectId>, roots: Vec<u32>) -> Self {
        Self {
            ids,
            roots,
            ..Self::default()
        }
    }

    /// Appends a group of the next `rows` entities; a column is its class, its role and its data.
    pub fn group<'a>(&mut self, rows: u32, columns: impl ExactSizeIterator<Item = (u32, Role, &'a [u8])>) {
        self.groups += 1;
        self.body.extend_from_slice(&rows.to_le_bytes());
        self.body.extend_from_slice(&(columns.len() as u32).to_le_bytes());
        for (class, role, data) in columns {
            self.body.extend_from_slice(&class.to_le_bytes());
            self.body.push(role.bits());
            self.body.extend_from_slice(&(data.len() as u32).to_le_bytes());
            self.body.extend_from_slice(data);
        }
    }

    /// Adds the level to a package, once.
    ///
    /// # Errors
    /// As [`PackageWriter::export`].
    pub fn export(
        self,
        writer: &mut PackageWriter,
        refs: Vec<ObjectRef>,
        codec: seamless_package::Codec,
    ) -> Result<ObjectRef, WriteError> {
        let class = writer.class(&level_schema())?;
        writer.export(NewExport {
            name: LEVEL_EXPORT,
            class,
            outer: ObjectRef::NONE,
            role: Role::ALL,
            data: self.finish().into(),
            refs,
            bulk: Vec::new(),
            bulk_use: Default::default(),
            codec,
        })
    }

    fn finish(self) -> Vec<u8> {
        let mut out = (self.ids.len() as u32).to_le_bytes().to_vec();
        for id in &self.ids {
            out.extend_from_slice(&id.0.to_le_bytes());
        }
        out.extend_from_slice(&(self.roots.len() as u32).to_le_bytes());
        for root in &self.roots {
            out.extend_from_slice(&root.to_le_bytes());
        }
        out.extend_from_slice(&self.groups.to_le_bytes());
        out.extend_from_slice(&self.body);
        out
    }
}
