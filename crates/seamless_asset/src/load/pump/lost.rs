//! Levels whose root was despawned by somebody else. See [`LostRoots`].

use bevy_ecs::{lifecycle::Remove, prelude::*};

use super::Pipeline;
use crate::load::{InstanceTarget, LevelInstance, instance::Phase};

/// Roots of levels that were despawned, or are no roots any more, since the pipeline looked last.
#[derive(Resource, Default)]
pub(crate) struct LostRoots(Vec<Entity>);

pub(crate) fn note_lost_root(root: On<Remove, LevelInstance>, mut lost: ResMut<LostRoots>) {
    lost.0.push(root.entity);
}

impl Pipeline {
    /// A live level whose root was despawned by somebody else has left, too.
    pub(super) fn find_lost_roots(&mut self, world: &mut World) {
        let mut lost = core::mem::take(&mut world.resource_mut::<LostRoots>().0);
        // Who is there and no root any more is looked at until it is either.
        lost.retain(|root| world.get::<LevelInstance>(*root).is_none());
        let is_gone = |root: &mut Entity| !world.entities().contains_spawned(*root);
        let gone: Vec<Entity> = lost.extract_if(.., is_gone).collect();
        for root in gone {
            let Some(id) = self.instances.index().of_root(root) else {
                continue;
            };
            // Whether it can still be revealed is asked then.
            let phase = self.instances.get(&id).map(|instance| &instance.phase);
            if let Some(Phase::Live { .. } | Phase::Hidden { .. }) = phase {
                self.set_target(world, id, InstanceTarget::Gone);
            }
        }
        // The list keeps its memory.
        world.resource_mut::<LostRoots>().0 = lost;
    }
}
