//! The seamless world.

#![forbid(unsafe_code)]

mod manifest;
mod select;
mod source;
mod volume;

pub use manifest::{
    LevelEntry, MANIFEST_FORMAT, ManifestError, ManifestLimits, VolumeEntry, WorldManifest, WorldManifestLoader,
};
pub use source::StreamingSource;
pub use volume::{StreamingVolume, VolumeError, VolumeFault, VolumeShape};
