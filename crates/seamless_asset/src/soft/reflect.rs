//! Soft handles as the cooker finds them, inside of whatever is reflected. See [`ReflectSoftHandle`].

use bevy_asset::Asset;
use bevy_reflect::{FromType, Reflect, TypePath};

use super::{SoftHandle, SoftType};

/// A path that something refers to softly, and the type that is expected there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SoftReference {
    /// As it is written: of a source, or of an object in a package.
    pub path: String,
    /// The stable name of the type; empty if any will do.
    pub type_path: String,
}

impl<T: Asset> From<&SoftHandle<T>> for SoftReference {
    fn from(handle: &SoftHandle<T>) -> Self {
        Self {
            path: handle.path().to_owned(),
            type_path: T::type_path().to_owned(),
        }
    }
}

/// Type data of each [`SoftHandle`]: what it refers to, without knowing its type.
#[derive(Clone)]
pub struct ReflectSoftHandle {
    path: fn(&dyn Reflect) -> Option<&str>,
    of: fn() -> SoftType,
}

impl ReflectSoftHandle {
    /// The path of a value, if it is a handle of this type and names something.
    #[must_use]
    pub fn path<'v>(&self, value: &'v dyn Reflect) -> Option<&'v str> {
        (self.path)(value).filter(|path| !path.is_empty())
    }

    /// The type of what it names.
    #[must_use]
    pub fn of(&self) -> SoftType {
        (self.of)()
    }

    /// What a value refers to, if it is a handle of this type and names something.
    #[must_use]
    pub fn reference(&self, value: &dyn Reflect) -> Option<SoftReference> {
        let path = self.path(value)?.to_owned();
        let type_path = self.of().path.to_owned();
        Some(SoftReference { path, type_path })
    }
}

impl<T: Asset + TypePath> FromType<SoftHandle<T>> for ReflectSoftHandle {
    fn from_type() -> Self {
        Self {
            path: |value| value.downcast_ref::<SoftHandle<T>>().map(SoftHandle::path),
            of: SoftType::of::<T>,
        }
    }
}
