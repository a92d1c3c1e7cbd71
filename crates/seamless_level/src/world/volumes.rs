//! Keeps each world's resolved volumes up to date: [`sync_volumes`].
//!
//! Names are looked up when a volume changes or a world comes, not each frame.

use bevy_ecs::{
    entity::Entity,
    lifecycle::RemovedComponents,
    name::Name,
    query::{Added, Changed},
    system::{Query, Res},
};
use bevy_log::error;
use seamless_asset::StreamingClock;

use super::{LevelSelection, LevelTable};
use crate::{
    select::VolumeInput,
    volume::{StreamingVolume, VolumeError, VolumeFault},
};

type Volume<'a> = (Entity, &'a StreamingVolume, Option<&'a Name>);

/// Resolves volumes that changed; all of them when a world came or went.
pub(crate) fn sync_volumes(
    mut worlds: Query<(Entity, &LevelTable, &mut LevelSelection)>,
    new_worlds: Query<(), Added<LevelTable>>,
    mut gone_worlds: RemovedComponents<LevelSelection>,
    volumes: Query<(Entity, &StreamingVolume, Option<&Name>)>,
    changed: Query<(Entity, &StreamingVolume, Option<&Name>), Changed<StreamingVolume>>,
    mut removed: RemovedComponents<StreamingVolume>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure();
    for entity in removed.read() {
        worlds
            .iter_mut()
            .for_each(|(_, _, mut selection)| forget(&mut selection, entity));
    }
    if gone_worlds.read().count() > 0 || !new_worlds.is_empty() {
        volumes.iter().for_each(|volume| place(&mut worlds, volume));
        return;
    }
    for volume in &changed {
        place(&mut worlds, volume);
    }
}

fn forget(selection: &mut LevelSelection, entity: Entity) {
    if let Some(key) = selection.volumes.remove(&entity) {
        selection.selector.remove_volume(key);
    }
}

/// Tells the volume's world of it as it is now, and takes it out of all others.
fn place(worlds: &mut Query<(Entity, &LevelTable, &mut LevelSelection)>, (entity, volume, name): Volume) {
    let count = worlds.iter().len();
    let named = || name.map_or_else(|| entity.to_string(), ToString::to_string);
    let is_ambiguous = volume.world.is_none() && count > 1;
    let fault = volume
        .fault()
        .or_else(|| is_ambiguous.then_some(VolumeFault::AmbiguousWorld));
    let asks = fault.is_none() && volume.enabled;
    // Without a world nobody is told: the world's manifest may be on its way.
    if let Some(fault) = fault.filter(|_| count > 0) {
        refuse(named(), fault);
    }
    for (world, table, mut selection) in worlds {
        let selection = &mut *selection;
        if !asks || volume.world.is_some_and(|meant| meant != world) {
            forget(selection, entity);
            continue;
        }
        let input = resolve(volume, table, &|fault| refuse(named(), fault));
        match selection.volumes.get(&entity) {
            Some(key) => selection.selector.set_volume(*key, input),
            None => {
                let key = selection.selector.add_volume(input);
                selection.volumes.insert(entity, key);
            }
        }
    }
}

fn resolve(volume: &StreamingVolume, table: &LevelTable, refuse: &dyn Fn(VolumeFault)) -> VolumeInput {
    let index = |name: &String| {
        let index = table.place_of(name);
        if index.is_none() {
            refuse(VolumeFault::UnknownLevel(name.clone()));
        }
        index
    };
    VolumeInput {
        shape: volume.shape.clone(),
        range: 0.0,
        unload_margin: volume.unload_margin,
        unload_delay: volume.unload_delay,
        mode: volume.mode,
        priority: volume.priority,
        levels: volume.levels.iter().filter_map(index).collect(),
    }
}

fn refuse(volume: String, fault: VolumeFault) {
    error!("{}", VolumeError { volume, fault });
}
