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

mod columns;
mod drawn;
mod group;
mod insert;
mod rows;
#[cfg(test)]
mod tests;

pub use columns::{plain_column, reflected_column, typed_column};
pub(crate) use drawn::{Boxes, may_have_box, with_required};
use group::parted;
pub(crate) use group::values;
pub use group::{Group, Passes, Values};
pub(crate) use insert::{Inserter, Spawner};
pub use insert::{Spent, spawn};
pub(crate) use rows::Sight;
#[doc(hidden)]
pub use rows::placed;
pub use rows::{RowSets, SpawnRow, TypedRows};

use core::{alloc::Layout, any::TypeId, cell::UnsafeCell, mem::ManuallyDrop, ptr::NonNull};

use bevy_ecs::{
    bundle::{BundleScratch, BundleWriter},
    change_detection::{ComponentTicks, Tick},
    component::{Component, ComponentId},
    entity::{Entity, EntityLocation},
    relationship::RelationshipHookMode,
    storage::{TableId, TableRow},
    world::{EntityRef, World},
};
use bevy_ptr::{OwningPtr, Ptr};
use bevy_reflect::{Reflect, ReflectFromPtr};

use crate::codec::PlainType;

mod sealed {
    pub trait Sealed {}
}

/// The values of one component for a run of entities, in order. Made by [`typed_column`], [`plain_column`] and [`reflected_column`].
pub trait Column: sealed::Sealed + Send + Sync {
    /// The component's type.
    fn type_id(&self) -> TypeId;

    /// Makes the component known to `world`, where only its Rust type can: code of the game may insert what nobody has registered for
    /// reflection. Of all others, their codecs do it.
    fn register(&self, _world: &mut World) {}

    /// How many values are left.
    fn len(&self) -> usize;

    /// Whether no value is left.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The size of a value, in bytes.
    fn row_bytes(&self) -> usize;

    /// Moves the next value into `writer`; does nothing when none is left.
    ///
    /// # Safety
    /// `id` must be the id of this column's type in the world whose entity `writer` is written to next.
    unsafe fn push_next(&mut self, id: ComponentId, writer: &mut BundleWriter);

    /// Drops the next value, for a row whose entity is gone.
    fn drop_next(&mut self);

    /// The value at `row` of those that are left. It is of type [`type_id`](Self::type_id).
    fn get(&self, row: usize) -> Option<Ptr<'_>>;

    /// Two columns: the values of the rows that are picked, and the others. A row that `picked` does not tell of is not.
    fn split(self: Box<Self>, picked: &[bool]) -> [Box<dyn Column>; 2];

    /// What is left: a `Vec` of the component, a column of plain rows, or a `Vec` of boxed reflected values.
    fn into_any(self: Box<Self>) -> Box<dyn core::any::Any>;
}

struct TypedColumn<C>(std::vec::IntoIter<C>);

impl<C> sealed::Sealed for TypedColumn<C> {}

impl<C: Component> Column for TypedColumn<C> {
    fn type_id(&self) -> TypeId {
        TypeId::of::<C>()
    }

    fn register(&self, world: &mut World) {
        world.register_component::<C>();
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn row_bytes(&self) -> usize {
        size_of::<C>()
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

    fn get(&self, row: usize) -> Option<Ptr<'_>> {
        self.0.as_slice().get(row).map(Ptr::from)
    }

    fn split(self: Box<Self>, picked: &[bool]) -> [Box<dyn Column>; 2] {
        parted(self.0, picked).map(typed_column)
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
        Self::of(plain.row(), plain.type_id(), data, rows)
    }

    /// As [`new`](Self::new), for what is known to be plain.
    fn of(row: Layout, type_id: TypeId, data: &[u8], rows: usize) -> Option<Self> {
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
            type_id,
        })
    }

    /// The rows that are left and of which `is_wanted`, in a column of their own.
    fn rows(&self, is_wanted: impl Fn(usize) -> bool) -> Box<dyn Column> {
        // SAFETY: all of the memory was initialised from bytes, and nobody writes to it.
        let bytes = unsafe { core::slice::from_raw_parts(self.memory.as_ptr(), self.layout.size()) };
        let size = self.row.size();
        let wanted: Vec<usize> = (self.next..self.rows)
            .filter(|row| is_wanted(row - self.next))
            .collect();
        let rows = wanted.iter().filter_map(|row| bytes.get(row * size..(row + 1) * size));
        let data: Vec<u8> = rows.flatten().copied().collect();
        match Self::of(self.row, self.type_id, &data, wanted.len()) {
            Some(column) => Box::new(column),
            None => unreachable!("so many rows were taken"),
        }
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

    fn row_bytes(&self) -> usize {
        self.row.size()
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

    fn get(&self, row: usize) -> Option<Ptr<'_>> {
        let row = self.next.checked_add(row).filter(|row| *row < self.rows)?;
        // SAFETY: the row is inside of the memory.
        let pointer = unsafe { self.memory.add(row * self.row.size()) };
        // SAFETY: it points to an aligned value that is not written to as long as `self` is borrowed.
        Some(unsafe { Ptr::new(pointer) })
    }

    fn split(self: Box<Self>, picked: &[bool]) -> [Box<dyn Column>; 2] {
        let is_picked = |row: usize| picked.get(row).copied().unwrap_or_default();
        [self.rows(is_picked), self.rows(|row| !is_picked(row))]
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

    fn row_bytes(&self) -> usize {
        self.values.as_slice().first().map_or(0, |value| size_of_val(&**value))
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

    fn get(&self, row: usize) -> Option<Ptr<'_>> {
        Some(Ptr::from(&**self.values.as_slice().get(row)?))
    }

    fn split(self: Box<Self>, picked: &[bool]) -> [Box<dyn Column>; 2] {
        let type_id = self.type_id;
        parted(self.values, picked).map(|values| -> Box<dyn Column> {
            let values = values.into_iter();
            Box::new(Self { values, type_id })
        })
    }

    fn into_any(self: Box<Self>) -> Box<dyn core::any::Any> {
        Box::new(self.values.collect::<Vec<_>>())
    }
}

/// The value at `row` of a column of `C`s; `None` when it is of another type.
pub(crate) fn value_at<C: Component>(column: &dyn Column, row: usize) -> Option<&C> {
    let value = column.get(row).filter(|_| column.type_id() == TypeId::of::<C>())?;
    // SAFETY: the value is of the column's type, which is `C`.
    Some(unsafe { value.deref() })
}

/// The value at `row` of a column, for a look by reflection; `None` when `from_ptr` is for another type.
pub(crate) fn reflected_at<'c>(
    column: &'c dyn Column,
    row: usize,
    from_ptr: &ReflectFromPtr,
) -> Option<&'c dyn Reflect> {
    let value = column.get(row).filter(|_| column.type_id() == from_ptr.type_id())?;
    // SAFETY: the value is of the column's type, which `from_ptr` is for.
    Some(unsafe { from_ptr.as_reflect(value) })
}

/// A component of an entity of `world`, for a look by reflection; `None` when `from_ptr` is for another type.
pub(crate) fn reflected<'w>(
    world: &'w World,
    entity: EntityRef<'w>,
    id: ComponentId,
    from_ptr: &ReflectFromPtr,
) -> Option<&'w dyn Reflect> {
    let info = world.components().get_info(id)?;
    let value = entity.get_by_id(id).ok()?;
    // SAFETY: the value is of the component's type, which `from_ptr` is for.
    (info.type_id() == Some(from_ptr.type_id())).then(|| unsafe { from_ptr.as_reflect(value) })
}

/// A column and the id of its own type in the world that it is spawned into: the pointer casts rest on that.
pub(crate) type IdentifiedColumn = (ComponentId, Box<dyn Column>);

/// Moves the next value of each column into `entity`, or drops it where `is_wanted` says no of the column's index. The `last` column may be left out.
fn insert_row(
    world: &mut World,
    entity: Entity,
    (columns, last): (&mut [IdentifiedColumn], Option<&mut IdentifiedColumn>),
    scratch: &mut BundleScratch,
    hooks: RelationshipHookMode,
    is_wanted: impl Fn(usize) -> bool,
) {
    let columns = columns.iter_mut().chain(last);
    let Ok(mut entity) = world.get_entity_mut(entity) else {
        // An observer despawned it, or it never was this level's. Its values go, so that the next row meets its own.
        columns.for_each(|(_, column)| column.drop_next());
        return;
    };
    let mut writer = scratch.writer();
    for (index, (id, column)) in columns.enumerate() {
        if is_wanted(index) {
            // SAFETY: the id was looked up by the column's type in this world (`identified`), or is that of a type that
            // was registered there, and the writer is written to an entity of this world below.
            unsafe { column.push_next(*id, &mut writer) };
        } else {
            column.drop_next();
        }
    }
    // SAFETY: everything in the writer was pushed with ids of the world that `entity` is in.
    unsafe { writer.write_with_relationship_hook_insert_mode(&mut entity, hooks) };
}

/// Entities whose ticks are rewritten at once: the list of more than a few thousand would be memory that is new to the process.
const REWRITTEN: usize = 1024;

/// Changes when the components of `entities` were added and changed: to what `all` tells of those of a component, else to what `rewrite` makes of it. Bevy has no call
/// for that which takes components that cannot be mutated, as `ChildOf`, nor for many entities.
pub(crate) fn rewrite_ticks(
    world: &mut World,
    entities: &[Entity],
    all: impl Fn(ComponentId) -> Option<ComponentTicks>,
    mut rewrite: impl FnMut(Entity, ComponentId, ComponentTicks) -> ComponentTicks,
) {
    let mut located = Vec::with_capacity(entities.len().min(REWRITTEN));
    for part in entities.chunks(REWRITTEN) {
        let places = world.entities();
        let at = |entity: &Entity| Some((*entity, places.get_spawned(*entity).ok()?));
        located.clear();
        located.extend(part.iter().filter_map(at));
        rewrite_located(world, &located, &all, &mut rewrite);
    }
}

fn rewrite_located(
    world: &mut World,
    located: &[(Entity, EntityLocation)],
    all: impl Fn(ComponentId) -> Option<ComponentTicks>,
    mut rewrite: impl FnMut(Entity, ComponentId, ComponentTicks) -> ComponentTicks,
) {
    let put = |[added, changed]: [&UnsafeCell<Tick>; 2], to: ComponentTicks| {
        // SAFETY: the cells belong to `world`, which is borrowed exclusively and calls nobody meanwhile: nobody refers to them.
        unsafe { (*added.get(), *changed.get()) = (to.added, to.changed) };
    };
    let mut ask = |entity: Entity, id, [added, changed]: [&UnsafeCell<Tick>; 2]| {
        // SAFETY: as above.
        let (added, changed) = unsafe { (*added.get(), *changed.get()) };
        rewrite(entity, id, ComponentTicks { added, changed })
    };
    let storages = world.storages();
    // Levels are spawned in runs of one archetype.
    for run in located.chunk_by(|a, b| a.1.archetype_id == b.1.archetype_id) {
        let archetype = run.first().and_then(|(_, at)| world.archetypes().get(at.archetype_id));
        let found = archetype.and_then(|of| Some((of, storages.tables.get(of.table_id())?)));
        let Some((archetype, table)) = found else { continue };
        // What was spawned together lies together.
        let are_neighbours = |a: &EntityLocation, b: &EntityLocation| a.table_row.index() + 1 == b.table_row.index();
        let neighbours: Vec<_> = run.chunk_by(|a, b| are_neighbours(&a.1, &b.1)).collect();
        for id in archetype.table_components() {
            let to = all(id);
            let added = table.get_added_ticks_slice_for(id).unwrap_or_default();
            let changed = table.get_changed_ticks_slice_for(id).unwrap_or_default();
            for rows in &neighbours {
                let first = rows.first().map_or(0, |(_, at)| at.table_row.index());
                let at = first..first + rows.len();
                let (added, changed) = (added.get(at.clone()), changed.get(at));
                let cells = added.unwrap_or_default().iter().zip(changed.unwrap_or_default());
                let cells = cells.map(<[_; 2]>::from);
                match to {
                    // So it is for most: the loop only writes.
                    Some(to) => cells.for_each(|cells| put(cells, to)),
                    None => rows
                        .iter()
                        .zip(cells)
                        .for_each(|((entity, _), cells)| put(cells, ask(*entity, id, cells))),
                }
            }
        }
        for id in archetype.sparse_set_components() {
            let Some(values) = storages.sparse_sets.get(id) else {
                continue;
            };
            for (entity, _) in run {
                let ticks = (values.get_added_tick(*entity), values.get_changed_tick(*entity));
                if let (Some(added), Some(changed)) = ticks {
                    let cells = [added, changed];
                    put(cells, all(id).unwrap_or_else(|| ask(*entity, id, cells)));
                }
            }
        }
    }
}

/// When the components of one kind in a table were changed.
pub(crate) struct ChangedTicks<'w>(&'w [UnsafeCell<Tick>]);

impl<'w> ChangedTicks<'w> {
    /// Of a component that lies in the table; `None` of others.
    pub fn of(world: &'w World, table: TableId, id: ComponentId) -> Option<Self> {
        let table = world.storages().tables.get(table)?;
        table.get_changed_ticks_slice_for(id).map(Self)
    }

    /// `None` when there is no such row.
    pub fn at(&self, row: TableRow) -> Option<Tick> {
        // SAFETY: `World` is borrowed as long as the cells are, so nobody writes to them.
        self.0.get(row.index()).map(|tick| unsafe { *tick.get() })
    }
}
