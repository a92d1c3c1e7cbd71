//! One level in the world: what belongs to it, and whether it is whole.

use bevy::prelude::*;
use bevy_seamless::{asset::LevelInstance, prelude::InHiddenLevel};

/// Whether an entity is alive, and not one of those that nobody is to see.
pub(super) fn is_there(ecs: &World, entity: Entity) -> bool {
    ecs.get_entity(entity)
        .is_ok_and(|entity| !entity.contains::<InHiddenLevel>())
}

/// The entities of a level that was revealed.
pub(super) struct Known {
    pub world: Entity,
    pub name: String,
    pub root: Entity,
    /// All entities, the root included.
    pub ids: Vec<Entity>,
}

impl Known {
    pub fn of(ecs: &World, world: Entity, name: &str, root: Entity) -> Self {
        let mut ids = vec![root];
        let objects = ecs
            .get::<LevelInstance>(root)
            .map(|instance| instance.objects.entities());
        ids.extend(objects.into_iter().flatten());
        Self {
            world,
            name: name.to_owned(),
            root,
            ids,
        }
    }

    /// How many of its entities are there.
    pub fn survivors(&self, ecs: &World) -> usize {
        self.ids.iter().filter(|id| is_there(ecs, **id)).count()
    }
}

/// Why the level below `root`, which should have `entities` entities, is not whole; `None` if it is.
pub(super) fn find_tear(ecs: &World, root: Entity, entities: u32) -> Option<String> {
    let Some(instance) = ecs.get::<LevelInstance>(root) else {
        return Some(format!("its root {root} is not alive, or no root"));
    };
    let objects = &instance.objects;
    let alive = objects.entities().filter(|id| is_there(ecs, *id)).count();
    if objects.len() != entities as usize || alive != objects.len() {
        return Some(format!(
            "{alive} of {} objects are alive, {entities} were cooked",
            objects.len()
        ));
    }
    let mut found = 0;
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for child in ecs.get::<Children>(parent).into_iter().flatten() {
            if ecs.get::<ChildOf>(*child).map(ChildOf::parent) != Some(parent) {
                return Some(format!("{child} is a child of {parent} and does not know it"));
            }
            if let Some(mesh) = ecs.get::<Mesh3d>(*child)
                && !ecs.resource::<Assets<Mesh>>().contains(mesh)
            {
                return Some(format!("the mesh of {child} is not there"));
            }
            found += 1;
            open.push(*child);
        }
    }
    (found != entities).then(|| format!("{found} entities hang below its root, {entities} were cooked"))
}
