//! The packages that references over the network lead into, and which of their objects are known. See [`NetPackages`].

mod retain;

use std::sync::Arc;

use async_channel::Receiver;
use bevy_asset::AssetPath;
use bevy_ecs::{entity::Entity, message::MessageWriter, prelude::*};
use bevy_log::{error, warn_once};
use bevy_platform::collections::HashMap;
use seamless_package::{
    ObjectId,
    package_map::{MapError, MapLimits, ObjectIndex, PackageInfo, PackageMap},
};
use xxhash_rust::xxh3::xxh3_64;

use super::events::PackageFault;
use crate::{
    LinkersResource,
    linker::Linker,
    load::LevelInstance,
    objects::{CookFolder, LiveId},
    settings::StreamingClock,
    stable::InstancePath,
};

/// A package that references may lead into, as its cook described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetPackage {
    /// The name that it was cooked under, the same for both sides: `levels/meadow.pkg`.
    pub name: Arc<str>,
    /// Where this app has it.
    pub path: AssetPath<'static>,
    /// Its [`content_hash`](seamless_package::Summary::content_hash).
    pub content_hash: u64,
    /// Its exports.
    pub exports: u32,
    /// The entities of its level. They are rows of one export, so their indices follow those of the exports: entity in
    /// row `r` is object `exports + r`.
    pub entities: u32,
}

/// Why the objects of a package cannot be referred to, although it is listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetPackageError {
    /// The file is not the one that was listed, and so not the one that the peers agreed on.
    #[error(
        "`{path}` has content {found:016x}, it is listed with {listed:016x}; put the package there that was cooked with the manifest"
    )]
    Content {
        /// Where the package is.
        path: AssetPath<'static>,
        /// The content hash it was listed with.
        listed: u64,
        /// The content hash it has.
        found: u64,
    },
    /// It has another number of exports or of entities than was listed.
    #[error("`{name}` has {found} {what}, it is listed with {listed}; list the counts of its cook")]
    Count {
        /// The package.
        name: Arc<str>,
        /// `exports` or `entities`.
        what: &'static str,
        /// How many it was listed with.
        listed: u32,
        /// How many it has.
        found: u32,
    },
    /// A copy in a seek-free package was made of another version of its original.
    #[error(
        "`{path}` holds copies out of `{origin}` with content {found:016x}, that is listed with {listed:016x}; cook all packages together"
    )]
    Copy {
        /// The package with the copies.
        path: AssetPath<'static>,
        /// The package that they were made of.
        origin: Arc<str>,
        /// The content hash the original was listed with.
        listed: u64,
        /// The content hash it had when it was copied.
        found: u64,
    },
    /// The map refuses objects.
    #[error(transparent)]
    Map(#[from] MapError),
}

#[derive(Debug)]
struct Listed {
    path: AssetPath<'static>,
    cook: CookFolder,
    exports: u32,
    entities: u32,
    /// Whether its file was opened, and is what was listed.
    is_verified: bool,
    /// Its live levels, in order of their reveal.
    levels: Vec<Placed>,
    instances: Instances,
}

/// A live level of a package.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub root: Entity,
    /// Its [`InstancePath`], by its number.
    pub path: u64,
}

/// Whose the entities of a listed package are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instances {
    /// Those of its level, wherever that is placed: no placement was listed.
    Any,
    /// Those of the placement that was listed first.
    First,
    /// Those of a further one of this package.
    Further(u32),
}

/// The packages that references over the network may lead into: one list for all connections. Both sides list the same packages
/// in the same order; a `SeamlessWorld` lists those of its manifest, by name.
///
/// List a package before it is loaded: its objects become known when its file is opened, or a file with copies of them.
#[derive(Resource, Debug)]
pub struct NetPackages {
    map: PackageMap,
    listed: Vec<Listed>,
    /// Packages and numbers of paths, to the places of the instances in the list.
    instances: HashMap<(u32, u64), u32>,
    /// Whether something was listed that may be open already.
    is_new: bool,
}

impl NetPackages {
    /// An empty list with these limits.
    pub(super) fn new(limits: MapLimits) -> Self {
        Self {
            map: PackageMap::new(limits),
            listed: Vec::new(),
            instances: HashMap::default(),
            is_new: false,
        }
    }

    /// Adds a package to the end of the list, and gives its position. The list only grows, but for [`retain`](Self::retain); a package that is in it already, with the
    /// same content, stays where it is.
    ///
    /// # Errors
    /// [`MapError::PackageTwice`] for a package of the same name and other content, or in another folder, [`MapError::BadPath`], [`MapError::Limit`].
    pub fn list(&mut self, package: NetPackage) -> Result<u32, MapError> {
        self.add(package, Instances::Any)
    }

    /// Says that the manifest places the level of a listed package here, so that references can tell its placements apart. The first that is said of a package has the
    /// package's own entry; each further one gets an entry of its own, `levels/house.pkg@town/house_2`, and its entities other ids. Where
    /// placements are listed, no others can be referred to.
    ///
    /// # Errors
    /// As [`list`](Self::list), and [`MapError::NoSuchPackage`].
    pub fn list_instance(&mut self, package: u32, path: &InstancePath) -> Result<u32, MapError> {
        let key = (package, path.id());
        if let Some(at) = self.instances.get(&key) {
            return Ok(*at);
        }
        let count = self.map.len();
        let Some((info, listed)) = self.map.package(package).zip(self.listed.get_mut(package as usize)) else {
            return Err(MapError::NoSuchPackage { package, count });
        };
        let at = if listed.instances == Instances::Any {
            listed.instances = Instances::First;
            listed.levels.retain(|level| level.path == path.id());
            self.is_new = true;
            package
        } else {
            let further = NetPackage {
                name: format!("{}@{path}", info.path).into(),
                path: listed.path.clone(),
                content_hash: info.content_hash,
                exports: 0,
                entities: listed.entities,
            };
            self.add(further, Instances::Further(package))?
        };
        self.instances.insert(key, at);
        Ok(at)
    }

    fn add(&mut self, package: NetPackage, instances: Instances) -> Result<u32, MapError> {
        let count = package.exports.saturating_add(package.entities);
        let info = PackageInfo::new(package.name, package.content_hash, count);
        let home = match instances {
            Instances::Further(home) => self.listed.get(home as usize),
            _ => None,
        };
        let cook = home.map_or_else(|| CookFolder::of(&package.path, &info.path), |home| home.cook);
        let is_of_cook = |at: u32| self.listed.get(at as usize).is_some_and(|listed| listed.cook == cook);
        if let Some(at) = self.map.position(&info.path).filter(|at| is_of_cook(*at))
            && self.map.package(at) == Some(&info)
        {
            return Ok(at);
        }
        let at = self.map.add_package(info)?;
        self.listed.push(Listed {
            path: package.path,
            cook,
            exports: package.exports,
            entities: package.entities,
            is_verified: false,
            levels: Vec::new(),
            instances,
        });
        self.is_new = true;
        Ok(at)
    }

    /// The list as the protocol sees it, and the objects that are known.
    #[must_use]
    pub fn map(&self) -> &PackageMap {
        &self.map
    }

    /// Which live object the asset at a place of the list is, by its id.
    pub(super) fn live_id(&self, package: u32, object: ObjectId) -> Option<LiveId> {
        Some(self.listed.get(package as usize)?.cook.object(object))
    }

    /// Where a listed package is.
    pub(super) fn path(&self, package: u32) -> Option<&AssetPath<'static>> {
        Some(&self.listed.get(package as usize)?.path)
    }

    /// Whether the object is an entity of a level, and no export.
    pub(super) fn is_entity(&self, object: ObjectIndex) -> bool {
        let listed = self.listed.get(object.package as usize);
        listed.is_some_and(|listed| object.export >= listed.exports)
    }

    /// Whether the object is an entity of a level, and in which row, and the levels that it may be of: several where nobody has listed
    /// their placements, in the order of their reveal.
    pub(super) fn row(&self, object: ObjectIndex) -> Option<(u32, &[Placed])> {
        let listed = self.listed.get(object.package as usize)?;
        let row = object.export.checked_sub(listed.exports)?;
        Some((row, &listed.levels))
    }

    /// What an object of a level is called on the wire, if that is the one level of its package that is meant there.
    pub(super) fn id_in(
        &self,
        (root, level): (Entity, &LevelInstance),
        object: ObjectId,
        is_there: impl Fn(Entity) -> bool,
    ) -> Option<ObjectId> {
        if self.map.position(&level.package).is_none() {
            return Some(object);
        }
        let place = self.place_of(level).and_then(|at| self.listed.get(at as usize));
        let first = |listed: &&Listed| match one_of(&listed.levels, is_there) {
            Ok(first) => first.is_none_or(|first| first == root),
            Err(Several) => false,
        };
        let Some(listed) = place.filter(first) else {
            warn_once!(
                "an entity of level `{}` cannot be referred to over the network: `{}` is placed several times, or not by a manifest; send its `StableId` in the message's body (told once)",
                level.path,
                level.package
            );
            return None;
        };
        Some(listed.id_of(level, object))
    }

    /// Where the list has a level; nowhere, if other placements of its package are listed.
    fn place_of(&self, level: &LevelInstance) -> Option<u32> {
        let package = self.map.position(&level.package)?;
        let listed = self.listed.get(package as usize)?;
        if listed.cook != level.cook {
            return None;
        }
        match listed.instances {
            Instances::Any => Some(package),
            _ => self.instances.get(&(package, level.path.id())).copied(),
        }
    }

    /// A package was opened.
    fn learn_linker(&mut self, linker: &Linker) -> Result<(), NetPackageError> {
        self.learn_copies(linker)?;
        let package = linker.package();
        let Some(at) = self.map.position(package.name()) else {
            return Ok(());
        };
        let Some((info, listed)) = self.map.package(at).zip(self.listed.get_mut(at as usize)) else {
            return Ok(());
        };
        if listed.cook != linker.cook() {
            // Of another world, in another folder, that has a package of this name.
            return Ok(());
        }
        listed.is_verified = false;
        let found = package.summary().content_hash;
        if found != info.content_hash {
            return Err(NetPackageError::Content {
                path: linker.path().clone(),
                listed: info.content_hash,
                found,
            });
        }
        check_count(&info.path, "exports", listed.exports, package.exports().len())?;
        listed.is_verified = true;
        let own = (0_u32..).zip(package.exports());
        let own = own.filter(|(_, export)| !export.is_forced() && !export.is_class());
        self.map
            .add_objects(at, own.map(|(index, export)| (index, export.object_id)))?;
        Ok(())
    }

    /// Copies of other packages' objects carry the places that these have at home.
    fn learn_copies(&mut self, linker: &Linker) -> Result<(), NetPackageError> {
        let package = linker.package();
        for (index, export) in package.exports().iter().enumerate() {
            let Some(origin) = package.origin_of(index) else {
                continue;
            };
            let Some(at) = self.map.position(origin.package) else {
                continue;
            };
            let is_it = |listed: &Listed| listed.cook == linker.cook();
            if !self.listed.get(at as usize).is_some_and(is_it) {
                continue;
            }
            let listed = self.map.package(at).map(|info| info.content_hash);
            if let Some(listed) = listed.filter(|listed| *listed != origin.content_hash) {
                return Err(NetPackageError::Copy {
                    path: linker.path().clone(),
                    origin: origin.package.into(),
                    listed,
                    found: origin.content_hash,
                });
            }
            self.map.add_objects(at, [(origin.index, export.object_id)])?;
        }
        Ok(())
    }

    /// A level was revealed.
    fn learn_level(&mut self, root: Entity, level: &LevelInstance) -> Result<(), NetPackageError> {
        let Some(at) = self.place_of(level) else {
            return Ok(());
        };
        let home = self.listed.get(at as usize).map(|listed| match listed.instances {
            Instances::Further(package) => package,
            _ => at,
        });
        // Of another file than the listed one, which was told when that was opened, rows may mean anything.
        let home = home.and_then(|home| self.listed.get(home as usize));
        if !home.is_some_and(|home| home.is_verified) {
            return Ok(());
        }
        let Some(listed) = self.listed.get_mut(at as usize) else {
            return Ok(());
        };
        if listed.levels.iter().any(|known| known.root == root) {
            return Ok(());
        }
        check_count(&level.package, "entities", listed.entities, level.objects.len())?;
        let path = level.path.id();
        listed.levels.push(Placed { root, path });
        let ids = level.objects.ids().map(|id| listed.id_of(level, id));
        let rows = (listed.exports..).zip(ids);
        self.map.add_objects(at, rows)?;
        Ok(())
    }

    fn forget_level(&mut self, root: Entity) {
        for listed in &mut self.listed {
            listed.levels.retain(|known| known.root != root);
        }
    }
}

impl Listed {
    /// An entity of the first placement has the id that its package gives it; of further ones, those that follow from that.
    fn id_of(&self, level: &LevelInstance, object: ObjectId) -> ObjectId {
        if !matches!(self.instances, Instances::Further(_)) {
            return object;
        }
        let [instance, object] = [level.path.id(), object.0].map(u64::to_le_bytes);
        ObjectId(xxh3_64([instance, object].as_flattened()))
    }
}

/// Levels of several placements, and nothing says which is meant.
pub(super) struct Several;

/// The one level that is meant, if it is there: where several have one path, the one that came first.
pub(super) fn one_of(levels: &[Placed], is_there: impl Fn(Entity) -> bool) -> Result<Option<Entity>, Several> {
    let mut paths = levels.iter().map(|level| level.path);
    let first = paths.next();
    if paths.any(|path| Some(path) != first) {
        return Err(Several);
    }
    let mut roots = levels.iter().map(|level| level.root);
    Ok(roots.find(|root| is_there(*root)))
}

fn check_count(name: &Arc<str>, what: &'static str, listed: u32, found: usize) -> Result<(), NetPackageError> {
    // Saturated, it is none that could be listed.
    let found = u32::try_from(found).unwrap_or(u32::MAX);
    if found == listed {
        return Ok(());
    }
    Err(NetPackageError::Count {
        name: name.clone(),
        what,
        listed,
        found,
    })
}

/// What was opened since the last look.
#[derive(Resource)]
pub(super) struct OpenedLinkers(pub Receiver<Arc<Linker>>);

/// Brings the list up to date: objects of packages that were opened, entities of levels that were revealed.
pub(super) fn learn(
    mut packages: ResMut<NetPackages>,
    opened: Res<OpenedLinkers>,
    linkers: Res<LinkersResource>,
    levels: Query<(Entity, Ref<LevelInstance>)>,
    mut left: RemovedComponents<LevelInstance>,
    mut faults: MessageWriter<PackageFault>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("packages that peers have");
    let packages = packages.bypass_change_detection();
    let is_new = core::mem::take(&mut packages.is_new);
    let mut fault = |result: Result<(), NetPackageError>| {
        if let Err(error) = result {
            error!("references over the network: {error}");
            faults.write(PackageFault { error: Arc::new(error) });
        }
    };
    let known = if is_new { linkers.0.all() } else { Vec::new() };
    let since = core::iter::from_fn(|| opened.0.try_recv().ok());
    for linker in known.into_iter().chain(since) {
        fault(packages.learn_linker(&linker));
    }
    for root in left.read() {
        packages.forget_level(root);
    }
    for (root, level) in levels.iter().filter(|(_, level)| is_new || level.is_added()) {
        fault(packages.learn_level(root, &level));
    }
}
