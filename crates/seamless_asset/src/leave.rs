//! The way of a level out of the world. See [`Sweep`].

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bevy_ecs::{
    component::ComponentId,
    entity::Entity,
    entity_disabling::DefaultQueryFilters,
    hierarchy::{ChildOf, Children},
    relationship::RelationshipTarget,
    world::World,
};

use crate::{
    actors::{LazyOwners, LevelActors, OfLevel, part},
    hide::{Hiding, InHiddenLevel},
    reveal::Members,
};

/// Despawns a level, at once or some entities at a time: its own entities, those that game code took out of the hierarchy as well, and what
/// game code hung below them, or had hung there when the level was hidden. What came with another level stays, and stands where it stood.
///
/// Bevy despawns a hierarchy with two commands per child. Here each list of children is emptied before its entity goes, and parents go
/// before their children, so that no hook has anything to do; the rest goes in reverse order of spawning, which moves few rows.
pub(crate) struct Sweep {
    /// It goes first, then those with children.
    root: Entity,
    parents: Vec<Entity>,
    entities: Arc<[Entity]>,
    /// What was below them, the level's own or not.
    children: Vec<Entity>,
    /// What was hidden with the level.
    hidden: Vec<Entity>,
    next: usize,
}

/// What a [`Sweep`] despawns next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// One of the level's own that was cooked with children, or its root.
    Parent,
    Own,
    /// The level's own as well, if it is still alive. It goes if it still hangs below what has gone.
    Child,
    /// It goes if it is hidden still: nobody else could ever show it.
    Hidden,
}

impl Sweep {
    /// Of a level that is in the world.
    pub fn of(root: Entity, members: &mut Members) -> Self {
        Self::new(root, members.entities.clone(), core::mem::take(&mut members.parents))
    }

    /// Of entities in their order of spawning, some of which are parents.
    pub fn new(root: Entity, entities: Arc<[Entity]>, parents: Vec<Entity>) -> Self {
        Self {
            root,
            parents,
            entities,
            children: Vec::new(),
            hidden: Vec::new(),
            next: 0,
        }
    }

    /// And of what was hidden with the level, wherever it hangs by then.
    pub fn and_hidden(mut self, hiding: &mut Hiding) -> Self {
        self.hidden = hiding.take_others();
        self
    }

    /// Despawns the next entities, `most` at most. How many of the level's own that were: those that are gone already take no time worth telling, and
    /// of what game code hung below nobody knows how much goes with it.
    pub fn step(&mut self, world: &mut World, most: usize) -> u64 {
        self.step_among(world, most, &LazyOwners::all())
    }

    /// The same, where several steps are taken while no level comes.
    pub fn step_among(&mut self, world: &mut World, most: usize, owners: &LazyOwners) -> u64 {
        let end = self.next.saturating_add(most);
        let disabling = disabling(world);
        let mut despawned = 0;
        while self.next < end {
            let Some((entity, next)) = self.entity() else {
                break;
            };
            self.next += 1;
            if !world.entities().contains_spawned(entity) {
                continue;
            }
            if matches!(next, Next::Parent | Next::Own) {
                self.empty_lists(world, entity, next);
                despawned += 1;
            } else if is_spared(world, entity, next, owners) {
                continue;
            }
            enable(world, entity, &disabling);
            if let Ok(entity) = world.get_entity_mut(entity) {
                entity.despawn();
            }
        }
        despawned
    }

    /// What game code has hung below goes by itself.
    fn empty_lists(&mut self, world: &mut World, entity: Entity, next: Next) {
        if let Some(mut below) = world.get_mut::<Children>(entity) {
            self.children.append(below.collection_mut_risky());
        }
        // Who goes with the level would go with its root, in one step.
        if next == Next::Parent
            && let Some(mut actors) = world.get_mut::<LevelActors>(entity)
        {
            self.children.append(actors.collection_mut_risky());
        }
    }

    /// Whether all are despawned.
    pub fn is_over(&self) -> bool {
        self.entity().is_none()
    }

    /// How many of the level's own entities are left, about: one that was cooked with children counts twice. What hangs below them is no part of that,
    /// as most of it is the level's own.
    pub fn left(&self) -> usize {
        (1 + self.parents.len() + self.entities.len()).saturating_sub(self.next)
    }

    /// How many steps of one entity are left at most, lists of those that have gone included.
    pub fn steps_left(&self) -> usize {
        let all = 1 + self.parents.len() + self.entities.len() + self.children.len() + self.hidden.len();
        all.saturating_sub(self.next)
    }

    /// The next one. Of the children only what is not the level's own is still alive by then, and
    /// goes with all that is below it, as does who said to go with the level.
    fn entity(&self) -> Option<(Entity, Next)> {
        let (parents, entities) = (self.parents.len(), self.entities.len());
        let Some(at) = self.next.checked_sub(1) else {
            return Some((self.root, Next::Parent));
        };
        if let Some(parent) = self.parents.get(at) {
            return Some((*parent, Next::Parent));
        }
        let at = at - parents;
        if let Some(from_end) = entities.checked_sub(at + 1) {
            return self.entities.get(from_end).map(|entity| (*entity, Next::Own));
        }
        let at = at - entities;
        if let Some(child) = self.children.get(at) {
            return Some((*child, Next::Child));
        }
        let hidden = self.hidden.get(at - self.children.len());
        hidden.map(|entity| (*entity, Next::Hidden))
    }
}

/// What keeps queries from entities, as far as there are any, hidden levels apart.
fn disabling(world: &World) -> Vec<ComponentId> {
    let own = world.component_id::<InHiddenLevel>();
    let known = world.archetypes().component_index();
    let filters = world.get_resource::<DefaultQueryFilters>().into_iter();
    let ids = filters.flat_map(DefaultQueryFilters::disabling_ids);
    ids.filter(|id| Some(*id) != own && known.contains_key(id)).collect()
}

/// Who clears up behind what is despawned finds it by a query: else the twins of disabled lights stay in Bevy's renderer, and shine on.
fn enable(world: &mut World, entity: Entity, disabling: &[ComponentId]) {
    for id in disabling {
        if let Ok(mut entity) = world.get_entity_mut(entity)
            && entity.contains_id(*id)
        {
            entity.remove_by_id(*id);
        }
    }
}

/// Whether what an entity hangs below is gone.
fn has_lost_parent(world: &World, entity: Entity) -> bool {
    let parent = world.get::<ChildOf>(entity).map(ChildOf::parent);
    parent.is_some_and(|parent| !world.entities().contains_spawned(parent))
}

/// Whether what an entity hangs below, or goes with, is gone; else somebody has taken it meanwhile.
fn hangs_below_nobody(world: &World, entity: Entity) -> bool {
    let level = world.get::<OfLevel>(entity).map(|of| of.0);
    has_lost_parent(world, entity) || level.is_some_and(|level| !world.entities().contains_spawned(level))
}

/// Whether an entity stays that is none of the level's own; what came with another level and hangs below it stays anyway.
fn is_spared(world: &mut World, entity: Entity, next: Next, owners: &LazyOwners) -> bool {
    let is_rescued = match next {
        Next::Hidden => world.get::<InHiddenLevel>(entity).is_none(),
        Next::Child => !hangs_below_nobody(world, entity),
        Next::Parent | Next::Own => false,
    };
    if is_rescued {
        return true;
    }
    // The level's own root is gone.
    let foreign = owners.get(world).below(world, entity);
    for foreign in &foreign {
        // One that only says that it goes with the level may hang elsewhere.
        let is_torn = *foreign != entity || has_lost_parent(world, entity);
        part(world, *foreign, is_torn);
    }
    foreign.contains(&entity)
}
