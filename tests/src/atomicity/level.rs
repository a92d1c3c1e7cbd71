//! One level in the world: what belongs to it, and whether it is whole.

use bevy::{ecs::component::ComponentId, prelude::*};
use bevy_seamless::{asset::LevelInstance, prelude::InHiddenLevel};

/// What is looked at of each entity below the root of a level.
type Seen = (
    Option<&'static Children>,
    Option<&'static ChildOf>,
    Option<&'static Mesh3d>,
);

/// Looks at all levels of a world, in each frame: what is the same for all entities is found once.
pub(super) struct Eyes<'w> {
    pub ecs: &'w World,
    seen: QueryState<Seen>,
    /// What those have that nobody is to see, where anybody has it.
    hidden: Option<ComponentId>,
    meshes: &'w Assets<Mesh>,
}

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

impl<'w> Eyes<'w> {
    /// So that a world without any level knows what levels consist of.
    pub fn register(ecs: &mut World) {
        ecs.query::<Seen>();
    }

    /// # Panics
    /// When the world does not know what levels consist of, or has no meshes.
    pub fn of(ecs: &'w World) -> Self {
        Self {
            ecs,
            seen: ecs.try_query().expect("the checker has registered them"),
            hidden: ecs.component_id::<InHiddenLevel>(),
            meshes: ecs.resource(),
        }
    }

    fn is_there(&self, entity: Entity) -> bool {
        let is_shown = |entity: EntityRef| self.hidden.is_none_or(|hidden| !entity.contains_id(hidden));
        self.ecs.get_entity(entity).is_ok_and(is_shown)
    }

    /// Why the level below `root`, which should have `entities` entities, is not whole; `None` if it is.
    pub fn find_tear(&self, root: Entity, entities: u32) -> Option<String> {
        let Some(instance) = self.ecs.get::<LevelInstance>(root) else {
            return Some(format!("its root {root} is not alive, or no root"));
        };
        let objects = &instance.objects;
        let alive = objects.entities().filter(|id| self.is_there(*id)).count();
        if objects.len() != entities as usize || alive != objects.len() {
            return Some(format!(
                "{alive} of {} objects are alive, {entities} were cooked",
                objects.len()
            ));
        }
        self.find_stray(root, entities)
    }

    /// The same of what hangs below `root`.
    fn find_stray(&self, root: Entity, entities: u32) -> Option<String> {
        let mut found = 0;
        let with_children = |entity, children: Option<&'w Children>| children.map(|children| (entity, children));
        let mut open: Vec<_> = with_children(root, self.ecs.get(root)).into_iter().collect();
        while let Some((parent, children)) = open.pop() {
            for &child in children {
                let Ok((below, above, mesh)) = self.seen.get_manual(self.ecs, child) else {
                    return Some(format!("{child} is a child of {parent}, and nobody is to see it"));
                };
                if above.map(ChildOf::parent) != Some(parent) {
                    return Some(format!("{child} is a child of {parent} and does not know it"));
                }
                if mesh.is_some_and(|mesh| !self.meshes.contains(mesh)) {
                    return Some(format!("the mesh of {child} is not there"));
                }
                found += 1;
                open.extend(with_children(child, below));
            }
        }
        (found != entities).then(|| format!("{found} entities hang below its root, {entities} were cooked"))
    }
}
