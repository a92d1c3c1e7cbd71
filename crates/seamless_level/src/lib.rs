//! The seamless world.

#![forbid(unsafe_code)]

pub mod diagnostics;
mod events;
mod manifest;
mod plugin;
mod requests;
pub mod select;
mod settings;
mod source;
mod volume;
mod world;

pub use events::{LevelFailed, LevelLeft, LevelRevealed, WorldFailed};
pub use manifest::{
    LevelEntry, MANIFEST_FORMAT, ManifestError, ManifestLimits, VolumeEntry, WorldManifest, WorldManifestLoader,
};
pub use plugin::{LevelSystems, SeamlessLevelPlugin};
pub use requests::{Levels, RequestError};
pub use select::LevelRequest;
pub use settings::LevelSettings;
pub use source::StreamingSource;
pub use volume::{StreamingVolume, VolumeError, VolumeFault, VolumeShape};
pub use world::{Level, LevelState, LevelTable, LevelVolumes, SeamlessWorld, VolumeOf, WorldError, WorldFailure};
