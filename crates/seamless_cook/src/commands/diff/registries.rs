//! What differs between the registries of two cooked folders.

use std::collections::{BTreeMap, BTreeSet};

use seamless_asset::{ObjectRegistry, RegistryObject};
use serde_json::{Value, json};

use super::super::folder::{CookedFolder, CookedRegistry};
use super::super::inspect::InspectError;
use super::folders::part_diffs;
use super::{Change, RegistryDiff};

pub(super) fn diff(a: &CookedFolder, b: &CookedFolder) -> Result<Vec<RegistryDiff>, InspectError> {
    let [was, is] = [registries(a)?, registries(b)?];
    let files: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let differ = files
        .into_iter()
        .filter_map(|file| registry_diff(file, was.get(file), is.get(file)));
    Ok(differ.collect())
}

/// By file.
fn registries(folder: &CookedFolder) -> Result<BTreeMap<String, ObjectRegistry>, InspectError> {
    let read = |registry: CookedRegistry| {
        let path = folder.directory.join(&registry.file);
        let read = registry.read.map_err(|source| InspectError::Registry { path, source });
        Ok((registry.file, read?))
    };
    folder.registries().into_iter().map(read).collect()
}

fn registry_diff(file: &str, a: Option<&ObjectRegistry>, b: Option<&ObjectRegistry>) -> Option<RegistryDiff> {
    let change = match (a, b) {
        (Some(_), Some(_)) => Change::Changed,
        (None, _) => Change::Added,
        _ => Change::Removed,
    };
    let (mut what, mut resized) = (Vec::new(), 0);
    if let Some((a, b)) = a.zip(b) {
        let [was, is] = [a, b].map(|registry| registry.objects().iter().map(flat).collect::<serde_json::Map<_, _>>());
        what = part_diffs(&was.into(), &is.into());
        let is_resized = |object: &&RegistryObject| {
            let same = |known: &&RegistryObject| known.type_path == object.type_path;
            let was = a.at(&object.path).iter().find(same);
            was.is_some_and(|was| was.bytes != object.bytes)
        };
        resized = b.objects().iter().filter(is_resized).count();
        if what.is_empty() && resized == 0 {
            return None;
        }
    }
    Some(RegistryDiff {
        registry: file.to_owned(),
        change,
        what,
        resized,
    })
}

/// What a registry tells of an object beside its size, which follows from packages.
fn flat(object: &RegistryObject) -> (String, Value) {
    let texts = |texts: &[std::sync::Arc<str>]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let level = object.level.as_ref();
    let tags = object.tags.iter().map(|(key, value)| format!("{key}={value}"));
    let bundles = object
        .bundles
        .iter()
        .map(|(name, paths)| format!("{name}: {}", texts(paths).join(", ")));
    let parts = json!({
        "package": *object.package,
        "object": *object.object,
        "tags": tags.collect::<Vec<_>>(),
        "soft": texts(&object.soft),
        "bundles": bundles.collect::<Vec<_>>(),
        "dependencies": level.map(|level| texts(&level.dependencies)),
        "assets": level.map(|level| texts(&level.assets)),
        "entities": level.map(|level| level.entities),
    });
    (format!("{} ({})", object.path, object.type_path), parts)
}
