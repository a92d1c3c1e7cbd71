//! What holds up the calling thread. See [`LoadSoftBlocking`].

use bevy_asset::{Asset, Handle};
use bevy_ecs::world::World;

use super::{SoftError, SoftHandle, SoftPath, SoftTable, objects::get_if_loaded};
use crate::{
    load::{BlockingLoads, ObjectRequest},
    registry::ObjectRegistries,
};

/// Loads what soft handles name on the calling thread. **Each call that finds it not loaded is a hitch**: it is logged as a warning with its
/// caller and what it took, and counted in [`StreamingStats::blocking_loads`](crate::StreamingStats::blocking_loads). What is there already
/// costs nothing, and is not counted.
pub trait LoadSoftBlocking {
    /// Loads an object.
    ///
    /// # Errors
    /// When no registry that is loaded has the path, when it is of another type, and when the load fails.
    #[track_caller]
    fn load_soft_blocking<T: Asset>(&mut self, handle: &SoftHandle<T>) -> Result<Handle<T>, SoftError>;
}

impl LoadSoftBlocking for World {
    #[track_caller]
    fn load_soft_blocking<T: Asset>(&mut self, handle: &SoftHandle<T>) -> Result<Handle<T>, SoftError> {
        if handle.is_empty() {
            return Err(SoftError::Empty);
        }
        if let Some(loaded) = get_if_loaded(self, handle) {
            return Ok(loaded);
        }
        let path = object_path(self, handle)?;
        let load = self.load_objects_blocking(ObjectRequest::new([path]));
        let load = load.map_err(|error| SoftError::Load {
            path: handle.path().to_owned(),
            error,
        })?;
        let found = load.result().and_then(Result::ok).and_then(<[_]>::first).cloned();
        let found = found.ok_or_else(|| unknown(self, handle.path()))?;
        let type_id = found.type_id();
        found.try_typed::<T>().map_err(|_| SoftError::Type {
            path: handle.path().to_owned(),
            wanted: T::type_path(),
            found: type_name(self, type_id),
        })
    }
}

/// Where what a handle names lies.
fn object_path<T: Asset>(world: &World, handle: &SoftHandle<T>) -> Result<String, SoftError> {
    let path = SoftPath::from(handle);
    let registries = world.get_resource::<ObjectRegistries>();
    let found = registries.and_then(|registries| registries.resolve(&path));
    match found {
        Some(found) if !found.object.is_level() => Ok(found.object_path()),
        Some(found) => Err(SoftError::Type {
            path: handle.path().to_owned(),
            wanted: T::type_path(),
            found: found.object.type_path.to_string(),
        }),
        None if SoftTable::is_object_path(handle.path()) => Ok(handle.path().to_owned()),
        None => Err(unknown(world, handle.path())),
    }
}

fn unknown(world: &World, path: &str) -> SoftError {
    SoftError::Unknown {
        path: path.to_owned(),
        registries: world
            .get_resource::<ObjectRegistries>()
            .map_or(0, ObjectRegistries::len),
    }
}

/// What a type of assets is called.
pub(crate) fn type_name(world: &World, type_id: core::any::TypeId) -> String {
    let codecs = world.get_resource::<crate::codec::Codecs>();
    let name = codecs.and_then(|codecs| codecs.read().asset(type_id).map(|codec| codec.type_path.to_owned()));
    name.unwrap_or_else(|| "another type".into())
}
