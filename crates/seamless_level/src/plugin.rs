//! The plugin and its place in the frame. See [`SeamlessLevelPlugin`].

use bevy_app::{App, Plugin, SpawnScene};
use bevy_asset::{AssetApp, AssetServer};
use bevy_diagnostic::{Diagnostic, RegisterDiagnostic};
use bevy_ecs::schedule::{IntoScheduleConfigs, SystemSet, common_conditions::resource_exists};
use bevy_log::warn;
use bevy_transform::TransformPlugin;
use seamless_asset::{Reloaded, Streamer, StreamingSystems, Viewpoints, net::NetPackages};

use crate::{
    across::{LinkedEntity, ResolveLinks, SoftEntity, SoftLink, SoftLinks, link_resolution},
    arrival::{Arrivals, report_arrivals},
    diagnostics,
    events::{LevelFailed, LevelHidden, LevelLeft, LevelLoaded, LevelRevealed, LevelShown, WorldFailed},
    instances::{AddedInstances, sync_instances},
    late::{LateLevels, LevelLate, find_late},
    manifest::{WorldManifest, WorldManifestLoader},
    requests::{LevelRequests, LevelWanted, sync_wanted, tell_unknown},
    retry::RetryPolicy,
    settings::LevelSettings,
    source::{SourceMotion, StreamingSource},
    volume::StreamingVolume,
    world::{
        DistanceStreaming, InstanceIndex, LevelVolumes, SeamlessWorld, VolumeOf, block_on_levels, is_anybody_blocked,
        list_packages, report_levels, resolve_manifests, select_levels, sweep_worlds, sync_distances, tell_silence,
        volume_sync, write_diagnostics,
    },
};

/// Seamless worlds, streaming volumes and streaming sources.
///
/// Needs Bevy's `AssetPlugin` and [`SeamlessAssetPlugin`](seamless_asset::SeamlessAssetPlugin), added before it, and
/// something that propagates transforms, Bevy's `TransformPlugin` for instance. What its fields say is the [`LevelSettings`] of the app, which may be changed
/// at any time after that.
#[derive(Clone, Debug)]
pub struct SeamlessLevelPlugin {
    /// See [`LevelSettings::max_levels`]. Default 4096.
    pub max_levels: usize,
    /// See [`LevelSettings::max_bytes`]. Default: no cap.
    pub max_bytes: u64,
    /// See [`LevelSettings::max_requests`]. Default 65 536.
    pub max_requests: usize,
    /// See [`LevelSettings::follow_remote`]: true on a server. Default false.
    pub follow_remote: bool,
    /// See [`LevelSettings::retry`]. Default: a few times, later and later.
    pub retry: RetryPolicy,
    /// See [`LevelSettings::max_instances`]. Default 65 536.
    pub max_instances: usize,
}

impl Default for SeamlessLevelPlugin {
    fn default() -> Self {
        let LevelSettings {
            max_levels,
            max_bytes,
            max_requests,
            follow_remote,
            retry,
            max_instances,
        } = LevelSettings::default();
        Self {
            max_levels,
            max_bytes,
            max_requests,
            follow_remote,
            retry,
            max_instances,
        }
    }
}

impl SeamlessLevelPlugin {
    /// For an app that follows all players.
    #[must_use]
    pub fn server() -> Self {
        Self {
            follow_remote: true,
            ..Self::default()
        }
    }
}

/// The parts of this crate's work, in `SpawnScene`, in this order.
#[derive(SystemSet, Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum LevelSystems {
    /// Worlds whose manifests were loaded get their levels and volumes. In [`StreamingSystems::Request`].
    Manifest,
    /// Decides which levels are wanted, and asks the pipeline for them. In [`StreamingSystems::Request`].
    Select,
    /// After [`StreamingSystems::Reveal`]: level tables are brought up to date, and messages and events are sent.
    Report,
}

impl Plugin for SeamlessLevelPlugin {
    fn build(&self, app: &mut App) {
        assert!(
            app.world().contains_resource::<AssetServer>(),
            "`SeamlessLevelPlugin` needs Bevy's assets: add `DefaultPlugins`, or `AssetPlugin`, before `SeamlessPlugins`"
        );
        assert!(
            app.world().contains_resource::<Streamer>(),
            "`SeamlessLevelPlugin` needs the pipeline: add `SeamlessAssetPlugin` before it, or `SeamlessPlugins`, which have both"
        );
        app.insert_resource(LevelSettings {
            max_levels: self.max_levels,
            max_bytes: self.max_bytes,
            max_requests: self.max_requests,
            follow_remote: self.follow_remote,
            retry: self.retry,
            max_instances: self.max_instances,
        })
        .init_resource::<LevelRequests>()
        .init_resource::<InstanceIndex>()
        .init_resource::<SoftLinks>()
        .init_resource::<AddedInstances>()
        .init_resource::<LateLevels>()
        .init_resource::<Arrivals>()
        .init_resource::<Viewpoints>()
        .init_asset::<WorldManifest>()
        .init_asset_loader::<WorldManifestLoader>()
        .register_type::<WorldManifest>()
        .register_type::<SeamlessWorld>()
        .register_type::<StreamingVolume>()
        .register_type::<VolumeOf>()
        .register_type::<LevelVolumes>()
        .register_type::<DistanceStreaming>()
        .register_type::<StreamingSource>()
        .register_type::<SourceMotion>()
        .register_type::<RetryPolicy>()
        .register_type::<LevelWanted>()
        .register_type::<LateLevels>()
        .register_type::<SoftEntity>()
        .register_type::<SoftLink>()
        .register_type::<LinkedEntity>()
        .register_type::<LevelSettings>()
        .add_message::<LevelRevealed>()
        .add_message::<LevelLoaded>()
        .add_message::<LevelHidden>()
        .add_message::<LevelShown>()
        .add_message::<LevelLeft>()
        .add_message::<LevelFailed>()
        .add_message::<WorldFailed>()
        .add_message::<LevelLate>()
        .add_message::<Reloaded>();
        for path in diagnostics::ALL {
            app.register_diagnostic(Diagnostic::new(path).with_suffix(" levels"));
        }
        add_systems(app);
    }

    fn finish(&self, app: &mut App) {
        if !app.is_plugin_added::<TransformPlugin>() {
            warn!(
                "`SeamlessLevelPlugin` without `TransformPlugin`: all streaming sources are at the origin unless somebody else writes their \
                 `GlobalTransform`s; add Bevy's plugin, which `MinimalPlugins` do not have"
            );
            return;
        }
        app.world_mut().resource_mut::<Arrivals>().are_places_known = true;
    }
}

fn add_systems(app: &mut App) {
    let (sync_volumes, resolve_links) = (volume_sync(app.world_mut()), link_resolution(app.world_mut()));
    app.configure_sets(
        SpawnScene,
        (
            (LevelSystems::Manifest, LevelSystems::Select)
                .chain()
                .in_set(StreamingSystems::Request)
                .before(StreamingSystems::Reveal),
            LevelSystems::Report.after(StreamingSystems::Reveal),
        ),
    )
    .add_systems(
        SpawnScene,
        (
            (
                resolve_manifests,
                sweep_worlds,
                list_packages.run_if(resource_exists::<NetPackages>),
            )
                .chain()
                .in_set(LevelSystems::Manifest),
            (
                sync_instances,
                sync_volumes,
                sync_distances,
                sync_wanted,
                select_levels,
                block_on_levels.run_if(is_anybody_blocked),
                tell_unknown,
                tell_silence,
            )
                .chain()
                .in_set(LevelSystems::Select),
            (
                report_levels,
                report_arrivals,
                resolve_links.in_set(ResolveLinks),
                find_late,
                write_diagnostics,
            )
                .chain()
                .in_set(LevelSystems::Report),
        ),
    );
}
