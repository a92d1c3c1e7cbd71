//! The registry of a world: every object that has a path, and every level. See [`registry`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use seamless_asset::level_data::LEVEL_CLASS;
use seamless_asset::{ObjectRegistry, RegistryError, RegistryLevel, RegistryObject, resize_registry, write_registry};

use super::{Entry, Layout, World};
use crate::assets::{AssetKey, AssetName, KeySet, ObjectRecord, Objects};
use crate::graph::state::LevelUnit;
use crate::layout::Again;
use crate::plan::{SourceKind, path_of};

/// The bytes of the registry; `entries` are those of all levels. Where only few objects are others, those of the one
/// that is there, `before`, with other sizes.
pub(super) fn registry<'a>(
    layout: &'a Layout<'a>,
    entries: &'a [Entry],
    before: Option<&[u8]>,
) -> Result<Vec<u8>, RegistryError> {
    let rows = Rows {
        layout,
        levels: levels(layout, entries),
    };
    let resized = layout.world.again.zip(before);
    match resized.and_then(|(again, before)| rows.resized(again, before)) {
        Some(bytes) => Ok(bytes),
        None => rows.all(),
    }
}

/// A level that has a row.
struct LevelRow<'a> {
    unit: &'a LevelUnit,
    entry: &'a Entry,
}

/// By path: a scene may be several levels, and whoever asks for it by its path gets the first.
fn levels<'a>(layout: &Layout<'a>, entries: &'a [Entry]) -> BTreeMap<String, LevelRow<'a>> {
    let mut levels = BTreeMap::new();
    for entry in entries {
        let level = layout.world.plan.levels.get(entry.place);
        let unit = layout.world.levels.get(entry.place);
        let Some((level, unit)) = level.zip(unit).filter(|(level, _)| level.kind != SourceKind::Asset) else {
            continue;
        };
        levels.entry(path_of(level)).or_insert(LevelRow { unit, entry });
    }
    levels
}

/// What the registry tells of a world.
struct Rows<'a> {
    layout: &'a Layout<'a>,
    levels: BTreeMap<String, LevelRow<'a>>,
}

/// So far an object may be from the last of those that lead to it, for these to be looked for.
const MOST_STEPS: usize = 16;

impl<'a> Rows<'a> {
    /// All of it.
    fn all(&self) -> Result<Vec<u8>, RegistryError> {
        let (left_out, mut sizes) = (LeftOut::of(self.layout.world), Sizes::new(self.layout));
        let placed = self.layout.world.objects.keys().zip(self.layout.places.iter());
        let placed = placed.filter(|(_, place)| place.is_some());
        let mut rows: Vec<RegistryObject> = Vec::with_capacity(self.layout.places.len() + self.levels.len());
        rows.extend(placed.filter_map(|(key, _)| row_of_object(self.layout, key, &left_out, &mut sizes)));
        let levels = self.levels.iter();
        rows.extend(levels.map(|(path, level)| row_of_level(self.layout, path, level, &left_out, &mut sizes)));
        write_registry(&ObjectRegistry::new("", rows)?)
    }

    /// The registry as it was, with other sizes for whatever leads to an object that is another one. None if that is not one of these rows.
    fn resized(&self, again: &Again, before: &[u8]) -> Option<Vec<u8>> {
        let objects = self.layout.world.objects;
        let leading = leading(objects, &again.changed)?;
        let mut sizes = Sizes::new(self.layout);
        let (mut resized, mut row) = (Vec::new(), 0);
        let mut levels = self.levels.iter().peekable();
        let level_row = |level: &LevelRow, row: usize, sizes: &mut Sizes| {
            let is_repacked = again.is_changed.get(level.entry.package) == Some(&true);
            if is_repacked || level.unit.references.iter().any(|key| leading.contains(key)) {
                Some((row, sizes.of_level(level)))
            } else {
                None
            }
        };
        // In the order of the registry, which is that of paths, then types.
        for (key, place) in objects.keys().zip(self.layout.places.iter()) {
            let AssetName::Path { path, type_path } = key.name() else {
                continue;
            };
            let is_before = |level: &str| (level, LEVEL_CLASS) < (path.as_str(), &**type_path);
            while let Some((_, level)) = levels.next_if(|(path, _)| is_before(path)) {
                resized.extend(level_row(level, row, &mut sizes));
                row += 1;
            }
            if place.is_some() {
                resized.extend(leading.contains(key).then(|| (row, sizes.of_object(key))));
                row += 1;
            }
        }
        for (_, level) in levels {
            resized.extend(level_row(level, row, &mut sizes));
            row += 1;
        }
        resize_registry(before.to_vec(), row, resized).ok()
    }
}

/// The objects in these places, and all that lead to one of them. None where that takes too many steps.
fn leading<'a>(objects: &'a Objects, changed: &BTreeSet<usize>) -> Option<KeySet<'a>> {
    let key = |place: &usize| objects.get_index(*place).map(|(key, _)| key);
    let mut leading: KeySet = changed.iter().filter_map(key).collect();
    for _ in 0..MOST_STEPS {
        let leads = |(key, object): &(&AssetKey, &ObjectRecord)| {
            object.references.iter().any(|key| leading.contains(key)) && !leading.contains(*key)
        };
        let more: Vec<&AssetKey> = objects.iter().filter(leads).map(|(key, _)| key).collect();
        if more.is_empty() {
            return Some(leading);
        }
        leading.extend(more);
    }
    None
}

fn row_of_object(layout: &Layout, key: &AssetKey, left_out: &LeftOut, sizes: &mut Sizes) -> Option<RegistryObject> {
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
        bytes: sizes.of_object(key),
        ..RegistryObject::default()
    };
    if let Some(told) = &record.told {
        let shared = |text: &String| Arc::from(text.as_str());
        row.tags = told
            .tags
            .iter()
            .map(|(key, value)| (shared(key), shared(value)))
            .collect();
        row.soft = left_out.others(told.soft.iter().map(|(path, _)| path));
        let bundles = told.bundles.iter();
        row.bundles = bundles
            .map(|(name, paths)| (shared(name), left_out.others(paths)))
            .collect();
    }
    Some(row)
}

fn row_of_level(layout: &Layout, path: &str, row: &LevelRow, left_out: &LeftOut, sizes: &mut Sizes) -> RegistryObject {
    let (unit, entry) = (row.unit, &row.entry.level);
    let needed = unit.references.iter().filter_map(|key| layout.home(key));
    let assets = needed.map(|home| Arc::from(format!("{}#{}", home.file, home.name)));
    RegistryObject {
        path: path.into(),
        package: entry.package.as_str().into(),
        type_path: LEVEL_CLASS.into(),
        bytes: sizes.of_level(row),
        soft: left_out.others(unit.soft.iter().map(|(path, _)| path)),
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
    layout: &'a Layout<'a>,
    /// By place, for whom an object was counted last, and for whom there is a copy of it.
    counted: Vec<u32>,
    copied: Vec<u32>,
    count: u32,
}

impl<'a> Sizes<'a> {
    fn new(layout: &'a Layout) -> Self {
        let objects = layout.world.objects.len();
        Self {
            layout,
            counted: vec![0; objects],
            copied: vec![0; objects],
            count: 0,
        }
    }

    fn of_object(&mut self, key: &AssetKey) -> u64 {
        self.count += 1;
        self.sum(vec![key], None)
    }

    /// What lies in the level's own package is counted with that, be it its own or a copy.
    fn of_level(&mut self, row: &LevelRow) -> u64 {
        self.count += 1;
        let own = row.entry.package;
        for place in self.layout.copies(own) {
            if let Some(copied) = self.copied.get_mut(place) {
                *copied = self.count;
            }
        }
        let others = self.sum(row.unit.references.iter().collect(), Some(own));
        row.entry.level.bytes.saturating_add(others)
    }

    /// What is left out for the target is not read.
    fn sum<'k>(&mut self, mut open: Vec<&'k AssetKey>, own: Option<usize>) -> u64
    where
        'a: 'k,
    {
        let mut bytes = 0_u64;
        while let Some(key) = open.pop() {
            let Some((place, _, object)) = self.layout.world.objects.get_full(key) else {
                continue;
            };
            if let Some(counted) = self.counted.get_mut(place).filter(|counted| **counted != self.count) {
                *counted = self.count;
                let home = self.layout.places.get(place).copied().flatten();
                let is_copied = self.copied.get(place) == Some(&self.count);
                let is_read = home.is_some_and(|(package, _)| Some(package) != own) && !is_copied;
                bytes = bytes.saturating_add(if is_read { object.size.read } else { 0 });
                open.extend(&object.references);
            }
        }
        bytes
    }
}

/// The registry's file.
pub(crate) fn registry_file(world: &str) -> String {
    format!("{world}.{}", seamless_asset::REGISTRY_EXTENSION)
}

impl Layout<'_> {
    /// The objects that a package holds copies of, by their places.
    fn copies(&self, package: usize) -> Vec<usize> {
        if let Some(again) = self.world.again {
            let copies = again.copies.get(package).into_iter().flatten();
            return copies.map(|place| *place as usize).collect();
        }
        let copies = self.world.packages.get(package).into_iter();
        let copies = copies.flat_map(|package| &package.copies);
        copies.filter_map(|key| self.world.objects.get_index_of(key)).collect()
    }
}

/// The paths of objects that nobody of the target needs.
struct LeftOut<'a>(BTreeSet<&'a str>);

impl<'a> LeftOut<'a> {
    fn of(world: &World<'a>) -> Self {
        let left_out = (world.objects.iter()).filter(|(_, object)| !object.role.intersects(world.roles));
        let path = |key: &'a AssetKey| match key.name() {
            AssetName::Path { path, .. } => Some(path.as_str()),
            _ => None,
        };
        Self(left_out.filter_map(|(key, _)| path(key)).collect())
    }

    /// The paths of what is referred to softly, less what is left out.
    fn others<'p>(&self, paths: impl IntoIterator<Item = &'p String>) -> Vec<Arc<str>> {
        let is_there = |path: &&String| !self.0.contains(path.as_str());
        let mut soft: Vec<Arc<str>> = Vec::new();
        for path in paths.into_iter().filter(is_there) {
            if soft.last().is_none_or(|last| **last != **path) {
                soft.push(path.as_str().into());
            }
        }
        soft
    }
}

impl World<'_> {
    /// Whether a level of the plan is one of the world, and no package of its own.
    pub(super) fn is_placed(&self, place: usize) -> bool {
        self.plan.levels.get(place).is_some_and(|level| level.asked.is_none())
    }
}
