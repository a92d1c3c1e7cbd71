//! Keeps each world's resolved volumes up to date: [`sync_volumes`].
//!
//! Names are looked up when a volume changes, a world comes, or a level is added or removed that a volume names; not each frame.

use std::collections::HashMap;

use bevy_ecs::{
    entity::{Entity, EntityHashMap, EntityHashSet},
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
        volumes.iter().for_each(|volume| place(&mut worlds, volume, true));
        return;
    }
    let mut renamed = EntityHashSet::default();
    for (.., selection) in &worlds {
        renamed.extend(selection.renamed.iter().flat_map(|(_, name)| selection.naming.of(name)));
    }
    for volume in &changed {
        renamed.remove(&volume.0);
        place(&mut worlds, volume, true);
    }
    // What is wrong with these was told before.
    let renamed = renamed.into_iter().filter_map(|entity| volumes.get(entity).ok());
    renamed.for_each(|volume| place(&mut worlds, volume, false));
}

/// The volumes of a world that name levels which its manifest has not: they are looked at again when such a level is added or removed.
#[derive(Debug, Default)]
pub(super) struct NamingVolumes {
    by_name: HashMap<String, EntityHashSet>,
    names: EntityHashMap<Vec<String>>,
}

impl NamingVolumes {
    /// The volumes that name a level.
    fn of(&self, name: &str) -> impl Iterator<Item = Entity> {
        self.by_name.get(name).into_iter().flatten().copied()
    }

    /// A volume names these now.
    fn set(&mut self, volume: Entity, names: Vec<String>) {
        for name in self.names.remove(&volume).unwrap_or_default() {
            if let Some(volumes) = self.by_name.get_mut(&name) {
                volumes.remove(&volume);
                if volumes.is_empty() {
                    self.by_name.remove(&name);
                }
            }
        }
        for name in &names {
            self.by_name.entry(name.clone()).or_default().insert(volume);
        }
        if !names.is_empty() {
            self.names.insert(volume, names);
        }
    }
}

fn forget(selection: &mut LevelSelection, entity: Entity) {
    selection.naming.set(entity, Vec::new());
    if let Some(key) = selection.volumes.remove(&entity) {
        selection.selector.remove_volume(key);
    }
}

/// Tells the volume's world of it as it is now, and takes it out of all others.
fn place(
    worlds: &mut Query<(Entity, &LevelTable, &mut LevelSelection)>,
    (entity, volume, name): Volume,
    is_told: bool,
) {
    let count = worlds.iter().len();
    let refuse = |fault| {
        if is_told {
            refuse(name.map_or_else(|| entity.to_string(), ToString::to_string), fault);
        }
    };
    let is_ambiguous = volume.world.is_none() && count > 1;
    let fault = volume
        .fault()
        .or_else(|| is_ambiguous.then_some(VolumeFault::AmbiguousWorld));
    let asks = fault.is_none() && volume.enabled;
    // Without a world nobody is told: the world's manifest may be on its way.
    if let Some(fault) = fault.filter(|_| count > 0) {
        refuse(fault);
    }
    for (world, table, mut selection) in worlds {
        let selection = &mut *selection;
        if !asks || volume.world.is_some_and(|meant| meant != world) {
            forget(selection, entity);
            continue;
        }
        let foreign = volume.levels.iter().filter(|name| table.listed(name).is_none());
        selection.naming.set(entity, foreign.cloned().collect());
        let input = resolve(volume, table, &refuse);
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
        unload_margin: volume.margin(),
        unload_delay: volume.unload_delay,
        mode: volume.mode,
        priority: volume.priority,
        levels: volume.levels.iter().filter_map(index).collect(),
    }
}

fn refuse(volume: String, fault: VolumeFault) {
    error!("{}", VolumeError { volume, fault });
}
