//! Spawns entities from columns, or from rows where their set of components is a known one: the only file of the
//! workspace with `unsafe`.
//!
//! A [`Column`] holds the values of one component for a run of entities, fully decoded, one after the other. At the reveal each
//! value is *moved* into the world through Bevy's [`BundleWriter`], all components of an entity in one archetype move and
//! without relationship hooks, since both ends of every relationship inside a level are columns of it. [`SpawnRow`] is the faster road for known sets.
#![expect(
    unsafe_code,
    reason = "components are moved by type-erased pointers; each block says why it is sound"
)]

mod rows;
#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use rows::placed;
pub use rows::{RowSets, SpawnRow, TypedRows};

use core::{alloc::Layout, any::TypeId, mem::ManuallyDrop, ptr::NonNull};

use bevy_ecs::{
    bundle::{BundleScratch, BundleWriter},
    component::{Component, ComponentId},
    entity::Entity,
    relationship::RelationshipHookMode,
    world::World,
};
use bevy_ptr::OwningPtr;
use bevy_reflect::Reflect;

use crate::codec::{DecodeError, PlainType};

mod sealed {
    pub trait Sealed {}
}

/// The values of one component for a run of entities, in order. Made by [`typed_column`], [`plain_column`] and [`reflected_column`].
pub trait Column: sealed::Sealed + Send + Sync {
    /// The component's type.
    fn type_id(&self) -> TypeId;

    /// How many values are left.
    fn len(&self) -> usize;

    /// Whether no value is left.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves the next value into `writer`; does nothing when none is left.
    ///
    /// # Safety
    /// `id` must be the id of this column's type in the world whose entity `writer` is written to next.
    unsafe fn push_next(&mut self, id: ComponentId, writer: &mut BundleWriter);

    /// Drops the next value, for a row whose entity is gone.
    fn drop_next(&mut self);

    /// What is left: a `Vec` of the component, a column of plain rows, or a `Vec` of boxed reflected values.
    fn into_any(self: Box<Self>) -> Box<dyn core::any::Any>;
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

struct TypedColumn<C>(std::vec::IntoIter<C>);

impl<C> sealed::Sealed for TypedColumn<C> {}

impl<C: Component> Column for TypedColumn<C> {
    fn type_id(&self) -> TypeId {
        TypeId::of::<C>()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    unsafe fn push_next(&mut self, id: ComponentId, writer: &mut BundleWriter) {
        let Some(value) = self.0.next() else { return };
        OwningPtr::make(value, |ptr| {
            // SAFETY: `ptr` owns a `C`, the layout is `C`'s, and the caller promises that `id` is `C`'s id in the
            // world that the writer is for.
            unsafe { writer.push_component_by_id(id, ptr, Layout::new::<C>()) };
        });
    }

    fn drop_next(&mut self) {
        self.0.next();
    }

    fn into_any(self: Box<Self>) -> Box<dyn core::any::Any> {
        Box::new(self.0.collect::<Vec<C>>())
    }
}

/// Values whose type is plain, as they lie in memory. None of them has anything to drop.
struct PlainColumn {
    /// All rows, initialised; allocated with `layout` by the global allocator, unless that is of no bytes.
    memory: NonNull<u8>,
    layout: Layout,
    row: Layout,
    rows: usize,
    /// Rows that have moved out.
    next: usize,
    type_id: TypeId,
}

// SAFETY: it owns its memory alone, and the values in it are of a component type, which is `Send` and `Sync`.
unsafe impl Send for PlainColumn {}
// SAFETY: as above.
unsafe impl Sync for PlainColumn {}

impl PlainColumn {
    /// The rows in `data`; `None` when it is not exactly so many.
    fn new(plain: &PlainType, data: &[u8], rows: usize) -> Option<Self> {
        let row = plain.row();
        if row.size().checked_mul(rows) != Some(data.len()) {
            return None;
        }
        let layout = Layout::from_size_align(data.len(), row.align()).ok()?;
        let memory = if data.is_empty() {
            // Aligned as a row is: an empty `Vec` may be made of it.
            NonNull::without_provenance(core::num::NonZero::new(row.align())?)
        } else {
            // SAFETY: the layout is not of no bytes.
            let memory = unsafe { std::alloc::alloc(layout) };
            NonNull::new(memory).unwrap_or_else(|| std::alloc::handle_alloc_error(layout))
        };
        // SAFETY: `memory` has room for `data.len()` bytes, and is new, so that it does not overlap with `data`.
        unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), memory.as_ptr(), data.len()) };
        Some(Self {
            memory,
            layout,
            row,
            rows,
            next: 0,
            type_id: plain.type_id(),
        })
    }

    /// The values that are left, in the same memory.
    fn into_values<C: Component>(self) -> Option<Vec<C>> {
        if self.type_id != TypeId::of::<C>() || self.row != Layout::new::<C>() {
            return None;
        }
        // The memory goes over to the `Vec`.
        let this = ManuallyDrop::new(self);
        // SAFETY: the memory holds `rows` rows of `C`'s layout, and was allocated by the global allocator with the layout of an
        // array of them, or is aligned and of no bytes. A `PlainType` proves that any bytes are a `C`, and that nothing is
        // dropped: rows that moved out before are copies that may be forgotten.
        let mut values = unsafe { Vec::from_raw_parts(this.memory.cast::<C>().as_ptr(), this.rows, this.rows) };
        values.drain(..this.next);
        Some(values)
    }
}

impl Drop for PlainColumn {
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: it was allocated with this layout, and nothing in it has to be dropped.
            unsafe { std::alloc::dealloc(self.memory.as_ptr(), self.layout) };
        }
    }
}

impl sealed::Sealed for PlainColumn {}

impl Column for PlainColumn {
    fn type_id(&self) -> TypeId {
        self.type_id
    }

    fn len(&self) -> usize {
        self.rows - self.next
    }

    unsafe fn push_next(&mut self, id: ComponentId, writer: &mut BundleWriter) {
        if self.is_empty() {
            return;
        }
        // SAFETY: `next < rows`, so the row is inside of the memory.
        let pointer = unsafe { self.memory.add(self.next * self.row.size()) };
        self.next += 1;
        // SAFETY: `pointer` is to a value of type `self.type_id` and of layout `self.row`: a `PlainType` proves that the bytes are
        // one, and that it may be copied; rows follow each other without a gap, so it is aligned. The caller promises that `id`
        // belongs to that type.
        unsafe { writer.push_component_by_id(id, OwningPtr::new(pointer), self.row) };
    }

    fn drop_next(&mut self) {
        self.next = self.rows.min(self.next + 1);
    }

    fn into_any(self: Box<Self>) -> Box<dyn core::any::Any> {
        self
    }
}

struct ReflectedColumn {
    values: std::vec::IntoIter<Box<dyn Reflect>>,
    type_id: TypeId,
}

impl sealed::Sealed for ReflectedColumn {}

impl Column for ReflectedColumn {
    fn type_id(&self) -> TypeId {
        self.type_id
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    unsafe fn push_next(&mut self, id: ComponentId, writer: &mut BundleWriter) {
        let Some(value) = self.values.next() else { return };
        let layout = Layout::for_value(&*value);
        let Some(pointer) = NonNull::new(Box::into_raw(value).cast::<u8>()) else {
            return;
        };
        // SAFETY: `pointer` owns a value whose type was compared with `self.type_id` when the column was made, of
        // layout `layout`, and the caller promises that `id` belongs to that type. The writer copies the bytes, so the
        // value lives on there and must not be dropped here.
        unsafe { writer.push_component_by_id(id, OwningPtr::new(pointer), layout) };
        if layout.size() != 0 {
            // SAFETY: a box of a sized value of this layout was allocated by the global allocator; only its memory is
            // freed, the value itself moved out above.
            unsafe { std::alloc::dealloc(pointer.as_ptr(), layout) };
        }
    }

    fn drop_next(&mut self) {
        self.values.next();
    }

    fn into_any(self: Box<Self>) -> Box<dyn core::any::Any> {
        Box::new(self.values.collect::<Vec<_>>())
    }
}

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

    /// The components' types.
    #[must_use]
    pub fn types(&self) -> Vec<TypeId> {
        match self {
            Self::Columns(columns) => columns.iter().map(|column| (**column).type_id()).collect(),
            Self::Rows(rows) => rows.types(),
        }
    }
}

/// Which columns are inserted in which pass of a reveal; see [`spawn`].
pub trait Passes {
    /// Whether observers or hooks of the component `id` may look at other entities of the level, so that it must be
    /// inserted after all of them exist.
    fn is_late(&self, world: &World, id: ComponentId) -> bool;
}

/// What a [`spawn`] leaves behind: memory without values, which may be dropped where it costs nothing.
pub struct Spent {
    columns: Vec<Vec<IdentifiedColumn>>,
    rows: Vec<Box<dyn TypedRows>>,
    entities: Vec<Vec<Entity>>,
}

/// Spawns all groups in two passes: first every entity with the columns that nobody observes, then the late columns.
/// All components are registered in `world`; a column whose component is not is left out.
///
/// Relationship hooks are skipped: a level's columns hold both ends of each relationship. All other hooks and observers run.
/// An entity id that is already taken is skipped; ids come from the world's own allocator, so that does not happen.
pub fn spawn(world: &mut World, groups: Vec<Group>, passes: &dyn Passes) -> Spent {
    let mut spawner = Spawner {
        scratch: BundleScratch::default(),
        late: Vec::new(),
        spent: Spent {
            columns: Vec::new(),
            rows: Vec::new(),
            entities: Vec::new(),
        },
    };
    for group in groups {
        spawner.spawn_group(world, group, passes);
    }
    spawner.insert_late(world)
}

struct Spawner {
    scratch: BundleScratch,
    late: Vec<(Vec<Entity>, Vec<IdentifiedColumn>)>,
    spent: Spent,
}

impl Spawner {
    fn spawn_group(&mut self, world: &mut World, group: Group, passes: &dyn Passes) {
        let Group { mut entities, values } = group;
        let columns = match values {
            Values::Columns(columns) => columns,
            Values::Rows(mut rows) => {
                let is_late = |type_id| id_of(world, type_id).is_some_and(|id| passes.is_late(world, id));
                if !rows.types().into_iter().any(is_late) {
                    rows.spawn(world, &entities);
                    self.spent.rows.push(rows);
                    self.spent.entities.push(entities);
                    return;
                }
                rows.into_columns()
            }
        };
        let (mut now, later) = split(world, columns, passes);
        for entity in &mut entities {
            if world.spawn_empty_at(*entity).is_err() {
                // Somebody else's: its row is dropped in both passes.
                *entity = Entity::PLACEHOLDER;
            }
            if !now.is_empty() {
                insert_row(world, *entity, &mut now, &mut self.scratch);
            }
        }
        self.spent.columns.push(now);
        self.late.push((entities, later));
    }

    fn insert_late(mut self, world: &mut World) -> Spent {
        for (entities, mut columns) in self.late {
            if !columns.is_empty() {
                for &entity in &entities {
                    insert_row(world, entity, &mut columns, &mut self.scratch);
                }
            }
            self.spent.columns.push(columns);
            self.spent.entities.push(entities);
        }
        self.spent
    }
}

/// A column and the id of its own type in the world that it is spawned into: the pointer casts rest on that.
type IdentifiedColumn = (ComponentId, Box<dyn Column>);

fn id_of(world: &World, type_id: TypeId) -> Option<ComponentId> {
    world.components().get_id(type_id)
}

/// Resolves component ids, sorts by them (Bevy caches bundles by the sorted ids), and splits off the late columns.
fn split(
    world: &World,
    columns: Vec<Box<dyn Column>>,
    passes: &dyn Passes,
) -> (Vec<IdentifiedColumn>, Vec<IdentifiedColumn>) {
    let mut identified: Vec<IdentifiedColumn> = columns
        .into_iter()
        .filter_map(|column| Some((id_of(world, (*column).type_id())?, column)))
        .collect();
    identified.sort_by_key(|(id, _)| *id);
    identified.into_iter().partition(|(id, _)| !passes.is_late(world, *id))
}

fn insert_row(world: &mut World, entity: Entity, columns: &mut [IdentifiedColumn], scratch: &mut BundleScratch) {
    let Ok(mut entity) = world.get_entity_mut(entity) else {
        // An observer despawned it, or it never was this level's. Its values go, so that the next row meets its own.
        columns.iter_mut().for_each(|(_, column)| column.drop_next());
        return;
    };
    let mut writer = scratch.writer();
    for (id, column) in columns {
        // SAFETY: `split` looked the id up by the column's type in this world, and the writer is written to an
        // entity of this world below.
        unsafe { column.push_next(*id, &mut writer) };
    }
    // SAFETY: everything in the writer was pushed with ids of the world that `entity` is in.
    unsafe { writer.write_with_relationship_hook_insert_mode(&mut entity, RelationshipHookMode::Skip) };
}
