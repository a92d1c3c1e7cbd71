//! Seamless worlds: the entity that a game spawns, and what becomes of it. See [`SeamlessWorld`].

mod block;
mod build;
mod caps;
mod distance;
mod index;
mod manifest;
mod network;
mod reading;
mod report;
mod select;
mod share;
mod silence;
mod slots;
mod squeeze;
mod state;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod volumes;

pub(crate) use block::{block_on_levels, is_anybody_blocked};
pub(crate) use distance::sync_distances;
pub(crate) use index::InstanceIndex;
pub(crate) use manifest::{resolve_manifests, sweep_worlds};
pub(crate) use network::list_packages;
pub(crate) use report::{report_levels, write_diagnostics};
pub(crate) use select::{LevelSelection, Now, select_levels};
pub(crate) use silence::tell_silence;
pub(crate) use volumes::volume_sync;

pub use distance::DistanceStreaming;
pub use state::LevelState;
pub use table::{Level, LevelTable, LevelWaits};

use std::sync::Arc;

use bevy_asset::{AssetLoadError, AssetPath, Handle, io::AssetReaderError};
use bevy_ecs::{
    component::Component, entity::Entity, entity_disabling::Disabled, query::Allow, reflect::ReflectComponent,
};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::InHiddenLevel;

use crate::manifest::{ManifestError, WorldManifest};

/// A filter for what counts although systems skip it: disabled, or below a hidden level. Volumes and requests that come with a level count from the
/// moment at which that is seen, so those that are new are found without it.
pub(crate) type EvenHidden = (Allow<InHiddenLevel>, Allow<Disabled>);

/// A world that is loaded level by level, as its manifest says.
///
/// Spawn it, and the rest happens by itself: when the manifest is loaded, or some frames later where it is large, the entity gets a [`LevelTable`], and for
/// each of the manifest's volumes there is an entity with a [`StreamingVolume`](crate::StreamingVolume), related to it
/// by [`VolumeOf`]. When the component is removed or the entity is despawned, all its levels leave and the manifest's
/// volumes go with it. Another handle in its place ends the one world and starts the other. Bevy's `Disabled` on the entity has no effect.
///
/// The entity's own transform plays no part: levels stand where the manifest places them, and volumes, bounds and arrivals are in that space,
/// too. So the origin of a world does not move: a game that shifts all its transforms when somebody is far out has its sources leave their levels.
///
/// ```
/// # use bevy_asset::AssetServer;
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::SeamlessWorld;
/// fn start(mut commands: Commands, assets: Res<AssetServer>) {
///     commands.spawn(SeamlessWorld(assets.load("open_world/open_world.seamless")));
/// }
/// ```
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Clone, PartialEq)]
pub struct SeamlessWorld(pub Handle<WorldManifest>);

/// On the entity of a volume that a world's manifest brought: the world.
#[derive(Component, Reflect, Clone, Debug, PartialEq, Eq)]
#[relationship(relationship_target = LevelVolumes)]
#[reflect(Component, Clone, PartialEq)]
pub struct VolumeOf(#[entities] pub Entity);

/// On a [`SeamlessWorld`] entity: the volumes that its manifest brought. They are despawned with it.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[relationship_target(relationship = VolumeOf, linked_spawn)]
#[reflect(Component, Default, Clone, PartialEq)]
pub struct LevelVolumes(Vec<Entity>);

/// Why a seamless world has no levels.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum WorldError {
    /// The manifest could not be loaded.
    #[error("the world manifest `{path}` cannot be loaded: {}", reason(error))]
    Load {
        /// The manifest.
        path: AssetPath<'static>,
        /// Bevy's error, with the loader's in it.
        error: Arc<AssetLoadError>,
    },
    /// The manifest is still being read after a long time; see
    /// [`StreamingSettings::read_timeout`](seamless_asset::StreamingSettings::read_timeout). The world comes when that ends after all.
    #[error(
        "the world manifest `{path}` has not come for {seconds} s; look at the disk or the network that it comes from, or raise `StreamingSettings::read_timeout`"
    )]
    Stalled {
        /// The manifest.
        path: AssetPath<'static>,
        /// For how many seconds.
        seconds: u64,
    },
    /// The handle points to nothing: it is the default one. Bevy gives that for an empty path, and for one that it forbids: it is absolute, or leads
    /// out of its asset folder. The world comes when it is given another handle.
    #[error(
        "the handle of the `SeamlessWorld` points to nothing. Bevy gives that one for an empty path and for paths that it forbids, which are absolute or \
         lead out of its asset folder, as `../w.seamless` does: have the manifest in that folder, load it by its path there, and give the world that \
         handle; or see `AssetPlugin::unapproved_path_mode`"
    )]
    Nowhere,
    /// The manifest was made by hand and makes no sense.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl WorldError {
    /// Whether the same manifest may come later, although nobody has cooked anything meanwhile: it could not be read, a read of it
    /// [stalled](Self::Stalled), or it is cut off, as one is that is still being written. One that is not there at all stays an error, as all
    /// others do until content is mended.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Load { error, .. } => may_pass(error),
            Self::Stalled { .. } => true,
            Self::Nowhere | Self::Manifest(_) => false,
        }
    }
}

fn may_pass(error: &AssetLoadError) -> bool {
    match error {
        AssetLoadError::AssetMetaReadError | AssetLoadError::AssetReaderError(AssetReaderError::Io(_)) => true,
        // A server that is too busy, or broken for now.
        AssetLoadError::AssetReaderError(AssetReaderError::HttpError(status)) => matches!(status, 408 | 429 | 500..),
        AssetLoadError::AssetLoaderError(error) => matches!(
            error.error().downcast_ref(),
            Some(ManifestError::Io(_) | ManifestError::CutOff)
        ),
        _ => false,
    }
}

/// What went wrong, and what mends it; our own loader's error as it is, without Bevy's notes on backtraces.
fn reason(error: &AssetLoadError) -> String {
    match error {
        AssetLoadError::AssetLoaderError(error) => error
            .error()
            .downcast_ref::<ManifestError>()
            .map_or_else(|| error.to_string(), ToString::to_string),
        AssetLoadError::AssetReaderError(_) => {
            format!("{error}; is the world cooked, and its manifest under the asset root? `seamless cook` writes it")
        }
        other => other.to_string(),
    }
}

/// On a [`SeamlessWorld`] entity whose manifest cannot be used: why. Not while it is [tried again](crate::LevelSettings::retry).
#[derive(Component, Reflect, Clone, Debug)]
#[reflect(opaque, Clone, Debug)]
pub struct WorldFailure(pub Arc<WorldError>);

impl WorldFailure {
    /// Whether a read is under way all the same.
    pub(crate) fn may_come(&self) -> bool {
        matches!(*self.0, WorldError::Stalled { .. })
    }
}
