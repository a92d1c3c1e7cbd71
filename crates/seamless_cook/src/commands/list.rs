//! The cooked worlds of a directory. See [`list`].

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Serialize;

use super::folder::{manifests_in, read_manifest, read_registry};
use super::inspect::InspectError;

/// A cooked world in a directory.
#[derive(Debug, Serialize)]
pub struct WorldInfo {
    /// Its name.
    pub name: String,
    /// File name of its manifest.
    pub manifest: String,
    /// Its levels: name, package, entities and bytes.
    pub levels: Vec<ListedLevel>,
    /// Its package of startup content, if it has one: file name, and bytes; none if the file is not there.
    pub startup: Option<(String, Option<u64>)>,
    /// Its shared packages: file name, and bytes; none if the file is not there.
    pub shared: Vec<(String, Option<u64>)>,
    /// The registry of its objects, if it has one.
    pub registry: Option<ListedRegistry>,
    /// Number of streaming volumes.
    pub volumes: u32,
    /// Packages, and a registry, that the manifest names and that are not there.
    pub missing: Vec<String>,
}

/// One level of a [`WorldInfo`].
#[derive(Debug, Serialize)]
pub struct ListedLevel {
    /// Its name.
    pub name: String,
    /// Its package.
    pub package: String,
    /// Its entities.
    pub entities: u32,
    /// Bytes of its package.
    pub bytes: u64,
    /// How many shared packages it needs.
    pub dependencies: u32,
}

/// The registry of a [`WorldInfo`].
#[derive(Debug, Serialize)]
pub struct ListedRegistry {
    /// File name.
    pub file: String,
    /// Bytes of the file; none if it is not there.
    pub bytes: Option<u64>,
    /// How many objects and levels it tells of; none if it cannot be read: `seamless verify` says why.
    pub objects: Option<u32>,
}

/// The cooked worlds in `directory`, by name.
///
/// # Errors
/// When the directory or a manifest in it cannot be read.
pub fn list(directory: &Path) -> Result<Vec<WorldInfo>, InspectError> {
    manifests_in(directory)?
        .iter()
        .map(|path| world_info(directory, path))
        .collect()
}

fn world_info(directory: &Path, path: &Path) -> Result<WorldInfo, InspectError> {
    let manifest = read_manifest(path)?;
    let size = |file: &str| fs::metadata(directory.join(file)).ok().map(|metadata| metadata.len());
    let levels: BTreeSet<&str> = manifest.levels.iter().map(|level| level.package.as_str()).collect();
    let dependencies = manifest.levels.iter().flat_map(|level| &level.dependencies);
    let shared: BTreeSet<&str> = dependencies
        .chain(manifest.packages.iter().map(|listed| &listed.package))
        .map(String::as_str)
        .filter(|file| !levels.contains(file) && manifest.startup.as_deref() != Some(file))
        .collect();
    let packages = shared
        .iter()
        .copied()
        .chain(manifest.startup.as_deref())
        .chain(manifest.levels.iter().map(|level| level.package.as_str()))
        .chain(manifest.registry.as_deref());
    let missing = packages
        .filter(|file| size(file).is_none())
        .map(str::to_owned)
        .collect();
    Ok(WorldInfo {
        name: manifest.name.clone(),
        manifest: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        levels: manifest
            .levels
            .iter()
            .map(|level| ListedLevel {
                name: level.name.clone(),
                package: level.package.clone(),
                entities: level.entities,
                bytes: level.bytes,
                dependencies: (level.dependencies.iter())
                    .filter(|file| Some(*file) != manifest.startup.as_ref())
                    .count() as u32,
            })
            .collect(),
        startup: manifest.startup.as_deref().map(|file| (file.to_owned(), size(file))),
        shared: shared.iter().map(|file| ((*file).to_owned(), size(file))).collect(),
        registry: manifest.registry.as_deref().map(|file| ListedRegistry {
            file: file.to_owned(),
            bytes: size(file),
            objects: read_registry(&directory.join(file))
                .ok()
                .map(|registry| registry.objects().len() as u32),
        }),
        volumes: manifest.volumes.len() as u32,
        missing,
    })
}
