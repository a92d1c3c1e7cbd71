//! How far what sources ask for has come. See [`StreamingStatus`].

use bevy_ecs::{
    entity::Entity,
    query::{Has, With},
    system::{Query, SystemParam},
};

use crate::{
    select::Standing,
    source::SourceMotion,
    world::{LevelSelection, LevelTable, SeamlessWorld, WorldFailure},
};

/// How many levels somebody waits for, and how many of them are there. Bytes are those of the levels' own packages, from the manifest, and
/// tell better how much time is left.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamingProgress {
    /// Levels that are asked for.
    pub wanted: u32,
    /// Those that have come.
    pub there: u32,
    /// Those that could not be loaded and are not tried again, that are left out by a cap, or that wait for memory which nobody lets go of.
    pub failed: u32,
    /// Bytes of all that are asked for.
    pub wanted_bytes: u64,
    /// Bytes of those that have come or will not.
    pub there_bytes: u64,
}

impl StreamingProgress {
    /// Whether nothing is to come any more.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.there + self.failed >= self.wanted
    }

    /// From zero to one, by bytes where they are known.
    #[must_use]
    pub fn fraction(&self) -> f32 {
        if self.is_complete() {
            return 1.0;
        }
        let (done, all) = match self.wanted_bytes {
            0 => ((self.there + self.failed).into(), self.wanted.into()),
            bytes => (self.there_bytes as f64, bytes as f64),
        };
        let done: f64 = done;
        let all: f64 = all;
        (done / all) as f32
    }

    fn count(&mut self, standing: Standing, bytes: u64) {
        let is_over = match standing {
            Standing::Unwanted => return,
            Standing::Coming => false,
            Standing::There | Standing::Failed | Standing::LeftOut => true,
        };
        self.wanted += 1;
        self.wanted_bytes = self.wanted_bytes.saturating_add(bytes);
        if is_over {
            self.there_bytes = self.there_bytes.saturating_add(bytes);
            match standing {
                Standing::There => self.there += 1,
                _ => self.failed += 1,
            }
        }
    }
}

type Worlds<'w, 's> = Query<
    'w,
    's,
    (
        Entity,
        Option<(&'static LevelTable, &'static LevelSelection)>,
        Has<WorldFailure>,
    ),
    With<SeamlessWorld>,
>;

/// Tells whether what sources ask for is there: a system parameter, for loading screens for instance.
///
/// It reads [`SourceMotion`]s, so that who is [teleported](SourceMotion::teleported) is not complete from that moment on. A system that
/// teleports somebody and asks has both in a [`ParamSet`](bevy_ecs::system::ParamSet), or Bevy refuses it.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::{StreamingSource, StreamingStatus};
/// #[derive(Component)]
/// struct LoadingScreen;
///
/// fn begin(
///     player: Single<Entity, With<StreamingSource>>,
///     screen: Query<Entity, With<LoadingScreen>>,
///     status: StreamingStatus,
///     mut commands: Commands,
/// ) {
///     if status.is_streaming_complete(*player) {
///         screen.iter().for_each(|screen| commands.entity(screen).despawn());
///     }
/// }
/// ```
#[derive(SystemParam)]
pub struct StreamingStatus<'w, 's> {
    worlds: Worlds<'w, 's>,
    motions: Query<'w, 's, &'static SourceMotion>,
}

impl StreamingStatus<'_, '_> {
    /// Whether all that a source asks for where it is, now, is there or has failed. False while a world's manifest is on its way, and for what is
    /// no source, or none that asks for anything; in the frame in which one is spawned; and from
    /// [`SourceMotion::teleported`] on until a selection has seen the source in its new place.
    #[must_use]
    pub fn is_streaming_complete(&self, source: Entity) -> bool {
        if self.motions.get(source).is_ok_and(SourceMotion::is_settling) {
            return false;
        }
        let key = source.to_bits();
        let is_known = |selection: &LevelSelection| selection.selector.asked_by(key).is_some();
        let mut selections = self.worlds.iter().filter_map(|(_, parts, _)| Some(parts?.1));
        selections.any(is_known) && !self.is_pending(None) && self.progress_of(key, None).is_complete()
    }

    /// How far what a source asks for where it is has come; nothing is wanted by what is no source.
    #[must_use]
    pub fn progress(&self, source: Entity) -> StreamingProgress {
        self.progress_of(source.to_bits(), None)
    }

    /// Whether all that anybody asks for is there or has failed, in all worlds.
    #[must_use]
    pub fn is_everything_there(&self) -> bool {
        let mut progress = StreamingProgress::default();
        for (_, parts, _) in &self.worlds {
            let Some((table, selection)) = parts else { continue };
            let asked = selection.selector.asked();
            asked.for_each(|level| count(&mut progress, table, selection, level));
        }
        !self.is_pending(None) && progress.is_complete()
    }

    /// How far what a source asks for has come, in the world that is meant or in all.
    pub(super) fn progress_of(&self, key: u64, meant: Option<Entity>) -> StreamingProgress {
        let mut progress = StreamingProgress::default();
        for (world, parts, _) in &self.worlds {
            let Some((table, selection)) = parts.filter(|_| is_meant(meant, world)) else {
                continue;
            };
            let asked = selection.selector.asked_by(key).unwrap_or_default();
            let levels = asked.into_iter();
            levels.for_each(|level| count(&mut progress, table, selection, level));
        }
        progress
    }

    /// Whether a manifest is on its way.
    pub(super) fn is_pending(&self, meant: Option<Entity>) -> bool {
        let mut worlds = self.worlds.iter().filter(|(world, ..)| is_meant(meant, *world));
        worlds.any(|(_, parts, has_failed)| parts.is_none() && !has_failed)
    }

    /// Whether there is a world, one that has failed included.
    pub(super) fn has_any(&self, meant: Option<Entity>) -> bool {
        self.worlds.iter().any(|(world, ..)| is_meant(meant, world))
    }

    /// Whether there is a world that is there or on its way.
    pub(super) fn has_world(&self, meant: Option<Entity>) -> bool {
        let mut worlds = self.worlds.iter().filter(|(world, ..)| is_meant(meant, *world));
        worlds.any(|(_, parts, has_failed)| parts.is_some() || !has_failed)
    }
}

fn is_meant(meant: Option<Entity>, world: Entity) -> bool {
    meant.is_none_or(|meant| meant == world)
}

fn count(progress: &mut StreamingProgress, table: &LevelTable, selection: &LevelSelection, level: u32) {
    let Some(slot) = table.at(level) else {
        return;
    };
    let standing = selection.selector.standing(level);
    progress.count(standing, slot.entry().bytes);
}
