//! What is done with soft handles. See [`SoftObjects`].

use core::panic::Location;

use bevy_asset::{Asset, AssetId, AssetServer, Handle};
use bevy_ecs::{
    prelude::{Res, World},
    system::SystemParam,
};
use bevy_reflect::TypePath;

use super::{LevelAsset, SoftHandle, SoftPath, SoftTable, level, table::Look};
use crate::{
    load::InstanceRequest,
    registry::ObjectRegistries,
    streamable::{Streamable, StreamableHub, StreamableRequest, StreamableSettings},
};

/// Finds out whether what a [`SoftHandle`] names is loaded, and loads it. Only reads resources: systems that have it run side by side.
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_mesh::{Mesh, Mesh3d};
/// use seamless_asset::{SoftHandle, SoftObjects, Streamable};
///
/// #[derive(Component)]
/// struct Wreck {
///     mesh: SoftHandle<Mesh>,
///     loading: Option<Streamable>,
/// }
///
/// fn show_wrecks(mut wrecks: Query<(Entity, &mut Wreck), Without<Mesh3d>>, soft: SoftObjects, mut commands: Commands) {
///     for (entity, mut wreck) in &mut wrecks {
///         match soft.get_if_loaded(&wreck.mesh) {
///             Some(mesh) => {
///                 commands.entity(entity).insert(Mesh3d(mesh));
///             }
///             None if wreck.loading.is_none() => wreck.loading = Some(soft.load(&wreck.mesh)),
///             None => {}
///         }
///     }
/// }
/// ```
///
/// What would hold up the calling thread is not here, but in [`LoadSoftBlocking`](super::LoadSoftBlocking).
#[derive(SystemParam)]
pub struct SoftObjects<'w> {
    table: Res<'w, SoftTable>,
    registries: Res<'w, ObjectRegistries>,
    hub: Res<'w, StreamableHub>,
    settings: Res<'w, StreamableSettings>,
    server: Option<Res<'w, AssetServer>>,
}

impl SoftObjects<'_> {
    /// The object, if it is live with all that it refers to. Loads nothing, and the soft handle keeps nothing alive: the handle that is given
    /// does.
    ///
    /// An object that was found before is found without a lock, and nothing is allocated.
    #[must_use]
    #[inline]
    pub fn get_if_loaded<T: Asset>(&self, handle: &SoftHandle<T>) -> Option<Handle<T>> {
        match self.table.look_there(handle.hint()) {
            Some(strong) => Some(Handle::Strong(strong)),
            None => self.look(handle),
        }
    }

    /// As [`get_if_loaded`](Self::get_if_loaded), for who only looks at the value: nothing is kept alive, so the id is good as long as somebody
    /// else has a handle. Faster, as no handle is counted up and down.
    ///
    /// ```
    /// # use bevy_asset::Assets; use bevy_ecs::prelude::*; use bevy_mesh::Mesh;
    /// # use seamless_asset::{SoftHandle, SoftObjects};
    /// # #[derive(Component)]
    /// # struct Wreck { mesh: SoftHandle<Mesh> }
    /// fn count_vertices(wrecks: Query<&Wreck>, soft: SoftObjects, meshes: Res<Assets<Mesh>>) -> usize {
    ///     let loaded = wrecks.iter().filter_map(|wreck| meshes.get(soft.id_if_loaded(&wreck.mesh)?));
    ///     loaded.map(Mesh::count_vertices).sum()
    /// }
    /// ```
    #[must_use]
    #[inline]
    pub fn id_if_loaded<T: Asset>(&self, handle: &SoftHandle<T>) -> Option<AssetId<T>> {
        match self.table.id_there(handle.hint()) {
            Some(id) => Some(id.typed_debug_checked()),
            None => self.look(handle).map(|found| found.id()),
        }
    }

    #[inline(never)]
    fn look<T: Asset>(&self, handle: &SoftHandle<T>) -> Option<Handle<T>> {
        match self.table.look(handle) {
            Look::Loaded(strong) => Some(Handle::Strong(strong)),
            Look::Unknown => self.find(handle),
            Look::OnItsWay | Look::Absent => self.find_source(handle),
        }
    }

    #[cold]
    fn find<T: Asset>(&self, handle: &SoftHandle<T>) -> Option<Handle<T>> {
        if handle.is_empty() {
            return None;
        }
        match self.table.find(&SoftPath::from(handle), &self.registries) {
            Look::Loaded(strong) => Some(Handle::Strong(strong)),
            _ => self.find_source(handle),
        }
    }

    /// The asset that Bevy has loaded from the source, where that is allowed.
    fn find_source<T: Asset>(&self, handle: &SoftHandle<T>) -> Option<Handle<T>> {
        let server = self.server.as_ref().filter(|_| self.settings.sources)?;
        let loaded = server.get_handle::<T>(handle.path().to_owned())?;
        server.is_loaded_with_dependencies(&loaded).then_some(loaded)
    }

    /// Whether the object is on its way: somebody has asked for it, or for something that refers to it, and it is not there yet.
    #[must_use]
    pub fn is_loading<T: Asset>(&self, handle: &SoftHandle<T>) -> bool {
        let (_, hash) = handle.parts();
        if self.hub.is_wanted(hash) && self.get_if_loaded(handle).is_none() {
            return true;
        }
        match self.table.look(handle) {
            Look::OnItsWay => true,
            Look::Unknown if !handle.is_empty() => {
                matches!(
                    self.table.find(&SoftPath::from(handle), &self.registries),
                    Look::OnItsWay
                )
            }
            _ => false,
        }
    }

    /// Asks for the object. It is there when the [`Streamable`] has come to a good end, and as long as somebody holds that or a handle of the
    /// object. Of an object that is live nothing is read.
    #[track_caller]
    pub fn load<T: Asset>(&self, handle: &SoftHandle<T>) -> Streamable {
        self.hub.request(StreamableRequest::new([handle]), Location::caller())
    }

    /// As [`load`](Self::load), with a name and a priority, or for several objects at once.
    #[track_caller]
    pub fn request(&self, request: StreamableRequest) -> Streamable {
        self.hub.request(request, Location::caller())
    }

    /// How the [`Streamer`](crate::Streamer) is asked for the level that a soft handle names; none if no registry that is loaded has it.
    #[must_use]
    pub fn level(&self, handle: &SoftHandle<LevelAsset>) -> Option<InstanceRequest> {
        let (path, hash) = handle.parts();
        let found = self.registries.find_hash(path, hash, Some(LevelAsset::type_path()))?;
        level::request(&found)
    }

    /// What the registries know of an object: where it is, how large, its tags.
    #[must_use]
    pub fn registries(&self) -> &ObjectRegistries {
        &self.registries
    }
}

/// As [`SoftObjects::get_if_loaded`], for who has the world; what Bevy has loaded from sources is not looked at.
pub fn get_if_loaded<T: Asset>(world: &World, handle: &SoftHandle<T>) -> Option<Handle<T>> {
    let table = world.get_resource::<SoftTable>()?;
    let registries = world.get_resource::<ObjectRegistries>()?;
    let look = match table.look(handle) {
        Look::Unknown if !handle.is_empty() => table.find(&SoftPath::from(handle), registries),
        look => look,
    };
    match look {
        Look::Loaded(strong) => Some(Handle::Strong(strong)),
        _ => None,
    }
}
