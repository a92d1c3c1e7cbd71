//! How many entities a world has live at once. See [`entities`].

use std::collections::{HashMap, HashSet};

use bevy_math::Vec3;

use super::{VolumeEntry, WorldManifest};
use crate::volume::{VolumeMode, VolumeShape};

/// Volumes that are looked at, at most.
const SAMPLES: usize = 256;

/// See [`WorldManifest::estimate_peak_entities`].
pub(super) fn entities(manifest: &WorldManifest) -> u32 {
    let counts: HashMap<&str, u32> = manifest
        .levels
        .iter()
        .map(|level| (level.name.as_str(), level.entities))
        .collect();
    let always: HashSet<&str> = manifest
        .levels
        .iter()
        .filter(|level| level.always_loaded)
        .map(|level| level.name.as_str())
        .collect();
    let stride = manifest.volumes.len().div_ceil(SAMPLES).max(1);
    let centers = manifest.volumes.iter().step_by(stride).filter_map(center);
    let sum = |wanted: HashSet<&str>| {
        let counts = wanted.union(&always).filter_map(|name| counts.get(name));
        counts.fold(0_u32, |sum, count| sum.saturating_add(*count))
    };
    centers
        .map(|center| wanted_at(manifest, center))
        .chain([HashSet::new()])
        .map(sum)
        .max()
        .unwrap_or_default()
}

fn wanted_at(manifest: &WorldManifest, source: Vec3) -> HashSet<&str> {
    let loads = |volume: &VolumeEntry| volume.enabled && volume.mode != VolumeMode::ShowIfLoaded;
    let near = |volume: &&VolumeEntry| loads(volume) && volume.shape.signed_distance(source) <= volume.unload_margin;
    let volumes = manifest.volumes.iter().filter(near);
    volumes
        .flat_map(|volume| volume.levels.iter().map(String::as_str))
        .collect()
}

/// The middle of a volume; a convex one may have none.
fn center(volume: &VolumeEntry) -> Option<Vec3> {
    match &volume.shape {
        VolumeShape::Convex { .. } => None,
        // Where it has one end, that is as good.
        VolumeShape::Box { min, max } => Some(volume.shape.center_offset(Vec3::ZERO).clamp(*min, *max)),
        shape => Some(shape.center_offset(Vec3::ZERO)),
    }
}
