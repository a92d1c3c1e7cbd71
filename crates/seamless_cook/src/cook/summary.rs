//! What a report tells of a cook that is done.

use std::collections::{BTreeMap, BTreeSet};

use super::level_key;
use crate::assets::{AssetKey, FileContents, KeySet, ObjectRecord, Objects, left_out};
use crate::bounds::{Bounds, RADIUS_WITHOUT_BOUNDS};
use crate::graph::state::LevelUnit;
use crate::plan::WorldPlan;
use crate::report::{ContentError, ObjectTiming, SLOWEST_OBJECTS};

/// What the levels, and the files that they are from, are warned of.
pub(super) fn warnings(plan: &WorldPlan, units: &[&LevelUnit], objects: &Objects) -> Vec<ContentError> {
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
    let warned = originals(objects).filter(|(_, object)| !object.warnings.is_empty());
    for (key, object) in warned {
        let path = key.path();
        let told = object.warnings.iter();
        warnings.extend(told.map(|warning| ContentError::at(&path, warning.as_str())));
    }
    warnings
}

/// Levels that get a volume of their own, or whose instances do, although nothing tells how large they are.
pub(super) fn without_bounds(plan: &WorldPlan, bounds: &[Option<Bounds>]) -> Vec<ContentError> {
    if plan.has_volumes {
        return Vec::new();
    }
    let instances = plan.instances.iter().filter(|instance| instance.bounds.is_none());
    let streamed = instances.filter(|instance| !(instance.always_loaded || instance.on_request));
    let placed: BTreeSet<&String> = streamed.map(|instance| &instance.of).collect();
    let levels = plan.levels.iter().zip(bounds);
    let blind = levels.filter(|(level, bounds)| {
        let is_streamed = !(level.always_loaded || level.on_request) || placed.contains(&level.name);
        bounds.is_none() && level.asked.is_none() && is_streamed
    });
    let message = format!(
        "draws nothing in 3D and has no `bounds`, so it is loaded within {RADIUS_WITHOUT_BOUNDS} units of its place; write how \
         large it is, `bounds: ((-9.0, 0.0, -9.0), (9.0, 3.0, 9.0))` for instance, or `volumes` that load it"
    );
    let told = blind.map(|(level, _)| {
        let object = format!("level `{}`", level.name);
        ContentError::new(plan.file_name.as_str(), object, message.as_str())
    });
    told.collect()
}

/// Each asset once, however many levels have one of their own of it.
fn originals(objects: &Objects) -> impl Iterator<Item = (&AssetKey, &ObjectRecord)> {
    let mut told = KeySet::default();
    objects.iter().filter(move |(key, _)| {
        let original = key.original();
        original == *key || !objects.contains_key(original) && told.insert(original)
    })
}

/// What took longest, of the levels and the objects that are meant. A level's time has that of the assets that it was the first to refer to in it,
/// less textures.
pub(super) fn slowest(
    plan: &WorldPlan,
    units: &[&LevelUnit],
    objects: &Objects,
    is_meant: impl Fn(&AssetKey) -> bool,
) -> Vec<ObjectTiming> {
    let assets = originals(objects).filter(|(key, _)| is_meant(key));
    let assets = assets.map(|(key, object)| (object.seconds, Ok((key, object))));
    let levels = plan.levels.iter().zip(units);
    let levels = levels.map(|(level, unit)| (unit.seconds, Err(&level.name)));
    let mut slowest: Vec<_> = assets.chain(levels).collect();
    // Only those that are told have to be in order.
    let mut seconds: Vec<f64> = slowest.iter().map(|(seconds, _)| *seconds).collect();
    if seconds.len() > SLOWEST_OBJECTS {
        let (_, least, _) = seconds.select_nth_unstable_by(SLOWEST_OBJECTS, |a, b| b.total_cmp(a));
        slowest.retain(|(seconds, _)| seconds.total_cmp(least).is_ge());
    }
    slowest.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let told = slowest.into_iter().take(SLOWEST_OBJECTS).map(|(seconds, what)| {
        let (object, step) = match what {
            Ok((key, object)) if object.texture.is_some() => (key.path(), "compress"),
            Ok((key, _)) => (key.path(), "encode"),
            Err(level) => (format!("level `{level}`"), "encode"),
        };
        ObjectTiming {
            object,
            step: step.to_owned(),
            seconds,
        }
    });
    told.collect()
}
