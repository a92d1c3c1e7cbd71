//! Code of the game that runs on one instance of a level before anybody sees it. See [`StagedLevel`].

use core::{
    any::{Any, TypeId},
    fmt,
    ops::Range,
    panic::AssertUnwindSafe,
};
use std::{panic::catch_unwind, sync::Arc};

use bevy_ecs::{
    component::{Component, Mutable},
    entity::Entity,
    hierarchy::{ChildOf, Children},
};
use bevy_platform::collections::HashMap;
use bevy_transform::components::Transform;
use seamless_package::ObjectId;

use super::{InstanceRequest, link::RowGroup, tasks::words_of};
use crate::{error::LoadErrorKind, stable::InstancePath};

/// What game code gives to one placement of a level, for the hooks that it has added with
/// [`add_instance_hook`](crate::SeamlessAssetApp::add_instance_hook): a value of any type, or text.
///
/// ```
/// # use seamless_asset::InstanceData;
/// #[derive(Debug, PartialEq)]
/// struct Owner(&'static str);
///
/// assert_eq!(InstanceData::new(Owner("mayor")).get::<Owner>(), Some(&Owner("mayor")));
/// assert_eq!(InstanceData::text("(owner: \"mayor\")").as_text(), Some("(owner: \"mayor\")"));
/// ```
#[derive(Clone)]
pub struct InstanceData(Arc<dyn Any + Send + Sync>);

impl InstanceData {
    /// A value of the game's own.
    pub fn new<T: Any + Send + Sync>(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// Text, as files have it.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(text.into())
    }

    /// The value, if it is of this type.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// The text, if it is some.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        self.get::<String>().map(String::as_str)
    }
}

impl fmt::Debug for InstanceData {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("InstanceData").field(&self.as_text()).finish()
    }
}

/// Which placement of a level it is that a hook runs for.
#[derive(Clone, Debug, Default)]
pub struct InstanceInfo {
    /// What the request calls it.
    pub name: Arc<str>,
    /// What it is called on all machines.
    pub path: InstancePath,
    /// The transform that its root entity gets.
    pub placement: Transform,
    /// What the request gives to it.
    pub data: Option<InstanceData>,
}

impl From<&InstanceRequest> for InstanceInfo {
    fn from(request: &InstanceRequest) -> Self {
        Self {
            name: request.name.as_str().into(),
            path: request.path(),
            placement: request.placement,
            data: request.data.clone(),
        }
    }
}

/// A level that is decoded and in no world yet: its entities, by row, with their components in columns.
///
/// Rows are those of the package, the same in each of its instances. All entities have their final ids.
pub struct StagedLevel<'a> {
    package: &'a str,
    objects: &'a [ObjectId],
    entities: &'a [Entity],
    groups: &'a mut Vec<RowGroup>,
}

impl<'a> StagedLevel<'a> {
    pub(super) fn new(
        package: &'a str,
        objects: &'a [ObjectId],
        entities: &'a [Entity],
        groups: &'a mut Vec<RowGroup>,
    ) -> Self {
        Self {
            package,
            objects,
            entities,
            groups,
        }
    }

    /// The name that its package was cooked under.
    #[must_use]
    pub fn package(&self) -> &str {
        self.package
    }

    /// How many entities it has; the root of the instance is none of them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// The ids that its entities will have, by row.
    #[must_use]
    pub fn entities(&self) -> &[Entity] {
        self.entities
    }

    /// The object ids of its entities, by row.
    #[must_use]
    pub fn objects(&self) -> &[ObjectId] {
        self.objects
    }

    /// The row of an object of the level, by its name in the package. Looks at all rows: remember it.
    #[must_use]
    pub fn row_of(&self, name: &str) -> Option<usize> {
        let id = ObjectId::new(self.package, name);
        self.objects.iter().position(|object| *object == id)
    }

    /// The component of a row.
    #[must_use]
    pub fn get<C: Component>(&self, row: usize) -> Option<&C> {
        self.groups()
            .find_map(|group| group.get(row.checked_sub(group.rows.start)?))
    }

    /// Its rows in runs, all of a run with the same set of components.
    pub fn groups(&self) -> impl Iterator<Item = StagedGroup<'_>> {
        let mut first = 0;
        self.groups.iter().map(move |group| {
            let rows = first..first + group.entities.len();
            first = rows.end;
            StagedGroup { rows, group }
        })
    }

    /// Changes the component `C` of all rows that have one; `change` is told the row. What is no plain value to change, because Bevy
    /// takes it for [immutable](bevy_ecs::component::Immutable), can be [inserted](Self::insert) over.
    pub fn for_each<C: Component<Mutability = Mutable>>(&mut self, mut change: impl FnMut(usize, &mut C)) {
        let mut first = 0;
        for group in self.groups.iter_mut() {
            group.change::<C>(|row, value| change(first + row, value));
            first += group.entities.len();
        }
    }

    /// Gives these rows the component `C`, or another value of it: one value for each row.
    ///
    /// Rows with one set of components come into the world together, so components that all entities get cost least. Sets that were
    /// announced with [`add_spawn_row`](crate::SeamlessAssetApp::add_spawn_row) are those that hooks have left.
    ///
    /// # Errors
    /// When the rows are not those of this level, when there are not as many values, and for relationships and their targets, such as [`ChildOf`] and
    /// [`Children`]: who is whose child is the package's to say, and of any other tie the other end would not hear, as the level comes
    /// without running their hooks.
    pub fn insert<C: Component>(&mut self, rows: Range<usize>, values: Vec<C>) -> Result<(), String> {
        let type_id = TypeId::of::<C>();
        if type_id == TypeId::of::<ChildOf>() || type_id == TypeId::of::<Children>() {
            return Err("who is whose child cannot be changed in an instance; cook it into the level".into());
        }
        if C::relationship_accessor().is_some() {
            let name = core::any::type_name::<C>();
            return Err(format!(
                "`{name}` ties entities to each other, and the other one would not hear of it; cook it into the level, or insert it once the level is revealed"
            ));
        }
        let count = values.len();
        if rows.start > rows.end || rows.end > self.len() || rows.len() != count {
            let len = self.len();
            return Err(format!(
                "{count} values for the rows {rows:?} of a level with {len} rows"
            ));
        }
        let mut values = values.into_iter();
        let mut first = 0;
        let mut groups = Vec::with_capacity(self.groups.len() + 2);
        for group in core::mem::take(self.groups) {
            let last = first + group.entities.len();
            let within = rows.start.clamp(first, last) - first..rows.end.clamp(first, last) - first;
            first = last;
            let values = values.by_ref().take(within.len()).collect();
            group.give::<C>(within, values, &mut groups);
        }
        *self.groups = groups;
        Ok(())
    }
}

/// Rows of a [`StagedLevel`] that have the same set of components.
pub struct StagedGroup<'a> {
    /// Which rows.
    pub rows: Range<usize>,
    group: &'a RowGroup,
}

impl<'a> StagedGroup<'a> {
    /// The entities of its rows.
    #[must_use]
    pub fn entities(&self) -> &'a [Entity] {
        &self.group.entities
    }

    /// Whether the rows have the component `C`.
    #[must_use]
    pub fn has<C: Component>(&self) -> bool {
        self.group.types().any(|type_id| type_id == TypeId::of::<C>())
    }

    /// The component `C` of a row, counted from the first of the group.
    #[must_use]
    pub fn get<C: Component>(&self, row: usize) -> Option<&'a C> {
        self.group.get(row)
    }

    /// The component `C` of all rows, in their order; nothing if they have none.
    pub fn values<C: Component>(&self) -> impl Iterator<Item = &'a C> {
        let group = self.group;
        (0..self.rows.len()).map_while(move |row| group.get(row))
    }
}

type InstanceHook = Box<dyn Fn(&mut StagedLevel, &InstanceInfo) -> Result<(), String> + Send + Sync>;
type LevelScan = Box<dyn Fn(&StagedLevel) -> Box<dyn Any + Send + Sync> + Send + Sync>;

/// What runs on levels when they are decoded, in the order of registration.
#[derive(Default)]
pub(crate) struct LevelHooks {
    instances: Vec<InstanceHook>,
    scans: Vec<(TypeId, LevelScan)>,
}

impl LevelHooks {
    pub fn add_instance(
        &mut self,
        hook: impl Fn(&mut StagedLevel, &InstanceInfo) -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.instances.push(Box::new(hook));
    }

    pub fn add_scan<T: Send + Sync + 'static>(&mut self, scan: impl Fn(&StagedLevel) -> T + Send + Sync + 'static) {
        let scan: LevelScan = Box::new(move |level| Box::new(scan(level)));
        self.scans.push((TypeId::of::<T>(), scan));
    }

    pub fn has_instances(&self) -> bool {
        !self.instances.is_empty()
    }

    /// Runs the hooks for one instance. What a hook does wrong, a panic too, is the fault of that instance and no other's.
    pub fn run(&self, level: &mut StagedLevel, info: &InstanceInfo) -> Result<(), LoadErrorKind> {
        let hooks = self.instances.iter();
        let ran = AssertUnwindSafe(|| hooks.into_iter().try_for_each(|hook| hook(level, info)));
        let ran = catch_unwind(ran).unwrap_or_else(|panic| Err(format!("it panicked: {}", words_of(&*panic))));
        ran.map_err(|message| LoadErrorKind::InstanceHook {
            instance: info.name.to_string(),
            message,
        })
    }

    /// What the scans find.
    pub fn scan(&self, level: &StagedLevel) -> LevelScans {
        let scans = self.scans.iter();
        LevelScans(scans.map(|(type_id, scan)| (*type_id, scan(level))).collect())
    }
}

/// What [scans](crate::SeamlessAssetApp::add_level_scan) have found in a level, by its type.
#[derive(Default)]
pub struct LevelScans(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl LevelScans {
    /// What the scan for a `T` has found; `None` if there is no such scan.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }
}
