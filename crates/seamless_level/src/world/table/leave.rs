//! How a table goes, and its levels with it.

use bevy_ecs::{lifecycle::HookContext, world::DeferredWorld};
use seamless_asset::{InstanceId, Streamer};

use super::{Level, LevelTable};
use crate::world::InstanceIndex;

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
    let named = |level: &Level| Some((level.instance?, level.entry.name.clone()));
    let leaving: Vec<(InstanceId, String)> = table.levels.iter().filter_map(named).collect();
    if let Some(mut streamer) = world.get_resource_mut::<Streamer>() {
        leaving.iter().for_each(|(id, _)| streamer.unload(*id));
    }
    if let Some(mut index) = world.get_resource_mut::<InstanceIndex>() {
        for (id, name) in leaving {
            index.orphan(id, context.entity, name);
        }
    }
}
