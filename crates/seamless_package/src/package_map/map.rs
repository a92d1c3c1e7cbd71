//! The list of packages, and the objects in them: an object's id to its place, and back.

use super::error::MapError;
use super::limits::MapLimits;
use crate::id::ObjectId;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// A package of the list: all that is compared with the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageInfo {
    /// Path that it was cooked with, such as `levels/meadow.pkg`.
    pub path: Arc<str>,
    /// Its [`content_hash`](crate::Summary::content_hash).
    pub content_hash: u64,
    /// Objects of it that can be referred to; their indices are below this.
    pub export_count: u32,
}

impl PackageInfo {
    /// The package cooked as `path`, with this content hash and this many objects.
    pub fn new(path: impl Into<Arc<str>>, content_hash: u64, export_count: u32) -> Self {
        Self {
            path: path.into(),
            content_hash,
            export_count,
        }
    }
}

/// The place of an object in the agreed list, which is what travels in place of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectIndex {
    /// Position of its package in the list.
    pub package: u32,
    /// Its export index in its original package.
    pub export: u32,
}

impl fmt::Display for ObjectIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object {} of package {}", self.export, self.package)
    }
}

/// A package, and the digest of the list up to and with it.
#[derive(Debug, Clone)]
struct Listed {
    info: PackageInfo,
    digest: u64,
}

/// The packages of this side in an order that both sides have, and the objects known of them.
///
/// One map serves all connections. The list only grows. An object is added with the index it has in its *original*
/// package: one that was loaded from a seek-free copy carries that index with it, so it makes no difference which file an
/// object came from. Objects may be added at any time after their package, when its tables or a copy were read; until then
/// a reference to them is pending.
///
/// What has no export of its own, such as the entities of a level, which are rows of one table, is numbered behind the
/// exports: any numbering will do that follows from the package's content alone.
#[derive(Debug, Clone, Default)]
pub struct PackageMap {
    limits: MapLimits,
    packages: Vec<Listed>,
    by_path: HashMap<Arc<str>, u32>,
    by_id: HashMap<ObjectId, ObjectIndex, RandomState>,
    by_index: HashMap<ObjectIndex, ObjectId, RandomState>,
}

impl PackageMap {
    /// Digest of the empty list.
    const NO_PACKAGES: u64 = 0;

    /// An empty map with these limits.
    pub fn new(limits: MapLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// The limits that it was made with.
    pub fn limits(&self) -> &MapLimits {
        &self.limits
    }

    /// Appends a package to the list and gives its index. Both sides list theirs in one order: by path at first, then in
    /// that in which the side in charge adds further ones.
    ///
    /// # Errors
    /// [`MapError::BadPath`], [`MapError::PackageTwice`], or [`MapError::Limit`] for a list or a path beyond the limits.
    pub fn add_package(&mut self, info: PackageInfo) -> Result<u32, MapError> {
        if info.path.is_empty() || info.path.contains('\0') {
            return Err(MapError::BadPath { path: info.path });
        }
        check("path_bytes", self.limits.path_bytes, info.path.len())?;
        check("packages", self.limits.packages, self.packages.len().saturating_add(1))?;
        let index = self.len();
        if self.by_path.contains_key(&info.path) {
            return Err(MapError::PackageTwice { path: info.path });
        }
        self.by_path.insert(info.path.clone(), index);
        let digest = extend_digest(self.whole_digest(), &info);
        self.packages.push(Listed { info, digest });
        Ok(index)
    }

    /// Adds objects of a listed package, each with its index there. What is known already may be added again.
    ///
    /// # Errors
    /// [`MapError::NoSuchPackage`], [`MapError::NoSuchExport`], [`MapError::ObjectTwice`] and [`MapError::IndexTwice`] for
    /// what contradicts the list or earlier objects, [`MapError::Limit`] for too many. What came before the fault
    /// is added.
    pub fn add_objects(
        &mut self,
        package: u32,
        objects: impl IntoIterator<Item = (u32, ObjectId)>,
    ) -> Result<(), MapError> {
        let count = self.len();
        let Some(info) = self.package(package) else {
            return Err(MapError::NoSuchPackage { package, count });
        };
        let (path, count) = (info.path.clone(), info.export_count);
        for (export, id) in objects {
            if export >= count {
                let index = export;
                return Err(MapError::NoSuchExport { path, index, count });
            }
            self.add_object(ObjectIndex { package, export }, id)?;
        }
        Ok(())
    }

    fn add_object(&mut self, index: ObjectIndex, id: ObjectId) -> Result<(), MapError> {
        if let Some(&first) = self.by_index.get(&index)
            && first != id
        {
            let second = id;
            return Err(MapError::IndexTwice { index, first, second });
        }
        match self.by_id.get(&id) {
            Some(&first) if first == index => return Ok(()),
            Some(&first) => {
                let second = index;
                return Err(MapError::ObjectTwice { id, first, second });
            }
            None => {}
        }
        check("objects", self.limits.objects, self.by_id.len().saturating_add(1))?;
        self.by_id.insert(id, index);
        self.by_index.insert(index, id);
        Ok(())
    }

    /// Packages in the list.
    pub fn len(&self) -> u32 {
        // Cannot saturate: `MapLimits::packages` has 32 bits.
        u32::try_from(self.packages.len()).unwrap_or(u32::MAX)
    }

    /// Whether no package is listed.
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty()
    }

    /// The package at a position of the list.
    pub fn package(&self, index: u32) -> Option<&PackageInfo> {
        let listed = self.packages.get(usize::try_from(index).ok()?)?;
        Some(&listed.info)
    }

    /// The packages from a position on.
    pub(super) fn packages_from(&self, index: u32) -> impl Iterator<Item = &PackageInfo> {
        let skipped = usize::try_from(index).unwrap_or(usize::MAX);
        self.packages.iter().skip(skipped).map(|listed| &listed.info)
    }

    /// Position of a package in the list.
    pub fn position(&self, path: &str) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    /// The place of an object; none while its package has not been added, or not its objects.
    #[inline]
    pub fn index_of(&self, id: ObjectId) -> Option<ObjectIndex> {
        self.by_id.get(&id).copied()
    }

    /// The object at a place; none while the objects of its package are unknown.
    #[inline]
    pub fn object_at(&self, index: ObjectIndex) -> Option<ObjectId> {
        self.by_index.get(&index).copied()
    }

    /// All objects that are known, with their places, in no order.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectIndex, ObjectId)> {
        self.by_index.iter().map(|(index, id)| (*index, *id))
    }

    /// Digest of the first `count` packages; none if there are fewer.
    pub(super) fn digest(&self, count: u32) -> Option<u64> {
        let Some(last) = count.checked_sub(1) else {
            return Some(Self::NO_PACKAGES);
        };
        let listed = self.packages.get(usize::try_from(last).ok()?)?;
        Some(listed.digest)
    }

    /// Digest of the whole list.
    pub(super) fn whole_digest(&self) -> u64 {
        self.packages.last().map_or(Self::NO_PACKAGES, |listed| listed.digest)
    }
}

/// The digest of a list with one package more. A chain, so that every beginning of a list has its digest too.
fn extend_digest(digest: u64, info: &PackageInfo) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&digest.to_le_bytes());
    hash.update(&info.content_hash.to_le_bytes());
    hash.update(&info.export_count.to_le_bytes());
    hash.update(info.path.as_bytes());
    hash.digest()
}

fn check(field: &'static str, limit: u32, found: usize) -> Result<(), MapError> {
    let (limit, found) = (u64::from(limit), found as u64);
    if found > limit {
        return Err(MapError::Limit { field, limit, found });
    }
    Ok(())
}
