//! From a loaded manifest to a world's levels and volumes: [`resolve_manifests`].

use core::time::Duration;
use std::{collections::HashSet, sync::Arc};

use bevy_asset::{AssetEvent, AssetId, AssetServer, Assets, Handle, LoadState};
use bevy_ecs::{
    entity::Entity,
    lifecycle::RemovedComponents,
    message::{MessageReader, MessageWriter},
    name::Name,
    system::{Commands, Query, Res, ResMut, SystemParam},
};
use bevy_log::{error, info, warn};
use seamless_asset::{ObjectRegistries, Streamer, StreamingClock, StreamingSettings, StreamingTime};

use super::{
    LevelSelection, LevelTable, LevelVolumes, SeamlessWorld, VolumeOf, WorldError, WorldFailure,
    reading::{Found, ManifestRead, Step},
    table::beside,
};
use crate::{
    events::WorldFailed,
    manifest::{VolumeEntry, WorldManifest},
    requests::LevelRequests,
    settings::LevelSettings,
    volume::StreamingVolume,
};

/// Builds the worlds whose manifests have been loaded, and takes down those that are over.
pub(crate) fn resolve_manifests(
    mut commands: Commands,
    mut worlds: Query<(Entity, &SeamlessWorld, Option<&LevelTable>, Option<&mut ManifestRead>)>,
    mut removed: RemovedComponents<SeamlessWorld>,
    mut changes: MessageReader<AssetEvent<WorldManifest>>,
    assets: ManifestAssets,
    requests: Res<LevelRequests>,
    (mut streamer, mut registries): (ResMut<Streamer>, Option<ResMut<ObjectRegistries>>),
    mut failed: MessageWriter<WorldFailed>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure();
    for entity in removed.read() {
        take_down(&mut commands, entity);
    }
    let changed: HashSet<AssetId<WorldManifest>> = changes
        .read()
        .filter_map(|event| match event {
            AssetEvent::Modified { id } => Some(*id),
            _ => None,
        })
        .collect();
    let now = assets.time.now();
    for (entity, world, table, mut read) in &mut worlds {
        let id = world.0.id();
        let known = table.map(|table| table.manifest).or(read.as_ref().map(|read| read.id));
        if known.is_some_and(|known| known != id || changed.contains(&id)) {
            // It is built again in the next frame, when this has been applied.
            take_down(&mut commands, entity);
            continue;
        }
        if table.is_some() || read.as_ref().is_some_and(|read| read.is_refused()) {
            continue;
        }
        match assets.get(world) {
            Ok(manifest) => {
                // After a teleport the levels of both places are live, and those that leave wait for their turn.
                streamer.expect_entities((manifest.peak_entities as usize).saturating_mul(3));
                build(&mut commands, entity, world, manifest, &requests);
                if let Some((registry, registries)) = manifest.registry.as_ref().zip(registries.as_mut()) {
                    registries.add(assets.server.load(beside(world.0.path(), registry)));
                }
            }
            Err((found, error)) => {
                let mut new = ManifestRead::new(id, now);
                let known = read.as_deref_mut().unwrap_or(&mut new);
                let step = known.step(found, now, &assets.settings.retry, assets.timeout());
                if read.is_none() {
                    commands.entity(entity).try_insert(new);
                }
                assets.take(step, (entity, world), error, &mut commands, &mut failed);
            }
        }
    }
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
    /// The manifest, or how it is with one that cannot be used and what is wrong with it.
    fn get(&self, world: &SeamlessWorld) -> Result<&WorldManifest, (Found, Option<WorldError>)> {
        if let Some(manifest) = self.manifests.get(&world.0) {
            // A manifest from a file is valid; one that code put together is looked at here.
            let invalid = |error| (Found::Invalid, Some(WorldError::from(error)));
            return manifest.validate().map(|()| manifest).map_err(invalid);
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

    /// How long a read may take before it is told that it hangs; zero for ever.
    fn timeout(&self) -> Duration {
        let settings = self.streaming.as_ref();
        settings.map_or(Duration::ZERO, |settings| settings.read_timeout)
    }

    /// Does what is to be done about a manifest that cannot be used.
    fn take(
        &self,
        step: Step,
        (entity, world): (Entity, &SeamlessWorld),
        error: Option<WorldError>,
        commands: &mut Commands,
        failed: &mut MessageWriter<WorldFailed>,
    ) {
        match (step, error) {
            (Step::Nothing, _) => {}
            (Step::ReadAgain, _) => self.read_again(world),
            (Step::TellHanging, _) => fail(commands, failed, entity, self.hanging(world)),
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

fn build(
    commands: &mut Commands,
    entity: Entity,
    world: &SeamlessWorld,
    manifest: &WorldManifest,
    requests: &LevelRequests,
) {
    info!(
        "seamless world `{}`: {} levels, {} volumes",
        manifest.name,
        manifest.levels.len(),
        manifest.volumes.len()
    );
    let table = LevelTable::new(world.0.id(), manifest, world.0.path());
    let selection = LevelSelection::new(entity, &table, requests);
    // Volumes are left over where only the table was taken away.
    commands
        .entity(entity)
        .despawn_related::<LevelVolumes>()
        .try_remove::<(ManifestRead, WorldFailure)>()
        .try_insert((table, selection));
    commands.spawn_batch(
        manifest
            .volumes
            .iter()
            .map(|volume| volume_bundle(entity, volume))
            .collect::<Vec<_>>(),
    );
}

fn volume_bundle(world: Entity, entry: &VolumeEntry) -> (Name, VolumeOf, StreamingVolume) {
    let volume = StreamingVolume {
        shape: entry.shape.clone(),
        levels: entry.levels.clone(),
        mode: entry.mode,
        enabled: entry.enabled,
        unload_margin: Some(entry.unload_margin),
        unload_delay: entry.unload_delay,
        priority: entry.priority,
        world: Some(world),
    };
    (Name::new(entry.name.clone()), VolumeOf(world), volume)
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

/// Removes all that this crate put on a world's entity, if it is still there.
fn take_down(commands: &mut Commands, world: Entity) {
    if let Ok(mut entity) = commands.get_entity(world) {
        entity.queue_silenced(|mut entity: bevy_ecs::world::EntityWorldMut| {
            entity.despawn_related::<LevelVolumes>();
            entity.remove::<(LevelTable, LevelSelection, ManifestRead, WorldFailure)>();
        });
    }
}
