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
//! | [`StreamingSource`] | a moving point of view |
//! | [`StreamingVolume`], [`VolumeShape`] | a region that asks for levels while a source is in it |
//! | [`Levels`], [`LevelTicket`] | system parameter: load, preload, unload, release, retry by name; a request to keep |
//! | [`LevelWanted`] | on an entity of the game: the levels that it wants |
//! | [`LevelRevealed`], [`LevelLeft`], [`LevelFailed`], [`WorldFailed`] | what happened, as messages and as entity events |
//! | [`select`] | the decision itself, pure |
//! | [`LevelSettings`] | caps |
//! | [`diagnostics`] | how many levels are live, loading, wanted, failed |
//!
//! # When a level is wanted
//!
//! While a source is inside any volume that asks for it, or it is always loaded, or the app asks for it, by
//! [`Levels::load`], a [`LevelTicket`] or [`LevelWanted`]. Requests are counted ([`RequestSet`]), and the highest wins: a level is to be
//! [loaded or visible](LevelTarget). [`Levels::unload`] and other bans win over all of these for as long as they hold.
//! A volume asks on until every source is further outside than its margin, and for its unload delay after that, so
//! nothing flickers at a border. If more levels are wanted than [`LevelSettings::max_levels`], the least urgent ones
//! stay away and are counted.
//!
//! # The states of a level
//!
//! ```text
//!            target above Unloaded          target Visible
//!   Unloaded ───────────────────► Loading ────────────────► Revealing ──► Visible
//!      ▲                          │  │  │                       ▲          │  ▲
//!      │                          │  │  └─ target Loaded ─► Hidden         │  │
//!      │                          │  │                      │ │ ▲          │  │
//!      │                          │  │ error                │ │ └─ Loaded ─┤  │
//!      │                          │  ▼                      │ └── Visible ─┼──┘
//!      │                          │ Failed                  │              │
//!      │          target Unloaded ▼                         ▼              ▼
//!      └────────────────────── Leaving ◄───────────────────────────────────┘
//!        gone
//! ```
//!
//! *Revealing* is seen only of levels that come in slices, and a level in the world is *Hidden* only in apps that have
//! [opted in](seamless_asset::SeamlessAssetPlugin::sliced_levels) to that. A failed level is *Unloaded* again when it is not wanted any more, or
//! [retried](Levels::retry).
//!
//! *Loading* tells the pipeline's own stage. How far a level is to come is its [`LevelTarget`]: the highest of what volumes and the app
//! ask for. A level that is wanted again before it has left stays, and one that has left comes again.
//! A level that fails is told once, with what mends it, and left alone while it stays wanted; the others go on.
//!
//! # Systems
//!
//! All in the schedule `SpawnScene`, after `Update` and before transforms and visibility are propagated, so a level is
//! drawn in the frame of its reveal. Their time is counted in [`StreamingClock`](seamless_asset::StreamingClock).
//!
//! | set | system | does |
//! |---|---|---|
//! | [`LevelSystems::Manifest`] | resolve manifests | a loaded manifest becomes a table and volumes; a world that is over is taken down |
//! | [`LevelSystems::Select`] | resolve volumes | looks level names up, for volumes that changed |
//! | | sync wanted | takes over what entities want |
//! | | select levels | decides, and hands requests, cancellations and priorities to the pipeline |
//! | [`StreamingSystems::Reveal`](seamless_asset::StreamingSystems) | (the pipeline) | moves levels into and out of the world |
//! | [`LevelSystems::Report`] | report levels | brings tables up to date, sends messages and events |
//! | | write diagnostics | counts |
//!
//! With the [`PackageMapPlugin`](seamless_asset::net::PackageMapPlugin), a world's packages are listed for references over the network as soon
//! as its manifest is there.
//!
//! In a frame in which nothing changes, selecting allocates nothing, compares no names and looks at no volume.

#![forbid(unsafe_code)]

pub mod diagnostics;
mod events;
mod manifest;
mod plugin;
#[cfg(test)]
mod random;
mod requests;
pub mod select;
mod settings;
mod source;
mod target;
mod volume;
mod world;

pub use events::{LevelFailed, LevelHidden, LevelLeft, LevelLoaded, LevelRevealed, LevelShown, WorldFailed};
pub use manifest::{
    LevelEntry, MANIFEST_FORMAT, ManifestError, ManifestLimits, OLDEST_MANIFEST_FORMAT, PackageEntry, VolumeEntry,
    WorldManifest, WorldManifestLoader,
};
pub use plugin::{LevelSystems, SeamlessLevelPlugin};
pub use requests::{LevelTicket, LevelWanted, Levels, RequestError, RequestKind, RequestSet};
pub use settings::LevelSettings;
pub use source::StreamingSource;
pub use target::LevelTarget;
pub use volume::{
    DEFAULT_PRIORITY, DEFAULT_UNLOAD_DELAY, StreamingVolume, VolumeError, VolumeFault, VolumeMode, VolumeShape,
};
pub use world::{Level, LevelState, LevelTable, LevelVolumes, SeamlessWorld, VolumeOf, WorldError, WorldFailure};
