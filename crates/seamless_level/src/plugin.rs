//! The plugin and its place in the frame. See [`SeamlessLevelPlugin`].

use bevy_app::{App, Plugin, SpawnScene};
use bevy_asset::AssetApp;
use bevy_diagnostic::{Diagnostic, RegisterDiagnostic};
use bevy_ecs::schedule::{IntoScheduleConfigs, SystemSet, common_conditions::resource_exists};
use seamless_asset::{StreamingSystems, net::NetPackages};

use crate::{
    diagnostics::{FAILED, HIDDEN, LOADING, VISIBLE, WANTED},
    events::{LevelFailed, LevelHidden, LevelLeft, LevelLoaded, LevelRevealed, LevelShown, WorldFailed},
    manifest::{WorldManifest, WorldManifestLoader},
    requests::{LevelRequests, LevelWanted, sync_wanted},
    settings::LevelSettings,
    source::StreamingSource,
    volume::StreamingVolume,
    world::{
        InstanceIndex, SeamlessWorld, list_packages, report_levels, resolve_manifests, select_levels, sync_volumes,
        write_diagnostics,
    },
};

/// Seamless worlds, streaming volumes and streaming sources.
///
/// Needs Bevy's `AssetPlugin` and [`SeamlessAssetPlugin`](seamless_asset::SeamlessAssetPlugin), added before it, and
/// something that propagates transforms, Bevy's `TransformPlugin` for instance.
#[derive(Clone, Debug)]
pub struct SeamlessLevelPlugin {
    /// See [`LevelSettings::max_levels`].
    pub max_levels: usize,
    /// See [`LevelSettings::max_requests`].
    pub max_requests: usize,
}

impl Default for SeamlessLevelPlugin {
    fn default() -> Self {
        let LevelSettings {
            max_levels,
            max_requests,
        } = LevelSettings::default();
        Self {
            max_levels,
            max_requests,
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
        app.insert_resource(LevelSettings {
            max_levels: self.max_levels,
            max_requests: self.max_requests,
        })
        .init_resource::<LevelRequests>()
        .init_resource::<InstanceIndex>()
        .init_asset::<WorldManifest>()
        .init_asset_loader::<WorldManifestLoader>()
        .register_type::<WorldManifest>()
        .register_type::<SeamlessWorld>()
        .register_type::<StreamingVolume>()
        .register_type::<StreamingSource>()
        .register_type::<LevelWanted>()
        .register_type::<LevelSettings>()
        .add_message::<LevelRevealed>()
        .add_message::<LevelLoaded>()
        .add_message::<LevelHidden>()
        .add_message::<LevelShown>()
        .add_message::<LevelLeft>()
        .add_message::<LevelFailed>()
        .add_message::<WorldFailed>();
        for path in [VISIBLE, HIDDEN, LOADING, WANTED, FAILED] {
            app.register_diagnostic(Diagnostic::new(path).with_suffix(" levels"));
        }
        add_systems(app);
    }
}

fn add_systems(app: &mut App) {
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
            (resolve_manifests, list_packages.run_if(resource_exists::<NetPackages>))
                .chain()
                .in_set(LevelSystems::Manifest),
            (sync_volumes, sync_wanted, select_levels)
                .chain()
                .in_set(LevelSystems::Select),
            (report_levels, write_diagnostics).chain().in_set(LevelSystems::Report),
        ),
    );
}
