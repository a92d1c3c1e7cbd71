//! What the messages of a peer wait for, on its way. See [`Wants`].

use std::sync::Arc;

use bevy_asset::UntypedHandle;
use bevy_platform::collections::HashMap;
use seamless_package::{ObjectId, package_map::ObjectIndex};

use super::objects::{LevelEntity, NetObjects};
use crate::{
    LinkersResource,
    linker::Linker,
    load::{ObjectLoad, ObjectRequest, OpenRequest, PackageOpen, Streamer},
};

/// The objects that messages of one peer wait for. Assets are loaded, and kept until nobody waits for them; for entities, whoever
/// decides about levels has to reveal theirs.
#[derive(Default)]
pub(super) struct Wants(HashMap<ObjectIndex, Want>);

enum Want {
    /// Which object it is says the package, which is being opened.
    Opening(PackageOpen),
    Loading(ObjectId, ObjectLoad),
    /// An asset that is live, kept so.
    Kept {
        _handle: UntypedHandle,
    },
    /// An entity, and what was told about it.
    Level(Option<Result<(), &'static str>>),
    /// It is told what became of it.
    Over,
}

/// What became of a wanted object: its id, now that it is live, or why it will not be.
pub(super) type Told = (ObjectIndex, Result<ObjectId, String>);

const NO_ASSET: &str = "it is no asset that could be loaded; refer to assets and to entities of levels";
const DESPAWNED: &str = "the entity was despawned here after its level came; tell the peer what has gone";
const UNCLEAR: &str = "several levels of its package are here, and the list does not say which is meant; list their placements, as a manifest does, or send a `StableId` in the message's body";
const STALE: &str =
    "its package is another one than was listed; put the package there that was cooked with the manifest";

impl Wants {
    /// Starts what brings an object.
    pub fn start(
        &mut self,
        object: ObjectIndex,
        objects: &NetObjects,
        linkers: &LinkersResource,
        streamer: &mut Streamer,
    ) {
        let want = if objects.packages().is_entity(object) {
            Want::Level(None)
        } else {
            asset(object, objects, linkers, streamer)
        };
        self.0.insert(object, want);
    }

    /// No message waits for it any more.
    pub fn release(&mut self, object: ObjectIndex) {
        self.0.remove(&object);
    }

    /// Looks at everything that is under way, and says what has come to an end.
    pub fn look(&mut self, objects: &NetObjects, streamer: &mut Streamer) -> Vec<Told> {
        let mut told = Vec::new();
        for (object, want) in &mut self.0 {
            if let Some(result) = want.step(*object, objects, streamer) {
                told.push((*object, result));
            }
        }
        // The order of a hash map is not the same in every run.
        told.sort_unstable_by_key(|(object, _)| *object);
        told
    }

    /// How many objects are wanted.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// The way to an asset: none if it is live, else by its name if its package is open, else through its tables.
fn asset(object: ObjectIndex, objects: &NetObjects, linkers: &LinkersResource, streamer: &mut Streamer) -> Want {
    let id = objects.packages().map().object_at(object);
    if let Some(handle) = id.and_then(|id| objects.asset(object.package, id)) {
        return Want::Kept { _handle: handle };
    }
    // Always there: the reference was compared with the list.
    let package = objects.packages().path(object.package).cloned().unwrap_or_default();
    let open = linkers.0.find(&package);
    let load = open.and_then(|linker| load(object, &linker, objects, streamer).ok());
    load.unwrap_or_else(|| {
        let priority = 0.0;
        Want::Opening(streamer.open(OpenRequest { package, priority }))
    })
}

/// Loads an export of an open package by its name.
fn load(
    object: ObjectIndex,
    linker: &Arc<Linker>,
    objects: &NetObjects,
    streamer: &mut Streamer,
) -> Result<Want, String> {
    let package = linker.package();
    let listed = objects.packages().map().package(object.package);
    if listed.map(|info| info.content_hash) != Some(package.summary().content_hash) {
        return Err(STALE.into());
    }
    let index = object.export as usize;
    let own = package
        .exports()
        .get(index)
        .filter(|export| !export.is_forced() && !export.is_class());
    let (Some(export), Some(name)) = (own, package.export_name(index)) else {
        return Err(NO_ASSET.into());
    };
    let load = streamer.load_objects(ObjectRequest::new([format!("{}#{name}", linker.path())]));
    Ok(Want::Loading(export.object_id, load))
}

impl Want {
    fn step(
        &mut self,
        object: ObjectIndex,
        objects: &NetObjects,
        streamer: &mut Streamer,
    ) -> Option<Result<ObjectId, String>> {
        let told = match self {
            Self::Over | Self::Kept { .. } => return None,
            Self::Level(told) => return entity(told, object, objects),
            Self::Opening(open) => {
                let opened = match open.result()? {
                    Ok(linker) => load(object, linker, objects, streamer),
                    Err(error) => Err(error.to_string()),
                };
                match opened {
                    Ok(want) => {
                        *self = want;
                        return None;
                    }
                    Err(why) => Err(why),
                }
            }
            Self::Loading(id, load) => match load.result()? {
                Ok(handles) => {
                    let (id, handle) = (*id, handles.first().cloned());
                    *self = handle.map_or(Self::Over, |handle| Self::Kept { _handle: handle });
                    return Some(Ok(id));
                }
                Err(error) => Err(error.to_string()),
            },
        };
        *self = Self::Over;
        Some(told)
    }
}

/// An entity comes with its level, and may go and come again with it. Each change is told once.
fn entity(
    told: &mut Option<Result<(), &'static str>>,
    object: ObjectIndex,
    objects: &NetObjects,
) -> Option<Result<ObjectId, String>> {
    let now = match objects.level_entity(object) {
        LevelEntity::Away => None,
        LevelEntity::Live(_) => Some(Ok(())),
        LevelEntity::Despawned => Some(Err(DESPAWNED)),
        LevelEntity::Unclear => Some(Err(UNCLEAR)),
    };
    if core::mem::replace(told, now) == now {
        return None;
    }
    match now? {
        Ok(()) => objects.packages().map().object_at(object).map(Ok),
        Err(why) => Some(Err(why.into())),
    }
}
