//! What a report tells of a cook that is done.

use std::collections::{BTreeMap, BTreeSet};

use super::level_key;
use crate::assets::{AssetKey, FileContents, ObjectRecord, left_out};
use crate::graph::state::LevelUnit;
use crate::plan::WorldPlan;
use crate::report::{ContentError, ObjectTiming, SLOWEST_OBJECTS};

/// What the levels, and the files that they are from, are warned of.
pub(super) fn warnings(
    plan: &WorldPlan,
    units: &[&LevelUnit],
    objects: &BTreeMap<AssetKey, ObjectRecord>,
) -> Vec<ContentError> {
    let mut files: BTreeMap<String, FileContents> = BTreeMap::new();
    let mut told = BTreeSet::new();
    let mut warnings = Vec::new();
    for (level, unit) in plan.levels.iter().zip(units) {
        if let Some(contents) = &unit.contents {
            files.entry(unit.file.clone()).or_default().join(contents);
        }
        if told.insert(level_key(plan, level)) {
            warnings.extend(unit.warnings.iter().cloned());
        }
    }
    warnings.extend(left_out(&files, objects));
    for (key, object) in objects {
        let path = key.path();
        let (file, label) = path.split_once('#').unwrap_or((&path, ""));
        warnings.extend(
            object
                .warnings
                .iter()
                .map(|warning| ContentError::new(file, label, warning.as_str())),
        );
    }
    warnings
}

/// What took longest. A level's time has that of the assets that it was the first to refer to in it, less textures.
pub(super) fn slowest(
    plan: &WorldPlan,
    units: &[&LevelUnit],
    objects: &BTreeMap<AssetKey, ObjectRecord>,
) -> Vec<ObjectTiming> {
    let timing = |object: String, step: &str, seconds| ObjectTiming {
        object,
        step: step.to_owned(),
        seconds,
    };
    let step = |object: &ObjectRecord| if object.texture.is_some() { "compress" } else { "encode" };
    let assets = objects
        .iter()
        .map(|(key, object)| timing(key.path(), step(object), object.seconds));
    let levels = plan.levels.iter().zip(units);
    let levels = levels.map(|(level, unit)| timing(format!("level `{}`", level.name), "encode", unit.seconds));
    let mut slowest: Vec<ObjectTiming> = assets.chain(levels).collect();
    slowest.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    slowest.truncate(SLOWEST_OBJECTS);
    slowest
}
