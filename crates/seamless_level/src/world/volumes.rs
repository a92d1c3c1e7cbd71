//! Keeps each world's resolved volumes up to date: [`volume_sync`].
//!
//! Names are looked up when a volume changes, a world comes, or a level is added or removed that a volume names; not each frame. What each frame
//! looks at of every volume is whether it has changed, many at once ([`scan`]).

use std::collections::HashMap;

use bevy_ecs::{
    change_detection::{DetectChanges, Ref},
    entity::{Entity, EntityHashMap, EntityHashSet},
    lifecycle::RemovedComponents,
    name::Name,
    query::{Added, With},
    system::{Local, ParamBuilder, Query, Res, System, SystemChangeTick, SystemParam, SystemParamBuilder},
    world::World,
};
use bevy_log::{error, warn};
use bevy_transform::{components::GlobalTransform, helper::TransformHelper};
use seamless_asset::{
    InHiddenLevel, StreamingClock,
    scan::{self, Scan},
};

use super::{EvenHidden, LevelSelection, LevelTable};
use crate::{
    arrival::Arrivals,
    select::{VolumeInput, VolumeKey},
    volume::{StreamingVolume, VolumeError, VolumeFault, VolumeShape},
};

type Worlds<'w, 's> = Query<'w, 's, (Entity, &'static LevelTable, &'static mut LevelSelection), EvenHidden>;
type Volume<'a> = (Entity, Ref<'a, StreamingVolume>, Option<&'a Name>);

/// Volumes that were changed or moved, or are new.
#[derive(SystemParam)]
#[system_param(builder)]
pub(crate) struct ChangedVolumes<'w, 's> {
    all: Scan<'w, 's, StreamingVolume>,
    moved: Scan<'w, 's, GlobalTransform, With<StreamingVolume>>,
    found: Local<'s, Vec<Entity>>,
    ticks: SystemChangeTick,
}

impl ChangedVolumes<'_, '_> {
    fn find(&mut self) {
        let (since, found) = (self.ticks.last_run(), &mut *self.found);
        found.clear();
        scan::changed(&self.all, since, |entity, _| found.push(entity));
        let others = found.len();
        scan::changed(&self.moved, since, |entity, _| found.push(entity));
        if found.len() > others {
            found.sort_unstable();
            found.dedup();
        }
    }
}

/// Where volumes are that go with their entities.
#[derive(SystemParam)]
pub(crate) struct Places<'w, 's> {
    propagated: Query<'w, 's, Ref<'static, GlobalTransform>, EvenHidden>,
    places: TransformHelper<'w, 's>,
    arrivals: Res<'w, Arrivals>,
}

impl Places<'_, '_> {
    /// Where a volume's entity will be at the end of the frame, as for sources; none if its volume is in world space.
    fn of(&self, volume: Entity) -> Option<GlobalTransform> {
        let propagated = self.propagated.get(volume).ok()?;
        let place = self.places.compute_global_transform(volume).ok();
        // Of a hidden level, or written by somebody else.
        Some(place.filter(|_| self.arrivals.are_places_known).unwrap_or(*propagated))
    }

    fn has_moved(&self, volume: Entity) -> bool {
        let propagated = self.propagated.get(volume);
        propagated.is_ok_and(|place| place.is_changed())
    }
}

/// A system that resolves volumes that changed; when a world came or went, those that name it or none.
pub(crate) fn volume_sync(world: &mut World) -> impl System<In = (), Out = ()> + use<> {
    let any = || ParamBuilder;
    let changed = ChangedVolumesBuilder {
        all: scan::scan(world),
        moved: scan::scan(world),
        found: any(),
        ticks: any(),
    };
    (any(), any(), any(), any(), changed, any(), any(), any(), any(), any())
        .build_state(world)
        .build_system(sync_volumes)
}

fn sync_volumes(
    mut worlds: Worlds,
    new_worlds: Query<Entity, (Added<LevelTable>, EvenHidden)>,
    mut gone_worlds: RemovedComponents<LevelSelection>,
    volumes: Query<(Entity, Ref<StreamingVolume>, Option<&Name>), EvenHidden>,
    mut changed: ChangedVolumes,
    places: Places,
    mut removed: RemovedComponents<StreamingVolume>,
    (hidden, mut seen): (Query<(), (With<InHiddenLevel>, EvenHidden)>, Local<EntityHashSet>),
    mut told: Local<ToldFaults>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("volumes that were changed");
    for entity in removed.read() {
        told.set(entity, Vec::new());
        seen.remove(&entity);
        worlds
            .iter_mut()
            .for_each(|(_, _, mut selection)| forget(&mut selection, entity));
    }
    // What nobody has seen yet counts from then on, and is new then.
    let counts = |seen: &EntityHashSet, volume| seen.contains(&volume) || !hidden.contains(volume);
    let new: EntityHashSet = new_worlds.iter().collect();
    if gone_worlds.read().count() > 0 || !new.is_empty() {
        for volume in &volumes {
            if may_move(&worlds, &new, &volume) && counts(&seen, volume.0) {
                seen.insert(volume.0);
                told.tell(&volume, place(&mut worlds, &volume, &places));
            }
        }
    }
    let mut renamed = EntityHashSet::default();
    for (.., selection) in &worlds {
        renamed.extend(selection.renamed.iter().flat_map(|(_, name)| selection.naming.of(name)));
    }
    changed.find();
    let changed = changed.found.iter().filter(|volume| counts(&seen, **volume));
    for volume in volumes.iter_many(changed.copied().collect::<Vec<_>>()) {
        renamed.remove(&volume.0);
        if places.has_moved(volume.0) || !is_settled(&worlds, &volume) {
            seen.insert(volume.0);
            told.tell(&volume, place(&mut worlds, &volume, &places));
        }
    }
    let renamed = renamed.into_iter().filter_map(|entity| volumes.get(entity).ok());
    // Whoever adds and removes levels need not hear of it.
    renamed.for_each(|volume| drop(told.set(volume.0, place(&mut worlds, &volume, &places))));
}

/// Whether a volume may ask for levels of another world, now that some worlds have come or gone. Those that have come know the volumes of their manifests,
/// and of one that has gone nobody knows any.
fn may_move(worlds: &Worlds, new: &EntityHashSet, (entity, volume, _): &Volume) -> bool {
    volume
        .world
        .is_none_or(|world| new.contains(&world) && !is_known(worlds, world, *entity))
}

fn is_known(worlds: &Worlds, world: Entity, volume: Entity) -> bool {
    let world = worlds.get(world);
    world.is_ok_and(|(.., selection)| selection.volumes.contains_key(&volume))
}

/// Whether a volume is as it was spawned, and its world has it so, or is not there yet: those of its manifest.
fn is_settled(worlds: &Worlds, (entity, volume, _): &Volume) -> bool {
    let is_settled = |world| is_known(worlds, world, *entity) || !worlds.contains(world);
    volume.last_changed() == volume.added() && volume.world.is_some_and(is_settled)
}

/// Whether a volume is enabled, and nothing is wrong with it.
pub(super) fn asks(volume: &StreamingVolume) -> bool {
    volume.enabled && volume.fault().is_none()
}

impl LevelSelection {
    /// Adds a volume whose levels are all there.
    pub(super) fn add_volume(&mut self, volume: &StreamingVolume, table: &LevelTable) -> VolumeKey {
        let place = (volume.shape.clone(), volume.margin());
        self.selector.add_volume(resolve(volume, place, table, &mut Vec::new()))
    }
}

/// What is wrong with volumes, so that it is told once, however often they change.
#[derive(Debug, Default)]
pub(crate) struct ToldFaults(EntityHashMap<Vec<VolumeFault>>);

impl ToldFaults {
    /// This is wrong with a volume now. Gives what was not before.
    fn set(&mut self, volume: Entity, faults: Vec<VolumeFault>) -> Vec<VolumeFault> {
        if self.0.is_empty() && faults.is_empty() {
            return faults;
        }
        let before = self.0.remove(&volume).unwrap_or_default();
        let new = faults.iter().filter(|fault| !before.contains(fault)).cloned().collect();
        if !faults.is_empty() {
            self.0.insert(volume, faults);
        }
        new
    }

    fn tell(&mut self, (entity, _, name): &Volume, faults: Vec<VolumeFault>) {
        for fault in self.set(*entity, faults) {
            let volume = name.map_or_else(|| entity.to_string(), ToString::to_string);
            let is_empty = fault == VolumeFault::NoLevels;
            let error = VolumeError { volume, fault };
            // It may get some.
            match is_empty {
                true => warn!("{error}"),
                false => error!("{error}"),
            }
        }
    }
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
        if self.names.is_empty() && names.is_empty() {
            return;
        }
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

/// Tells the volume's world of it as it is now, and takes it out of all others. Gives what is wrong with it.
fn place(worlds: &mut Worlds, (entity, volume, _): &Volume, places: &Places) -> Vec<VolumeFault> {
    let count = worlds.iter().count();
    let is_ambiguous = volume.world.is_none() && count > 1;
    let mut placed = volume.placed(places.of(*entity).as_ref());
    if is_ambiguous {
        placed = placed.and(Err(VolumeFault::AmbiguousWorld));
    }
    // Without a world nothing is wrong: the world's manifest may be on its way.
    let fault = placed.as_ref().err().filter(|_| count > 0);
    let mut faults: Vec<_> = fault.cloned().into_iter().collect();
    let placed = placed.ok().filter(|_| volume.enabled);
    if placed.is_some() && count > 0 && volume.levels.is_empty() {
        faults.push(VolumeFault::NoLevels);
    }
    for (world, table, mut selection) in worlds {
        let selection = &mut *selection;
        let is_meant = volume.world.is_none_or(|meant| meant == world);
        let Some(placed) = placed.clone().filter(|_| is_meant) else {
            forget(selection, *entity);
            continue;
        };
        let foreign = volume.levels.iter().filter(|name| table.listed(name).is_none());
        selection.naming.set(*entity, foreign.cloned().collect());
        let input = resolve(volume, placed, table, &mut faults);
        match selection.volumes.get(entity) {
            Some(key) => selection.selector.set_volume(*key, input),
            None => {
                let key = selection.selector.add_volume(input);
                selection.volumes.insert(*entity, key);
            }
        }
    }
    faults
}

fn resolve(
    volume: &StreamingVolume,
    (shape, unload_margin): (VolumeShape, f32),
    table: &LevelTable,
    faults: &mut Vec<VolumeFault>,
) -> VolumeInput {
    let index = |name: &String| {
        let index = table.place_of(name);
        if index.is_none() {
            faults.push(VolumeFault::UnknownLevel(name.clone()));
        }
        index
    };
    VolumeInput {
        shape,
        range: 0.0,
        unload_margin,
        unload_delay: volume.unload_delay,
        mode: volume.mode,
        priority: volume.priority,
        levels: volume.levels.iter().filter_map(index).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_once() {
        let mut told = ToldFaults::default();
        let unknown = |name: &str| VolumeFault::UnknownLevel(name.into());
        let (one, other) = (Entity::from_raw_u32(1).unwrap(), Entity::from_raw_u32(2).unwrap());
        assert_eq!(told.set(one, vec![unknown("a")]), [unknown("a")]);
        for _ in 0..10 {
            assert_eq!(told.set(one, vec![unknown("a")]), []);
        }
        assert_eq!(
            told.set(one, vec![unknown("a"), VolumeFault::Delay]),
            [VolumeFault::Delay]
        );
        assert_eq!(told.set(other, vec![unknown("a")]), [unknown("a")]);
        // Mended, and broken again.
        assert_eq!(told.set(one, vec![]), []);
        assert_eq!(told.set(one, vec![VolumeFault::Delay]), [VolumeFault::Delay]);
        assert_eq!(told.0.len(), 2);
    }
}
