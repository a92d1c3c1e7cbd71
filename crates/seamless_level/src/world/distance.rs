//! Levels that come by their distance, without volumes. See [`DistanceStreaming`].

use bevy_ecs::{
    change_detection::{DetectChanges, DetectChangesMut, Ref},
    component::Component,
    entity::{Entity, EntityHashMap},
    lifecycle::RemovedComponents,
    reflect::ReflectComponent,
    system::{Local, Query, Res},
};
use bevy_log::{error, info, warn};
use bevy_math::{BVec3, Vec3};
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
/// It may be inserted, changed and removed at any time. Each change looks at all levels of the world: what changes from frame to frame, the distance that a
/// player sees for instance, is for a source's [`reach`](crate::StreamingSource::reach), which costs nothing of that kind.
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
    /// No frame goes on without a level to which somebody is this near, `show` at most: it is loaded in that frame, as for
    /// [`VolumeMode::BlockUntilLoaded`], which is a hitch. It is for worlds in which to fall through the ground is worse: give more than sources are above it, since bounds
    /// end at its surface. Default: no frame waits.
    pub block: Option<f32>,
    /// The axes along which `load`, `show` and `unload` are measured; [`block`](Self::block) is along all three, always. Default: all three. Without `y`,
    /// distances are those on a map: nobody flies so high that the levels below leave. In a world of sprites, `z` is an order and no place. Where
    /// any is left out, [who is in a level](crate::LevelSettings::arrival_axes) goes by the same. Unreal says *force 2D*.
    pub axes: BVec3,
}

impl Default for DistanceStreaming {
    fn default() -> Self {
        Self {
            load: 500.0,
            show: 500.0,
            unload: 600.0,
            delay: DEFAULT_UNLOAD_DELAY,
            block: None,
            axes: BVec3::TRUE,
        }
    }
}

impl DistanceStreaming {
    /// Whether its numbers make sense: finite, none below zero, and `block ≤ show ≤ load ≤ unload`. Some axis has to count.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let numbers = [0.0, self.block.unwrap_or(0.0), self.show, self.load, self.unload];
        let in_order = numbers.is_sorted() && numbers.iter().all(|number| number.is_finite());
        in_order && self.delay.is_finite() && self.delay >= 0.0 && self.axes.any()
    }

    /// The volumes that stand for it around one level: where it is shown, where it is only loaded, and where frames wait for it.
    fn volumes(&self, level: u32, bounds: (Vec3, Vec3)) -> [Option<VolumeInput>; PARTS] {
        let volume = |mode, range, axes| VolumeInput {
            shape: VolumeShape::box_along(axes, bounds),
            range,
            unload_margin: self.unload - self.load,
            unload_delay: self.delay,
            mode,
            levels: [level].into(),
            ..VolumeInput::default()
        };
        let shown = Some(volume(VolumeMode::LoadAndShow, self.show, self.axes));
        let loaded = (self.show < self.load).then(|| volume(VolumeMode::Load, self.load, self.axes));
        let blocks = self
            .block
            .map(|near| volume(VolumeMode::BlockUntilLoaded, near, BVec3::TRUE));
        [shown, loaded, blocks]
    }
}

/// Volumes that stand for the distances of one level, at most.
const PARTS: usize = 3;

/// Where a level is that comes by its distance.
fn place_by_distance(level: &Level) -> Option<(Vec3, Vec3)> {
    let (min, max) = level.entry().bounds.filter(|_| is_by_distance(level))?;
    Some((min.into(), max.into()))
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
    mut gone_worlds: RemovedComponents<LevelTable>,
    mut told: Local<EntityHashMap<Told>>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("distances of levels");
    let removed: Vec<Entity> = removed.read().collect();
    for world in gone_worlds.read() {
        told.remove(&world);
    }
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
        let told = told.entry(world).or_default();
        // Of other levels there may be other things to say.
        told.has_begun &= !table.is_added();
        match told.hear(distances.as_deref()) {
            Some(News::Unusable(distances)) => error!(
                "seamless world `{}`: {distances:?} asks for nothing; give finite numbers with 0 ≤ block ≤ show ≤ load ≤ unload, and an axis",
                table.name()
            ),
            Some(News::Begins) => warn_of_what_does_not_come(&table),
            None => {}
        }
        let usable = distances.as_deref().copied().filter(DistanceStreaming::is_valid);
        selection.set_distances(&table, usable);
        for (level, _) in renamed {
            selection.set_distance(&table, level, usable.as_ref());
        }
    }
}

/// What the log has heard of the distances of a world: somebody may change them in each frame.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Whether those of the last time were of no use.
    is_unusable: bool,
    /// Whether its levels came by distance before.
    has_begun: bool,
}

/// What is to be told.
#[derive(Debug, PartialEq)]
enum News {
    /// They are of no use.
    Unusable(DistanceStreaming),
    /// Levels come by distance, for the first time.
    Begins,
}

impl Told {
    /// The distances are these now. Gives what was not told yet; of those that are of no use, none until some were of use again.
    fn hear(&mut self, distances: Option<&DistanceStreaming>) -> Option<News> {
        let unusable = distances.filter(|distances| !distances.is_valid());
        let was_unusable = core::mem::replace(&mut self.is_unusable, unusable.is_some());
        if let Some(distances) = unusable {
            return (!was_unusable).then_some(News::Unusable(*distances));
        }
        let begins = distances.is_some() && !self.has_begun;
        self.has_begun |= begins;
        begins.then_some(News::Begins)
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
        let volumes = distances
            .zip(place)
            .map(|(distances, bounds)| distances.volumes(level, bounds));
        for (part, volume) in (0..).zip(volumes.unwrap_or_default()) {
            let key = (level, part);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A plane high above does not make frames wait for the ground.
    #[test]
    fn frames_wait_by_all_axes() {
        let distances = DistanceStreaming {
            block: Some(3.0),
            axes: BVec3::new(true, false, true),
            ..DistanceStreaming::default()
        };
        let bounds = (Vec3::ZERO, Vec3::ONE);
        let [shown, _, blocks] = distances.volumes(7, bounds);
        let above = Vec3::splat(0.5).with_y(1e4);
        let [shown, blocks] = [shown, blocks].map(|volume| volume.expect("both are asked for"));
        assert!(shown.shape.contains(above) && !blocks.shape.contains(above));
        assert!(blocks.shape.contains(Vec3::splat(0.5)));
        assert_eq!(
            (shown.mode, blocks.mode),
            (VolumeMode::LoadAndShow, VolumeMode::BlockUntilLoaded)
        );
    }

    #[test]
    fn what_changes_in_each_frame_is_told_once() {
        let mut told = Told::default();
        let by = |load: f32| DistanceStreaming {
            load,
            ..DistanceStreaming::default()
        };
        assert_eq!(told.hear(None), None);
        // Less than `show`, somebody draws a slider.
        assert_eq!(told.hear(Some(&by(10.0))), Some(News::Unusable(by(10.0))));
        for load in [10.0, 11.0, f32::NAN, f32::NAN, 499.0] {
            assert_eq!(told.hear(Some(&by(load))), None, "{load}");
        }
        assert_eq!(told.hear(Some(&by(500.0))), Some(News::Begins));
        for load in [500.0, 501.0, 600.0] {
            assert_eq!(told.hear(Some(&by(load))), None, "{load}");
        }
        // Mended, and broken again.
        assert_eq!(told.hear(Some(&by(601.0))), Some(News::Unusable(by(601.0))));
        assert_eq!(told.hear(None), None);
        assert_eq!(told.hear(Some(&by(601.0))), Some(News::Unusable(by(601.0))));
        assert_eq!(told.hear(Some(&by(550.0))), None, "the same levels come as before");
    }
}
