//! What soft handles of any type are turned into. See [`SoftPath`].

use core::any::TypeId;
use std::sync::Arc;

use bevy_asset::Asset;

use super::{SoftHandle, SoftTable, hash_of};

/// The type that a soft handle's object has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SoftType {
    /// Its id in this app.
    pub id: TypeId,
    /// Its stable name.
    pub path: &'static str,
}

impl SoftType {
    /// That of an asset.
    #[must_use]
    pub fn of<T: Asset>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            path: T::type_path(),
        }
    }
}

/// A [`SoftHandle`] of whichever type, or a path whose object may be of any type: what a [`Streamable`](crate::Streamable) is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SoftPath {
    path: Arc<str>,
    hash: u64,
    of: Option<SoftType>,
}

impl SoftPath {
    /// The object at this path, whatever it is.
    pub fn any(path: impl Into<Arc<str>>) -> Self {
        let path = path.into();
        let hash = hash_of(&path);
        Self { path, hash, of: None }
    }

    /// The path as it was written.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is the path of an object in a package, and no source's.
    #[must_use]
    pub fn is_object_path(&self) -> bool {
        SoftTable::is_object_path(&self.path)
    }

    /// The type that it has to be of.
    #[must_use]
    pub fn of(&self) -> Option<SoftType> {
        self.of
    }

    pub(crate) fn shared(&self) -> &Arc<str> {
        &self.path
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// Whether an object of this type may be meant.
    pub(crate) fn fits(&self, type_id: TypeId) -> bool {
        self.of.is_none_or(|of| of.id == type_id)
    }
}

impl<T: Asset> From<&SoftHandle<T>> for SoftPath {
    fn from(handle: &SoftHandle<T>) -> Self {
        let (path, hash) = handle.parts();
        Self {
            path: path.clone(),
            hash,
            of: Some(SoftType::of::<T>()),
        }
    }
}

impl<T: Asset> From<SoftHandle<T>> for SoftPath {
    fn from(handle: SoftHandle<T>) -> Self {
        Self::from(&handle)
    }
}

impl From<&SoftPath> for SoftPath {
    fn from(path: &SoftPath) -> Self {
        path.clone()
    }
}
