//! The registries of an app. See [`ObjectRegistries`].

use bevy_asset::{AssetEvent, AssetId, AssetServer, Assets, Handle, LoadState};
use bevy_ecs::prelude::*;
use bevy_log::error;

use super::{ObjectRegistry, ObjectScan, RegistryObject};
use crate::{
    objects::{CookFolder, LiveId},
    settings::StreamingClock,
    soft::{SoftPath, SoftTable, hash_of},
};

/// All registries of the app: where what soft handles name is looked up. That of a `SeamlessWorld`'s manifest is added by itself; others by
/// [`add`](Self::add), or by [`SeamlessAssetPlugin::registries`](crate::SeamlessAssetPlugin::registries).
///
/// Of two registries that have a path the one that was added later decides, as with a patch or a modification of a game.
///
/// ```
/// # use bevy_asset::AssetServer; use bevy_ecs::prelude::*;
/// # use seamless_asset::{ObjectRegistries, ObjectScan};
/// fn open_volcano(server: Res<AssetServer>, mut registries: ResMut<ObjectRegistries>) {
///     registries.add(server.load("dlc/volcano.registry"));
/// }
///
/// fn list(registries: Res<ObjectRegistries>) {
///     for found in registries.scan(&ObjectScan::new().under("cues/volcano")) {
///         println!("{} in {}: {} bytes", found.object.path, found.object_path(), found.object.bytes);
///     }
/// }
/// ```
#[derive(Resource, Default, Debug)]
pub struct ObjectRegistries {
    /// In the order in which they were added.
    known: Vec<Known>,
    generation: u64,
}

#[derive(Debug)]
struct Known {
    handle: Handle<ObjectRegistry>,
    registry: Option<ObjectRegistry>,
    has_failed: bool,
}

/// An object that was found in a registry.
#[derive(Debug, Clone, Copy)]
pub struct FoundObject<'r> {
    /// What the registry tells of it.
    pub object: &'r RegistryObject,
    /// The registry.
    pub registry: &'r ObjectRegistry,
}

impl FoundObject<'_> {
    /// Where it lies, as an [`ObjectRequest`](crate::ObjectRequest) takes it; of a level its package.
    #[must_use]
    pub fn object_path(&self) -> String {
        self.registry.object_path(self.object)
    }

    /// Which live object it is.
    #[must_use]
    pub fn live_id(&self) -> LiveId {
        CookFolder::new(self.registry.folder()).object(self.object.id())
    }

    /// It as something to load.
    #[must_use]
    pub fn soft(&self) -> SoftPath {
        SoftPath::any(self.object.path.clone())
    }
}

impl ObjectRegistries {
    /// Adds a registry, which counts as soon as it is loaded. Once is enough.
    pub fn add(&mut self, registry: Handle<ObjectRegistry>) {
        if self.known.iter().any(|known| known.handle == registry) {
            return;
        }
        self.known.push(Known {
            handle: registry,
            registry: None,
            has_failed: false,
        });
    }

    /// Adds a registry that is there already; of the same path as an earlier one, it decides.
    pub fn insert(&mut self, registry: ObjectRegistry) {
        self.known.push(Known {
            handle: Handle::default(),
            registry: Some(registry),
            has_failed: false,
        });
        self.generation += 1;
    }

    /// Removes a registry. What is loaded stays; what soft handles name in it is unknown from now on.
    pub fn remove(&mut self, registry: AssetId<ObjectRegistry>) {
        let count = self.known.len();
        self.known.retain(|known| known.handle.id() != registry);
        self.generation += u64::from(self.known.len() < count);
    }

    /// How many registries are loaded.
    #[must_use]
    pub fn len(&self) -> usize {
        self.loaded().count()
    }

    /// Whether no registry is loaded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a registry is still on its way.
    #[must_use]
    pub fn is_loading(&self) -> bool {
        self.known
            .iter()
            .any(|known| known.registry.is_none() && !known.has_failed)
    }

    /// Rises with each registry that comes, changes or goes.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The registries that are loaded, in the order in which they were added.
    pub fn loaded(&self) -> impl DoubleEndedIterator<Item = &ObjectRegistry> {
        self.known.iter().filter_map(|known| known.registry.as_ref())
    }

    /// The object of a type at a path; of any type, where `type_path` is none or empty. Where the path has one object only it is that one, whatever its
    /// type is called: a type may have been renamed since the cook.
    #[must_use]
    pub fn find(&self, path: &str, type_path: Option<&str>) -> Option<FoundObject<'_>> {
        self.find_hash(path, hash_of(path), type_path)
    }

    /// What a soft path names.
    #[must_use]
    pub fn resolve(&self, path: &SoftPath) -> Option<FoundObject<'_>> {
        self.find_hash(path.path(), path.hash(), path.of().map(|of| of.path))
    }

    pub(crate) fn find_hash(&self, path: &str, hash: u64, type_path: Option<&str>) -> Option<FoundObject<'_>> {
        let type_path = type_path.filter(|path| !path.is_empty());
        self.loaded().rev().find_map(|registry| {
            let there = registry.at_hash(path, hash);
            let exact = || {
                there
                    .iter()
                    .find(|object| type_path.is_none_or(|wanted| *wanted == *object.type_path))
            };
            let object = match there {
                [only] => only,
                _ => exact()?,
            };
            Some(FoundObject { object, registry })
        })
    }

    /// The objects of all registries that are loaded that a scan means, by path.
    #[must_use]
    pub fn scan(&self, scan: &ObjectScan) -> Vec<FoundObject<'_>> {
        let of = |registry| {
            scan.within(registry)
                .into_iter()
                .map(move |object| FoundObject { object, registry })
        };
        let mut found: Vec<_> = self.loaded().rev().flat_map(of).collect();
        if self.len() > 1 {
            let key = |found: &FoundObject| (found.object.path.clone(), found.object.type_path.clone());
            // Stable: the later registry is first, and stays.
            found.sort_by_cached_key(key);
            found.dedup_by(|b, a| key(b) == key(a));
        }
        found
    }

    /// As [`scan`](Self::scan), for who would rather wait than miss something: none while a registry is on its way.
    #[must_use]
    pub fn scan_deferred(&self, scan: &ObjectScan) -> Option<Vec<FoundObject<'_>>> {
        (!self.is_loading()).then(|| self.scan(scan))
    }
}

/// Takes in registries that have come, changed or failed.
pub(crate) fn take_registries(
    mut registries: ResMut<ObjectRegistries>,
    mut table: ResMut<SoftTable>,
    assets: Res<Assets<ObjectRegistry>>,
    mut events: MessageReader<AssetEvent<ObjectRegistry>>,
    server: Res<AssetServer>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("object registries");
    let mut changed = Vec::new();
    for event in events.read() {
        if let AssetEvent::Modified { id } | AssetEvent::Added { id } = event {
            changed.push(*id);
        }
    }
    let waits = |known: &Known| !known.has_failed && (known.registry.is_none() || changed.contains(&known.handle.id()));
    if registries.known.iter().any(waits) {
        let mut news = 0;
        for known in registries
            .bypass_change_detection()
            .known
            .iter_mut()
            .filter(|known| waits(known))
        {
            news += u64::from(known.take(&assets, &server));
        }
        if news > 0 {
            registries.generation += news;
        }
    }
    table.follow(registries.generation);
}

impl Known {
    /// Whether it has come, or come anew.
    fn take(&mut self, assets: &Assets<ObjectRegistry>, server: &AssetServer) -> bool {
        if let Some(registry) = assets.get(&self.handle) {
            self.registry = Some(registry.clone());
            return true;
        }
        if let LoadState::Failed(cause) = server.load_state(&self.handle) {
            error!("a registry cannot be loaded, and what soft handles name in it is unknown: {cause}");
            self.has_failed = true;
        }
        false
    }
}
