//! The checks of [`WorldManifest::validate`].

use std::collections::{HashMap, HashSet};

use seamless_asset::InstancePath;

use super::{LevelEntry, MANIFEST_FORMAT, ManifestError, OLDEST_MANIFEST_FORMAT, VolumeEntry, WorldManifest};
use crate::volume::{VolumeError, VolumeFault, numbers_fault};

/// How far the squared length of a rotation may be from one.
const ROTATION_TOLERANCE: f32 = 1e-3;

pub(super) fn manifest(manifest: &WorldManifest) -> Result<(), ManifestError> {
    format(manifest.format)?;
    if manifest.levels.is_empty() {
        return Err(ManifestError::Empty {
            world: manifest.name.clone(),
        });
    }
    let levels = unique("level", manifest.levels.iter().map(|level| level.name.as_str()))?;
    unique("volume", manifest.volumes.iter().map(|volume| volume.name.as_str()))?;
    distinct_ids(manifest, InstancePath::id)?;
    if let Some(path) = manifest.startup.as_ref().filter(|path| !is_inner_path(path)) {
        let path = path.clone();
        return Err(ManifestError::StartupPath { path });
    }
    if let Some(path) = manifest.registry.as_ref().filter(|path| !is_inner_path(path)) {
        let path = path.clone();
        return Err(ManifestError::RegistryPath { path });
    }
    manifest.levels.iter().try_for_each(level)?;
    listed_packages(manifest)?;
    manifest.volumes.iter().try_for_each(|entry| volume(entry, &levels))
}

/// Whether a manifest of this format can be read.
pub(super) fn format(found: u32) -> Result<(), ManifestError> {
    if (OLDEST_MANIFEST_FORMAT..=MANIFEST_FORMAT).contains(&found) {
        return Ok(());
    }
    Err(ManifestError::Format {
        found,
        oldest: OLDEST_MANIFEST_FORMAT,
        newest: MANIFEST_FORMAT,
    })
}

fn unique<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Result<HashSet<&'a str>, ManifestError> {
    let mut seen = HashSet::new();
    for (index, name) in names.enumerate() {
        if name.is_empty() {
            return Err(ManifestError::Nameless { what, index });
        }
        if !seen.insert(name) {
            let name = name.to_owned();
            return Err(ManifestError::DuplicateName { what, name });
        }
    }
    Ok(seen)
}

/// Levels that could not be told apart by the numbers that stand for their paths.
fn distinct_ids(manifest: &WorldManifest, id: impl Fn(&InstancePath) -> u64) -> Result<(), ManifestError> {
    let mut seen = HashMap::new();
    for level in &manifest.levels {
        let path = InstancePath::new(&manifest.name, &level.name);
        if let Some(other) = seen.insert(id(&path), &level.name) {
            return Err(ManifestError::SameId {
                level: level.name.clone(),
                other: other.clone(),
            });
        }
    }
    Ok(())
}

pub(super) fn level(entry: &LevelEntry) -> Result<(), ManifestError> {
    packages(entry)?;
    let fault = |field, fault| {
        Err(ManifestError::Placement {
            level: entry.name.clone(),
            field,
            fault,
        })
    };
    const NOT_FINITE: &str = "is infinite or not a number";
    if !finite(&entry.translation) {
        return fault("translation", NOT_FINITE);
    }
    let length: f32 = entry.rotation.iter().map(|part| part * part).sum();
    if !length.is_finite() || (length - 1.0).abs() > ROTATION_TOLERANCE {
        return fault("rotation", "is no unit quaternion");
    }
    if !finite(&entry.scale) {
        return fault("scale", NOT_FINITE);
    }
    if entry.scale.contains(&0.0) {
        return fault("scale", "is zero along an axis");
    }
    match &entry.bounds {
        Some((min, max)) if !(finite(min) && finite(max)) => fault("bounds", NOT_FINITE),
        Some((min, max)) if min.iter().zip(max).any(|(min, max)| min > max) => {
            fault("bounds", "have a `min` above their `max`")
        }
        _ => Ok(()),
    }
}

fn packages(entry: &LevelEntry) -> Result<(), ManifestError> {
    let level = || entry.name.clone();
    let mut seen = HashSet::new();
    for path in std::iter::once(&entry.package).chain(&entry.dependencies) {
        if !is_inner_path(path) {
            let path = path.clone();
            return Err(ManifestError::PackagePath { level: level(), path });
        }
        if !seen.insert(path) {
            let package = path.clone();
            return Err(if path == &entry.package {
                ManifestError::SelfDependency {
                    level: level(),
                    package,
                }
            } else {
                ManifestError::DuplicateDependency {
                    level: level(),
                    package,
                }
            });
        }
    }
    Ok(())
}

fn listed_packages(manifest: &WorldManifest) -> Result<(), ManifestError> {
    unique("package", manifest.packages.iter().map(|entry| entry.package.as_str()))?;
    match manifest.packages.iter().find(|entry| !is_inner_path(&entry.package)) {
        Some(entry) => Err(ManifestError::ListedPath {
            path: entry.package.clone(),
        }),
        None => Ok(()),
    }
}

/// Whether a path stays within the directory it is relative to, on every platform and in every asset source.
fn is_inner_path(path: &str) -> bool {
    !path.contains(['\\', '#', ':', '\0']) && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn volume(entry: &VolumeEntry, levels: &HashSet<&str>) -> Result<(), ManifestError> {
    let shape = entry.shape.validate(entry.unload_margin).err();
    let numbers = || numbers_fault(entry.unload_delay, entry.priority);
    let fault = shape.or_else(numbers).or_else(|| {
        let unknown = entry.levels.iter().find(|name| !levels.contains(name.as_str()))?;
        Some(VolumeFault::UnknownLevel(unknown.clone()))
    });
    match fault {
        Some(fault) => Err(VolumeError {
            volume: entry.name.clone(),
            fault,
        }
        .into()),
        None => Ok(()),
    }
}

fn finite(numbers: &[f32]) -> bool {
    numbers.iter().all(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_with_one_id_are_refused() {
        let level = |name: &str| LevelEntry {
            name: name.into(),
            ..LevelEntry::default()
        };
        let manifest = WorldManifest {
            levels: ["a", "b", "c"].map(level).into(),
            ..WorldManifest::default()
        };
        assert_eq!(distinct_ids(&manifest, InstancePath::id), Ok(()));
        let collide = |path: &InstancePath| u64::from(path.as_str().ends_with('b'));
        let error = distinct_ids(&manifest, collide).unwrap_err();
        assert!(error.to_string().contains("`c` and `a`"), "{error}");
    }
}
