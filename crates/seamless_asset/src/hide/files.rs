//! Which components of a level its file gave. See [`FileComponents`].

use std::sync::Arc;

use bevy_ecs::{component::ComponentId, entity::Entity, world::World};

use crate::{level_data::LevelObjects, reveal::Members};

/// The components that a level's file gave its entities. All others are somebody else's, and no edits of it.
pub(super) struct FileComponents {
    objects: Arc<LevelObjects>,
    /// Where each run of rows ends, and what its entities were given.
    runs: Vec<(u32, Vec<ComponentId>)>,
}

impl FileComponents {
    pub fn new(world: &World, members: &Members) -> Self {
        let components = world.components();
        let mut end = 0;
        let runs = members.runs.iter().map(|run| {
            end += run.rows;
            let ids = run.types.iter().filter_map(|type_id| components.get_id(*type_id));
            (end, ids.collect())
        });
        Self {
            runs: runs.collect(),
            objects: members.objects.clone(),
        }
    }

    pub fn has(&self, entity: Entity, id: ComponentId) -> bool {
        let Some(row) = self.objects.row(entity) else {
            return false;
        };
        let at = self.runs.partition_point(|(end, _)| *end <= row);
        self.runs.get(at).is_some_and(|(_, ids)| ids.contains(&id))
    }
}
