#![doc = include_str!("../../../README.md")]
#![forbid(unsafe_code)]

pub use seamless_asset as asset;
pub use seamless_cue as cue;
pub use seamless_level as level;
#[cfg(feature = "render")]
pub use seamless_render as render;

use bevy_app::{PluginGroup, PluginGroupBuilder};
use seamless_asset::SeamlessAssetPlugin;
use seamless_cue::CuePlugin;
use seamless_level::SeamlessLevelPlugin;
#[cfg(feature = "render")]
use seamless_render::SeamlessRenderPlugin;

/// What a game needs. Add it after Bevy's `DefaultPlugins`.
///
/// | plugin | job |
/// |---|---|
/// | [`SeamlessAssetPlugin`] | packages to live objects, within a frame budget |
/// | [`SeamlessLevelPlugin`] | which levels are wanted, from volumes, sources and requests |
/// | [`CuePlugin`] | gameplay cues, whose notifies are loaded when they are needed |
/// | [`SeamlessRenderPlugin`] | materials, and reveals that wait for the GPU |
///
/// To have textures sized by what the screen shows, add a [`MipPlugin`](seamless_render::mip::MipPlugin).
///
/// A game with attributes, effects and abilities adds an [`AbilityPlugin`](seamless_cue::AbilityPlugin). One whose code refers to content directly adds a
/// [`SeamlessStartupPlugin`](seamless_asset::SeamlessStartupPlugin) with the path of its startup package as well.
#[cfg(feature = "render")]
#[derive(Default)]
pub struct SeamlessPlugins;

#[cfg(feature = "render")]
impl PluginGroup for SeamlessPlugins {
    fn build(self) -> PluginGroupBuilder {
        PluginGroupBuilder::start::<Self>()
            .add(SeamlessAssetPlugin::default())
            .add(SeamlessLevelPlugin::default())
            .add(CuePlugin::default())
            .add(SeamlessRenderPlugin)
    }
}

/// What a server or a test needs: no renderer is linked (turn the feature `render` off), and what only a client needs is
/// read with its package, but not decoded. Needs Bevy's `AssetPlugin`, and `TransformPlugin`, which Bevy's `MinimalPlugins` do not have; of
/// these, `TaskPoolPlugin`.
///
/// | plugin | job |
/// |---|---|
/// | [`SeamlessAssetPlugin::server`] | packages to live objects, client-only objects and columns not decoded |
/// | [`SeamlessLevelPlugin::server`], which follows all players | which levels are wanted |
/// | [`CuePlugin::server`] | cues are nothing: no notify is loaded |
///
/// To set a plugin, begin with its `server`, or it is a client's:
///
/// ```
/// # use bevy_app::PluginGroup;
/// # use bevy_seamless::{SeamlessMinimalPlugins, asset::SeamlessAssetPlugin};
/// SeamlessMinimalPlugins.set(SeamlessAssetPlugin { sliced_levels: true, ..SeamlessAssetPlugin::server() });
/// ```
#[derive(Default)]
pub struct SeamlessMinimalPlugins;

impl PluginGroup for SeamlessMinimalPlugins {
    fn build(self) -> PluginGroupBuilder {
        PluginGroupBuilder::start::<Self>()
            .add(SeamlessAssetPlugin::server())
            .add(SeamlessLevelPlugin::server())
            .add(CuePlugin::server())
    }
}

/// The names that most games use.
#[doc(hidden)]
pub mod prelude {
    pub use crate::SeamlessMinimalPlugins;
    #[cfg(feature = "render")]
    pub use crate::SeamlessPlugins;
    pub use seamless_asset::codec::Migrations;
    pub use seamless_asset::net::{
        ConnectionFailed, NetMessage, NetObject, NetObjects, NetPackages, PackageConnection, PackageMapPlugin,
        PackageMapSystems, PackagesAgreed, PackagesRefused,
    };
    pub use seamless_asset::{
        BlockingLoads, DialogueVariant, DialogueVariants, InHiddenLevel, InstanceData, InstanceEvent, InstanceInfo,
        InstanceRequest, InstanceTarget, KeepInWorld, LevelAsset, LevelEntities, LevelHider, LevelInstance, LoadError,
        LoadPolicy, LoadSoftBlocking, ObjectLoad, ObjectRegistries, ObjectRequest, ObjectScan, OfLevel, PostLoad,
        PreloadAppExt, PreloadEvent, PreloadProgress, PreloadSet, PreloadSets, PreloadSource, PreloadZone, ReloadLoad,
        ReloadPolicy, ReloadReport, ReloadRequest, Reloaded, SeamlessAssetApp, SeamlessAssetPlugin,
        SeamlessStartupPlugin, SoftHandle, SoftObjects, StableId, StableIds, StagedLevel, StartupContent,
        StartupReport, Streamable, StreamableEnd, StreamableFinished, StreamableRequest, StreamableSettings,
        Streamables, Streamer, StreamingSettings, StreamingStats, placed_row,
    };
    pub use seamless_cue::{
        CueConfig, CueContext, CueExecuted, CueLibraries, CueListener, CueNotify, CueOnActive, CuePlugin, CueRemoved,
        CueReport, CueStats, CueWhileActive, Cues, FireCues, GameplayTag, SuppressCues, TagSet, TranslateCues,
        log_cue_report,
    };
    #[cfg(feature = "overlay")]
    pub use seamless_level::overlay::{OverlaySettings, SeamlessOverlayPlugin};
    pub use seamless_level::{
        Arrival, ArrivalPoint, DistanceStreaming, LateLevel, LateLevels, Level, LevelEntry, LevelFailed, LevelHidden,
        LevelLate, LevelLeft, LevelLoaded, LevelProxy, LevelRequest, LevelRevealed, LevelSettings, LevelShown,
        LevelState, LevelStates, LevelSystems, LevelTable, LevelTarget, LevelTicket, LevelWaits, LevelWanted, Levels,
        LinkedEntity, NewInstance, RequestError, RequestKind, RetryPolicy, SeamlessLevelPlugin, SeamlessWorld,
        SoftEntities, SoftEntity, SoftLink, SourceMotion, SourceShape, StreamingProgress, StreamingResult,
        StreamingSource, StreamingStatus, StreamingVolume, VolumeEntry, VolumeMode, VolumeShape, WorldFailed,
        WorldFailure, WorldManifest, level_is_visible,
    };
    #[cfg(all(feature = "overlay", feature = "render"))]
    pub use seamless_render::mip::{MipOverlayPlugin, MipOverlaySettings};
    #[cfg(feature = "render")]
    pub use seamless_render::{
        SeamlessRenderApp,
        mip::{
            MipApp, MipFadePlugin, MipFades, MipFeedback, MipFeedbackPlugin, MipForce, MipGroup, MipGroups, MipPlugin,
            MipPoolTooSmall, MipQuality, MipSettings, MipSize, MipStats, MipTruth, MipViewpoint, Mips, MipsOverBudget,
            StreamedImage, TexturePackage,
        },
    };
}
