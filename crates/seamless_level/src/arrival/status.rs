//! How far what sources ask for has come. See [`StreamingStatus`].

use bevy_ecs::{
    change_detection::Ref,
    entity::Entity,
    query::With,
    system::{Query, Res, SystemChangeTick, SystemParam},
};
use bevy_transform::components::GlobalTransform;

use crate::{
    requests::{LevelWanted, NamedRequest, RequestKind},
    select::Standing,
    source::{SourceMotion, StreamingSource},
    target::LevelTarget,
    world::{EvenHidden, InstanceIndex, Level, LevelSelection, LevelTable, SeamlessWorld, WorldError, WorldFailure},
};

/// How many levels somebody waits for, and how many of them are there. Bytes are those of the levels' own packages, from the manifest, and
/// tell better how much time is left.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamingProgress {
    /// Whether it is not known yet what is asked for: a world's manifest is on its way, or who asks has not been looked at where it is now.
    pub is_pending: bool,
    /// Levels that are asked for, always loaded ones among them.
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
    /// Whether it is known what is asked for, and nothing of it is to come any more.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.is_pending && self.there + self.failed >= self.wanted
    }

    /// From zero to one, by bytes where they are known; zero as long as it is not known what is asked for.
    #[must_use]
    pub fn fraction(&self) -> f32 {
        if self.is_pending {
            return 0.0;
        }
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
        Option<&'static WorldFailure>,
    ),
    (With<SeamlessWorld>, EvenHidden),
>;

/// Tells whether what sources ask for is there: a system parameter, for loading screens for instance.
///
/// It reads [`SourceMotion`]s, so that who is [teleported](SourceMotion::teleported) is not complete from that moment on, and [`StreamingSource`]s, so
/// that only the worlds count that one [asks](StreamingSource::world), [`LevelWanted`] and Bevy's [`GlobalTransform`]. A system that teleports or changes somebody and asks has both in a
/// [`ParamSet`](bevy_ecs::system::ParamSet), or Bevy refuses it.
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
    sources: Query<
        'w,
        's,
        (
            Entity,
            &'static StreamingSource,
            &'static SourceMotion,
            &'static GlobalTransform,
        ),
    >,
    wanted: Query<'w, 's, Ref<'static, LevelWanted>, EvenHidden>,
    index: Option<Res<'w, InstanceIndex>>,
    ticks: SystemChangeTick,
}

impl StreamingStatus<'_, '_> {
    /// Whether all that a source asks for where it is, now, is there or has failed, and all that is always loaded. False while a world's manifest
    /// is on its way, and while there is no world, or none that [could be loaded](Self::failed_worlds); for what is no source, or none that asks
    /// for anything; in the frame in which one is spawned; and from [`SourceMotion::teleported`] on, or a change of its
    /// [world](StreamingSource::world), until a selection has seen the source in its new place. Of a source of one world, other worlds play no part.
    #[must_use]
    pub fn is_streaming_complete(&self, source: Entity) -> bool {
        self.progress(source).is_complete()
    }

    /// How far what a source asks for where it is has come, and what is always loaded, in the [worlds](StreamingSource::world) that it asks. It is
    /// [pending](StreamingProgress::is_pending) as long as there is no such world, and for what is no source. What game code asks for by name is in [`overall_progress`](Self::overall_progress).
    #[must_use]
    pub fn progress(&self, source: Entity) -> StreamingProgress {
        let key = source.to_bits();
        let found = self.sources.get(source).ok();
        let meant = found.and_then(|(_, source, ..)| source.world);
        let is_settling = found.is_some_and(|(_, _, motion, _)| motion.is_settling());
        let is_any_there = self.selections(meant).next().is_some();
        let mut progress = self.progress_of(key, meant);
        progress.is_pending |= is_settling || !is_any_there || !self.is_known(key, meant);
        progress
    }

    /// The levels that a source asks for where it is, and those that are always loaded, each with its [`SeamlessWorld`] entity: what is shown in one half of a split
    /// screen, what a client of a server should have. None for what is no source, or none that asks for anything; as of the last selection.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use seamless_level::{StreamingSource, StreamingStatus};
    /// fn tell(players: Query<Entity, With<StreamingSource>>, status: StreamingStatus) {
    ///     for player in &players {
    ///         let missing = status.levels_of(player).filter(|(_, level)| !level.is_visible());
    ///         let names: Vec<_> = missing.map(|(_, level)| level.name()).collect();
    ///         println!("{player} waits for {names:?}");
    ///     }
    /// }
    /// ```
    pub fn levels_of(&self, source: Entity) -> impl Iterator<Item = (Entity, &Level)> {
        let meant = self.sources.get(source).ok().and_then(|(_, source, ..)| source.world);
        let worlds = self.worlds.iter().filter(move |(world, ..)| is_meant(meant, *world));
        worlds.flat_map(move |(world, parts, _)| {
            let asked =
                parts.and_then(|(table, selection)| Some((table, selection.selector.asked_by(source.to_bits())?.0)));
            let levels = asked
                .into_iter()
                .flat_map(|(table, levels)| levels.into_iter().filter_map(|level| table.at(level)));
            levels.map(move |level| (world, level))
        })
    }

    /// Whether the selections of all worlds that are meant know a source. One that has changed its world may be known to the one that it has left.
    fn is_known(&self, key: u64, meant: Option<Entity>) -> bool {
        self.selections(meant)
            .all(|selection| selection.selector.is_source(key))
    }

    fn selections(&self, meant: Option<Entity>) -> impl Iterator<Item = &LevelSelection> {
        let worlds = self.worlds.iter().filter(move |(world, ..)| is_meant(meant, *world));
        worlds.filter_map(|(_, parts, _)| Some(parts?.1))
    }

    /// Whether somebody has asked for something, or has come or gone elsewhere, since the last selection.
    fn is_any_unheard(&self) -> bool {
        // Without it nobody hears.
        let Some(unheard) = self.index.as_ref().map(|index| &index.unheard) else {
            return false;
        };
        let now = self.ticks.this_run();
        let mut asking = self.sources.iter().filter(|(_, source, motion, place)| {
            let input = source.input(0, place, motion.velocity());
            source.asks(&input, unheard.are_remote_followed())
        });
        unheard.is_any()
            || self.wanted.iter().any(|wanted| unheard.is_news(&wanted, now))
            || asking.any(|(entity, source, motion, _)| {
                motion.is_settling() || !self.is_known(entity.to_bits(), source.world)
            })
    }

    /// Whether all that anybody asks for is there or has failed, in all worlds: sources, arrivals and requests. False while a world's manifest is
    /// on its way, and while there is no world, or none that [could be loaded](Self::failed_worlds); and from the moment on in which somebody asks for something until a
    /// selection has heard of it.
    #[must_use]
    pub fn is_everything_there(&self) -> bool {
        self.overall_progress().is_complete()
    }

    /// How far all that anybody asks for has come, in all worlds. It is [pending](StreamingProgress::is_pending) as long as there is no world, and while a
    /// [request](crate::Levels), a [`LevelWanted`], a [source](StreamingSource) that is new or was [teleported](SourceMotion::teleported), or a
    /// [place](crate::Levels::prepare) has not been looked at.
    #[must_use]
    pub fn overall_progress(&self) -> StreamingProgress {
        let is_any_there = self.worlds.iter().any(|(_, parts, _)| parts.is_some());
        let mut progress = StreamingProgress {
            is_pending: !is_any_there || self.is_pending(None) || self.is_any_unheard(),
            ..StreamingProgress::default()
        };
        for (_, parts, _) in &self.worlds {
            let Some((table, selection)) = parts else { continue };
            let asked = selection.selector.asked();
            asked.for_each(|level| count(&mut progress, table, selection, (level, LevelTarget::Visible)));
        }
        progress
    }

    /// The [`SeamlessWorld`] entities whose manifests cannot be used, and why: nobody has to wait for them any more. Where a read only takes
    /// very long ([`WorldError::Stalled`]), the world is still on its way, and not among them.
    pub fn failed_worlds(&self) -> impl Iterator<Item = (Entity, &WorldError)> {
        let worlds = self.worlds.iter();
        worlds.filter_map(|(world, _, failure)| Some((world, &*failure.filter(|failure| !failure.may_come())?.0)))
    }

    /// How far what a source asks for has come, in the world that is meant or in all.
    pub(super) fn progress_of(&self, key: u64, meant: Option<Entity>) -> StreamingProgress {
        let mut progress = StreamingProgress {
            is_pending: self.is_pending(meant),
            ..StreamingProgress::default()
        };
        for (world, parts, _) in &self.worlds {
            let Some((table, selection)) = parts.filter(|_| is_meant(meant, world)) else {
                continue;
            };
            let Some((levels, target)) = selection.selector.asked_by(key) else {
                continue;
            };
            let levels = levels.into_iter();
            levels.for_each(|level| count(&mut progress, table, selection, (level, target)));
        }
        progress
    }

    /// How far what a request asks for has come; none while no world has such a level.
    pub(crate) fn progress_of_request(&self, request: &NamedRequest) -> Option<StreamingProgress> {
        let mut progress: Option<StreamingProgress> = None;
        for (world, parts, _) in &self.worlds {
            let Some((table, selection)) = parts else { continue };
            let Some(place) = table.meant_by(world, request) else {
                continue;
            };
            let Some(slot) = table.at(place) else { continue };
            let standing = standing_of(request.kind, slot, selection.selector.standing(place));
            progress.get_or_insert_default().count(standing, slot.entry().bytes);
        }
        progress
    }

    /// Whether a manifest is on its way.
    pub(super) fn is_pending(&self, meant: Option<Entity>) -> bool {
        let mut worlds = self.worlds.iter().filter(|(world, ..)| is_meant(meant, *world));
        worlds.any(|(_, parts, failure)| parts.is_none() && failure.is_none_or(WorldFailure::may_come))
    }

    /// Whether there is a world, one that has failed included.
    pub(super) fn has_any(&self, meant: Option<Entity>) -> bool {
        self.worlds.iter().any(|(world, ..)| is_meant(meant, world))
    }

    /// Whether there is a world that is there or on its way.
    pub(super) fn has_world(&self, meant: Option<Entity>) -> bool {
        let mut worlds = self.worlds.iter().filter(|(world, ..)| is_meant(meant, *world));
        worlds.any(|(_, parts, failure)| parts.is_some() || failure.is_none_or(WorldFailure::may_come))
    }
}

/// How it stands with a level for one who asks for it, by how it stands for all.
fn standing_of(kind: RequestKind, slot: &Level, standing: Standing) -> Standing {
    match kind {
        RequestKind::Ban if slot.instance().is_none() => Standing::There,
        RequestKind::Hide if !slot.is_visible() => Standing::There,
        RequestKind::Ban | RequestKind::Hide => Standing::Coming,
        RequestKind::Load if slot.is_all_loaded() => Standing::There,
        RequestKind::Load | RequestKind::Show | RequestKind::ShowIfLoaded => match standing {
            // Somebody keeps it away.
            Standing::Unwanted => Standing::LeftOut,
            standing => standing,
        },
    }
}

fn is_meant(meant: Option<Entity>, world: Entity) -> bool {
    meant.is_none_or(|meant| meant == world)
}

/// Counts a level for somebody who asks for it to come so far.
fn count(
    progress: &mut StreamingProgress,
    table: &LevelTable,
    selection: &LevelSelection,
    (level, target): (u32, LevelTarget),
) {
    let Some(slot) = table.at(level) else {
        return;
    };
    let entry = slot.entry();
    // Others may want it to be seen; who does not has no part in that.
    let is_enough = target == LevelTarget::Loaded && slot.is_all_loaded() && !entry.always_loaded;
    let standing = match selection.selector.standing(level) {
        Standing::Coming if is_enough => Standing::There,
        standing => standing,
    };
    progress.count(standing, entry.bytes);
}
