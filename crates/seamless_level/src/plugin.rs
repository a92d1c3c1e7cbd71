//! The plugin and its place in the frame. See [`SeamlessLevelPlugin`].

#[cfg(test)]
mod tests;

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
    instances::{AddedInstances, NewInstance, sync_instances},
    late::{LateLevels, LevelLate, find_late},
    manifest::{WorldManifest, WorldManifestLoader},
    proxy::{LevelProxy, show_proxies},
    requests::{LevelRequests, LevelWanted, report_tickets, sync_wanted, tell_unknown},
    retry::RetryPolicy,
    settings::LevelSettings,
    source::{SourceMotion, StreamingSource},
    volume::StreamingVolume,
    world::{
        DistanceStreaming, InstanceIndex, LevelTable, LevelVolumes, SeamlessWorld, VolumeOf, WorldFailure,
        block_on_levels, is_anybody_blocked, list_packages, report_levels, resolve_manifests, select_levels,
        sweep_worlds, sync_distances, tell_silence, volume_sync, write_diagnostics,
    },
};

/// Seamless worlds, streaming volumes and streaming sources.
///
/// Needs Bevy's `AssetPlugin` and [`SeamlessAssetPlugin`](seamless_asset::SeamlessAssetPlugin), added before it, and
/// something that propagates transforms, Bevy's `TransformPlugin` for instance.
#[derive(Clone, Debug, Default)]
pub struct SeamlessLevelPlugin {
    /// The app's [`LevelSettings`] from the start, unless it has some already: those that were inserted before the plugin are kept. They may be
    /// changed at any time after that.
    pub settings: LevelSettings,
}

impl SeamlessLevelPlugin {
    /// For an app that follows all players. One that inserts [`LevelSettings`] before says so there.
    #[must_use]
    pub fn server() -> Self {
        let settings = LevelSettings {
            follow_remote: true,
            ..LevelSettings::default()
        };
        Self { settings }
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
        // What the game has said before counts.
        if !app.world().contains_resource::<LevelSettings>() {
            app.insert_resource(self.settings);
        }
        app.init_resource::<LevelRequests>()
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
            .register_type::<LevelTable>()
            .register_type::<WorldFailure>()
            .register_type::<StreamingVolume>()
            .register_type::<VolumeOf>()
            .register_type::<LevelVolumes>()
            .register_type::<DistanceStreaming>()
            .register_type::<StreamingSource>()
            .register_type::<SourceMotion>()
            .register_type::<RetryPolicy>()
            .register_type::<LevelWanted>()
            .register_type::<LevelProxy>()
            .register_type::<NewInstance>()
            .register_type::<LateLevels>()
            .register_type::<SoftEntity>()
            .register_type::<SoftLink>()
            .register_type::<LinkedEntity>()
            .register_type::<LevelSettings>()
            .register_type::<LevelRevealed>()
            .register_type::<LevelLoaded>()
            .register_type::<LevelHidden>()
            .register_type::<LevelShown>()
            .register_type::<LevelLeft>()
            .register_type::<LevelLate>()
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
                report_tickets,
                show_proxies,
                resolve_links.in_set(ResolveLinks),
                find_late,
                write_diagnostics,
            )
                .chain()
                .in_set(LevelSystems::Report),
        ),
    );
}
