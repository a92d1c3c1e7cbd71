//! A live level instance becomes what its new file says, where it is. See [`Prepared`].

mod children;
mod diff;

use bevy_ecs::{
    component::ComponentId,
    entity::Entity,
    hierarchy::{ChildOf, Children},
    relationship::{RelationshipAccessor, RelationshipHookMode},
    world::World,
};
use bevy_platform::collections::HashSet;
use bevy_reflect::TypeRegistry;

pub(crate) use diff::{Differ, LevelDiff};

use crate::{
    actors::{Owners, detach, detach_unseen},
    hide::InHiddenLevel,
    load::{KeptGroup, LevelInstance, LoadServices, ReloadReport, ReloadedLevel},
    reveal::{LatePasses, Members, register},
    spawn::{Column, Group, IdentifiedColumn, Inserter, Spent, Values, spawn},
    stable::StableIds,
};

/// A staged level whose components are known to the world. Nothing of it has moved yet.
pub(crate) struct Prepared {
    /// Which columns of new entities come late.
    passes: LatePasses,
    pub staged: ReloadedLevel,
    kept: Vec<KeptRows>,
}

/// Kept entities with one set of components, and the new values.
struct KeptRows {
    entities: Vec<Entity>,
    /// Of which of the old runs each was.
    runs: Vec<usize>,
    values: Inserter,
    /// Relationships of the game's own. Their other ends are nobody's columns: Bevy's hooks keep them.
    links: Inserter,
}

/// How a component is treated that two versions of a level may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is what the file says, or what game code made of it.
    Plain,
    /// Bevy works it out, every frame if need be. A value of the file is a first guess.
    Computed,
    /// Bevy works it out where the file does not say it.
    Measured,
    /// Which entity it hangs below.
    Parent,
    /// The list of what hangs below it; follows from the others' parents.
    Children,
    /// A relationship of the game's own.
    Link,
    /// The other end of one.
    LinkTarget,
}

impl Kind {
    fn of(world: &World, id: ComponentId) -> Self {
        let components = world.components();
        let is = |other: Option<ComponentId>| other == Some(id);
        match components.get_info(id).and_then(|info| info.relationship_accessor()) {
            _ if is(components.component_id::<ChildOf>()) => Self::Parent,
            _ if is(components.component_id::<Children>()) => Self::Children,
            Some(RelationshipAccessor::Relationship { .. }) => Self::Link,
            Some(RelationshipAccessor::RelationshipTarget { .. }) => Self::LinkTarget,
            None => Self::by_type(world, id),
        }
    }

    fn by_type(world: &World, id: ComponentId) -> Self {
        use bevy_camera::{
            primitives::Aabb,
            visibility::{InheritedVisibility, ViewVisibility},
        };
        use bevy_transform::components::{GlobalTransform, TransformTreeChanged};
        use core::any::TypeId;
        let computed = [
            TypeId::of::<GlobalTransform>(),
            TypeId::of::<TransformTreeChanged>(),
            TypeId::of::<InheritedVisibility>(),
            TypeId::of::<ViewVisibility>(),
        ];
        let type_id = world.components().get_info(id).and_then(|info| info.type_id());
        match type_id {
            Some(type_id) if computed.contains(&type_id) => Self::Computed,
            Some(type_id) if type_id == TypeId::of::<Aabb>() => Self::Measured,
            _ => Self::Plain,
        }
    }

    fn of_column(world: &World, column: &dyn Column) -> Self {
        let id = world.components().get_id(column.type_id());
        id.map_or(Self::Plain, |id| Self::of(world, id))
    }
}

impl KeptRows {
    fn new(world: &World, group: KeptGroup) -> Self {
        let KeptGroup {
            entities,
            columns,
            runs,
        } = group;
        let [values, links] = part_links(world, columns);
        Self {
            entities,
            runs,
            values: Inserter::new(world, values),
            links: Inserter::new(world, links),
        }
    }

    fn columns(&self) -> impl Iterator<Item = &IdentifiedColumn> {
        self.values.columns().iter().chain(self.links.columns())
    }

    fn width(&self) -> usize {
        self.columns().count()
    }
}

/// The columns that are not about relationships of the game's own, and those that are their sources.
fn part_links(world: &World, columns: Vec<Box<dyn Column>>) -> [Vec<Box<dyn Column>>; 2] {
    let [mut values, mut links] = [Vec::new(), Vec::new()];
    for column in columns {
        match Kind::of_column(world, &*column) {
            Kind::LinkTarget => {}
            Kind::Link => links.push(column),
            _ => values.push(column),
        }
    }
    [values, links]
}

impl Prepared {
    /// Makes the level's components known to `world`, and does nothing else to it.
    pub fn new(world: &mut World, mut staged: ReloadedLevel, services: &LoadServices, registry: &TypeRegistry) -> Self {
        let kept = core::mem::take(&mut staged.kept);
        let columns = kept.iter().flat_map(|group| &group.columns);
        columns.clone().for_each(|column| column.register(world));
        let kept_types = columns.map(|column| (**column).type_id());
        let groups = staged.loaded.level.groups.iter();
        groups.clone().for_each(|group| group.values.register(world));
        let new_types: Vec<_> = groups.flat_map(|group| group.values.types()).collect();
        let types = new_types.iter().copied().chain(kept_types);
        register(world, types, &services.codecs, registry);
        Self {
            passes: LatePasses::new(world, new_types, registry, false),
            kept: kept.into_iter().map(|group| KeptRows::new(world, group)).collect(),
            staged,
        }
    }

    /// Changes the instance to what the file says and `diff` lets through. What is left is memory only.
    ///
    /// New entities come first, so that whatever looks from a kept one to another finds it; then kept ones change, and those that are
    /// lost go last.
    pub fn apply(
        mut self,
        world: &mut World,
        diff: LevelDiff,
        members: &mut Members,
        report: &mut ReloadReport,
    ) -> (Spent, Vec<Entity>, ReloadedLevel) {
        self.release_guests(world, members);
        let loaded = &mut self.staged.loaded;
        let reserved = loaded.reserved.take();
        let mut groups = core::mem::take(&mut loaded.level.groups);
        report.entities_spawned += groups.iter().map(|group| group.entities.len()).sum::<usize>();
        let links = take_links(world, &mut groups);
        let spent = spawn(world, groups, &self.passes);
        for (entity, ids) in &diff.removed {
            if let Ok(mut entity) = world.get_entity_mut(*entity) {
                entity.remove_by_ids(ids);
            }
        }
        for (entities, mut links) in links {
            for entity in entities {
                links.insert_next(world, entity, RelationshipHookMode::Run, |_| true);
            }
        }
        for (rows, writes) in self.kept.iter_mut().zip(&diff.writes) {
            write_rows(world, rows, writes);
        }
        self.mend_children(world, &diff);
        self.despawn_lost(world, report);
        self.update_instance(world, diff, members);
        report.instances.push(self.staged.instance);
        (spent, reserved, self.staged)
    }

    /// What came with another level stays where it is when what it hangs below is lost, as where a level leaves.
    fn release_guests(&self, world: &mut World, members: &Members) {
        if self.staged.lost.is_empty() {
            return;
        }
        let root = self.staged.loaded.root;
        let owners = Owners::but(world, root);
        let lost = self.staged.lost.iter();
        let guests: Vec<_> = lost.flat_map(|(entity, _)| owners.below(world, *entity)).collect();
        let is_hidden = world.get::<InHiddenLevel>(root).is_some();
        for guest in guests {
            if is_hidden {
                detach_unseen(world, guest, root, members);
            } else {
                detach(world, guest);
            }
        }
    }

    fn despawn_lost(&self, world: &mut World, report: &mut ReloadReport) {
        for (entity, _) in &self.staged.lost {
            if let Ok(entity) = world.get_entity_mut(*entity) {
                entity.despawn();
                report.entities_despawned += 1;
            }
        }
        // Their ids may be in the values of others: nobody else must get them.
        for entity in &self.staged.unwanted {
            if let Ok(entity) = world.spawn_empty_at(*entity) {
                entity.despawn();
            }
        }
    }

    fn update_instance(&mut self, world: &mut World, diff: LevelDiff, members: &mut Members) {
        members.memory = self.staged.loaded.memory;
        let level = &mut self.staged.loaded.level;
        if let Some(mut instance) = world.get_mut::<LevelInstance>(self.staged.loaded.root)
            && instance.objects != level.objects
        {
            instance.objects = level.objects.clone();
            let path = instance.path.clone();
            if let Some(mut ids) = world.get_resource_mut::<StableIds>() {
                ids.renew(&path, self.staged.loaded.root, &level.objects);
            }
        }
        members.entities = level.entities.clone();
        members.parents = core::mem::take(&mut level.parents);
        members.runs = level.runs.clone();
        members.objects = level.objects.clone();
        members.edits = diff.kept_edits;
        members.since = world.increment_change_tick();
    }

    /// Each parent gets its children in the order of the file, behind them what game code hung there.
    fn mend_children(&mut self, world: &mut World, diff: &LevelDiff) {
        let ReloadedLevel {
            loaded, children, lost, ..
        } = &mut self.staged;
        let mut lists = core::mem::take(children);
        lists.insert(loaded.root, core::mem::take(&mut loaded.level.roots));
        let has_children = |entity: &&Entity| world.get::<Children>(**entity).is_some();
        let kept = self.kept.iter().flat_map(|group| &group.entities);
        let lost: HashSet<Entity> = lost.iter().map(|(entity, _)| *entity).collect();
        let parents = kept.chain(&lost).filter(has_children).chain(&loaded.level.parents);
        let mut parents: Vec<Entity> = parents.chain(&diff.left).copied().collect();
        parents.extend(lists.keys());
        // In the same order each time.
        parents.sort_unstable();
        parents.dedup();
        for parent in parents {
            children::mend(world, parent, lists.remove(&parent), &lost);
        }
    }
}

fn write_rows(world: &mut World, rows: &mut KeptRows, writes: &[bool]) {
    let values = rows.values.columns().len();
    let width = rows.width();
    let is_written = |row: usize, column: usize| writes.get(row * width + column).copied().unwrap_or_default();
    for (row, entity) in rows.entities.iter().enumerate() {
        rows.values
            .insert_next(world, *entity, RelationshipHookMode::Skip, |column| {
                is_written(row, column)
            });
    }
    for (row, entity) in rows.entities.iter().enumerate() {
        rows.links
            .insert_next(world, *entity, RelationshipHookMode::Run, |column| {
                is_written(row, values + column)
            });
    }
}

/// Relationships of the game's own may have their other end at an entity that is there already; they are inserted last, and Bevy's
/// hooks make the other ends.
fn take_links(world: &World, groups: &mut [Group]) -> Vec<(Vec<Entity>, Inserter)> {
    let is_link = |type_id| {
        let kind = world.components().get_id(type_id).map(|id| Kind::of(world, id));
        matches!(kind, Some(Kind::Link | Kind::LinkTarget))
    };
    let mut taken = Vec::new();
    for group in groups {
        if group.values.types().into_iter().any(is_link) {
            let values = core::mem::replace(&mut group.values, Values::Columns(Vec::new()));
            let [values, links] = part_links(world, values.into_columns());
            group.values = Values::Columns(values);
            taken.push((group.entities.clone(), Inserter::new(world, links)));
        }
    }
    taken
}
