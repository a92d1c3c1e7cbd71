//! Lists of children after their parents changed. See [`mend`].

use bevy_ecs::{
    entity::Entity,
    hierarchy::{ChildOf, Children},
    relationship::{RelationshipHookMode, RelationshipTarget},
    world::World,
};
use bevy_platform::collections::HashSet;

/// Gives `parent` the list of the entities that hang below it: those of `list` in that order, then others in the order that they have
/// now. Without a list all keep their order. What is about to leave is in no list, so that its despawning finds nothing to do.
pub(super) fn mend(world: &mut World, parent: Entity, list: Option<Vec<Entity>>, leaving: &HashSet<Entity>) {
    let Ok(entity) = world.get_entity(parent) else { return };
    let now = entity.get::<Children>();
    let has_list = now.is_some();
    let now: Vec<Entity> = now.map(|children| children.to_vec()).unwrap_or_default();
    let mut met = HashSet::new();
    let mut wanted = list.unwrap_or_default();
    wanted.extend(&now);
    wanted.retain(|child| {
        let below = world.get::<ChildOf>(*child).map(ChildOf::parent);
        below == Some(parent) && !leaving.contains(child) && met.insert(*child)
    });
    if wanted == now {
        return;
    }
    let Ok(mut entity) = world.get_entity_mut(parent) else {
        return;
    };
    if !has_list {
        // Both ends are written: the children have their parent already.
        entity.insert_with_relationship_hook_mode(Children::from_collection_risky(wanted), RelationshipHookMode::Skip);
        return;
    }
    let is_empty = wanted.is_empty();
    if let Some(mut children) = entity.get_mut::<Children>() {
        *children.collection_mut_risky() = wanted;
    }
    if is_empty {
        // With nothing in it, its hook does not reach for those who left.
        entity.remove::<Children>();
    }
}
