//! Keeps each world's resolved volumes up to date: [`sync_volumes`].
//!
//! Names are looked up when a volume changes or a world comes, not each frame.

use bevy_ecs::{
    entity::{Entity, EntityHashMap},
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

/// The volumes of one world, resolved, in a row for the selection.
#[derive(Default)]
pub(crate) struct VolumeSet {
    inputs: Vec<VolumeInput>,
    entities: Vec<Entity>,
    places: EntityHashMap<usize>,
}

impl VolumeSet {
    pub fn inputs(&self) -> &[VolumeInput] {
        &self.inputs
    }

    fn clear(&mut self) {
        self.inputs.clear();
        self.entities.clear();
        self.places.clear();
    }

    fn set(&mut self, entity: Entity, input: VolumeInput) {
        let slot = self.places.get(&entity).and_then(|place| self.inputs.get_mut(*place));
        if let Some(slot) = slot {
            *slot = input;
            return;
        }
        self.places.insert(entity, self.inputs.len());
        self.entities.push(entity);
        self.inputs.push(input);
    }

    fn remove(&mut self, entity: Entity) {
        let Some(place) = self.places.remove(&entity) else {
            return;
        };
        self.inputs.swap_remove(place);
        self.entities.swap_remove(place);
        if let Some(moved) = self.entities.get(place) {
            self.places.insert(*moved, place);
        }
    }
}

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
    if gone_worlds.read().count() > 0 || !new_worlds.is_empty() {
        removed.clear();
        worlds
            .iter_mut()
            .for_each(|(_, _, mut selection)| selection.volumes.clear());
        volumes.iter().for_each(|volume| place(&mut worlds, volume));
        return;
    }
    for entity in removed.read() {
        forget(&mut worlds, entity);
    }
    for volume in &changed {
        place(&mut worlds, volume);
    }
}

fn forget(worlds: &mut Query<(Entity, &LevelTable, &mut LevelSelection)>, entity: Entity) {
    for (_, _, mut selection) in worlds {
        selection.volumes.remove(entity);
    }
}

/// Puts a volume into its world's row, and takes it out of all others.
fn place(worlds: &mut Query<(Entity, &LevelTable, &mut LevelSelection)>, (entity, volume, name): Volume) {
    let count = worlds.iter().len();
    let named = || name.map_or_else(|| entity.to_string(), ToString::to_string);
    let mut usable = volume.shape.validate(volume.unload_margin);
    if usable.is_ok() && volume.world.is_none() && count > 1 {
        usable = Err(VolumeFault::AmbiguousWorld);
    }
    // Without a world nobody is told: the world's manifest may be on its way.
    if let (Err(fault), true) = (&usable, count > 0) {
        refuse(named(), fault.clone());
    }
    for (world, table, mut selection) in worlds {
        if usable.is_ok() && volume.world.is_none_or(|meant| meant == world) {
            let input = resolve(volume, table, &|fault| refuse(named(), fault));
            selection.volumes.set(entity, input);
        } else {
            selection.volumes.remove(entity);
        }
    }
}

fn resolve(volume: &StreamingVolume, table: &LevelTable, refuse: &dyn Fn(VolumeFault)) -> VolumeInput {
    let index = |name: &String| {
        let index = table.index_of(name).and_then(|index| u32::try_from(index).ok());
        if index.is_none() {
            refuse(VolumeFault::UnknownLevel(name.clone()));
        }
        index
    };
    VolumeInput {
        shape: volume.shape.clone(),
        unload_margin: volume.unload_margin,
        levels: volume.levels.iter().filter_map(index).collect(),
    }
}

fn refuse(volume: String, fault: VolumeFault) {
    error!("{}", VolumeError { volume, fault });
}
