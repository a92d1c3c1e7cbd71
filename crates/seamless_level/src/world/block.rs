//! Frames that wait: [`block_on_levels`].

use bevy_ecs::{change_detection::DetectChangesMut, query::QueryState, system::Query, world::World};
use bevy_log::warn;
use seamless_asset::{BlockingLoads, InstanceId, StreamingTime};

use super::{EvenHidden, LevelSelection, LevelState, LevelTable};

/// Whether a source is where levels are missing that nobody may be without.
pub(crate) fn is_anybody_blocked(selections: Query<&LevelSelection, EvenHidden>) -> bool {
    selections
        .iter()
        .any(|selection| !selection.selector.plan().block.is_empty())
}

/// Brings the levels into the world that nobody may be without. Each is a hitch, which is logged and counted. One that fails is told as
/// any other is, and no frame waits for it again while it is [tried again](crate::RetryPolicy): a disk that hangs would stop one frame after another.
/// Nor does one wait for what somebody else has despawned, as long as it is wanted: who does so again and again would have as many hitches.
pub(crate) fn block_on_levels(
    world: &mut World,
    worlds: &mut QueryState<(&'static mut LevelTable, &'static LevelSelection), EvenHidden>,
) {
    let mut missing: Vec<(InstanceId, Option<String>)> = Vec::new();
    let now = world.resource::<StreamingTime>().now();
    for (mut table, selection) in worlds.iter_mut(world) {
        let levels = &mut table.bypass_change_detection().levels;
        for level in &selection.selector.plan().block {
            let Some(level) = levels.get_mut(*level) else { continue };
            // One that is loaded is only shown: nothing has to be read for it.
            let is_loaded = matches!(level.state(), LevelState::Hidden | LevelState::Visible);
            if level.was_waited_for || level.was_lost && !is_loaded {
                continue;
            }
            let Some(id) = level.instance else { continue };
            level.was_waited_for = !is_loaded;
            if level.state() != LevelState::Visible {
                level.block(now);
            }
            missing.push((id, (!is_loaded).then(|| level.name().to_owned())));
        }
    }
    for (id, unloaded) in missing {
        if let Some(name) = unloaded {
            warn!(
                "the frame waits for level `{name}`: a source is inside of a volume of it with `VolumeMode::BlockUntilLoaded`; a larger volume with \
                 `Load` around that, or `Levels::prepare`, has it ready before"
            );
        }
        // The pipeline writes it down as an event.
        let _ = world.finish_level_blocking(id);
    }
}
