//! What there is in cooked packages, without opening one. See [`ObjectRegistry`] and [`ObjectRegistries`].

mod error;
mod file;
mod loader;
mod registries;
mod scan;
#[cfg(test)]
pub(crate) mod tests;

pub use error::RegistryError;
pub use file::{MAGIC as REGISTRY_MAGIC, REGISTRY_FORMAT};
#[cfg(feature = "write")]
pub use file::{resize_registry, write_registry};
pub use loader::{REGISTRY_EXTENSION, RegistryLimits, RegistryLoader};
pub(crate) use registries::take_registries;
pub use registries::{FoundObject, ObjectRegistries};
pub use scan::ObjectScan;

use std::sync::Arc;

use bevy_asset::Asset;
use bevy_platform::{collections::HashMap, hash::PassHash};
use bevy_reflect::TypePath;
use seamless_package::ObjectId;

use crate::soft::hash_of;

/// The objects of a cooked world, by the paths that authors know them by: what the cooker writes beside the manifest, as
/// `<world>.registry`.
///
/// It tells of each object where it lies, what type it has, what loading it costs, its tags and whom it refers to softly. It is small, and is
/// read without opening a package. Give it to [`ObjectRegistries`].
#[derive(Asset, TypePath, Debug, Clone, Default)]
pub struct ObjectRegistry(Arc<Index>);

/// One object of an [`ObjectRegistry`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegistryObject {
    /// The path that its author knows it by: that of a source below the asset root, with a label for a part of it.
    pub path: Arc<str>,
    /// The package that it lies in, a path relative to the registry's directory.
    pub package: Arc<str>,
    /// Its name in the package; empty for a level.
    pub object: Arc<str>,
    /// The stable name of its type; [`LEVEL_CLASS`](crate::level_data::LEVEL_CLASS) for a level.
    pub type_path: Arc<str>,
    /// Bytes that are read when it is loaded with all that it refers to, and none of that is live.
    pub bytes: u64,
    /// What it can be found by: key and value, in the order of the keys. A codec says them, `EncodeContext::tag`.
    pub tags: Vec<(Arc<str>, Arc<str>)>,
    /// The paths that it refers to softly.
    pub soft: Vec<Arc<str>>,
    /// Named lists of paths that are loaded together, of a primary asset; such as `"ui"`.
    pub bundles: Vec<(Arc<str>, Vec<Arc<str>>)>,
    /// What a level has besides.
    pub level: Option<Box<RegistryLevel>>,
}

/// What an [`ObjectRegistry`] tells of a level, so that it can be placed, or loaded ahead.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegistryLevel {
    /// The packages that it imports from, paths relative to the registry's directory, in the order in which they are to be loaded.
    pub dependencies: Vec<Arc<str>>,
    /// The assets that its entities refer to, `package#object`.
    pub assets: Vec<Arc<str>>,
    /// How many entities it has.
    pub entities: u32,
}

impl RegistryObject {
    /// The values that it has for a tag.
    pub fn tag<'s>(&'s self, key: &'s str) -> impl Iterator<Item = &'s str> {
        let of_key = self.tags.iter().filter(move |(known, _)| **known == *key);
        of_key.map(|(_, value)| &**value)
    }

    /// Its identity.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        ObjectId::new(&self.package, &self.object)
    }

    /// Whether it is a level, which is placed in the world and not loaded as an asset.
    #[must_use]
    pub fn is_level(&self) -> bool {
        self.level.is_some()
    }
}

/// Objects, and what they are found by.
#[derive(Debug, Default)]
struct Index {
    /// What object paths have in front of the packages' names.
    folder: String,
    /// In the order of their paths, then types.
    objects: Vec<RegistryObject>,
    /// The first of each path.
    by_path: HashMap<u64, u32, PassHash>,
    by_type: HashMap<Arc<str>, Vec<u32>>,
    by_tag: HashMap<Arc<str>, Vec<u32>>,
}

impl ObjectRegistry {
    /// A registry of these objects, whose packages lie in a folder: empty, or with a slash at its end.
    ///
    /// # Errors
    /// When an object is there twice, or two paths have one hash.
    pub fn new(folder: impl Into<String>, mut objects: Vec<RegistryObject>) -> Result<Self, RegistryError> {
        objects.sort_by(|a, b| order(a).cmp(&order(b)));
        let mut index = Index {
            folder: folder.into(),
            ..Index::default()
        };
        for (place, object) in objects.iter().enumerate() {
            let before = place.checked_sub(1).and_then(|before| objects.get(before));
            if before.is_some_and(|before| order(before) == order(object)) {
                return Err(RegistryError::Twice(object.path.to_string()));
            }
            let place = place as u32;
            let first = *index.by_path.entry(hash_of(&object.path)).or_insert(place);
            let owner = objects.get(first as usize).map_or("", |owner| &owner.path);
            if *owner != *object.path {
                return Err(RegistryError::Collision {
                    first: owner.to_owned(),
                    second: object.path.to_string(),
                });
            }
            let of_type = index.by_type.entry(object.type_path.clone()).or_default();
            of_type.push(place);
            for (key, _) in &object.tags {
                let tagged = index.by_tag.entry(key.clone()).or_default();
                if tagged.last() != Some(&place) {
                    tagged.push(place);
                }
            }
        }
        index.objects = objects;
        Ok(Self(Arc::new(index)))
    }

    /// All objects, in the order of their paths.
    #[must_use]
    pub fn objects(&self) -> &[RegistryObject] {
        &self.0.objects
    }

    /// What object paths have in front of the packages' names: the registry's own folder, and its asset source.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.0.folder
    }

    /// The objects at a path: one, unless a source is loaded as several types.
    #[must_use]
    pub fn at(&self, path: &str) -> &[RegistryObject] {
        self.at_hash(path, hash_of(path))
    }

    pub(crate) fn at_hash(&self, path: &str, hash: u64) -> &[RegistryObject] {
        let first = self.0.by_path.get(&hash).map(|first| *first as usize);
        let rest = first.and_then(|first| self.0.objects.get(first..)).unwrap_or_default();
        let count = rest.iter().take_while(|object| *object.path == *path).count();
        rest.get(..count).unwrap_or_default()
    }

    /// The object path of one of its objects, as an [`ObjectRequest`](crate::ObjectRequest) takes it.
    #[must_use]
    pub fn object_path(&self, object: &RegistryObject) -> String {
        let (folder, package) = (&self.0.folder, &object.package);
        if object.is_level() {
            return format!("{folder}{package}");
        }
        format!("{folder}{package}#{}", object.object)
    }
}

fn order(object: &RegistryObject) -> (&str, &str) {
    (&object.path, &object.type_path)
}
