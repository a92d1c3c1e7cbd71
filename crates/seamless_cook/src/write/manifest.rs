//! The world manifest, from the plan and from what was written.

use seamless_level::{LevelEntry, MANIFEST_FORMAT, PackageEntry, VolumeEntry, WorldManifest};

use crate::bounds;
use crate::graph::state::Written;
use crate::plan::WorldPlan;

/// What two apps compare before they speak of objects over a network.
pub(super) fn listed(file: &str, written: &Written, entities: u32) -> PackageEntry {
    PackageEntry {
        package: file.to_owned(),
        content_hash: written.content_hash,
        exports: written.exports,
        entities,
    }
}

/// The manifest of the planned world, with what was written.
pub(super) fn manifest(
    plan: &WorldPlan,
    mut levels: Vec<LevelEntry>,
    packages: Vec<PackageEntry>,
    (startup, registry): (Option<String>, Option<String>),
) -> WorldManifest {
    let instances = plan.instances.iter().filter_map(|instance| {
        let of = levels.iter().find(|level| level.name == instance.of)?;
        Some(bounds::entry_of(of, instance))
    });
    let instances: Vec<LevelEntry> = instances.collect();
    levels.extend(instances);
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
            mode: volume.mode,
            enabled: volume.enabled,
            unload_delay: volume.unload_delay,
            priority: volume.priority,
        })
        .collect();
    if plan.volumes.is_empty() {
        let streamed = levels.iter().filter(|level| !(level.always_loaded || level.on_request));
        volumes.extend(streamed.map(|level| {
            let shape = bounds::own_volume(level.translation, level.bounds);
            VolumeEntry {
                name: level.name.clone(),
                unload_margin: shape.default_unload_margin(),
                shape,
                levels: vec![level.name.clone()],
                ..VolumeEntry::default()
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
        registry,
        peak_entities: 0,
    };
    manifest.peak_entities = manifest.estimate_peak_entities();
    if plan.has_volumes && plan.volumes.is_empty() {
        // They come by their distance, which may be about that.
        manifest.volumes.clear();
    }
    manifest
}
