//! From a loaded manifest to a world's levels and volumes: [`resolve_manifests`].

use core::time::Duration;
use std::{collections::HashSet, sync::Arc};

use bevy_asset::{AssetEvent, AssetId, AssetPath, AssetServer, Assets, Handle, LoadState};
use bevy_ecs::{
    entity::Entity,
    lifecycle::RemovedComponents,
    message::{MessageReader, MessageWriter},
    query::{QueryData, With, Without},
    system::{Commands, Local, Query, Res, ResMut, SystemParam},
    world::{EntityWorldMut, World},
};
use bevy_log::{error, warn};
use seamless_asset::{LoadingThreads, ObjectRegistries, Streamer, StreamingClock, StreamingSettings, StreamingTime};

use super::{
    DistanceStreaming, EvenHidden, LevelSelection, LevelTable, LevelVolumes, SeamlessWorld, WorldError, WorldFailure,
    build::{Deadline, Slice, Step, WorldBuild, place, sweep_volumes},
    reading::{self, Found, ManifestRead, Remade},
};
use crate::{events::WorldFailed, manifest::WorldManifest, settings::LevelSettings};

/// What worlds that come may take of a frame in an app without a pipeline.
const SHARE: Duration = Duration::from_millis(1);

/// How a world is, as far as [`resolve_manifests`] goes.
#[derive(QueryData)]
#[query_data(mutable)]
pub(crate) struct WorldParts {
    entity: Entity,
    world: &'static SeamlessWorld,
    table: Option<&'static LevelTable>,
    read: Option<&'static mut ManifestRead>,
    build: Option<&'static mut WorldBuild>,
    distances: Option<&'static DistanceStreaming>,
}

impl WorldPartsItem<'_, '_> {
    /// The manifest that it is of, or will be.
    fn manifest(&self) -> Option<AssetId<WorldManifest>> {
        let build = self.build.as_ref().map(|build| build.manifest);
        let read = self.read.as_ref().map(|read| read.id);
        self.table.map(|table| table.manifest).or(build).or(read)
    }
}

/// Builds the worlds whose manifests have been loaded, and takes down those that are over.
pub(crate) fn resolve_manifests(
    mut commands: Commands,
    mut worlds: Query<WorldParts, EvenHidden>,
    mut removed: RemovedComponents<SeamlessWorld>,
    mut changes: MessageReader<AssetEvent<WorldManifest>>,
    assets: ManifestAssets,
    (mut streamer, mut registries): (ResMut<Streamer>, Option<ResMut<ObjectRegistries>>),
    mut failed: MessageWriter<WorldFailed>,
    (clock, mut remade): (Res<StreamingClock>, Local<Remade>),
) {
    let _time = clock.measure("worlds that come");
    for entity in removed.read() {
        remade.forget(entity);
        take_down(&mut commands, entity);
    }
    let changed = modified(&mut changes);
    let mut slice = Slice::new(Deadline::after(assets.share()));
    for mut parts in &mut worlds {
        let (entity, id) = (parts.entity, parts.world.0.id());
        if let Some(known) = parts.manifest()
            && (known != id || changed.contains(&id))
        {
            if known == id && remade.is_news(entity, assets.time.now()) {
                tell_remade(entity, parts.world);
            }
            // It is built again in the next frame, when this has been applied.
            take_down(&mut commands, entity);
            continue;
        }
        if parts.table.is_some() || parts.read.as_ref().is_some_and(|read| read.is_refused()) {
            continue;
        }
        let threads = streamer.loading_threads();
        let (found, error) = match assets.get(parts.world) {
            Ok(manifest) => match go_on(&mut commands, &mut parts, manifest, &mut slice, threads) {
                Step::Fails(error) => (Found::Invalid, Some(error.into())),
                Step::Built => {
                    // After a teleport the levels of both places are live, and those that leave wait for their turn.
                    streamer.expect_entities((manifest.peak_entities as usize).saturating_mul(3));
                    if let Some((registry, registries)) = manifest.registry.as_ref().zip(registries.as_mut()) {
                        registries.add(assets.server.load(beside(parts.world.0.path(), registry)));
                    }
                    continue;
                }
                Step::Goes => continue,
            },
            Err(cannot) => cannot,
        };
        if parts.build.is_some() {
            commands.entity(entity).try_remove::<WorldBuild>();
        }
        assets.do_without(&mut commands, &mut parts, (found, error), &mut failed);
    }
}

/// The manifests that were modified since the last frame.
fn modified(changes: &mut MessageReader<AssetEvent<WorldManifest>>) -> HashSet<AssetId<WorldManifest>> {
    let modified = changes.read().filter_map(|event| match event {
        AssetEvent::Modified { id } => Some(*id),
        _ => None,
    });
    modified.collect()
}

/// Builds a world whose manifest is there, as far as this frame has time for it.
fn go_on(
    commands: &mut Commands,
    parts: &mut WorldPartsItem,
    manifest: &WorldManifest,
    slice: &mut Slice,
    threads: Option<&LoadingThreads>,
) -> Step {
    let mut new = None;
    let build = match parts.build.as_deref_mut() {
        Some(build) => build,
        None => new.insert(WorldBuild::new(parts.world.0.id(), manifest)),
    };
    let step = build.step(
        manifest,
        parts.world.0.path(),
        parts.distances.copied(),
        (parts.entity, slice, threads),
    );
    if let Some(new) = new.filter(|_| !matches!(step, Step::Fails(_))) {
        commands.entity(parts.entity).try_insert(new);
    }
    step
}

/// Manifests, loaded or failed, and how they are read again.
#[derive(SystemParam)]
pub(crate) struct ManifestAssets<'w> {
    manifests: Res<'w, Assets<WorldManifest>>,
    server: Res<'w, AssetServer>,
    settings: Res<'w, LevelSettings>,
    streaming: Option<Res<'w, StreamingSettings>>,
    time: Res<'w, StreamingTime>,
}

impl ManifestAssets<'_> {
    /// The manifest, or how it is with one that cannot be read.
    fn get(&self, world: &SeamlessWorld) -> Result<&WorldManifest, (Found, Option<WorldError>)> {
        if let Some(manifest) = self.manifests.get(&world.0) {
            return Ok(manifest);
        }
        if world.0.id() == AssetId::default() {
            return Err((Found::Nowhere, None));
        }
        Err(match self.server.load_state(&world.0) {
            LoadState::Failed(error) => {
                let path = world.0.path().cloned();
                let has_path = path.is_some();
                let path = path.unwrap_or_default();
                let error = WorldError::Load { path, error };
                let may_pass = has_path && error.is_transient();
                (Found::Failed { may_pass }, Some(error))
            }
            LoadState::Loading => (Found::Reading, None),
            _ => (Found::Nothing, None),
        })
    }

    /// What worlds that come and go may take of a frame: half of its budget.
    fn share(&self) -> Duration {
        let settings = self.streaming.as_ref();
        settings.map_or(SHARE, |settings| settings.budget / 2)
    }

    /// Sees to a manifest that cannot be used, or not yet.
    fn do_without(
        &self,
        commands: &mut Commands,
        parts: &mut WorldPartsItem,
        (found, error): (Found, Option<WorldError>),
        failed: &mut MessageWriter<WorldFailed>,
    ) {
        let now = self.time.now();
        let mut new = ManifestRead::new(parts.world.0.id(), now);
        let known = parts.read.as_deref_mut().unwrap_or(&mut new);
        let step = known.step(found, now, &self.settings.retry, self.timeout());
        if parts.read.is_none() {
            commands.entity(parts.entity).try_insert(new);
        }
        self.take(step, (parts.entity, parts.world), error, commands, failed);
    }

    /// How long a read may take before it is told that it hangs; zero for ever.
    fn timeout(&self) -> Duration {
        let settings = self.streaming.as_ref();
        settings.map_or(Duration::ZERO, |settings| settings.read_timeout)
    }

    /// Does what is to be done about a manifest that cannot be used.
    fn take(
        &self,
        step: reading::Step,
        (entity, world): (Entity, &SeamlessWorld),
        error: Option<WorldError>,
        commands: &mut Commands,
        failed: &mut MessageWriter<WorldFailed>,
    ) {
        use reading::Step;
        match (step, error) {
            (Step::Nothing, _) => {}
            (Step::ReadAgain, _) => self.read_again(world),
            (Step::TellHanging, _) => fail(commands, failed, entity, self.hanging(world)),
            (Step::TellUnread, _) => tell_unread(entity, world),
            (Step::TellNowhere, _) => fail(commands, failed, entity, WorldError::Nowhere),
            (Step::Wait(wait), Some(error)) => {
                let seconds = wait.as_secs_f32();
                warn!("seamless world {entity} waits: {error}; it is read again in {seconds:.1} s");
            }
            (Step::GiveUp, Some(error)) => fail(commands, failed, entity, error),
            (Step::Wait(_) | Step::GiveUp, None) => {}
        }
    }

    fn hanging(&self, world: &SeamlessWorld) -> WorldError {
        WorldError::Stalled {
            path: world.0.path().cloned().unwrap_or_default(),
            seconds: self.timeout().as_secs(),
        }
    }

    /// Reads a manifest once more that could not be read: whoever asks the server for what failed has it loaded anew, into the same asset.
    /// (`AssetServer::reload` would read it twice where it fails, and say meanwhile that it has failed.)
    fn read_again(&self, world: &SeamlessWorld) {
        if let Some(path) = world.0.path() {
            // Whoever asked for it first may have approved its path.
            let builder = self.server.load_builder().override_unapproved();
            let _: Handle<WorldManifest> = builder.load(path);
        }
    }
}

/// The asset path of the file `name` beside the manifest. The name is taken literally: it was validated to be an inner
/// path without a source or a label.
pub(super) fn beside(manifest: Option<&AssetPath<'static>>, name: &str) -> AssetPath<'static> {
    let Some(manifest) = manifest else {
        return AssetPath::from(name.to_owned());
    };
    let directory = manifest.path().parent();
    let path = directory.map_or_else(|| name.into(), |directory| directory.join(name));
    AssetPath::from_path_buf(path).with_source(manifest.source().clone_owned())
}

fn tell_unread(entity: Entity, world: &SeamlessWorld) {
    let manifest = world.0.path().map(|path| format!(" (`{path}`)")).unwrap_or_default();
    warn!(
        "nobody loads or inserts the manifest of seamless world {entity}{manifest}: give it the handle that `AssetServer::load` gives, or insert the \
         manifest into `Assets<WorldManifest>` under the id of its handle; the world waits for that"
    );
}

fn tell_remade(entity: Entity, world: &SeamlessWorld) {
    let manifest = world.0.path().map(|path| format!(" (`{path}`)")).unwrap_or_default();
    warn!(
        "seamless world {entity} is made anew again and again, as its manifest{manifest} is modified: most likely a system writes to \
         `Assets<WorldManifest>` in each frame, which counts even where it writes what was there; look with `get`, and write only what is different"
    );
}

fn fail(commands: &mut Commands, failed: &mut MessageWriter<WorldFailed>, world: Entity, error: WorldError) {
    error!("seamless world {world} has no levels: {error}");
    let error = Arc::new(error);
    commands.entity(world).try_insert(WorldFailure(error.clone()));
    failed.write(WorldFailed {
        world,
        error: error.clone(),
    });
    commands.trigger(WorldFailed { world, error });
}

/// Removes what this crate put on a world's entity, if it is still there. Its volumes ask for nothing from then on, and [are swept](sweep_worlds).
fn take_down(commands: &mut Commands, world: Entity) {
    if let Ok(mut entity) = commands.get_entity(world) {
        entity.queue_silenced(|mut entity: EntityWorldMut| {
            entity.remove::<(LevelTable, LevelSelection, WorldBuild, ManifestRead, WorldFailure)>();
        });
    }
}

/// Spawns the volumes of worlds that were built, and despawns those of worlds that were taken down, for as long as a frame has time for it: until the same
/// moment as worlds that come are copied.
pub(crate) fn sweep_worlds(
    builds: Query<(Entity, &WorldBuild), EvenHidden>,
    left: Query<Entity, (With<LevelVolumes>, Without<LevelTable>, Without<WorldBuild>, EvenHidden)>,
    assets: ManifestAssets,
    mut commands: Commands,
) {
    let built = builds.iter().filter(|(_, build)| build.is_placing());
    let built: Vec<Entity> = built.map(|(world, _)| world).collect();
    let left: Vec<Entity> = left.iter().collect();
    if built.is_empty() && left.is_empty() {
        return;
    }
    let begun = builds.iter().next().map(|(_, build)| build.until());
    let end = begun.unwrap_or_else(|| Deadline::after(assets.share()));
    commands.queue(move |world: &mut World| {
        let mut slice = Slice::new(end);
        for entity in built {
            place(world, entity, &mut slice);
        }
        // Some go whatever time it has taken others to come.
        let mut slice = Slice::new(end);
        for entity in left {
            sweep_volumes(world, entity, &mut slice);
        }
    });
}
