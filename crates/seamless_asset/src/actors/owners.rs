//! Which level an entity came with, asked of those that hang in another. See [`Owners`].

#[cfg(test)]
mod tests;

use core::cell::OnceCell;
use std::sync::Arc;

use bevy_ecs::{
    component::ComponentId,
    entity::{Entity, EntityHashSet},
    hierarchy::Children,
    world::World,
};

use crate::{LevelInstance, level_data::LevelObjects};

/// All that have a component, hidden or disabled in whatever way: queries pass over those.
pub(super) fn all_with(world: &World, component: ComponentId) -> impl Iterator<Item = Entity> {
    let archetypes = world.archetypes().iter().filter(move |of| of.contains(component));
    archetypes.flat_map(|of| of.entities()).map(|at| at.id())
}

/// The levels in the world, hidden ones as well, and their own entities. It is made where something hangs in a level that is none of its
/// own, and nowhere else.
#[derive(Default)]
pub(crate) struct Owners {
    roots: EntityHashSet,
    /// By the first of their entities.
    levels: Vec<Owner>,
}

struct Owner {
    root: Entity,
    /// The first and the last of its entities, by their indices.
    range: (u32, u32),
    /// How far this level and those before it reach: ids that were used before lie anywhere, so ranges overlap.
    reach: u32,
    objects: Arc<LevelObjects>,
}

impl Owners {
    /// All levels but the one with this root.
    pub fn but(world: &World, root: Entity) -> Self {
        let Some(level) = world.component_id::<LevelInstance>() else {
            return Self::default();
        };
        let others = all_with(world, level).filter(|other| *other != root);
        Self::of(others.filter_map(|root| Some((root, world.get::<LevelInstance>(root)?.objects.clone()))))
    }

    fn of(levels: impl Iterator<Item = (Entity, Arc<LevelObjects>)>) -> Self {
        let levels = levels.map(|(root, objects)| {
            let range = objects.indices();
            Owner {
                root,
                range,
                reach: range.1,
                objects,
            }
        });
        let mut levels: Vec<Owner> = levels.collect();
        levels.sort_unstable_by_key(|level| level.range.0);
        let mut reach = 0;
        for level in &mut levels {
            reach = level.reach.max(reach);
            level.reach = reach;
        }
        let roots = levels.iter().map(|level| level.root).collect();
        Self { roots, levels }
    }

    /// Whether an entity is the root of one of these levels, or came with it.
    pub fn has(&self, entity: Entity) -> bool {
        self.root_of(entity).is_some()
    }

    /// The root of that level.
    pub fn root_of(&self, entity: Entity) -> Option<Entity> {
        if self.roots.contains(&entity) {
            return Some(entity);
        }
        let index = entity.index_u32();
        let begun = self.levels.partition_point(|level| level.range.0 <= index);
        let begun = self.levels.iter().take(begun).rev();
        let mut reaching = begun.take_while(|level| level.reach >= index);
        let level = reaching.find(|level| level.range.1 >= index && level.objects.object(entity).is_some());
        level.map(|level| level.root)
    }

    /// Whether any of them is or did.
    pub fn has_any(&self, entities: &[Entity]) -> bool {
        entities.iter().any(|entity| self.has(*entity))
    }

    /// Those that hang below an entity, it counted: the topmost, and not what hangs below them.
    pub fn below(&self, world: &World, entity: Entity) -> Vec<Entity> {
        let mut found = Vec::new();
        let mut open = vec![entity];
        while let Some(entity) = open.pop() {
            if self.has(entity) {
                found.push(entity);
            } else {
                open.extend(world.get::<Children>(entity).into_iter().flatten());
            }
        }
        found
    }
}

/// [`Owners`] that are made when somebody first asks, for as long as no level comes.
pub(crate) struct LazyOwners {
    but: Entity,
    made: OnceCell<Owners>,
}

impl LazyOwners {
    /// Of all levels.
    pub fn all() -> Self {
        Self::but(Entity::PLACEHOLDER)
    }

    /// Of all levels but the one with this root.
    pub fn but(root: Entity) -> Self {
        Self {
            but: root,
            made: OnceCell::new(),
        }
    }

    pub fn get(&self, world: &World) -> &Owners {
        self.made.get_or_init(|| Owners::but(world, self.but))
    }
}
