//! One asset as bytes.

use core::any::TypeId;
use std::sync::Arc;

use bevy::animation::AnimationClip;
use bevy::asset::{LoadState, UntypedHandle};
use bevy::prelude::*;
use bevy::tasks::block_on;
use seamless_asset::assets::ImageCodec;
use seamless_asset::codec::{BulkUse, EncodeContext, EncodedAsset, EntityRows};
use seamless_package::Role;

use super::{AssetKey, AssetName, AssetWalk, RawObject, StoredTold};
use crate::audio::with_mend;
use crate::graph::recorder::file_and_label;
use crate::graph::state::Settings;
use crate::load::without_trace;
use crate::mesh;
use crate::mesh_step::{self, MeshUse};
use crate::report::ContentError;

/// The settings that whoever refers to `file` has it loaded with.
pub(super) fn settings(walk: &AssetWalk, file: &str, key: &AssetKey, handle: &UntypedHandle) -> Settings {
    let Some(transform) = handle.meta_transform() else {
        return Settings::Own;
    };
    let server = walk.world.resource::<AssetServer>();
    match block_on(server.get_path_asset_loader(file.to_owned())) {
        Ok(loader) if key.path() != file || loader.asset_type_id() == handle.type_id() => {
            let mut meta = loader.default_meta();
            transform(&mut *meta);
            // Many have the same ones.
            let Ok(text) = String::from_utf8(meta.serialize()) else {
                return Settings::Unknown;
            };
            // With a label, or where the file has settings of its own that are changed: more than can be written down.
            if key.path() != file || walk.recorder.has_meta(file) {
                Settings::Through(text.as_str().into())
            } else {
                Settings::Given(text.as_str().into())
            }
        }
        _ => Settings::Unknown,
    }
}

/// The mesh, if it is one.
pub(super) fn mesh_of<'w>(walk: &AssetWalk<'w>, handle: &UntypedHandle) -> Option<&'w Mesh> {
    let id = handle.id().try_typed::<Mesh>().ok()?;
    walk.world.get_resource::<Assets<Mesh>>()?.get(id)
}

/// Centre and half extents.
pub(super) fn mesh_bounds(mesh: &Mesh) -> Option<([f32; 3], [f32; 3])> {
    let aabb = mesh::aabb(mesh)?;
    Some((aabb.center.into(), aabb.half_extents.into()))
}

pub(super) fn content_error(walk: &AssetWalk, key: &AssetKey, referrer: &str, message: &str) -> ContentError {
    let (file, object) = match key.name() {
        AssetName::Path { path, .. } => {
            let (file, label) = file_and_label(path);
            (file.to_owned(), label.unwrap_or_default().to_owned())
        }
        AssetName::Anonymous { .. } | AssetName::OfLevel { .. } => (walk.source.to_owned(), key.path()),
    };
    let message = with_mend(&file, message.to_owned());
    ContentError::new(
        file,
        object,
        format!("{message} (needed by {referrer} in `{}`)", walk.source),
    )
}

/// An asset as bytes, with what its codec says of it.
pub(super) struct Encoded {
    pub object: RawObject,
    pub role: Role,
    /// When its payloads are read, as its codec and its mark have it.
    pub bulk_use: BulkUse,
    pub is_marked: bool,
    pub warnings: Vec<String>,
    pub told: Option<Box<StoredTold>>,
}

/// Whether an asset is there, or why it is not.
pub(super) fn ready(walk: &AssetWalk, handle: &UntypedHandle) -> Result<(), String> {
    let state = walk.world.resource::<AssetServer>().load_state(handle.id());
    match state {
        LoadState::Failed(cause) => Err(format!(
            "failed to load: {}; correct the path or the file, or remove the reference",
            without_trace(&cause)
        )),
        LoadState::Loading => {
            let message =
                "was still loading when its level was given up; check the file, then mend the level's other errors";
            Err(message.into())
        }
        LoadState::NotLoaded | LoadState::Loaded => Ok(()),
    }
}

/// Whether it is an image, and there, and no codec of the game's own encodes images.
pub(super) fn is_image(walk: &AssetWalk, handle: &UntypedHandle) -> bool {
    let codec = walk.codecs.asset(TypeId::of::<Image>());
    if !codec.is_some_and(|codec| codec.is::<ImageCodec>()) {
        return false;
    }
    let id = handle.id().try_typed::<Image>().ok();
    let images = walk.world.get_resource::<Assets<Image>>();
    id.zip(images).is_some_and(|(id, images)| images.contains(id))
}

/// Encodes one asset; gives it with the handles that it refers to. A mesh is put in order for a use, if it has one.
pub(super) fn encode(
    walk: &AssetWalk,
    handle: &UntypedHandle,
    ordered_for: Option<MeshUse>,
) -> Result<(Encoded, Vec<UntypedHandle>), String> {
    let Some(codec) = walk.codecs.asset(handle.type_id()) else {
        return Err(format!(
            "assets of type `{}` have no codec; give them one (`AssetCodec`), or add \
             `app.cook_by_reflection::<…>()` to the cooker and the game",
            type_path(walk, handle.type_id())
        ));
    };
    let no_entities = EntityRows::default();
    let mut context = EncodeContext::new(walk.registry, &no_entities);
    let encoded = match ordered_for.zip(mesh_of(walk, handle)) {
        Some((usage, mesh)) => mesh_step::encode(mesh, usage, &mut context).map(Some),
        None => codec.encode(walk.world, handle.id(), &mut context),
    };
    let marks = |encoded: &EncodedAsset| codec.marks(walk.world, handle.id(), encoded);
    let encoded = encoded.map(|encoded| encoded.map(|encoded| (marks(&encoded), encoded)));
    match encoded {
        Ok(Some((is_marked, encoded))) => Ok((
            Encoded {
                warnings: warnings(walk, handle, &mut context),
                told: StoredTold::of(context.take_told()),
                object: RawObject {
                    schema: Arc::new(codec.schema(walk.registry)),
                    data: encoded.data,
                    bulk: encoded.bulk,
                },
                role: codec.role,
                bulk_use: codec.bulk.of_object(is_marked),
                is_marked,
            },
            context.into_references(),
        )),
        Ok(None) => Err("there is no such asset; load it from a file, or remove the reference".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// What the codec says, and what was said about the channels of a clip.
fn warnings(walk: &AssetWalk, handle: &UntypedHandle, context: &mut EncodeContext) -> Vec<String> {
    let clip = handle.id().try_typed::<AnimationClip>().ok();
    let notes = clip.map_or(&[][..], |clip| walk.clips.notes(clip));
    let told = context.take_warnings().into_iter().map(|warning| warning.to_string());
    notes.iter().cloned().chain(told).collect()
}

/// The stable name of an asset type, as far as this app knows one.
pub(super) fn type_path(walk: &AssetWalk, type_id: TypeId) -> String {
    if let Some(codec) = walk.codecs.asset(type_id) {
        return codec.type_path.to_owned();
    }
    // An asset need not be reflected itself, but whoever refers to it reflects a `Handle` of it.
    let handles = walk.registry.iter().filter(|registration| {
        let handle = registration.data::<bevy::asset::ReflectHandle>();
        handle.is_some_and(|handle| handle.asset_type_id() == type_id)
    });
    let path = handles.map(|registration| registration.type_info().type_path()).min();
    let path = path.unwrap_or("an unknown type");
    let inner = path.split_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
    inner.unwrap_or(path).to_owned()
}
