//! The world manifest, from the plan and from what was written.

use seamless_level::{LevelEntry, MANIFEST_FORMAT, PackageEntry, VolumeEntry, WorldManifest};
use seamless_package::{Limits, PackageError, Summary};

use crate::bounds;
use crate::level::EncodedLevel;
use crate::plan::WorldPlan;
use crate::share::PackagePlan;

/// What two apps compare before they speak of objects over a network.
pub(super) fn listed_package(
    package: &PackagePlan,
    level: Option<&EncodedLevel>,
    bytes: &[u8],
) -> Result<PackageEntry, PackageError> {
    let summary = Summary::parse(bytes, &Limits::default())?;
    Ok(PackageEntry {
        package: package.file.clone(),
        content_hash: summary.content_hash,
        exports: summary.export_count,
        entities: level.map_or(0, |level| level.entities.len() as u32),
    })
}

/// The manifest of the planned world, with what was written.
pub(super) fn manifest(
    plan: &WorldPlan,
    levels: Vec<LevelEntry>,
    packages: Vec<PackageEntry>,
    startup: Option<String>,
) -> WorldManifest {
    let mut volumes: Vec<VolumeEntry> = plan
        .volumes
        .iter()
        .map(|volume| VolumeEntry {
            name: volume.name.clone().unwrap_or_default(),
            unload_margin: volume
                .unload_margin
                .unwrap_or_else(|| volume.shape.default_unload_margin()),
            shape: volume.shape.clone(),
            levels: volume.levels.clone(),
        })
        .collect();
    if volumes.is_empty() {
        let streamed = plan
            .levels
            .iter()
            .zip(&levels)
            .filter(|(level, _)| !level.always_loaded);
        volumes.extend(streamed.map(|(level, entry)| {
            let shape = bounds::own_volume(level, entry.bounds);
            VolumeEntry {
                name: level.name.clone(),
                unload_margin: shape.default_unload_margin(),
                shape,
                levels: vec![level.name.clone()],
            }
        }));
    }
    let mut manifest = WorldManifest {
        format: MANIFEST_FORMAT,
        name: plan.name.clone(),
        levels,
        volumes,
        packages,
        startup,
        peak_entities: 0,
    };
    manifest.peak_entities = manifest.estimate_peak_entities();
    manifest
}
