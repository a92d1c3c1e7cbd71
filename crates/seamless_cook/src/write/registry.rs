//! The registry of a world: every object that has a path, and every level. See [`registry`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use seamless_asset::level_data::LEVEL_CLASS;
use seamless_asset::{ObjectRegistry, RegistryError, RegistryLevel, RegistryObject, write_registry};
use seamless_level::LevelEntry;

use super::{Layout, World};
use crate::assets::{AssetKey, AssetName, ObjectRecord, Objects};
use crate::graph::state::LevelUnit;
use crate::plan::{PlannedLevel, SourceKind, path_of};

/// The bytes of the registry; `entries` are those of all levels, with their places in the plan.
pub(super) fn registry(layout: &Layout, entries: &[(usize, LevelEntry)]) -> Result<Vec<u8>, RegistryError> {
    let mut sizes = Sizes::new(layout);
    let placed = layout.world.objects.keys().zip(layout.places.iter());
    let placed = placed.filter(|(_, place)| place.is_some());
    let mut objects: Vec<RegistryObject> = Vec::with_capacity(layout.places.len());
    for (key, _) in placed {
        objects.extend(row_of_object(layout, key, &mut sizes));
    }
    let mut levels: Vec<RegistryObject> = Vec::new();
    let mut taken: BTreeSet<Arc<str>> = BTreeSet::new();
    let packages: BTreeMap<&str, usize> = (layout.world.packages.iter().enumerate())
        .map(|(index, package)| (package.file.as_str(), index))
        .collect();
    for (place, entry) in entries {
        let level = layout.world.plan.levels.get(*place);
        let unit = layout.world.levels.get(*place);
        let Some((level, unit)) = level.zip(unit).filter(|(level, _)| level.kind != SourceKind::Asset) else {
            continue;
        };
        let own = packages.get(entry.package.as_str()).copied();
        let row = row_of_level(layout, (level, unit), (entry, own), &mut sizes);
        // A scene may be several levels; whoever asks for it by its path gets the first.
        if taken.insert(row.path.clone()) {
            levels.push(row);
        }
    }
    objects.extend(levels);
    write_registry(&ObjectRegistry::new("", objects)?)
}

fn row_of_object(layout: &Layout, key: &AssetKey, sizes: &mut Sizes) -> Option<RegistryObject> {
    let AssetName::Path { path, type_path } = key.name() else {
        return None;
    };
    let home = layout.home(key)?;
    let record = layout.world.objects.get(key)?;
    let mut row = RegistryObject {
        path: path.as_str().into(),
        package: home.file.into(),
        object: home.name.into(),
        type_path: (**type_path).into(),
        bytes: sizes.of([key], None),
        ..RegistryObject::default()
    };
    if let Some(told) = &record.told {
        let shared = |text: &String| Arc::from(text.as_str());
        row.tags = told
            .tags
            .iter()
            .map(|(key, value)| (shared(key), shared(value)))
            .collect();
        row.soft = layout.soft(told.soft.iter().map(|(path, _)| path));
        let bundles = told.bundles.iter();
        row.bundles = bundles
            .map(|(name, paths)| (shared(name), layout.soft(paths)))
            .collect();
    }
    Some(row)
}

fn row_of_level(
    layout: &Layout,
    (level, unit): (&PlannedLevel, &LevelUnit),
    (entry, own): (&LevelEntry, Option<usize>),
    sizes: &mut Sizes,
) -> RegistryObject {
    let needed = unit.references.iter().filter_map(|key| layout.home(key));
    let assets = needed.map(|home| Arc::from(format!("{}#{}", home.file, home.name)));
    RegistryObject {
        path: path_of(level).into(),
        package: entry.package.as_str().into(),
        type_path: LEVEL_CLASS.into(),
        bytes: entry.bytes.saturating_add(sizes.of(&unit.references, own)),
        soft: layout.soft(unit.soft.iter().map(|(path, _)| path)),
        level: Some(Box::new(RegistryLevel {
            dependencies: entry
                .dependencies
                .iter()
                .map(|package| package.as_str().into())
                .collect(),
            assets: assets.collect(),
            entities: entry.entities,
        })),
        ..RegistryObject::default()
    }
}

/// How much is read for objects with all that they refer to.
struct Sizes<'a> {
    objects: &'a Objects,
    places: &'a [Option<(usize, usize)>],
    /// By place, for whom an object was counted last.
    counted: Vec<u32>,
    count: u32,
}

impl<'a> Sizes<'a> {
    fn new(layout: &'a Layout) -> Self {
        let objects = layout.world.objects;
        Self {
            objects,
            places: &layout.places,
            counted: vec![0; objects.len()],
            count: 0,
        }
    }

    /// What is left out for the target is not read, and what lies in the package `own` is counted with that.
    fn of<'k>(&mut self, keys: impl IntoIterator<Item = &'k AssetKey>, own: Option<usize>) -> u64
    where
        'a: 'k,
    {
        self.count += 1;
        let mut bytes = 0_u64;
        let mut open: Vec<&'k AssetKey> = keys.into_iter().collect();
        while let Some(key) = open.pop() {
            let Some((place, _, object)) = self.objects.get_full(key) else {
                continue;
            };
            if let Some(counted) = self.counted.get_mut(place).filter(|counted| **counted != self.count) {
                *counted = self.count;
                let package = self.places.get(place).copied().flatten().map(|(package, _)| package);
                let is_extra = package.is_some() && package != own;
                bytes = bytes.saturating_add(if is_extra { read_size(object) } else { 0 });
                open.extend(&object.references);
            }
        }
        bytes
    }
}

fn read_size(object: &ObjectRecord) -> u64 {
    object.size.read
}

/// The registry's file.
pub(crate) fn registry_file(world: &str) -> String {
    format!("{world}.{}", seamless_asset::REGISTRY_EXTENSION)
}

impl Layout<'_> {
    /// The paths of what is referred to softly, less what is left out for the target.
    fn soft<'p>(&self, paths: impl IntoIterator<Item = &'p String>) -> Vec<Arc<str>> {
        let is_there = |path: &&String| !self.left_out.contains(path.as_str());
        let mut soft: Vec<Arc<str>> = Vec::new();
        for path in paths.into_iter().filter(is_there) {
            if soft.last().is_none_or(|last| **last != **path) {
                soft.push(path.as_str().into());
            }
        }
        soft
    }

    /// The paths of objects that nobody of the target needs.
    pub(super) fn paths_left_out(world: &World) -> BTreeSet<String> {
        let left_out = world
            .objects
            .iter()
            .filter(|(_, object)| !object.role.intersects(world.roles));
        let path = |key: &AssetKey| match key.name() {
            AssetName::Path { path, .. } => Some(path.as_str().to_owned()),
            _ => None,
        };
        left_out.filter_map(|(key, _)| path(key)).collect()
    }
}

impl World<'_> {
    /// Whether a level of the plan is one of the world, and no package of its own.
    pub(super) fn is_placed(&self, place: usize) -> bool {
        self.plan.levels.get(place).is_some_and(|level| level.asked.is_none())
    }
}
