//! The seamless world: levels that come and go as the player moves, in one Bevy `World`.
//!
//! A large world does not fit into memory, and must not be loaded at once. It is cut into *levels*, cooked into one
//! package each, and a *manifest* says where they stand and which regions ask for them. This crate loads the manifest,
//! watches the moving points from which the world is seen, decides in each frame which levels are wanted, and asks the
//! pipeline of [`seamless_asset`] for the difference. The pipeline does the rest: a level is in the world whole, or not
//! at all.
//!
//! ```no_run
//! # use bevy_app::prelude::*;
//! # use bevy_asset::{AssetPlugin, AssetServer};
//! # use bevy_ecs::prelude::*;
//! # use bevy_transform::TransformPlugin;
//! # use seamless_asset::SeamlessAssetPlugin;
//! use seamless_level::{LevelRevealed, SeamlessLevelPlugin, SeamlessWorld, StreamingSource};
//!
//! fn start(mut commands: Commands, assets: Res<AssetServer>) {
//!     commands.spawn(SeamlessWorld(assets.load("open_world/open_world.seamless")));
//!     commands.spawn(StreamingSource::default()); // the player, or the camera: its transform is what counts
//! }
//!
//! fn welcome(revealed: On<LevelRevealed>) {
//!     bevy_log::info!("{} is here, {} entities", revealed.level, revealed.entities);
//! }
//!
//! App::new()
//!     .add_plugins((TaskPoolPlugin::default(), AssetPlugin::default(), TransformPlugin))
//!     .add_plugins((SeamlessAssetPlugin::default(), SeamlessLevelPlugin::default()))
//!     .add_systems(Startup, start)
//!     .add_observer(welcome)
//!     .run();
//! ```
//!
//! # Parts
//!
//! | what | for |
//! |---|---|
//! | [`SeamlessWorld`] | the entity to spawn: a world, by its [`WorldManifest`] |
//! | [`LevelTable`], [`Level`] | on that entity, once the manifest is loaded: where each level is |
//! | [`StreamingSource`], [`SourceShape`] | a moving point of view: what it sees around itself, how far levels may come for it |
//! | [`SourceMotion`] | how fast it goes; where it will be in a moment asks as well |
//! | [`StreamingVolume`], [`VolumeShape`], [`VolumeMode`] | a region that asks for levels while a source is in it |
//! | [`DistanceStreaming`] | levels that come by their distance, without volumes |
//! | [`Levels`], [`LevelTicket`] | system parameter: load, preload, unload, release, retry by name; a request to keep |
//! | [`LevelWanted`] | on an entity of the game: the levels that it wants |
//! | [`Levels::prepare`], [`ArrivalPoint`], [`Arrival`] | a place that is got ready before somebody comes to it; a future tells when |
//! | [`StreamingStatus`], [`StreamingProgress`] | system parameter: whether all that a source asks for is there |
//! | [`NewInstance`] | a further placement of a level, added while the world runs |
//! | [`SoftEntity`], [`SoftLink`], [`LinkedEntity`], [`SoftEntities`] | an entity of a level by name, from another level or from game code |
//! | [`LevelRevealed`], [`LevelLeft`], [`LevelFailed`], [`WorldFailed`] | what happened, as messages and as entity events |
//! | [`LevelProxy`] | on an entity that is seen while a level is not: its HLOD, or imposter |
//! | [`LateLevels`], [`LevelLate`], [`LevelWaits`] | levels that are not there although somebody is; what a level waited for on its way |
//! | [`select`] | the decision itself, pure |
//! | [`LevelSettings`], [`RetryPolicy`] | caps; when what failed is tried again |
//! | `overlay::SeamlessOverlayPlugin`, with the feature `overlay` | all of it, drawn over the picture |
//! | [`diagnostics`] | how many levels are visible, hidden, loading, wanted, left out, late, failed |
//!
//! # When a level is wanted
//!
//! While a source is inside any volume that asks for it, or near enough by [`DistanceStreaming`], or it is always loaded, or the app asks for it, by
//! [`Levels::load`], a [`LevelTicket`] or [`LevelWanted`]. Requests are counted ([`RequestSet`]), and the highest wins: a level is to be
//! [loaded or visible](LevelTarget). [`Levels::unload`] and other bans win over all of these for as long as they hold.
//! A volume asks on until every source is further outside than its margin, and for its unload delay after that, so
//! nothing flickers at a border. If more levels are wanted than [`LevelSettings::max_levels`] and
//! [`max_bytes`](LevelSettings::max_bytes) allow, the least urgent ones stay away and are counted.
//!
//! A source asks where it is, where it will be [in a second](StreamingSource::ahead), and for
//! [no more than its target](StreamingSource::target). What is nearest, ahead and in view comes first. How soon somebody comes to a level
//! that is not there is told in [`StreamingUrgency`](seamless_asset::StreamingUrgency), for which the frame's budget grows.
//!
//! # A teleport
//!
//! [Prepare](Levels::prepare) the place, go on where the player is, and move when all is there; [`Arrival`] has the example. What nobody may be
//! without even for a frame, the ground for instance, is in a volume that [blocks](VolumeMode::BlockUntilLoaded) as well.
//!
//! # The states of a level
//!
//! The usual way is *Unloaded*, *Loading*, *Visible*, *Leaving*, *Unloaded*. All the ways there are:
//!
//! ```text
//! Unloaded ──┬─► Loading      it is wanted, or tried again
//!
//! Loading ───┬─► Hidden       all of it is loaded, and its target is Loaded
//!            ├─► Revealing    its target is Visible, and it comes in slices
//!            ├─► Visible      it came in one frame
//!            ├─► Failed       it could not be loaded
//!            ├─► Leaving      it is not wanted any more
//!            └─► Unloaded     it was cancelled before it was wanted again
//!
//! Hidden ────┬─► Loading      it is to be shown, and waits for its turn
//!            ├─► Revealing    the same, and its turn has come
//!            ├─► Visible      it was in the world, and is shown again
//!            ├─► Failed       what it needs could not be loaded
//!            ├─► Leaving      it is not wanted any more
//!            └─► Unloaded     it was gone before it was wanted again
//!
//! Revealing ─┬─► Visible      all of it is there
//!            ├─► Loading      it is decoded again, or is only to be loaded
//!            ├─► Hidden       it is only to be loaded
//!            ├─► Failed       what it needs could not be loaded
//!            ├─► Leaving      it is not wanted any more
//!            └─► Unloaded     it was cancelled before it was wanted again
//!
//! Visible ───┬─► Hidden       its target is Loaded
//!            ├─► Leaving      it is not wanted any more
//!            └─► Unloaded     others despawned it, or it was gone before it was wanted again
//!
//! Leaving ───┬─► Unloaded     it is gone
//!            ├─► Loading      it is wanted again before it is gone, and is where it was: on its way,
//!            ├─► Revealing    coming in slices,
//!            ├─► Hidden       in the world and hidden,
//!            └─► Visible      or in the world
//!
//! Failed ────┬─► Unloaded     it is not wanted any more, or is to be tried again
//! ```
//!
//! *Revealing* is seen only of levels that come in slices, and a level in the world is *Hidden* only in apps that have
//! [opted in](seamless_asset::SeamlessAssetPlugin::sliced_levels) to that. A level that failed is tried again by itself ([`LevelSettings::retry`])
//! or [because the app says so](Levels::retry).
//!
//! *Loading* tells the pipeline's own stage. How far a level is to come is its [`LevelTarget`]: the highest of what volumes and the app
//! ask for. A level that is wanted again before it has left stays, and one that has left comes again.
//! A level that fails is told, with what mends it. If the reason may pass, and for all that the program knows a file that is not there may still
//! come, it is tried again a few times, later and later; the log has each time, [`LevelFailed`] the first and the last. Then it is left alone while
//! it stays wanted. The others go on.
//!
//! # Systems
//!
//! All in the schedule `SpawnScene`, after `Update` and before transforms and visibility are propagated, so a level is
//! drawn in the frame of its reveal. Their time is counted in [`StreamingClock`](seamless_asset::StreamingClock).
//!
//! | set | system | does |
//! |---|---|---|
//! | [`LevelSystems::Manifest`] | resolve manifests | a loaded manifest becomes a table and volumes; a world that is over is taken down |
//! | | sweep worlds | despawns the volumes that such worlds have left, bit by bit |
//! | [`LevelSystems::Select`] | sync instances | puts levels that were added into tables, and takes those out that were removed |
//! | | resolve volumes | looks level names up, for volumes that changed, or that name levels which were added or removed |
//! | | sync distances | makes what [`DistanceStreaming`] says of a world or level that changed into volumes |
//! | | sync wanted | takes over what entities want |
//! | | select levels | decides, and hands requests, cancellations and priorities to the pipeline |
//! | | block on levels | only where one is missing that nobody may be without: loads it |
//! | | tell unknown, tell silence | log names that no world has, and once why nothing was asked for in the first seconds |
//! | [`StreamingSystems::Reveal`](seamless_asset::StreamingSystems) | (the pipeline) | moves levels into and out of the world |
//! | [`LevelSystems::Report`] | report levels | brings tables up to date, sends messages and events |
//! | | report arrivals | tells who waits for a place |
//! | | resolve links | [`SoftLink`]s lead where they can |
//! | | find late | keeps the ledger of levels that are late |
//! | | write diagnostics | counts |
//!
//! With the [`PackageMapPlugin`](seamless_asset::net::PackageMapPlugin), a world's packages are listed for references over the network as soon
//! as its manifest is there.
//!
//! In a frame in which nothing changes, selecting allocates nothing, compares no names and looks at no volume, and no system looks at a level.

#![forbid(unsafe_code)]

mod across;
mod arrival;
pub mod diagnostics;
mod events;
mod instances;
mod late;
mod manifest;
#[cfg(feature = "overlay")]
pub mod overlay;
mod plugin;
mod proxy;
#[cfg(test)]
mod random;
mod requests;
mod retry;
pub mod select;
mod settings;
mod source;
mod target;
mod volume;
mod world;

pub use across::{LinkedEntity, SoftEntities, SoftEntity, SoftLink};
pub use arrival::{Arrival, ArrivalPoint, StreamingProgress, StreamingResult, StreamingStatus};
pub use events::{LevelFailed, LevelHidden, LevelLeft, LevelLoaded, LevelRevealed, LevelShown, WorldFailed};
pub use instances::NewInstance;
pub use late::{LateLevel, LateLevels, LevelLate};
pub use manifest::{
    LevelEntry, MANIFEST_FORMAT, ManifestError, ManifestLimits, OLDEST_MANIFEST_FORMAT, PackageEntry, VolumeEntry,
    WorldManifest, WorldManifestLoader,
};
pub use plugin::{LevelSystems, SeamlessLevelPlugin};
pub use proxy::LevelProxy;
pub use requests::{
    LevelRequest, LevelStates, LevelTicket, LevelWanted, Levels, RequestError, RequestKind, RequestSet,
    level_is_visible,
};
pub use retry::RetryPolicy;
pub use settings::LevelSettings;
pub use source::{DEFAULT_AHEAD, DEFAULT_LOOK_WEIGHT, SourceMotion, SourceShape, StreamingSource};
pub use target::LevelTarget;
pub use volume::{
    DEFAULT_PRIORITY, DEFAULT_UNLOAD_DELAY, StreamingVolume, VolumeError, VolumeFault, VolumeMode, VolumeShape,
};
pub use world::{
    DistanceStreaming, Level, LevelState, LevelTable, LevelVolumes, LevelWaits, SeamlessWorld, VolumeOf, WorldError,
    WorldFailure,
};
