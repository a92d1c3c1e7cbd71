//! Registries as assets. See [`RegistryLoader`].

use bevy_asset::{AssetLoader, AssetPath, LoadContext, io::Reader};
use bevy_reflect::TypePath;
use futures_lite::AsyncReadExt;
use serde::{Deserialize, Serialize};

use super::{ObjectRegistry, RegistryError, file};

/// The ending of registry files.
pub const REGISTRY_EXTENSION: &str = "registry";

/// The most that a registry may hold: what is larger is refused before it is worked on.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(default)]
pub struct RegistryLimits {
    /// Bytes of the file.
    pub bytes: u64,
    /// Objects.
    pub objects: u64,
}

impl Default for RegistryLimits {
    /// 256 MiB, 4 Mi objects.
    fn default() -> Self {
        Self {
            bytes: 256 << 20,
            objects: 4 << 20,
        }
    }
}

/// Loads `*.registry` files as [`ObjectRegistry`]. Its settings are the [`RegistryLimits`].
#[derive(TypePath, Default)]
pub struct RegistryLoader;

impl AssetLoader for RegistryLoader {
    type Asset = ObjectRegistry;
    type Settings = RegistryLimits;
    type Error = RegistryError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        limits: &RegistryLimits,
        context: &mut LoadContext<'_>,
    ) -> Result<ObjectRegistry, RegistryError> {
        let mut bytes = Vec::new();
        let mut limited = AsyncReadExt::take(reader, limits.bytes.saturating_add(1));
        let read = limited.read_to_end(&mut bytes).await;
        read.map_err(|error| RegistryError::Io(error.to_string()))?;
        file::read(&bytes, folder(context.path()), limits)
    }

    fn extensions(&self) -> &[&str] {
        &[REGISTRY_EXTENSION]
    }
}

impl ObjectRegistry {
    /// Reads a registry from the bytes of its file, which lies in `folder`: empty, or with a slash at its end.
    ///
    /// # Errors
    /// When it is larger than `limits`, no registry of this version, or damaged.
    pub fn from_bytes(bytes: &[u8], folder: impl Into<String>, limits: &RegistryLimits) -> Result<Self, RegistryError> {
        file::read(bytes, folder.into(), limits)
    }
}

/// What paths of files beside this one start with.
fn folder(path: &AssetPath) -> String {
    let path = path.to_string().replace('\\', "/");
    let end = path.rfind('/').map_or(0, |slash| slash + 1);
    path.get(..end).unwrap_or_default().to_owned()
}
