//! Known sets of components, spawned with Bevy's typed insertion. See [`SpawnRow`].

use core::{
    any::{Any, TypeId},
    marker::PhantomData,
};

use bevy_ecs::{
    bundle::{Bundle, NoBundleEffect},
    component::Component,
    entity::{Entity, EntityAllocator},
    relationship::RelationshipHookMode,
    world::World,
};
use bevy_platform::collections::HashMap;
use variadics_please::all_tuples;

use super::{
    Boxes, Column,
    drawn::{DrawnRows, gets_box},
    typed_column,
};
use crate::hide::InHiddenLevel;

/// A set of components that many entities of a game's levels consist of: a tuple of one to fifteen components.
///
/// Levels hold any components at all; their columns are inserted by component id. Where the exact set of a run of entities was
/// announced by [`SeamlessAssetApp::add_spawn_row`](crate::SeamlessAssetApp::add_spawn_row), the loading task zips the
/// columns into rows of this type, and the reveal inserts those as bundles, which takes about a quarter off the main
/// thread's time. What is spawned is the same.
///
/// The set is the whole set: entities that draw a mesh carry [`MeshUvDensity`](crate::assets::MeshUvDensity) in addition where they were cooked with
/// the profiles `dev` and `ship`, so a set with a `Mesh3d` is announced with it and without.
///
/// ```
/// # use bevy_app::App; use bevy_ecs::prelude::*; use bevy_mesh::Mesh3d;
/// # use seamless_asset::{SeamlessAssetApp, assets::MeshUvDensity, placed_row};
/// # #[derive(Component)] struct Health(f32);
/// # let mut app = App::new();
/// app.add_spawn_row::<placed_row!(Name, Mesh3d, Health)>();
/// app.add_spawn_row::<placed_row!(Name, Mesh3d, MeshUvDensity, Health)>();
/// ```
pub trait SpawnRow: Bundle<Effect: NoBundleEffect> + Sized {
    /// The components' types.
    fn types() -> Vec<TypeId>;

    /// Registers the components.
    fn register(world: &mut World);

    /// The component of that type, if the set has one; by default nobody tells.
    fn component<T: Component>(&self) -> Option<&T> {
        None
    }

    /// Turns columns of exactly these types, all of the same length, into rows; `None` when they are not.
    fn zip(columns: Vec<Box<dyn Column>>) -> Option<Vec<Self>>;

    /// Turns rows into columns again.
    fn unzip(rows: Vec<Self>) -> Vec<Box<dyn Column>>;
}

/// The [`SpawnRow`] of an entity that is placed in the world, with the given further components: at most eight.
///
/// It begins with what Bevy requires of everything that can be seen or be the parent of something: transforms, visibility and
/// the parent, which at the top of a level is the root of its instance.
#[macro_export]
macro_rules! placed_row {
    ($($component:ty),* $(,)?) => {
        (
            $crate::spawn::placed::Transform,
            $crate::spawn::placed::GlobalTransform,
            $crate::spawn::placed::TransformTreeChanged,
            $crate::spawn::placed::Visibility,
            $crate::spawn::placed::InheritedVisibility,
            $crate::spawn::placed::ViewVisibility,
            $crate::spawn::placed::ChildOf,
            $($component,)*
        )
    };
}

/// What [`placed_row!`](crate::placed_row) names.
#[doc(hidden)]
pub mod placed {
    pub use bevy_camera::visibility::{InheritedVisibility, ViewVisibility, Visibility};
    pub use bevy_ecs::hierarchy::ChildOf;
    pub use bevy_transform::components::{GlobalTransform, Transform, TransformTreeChanged};
}

fn take<C: Component>(columns: &mut Vec<Box<dyn Column>>) -> Option<std::vec::IntoIter<C>> {
    let at = columns
        .iter()
        .position(|column| (**column).type_id() == TypeId::of::<C>())?;
    super::values::<C>(columns.swap_remove(at)).map(Vec::into_iter)
}

macro_rules! impl_spawn_row {
    ($(($component:ident, $column:ident)),*) => {
        #[expect(non_snake_case, reason = "the macro names values after type parameters")]
        impl<$($component: Component),*> SpawnRow for ($($component,)*) {
            fn types() -> Vec<TypeId> {
                vec![$(TypeId::of::<$component>()),*]
            }

            fn register(world: &mut World) {
                $(world.register_component::<$component>();)*
            }

            fn component<T: Component>(&self) -> Option<&T> {
                let ($($component,)*) = self;
                let components: [&dyn Any; _] = [$($component),*];
                components.into_iter().find_map(|component| component.downcast_ref())
            }

            fn zip(mut columns: Vec<Box<dyn Column>>) -> Option<Vec<Self>> {
                let count = columns.first()?.len();
                $(let mut $column = take::<$component>(&mut columns)?;)*
                let mut rows = Vec::with_capacity(count);
                for _ in 0..count {
                    rows.push(($($column.next()?,)*));
                }
                Some(rows)
            }

            fn unzip(rows: Vec<Self>) -> Vec<Box<dyn Column>> {
                $(let mut $column = Vec::with_capacity(rows.len());)*
                for ($($component,)*) in rows {
                    $($column.push($component);)*
                }
                vec![$(typed_column($column)),*]
            }
        }
    };
}

all_tuples!(impl_spawn_row, 1, 15, C, c);

/// What entities come with besides their own components.
pub struct Sight<'a> {
    /// They are [`InHiddenLevel`].
    pub is_hidden: bool,
    /// Bevy gives a box to what is drawn once that is seen, and moves it into another table for it: here it may have its box from the beginning.
    pub boxes: Option<&'a mut dyn Boxes>,
}

/// Rows of one type, erased.
pub trait TypedRows: Send + Sync {
    /// The type of a row.
    fn row_type(&self) -> TypeId;

    /// Bytes of the room that [`reserve`](Self::reserve) makes for an entity.
    fn row_bytes(&self) -> usize;

    /// The components' types.
    fn types(&self) -> Vec<TypeId>;

    /// How many rows there are.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Registers the components.
    fn register(&self, world: &mut World);

    /// Makes room for `count` more entities of this kind, so that Bevy's tables need not grow while levels come and go.
    fn reserve(&self, world: &mut World, count: usize);

    /// Spawns the next rows as `entities`, without relationship hooks.
    fn spawn(&mut self, world: &mut World, entities: &[Entity], sight: &mut Sight);

    /// Columns again.
    fn into_columns(self: Box<Self>) -> Vec<Box<dyn Column>>;
}

struct Rows<R>(std::vec::IntoIter<R>);

impl<R: SpawnRow> TypedRows for Rows<R> {
    fn row_type(&self) -> TypeId {
        TypeId::of::<R>()
    }

    fn row_bytes(&self) -> usize {
        size_of::<R>()
    }

    fn types(&self) -> Vec<TypeId> {
        R::types()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn register(&self, world: &mut World) {
        R::register(world);
    }

    fn reserve(&self, world: &mut World, count: usize) {
        reserve::<R>(world, count);
    }

    fn spawn(&mut self, world: &mut World, entities: &[Entity], sight: &mut Sight) {
        // Entities first: where they end, no row is taken.
        for (&entity, row) in entities.iter().zip(&mut self.0) {
            let Ok(mut entity) = world.spawn_empty_at(entity) else {
                continue;
            };
            // The marker is part of the one move into the table.
            let skip = RelationshipHookMode::Skip;
            if sight.is_hidden {
                entity.insert_with_relationship_hook_mode((row, InHiddenLevel), skip);
            } else {
                entity.insert_with_relationship_hook_mode(row, skip);
            }
        }
    }

    fn into_columns(self: Box<Self>) -> Vec<Box<dyn Column>> {
        R::unzip(self.0.collect())
    }
}

/// Makes room for `count` more entities of a set in its table.
pub(super) fn reserve<B: Bundle<Effect: NoBundleEffect>>(world: &mut World, count: usize) {
    // A batch also allocates as many ids. They come from an allocator that is thrown away, so that the world's own is not
    // touched; nothing is spawned, and the batch is forgotten, or it would give each id back.
    let mut throwaway = EntityAllocator::default();
    core::mem::swap(world.entity_allocator_mut(), &mut throwaway);
    core::mem::forget(world.spawn_batch(NoRows(count, PhantomData::<fn() -> B>)));
    core::mem::swap(world.entity_allocator_mut(), &mut throwaway);
}

/// An iterator that may yield that many rows, and yields none: the one way to make Bevy reserve room in a table.
struct NoRows<R>(usize, PhantomData<fn() -> R>);

impl<R> Iterator for NoRows<R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.0))
    }
}

type Zip = fn(Vec<Box<dyn Column>>) -> Option<Box<dyn TypedRows>>;

/// The announced sets.
#[derive(Default)]
pub struct RowSets {
    /// For each set how it is zipped, and how where what is drawn gets boxes.
    sets: HashMap<Vec<TypeId>, [Zip; 2]>,
    /// Whether the app gives boxes to what is drawn, as Bevy's `VisibilityPlugin` does: then levels bring theirs.
    pub(crate) gives_boxes: bool,
}

impl RowSets {
    /// Announces a set.
    pub fn add<R: SpawnRow>(&mut self) {
        let mut types = R::types();
        types.sort_unstable();
        let plain: Zip = |columns| Some(Box::new(Rows(R::zip(columns)?.into_iter())));
        let drawn: Zip = |columns| Some(Box::new(DrawnRows::new(R::zip(columns)?)));
        let boxed = if gets_box(|type_id| types.contains(&type_id)) {
            drawn
        } else {
            plain
        };
        self.sets.insert(types, [plain, boxed]);
    }

    /// How to zip columns of these types, if the set is known. The order of `types` does not matter.
    #[must_use]
    pub fn zip_for(&self, mut types: Vec<TypeId>) -> Option<Zip> {
        types.sort_unstable();
        let [plain, boxed] = self.sets.get(&types)?;
        Some(if self.gives_boxes { *boxed } else { *plain })
    }
}
