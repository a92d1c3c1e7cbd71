//! References that load nothing. See [`SoftHandle`], and [`SoftObjects`] for what is done with them.

mod blocking;
mod error;
mod hint;
mod level;
mod objects;
mod path;
mod reflect;
mod table;
#[cfg(test)]
mod tests;

pub use blocking::LoadSoftBlocking;
pub use error::SoftError;
pub(crate) use hint::Hint;
pub use level::LevelAsset;
pub use objects::{SoftObjects, get_if_loaded as get_soft_if_loaded};
pub use path::{SoftPath, SoftType};
pub use reflect::{ReflectSoftHandle, SoftReference};
pub(crate) use table::SoftTable;

use core::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
};
use std::sync::Arc;

use bevy_asset::Asset;
use bevy_reflect::{Reflect, ReflectDeserialize, ReflectSerialize, TypePath, std_traits::ReflectDefault};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

/// Names an object, and neither loads it nor keeps it alive: what a component or an asset refers to that is needed perhaps, or later.
///
/// It is a path: that of a source below the asset root, with a label for a part of it (`rocks.glb#Mesh0/Primitive0`, `hit.cue.ron`), wherever the
/// cooker has put it; or an object path of a package (`world/shared_0.pkg#rocks.glb/Mesh0/Primitive0`). In files it is this text.
///
/// What it names is cooked, and `seamless cook` refuses one that leads nowhere. [`SoftObjects`] finds out whether it is there, and loads it;
/// an [`ObjectRegistry`](crate::ObjectRegistry) knows where it lies. Of a class of things, such as abilities, it is the definition's handle:
/// `SoftHandle<Ability>`.
///
/// ```
/// use bevy_mesh::Mesh;
/// use seamless_asset::SoftHandle;
///
/// let rock = SoftHandle::<Mesh>::new("rocks.glb#Mesh0/Primitive0");
/// assert_eq!(rock.path(), "rocks.glb#Mesh0/Primitive0");
/// ```
#[derive(Reflect)]
#[reflect(opaque, Default, Serialize, Deserialize, Clone, Debug, PartialEq, Hash, SoftHandle)]
#[reflect(where T: Asset + TypePath)]
pub struct SoftHandle<T: Asset> {
    path: Arc<str>,
    /// Of the path, so that it is looked up without a look at its text.
    hash: u64,
    hint: Hint,
    of: PhantomData<fn() -> T>,
}

impl<T: Asset> SoftHandle<T> {
    /// The object at this path.
    pub fn new(path: impl Into<Arc<str>>) -> Self {
        let path = path.into();
        let hash = hash_of(&path);
        Self {
            path,
            hash,
            hint: Hint::default(),
            of: PhantomData,
        }
    }

    /// The path that it was made of; empty if it names nothing.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path, with its hash.
    #[inline]
    pub(crate) fn parts(&self) -> (&Arc<str>, u64) {
        (&self.path, self.hash)
    }

    /// Where it was found.
    #[inline]
    pub(crate) fn hint(&self) -> &Hint {
        &self.hint
    }

    /// Whether its path is that of an object in a package, and no source's.
    #[must_use]
    pub fn is_object_path(&self) -> bool {
        SoftTable::is_object_path(&self.path)
    }

    /// Whether it names nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.path.is_empty()
    }
}

/// What a path is looked up by.
pub(crate) fn hash_of(path: &str) -> u64 {
    xxh3_64(path.as_bytes())
}

impl<T: Asset> Default for SoftHandle<T> {
    /// Names nothing.
    fn default() -> Self {
        Self::new("")
    }
}

impl<T: Asset, P: Into<Arc<str>>> From<P> for SoftHandle<T> {
    fn from(path: P) -> Self {
        Self::new(path)
    }
}

// By hand, because the asset needs none of these.

impl<T: Asset> Clone for SoftHandle<T> {
    fn clone(&self) -> Self {
        Self {
            path: self.path.clone(),
            hash: self.hash,
            hint: self.hint.clone(),
            of: PhantomData,
        }
    }
}

impl<T: Asset> PartialEq for SoftHandle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.path == other.path
    }
}

impl<T: Asset> Eq for SoftHandle<T> {}

impl<T: Asset> Hash for SoftHandle<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<T: Asset> Ord for SoftHandle<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.path.cmp(&other.path)
    }
}

impl<T: Asset> PartialOrd for SoftHandle<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Asset> fmt::Debug for SoftHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SoftHandle").field(&self.path).finish()
    }
}

impl<T: Asset> Serialize for SoftHandle<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.path)
    }
}

impl<'de, T: Asset> Deserialize<'de> for SoftHandle<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}
