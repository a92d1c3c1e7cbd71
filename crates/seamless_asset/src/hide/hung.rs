//! What goes where a level goes: who is hung below it by game code. See [`Everything`].

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bevy_ecs::{
    archetype::{Archetype, ArchetypeId},
    change_detection::{CHECK_TICK_THRESHOLD, MAX_CHANGE_AGE, Tick},
    component::ComponentId,
    prelude::*,
    storage::TableRow,
    world::World,
};
use bevy_platform::collections::HashSet;

use super::InHiddenLevel;
use crate::{
    actors::{LazyOwners, LevelActors},
    reveal::Members,
    spawn::ChangedTicks,
};

/// What goes where a level goes: its root, those of its entities that are alive, and what game code has hung below them, other levels
/// and what came with them apart, which have targets of their own.
pub(super) struct Everything {
    /// The level's own entities. They are not copied: a level may have very many.
    pub own: Arc<[Entity]>,
    /// Its root, and what game code had hung below it.
    pub others: Vec<Entity>,
    /// What hangs there too, and stays: other levels, and what came with them.
    pub foreign: Vec<Entity>,
}

impl Everything {
    /// All that goes where a level goes.
    pub fn of(world: &World, root: Entity, members: &Members) -> Self {
        let mut parents = Parents::new(world, members.hung_since);
        let mut own = members.entities.clone();
        let count = own.iter().filter(|entity| parents.note(world, **entity)).count();
        if count < own.len() {
            let is_alive = |entity: &Entity| world.entities().contains_spawned(*entity);
            own = own.iter().copied().filter(is_alive).collect();
        }
        Self::below(world, root, own, parents, |_| false)
    }

    /// The same of a level whose `own` entities were hidden after `hidden` ones were counted, and are alive. What `skips` names of what was hung there is not looked at.
    pub fn of_hidden(
        world: &World,
        root: Entity,
        own: Arc<[Entity]>,
        hidden: &HiddenParents,
        hung_since: Option<Tick>,
        skips: impl Fn(Entity) -> bool,
    ) -> Self {
        let mut parents = Parents::new(world, hung_since);
        parents.note_hidden(world, hidden);
        Self::below(world, root, own, parents, skips)
    }

    fn below<'w>(
        world: &'w World,
        root: Entity,
        own: Arc<[Entity]>,
        mut parents: Parents<'w>,
        skips: impl Fn(Entity) -> bool,
    ) -> Self {
        let mut all = Self {
            own,
            others: Vec::new(),
            foreign: Vec::new(),
        };
        if parents.note(world, root) {
            all.others.push(root);
        }
        let has_actors = world.get::<LevelActors>(root).is_some();
        if !parents.found.is_empty() || has_actors {
            add_hung(world, root, &mut parents, &mut all, skips);
        }
        all
    }

    pub fn lists(&self) -> [&[Entity]; 2] {
        [&self.own, &self.others]
    }
}

/// Adds who goes with the level, and what hangs below it.
fn add_hung<'w>(
    world: &'w World,
    root: Entity,
    parents: &mut Parents<'w>,
    all: &mut Everything,
    skips: impl Fn(Entity) -> bool,
) {
    let mut known = Indices::of(&all.lists().concat());
    let owners = LazyOwners::but(root);
    let mut add = |parents: &mut Parents<'w>, entity: Entity| {
        // Most children are the level's own, which are known.
        if !known.insert(entity) {
            return;
        }
        if owners.get(world).has(entity) {
            all.foreign.push(entity);
            return;
        }
        // It may have children of its own since long ago.
        parents.hung_since = None;
        if !skips(entity) && parents.note(world, entity) {
            all.others.push(entity);
        }
    };
    let actors = world.get::<LevelActors>(root).into_iter();
    actors
        .flat_map(RelationshipTarget::collection)
        .for_each(|actor| add(parents, *actor));
    while let Some(parent) = parents.found.pop() {
        let children = world.get::<Children>(parent).into_iter().flatten();
        children.for_each(|child| add(parents, *child));
    }
}

/// How many hidden entities with children there are, by their archetypes. Who is hidden comes last there.
#[derive(Default)]
pub(super) struct HiddenParents(Vec<(ArchetypeId, usize)>);

impl HiddenParents {
    pub fn count(world: &World) -> Self {
        let archetypes = Self::archetypes(world).filter(|of| !of.is_empty());
        Self(archetypes.map(|of| (of.id(), of.entities().len())).collect())
    }

    fn archetypes(world: &World) -> impl Iterator<Item = &Archetype> {
        let all = world.archetypes();
        let ids = world
            .component_id::<InHiddenLevel>()
            .zip(world.component_id::<Children>());
        let hidden = ids.and_then(|(marker, children)| Some((all.component_index().get(&marker)?, children)));
        hidden.into_iter().flat_map(move |(hidden, children)| {
            let hidden = hidden.keys().filter_map(|id| all.get(*id));
            hidden.filter(move |of| of.contains(children))
        })
    }

    /// Of how many it is known that they were there before.
    fn known(&self, archetype: ArchetypeId) -> usize {
        let known = self.0.iter().find(|(id, _)| *id == archetype);
        known.map_or(0, |(_, count)| *count)
    }
}

/// Whether something that is not hidden may hang below what is, or belong to the level, since then. It looks at no more than so many lists and children: if it does not know
/// by then, the level is to be looked through.
pub(super) fn may_be_hung(world: &World, root: Entity, since: Tick, most: usize) -> bool {
    let age = world.read_change_tick().get().wrapping_sub(since.get());
    let rows = HiddenParents::archetypes(world).map(|of| of.entities().len());
    // Ticks that are too old pass for equally old.
    if age >= MAX_CHANGE_AGE - 2 * CHECK_TICK_THRESHOLD || rows.sum::<usize>() > most {
        return true;
    }
    let mut parents = Parents::new(world, Some(since));
    parents.note_hidden(world, &HiddenParents::default());
    let children = parents.found.iter().filter_map(|parent| world.get::<Children>(*parent));
    let actors = world.get::<LevelActors>(root).into_iter();
    let mut hung = children
        .flatten()
        .chain(actors.flat_map(RelationshipTarget::collection));
    let is_shown = |entity: &Entity| world.get::<InHiddenLevel>(*entity).is_none();
    hung.by_ref().take(most).any(is_shown) || hung.next().is_some()
}

/// Entities with children. Levels have few archetypes, and most of their entities no children.
struct Parents<'w> {
    found: Vec<Entity>,
    /// Lists of children that were changed before are of no interest: they have nobody but the level's own, who are known.
    hung_since: Option<Tick>,
    children: Option<ComponentId>,
    now: Tick,
    last: ArchetypeId,
    /// When lists in the table of the last one were changed; none where there are no lists. Bevy keeps them in tables.
    last_lists: Option<ChangedTicks<'w>>,
}

impl<'w> Parents<'w> {
    fn new(world: &World, hung_since: Option<Tick>) -> Self {
        Self {
            found: Vec::new(),
            hung_since,
            children: world.component_id::<Children>(),
            now: world.read_change_tick(),
            // What is empty has no children.
            last: ArchetypeId::EMPTY,
            last_lists: None,
        }
    }

    /// Whether an entity is alive. Notes it if it has children of interest.
    #[inline]
    fn note(&mut self, world: &'w World, entity: Entity) -> bool {
        let Ok(at) = world.entities().get_spawned(entity) else {
            return false;
        };
        if at.archetype_id != self.last {
            self.look_at(world, at.archetype_id);
        }
        if self.last_lists.is_some() {
            self.note_row(entity, at.table_row);
        }
        true
    }

    /// Notes who was hidden after the others were counted. That is in the one frame in which a level of any size leaves: who has no children is not looked at.
    fn note_hidden(&mut self, world: &'w World, before: &HiddenParents) {
        for of in HiddenParents::archetypes(world) {
            self.look_at(world, of.id());
            let hidden = of.entities().get(before.known(of.id())..);
            for entity in hidden.unwrap_or_default() {
                self.note_row(entity.id(), entity.table_row());
            }
        }
    }

    fn note_row(&mut self, entity: Entity, row: TableRow) {
        let changed = self.last_lists.as_ref().and_then(|lists| lists.at(row));
        let is_newer = |since| changed.is_none_or(|tick| tick.is_newer_than(since, self.now));
        if self.hung_since.is_none_or(is_newer) {
            self.found.push(entity);
        }
    }

    #[cold]
    fn look_at(&mut self, world: &'w World, archetype: ArchetypeId) {
        self.last = archetype;
        let of = world.archetypes().get(archetype);
        self.last_lists = of
            .zip(self.children)
            .and_then(|(of, children)| ChangedTicks::of(world, of.table_id(), children));
    }
}

/// A set of entities that are alive, by their indices.
struct Indices {
    first: usize,
    has: Vec<bool>,
    others: HashSet<Entity>,
}

impl Indices {
    fn of(entities: &[Entity]) -> Self {
        let indices = || entities.iter().map(|entity| entity.index_u32() as usize);
        let first = indices().min().unwrap_or_default();
        let last = indices().max().unwrap_or_default();
        let mut has = vec![false; last - first + 1];
        for index in indices() {
            if let Some(has) = has.get_mut(index - first) {
                *has = true;
            }
        }
        let others = HashSet::new();
        Self { first, has, others }
    }

    /// Whether it was not there.
    fn insert(&mut self, entity: Entity) -> bool {
        let at = (entity.index_u32() as usize).checked_sub(self.first);
        match at.and_then(|at| self.has.get_mut(at)) {
            Some(has) => !core::mem::replace(has, true),
            None => self.others.insert(entity),
        }
    }
}
