//! Which level an entity came with, asked of those that hang in another. See [`Owners`].

use std::sync::Arc;

use bevy_ecs::{component::ComponentId, entity::Entity, hierarchy::Children, world::World};

use crate::{LevelInstance, level_data::LevelObjects};

/// All that have a component, hidden or disabled in whatever way: queries pass over those.
pub(super) fn all_with(world: &World, component: ComponentId) -> impl Iterator<Item = Entity> {
    let archetypes = world.archetypes().iter().filter(move |of| of.contains(component));
    archetypes.flat_map(|of| of.entities()).map(|at| at.id())
}

/// The levels in the world, hidden ones as well, and their own entities. It is made where something hangs in a level that is none of its
/// own, and nowhere else.
pub(crate) struct Owners(Vec<Owner>);

struct Owner {
    root: Entity,
    /// The first and the last of its entities, by their indices.
    range: (u32, u32),
    objects: Arc<LevelObjects>,
}

impl Owners {
    /// All levels but the one with this root.
    pub fn but(world: &World, root: Entity) -> Self {
        let Some(level) = world.component_id::<LevelInstance>() else {
            return Self(Vec::new());
        };
        let owners = all_with(world, level)
            .filter(|other| *other != root)
            .filter_map(|root| {
                let objects = world.get::<LevelInstance>(root)?.objects.clone();
                let range = objects.indices();
                Some(Owner { root, range, objects })
            });
        Self(owners.collect())
    }

    /// Whether an entity is the root of one of these levels, or came with it.
    pub fn has(&self, entity: Entity) -> bool {
        let index = entity.index_u32();
        self.0.iter().any(|owner| {
            let (first, last) = owner.range;
            owner.root == entity || ((first..=last).contains(&index) && owner.objects.object(entity).is_some())
        })
    }

    /// The same of any of them.
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
