//! How a table goes, and its levels with it.

use bevy_ecs::{lifecycle::HookContext, world::DeferredWorld};
use seamless_asset::{InstanceId, Streamer};

use super::{Level, LevelTable};
use crate::{events::LevelLeft, world::InstanceIndex};

impl Drop for LevelTable {
    fn drop(&mut self) {
        let (levels, by_name) = (core::mem::take(&mut self.levels), core::mem::take(&mut self.by_name));
        let packages = core::mem::take(&mut self.packages);
        self.freed.free(levels.len(), (levels, by_name, packages));
    }
}

/// However a table goes, by despawn, by removal or by replacement, its levels leave.
pub(super) fn leave_all(mut world: DeferredWorld, context: HookContext) {
    let Some(table) = world.get::<LevelTable>(context.entity) else {
        return;
    };
    let left = |level: &Level| {
        Some(LevelLeft {
            world: context.entity,
            level: level.entry.name.clone(),
            // One without a root was not told to have come. It may come in this very frame: who despawns its world may be called by its reveal.
            root: level.root?,
        })
    };
    let orphan = |level: &Level| Some((level.instance?, left(level)));
    let leaving: Vec<(InstanceId, Option<LevelLeft>)> = table.levels.iter().filter_map(orphan).collect();
    if let Some(mut streamer) = world.get_resource_mut::<Streamer>() {
        leaving.iter().for_each(|(id, _)| streamer.unload(*id));
    }
    if let Some(mut index) = world.get_resource_mut::<InstanceIndex>() {
        for (id, left) in leaving {
            index.orphan(id, left);
        }
    }
}
