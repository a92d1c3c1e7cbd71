//! Where everything of a level will stand, known before it is there. See [`settle`].

#[cfg(test)]
mod tests;

use bevy_ecs::{
    entity::{Entity, EntityHashMap},
    hierarchy::{ChildOf, Children},
};
use bevy_transform::components::{GlobalTransform, Transform, TransformTreeChanged};

use super::StagedLevel;

/// Levels of fewer entities are left to Bevy: it costs more to look who else has moved in the frame of the reveal than they do.
pub(super) const WORTH: usize = 4096;

/// Gives all entities of a level the [`GlobalTransform`] that Bevy will give them below a root at `placement`, to the last bit. Whether all
/// of them have one now: a level in which somebody stands nowhere, or children come before their parents, is left as it is.
///
/// It is Bevy's own arithmetic, in its order: from each parent to its children.
pub(super) fn settle(level: &mut StagedLevel, root: Entity, placement: &Transform) -> bool {
    let Some(globals) = globals(level, root, placement) else {
        return false;
    };
    level.for_each::<GlobalTransform>(|row, global| {
        if let Some(found) = globals.get(row) {
            *global = *found;
        }
    });
    true
}

fn globals(level: &StagedLevel, root: Entity, placement: &Transform) -> Option<Vec<GlobalTransform>> {
    let mut globals = Vec::with_capacity(level.len());
    let mut parents = EntityHashMap::default();
    parents.insert(root, GlobalTransform::from(*placement));
    for group in level.groups() {
        let is_placed = group.has::<GlobalTransform>() && group.has::<TransformTreeChanged>();
        let is_parent = group.has::<Children>();
        let places = group.values::<Transform>().zip(group.values::<ChildOf>());
        for (entity, (place, child_of)) in group.entities().iter().zip(places) {
            let parent = parents.get(&child_of.parent()).filter(|_| is_placed)?;
            let global = parent.mul_transform(*place);
            if is_parent {
                parents.insert(*entity, global);
            }
            globals.push(global);
        }
    }
    (globals.len() == level.len()).then_some(globals)
}
