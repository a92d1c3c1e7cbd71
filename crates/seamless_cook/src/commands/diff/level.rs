//! The entities of two levels and their components.

use std::collections::{BTreeMap, BTreeSet};

use seamless_asset::codec::Part;
use seamless_package::Role;
use serde::Serialize;

use super::super::entities::{ColumnView, LevelView};
use super::super::folder::PackageFile;
use super::super::inspect::InspectError;

/// The most entities that a [`ComponentDiff`] names.
const NAMED: usize = 8;

/// What differs between two levels.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct LevelDiff {
    /// Entities that only the second has, by name.
    pub added: Vec<String>,
    /// Entities that only the first has, by name.
    pub removed: Vec<String>,
    /// Entities that both have, in another row.
    pub moved: usize,
    /// Whether the roots are others, or in another order.
    pub roots: bool,
    /// The components that differ on entities that both have, by type path.
    pub components: Vec<ComponentDiff>,
}

/// What differs of a component, on entities that both levels have.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct ComponentDiff {
    /// Its type path.
    pub component: String,
    /// On how many entities it is new.
    pub added: usize,
    /// From how many entities it went.
    pub removed: usize,
    /// On how many entities it has another value.
    pub changed: usize,
    /// Whether `changed` counts values. Where only the code of the type knows where its values end, it counts the entities of
    /// columns that differ.
    pub by_value: bool,
    /// On how many entities it is for other roles.
    pub roles: usize,
    /// Some of the entities.
    pub entities: Vec<String>,
}

/// What differs between the levels of two packages; none if nothing does.
pub(super) fn diff(a: &PackageFile, b: &PackageFile) -> Result<Option<LevelDiff>, InspectError> {
    let (Some(at_a), Some(at_b)) = (a.level(), b.level()) else {
        return Ok(None);
    };
    let (data_a, data_b) = (a.data(at_a)?, b.data(at_b)?);
    let parse = |file: &PackageFile, source| InspectError::Level {
        path: file.path.clone(),
        object: file.package.export_name(at_a).unwrap_or_default().to_owned(),
        source: Box::new(source),
    };
    let a = LevelView::parse(&a.package, at_a, &data_a).map_err(|error| parse(a, error))?;
    let b = LevelView::parse(&b.package, at_b, &data_b).map_err(|error| parse(b, error))?;
    let found = compare(&Side::of(&a), &Side::of(&b));
    Ok((found != LevelDiff::default()).then_some(found))
}

/// A value, where it can be compared with one of another package: references and entities by name.
#[derive(PartialEq)]
struct Value {
    bytes: Vec<u8>,
    role: Role,
    is_exact: bool,
}

/// A level with its entities by name.
struct Side<'v> {
    names: Vec<String>,
    roots: Vec<u32>,
    /// By row and component.
    values: Vec<BTreeMap<&'v str, Value>>,
}

impl<'v> Side<'v> {
    fn of(level: &'v LevelView) -> Self {
        let names = level.names();
        let mut values: Vec<BTreeMap<&str, Value>> = names.iter().map(|_| BTreeMap::new()).collect();
        for column in level.columns() {
            let Some(component) = column.component else { continue };
            let rows = values
                .iter_mut()
                .skip(column.first as usize)
                .zip(column_values(level, &column, &names));
            for (row, value) in rows {
                row.insert(component, value);
            }
        }
        let roots = level.table.roots.clone();
        Self { names, roots, values }
    }

    fn rows(&self) -> BTreeMap<&str, usize> {
        self.names.iter().map(String::as_str).zip(0..).collect()
    }

    fn roots(&self) -> Vec<&String> {
        self.roots
            .iter()
            .filter_map(|row| self.names.get(*row as usize))
            .collect()
    }
}

/// The values of a column, one for each row.
fn column_values(level: &LevelView, view: &ColumnView, names: &[String]) -> Vec<Value> {
    let role = view.column.role;
    let value = |bytes, is_exact| Value { bytes, role, is_exact };
    match &view.split {
        Ok(Some(split)) => {
            let rows = split.iter();
            rows.map(|parts| value(named(level, parts, names), true)).collect()
        }
        // All of the column stands for each value.
        _ => (0..view.rows)
            .map(|_| value(view.column.data.to_vec(), view.rows == 1))
            .collect(),
    }
}

/// The parts of a value, with names in place of numbers that mean something in this package only.
fn named(level: &LevelView, parts: &[Part], names: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |tag: u8, part: &[u8]| {
        bytes.push(tag);
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    };
    for part in parts {
        match part {
            Part::Bytes(part) => put(0, part),
            Part::Reference(index) => put(1, level.target(*index).unwrap_or_default().as_bytes()),
            Part::Entity(row) => put(2, names.get(*row as usize).map_or(&[], |name| name.as_bytes())),
        }
    }
    bytes
}

fn compare(a: &Side, b: &Side) -> LevelDiff {
    let [rows_a, rows_b] = [a, b].map(Side::rows);
    let only = |these: &BTreeMap<&str, usize>, those: &BTreeMap<&str, usize>| -> Vec<String> {
        let names = these.keys().filter(|name| !those.contains_key(*name));
        names.map(|name| (*name).to_owned()).collect()
    };
    let mut components: BTreeMap<&str, ComponentDiff> = BTreeMap::new();
    let mut moved = 0;
    for (name, row) in &rows_a {
        let Some(other) = rows_b.get(name) else { continue };
        moved += usize::from(row != other);
        let (Some(was), Some(is)) = (a.values.get(*row), b.values.get(*other)) else {
            continue;
        };
        for component in was.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
            let (was, is) = (was.get(component), is.get(component));
            if was != is {
                let found = components.entry(component).or_insert_with(|| ComponentDiff {
                    component: (*component).to_owned(),
                    by_value: true,
                    ..ComponentDiff::default()
                });
                found.add(name, was, is);
            }
        }
    }
    LevelDiff {
        added: only(&rows_b, &rows_a),
        removed: only(&rows_a, &rows_b),
        moved,
        roots: a.roots() != b.roots(),
        components: components.into_values().collect(),
    }
}

impl ComponentDiff {
    fn add(&mut self, entity: &str, was: Option<&Value>, is: Option<&Value>) {
        match (was, is) {
            (None, _) => self.added += 1,
            (Some(_), None) => self.removed += 1,
            (Some(was), Some(is)) => {
                self.roles += usize::from(was.role != is.role);
                self.changed += usize::from(was.bytes != is.bytes);
                self.by_value &= was.is_exact && is.is_exact;
            }
        }
        if self.entities.len() < NAMED {
            self.entities.push(entity.to_owned());
        }
    }
}
