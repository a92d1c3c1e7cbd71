//! The history of an app's types: named, append-only lists of what changed. See [`Migrations`].

#[cfg(feature = "migrations")]
use std::sync::Arc;

use bevy_reflect::Reflect;
use seamless_package::{VersionId, VersionList, VersionListError};

use super::Fields;
#[cfg(feature = "migrations")]
use super::migrate::{Op, Step};

/// One owner's history: entries in the order in which they were made, each with what it does to objects that were cooked
/// before it.
///
/// A list is **append-only**: packages remember how far they have come in it. New entries go to the end, and no entry is ever
/// moved, renamed or taken out. The game's list is [`Migrations::game`]; a plugin that is shared by several games has
/// one of its own, [`Migrations::custom`], so that nobody has to merge two histories.
///
/// Entries run once per object, oldest first, when a package that has not seen them is loaded: first those of bevy_seamless, then
/// the custom lists by their ids, then the game's. Type paths are text on purpose: history is frozen, and the
/// types that it speaks of may be gone. An operation finds a type wherever it is: as a component, a resource, an asset or
/// inside another value. The fields of an enum's variant are those of the type `game::Enum::Variant`, and those of tuples
/// are called `0`, `1` and so on.
///
/// A struct that merely gained or lost fields needs no entry: fields that are gone are left out, and new ones get their default.
/// Fields without names are found by their numbers, so a tuple may gain and lose its last ones only; where the types leave it open which
/// came or went it is refused, and entries must say it: `drop_field` with the number of one that went, and `rename_field` of
/// those that moved up, the last first, with a `default_field` for one that came between them. Fields that merely
/// changed places, with the same types, nobody can tell: that takes a `patch`.
///
/// A list that runs later may speak of a type by the name that it had before an earlier list renamed it. A name that was given
/// up is not given to another type.
///
/// ```
/// # use bevy_app::App; use seamless_asset::{SeamlessAssetApp, codec::Migrations};
/// # let mut app = App::new();
/// app.add_migrations(
///     Migrations::game()
///         .entry("initial")
///         .entry("rename Visiblity")
///         .rename_field("game::Widget", "visiblity", "visibility")
///         .entry("health in points, not percent")
///         .patch("game::Health", |health| {
///             let percent: f32 = health.get("value")?;
///             health.set("value", percent * 10.0);
///             Ok(())
///         }),
/// );
/// ```
///
/// Without the feature `migrations` only the names of the entries are kept, and older packages are refused.
pub struct Migrations {
    id: VersionId,
    label: String,
    entries: Vec<Entry>,
    error: Option<MigrationsError>,
}

struct Entry {
    name: String,
    #[cfg(feature = "migrations")]
    steps: Vec<Arc<Step>>,
}

/// What is wrong with a list of migrations; a mistake in the program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MigrationsError {
    /// A name is empty or twice there.
    #[error(transparent)]
    List(#[from] VersionListError),
    /// An owner has two lists.
    #[error(
        "the migrations of `{list}` have the id of those of `{other}`, which are there already; add each list once, and give each plugin's list a UUID of its own"
    )]
    DuplicateList {
        /// The list that is refused.
        list: String,
        /// The list that is there.
        other: String,
    },
    /// A plugin's list says that it is that of the game, or of bevy_seamless.
    #[error("the migrations of `{list}` have an id that is not a plugin's; give the list a UUID of its own")]
    Reserved {
        /// The list that is refused.
        list: String,
    },
    /// An operation belongs to no entry.
    #[error("the migrations of `{list}` begin with an operation; call `entry` before it")]
    NoEntry {
        /// Whose list.
        list: String,
    },
}

/// Makes an operation and adds it; without the feature it is not even made.
macro_rules! with {
    ($self:ident, $type_path:ident, $op:ident($($argument:ident),*)) => {{
        #[cfg(feature = "migrations")]
        let list = $self.with($type_path, Op::$op($($argument),*));
        #[cfg(not(feature = "migrations"))]
        let list = {
            let _ = ($type_path, $($argument,)*);
            $self.checked()
        };
        list
    }};
}

impl Migrations {
    fn new(id: VersionId, label: &str) -> Self {
        Self {
            id,
            label: label.to_owned(),
            entries: Vec::new(),
            error: None,
        }
    }

    /// The history of bevy_seamless's own types. Games and plugins have lists of their own.
    pub(crate) fn engine() -> Self {
        Self::new(VersionId::ENGINE, "engine").entry("initial")
    }

    /// The history of the game's types.
    #[must_use]
    pub fn game() -> Self {
        Self::new(VersionId::GAME, "game")
    }

    /// The history of a plugin's types; `id` is the plugin's for ever, `label` names it in messages.
    #[must_use]
    pub fn custom(id: uuid::Uuid, label: &str) -> Self {
        let mut list = Self::new(VersionId(id.into_bytes()), label);
        if [VersionId::ENGINE, VersionId::GAME].contains(&list.id) {
            let list_label = label.to_owned();
            list.error = Some(MigrationsError::Reserved { list: list_label });
        }
        list
    }

    /// Begins the next entry; the operations that follow belong to it.
    #[must_use]
    pub fn entry(mut self, name: &str) -> Self {
        self.entries.push(Entry {
            name: name.to_owned(),
            #[cfg(feature = "migrations")]
            steps: Vec::new(),
        });
        self
    }

    /// Adds an operation to the last entry.
    #[cfg(feature = "migrations")]
    fn with(mut self, type_path: &str, op: Op) -> Self {
        self = self.checked();
        if let Some(entry) = self.entries.last_mut() {
            entry.steps.push(Arc::new(Step {
                list: self.label.clone(),
                entry: entry.name.clone(),
                type_path: type_path.to_owned(),
                op,
            }));
        }
        self
    }

    /// Notes an operation that belongs to no entry.
    fn checked(mut self) -> Self {
        if self.entries.is_empty() {
            let list = self.label.clone();
            self.error.get_or_insert(MigrationsError::NoEntry { list });
        }
        self
    }

    /// The field `old` of a type is called `new`.
    #[must_use]
    pub fn rename_field(self, type_path: &str, old: &str, new: &str) -> Self {
        with!(self, type_path, rename_field(old, new))
    }

    /// A type is called otherwise, also where it is a parameter of another type.
    #[must_use]
    pub fn rename_type(self, old: &str, new: &str) -> Self {
        with!(self, old, rename_type(new))
    }

    /// The variant `old` of an enum is called `new`.
    #[must_use]
    pub fn rename_variant(self, type_path: &str, old: &str, new: &str) -> Self {
        with!(self, type_path, rename_variant(old, new))
    }

    /// A field that older objects lack has this value in them.
    #[must_use]
    pub fn default_field(self, type_path: &str, field: &str, value: impl Reflect + Clone) -> Self {
        with!(self, type_path, default_field(field, value))
    }

    /// A field is left out, though a field of this name may be there again. Behind one without a name the others move up.
    #[must_use]
    pub fn drop_field(self, type_path: &str, field: &str) -> Self {
        with!(self, type_path, drop_field(field))
    }

    /// Values of this type are left out: components from their entities, fields from structs, items from lists.
    #[must_use]
    pub fn drop_type(self, type_path: &str) -> Self {
        with!(self, type_path, drop_type())
    }

    /// Changes the values of a type. What it returns as an error fails the load of the object.
    #[must_use]
    pub fn patch(
        self,
        type_path: &str,
        patch: impl Fn(&mut Fields) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        with!(self, type_path, patch(patch))
    }

    /// A component becomes several of the same entity, or others than it was: their type paths and fields. All objects must
    /// become the same types. Not for values inside others, nor for resources and assets.
    #[must_use]
    pub fn split(
        self,
        type_path: &str,
        split: impl Fn(Fields) -> Result<Vec<(String, Fields)>, String> + Send + Sync + 'static,
    ) -> Self {
        with!(self, type_path, split(split))
    }

    /// Whose list it is.
    #[must_use]
    pub fn id(&self) -> VersionId {
        self.id
    }

    /// What it is called in messages.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The entries' names, oldest first.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// What the entries of `range` do, in order.
    #[cfg(feature = "migrations")]
    pub(super) fn steps(&self, range: core::ops::Range<usize>) -> impl Iterator<Item = &Arc<Step>> {
        let entries = self.entries.get(range).unwrap_or_default();
        entries.iter().flat_map(|entry| &entry.steps)
    }
}

/// All lists of an app, in the order in which they run.
#[derive(Default)]
pub struct MigrationLists {
    lists: Vec<Migrations>,
    /// Their names, as packages keep them.
    versions: Vec<VersionList>,
}

impl MigrationLists {
    /// Adds a list.
    ///
    /// # Errors
    /// When its entries are not in order, or its owner has a list already.
    pub fn add(&mut self, list: Migrations) -> Result<(), MigrationsError> {
        if let Some(error) = list.error {
            return Err(error);
        }
        let versions = VersionList::new(list.id, list.label.as_str(), list.names())?;
        if let Some(other) = self.lists.iter().find(|other| other.id == list.id) {
            return Err(MigrationsError::DuplicateList {
                list: list.label,
                other: other.label.clone(),
            });
        }
        self.versions.push(versions);
        self.lists.push(list);
        // The engine's first: the others were written against what it makes.
        self.lists.sort_by_key(|list| {
            let rank = match list.id {
                VersionId::ENGINE => 0,
                VersionId::GAME => 2,
                _ => 1,
            };
            (rank, list.id)
        });
        Ok(())
    }

    /// The lists, in the order in which they run.
    pub fn iter(&self) -> core::slice::Iter<'_, Migrations> {
        self.lists.iter()
    }

    /// The names of all lists: what packages are saved with, and compared with.
    #[must_use]
    pub fn versions(&self) -> &[VersionList] {
        &self.versions
    }
}
