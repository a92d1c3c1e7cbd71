//! Levels that come by their distance, without volumes. See [`DistanceStreaming`].

use bevy_ecs::{
    change_detection::{DetectChanges, DetectChangesMut, Ref},
    component::Component,
    entity::Entity,
    lifecycle::RemovedComponents,
    reflect::ReflectComponent,
    system::{Query, Res},
};
use bevy_log::{error, info, warn};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::StreamingClock;

use super::{EvenHidden, LevelSelection, LevelTable, table::Level};
use crate::{
    select::VolumeInput,
    volume::{DEFAULT_UNLOAD_DELAY, VolumeMode, VolumeShape},
};

/// On a [`SeamlessWorld`](crate::SeamlessWorld) entity: levels come when a source is near, without anybody placing volumes.
///
/// It is for the levels that no volume of the manifest loads, and that are neither always loaded nor [on request](crate::LevelEntry::on_request). A world
/// file that names no volumes gets one around each level: for a world that comes by distance, write `volumes: []` there. Distances are those to a level's
/// [bounds](crate::LevelEntry::bounds), in world units; a level whose bounds are not known is left to volumes and requests. For
/// a source, all distances are multiplied by its [`reach`](crate::StreamingSource::reach).
///
/// It may be inserted, changed and removed at any time.
///
/// ```
/// # use bevy_asset::AssetServer;
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::{DistanceStreaming, SeamlessWorld};
/// fn start(mut commands: Commands, assets: Res<AssetServer>) {
///     commands.spawn((
///         SeamlessWorld(assets.load("islands/islands.seamless")),
///         DistanceStreaming { load: 900.0, show: 700.0, unload: 1000.0, ..DistanceStreaming::default() },
///     ));
/// }
/// ```
#[derive(Component, Reflect, Copy, Clone, Debug, PartialEq)]
#[reflect(Component, Default, Clone, PartialEq)]
pub struct DistanceStreaming {
    /// A level is loaded when a source is this near. Default 500.
    pub load: f32,
    /// It is shown when a source is this near, `load` at most. Default 500: whatever is loaded is shown. Where it is less, a level that
    /// everybody has left behind is hidden, in apps that [opted in](seamless_asset::SeamlessAssetPlugin::sliced_levels) to that.
    pub show: f32,
    /// It leaves when every source is further away than this, `load` at least; as far beyond `show` it is hidden. Default 600.
    pub unload: f32,
    /// And for how many seconds it stays from then on. Default 2.
    pub delay: f32,
}

impl Default for DistanceStreaming {
    fn default() -> Self {
        Self {
            load: 500.0,
            show: 500.0,
            unload: 600.0,
            delay: DEFAULT_UNLOAD_DELAY,
        }
    }
}

impl DistanceStreaming {
    /// Whether its numbers make sense: finite, none below zero, and `show ≤ load ≤ unload`.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let numbers = [0.0, self.show, self.load, self.unload];
        let in_order = numbers.is_sorted() && numbers.iter().all(|number| number.is_finite());
        in_order && self.delay.is_finite() && self.delay >= 0.0
    }

    /// The volumes that stand for it around one level: where it is shown, and where it is only loaded.
    fn volumes(&self, level: u32, shape: &VolumeShape) -> impl Iterator<Item = (bool, VolumeInput)> {
        let volume = |mode, range| VolumeInput {
            shape: shape.clone(),
            range,
            unload_margin: self.unload - self.load,
            unload_delay: self.delay,
            mode,
            levels: [level].into(),
            ..VolumeInput::default()
        };
        let shown = (false, volume(VolumeMode::LoadAndShow, self.show));
        let loaded = (self.show < self.load).then(|| (true, volume(VolumeMode::Load, self.load)));
        [Some(shown), loaded].into_iter().flatten()
    }
}

/// Where a level is that comes by its distance.
fn place_by_distance(level: &Level) -> Option<VolumeShape> {
    let (min, max) = level.entry().bounds.filter(|_| is_by_distance(level))?;
    let (min, max) = (min.into(), max.into());
    Some(VolumeShape::Box { min, max })
}

fn is_by_distance(level: &Level) -> bool {
    let entry = level.entry();
    !(level.has_volume || entry.always_loaded || entry.on_request || level.is_removed())
}

/// Makes the volumes of worlds whose levels come by distance, when that changes; those of levels that were added or removed, when they are.
pub(crate) fn sync_distances(
    mut worlds: Query<
        (
            Entity,
            Ref<LevelTable>,
            &mut LevelSelection,
            Option<Ref<DistanceStreaming>>,
        ),
        EvenHidden,
    >,
    mut removed: RemovedComponents<DistanceStreaming>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("distances of levels");
    let removed: Vec<Entity> = removed.read().collect();
    for (world, table, mut selection, distances) in &mut worlds {
        let is_changed = distances.as_ref().is_some_and(DetectChanges::is_changed);
        let renamed = core::mem::take(&mut selection.bypass_change_detection().renamed);
        // Of a world that was built meanwhile it may have been taken away.
        if !(is_changed || removed.contains(&world) || table.is_added()) {
            let usable = distances.as_deref().filter(|distances| distances.is_valid());
            for (level, _) in renamed {
                selection.set_distance(&table, level, usable);
            }
            continue;
        }
        let usable = distances.as_deref().copied().filter(DistanceStreaming::is_valid);
        if let (Some(distances), None) = (&distances, usable) {
            error!(
                "seamless world `{}`: {:?} asks for nothing; give finite numbers with 0 ≤ show ≤ load ≤ unload",
                table.name(),
                **distances
            );
        }
        if usable.is_some() {
            warn_of_what_does_not_come(&table);
        }
        selection.set_distances(&table, usable);
        for (level, _) in renamed {
            selection.set_distance(&table, level, usable.as_ref());
        }
    }
}

/// What an author may have meant to come by distance, and does not.
fn warn_of_what_does_not_come(table: &LevelTable) {
    let mut others = table
        .iter()
        .filter(|level| !(level.entry().always_loaded || level.entry().on_request));
    if table.iter().any(|level| level.has_volume) && others.all(|level| level.has_volume) {
        info!(
            "seamless world `{}`: volumes load all levels, and none comes by its distance; if they are to, write `volumes: []` in the world file, and \
             cook it again",
            table.name()
        );
    }
    let nowhere = |level: &&Level| is_by_distance(level) && level.entry().bounds.is_none();
    let count = table.iter().filter(nowhere).count();
    if let Some(first) = table.iter().find(nowhere) {
        warn!(
            "seamless world `{}`: {count} levels have neither bounds nor a volume, `{}` for instance; they come only when they are asked for",
            table.name(),
            first.name()
        );
    }
}

impl LevelSelection {
    /// All levels come by their distance from now on, or none.
    pub(super) fn set_distances(&mut self, table: &LevelTable, distances: Option<DistanceStreaming>) {
        if self.by_distance == distances {
            return;
        }
        self.by_distance = distances;
        for level in 0..table.len() as u32 {
            self.set_distance(table, level, distances.as_ref());
        }
    }

    /// Puts the volumes that stand for the distance of a level in place of those before. What is on stays so as long as it is near enough.
    fn set_distance(&mut self, table: &LevelTable, level: u32, distances: Option<&DistanceStreaming>) {
        let place = table.at(level).and_then(place_by_distance);
        let mut volumes = [None, None];
        if let Some((distances, shape)) = distances.zip(place) {
            for (only_loads, volume) in distances.volumes(level, &shape) {
                volumes[usize::from(only_loads)] = Some(volume);
            }
        }
        for (only_loads, volume) in [false, true].into_iter().zip(volumes) {
            let key = (level, only_loads);
            match (self.distances.get(&key), volume) {
                (Some(known), Some(volume)) => self.selector.set_volume(*known, volume),
                (None, Some(volume)) => drop(self.distances.insert(key, self.selector.add_volume(volume))),
                (Some(_), None) => {
                    let gone = self.distances.remove(&key);
                    gone.into_iter().for_each(|gone| self.selector.remove_volume(gone));
                }
                (None, None) => {}
            }
        }
    }
}
