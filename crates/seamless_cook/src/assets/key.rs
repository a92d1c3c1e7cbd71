//! Who an asset is. See [`AssetKey`].

use core::cmp::Ordering;
use core::fmt;
use core::hash::{BuildHasher, Hash, Hasher};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bevy::platform::hash::{FixedHasher, PassHash};
use bevy::prelude::*;
use bevy::reflect::TypePath;
use indexmap::IndexMap;
use seamless_asset::StartupIndex;
use serde::{Deserialize, Serialize};

use super::{ObjectRecord, Text};
use crate::graph::recorder::file_and_label;

/// Which asset: the same for every level that uses it, and for every run. There are many, and many mentions of each: a mention is a
/// pointer, and the hash is known.
#[derive(Clone)]
pub(crate) struct AssetKey(Arc<Hashed>);

struct Hashed {
    hash: u64,
    name: AssetName,
}

/// What a key says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum AssetName {
    /// An asset with a path: file, and label if it has one.
    Path { path: String, type_path: Text },
    /// An asset without a path: the n-th of its type in the unit that it belongs to.
    Anonymous { unit: Text, type_path: Text, order: u32 },
    /// What stands for an asset in one level, because it leads to other variants of dialogue there. Nobody keeps these, and they are not
    /// read: bytes could nest them without end.
    #[serde(skip_deserializing)]
    OfLevel { level: String, key: AssetKey },
}

/// Keys bring their hash along.
pub(crate) type ByKey<V> = HashMap<AssetKey, V, PassHash>;
/// As [`ByKey`], with keys that are somebody else's.
pub(crate) type ByKeyRef<'a, V> = HashMap<&'a AssetKey, V, PassHash>;
/// Some keys.
pub(crate) type KeySet<'a> = HashSet<&'a AssetKey, PassHash>;
/// What is known of assets, found at once, and in the order of their keys once they are sorted.
pub(crate) type Objects = IndexMap<AssetKey, ObjectRecord, PassHash>;

impl AssetKey {
    /// Who says so.
    pub(crate) fn new(name: AssetName) -> Self {
        let hash = FixedHasher.hash_one(&name);
        Self(Arc::new(Hashed { hash, name }))
    }

    /// What it says.
    pub(crate) fn name(&self) -> &AssetName {
        &self.0.name
    }

    /// Whether it is the index of the startup content.
    pub(crate) fn is_startup_index(&self) -> bool {
        matches!(self.name(), AssetName::Anonymous { type_path, .. } if **type_path == *StartupIndex::type_path())
    }

    /// The asset that it stands for.
    pub(crate) fn original(&self) -> &Self {
        match self.name() {
            AssetName::OfLevel { key, .. } => key.original(),
            AssetName::Path { .. } | AssetName::Anonymous { .. } => self,
        }
    }

    /// The unit that it belongs to, if it has no path.
    pub(crate) fn unit(&self) -> Option<&str> {
        match self.name() {
            AssetName::Anonymous { unit, .. } => Some(unit),
            AssetName::Path { .. } | AssetName::OfLevel { .. } => None,
        }
    }

    /// Its path, or what stands for it.
    pub(crate) fn path(&self) -> String {
        match self.name() {
            AssetName::Path { path, .. } => path.clone(),
            AssetName::Anonymous { type_path, order, .. } => {
                let name = type_path.rsplit("::").next().unwrap_or(type_path);
                format!("#{name}{order}")
            }
            AssetName::OfLevel { key, .. } => key.path(),
        }
    }

    /// The file that it is from, if it is from one.
    pub(crate) fn file(&self) -> Option<&str> {
        match self.name() {
            AssetName::Path { path, .. } => Some(file_and_label(path).0),
            AssetName::Anonymous { .. } => None,
            AssetName::OfLevel { key, .. } => key.file(),
        }
    }

    /// The type of the asset.
    pub(crate) fn type_path(&self) -> &str {
        match self.name() {
            AssetName::Path { type_path, .. } | AssetName::Anonymous { type_path, .. } => type_path,
            AssetName::OfLevel { key, .. } => key.type_path(),
        }
    }
}

impl PartialEq for AssetKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.hash == other.0.hash && self.name() == other.name()
    }
}

impl Eq for AssetKey {}

impl PartialOrd for AssetKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AssetKey {
    fn cmp(&self, other: &Self) -> Ordering {
        match Arc::ptr_eq(&self.0, &other.0) {
            true => Ordering::Equal,
            false => self.name().cmp(other.name()),
        }
    }
}

impl Hash for AssetKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Debug for AssetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

#[cfg(test)]
mod tests;
