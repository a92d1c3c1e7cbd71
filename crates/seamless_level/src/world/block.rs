//! Frames that wait: [`block_on_levels`].

use bevy_ecs::{query::QueryState, system::Query, world::World};
use seamless_asset::{BlockingLoads, InstanceId};

use super::{LevelSelection, LevelTable};

/// Whether a source is where levels are missing that nobody may be without.
pub(crate) fn is_anybody_blocked(selections: Query<&LevelSelection>) -> bool {
    selections
        .iter()
        .any(|selection| !selection.selector.plan().block.is_empty())
}

/// Brings the levels into the world that nobody may be without. Each is a hitch, which is logged and counted. One that fails is told as
/// any other is.
pub(crate) fn block_on_levels(
    world: &mut World,
    worlds: &mut QueryState<(&'static LevelTable, &'static LevelSelection)>,
) {
    let missing: Vec<InstanceId> = worlds
        .iter(world)
        .flat_map(|(table, selection)| {
            let levels = selection.selector.plan().block.iter();
            levels.filter_map(|level| table.at(*level)?.instance)
        })
        .collect();
    for id in missing {
        // The pipeline writes it down as an event.
        let _ = world.finish_level_blocking(id);
    }
}
