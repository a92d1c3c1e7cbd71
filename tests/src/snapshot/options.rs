//! What a snapshot leaves out.

use bevy_seamless::asset::assets::MeshUvDensity;
use std::{
    any::TypeId,
    collections::{BTreeSet, HashSet},
};

/// Which components a snapshot leaves out. The default leaves out nothing.
#[derive(Clone, Debug, Default)]
pub struct SnapshotOptions {
    paths: BTreeSet<String>,
    prefixes: Vec<String>,
    types: HashSet<TypeId>,
    no_root: bool,
    shipped: bool,
}

impl SnapshotOptions {
    /// Leaves out the component with this full type path (`my_crate::module::Type`).
    #[must_use]
    pub fn ignore(mut self, type_path: &str) -> Self {
        self.paths.insert(type_path.to_owned());
        self
    }

    /// Leaves out every component whose type path begins with `prefix` (`seamless_level::`).
    #[must_use]
    pub fn ignore_prefix(mut self, prefix: &str) -> Self {
        self.prefixes.push(prefix.to_owned());
        self
    }

    /// Leaves out component `T`; works for types without reflection too.
    #[must_use]
    pub fn ignore_type<T: 'static>(mut self) -> Self {
        self.types.insert(TypeId::of::<T>());
        self
    }

    /// Leaves out all components of the root: it belongs to whoever placed the level. Its children still count.
    #[must_use]
    pub fn without_root_components(mut self) -> Self {
        self.no_root = true;
        self
    }

    /// Leaves out what a cook that changes pictures and the order of triangles may change: the pixels of images, their formats, mips and whether
    /// the main world keeps them, and the order of vertices and triangles; and what it adds, the UV densities of meshes.
    #[must_use]
    pub fn as_shipped(mut self) -> Self {
        self.shipped = true;
        self.ignore_type::<MeshUvDensity>()
    }

    pub(super) fn is_shipped(&self) -> bool {
        self.shipped
    }

    pub(super) fn has_root_components(&self) -> bool {
        !self.no_root
    }

    pub(super) fn ignores(&self, name: &str, type_id: Option<TypeId>) -> bool {
        self.paths.contains(name)
            || self.prefixes.iter().any(|prefix| name.starts_with(prefix))
            || type_id.is_some_and(|id| self.types.contains(&id))
    }
}
