//! Levels that soft handles name: prefabs. See [`LevelAsset`].

use bevy_asset::{Asset, AssetPath};
use bevy_reflect::TypePath;

use crate::{load::InstanceRequest, registry::FoundObject};

/// What a soft handle of a scene is of: `SoftHandle<LevelAsset>` names a scene (`smoke.scn.ron`, `house.glb#Scene1`), which is cooked as a level's
/// package, and placed as often as one likes. There are no values of it.
///
/// [`SoftObjects::level`](super::SoftObjects::level) leads to what the [`Streamer`](crate::Streamer) places; to load it softly loads the assets of its
/// entities ahead, so that only its table is left to read.
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_transform::components::Transform;
/// # use seamless_asset::{InstanceRequest, LevelAsset, SoftHandle, SoftObjects, Streamer};
/// fn place_smoke(soft: SoftObjects, mut streamer: ResMut<Streamer>) {
///     let smoke = SoftHandle::<LevelAsset>::new("effects/smoke.scn.ron");
///     if let Some(request) = soft.level(&smoke) {
///         let placement = Transform::from_xyz(4.0, 0.0, 0.0);
///         streamer.load(InstanceRequest { placement, ..request });
///     }
/// }
/// ```
#[derive(Asset, TypePath, Debug)]
#[type_path = "seamless"]
#[type_name = "Level"]
pub struct LevelAsset(());

/// How a level of a registry is asked for; none if it is no level.
pub(super) fn request(found: &FoundObject) -> Option<InstanceRequest> {
    let level = found.object.level.as_ref()?;
    let folder = found.registry.folder();
    let path = |package: &str| {
        AssetPath::try_parse(&format!("{folder}{package}"))
            .ok()
            .map(AssetPath::into_owned)
    };
    let dependencies = level.dependencies.iter().map(|package| path(package));
    Some(InstanceRequest {
        name: found.object.path.to_string(),
        package: path(&found.object.package)?,
        dependencies: dependencies.collect::<Option<_>>()?,
        ..InstanceRequest::default()
    })
}
