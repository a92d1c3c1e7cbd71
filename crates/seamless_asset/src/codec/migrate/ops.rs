//! What an entry of a migration list does to values. See [`Step`].

use std::borrow::Cow;

use bevy_platform::collections::HashSet;
use bevy_reflect::{PartialReflect, Reflect};

use super::value::{Fields, Value};

/// An operation, with the entry that it belongs to and the type that it is about.
pub(in crate::codec) struct Step {
    pub list: String,
    pub entry: String,
    /// As it was called when the entry was written.
    pub type_path: String,
    pub op: Op,
}

type Make = dyn Fn() -> Box<dyn PartialReflect> + Send + Sync;
type Patch = dyn Fn(&mut Fields) -> Result<(), String> + Send + Sync;
type Split = dyn Fn(Fields) -> Result<Vec<(String, Fields)>, String> + Send + Sync;

/// What is done.
pub(in crate::codec) enum Op {
    /// To all values of the type, except to their place.
    Change(Change),
    RenameType {
        new: String,
    },
    DropType,
    Split(Box<Split>),
}

/// What is done to a value's fields.
pub(in crate::codec) enum Change {
    RenameField { old: String, new: String },
    RenameVariant { old: String, new: String },
    DefaultField { field: String, make: Box<Make> },
    DropField { field: String },
    Patch(Box<Patch>),
}

impl Op {
    pub fn rename_field(old: &str, new: &str) -> Self {
        let (old, new) = (old.to_owned(), new.to_owned());
        Self::Change(Change::RenameField { old, new })
    }

    pub fn rename_type(new: &str) -> Self {
        let new = new.to_owned();
        Self::RenameType { new }
    }

    pub fn rename_variant(old: &str, new: &str) -> Self {
        let (old, new) = (old.to_owned(), new.to_owned());
        Self::Change(Change::RenameVariant { old, new })
    }

    pub fn default_field(field: &str, value: impl Reflect + Clone) -> Self {
        let make = Box::new(move || Box::new(value.clone()) as Box<dyn PartialReflect>);
        let field = field.to_owned();
        Self::Change(Change::DefaultField { field, make })
    }

    pub fn drop_field(field: &str) -> Self {
        let field = field.to_owned();
        Self::Change(Change::DropField { field })
    }

    pub fn drop_type() -> Self {
        Self::DropType
    }

    pub fn patch(patch: impl Fn(&mut Fields) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self::Change(Change::Patch(Box::new(patch)))
    }

    pub fn split(split: impl Fn(Fields) -> Result<Vec<(String, Fields)>, String> + Send + Sync + 'static) -> Self {
        Self::Split(Box::new(split))
    }

    /// Whether values of types may come of it that the older objects did not consist of.
    pub fn makes_anything(&self) -> bool {
        matches!(
            self,
            Self::Split(_) | Self::Change(Change::Patch(_) | Change::DefaultField { .. })
        )
    }
}

impl Change {
    pub fn run(&self, fields: &mut Fields) -> Result<(), String> {
        match self {
            Self::RenameField { old, new } if fields.contains(old) => {
                if fields.contains(new) {
                    return Err(format!("it has a field `{old}` and a field `{new}`"));
                }
                let value = fields.take(old)?;
                fields.put(new, value);
            }
            Self::RenameVariant { old, new } if fields.variant() == Some(old) => fields.set_variant(new),
            Self::DefaultField { field, make } if !fields.contains(field) => {
                fields.fields.push((field.as_str().into(), Value::leaf(make())));
            }
            Self::DropField { field } => fields.drop_field(field),
            Self::Patch(patch) => patch(fields)?,
            _ => {}
        }
        Ok(())
    }
}

/// The new name of a type or of an enum's variant, if it has one.
pub(super) fn renamed(path: &str, old: &str, new: &str) -> Option<String> {
    match (rename_in(path, old, new), path.strip_prefix(old)) {
        (Cow::Owned(renamed), _) => Some(renamed),
        (_, Some(variant)) if variant.starts_with("::") => Some(format!("{new}{variant}")),
        _ => None,
    }
}

/// `path` with the type `old` in it, as itself or as a parameter, called `new`.
pub(super) fn rename_in<'p>(path: &'p str, old: &str, new: &str) -> Cow<'p, str> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in path.match_indices(old) {
        let (before, behind) = (path.as_bytes()[..at].last(), path.as_bytes().get(at + old.len()));
        let is_whole = !before.is_some_and(|byte| is_part(*byte)) && !behind.is_some_and(|byte| is_part(*byte));
        if is_whole && !old.is_empty() {
            out.push_str(&path[done..at]);
            out.push_str(new);
            done = at + old.len();
        }
    }
    if done == 0 {
        return Cow::Borrowed(path);
    }
    out.push_str(&path[done..]);
    Cow::Owned(out)
}

/// The names by which operations find the types of a stored schema.
pub(super) fn names_of(tree: &crate::codec::reflect::SchemaTree) -> HashSet<String> {
    use crate::codec::reflect::SchemaShape;
    let mut names = HashSet::default();
    for node in &tree.nodes {
        names.insert(node.path.to_string());
        if let SchemaShape::Enum(variants) = &node.shape {
            names.extend(variants.iter().map(|(name, _)| format!("{}::{name}", node.path)));
        }
    }
    names
}
