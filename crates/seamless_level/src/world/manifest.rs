//! From a loaded manifest to a world's levels and volumes: [`resolve_manifests`].

use std::{collections::HashSet, sync::Arc};

use bevy_asset::{AssetEvent, AssetId, AssetServer, Assets, LoadState};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    lifecycle::RemovedComponents,
    message::{MessageReader, MessageWriter},
    name::Name,
    system::{Commands, Query, Res, ResMut},
};
use bevy_log::{error, info};
use seamless_asset::{ObjectRegistries, Streamer, StreamingClock};

use super::{
    LevelSelection, LevelTable, LevelVolumes, SeamlessWorld, VolumeOf, WorldError, WorldFailure, table::beside,
};
use crate::{
    events::WorldFailed,
    manifest::{VolumeEntry, WorldManifest},
    requests::LevelRequests,
    volume::StreamingVolume,
};

/// What a [`WorldFailure`] is about, so that another manifest is tried.
#[derive(Component)]
pub(crate) struct FailedManifest {
    id: AssetId<WorldManifest>,
    /// Whether it was there, only not valid.
    loaded: bool,
}

/// Builds the worlds whose manifests have been loaded, and takes down those that are over.
pub(crate) fn resolve_manifests(
    mut commands: Commands,
    worlds: Query<(Entity, &SeamlessWorld, Option<&LevelTable>, Option<&FailedManifest>)>,
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
    for (entity, world, table, failure) in &worlds {
        let id = world.0.id();
        let known = table.map(|table| table.manifest).or(failure.map(|failure| failure.id));
        let came_late = failure.is_some_and(|failure| !failure.loaded) && assets.manifests.contains(id);
        match known {
            // It is built again in the next frame, when this has been applied.
            Some(known) if known != id || came_late || changed.contains(&id) => take_down(&mut commands, entity),
            Some(_) => {}
            None => match assets.get(world) {
                Some(Ok(manifest)) => {
                    // After a teleport the levels of both places are live, and those that leave wait for their turn.
                    streamer.expect_entities((manifest.peak_entities as usize).saturating_mul(3));
                    build(&mut commands, entity, world, manifest, &requests);
                    if let Some((registry, registries)) = manifest.registry.as_ref().zip(registries.as_mut()) {
                        registries.add(assets.server.load(beside(world.0.path(), registry)));
                    }
                }
                Some(Err(error)) => {
                    let manifest = FailedManifest {
                        id,
                        loaded: assets.manifests.contains(id),
                    };
                    fail(&mut commands, &mut failed, entity, manifest, error);
                }
                None => {}
            },
        }
    }
}

/// Manifests, loaded or failed.
#[derive(bevy_ecs::system::SystemParam)]
pub(crate) struct ManifestAssets<'w> {
    manifests: Res<'w, Assets<WorldManifest>>,
    server: Res<'w, AssetServer>,
}

impl ManifestAssets<'_> {
    /// The manifest or what is wrong with it; `None` while it is being loaded.
    fn get(&self, world: &SeamlessWorld) -> Option<Result<&WorldManifest, WorldError>> {
        if let Some(manifest) = self.manifests.get(&world.0) {
            // A manifest from a file is valid; one that code put together is looked at here.
            return Some(manifest.validate().map(|()| manifest).map_err(WorldError::from));
        }
        match self.server.load_state(&world.0) {
            LoadState::Failed(error) => Some(Err(WorldError::Load {
                path: world.0.path().cloned().unwrap_or_default(),
                error,
            })),
            _ => None,
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
        unload_margin: entry.unload_margin,
        unload_delay: entry.unload_delay,
        priority: entry.priority,
        world: Some(world),
    };
    (Name::new(entry.name.clone()), VolumeOf(world), volume)
}

fn fail(
    commands: &mut Commands,
    failed: &mut MessageWriter<WorldFailed>,
    world: Entity,
    manifest: FailedManifest,
    error: WorldError,
) {
    error!("seamless world {world} has no levels: {error}");
    let error = Arc::new(error);
    let components = (manifest, WorldFailure(error.clone()));
    commands.entity(world).try_insert(components);
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
            entity.remove::<(LevelTable, LevelSelection, FailedManifest, WorldFailure)>();
        });
    }
}
