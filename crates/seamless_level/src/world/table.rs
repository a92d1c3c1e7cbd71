//! The levels of one world, as game code sees them. See [`LevelTable`].

mod added;
mod leave;
mod place;
mod waits;

pub use waits::LevelWaits;

use core::{cell::RefCell, time::Duration};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use bevy_asset::{AssetId, AssetPath};
use bevy_ecs::{component::Component, entity::Entity};
use bevy_reflect::Reflect;
use seamless_asset::{InstanceData, InstanceId, InstancePath, InstanceRequest, LoadError};

use super::{
    LevelState,
    build::Freed,
    manifest::beside,
    slots::{Slots, StateCounts},
};
use crate::{
    manifest::{LevelEntry, PackageEntry, VolumeEntry, WorldManifest},
    requests::NamedRequest,
    target::LevelTarget,
    volume::VolumeMode,
};

/// One level of a [`LevelTable`].
#[derive(Reflect, Clone, Debug)]
#[reflect(Clone, Debug)]
pub struct Level {
    pub(super) entry: LevelEntry,
    #[reflect(ignore)]
    pub(super) path: InstancePath,
    #[reflect(ignore)]
    pub(super) package: AssetPath<'static>,
    #[reflect(ignore)]
    pub(super) dependencies: Vec<AssetPath<'static>>,
    state: LevelState,
    pub(super) target: LevelTarget,
    /// A volume of the manifest loads it.
    pub(super) has_volume: bool,
    pub(super) instance: Option<InstanceId>,
    pub(super) root: Option<Entity>,
    /// It is in the world, and hidden.
    pub(super) is_out_of_sight: bool,
    /// All of it has been loaded, as far as that was told.
    pub(super) is_loaded: bool,
    pub(super) entities: u32,
    pub(super) revealed: u32,
    pub(super) left: u32,
    pub(super) failures: u32,
    /// How often it failed since it was there, was not wanted, or was asked to be tried again.
    pub(super) failures_in_row: u32,
    /// A frame has waited for it since then.
    pub(super) was_waited_for: bool,
    /// Somebody else despawned it since it is wanted.
    pub(super) was_lost: bool,
    /// That this happens was told.
    pub(super) is_loss_told: bool,
    pub(super) retry_in: Option<Duration>,
    #[reflect(ignore)]
    pub(super) error: Option<Arc<LoadError>>,
    is_removed: bool,
    #[reflect(ignore)]
    way: waits::Way,
}

impl Level {
    /// Its name, unique in its world.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// Whether game code has [removed](crate::Levels::remove_instance) it: it is on its way out, or an empty place.
    #[must_use]
    pub fn is_removed(&self) -> bool {
        self.is_removed
    }

    /// Whether its place is empty.
    #[cfg(feature = "overlay")]
    pub(crate) fn is_gone(&self) -> bool {
        self.is_removed && self.instance.is_none()
    }

    /// Where its package is.
    #[must_use]
    pub fn package(&self) -> &AssetPath<'static> {
        &self.package
    }

    /// What the manifest says about it.
    #[must_use]
    pub fn entry(&self) -> &LevelEntry {
        &self.entry
    }

    /// Where it is.
    #[must_use]
    pub fn state(&self) -> LevelState {
        self.state
    }

    /// How far it is to come, as volumes and the app want it.
    #[must_use]
    pub fn target(&self) -> LevelTarget {
        self.target
    }

    /// Whether it is to be there at all.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.target != LevelTarget::Unloaded
    }

    /// Whether it is in the world, and is to stay.
    #[must_use]
    pub fn is_visible(&self) -> bool {
        self.state == LevelState::Visible
    }

    /// What it is called on all machines: its world's name and its own, for [`StableId`](seamless_asset::StableId)s.
    #[must_use]
    pub fn path(&self) -> &InstancePath {
        &self.path
    }

    /// Its instance in the pipeline, from request to leave.
    #[must_use]
    pub fn instance(&self) -> Option<InstanceId> {
        self.instance
    }

    /// The root of its entities while it is in the world and not hidden.
    #[must_use]
    pub fn root(&self) -> Option<Entity> {
        self.root.filter(|_| !self.is_out_of_sight)
    }

    /// How many entities it had at its reveal, the root not counted; zero when it is not in the world, hidden or not.
    #[must_use]
    pub fn entities(&self) -> u32 {
        self.entities
    }

    /// How often it was revealed.
    #[must_use]
    pub fn times_revealed(&self) -> u32 {
        self.revealed
    }

    /// How often it left.
    #[must_use]
    pub fn times_left(&self) -> u32 {
        self.left
    }

    /// How often it failed.
    #[must_use]
    pub fn times_failed(&self) -> u32 {
        self.failures
    }

    /// After which time it is tried again, if it failed and is to be; as of the last selection.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        self.retry_in
    }

    /// Why it failed the last time; `None` once it was revealed.
    #[must_use]
    pub fn error(&self) -> Option<&Arc<LoadError>> {
        self.error.as_ref()
    }

    /// What it waited for, the last time that it came, or on its way now, up to this frame. That time passes is no change of the table.
    #[must_use]
    pub fn waited(&self) -> LevelWaits {
        self.way.times()
    }

    fn new(world: &str, entry: LevelEntry, path: &dyn Fn(&str) -> AssetPath<'static>) -> Self {
        Self {
            path: InstancePath::new(world, &entry.name),
            package: path(&entry.package),
            dependencies: entry.dependencies.iter().map(|name| path(name)).collect(),
            entry,
            state: LevelState::Unloaded,
            target: LevelTarget::Unloaded,
            has_volume: false,
            instance: None,
            root: None,
            is_out_of_sight: false,
            is_loaded: false,
            entities: 0,
            revealed: 0,
            left: 0,
            failures: 0,
            failures_in_row: 0,
            was_waited_for: false,
            was_lost: false,
            is_loss_told: false,
            retry_in: None,
            error: None,
            is_removed: false,
            way: waits::Way::default(),
        }
    }

    pub(crate) fn request(&self, priority: f32) -> InstanceRequest {
        InstanceRequest {
            name: self.entry.name.clone(),
            path: self.path.clone(),
            package: self.package.clone(),
            dependencies: self.dependencies.clone(),
            placement: self.entry.placement(),
            priority,
            target: self.target.into(),
            data: self.entry.data.as_deref().map(InstanceData::text),
            ..InstanceRequest::default()
        }
    }

    /// It is somewhere else now; `counts` are those of its table.
    pub(super) fn set_state(&mut self, state: LevelState, counts: &mut StateCounts) {
        let before = core::mem::replace(&mut self.state, state);
        // Not in games: a way that the diagram lacks harms nobody.
        #[cfg(test)]
        assert!(before.can_become(state), "{}: {before:?} to {state:?}", self.name());
        counts.change(before, state, self.entry.bytes);
    }

    /// The instance is gone from the pipeline.
    pub(super) fn gone(&mut self, state: LevelState, counts: &mut StateCounts) {
        self.set_state(state, counts);
        self.instance = None;
        self.root = None;
        self.is_out_of_sight = false;
        self.is_loaded = false;
        self.entities = 0;
    }

    /// It came, or is not wanted, or is tried anew: what was is forgotten.
    pub(super) fn forget_failures(&mut self) {
        self.failures_in_row = 0;
        self.was_waited_for = false;
        // That it came again says nothing of who despawns it.
        self.was_lost &= self.is_wanted();
        self.retry_in = None;
    }

    /// Whether it is to be loaded and not to be shown.
    pub(super) fn is_only_loaded(&self) -> bool {
        self.target == LevelTarget::Loaded
    }
}

/// The levels of a [`SeamlessWorld`](crate::SeamlessWorld), on the same entity, from the moment its manifest is loaded.
///
/// `Changed<LevelTable>` is true in frames in which a level's state changed.
///
/// Inspectors see its levels by reflection, `levels.all[0].state` for instance, and are not to change them. It is in no scene that is saved of the entity, and no
/// clone of that has one.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::LevelTable;
/// fn open_gate(worlds: Query<&LevelTable>, mut commands: Commands) {
///     for levels in &worlds {
///         if let Some(root) = levels.root_of("harbour") {
///             commands.entity(root); // the harbour is there, whole
///         }
///     }
/// }
/// ```
#[derive(Component, Reflect, Debug)]
#[component(on_discard = leave::leave_all, clone_behavior = Ignore)]
#[reflect(from_reflect = false)]
pub struct LevelTable {
    #[reflect(ignore)]
    pub(super) manifest: AssetId<WorldManifest>,
    pub(super) levels: Slots,
    #[reflect(ignore)]
    pub(super) counts: StateCounts,
    pub(super) dropped: usize,
    /// Levels whose state follows their instances'.
    #[reflect(ignore)]
    pub(super) followed: BTreeSet<u32>,
    /// The manifest's packages in the order of their names, and where each is.
    #[reflect(ignore)]
    pub(super) packages: Vec<(PackageEntry, AssetPath<'static>)>,
    name: String,
    #[reflect(ignore)]
    by_name: HashMap<String, usize>,
    #[reflect(ignore)]
    path: Option<AssetPath<'static>>,
    /// The levels that game code has added, with their indices and what tells them from others of their name.
    #[reflect(ignore)]
    added: BTreeMap<String, (u32, u64)>,
    /// The places of those that were removed.
    #[reflect(ignore)]
    removed: Vec<u32>,
    #[reflect(ignore)]
    pub(super) freed: Freed,
}

impl LevelTable {
    /// All levels, unloaded. `volumes` are those of the manifest, which need not have them any more; `path` is its own.
    pub(super) fn new(
        id: AssetId<WorldManifest>,
        manifest: WorldManifest,
        volumes: &[VolumeEntry],
        path: Option<&AssetPath<'static>>,
    ) -> Self {
        // Many levels need the same packages.
        let known = RefCell::new(HashMap::<String, AssetPath<'static>>::new());
        let resolve = |name: &str| {
            let mut known = known.borrow_mut();
            match known.get(name) {
                Some(path) => path.clone(),
                None => known
                    .entry(name.to_owned())
                    .or_insert_with(|| beside(path, name))
                    .clone(),
            }
        };
        let names: Vec<String> = manifest.levels.iter().map(|level| level.name.clone()).collect();
        let name = manifest.name;
        let entries = manifest.levels.into_iter();
        let levels = entries.map(|entry| Level::new(&name, entry, &resolve));
        let loading = volumes.iter().filter(|volume| volume.mode != VolumeMode::ShowIfLoaded);
        let in_volumes: HashSet<&str> = loading.flat_map(|volume| &volume.levels).map(String::as_str).collect();
        let levels = levels.map(|level| Level {
            has_volume: in_volumes.contains(level.entry.name.as_str()),
            ..level
        });
        let levels = levels.collect();
        let packages = manifest.packages.into_iter().map(|entry| {
            let path = resolve(&entry.package);
            (entry, path)
        });
        let mut packages: Vec<(PackageEntry, _)> = packages.collect();
        packages.sort_unstable_by(|(a, _), (b, _)| a.package.cmp(&b.package));
        Self {
            manifest: id,
            name,
            by_name: names.into_iter().zip(0..).collect(),
            levels,
            counts: StateCounts::default(),
            dropped: 0,
            followed: BTreeSet::new(),
            path: path.cloned(),
            added: BTreeMap::new(),
            removed: Vec::new(),
            freed: Freed::default(),
            packages,
        }
    }

    /// The manifest that it was made from.
    pub(crate) fn manifest(&self) -> AssetId<WorldManifest> {
        self.manifest
    }

    /// The world's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The level called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Level> {
        self.levels.get(self.place_of(name)?)
    }

    /// The level in a place.
    pub(crate) fn at(&self, level: u32) -> Option<&Level> {
        self.levels.get(level)
    }

    /// How many levels are in each state.
    pub(crate) fn counts(&self) -> StateCounts {
        self.counts
    }

    /// The index of the level called `name`: its place in [`iter`](Self::iter), and in the manifest.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The level called `name`, if it is the manifest's own.
    pub(crate) fn listed(&self, name: &str) -> Option<&Level> {
        self.get(name).filter(|_| !self.added.contains_key(name))
    }

    /// The levels that game code has added.
    pub(crate) fn added(&self) -> &BTreeMap<String, (u32, u64)> {
        &self.added
    }

    /// Says that a level is elsewhere than it is; gives where it is.
    #[cfg(all(test, feature = "overlay"))]
    pub(crate) fn pretend(&mut self, name: &str, state: LevelState) -> Option<LevelState> {
        let level = self.levels.get_mut(self.place_of(name)?)?;
        let before = core::mem::replace(&mut level.state, state);
        self.counts.change(before, state, level.entry.bytes);
        Some(before)
    }

    /// The level's state follows its instance's until that is settled.
    pub(super) fn follow(&mut self, level: u32) {
        self.followed.insert(level);
    }

    /// The same, as selections count.
    pub(super) fn place_of(&self, name: &str) -> Option<u32> {
        u32::try_from(self.index_of(name)?).ok()
    }

    /// The place of the level that a request means, if this world's are meant.
    pub(crate) fn meant_by(&self, world: Entity, request: &NamedRequest) -> Option<u32> {
        if request.world.is_some_and(|meant| meant != world) {
            return None;
        }
        match request.instance {
            None => self.place_of(&request.level),
            Some(number) => {
                let (place, known) = self.added.get(&request.level)?;
                (*known == number).then_some(*place)
            }
        }
    }

    /// The root entity of the level called `name`, while it is in the world.
    #[must_use]
    pub fn root_of(&self, name: &str) -> Option<Entity> {
        self.get(name)?.root()
    }

    /// All levels: those of the manifest in its order, then those that game code has added. One that was
    /// [removed](Level::is_removed) is among them until another takes its place.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Level> {
        self.levels.iter()
    }

    /// The levels that are on their way, by their indices.
    pub(crate) fn coming(&self) -> impl Iterator<Item = (u32, &Level)> {
        let followed = self.followed.iter();
        followed.filter_map(|index| Some((*index, self.levels.get(*index)?)))
    }

    /// How many levels there are, in any state; the places of those that were removed are counted until others take them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.levels.len()
    }

    /// Whether there are none; a world that was loaded has one at least.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// How many levels are wanted just now but left out, because the cap
    /// [`LevelSettings::max_levels`](crate::LevelSettings::max_levels) or
    /// [`max_bytes`](crate::LevelSettings::max_bytes) is reached, or there is no memory for them.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }
}

impl<'a> IntoIterator for &'a LevelTable {
    type Item = &'a Level;
    type IntoIter = std::slice::Iter<'a, Level>;

    fn into_iter(self) -> Self::IntoIter {
        self.levels.iter()
    }
}
