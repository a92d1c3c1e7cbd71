//! Keeps each world's resolved volumes up to date: [`volume_sync`].
//!
//! Names are looked up when a volume changes, a world comes, or a level is added or removed that a volume names; not each frame. What each frame
//! looks at of every volume is whether it has changed, many at once ([`scan`]).

use std::collections::HashMap;

use bevy_ecs::{
    change_detection::{DetectChanges, Ref},
    entity::{Entity, EntityHashMap, EntityHashSet},
    hierarchy::ChildOf,
    lifecycle::RemovedComponents,
    name::Name,
    query::{Added, With},
    system::{Local, ParamBuilder, Query, Res, System, SystemChangeTick, SystemParam, SystemParamBuilder},
    world::World,
};
use bevy_log::{error, warn};
use bevy_transform::{components::GlobalTransform, helper::TransformHelper};
use seamless_asset::{
    InHiddenLevel, LevelInstance, OfLevel, StreamingClock,
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
/// For so many seconds at least, which is for a frame, a volume that goes with its entity lets nobody go: a source that is on board is where it will be at the end
/// of the frame, while the volume of a ship that has only now begun to move is where it was.
const CATCH_UP: f32 = 1e-3;

/// The worlds that volumes asked last.
type Homes = EntityHashMap<Entity>;

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

/// Where volumes are that go with their entities, and with which levels.
#[derive(SystemParam)]
pub(crate) struct Places<'w, 's> {
    levels: Query<'w, 's, &'static LevelInstance, EvenHidden>,
    guests: Query<'w, 's, &'static OfLevel, EvenHidden>,
    parents: Query<'w, 's, &'static ChildOf, EvenHidden>,
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

    /// The root of the level that a volume's entity hangs below or goes with, and the level's name.
    fn level_of(&self, volume: Entity) -> Option<(Entity, &str)> {
        let above = self.parents.iter_ancestors(volume);
        core::iter::once(volume).chain(above).find_map(|at| {
            let root = self.guests.get(at).map_or(at, |of| of.0);
            let level = self.levels.get(root).ok()?;
            Some((root, level.name.as_str()))
        })
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
    (mut told, mut homes): (Local<ToldFaults>, Local<Homes>),
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("volumes that were changed");
    for entity in removed.read() {
        told.set(entity, Vec::new());
        seen.remove(&entity);
        homes.remove(&entity);
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
                told.tell(&volume, place(&mut worlds, &volume, &places, &mut homes));
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
            told.tell(&volume, place(&mut worlds, &volume, &places, &mut homes));
        }
    }
    for volume in renamed.into_iter().filter_map(|entity| volumes.get(entity).ok()) {
        // Whoever adds and removes levels need not hear of it.
        told.set(volume.0, place(&mut worlds, &volume, &places, &mut homes));
    }
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
    fn set<'a>(&mut self, volume: Entity, names: impl Iterator<Item = &'a String> + Clone) {
        // One that goes around names the same in each frame.
        let before = self.names.get(&volume).map_or(&[][..], Vec::as_slice);
        if before.iter().eq(names.clone()) {
            return;
        }
        let names: Vec<String> = names.cloned().collect();
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
    selection.naming.set(entity, core::iter::empty());
    take_out(selection, entity);
}

fn take_out(selection: &mut LevelSelection, entity: Entity) {
    if let Some(key) = selection.volumes.remove(&entity) {
        selection.selector.remove_volume(key);
    }
}

/// Which world a volume asks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Meant {
    World(Entity),
    /// It asks this one, but only because it did so before.
    AsBefore(Entity),
    /// Several may be meant, or none.
    Unclear,
    /// There is no world.
    Nobody,
}

impl Meant {
    /// One that does not say so asks that of the level which brought it, or else the only one that has all its levels.
    fn new(worlds: &Worlds, (entity, volume, _): &Volume, places: &Places, homes: &Homes) -> Self {
        if let Some(world) = volume.world {
            return Self::World(world);
        }
        let mut all = worlds.iter();
        match (all.next(), all.next()) {
            (None, _) => return Self::Nobody,
            (Some((only, ..)), None) => return Self::World(only),
            _ => {}
        }
        if let Some((root, name)) = places.level_of(*entity) {
            let is_there = |table: &LevelTable| table.get(name).is_some_and(|level| level.root == Some(root));
            if let Some((world, ..)) = worlds.iter().find(|(_, table, _)| is_there(table)) {
                return Self::World(world);
            }
        }
        let names = || volume.levels.iter();
        let mut fit = worlds
            .iter()
            .filter(|(_, table, _)| names().all(|name| table.place_of(name).is_some()));
        if let (Some((world, ..)), None) = (fit.next(), fit.next()) {
            return Self::World(world);
        }
        let has_any = |table: &LevelTable| names().any(|name| table.place_of(name).is_some());
        // Those of manifests have not been placed here.
        let of_manifest = || {
            let mut known = worlds.iter().map(|(world, ..)| world);
            known.find(|world| is_known(worlds, *world, *entity))
        };
        let home = homes.get(entity).copied().or_else(of_manifest);
        let home = home.filter(|home| worlds.get(*home).is_ok_and(|(_, table, _)| has_any(table)));
        home.map_or(Self::Unclear, Self::AsBefore)
    }

    fn world(self) -> Option<Entity> {
        match self {
            Self::World(world) | Self::AsBefore(world) => Some(world),
            Self::Unclear | Self::Nobody => None,
        }
    }

    /// Without a world nothing is wrong: the world's manifest may be on its way.
    fn fault(self) -> Option<VolumeFault> {
        matches!(self, Self::AsBefore(_) | Self::Unclear).then_some(VolumeFault::AmbiguousWorld)
    }
}

/// Tells the volume's world of it as it is now, and takes it out of all others. Gives what is wrong with it.
fn place(worlds: &mut Worlds, volume: &Volume, places: &Places, homes: &mut Homes) -> Vec<VolumeFault> {
    let entity = volume.0;
    let meant = Meant::new(worlds, volume, places, homes);
    let volume = &*volume.1;
    let is_any_there = !worlds.is_empty();
    let at = places.of(entity);
    let placed = volume.placed(at.as_ref());
    let fault = placed.as_ref().err().cloned().or_else(|| meant.fault());
    let mut faults: Vec<_> = fault.into_iter().filter(|_| is_any_there).collect();
    let mut placed = placed.ok().filter(|_| volume.enabled);
    if placed.is_some() && is_any_there && meant.world().is_some() && volume.levels.is_empty() {
        faults.push(VolumeFault::NoLevels);
    }
    let can_ask = placed.is_some();
    for (world, table, mut selection) in worlds {
        let selection = &mut *selection;
        // Which world is meant, if it does not say so, may be another one when levels are added and removed, wherever that is.
        let is_heard = can_ask && volume.world.is_none_or(|named| named == world);
        let names = volume.levels.iter();
        let foreign = names.filter(|name| is_heard && table.listed(name).is_none());
        selection.naming.set(entity, foreign);
        let Some(placed) = placed.take_if(|_| meant.world() == Some(world)) else {
            take_out(selection, entity);
            continue;
        };
        homes.insert(entity, world);
        let mut input = resolve(volume, placed, table, &mut faults);
        if at.is_some() {
            input.unload_delay = input.unload_delay.max(CATCH_UP);
        }
        match selection.volumes.get(&entity) {
            Some(key) => selection.selector.set_volume(*key, input),
            None => {
                let key = selection.selector.add_volume(input);
                selection.volumes.insert(entity, key);
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
