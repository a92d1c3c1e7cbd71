//! The entities of a level table, with names, and their components row by row. See [`LevelView`].

use std::collections::HashMap;

use bevy::ecs::entity::Entity;
use bevy::ecs::hierarchy::ChildOf;
use bevy::ecs::name::Name;
use bevy::reflect::TypePath;
use seamless_asset::codec::{ColumnSplitter, DecodeError, Part, SplitRows};
use seamless_asset::level_data::{ColumnTable, LevelTable};
use seamless_package::{ObjectId, Package};

/// Numbers that are tried for each entity of one name, beyond those met so far.
const SPARE_NUMBERS: u32 = 64;

/// A level table taken apart by the stored schemas.
pub(super) struct LevelView<'a> {
    pub package: &'a Package,
    /// The index of its export.
    pub export: usize,
    pub table: LevelTable<'a>,
}

/// A column of a run of entities that starts at row `first`.
pub(super) struct ColumnView<'v, 'a> {
    pub first: u32,
    pub rows: u32,
    /// The component's type path; none when the column names no class.
    pub component: Option<&'v str>,
    pub column: &'v ColumnTable<'a>,
    /// Its values; none if only the code of the type knows where they end.
    pub split: Result<Option<SplitRows<'a>>, DecodeError>,
}

impl<'a> LevelView<'a> {
    pub fn parse(package: &'a Package, export: usize, data: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(Self {
            package,
            export,
            table: LevelTable::parse(data, u32::MAX)?,
        })
    }

    /// All columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = ColumnView<'_, 'a>> {
        let mut splitters: HashMap<u32, Result<Option<ColumnSplitter>, DecodeError>> = HashMap::new();
        let entities = self.table.ids.len() as u32;
        let mut first = 0;
        let runs = self.table.groups.iter().map(move |group| {
            let start = first;
            first += group.rows;
            (start, group)
        });
        let columns =
            runs.flat_map(|(first, group)| group.columns.iter().map(move |column| (first, group.rows, column)));
        columns.map(move |(first, rows, column)| {
            let schema = self.package.schema(column.class as usize);
            let splitter = splitters
                .entry(column.class)
                .or_insert_with(|| schema.map_or(Ok(None), ColumnSplitter::of));
            let split = match splitter {
                Ok(Some(splitter)) => splitter.split(column.data, rows as usize, entities).map(Some),
                Ok(None) => Ok(None),
                Err(error) => Err(error.clone()),
            };
            ColumnView {
                first,
                rows,
                component: schema.map(|schema| schema.type_path.as_str()),
                column,
                split,
            }
        })
    }

    /// The object names of all entities, by row: as they were cooked where that can be found out, which their ids prove; else their
    /// `Name` and id.
    pub fn names(&self) -> Vec<String> {
        let rows = self.table.ids.len();
        let mut names = vec![""; rows];
        let mut parents = vec![None; rows];
        for column in self.columns() {
            let Ok(Some(split)) = &column.split else { continue };
            let parts = (column.first as usize..).zip(split.iter());
            if column.component == Some(Name::type_path()) {
                parts.for_each(|(row, parts)| names[row] = text_of(parts));
            } else if column.component == Some(ChildOf::type_path()) {
                parts.for_each(|(row, parts)| parents[row] = entity_of(parts));
            }
        }
        let mut finder = NameFinder::new(self.package.name(), rows);
        let mut found: Vec<String> = Vec::with_capacity(rows);
        for ((id, name), parent) in self.table.ids.iter().zip(names).zip(parents) {
            // Parents lie before their children, as the cooker writes them.
            let parent = parent.and_then(|parent| found.get(parent as usize));
            let name = finder.find(*id, name, parent.map(String::as_str));
            found.push(name);
        }
        found
    }

    /// What reference `index` of the level leads to.
    pub fn target(&self, index: u32) -> Option<String> {
        let reference = self.package.refs(self.export).get(index as usize)?;
        super::folder::target_path(self.package, reference.target())
    }
}

fn text_of<'a>(parts: &[Part<'a>]) -> &'a str {
    match parts {
        [Part::Bytes(bytes)] => bytes
            .get(4..)
            .and_then(|text| std::str::from_utf8(text).ok())
            .unwrap_or_default(),
        _ => "",
    }
}

fn entity_of(parts: &[Part]) -> Option<u32> {
    match parts {
        [Part::Entity(row)] => Some(*row),
        _ => None,
    }
}

/// Names from ids: what a name would be is hashed and compared.
struct NameFinder<'a> {
    package: &'a str,
    /// Ids of numbered names, and how many numbers were tried and asked for, by path without number.
    numbered: HashMap<String, Numbered>,
    /// Names of entities of scenes written by hand are numbers.
    numbers: HashMap<ObjectId, String>,
}

#[derive(Default)]
struct Numbered {
    ids: HashMap<ObjectId, u32>,
    tried: u32,
    asked: u32,
}

impl<'a> NameFinder<'a> {
    fn new(package: &'a str, rows: usize) -> Self {
        let rows = u32::try_from(rows).unwrap_or(u32::MAX).saturating_mul(2);
        // An author counts from one; Bevy writes the bits of an entity.
        let numbers = (0..rows.saturating_add(SPARE_NUMBERS)).flat_map(|number| {
            let written = Entity::from_raw_u32(number).map(Entity::to_bits);
            written.into_iter().chain([number.into()])
        });
        let numbers = numbers.map(|number: u64| {
            let name = number.to_string();
            (ObjectId::new(package, &name), name)
        });
        Self {
            package,
            numbered: HashMap::new(),
            numbers: numbers.collect(),
        }
    }

    fn find(&mut self, id: ObjectId, name: &str, parent: Option<&str>) -> String {
        if let Some(number) = self.numbers.get(&id) {
            return number.clone();
        }
        let own = name.replace(['/', '\0'], "_");
        let path = match parent {
            Some(parent) => format!("{parent}/{own}"),
            None => own.clone(),
        };
        if !own.is_empty() && ObjectId::new(self.package, &path) == id {
            return path;
        }
        let known = self.numbered.entry(path.clone()).or_default();
        known.asked += 1;
        while known.tried < known.asked.saturating_mul(2).saturating_add(SPARE_NUMBERS) && !known.ids.contains_key(&id)
        {
            let candidate = ObjectId::new(self.package, &format!("{path}~{}", known.tried));
            known.ids.insert(candidate, known.tried);
            known.tried += 1;
        }
        match known.ids.get(&id) {
            Some(number) => format!("{path}~{number}"),
            None if name.is_empty() => id.to_string(),
            None => format!("{name} ({id})"),
        }
    }
}
