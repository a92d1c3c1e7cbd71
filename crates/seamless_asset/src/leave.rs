//! The way of a level out of the world. See [`Sweep`].

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bevy_ecs::{entity::Entity, hierarchy::Children, relationship::RelationshipTarget, world::World};

use crate::{actors::LevelActors, reveal::Members};

/// Despawns a level, at once or some entities at a time: its own entities, those that game code took out of the hierarchy as well, and what
/// game code hung below them.
///
/// Bevy despawns a hierarchy with two commands per child. Here each list of children is emptied before its entity goes, and parents go
/// before their children, so that no hook has anything to do; the rest goes in reverse order of spawning, which moves few rows.
pub(crate) struct Sweep {
    /// The root, then those with children.
    parents: Vec<Entity>,
    entities: Arc<[Entity]>,
    /// What was below the parents, the level's own or not.
    children: Vec<Entity>,
    next: usize,
}

impl Sweep {
    /// Of a level that is in the world.
    pub fn of(root: Entity, members: &mut Members) -> Self {
        Self::new(root, members.entities.clone(), core::mem::take(&mut members.parents))
    }

    /// Of entities in their order of spawning, some of which are parents.
    pub fn new(root: Entity, entities: Arc<[Entity]>, mut parents: Vec<Entity>) -> Self {
        parents.insert(0, root);
        Self {
            parents,
            entities,
            children: Vec::new(),
            next: 0,
        }
    }

    /// Despawns the next entities, `most` at most. How many of the level's own that were: those that are gone already take no time worth telling, and
    /// of what game code hung below nobody knows how much goes with it.
    pub fn step(&mut self, world: &mut World, most: usize) -> u64 {
        let end = self.next.saturating_add(most);
        let own = self.parents.len() + self.entities.len();
        let mut despawned = 0;
        while self.next < end {
            let Some((entity, is_parent)) = self.entity() else {
                break;
            };
            self.next += 1;
            if is_parent && let Some(mut below) = world.get_mut::<Children>(entity) {
                self.children.append(below.collection_mut_risky());
            }
            // Who goes with the level would go with its root, in one step.
            if is_parent && let Some(mut actors) = world.get_mut::<LevelActors>(entity) {
                self.children.append(actors.collection_mut_risky());
            }
            let is_own = self.next <= own;
            if let Ok(entity) = world.get_entity_mut(entity) {
                entity.despawn();
                despawned += u64::from(is_own);
            }
        }
        despawned
    }

    /// Whether all are despawned.
    pub fn is_over(&self) -> bool {
        self.entity().is_none()
    }

    /// How many steps of one entity are left, about.
    pub fn left(&self) -> usize {
        let all = self.parents.len() + self.entities.len() + self.children.len();
        all.saturating_sub(self.next)
    }

    /// The next one, and whether it has a list of children: of the children only what is not the level's own is still alive by then, and
    /// goes with all that is below it, as does who said to go with the level.
    fn entity(&self) -> Option<(Entity, bool)> {
        let (parents, entities) = (self.parents.len(), self.entities.len());
        if let Some(parent) = self.parents.get(self.next) {
            return Some((*parent, true));
        }
        let at = self.next - parents;
        if let Some(from_end) = entities.checked_sub(at + 1) {
            return self.entities.get(from_end).map(|entity| (*entity, false));
        }
        self.children.get(at - entities).map(|child| (*child, false))
    }
}
