//! Seamless worlds: the entity that a game spawns, and what becomes of it. See [`SeamlessWorld`].

mod block;
mod caps;
mod distance;
mod index;
mod manifest;
mod network;
mod report;
mod select;
mod share;
mod slots;
mod squeeze;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod volumes;

pub(crate) use block::{block_on_levels, is_anybody_blocked};
pub(crate) use distance::sync_distances;
pub(crate) use index::InstanceIndex;
pub(crate) use manifest::resolve_manifests;
pub(crate) use network::list_packages;
pub(crate) use report::{report_levels, write_diagnostics};
pub(crate) use select::{LevelSelection, Now, select_levels};
pub(crate) use volumes::sync_volumes;

pub use distance::DistanceStreaming;
pub use table::{Level, LevelState, LevelTable};

use std::sync::Arc;

use bevy_asset::{AssetLoadError, AssetPath, Handle};
use bevy_ecs::{component::Component, entity::Entity, reflect::ReflectComponent};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::manifest::{ManifestError, WorldManifest};

/// A world that is loaded level by level, as its manifest says.
///
/// Spawn it, and the rest happens by itself: when the manifest is loaded, the entity gets a [`LevelTable`], and for
/// each of the manifest's volumes there is an entity with a [`StreamingVolume`](crate::StreamingVolume), related to it
/// by [`VolumeOf`]. When the component is removed or the entity is despawned, all its levels leave and the manifest's
/// volumes go with it. Another handle in its place ends the one world and starts the other.
///
/// The entity's own transform plays no part: levels stand where the manifest places them.
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
#[derive(Component, Clone, Debug, PartialEq, Eq)]
#[relationship(relationship_target = LevelVolumes)]
pub struct VolumeOf(pub Entity);

/// On a [`SeamlessWorld`] entity: the volumes that its manifest brought. They are despawned with it.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq)]
#[relationship_target(relationship = VolumeOf, linked_spawn)]
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
    /// The manifest was made by hand and makes no sense.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
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

/// On a [`SeamlessWorld`] entity whose manifest cannot be used: why.
#[derive(Component, Clone, Debug)]
pub struct WorldFailure(pub Arc<WorldError>);
