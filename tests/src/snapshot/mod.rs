//! The correctness oracle: a canonical picture of a subtree of entities.
//!
//! Two worlds that hold "the same" level differ in entity ids, asset ids and hash map order. A [`Snapshot`] replaces
//! entities by their path in the tree and handles by the content of their asset, so that equal snapshots mean equal
//! levels, and a difference names the entity, the component and the field.

mod assets;
mod diff;
mod options;
mod paths;
mod plain;
mod record;
mod triangles;
mod walk;

use std::collections::BTreeMap;

use bevy::{asset::UntypedHandle, prelude::*};

pub use diff::{Difference, assert_same};
pub use options::SnapshotOptions;
use record::{AssetRecord, EntityRecord, Fingerprint, Leaf};

/// Everything below (and at) one entity, independent of ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    entities: BTreeMap<String, EntityRecord>,
    assets: BTreeMap<Fingerprint, AssetRecord>,
}

impl Snapshot {
    /// The subtree of `root` by `Children`, with every component of every entity.
    ///
    /// # Panics
    /// When `root` is not alive or the world has no type registry.
    pub fn of(world: &World, root: Entity) -> Self {
        Self::with(world, root, &SnapshotOptions::default())
    }

    /// As [`Snapshot::of`], less what `options` leaves out.
    ///
    /// # Panics
    /// When `root` is not alive or the world has no type registry.
    pub fn with(world: &World, root: Entity, options: &SnapshotOptions) -> Self {
        let paths = paths::Paths::below(world, root);
        let mut walker = walk::Walker::new(world, &paths, options);
        let mut entities = BTreeMap::new();
        for (path, entity) in paths.in_order() {
            let hide = *entity == root && !options.has_root_components();
            let components = if hide {
                BTreeMap::new()
            } else {
                walker.components(*entity, options)
            };
            entities.insert(path.clone(), EntityRecord { components });
        }
        Self {
            entities,
            assets: walker.into_assets(),
        }
    }

    /// The content of one asset and all it refers to, as if a component named `asset` held `handle`.
    ///
    /// # Panics
    /// When the world has no type registry.
    pub fn of_asset(world: &World, handle: &UntypedHandle) -> Self {
        let paths = paths::Paths::default();
        let mut walker = walk::Walker::new(world, &paths, &SnapshotOptions::default());
        let mut fields = BTreeMap::new();
        let leaf = walker.handle(handle);
        fields.insert(String::new(), leaf);
        let components = BTreeMap::from([("asset".to_owned(), fields)]);
        Self {
            entities: BTreeMap::from([("/".to_owned(), EntityRecord { components })]),
            assets: walker.into_assets(),
        }
    }

    /// Every field that is not the same in both, in order of path, component and field. Empty when they are equal.
    pub fn diff(&self, other: &Self) -> Vec<Difference> {
        diff::diff(self, other)
    }

    /// Number of entities, the root included.
    pub fn entity_count(&self) -> usize {
        self.entities.len()
    }

    /// Number of assets with different content.
    pub fn asset_count(&self) -> usize {
        self.assets.len()
    }

    /// The paths of all entities; `/` is the root.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.entities.keys().map(String::as_str)
    }

    /// The type paths of the components of the entity at `path`; empty when there is no such entity.
    pub fn components(&self, path: &str) -> Vec<&str> {
        self.entities
            .get(path)
            .map(|entity| entity.components.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }

    /// Fields that hold `<missing asset>`, a dead entity or a value that could not be looked into, as
    /// `path component field: text`. A complete picture has none.
    pub fn problems(&self) -> Vec<String> {
        let of_entities = self.entities.iter().flat_map(|(path, entity)| {
            let components = entity.components.iter();
            components.flat_map(move |(name, fields)| {
                fields
                    .iter()
                    .filter(|(_, leaf)| leaf.is_problem())
                    .map(move |(field, leaf)| format!("{path} {name} {field}: {leaf}"))
            })
        });
        let of_assets = self.assets.values().flat_map(|asset| {
            asset
                .fields
                .iter()
                .filter(|(_, leaf)| leaf.is_problem())
                .map(move |(field, leaf)| format!("asset {} {field}: {leaf}", asset.kind))
        });
        of_entities.chain(of_assets).collect()
    }

    /// Everything, one field a line: to look at, or to compare with another tool.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (path, entity) in &self.entities {
            for (component, fields) in &entity.components {
                text.push_str(&format!("{path} [{component}]\n"));
                push_fields(&mut text, fields);
            }
        }
        for (fingerprint, asset) in &self.assets {
            text.push_str(&format!("{} {fingerprint:016x}\n", asset.kind));
            push_fields(&mut text, &asset.fields);
        }
        text
    }

    fn asset(&self, leaf: &Leaf) -> Option<&AssetRecord> {
        match leaf {
            Leaf::Asset { fingerprint, .. } => self.assets.get(fingerprint),
            Leaf::Text(_) | Leaf::Blob(_) => None,
        }
    }
}

fn push_fields(text: &mut String, fields: &BTreeMap<String, Leaf>) {
    for (field, leaf) in fields {
        text.push_str(&format!("    {field}: {leaf}\n"));
    }
}

/// The entity at `path` below `root`, in the notation of [`Snapshot::paths`].
///
/// `/` is the root, `/Ship/#2` its child number 2 (from 0) when that has no name, `/Ship/Crew~1` its second child
/// named `Crew`. In a name `%`, `/`, `~` and `#` are written `%25`, `%2f`, `%7e` and `%23`; an empty name is `%empty`.
pub fn entity_at(world: &World, root: Entity, path: &str) -> Option<Entity> {
    let paths = paths::Paths::below(world, root);
    let found = paths.in_order().iter().find(|(at, _)| at == path);
    found.map(|(_, entity)| *entity)
}
