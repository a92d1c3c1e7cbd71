//! What a package follows from. See [`of`].

use std::collections::BTreeSet;

use super::seek_free::Originals;
use super::{Layout, World};
use crate::assets::{AssetKey, KeySet};
use crate::graph::digest::{Digest, Parts};

/// Raised with every change of how packages are put together.
const STEP: u64 = 6;

/// What begins a reference to an asset of the package itself, and one to any other.
const OWN: u64 = 1;
const OTHER: u64 = 2;

/// What every package of a world follows from.
fn shared_by_all(world: &World) -> Parts {
    let mut parts = Parts::default();
    let formats = [STEP, u64::from(seamless_package::FORMAT_VERSION), world.codec as u64];
    parts.value(&formats).number(world.roles.bits().into());
    for list in world.versions {
        parts.text(&format!("{list:?}"));
    }
    parts
}

/// The digest of all that goes into the package `index`, and the files of the packages that it imports from.
pub(super) fn of(layout: &Layout, index: usize, originals: &Originals) -> (Digest, Vec<String>) {
    let mut parts = shared_by_all(layout.world);
    let mut used = BTreeSet::new();
    let world = layout.world;
    let Some(package) = world.packages.get(index) else {
        return (parts.finish(), Vec::new());
    };
    parts.text(&package.file);
    let copies: KeySet = package.copies.iter().collect();
    let mut reference = |parts: &mut Parts, key: &AssetKey| {
        if let Some((_, place)) = layout.place(key).filter(|(package, _)| *package == index) {
            // It is told with the package's own.
            parts.number(OWN).number(place as u64);
            return;
        }
        parts.number(OTHER);
        let Some(home) = layout.home(key) else {
            // Nowhere: the package says what is not there.
            let role = world.objects.get(key).map(|object| object.role.bits());
            parts.text(&key.path()).text(key.type_path()).value(&role);
            return;
        };
        parts
            .text(home.file)
            .text(home.name)
            .text(home.type_path)
            .number(home.role.bits().into());
        if !copies.contains(key) {
            used.insert(home.package);
        }
    };
    parts.number(package.assets.len() as u64);
    for key in &package.assets {
        let (Some(home), Some(object)) = (layout.home(key), world.objects.get(key)) else {
            continue;
        };
        parts
            .text(home.name)
            .text(home.type_path)
            .number(home.role.bits().into());
        parts.digest(&object.blob).number(object.references.len() as u64);
        parts.number(object.is_marked.into());
        object.references.iter().for_each(|key| reference(&mut parts, key));
    }
    if let Some((_, level)) = world.level_of(package) {
        parts.digest(&level.blob).number(level.references.len() as u64);
        for key in &level.references {
            reference(&mut parts, key);
            // Stands on the entities.
            parts.value(&world.objects.get(key).map(|object| object.uv_density));
        }
    }
    parts.number(package.copies.len() as u64);
    for key in &package.copies {
        let Some(object) = world.objects.get(key) else { continue };
        reference(&mut parts, key);
        let content_hash = originals.home(layout, key).map(|(_, hash)| hash);
        parts.digest(&object.blob).number(content_hash.unwrap_or_default());
        // Whether its payloads come along.
        parts.number(object.is_on_demand.into()).number(object.is_marked.into());
        object.references.iter().for_each(|key| reference(&mut parts, key));
    }
    let files = used
        .into_iter()
        .filter_map(|used| Some(world.packages.get(used)?.file.clone()));
    (parts.finish(), files.collect())
}
