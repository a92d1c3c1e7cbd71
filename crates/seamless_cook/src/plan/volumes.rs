//! The volumes of a world file.

use std::collections::BTreeSet;

use seamless_level::{StreamingVolume, VolumeMode};

use super::{Checker, WorldPlan};
use crate::world_file::VolumeSource;

impl WorldPlan {
    /// Levels and instances that no volume loads, by name, in a world that has volumes of its own: they may come by their distance, or when somebody asks for
    /// them.
    pub(crate) fn without_volume(&self) -> Vec<String> {
        if self.volumes.is_empty() {
            return Vec::new();
        }
        let loading = |volume: &&VolumeSource| volume.mode != VolumeMode::ShowIfLoaded;
        let volumes = self.volumes.iter().filter(loading);
        let inside: BTreeSet<&String> = volumes.flat_map(|volume| &volume.levels).collect();
        let levels = self.levels.iter().filter(|level| level.asked.is_none());
        let levels = levels.map(|level| (&level.name, level.always_loaded || level.on_request));
        let instances = self.instances.iter();
        let instances = instances.map(|instance| (&instance.name, instance.always_loaded || instance.on_request));
        let outside = levels
            .chain(instances)
            .filter(|(name, is_meant)| !is_meant && !inside.contains(name));
        outside.map(|(name, _)| name.clone()).collect()
    }
}

impl Checker<'_> {
    /// Checks one volume, of a world with these levels; `seen` are the names of those before.
    pub(super) fn volume(
        &mut self,
        index: usize,
        mut volume: VolumeSource,
        levels: &BTreeSet<&str>,
        seen: &mut BTreeSet<String>,
    ) -> VolumeSource {
        let name = volume.name.clone().unwrap_or_else(|| format!("volume_{index}"));
        let object = format!("volume `{name}`");
        if !seen.insert(name.clone()) {
            self.error(&object, "there are two volumes of this name; give one another `name`");
        }
        volume.name = Some(name);
        let checked = StreamingVolume {
            shape: volume.shape.clone(),
            unload_margin: volume.unload_margin,
            unload_delay: volume.unload_delay,
            priority: volume.priority,
            ..StreamingVolume::default()
        };
        if let Err(error) = checked.validate(&object) {
            self.error(&object, error.fault.to_string());
        }
        if volume.levels.is_empty() {
            self.error(&object, "lists no level; list the levels that it loads, or remove it");
        }
        // A level whose source is wrong is reported for that alone, so unknown names wait until all levels are right.
        if self.errors.is_empty() {
            for level in &volume.levels {
                if !levels.contains(level.as_str()) {
                    self.error(
                        &object,
                        format!("names `{level}`, which is no level of this world; correct the name"),
                    );
                }
            }
        }
        volume
    }
}
