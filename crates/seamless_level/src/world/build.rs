//! How a world comes from its manifest, without a hitch. See [`WorldBuild`].

use core::time::Duration;
use std::vec::IntoIter;

use bevy_asset::{AssetId, AssetPath};
use bevy_ecs::{
    change_detection::DetectChanges, component::Component, entity::Entity, name::Name,
    relationship::RelationshipTarget, world::World,
};
use bevy_log::{debug_span, info};
use bevy_platform::time::Instant;
use bevy_tasks::{AsyncComputeTaskPool, Task, TaskPool, futures::check_ready};
use seamless_asset::{LoadingThreads, Streamer, StreamingClock};

use super::{
    DistanceStreaming, LevelSelection, LevelTable, LevelVolumes, VolumeOf, WorldFailure, reading::ManifestRead,
    volumes::asks,
};
use crate::{
    manifest::{ManifestError, VolumeEntry, WorldManifest},
    requests::LevelRequests,
    select::VolumeKey,
    settings::ARRIVAL_AXES,
    volume::StreamingVolume,
};

/// Levels, volumes and packages together of a world that is built in the frame in which its manifest is there, or where several come in one that has
/// time for it: less than a millisecond, going by what one of 10 000 takes.
const SMALL: usize = 256;
/// How many are copied or spawned between two looks at the clock.
const STRIDE: usize = 32;

/// On a world's entity from when its manifest is there until its levels are.
///
/// ```text
/// manifest ─► copying: in slices ─► building: on a task ─► placing: volumes are spawned, in slices ─► LevelTable
///                                       └─► error: it makes no sense
/// ```
/// The table comes last, and with it all volumes count at once: nobody can take a world that is half there for one in which nothing is near. A
/// manifest that changes meanwhile, or a world that goes, ends it.
#[derive(Component)]
pub(crate) struct WorldBuild {
    pub manifest: AssetId<WorldManifest>,
    stage: Stage,
    /// That of the frame in which it was looked at last.
    until: Deadline,
}

enum Stage {
    Copying(Box<WorldManifest>),
    Building(Task<Outcome>),
    Placing(Box<Built>),
    /// Some step has it in its hands.
    Taken,
}

type Outcome = Result<Box<Built>, ManifestError>;

/// How far a build has come.
pub(crate) enum Step {
    Goes,
    /// It has come that far, and wants [`place`] from this frame on.
    Built,
    /// The manifest makes no sense.
    Fails(ManifestError),
}

/// Everything that a world needs, but for its volumes' entities.
pub(crate) struct Built {
    table: LevelTable,
    selection: LevelSelection,
    volumes: IntoIter<(StreamingVolume, Name, Option<VolumeKey>)>,
    placed: Vec<Placed>,
    is_small: bool,
    is_begun: bool,
}

/// A volume that was spawned and is in the selection.
struct Placed {
    volume: Entity,
    key: VolumeKey,
    /// Whether an observer has changed it right away.
    is_touched: bool,
}

/// Until when a frame may work on worlds: one time for all that come and go in it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// There is time for whatever there is.
    const NEVER: Self = Self(None);

    /// In so much time. What is longer than clocks go is for ever.
    pub fn after(time: Duration) -> Self {
        Self(Instant::now().checked_add(time))
    }

    fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

/// What the builds of a frame may take of it.
pub(crate) struct Slice {
    end: Deadline,
    left: usize,
    /// The world that is made whole whatever time there is, so that all of them come in the end.
    first: Option<Entity>,
}

impl Slice {
    pub fn new(end: Deadline) -> Self {
        Self {
            end,
            left: STRIDE,
            first: None,
        }
    }

    /// Takes one from a list, as long as there is time. In each frame there is for some.
    fn next<T>(&mut self, from: &mut impl Iterator<Item = T>) -> Option<T> {
        if self.left == 0 {
            if self.end.is_over() {
                return None;
            }
            self.left = STRIDE;
        }
        self.left -= 1;
        from.next()
    }

    /// Whether a small world may be made whole now, or waits for the next frame: the first that asks may, the others while there is time.
    fn is_whole(&mut self, world: Entity) -> bool {
        *self.first.get_or_insert(world) == world || !self.end.is_over()
    }
}

impl WorldBuild {
    /// Starts with a manifest that is there.
    pub fn new(id: AssetId<WorldManifest>, manifest: &WorldManifest) -> Self {
        let header = WorldManifest {
            format: manifest.format,
            name: manifest.name.clone(),
            levels: Vec::with_capacity(manifest.levels.len()),
            volumes: Vec::with_capacity(manifest.volumes.len()),
            packages: Vec::with_capacity(manifest.packages.len()),
            startup: manifest.startup.clone(),
            registry: manifest.registry.clone(),
            peak_entities: manifest.peak_entities,
        };
        Self {
            manifest: id,
            stage: Stage::Copying(Box::new(header)),
            until: Deadline::NEVER,
        }
    }

    /// Until when the frame in which it was looked at last may work on worlds.
    pub fn until(&self) -> Deadline {
        self.until
    }

    /// Whether it wants [`place`].
    pub fn is_placing(&self) -> bool {
        matches!(self.stage, Stage::Placing(_))
    }

    /// Goes on for as long as the slice lasts.
    pub fn step(
        &mut self,
        manifest: &WorldManifest,
        path: Option<&AssetPath<'static>>,
        distances: Option<DistanceStreaming>,
        (world, slice, threads): (Entity, &mut Slice, Option<&LoadingThreads>),
    ) -> Step {
        self.until = slice.end;
        let result = match core::mem::replace(&mut self.stage, Stage::Taken) {
            Stage::Copying(mut copy) => match is_copied(&mut copy, manifest, (world, slice)) {
                true => build((self.manifest, *copy, path.cloned()), distances, threads),
                false => Err(Stage::Copying(copy)),
            },
            Stage::Building(mut task) => check_ready(&mut task).ok_or(Stage::Building(task)),
            stage => Err(stage),
        };
        let (stage, step) = match result {
            Ok(Ok(built)) => (Stage::Placing(built), Step::Built),
            Ok(Err(error)) => (Stage::Taken, Step::Fails(error)),
            Err(stage) => (stage, Step::Goes),
        };
        self.stage = stage;
        step
    }
}

/// Builds a world from its manifest: a small one here, another one on a task.
fn build(
    (id, manifest, path): (AssetId<WorldManifest>, WorldManifest, Option<AssetPath<'static>>),
    distances: Option<DistanceStreaming>,
    threads: Option<&LoadingThreads>,
) -> Result<Outcome, Stage> {
    let is_small = is_small(&manifest);
    let build = move || Built::new(id, manifest, path.as_ref(), distances).map(Box::new);
    if is_small {
        return Ok(build());
    }
    let Some(threads) = threads else {
        // An app without a pipeline.
        let pool = AsyncComputeTaskPool::get_or_init(TaskPool::default);
        return Err(Stage::Building(pool.spawn(async move { build() })));
    };
    Err(Stage::Building(threads.spawn(build)))
}

/// Has what a large world has taken freed beside the frames.
#[derive(Debug, Default)]
pub(super) struct Freed(Option<LoadingThreads>);

impl Freed {
    /// Frees `value`, which has so many parts.
    pub fn free<T: Send + 'static>(&self, parts: usize, value: T) {
        if let Some(threads) = self.0.as_ref().filter(|_| parts > SMALL) {
            threads.spawn(move || drop(value)).detach();
        }
    }
}

fn size(manifest: &WorldManifest) -> usize {
    manifest.levels.len() + manifest.volumes.len() + manifest.packages.len()
}

fn is_small(manifest: &WorldManifest) -> bool {
    size(manifest) <= SMALL
}

/// Copies what is missing, as long as there is time; whether that is all. Of a small one that is all or nothing: it is built right after.
fn is_copied(copy: &mut WorldManifest, manifest: &WorldManifest, (world, slice): (Entity, &mut Slice)) -> bool {
    let _span = debug_span!("copy_world", world = %manifest.name).entered();
    let is_small = is_small(manifest);
    if is_small && !slice.is_whole(world) {
        return false;
    }
    let mut all = Slice::new(Deadline::NEVER);
    let slice = if is_small { &mut all } else { slice };
    copy_rest(&mut copy.levels, &manifest.levels, slice);
    copy_rest(&mut copy.volumes, &manifest.volumes, slice);
    copy_rest(&mut copy.packages, &manifest.packages, slice);
    size(copy) == size(manifest)
}

fn copy_rest<T: Clone>(copy: &mut Vec<T>, all: &[T], slice: &mut Slice) {
    let mut rest = all.get(copy.len()..).unwrap_or_default().iter();
    while let Some(item) = slice.next(&mut rest) {
        copy.push(item.clone());
    }
}

impl Built {
    fn new(
        id: AssetId<WorldManifest>,
        mut manifest: WorldManifest,
        path: Option<&AssetPath<'static>>,
        distances: Option<DistanceStreaming>,
    ) -> Result<Self, ManifestError> {
        let _span = debug_span!("build_world", world = %manifest.name).entered();
        manifest.validate()?;
        let is_small = is_small(&manifest);
        let volumes = core::mem::take(&mut manifest.volumes);
        info!(
            "seamless world `{}`: levels {}, volumes {}",
            manifest.name,
            manifest.levels.len(),
            volumes.len()
        );
        let table = LevelTable::new(id, manifest, &volumes, path);
        let mut selection = LevelSelection::new(&table);
        let mut place = |entry: VolumeEntry| {
            let name = Name::new(entry.name.clone());
            let volume = volume_of(entry);
            let key = asks(&volume).then(|| selection.add_volume(&volume, &table));
            (volume, name, key)
        };
        let volumes: Vec<_> = volumes.into_iter().map(&mut place).collect();
        selection.set_distances(&table, distances.filter(DistanceStreaming::is_valid));
        // With other axes all levels lie elsewhere: better here than in a frame.
        selection.count_axes(ARRIVAL_AXES);
        Ok(Self {
            table,
            selection,
            placed: Vec::with_capacity(volumes.len()),
            volumes: volumes.into_iter(),
            is_small,
            is_begun: false,
        })
    }
}

fn volume_of(entry: VolumeEntry) -> StreamingVolume {
    StreamingVolume {
        shape: entry.shape,
        levels: entry.levels,
        mode: entry.mode,
        enabled: entry.enabled,
        unload_margin: Some(entry.unload_margin),
        unload_delay: entry.unload_delay,
        priority: entry.priority,
        world: None,
    }
}

/// Spawns volumes of a world that was built, for as long as the slice lasts; when all are there, the world gets its levels.
pub(crate) fn place(world: &mut World, entity: Entity, slice: &mut Slice) {
    let start = Instant::now();
    let stage = world
        .get_mut::<WorldBuild>(entity)
        .map(|mut build| core::mem::replace(&mut build.stage, Stage::Taken));
    let Some(Stage::Placing(mut built)) = stage else {
        return;
    };
    let _span = debug_span!("place_volumes", world = built.table.name()).entered();
    if !built.is_begun {
        // Left over of what it was before.
        built.is_begun = sweep_volumes(world, entity, slice);
    }
    if !built.is_begun || (built.is_small && !slice.is_whole(entity)) {
        return put_back(world, entity, built);
    }
    let mut all = Slice::new(Deadline::NEVER);
    let slice = if built.is_small { &mut all } else { slice };
    while let Some((volume, name, key)) = slice.next(&mut built.volumes) {
        let Some((volume, is_touched)) = spawn(world, entity, volume, name) else {
            return;
        };
        let placed = key.map(|key| Placed {
            volume,
            key,
            is_touched,
        });
        built.placed.extend(placed);
    }
    // Who changes one from now on does so later than it was spawned.
    world.increment_change_tick();
    if built.volumes.len() == 0 {
        install(world, entity, *built);
    } else {
        put_back(world, entity, built);
    }
    if let Some(clock) = world.get_resource::<StreamingClock>() {
        clock.add("volumes of a world that comes", start.elapsed());
    }
}

/// It goes on in the next frame.
fn put_back(world: &mut World, entity: Entity, built: Box<Built>) {
    if let Some(mut build) = world.get_mut::<WorldBuild>(entity) {
        build.stage = Stage::Placing(built);
    }
}

/// Despawns the volumes that a manifest brought, for as long as the slice lasts: a few of them whole, where there is time. Whether none is left.
pub(super) fn sweep_volumes(world: &mut World, entity: Entity, slice: &mut Slice) -> bool {
    let start = Instant::now();
    let Some(volumes) = world.get::<LevelVolumes>(entity) else {
        return true;
    };
    let _span = debug_span!("sweep_volumes", volumes = volumes.len()).entered();
    // From the back: each takes itself off the list, and whoever is not at its end moves all that are behind it.
    let volumes: Vec<Entity> = volumes.iter().rev().collect();
    let mut all = Slice::new(Deadline::NEVER);
    let is_whole = volumes.len() <= SMALL && slice.is_whole(entity);
    let slice = if is_whole { &mut all } else { slice };
    let mut left = volumes.into_iter();
    while let Some(volume) = slice.next(&mut left) {
        // An observer of another may have done it.
        world.try_despawn(volume).ok();
    }
    if let Some(clock) = world.get_resource::<StreamingClock>() {
        clock.add("volumes of a world that goes", start.elapsed());
    }
    left.len() == 0
}

/// Spawns a volume; gives it, and whether an observer has changed it right away. None if its world is gone: an observer may have despawned that.
fn spawn(world: &mut World, entity: Entity, volume: StreamingVolume, name: Name) -> Option<(Entity, bool)> {
    let before = world.change_tick();
    let volume = StreamingVolume {
        world: Some(entity),
        ..volume
    };
    let volume = world.spawn((name, VolumeOf(entity), volume)).id();
    // Observers run in the tick in which they find it.
    let is_touched = world.change_tick() != before;
    if world.get_entity(entity).is_err() {
        // It came too late to go with its world.
        world.try_despawn(volume).ok();
        return None;
    }
    Some((volume, is_touched))
}

/// Gives a world its levels. Volumes that are not as the manifest has them any more are left to who looks at those that change.
fn install(world: &mut World, entity: Entity, built: Built) {
    let Built {
        mut table,
        mut selection,
        placed,
        ..
    } = built;
    for Placed {
        volume,
        key,
        is_touched,
    } in placed
    {
        let found = world.get_entity(volume).ok();
        let found = found.and_then(|volume| volume.get_ref::<StreamingVolume>());
        if !is_touched && found.is_some_and(|volume| volume.last_changed() == volume.added()) {
            selection.volumes.insert(volume, key);
        } else {
            selection.selector.remove_volume(key);
        }
    }
    let threads = world.get_resource::<Streamer>().and_then(Streamer::loading_threads);
    table.freed = Freed(threads.cloned());
    selection.freed = Freed(threads.cloned());
    if let Some(requests) = world.get_resource::<LevelRequests>() {
        selection.look_for_all(entity, &table, requests);
    }
    if let Ok(mut entity) = world.get_entity_mut(entity) {
        entity.remove::<(WorldBuild, ManifestRead, WorldFailure)>();
    }
    // Whoever observes that may have despawned it.
    if let Ok(mut entity) = world.get_entity_mut(entity) {
        entity.insert((table, selection));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORLDS: [Entity; 2] = [Entity::PLACEHOLDER, Entity::from_raw_u32(7).unwrap()];

    /// How many of a thousand there is time for, and which of two small worlds.
    fn fits(time: Duration) -> (usize, [bool; 2]) {
        let mut slice = Slice::new(Deadline::after(time));
        let mut from = 0..1_000;
        let taken = core::iter::from_fn(|| slice.next(&mut from)).count();
        (taken, WORLDS.map(|world| slice.is_whole(world)))
    }

    #[test]
    fn the_longest_time_has_no_end_and_none_is_enough_for_some() {
        for time in [Duration::MAX, Duration::MAX / 2, Duration::from_secs(3_600)] {
            assert_eq!(fits(time), (1_000, [true; 2]), "{time:?}");
        }
        assert_eq!(fits(Duration::ZERO), (STRIDE, [true, false]));
    }

    #[test]
    fn the_first_world_stays_the_first() {
        let mut slice = Slice::new(Deadline::after(Duration::ZERO));
        let [first, other] = WORLDS;
        let whole = [first, other, first].map(|world| slice.is_whole(world));
        assert_eq!(whole, [true, false, true]);
    }
}
