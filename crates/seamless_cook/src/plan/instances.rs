//! Further placements of levels, as the world file lists them.

use std::collections::BTreeSet;

use super::{Checker, PlannedLevel, check_name, unit};
use crate::bounds::Bounds;
use crate::world_file::InstanceSource;

/// Another placement of a level, of the same package.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedInstance {
    pub name: String,
    /// The level whose package it is.
    pub of: String,
    pub translation: [f32; 3],
    pub rotation: [f32; 4],
    pub scale: [f32; 3],
    /// What the author states, in its own space; else it is as its level.
    pub bounds: Option<Bounds>,
    pub always_loaded: bool,
    pub on_request: bool,
    pub data: Option<String>,
}

impl Checker<'_> {
    /// Checks the placements; gives those that can be cooked.
    pub(super) fn instances(
        &mut self,
        instances: Vec<InstanceSource>,
        levels: &[PlannedLevel],
    ) -> Vec<PlannedInstance> {
        let lower = |level: &PlannedLevel| level.name.to_lowercase();
        let mut seen: BTreeSet<String> = levels.iter().map(lower).collect();
        // A level whose source is wrong is reported for that alone.
        let are_levels_right = self.errors.is_empty();
        let mut planned = Vec::with_capacity(instances.len());
        for instance in instances {
            let object = format!("instance `{}`", instance.name);
            if let Err(message) = check_name(&instance.name) {
                self.error(&object, message);
            }
            if !seen.insert(instance.name.to_lowercase()) {
                self.error(
                    &object,
                    "there is a level or an instance of this name; give one another `name` (upper and lower case count as one)",
                );
            }
            if are_levels_right && !levels.iter().any(|level| level.name == instance.of) {
                self.error(
                    &object,
                    format!(
                        "is of `{}`, which is no level of this world; correct the name",
                        instance.of
                    ),
                );
            }
            self.placement(&object, instance.translation, instance.rotation, instance.scale);
            self.bounds(&object, instance.bounds);
            self.when(&object, instance.always_loaded, instance.on_request);
            planned.push(PlannedInstance {
                name: instance.name,
                of: instance.of,
                translation: instance.translation,
                rotation: unit(instance.rotation),
                scale: instance.scale,
                bounds: instance.bounds,
                always_loaded: instance.always_loaded,
                on_request: instance.on_request,
                data: instance.data,
            });
        }
        planned
    }
}
