//! What object is meant. See [`find`].

use std::collections::{BTreeMap, BTreeSet};

use seamless_asset::level_data::LevelTable;
use seamless_package::ObjectId;
use serde::Serialize;

use super::super::folder::{CookedFolder, class_name, object_path};
use super::super::inspect::InspectError;
use super::{Node, WhyError};

/// How many names like the one asked for are told.
const CANDIDATES: usize = 8;

/// An object that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundObject {
    /// Its id, as 16 hexadecimal digits.
    pub id: String,
    /// Its package and name.
    pub object: String,
    /// Its type path; `entity` for an entity of a level.
    pub class: String,
}

/// What was found.
pub(super) enum Found {
    /// An object, and all places that it lies at: at home and as copies.
    Object { places: Vec<Node>, object: FoundObject },
    /// An entity of the level in `package`.
    Entity {
        package: usize,
        name: String,
        object: FoundObject,
    },
}

/// The object that `asked` means.
pub(super) fn find(folder: &CookedFolder, asked: &str) -> Result<Found, WhyError> {
    let mut places: BTreeMap<ObjectId, Vec<Node>> = BTreeMap::new();
    let id = id_of(asked);
    for (package, file) in folder.packages.iter().enumerate() {
        for (export, entry) in file.package.exports().iter().enumerate() {
            let is_meant = Some(entry.object_id) == id
                || file.package.export_name(export) == Some(asked)
                || object_path(&file.package, export) == asked;
            if is_meant {
                places
                    .entry(entry.object_id)
                    .or_default()
                    .push(Node { package, export });
            }
        }
    }
    match places.len() {
        0 => find_entity(folder, asked, id)?.ok_or_else(|| unknown(folder, asked)),
        1 => {
            let places = places.into_values().next().unwrap_or_default();
            let object = places.first().map(|node| found_object(folder, *node));
            let object = object.ok_or_else(|| unknown(folder, asked))?;
            Ok(Found::Object { places, object })
        }
        _ => {
            let objects = places.values().filter_map(|places| places.first());
            let found: BTreeSet<String> = objects.map(|node| found_object(folder, *node).object).collect();
            Err(WhyError::Ambiguous {
                asked: asked.to_owned(),
                found: found.into_iter().collect(),
            })
        }
    }
}

/// An id, as every command prints it.
fn id_of(asked: &str) -> Option<ObjectId> {
    let digits = asked.len() == 16 && asked.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = digits.then(|| u64::from_str_radix(asked, 16).ok())?;
    id.map(ObjectId)
}

fn found_object(folder: &CookedFolder, node: Node) -> FoundObject {
    let package = &folder.packages[node.package].package;
    let id = package
        .exports()
        .get(node.export)
        .map(|export| export.object_id.to_string());
    FoundObject {
        id: id.unwrap_or_default(),
        object: object_path(package, node.export),
        class: class_name(package, node.export).to_owned(),
    }
}

/// Entities are rows of level tables, by id: that of their name in each package is looked for.
fn find_entity(folder: &CookedFolder, asked: &str, id: Option<ObjectId>) -> Result<Option<Found>, WhyError> {
    let (of, name) = asked
        .split_once('#')
        .map_or((None, asked), |(file, name)| (Some(file), name));
    let mut found = Vec::new();
    for (package, file) in folder.packages.iter().enumerate() {
        let Some(level) = file.level().filter(|_| of.is_none_or(|of| of == file.file)) else {
            continue;
        };
        let wanted = id.unwrap_or_else(|| ObjectId::new(file.package.name(), name));
        let data = file.data(level)?;
        let table = LevelTable::parse(&data, u32::MAX).map_err(|source| InspectError::Level {
            path: file.path.clone(),
            object: file.package.export_name(level).unwrap_or_default().to_owned(),
            source: Box::new(source),
        })?;
        if table.ids.contains(&wanted) {
            found.push((package, wanted));
        }
    }
    let path = |package: usize| format!("{}#{name}", folder.packages[package].file);
    match found[..] {
        [] => Ok(None),
        [(package, id)] => Ok(Some(Found::Entity {
            package,
            name: name.to_owned(),
            object: FoundObject {
                id: id.to_string(),
                object: path(package),
                class: "entity".to_owned(),
            },
        })),
        _ => Err(WhyError::Ambiguous {
            asked: asked.to_owned(),
            found: found.iter().map(|(package, _)| path(*package)).collect(),
        }),
    }
}

/// Names that hold what was asked for, and those that are nearly written so.
fn unknown(folder: &CookedFolder, asked: &str) -> WhyError {
    let wanted = asked.to_lowercase();
    let mut near: BTreeSet<(usize, String)> = BTreeSet::new();
    for file in &folder.packages {
        for export in 0..file.package.exports().len() {
            let path = object_path(&file.package, export);
            let lower = path.to_lowercase();
            let distance = if lower.contains(&wanted) {
                Some(0)
            } else {
                ends(&lower).filter_map(|end| edits_within(end, &wanted)).min()
            };
            near.extend(distance.map(|distance| (distance, path)));
        }
    }
    WhyError::Unknown {
        asked: asked.to_owned(),
        near: near.into_iter().take(CANDIDATES).map(|(_, path)| path).collect(),
    }
}

/// A path, and what it is without the package and without each of the first parts of its name.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.match_indices(['#', '/']).map(|(at, _)| &path[at + 1..]);
    core::iter::once(path).chain(parts)
}

/// [`edits`], where they are few for a text of that length.
fn edits_within(a: &str, wanted: &str) -> Option<usize> {
    let length = wanted.chars().count();
    let most = length / 3;
    if a.chars().count().abs_diff(length) > most {
        return None;
    }
    Some(edits(a, wanted)).filter(|edits| *edits <= most)
}

/// How many characters must be added, taken away or replaced to make one of the other (Levenshtein's distance).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (index, letter) in a.chars().enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], index + 1);
        for (at, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
