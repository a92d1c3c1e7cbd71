//! What an entry of a migration list does to values. See [`Step`].

use std::{borrow::Cow, sync::Arc};

use bevy_platform::collections::HashSet;
use bevy_reflect::{PartialReflect, Reflect, ReflectRef};

use super::value::{Fields, Value};

/// An operation, with the entry that it belongs to.
pub(in crate::codec) struct Step {
    pub list: String,
    pub entry: String,
    pub op: Op,
}

type Make = dyn Fn() -> Box<dyn PartialReflect> + Send + Sync;
type Patch = dyn Fn(&mut Fields) -> Result<(), String> + Send + Sync;
type Split = dyn Fn(Fields) -> Result<Vec<(String, Fields)>, String> + Send + Sync;

/// What is done.
pub(in crate::codec) enum Op {
    /// To all values of a type, except to their place.
    Change {
        type_path: String,
        change: Change,
    },
    RenameType {
        old: String,
        new: String,
    },
    DropType {
        type_path: String,
    },
    Split {
        type_path: String,
        split: Box<Split>,
    },
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
    fn change(type_path: &str, change: Change) -> Self {
        let type_path = type_path.to_owned();
        Self::Change { type_path, change }
    }

    pub fn rename_field(type_path: &str, old: &str, new: &str) -> Self {
        let (old, new) = (old.to_owned(), new.to_owned());
        Self::change(type_path, Change::RenameField { old, new })
    }

    pub fn rename_type(old: &str, new: &str) -> Self {
        let (old, new) = (old.to_owned(), new.to_owned());
        Self::RenameType { old, new }
    }

    pub fn rename_variant(type_path: &str, old: &str, new: &str) -> Self {
        let (old, new) = (old.to_owned(), new.to_owned());
        Self::change(type_path, Change::RenameVariant { old, new })
    }

    pub fn default_field(type_path: &str, field: &str, value: impl Reflect + Clone) -> Self {
        let make = Box::new(move || Box::new(value.clone()) as Box<dyn PartialReflect>);
        let field = field.to_owned();
        Self::change(type_path, Change::DefaultField { field, make })
    }

    pub fn drop_field(type_path: &str, field: &str) -> Self {
        let field = field.to_owned();
        Self::change(type_path, Change::DropField { field })
    }

    pub fn drop_type(type_path: &str) -> Self {
        let type_path = type_path.to_owned();
        Self::DropType { type_path }
    }

    pub fn patch(type_path: &str, patch: impl Fn(&mut Fields) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self::change(type_path, Change::Patch(Box::new(patch)))
    }

    pub fn split(
        type_path: &str,
        split: impl Fn(Fields) -> Result<Vec<(String, Fields)>, String> + Send + Sync + 'static,
    ) -> Self {
        let (type_path, split) = (type_path.to_owned(), Box::new(split));
        Self::Split { type_path, split }
    }

    /// Whether it does anything to values that consist of `types`; those that it makes join them.
    pub fn touches(&self, types: &mut HashSet<String>) -> bool {
        match self {
            Self::RenameType { old, new } => {
                let renamed: Vec<_> = types.iter().filter_map(|path| renamed(path, old, new)).collect();
                let is_any = !renamed.is_empty();
                types.extend(renamed);
                is_any
            }
            Self::Change { type_path, change } => {
                let is_there = types.contains(type_path);
                if let Change::RenameVariant { new, .. } = change
                    && is_there
                {
                    types.insert(format!("{type_path}::{new}"));
                }
                is_there
            }
            Self::DropType { type_path } | Self::Split { type_path, .. } => types.contains(type_path),
        }
    }
}

/// The new name of a type or of an enum's variant, if it has one.
fn renamed(path: &str, old: &str, new: &str) -> Option<String> {
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

/// What becomes of a value.
#[derive(PartialEq, Eq)]
enum Stays {
    Yes,
    No,
}

impl Step {
    /// Does it to the values that one object has become so far.
    pub(super) fn run(&self, values: &mut Vec<Value>) -> Result<(), String> {
        let mut done = Vec::with_capacity(values.len());
        for mut value in values.drain(..) {
            if self.op.parts(&mut value)? == Stays::No {
                continue;
            }
            match &self.op {
                Op::Split { type_path, split } if is_of(&value, type_path) => {
                    let Value::Fields(fields) = value.open() else {
                        return Err(format!("`{type_path}` has no fields to split"));
                    };
                    done.extend(split(fields)?.into_iter().map(|(type_path, mut fields)| {
                        fields.type_path = type_path.into();
                        Value::Fields(fields)
                    }));
                }
                _ => done.push(value),
            }
        }
        *values = done;
        Ok(())
    }
}

impl Op {
    /// Does it to a value and what is in it, inside first.
    fn parts(&self, value: &mut Value) -> Result<Stays, String> {
        self.open(value);
        match value {
            Value::Leaf(..) | Value::Handle(_) => {}
            Value::Fields(fields) => retain(&mut fields.fields, |(_, part)| self.part(part))?,
            Value::Items(_, items) => retain(items, |item| self.part(item))?,
            Value::Map(entries) => retain(entries, |(key, value)| Ok(self.part(key)? && self.part(value)?))?,
        }
        self.whole(value)
    }

    fn part(&self, value: &mut Value) -> Result<bool, String> {
        let stays = self.parts(value)?;
        match self {
            Self::Split { type_path, .. } if is_of(value, type_path) => Err(format!(
                "a `{type_path}` is inside another value; only components can be split"
            )),
            _ => Ok(stays == Stays::Yes),
        }
    }

    /// Values of a type that the operation looks for may be hidden in one that read itself.
    fn open(&self, value: &mut Value) {
        let (Self::Change { type_path, .. } | Self::DropType { type_path }) = self else {
            return;
        };
        let is_inside = match &*value {
            Value::Leaf(path, leaf) => is_in(&**leaf, type_path) || (**path == **type_path && !self.is_drop()),
            _ => false,
        };
        if is_inside {
            *value = core::mem::replace(value, Value::Map(Vec::new())).open();
        }
    }

    fn is_drop(&self) -> bool {
        matches!(self, Self::DropType { .. })
    }

    fn whole(&self, value: &mut Value) -> Result<Stays, String> {
        match self {
            Self::DropType { type_path } if is_of(value, type_path) => return Ok(Stays::No),
            Self::RenameType { old, new } => {
                let (Value::Leaf(path, _) | Value::Fields(Fields { type_path: path, .. })) = value else {
                    return Ok(Stays::Yes);
                };
                if let Cow::Owned(renamed) = rename_in(path, old, new) {
                    *path = renamed.into();
                }
            }
            Self::Change { type_path, change } => {
                if let Value::Fields(fields) = value
                    && is_named(fields, type_path)
                {
                    change.run(fields)?;
                }
            }
            _ => {}
        }
        Ok(Stays::Yes)
    }
}

impl Change {
    fn run(&self, fields: &mut Fields) -> Result<(), String> {
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
            Self::DropField { field } if fields.contains(field) => {
                fields.take(field)?;
            }
            Self::Patch(patch) => patch(fields)?,
            _ => {}
        }
        Ok(())
    }
}

/// As `Vec::retain_mut`, with errors.
fn retain<T>(items: &mut Vec<T>, mut stays: impl FnMut(&mut T) -> Result<bool, String>) -> Result<(), String> {
    let mut error = None;
    items.retain_mut(|item| match error {
        Some(_) => true,
        None => stays(item).unwrap_or_else(|why| {
            error = Some(why);
            true
        }),
    });
    error.map_or(Ok(()), Err)
}

fn is_of(value: &Value, type_path: &str) -> bool {
    match value {
        Value::Leaf(path, _) => **path == *type_path,
        Value::Fields(fields) => *fields.type_path == *type_path,
        _ => false,
    }
}

/// Fields of a variant answer to the enum's path, and to their own.
fn is_named(fields: &Fields, type_path: &str) -> bool {
    let own = &*fields.type_path;
    own == type_path
        || fields.variant.as_ref().is_some_and(|variant| {
            let rest = type_path.strip_prefix(own).and_then(|rest| rest.strip_prefix("::"));
            rest == Some(variant)
        })
}

/// Whether a value of this type is a part of `value`.
fn is_in(value: &dyn PartialReflect, type_path: &str) -> bool {
    let is = |part: &dyn PartialReflect| {
        let path = part.reflect_type_path();
        let variant = || type_path.strip_prefix(path).is_some_and(|rest| rest.starts_with("::"));
        path == type_path || variant() || is_in(part, type_path)
    };
    match value.reflect_ref() {
        ReflectRef::Struct(value) => value.iter_fields().any(|(_, part)| is(part)),
        ReflectRef::TupleStruct(value) => value.iter_fields().any(is),
        ReflectRef::Tuple(value) => value.iter_fields().any(is),
        ReflectRef::Enum(value) => value.iter_fields().any(|part| is(part.value())),
        ReflectRef::List(value) => value.iter().any(is),
        ReflectRef::Array(value) => value.iter().any(is),
        ReflectRef::Set(value) => value.iter().any(is),
        ReflectRef::Map(value) => value.iter().any(|(key, value)| is(key) || is(value)),
        _ => false,
    }
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

/// The steps of `all` that do anything to values that consist of `types`.
pub(super) fn touching(all: &[Arc<Step>], mut types: HashSet<String>) -> Vec<Arc<Step>> {
    let mut steps: Vec<Arc<Step>> = Vec::new();
    let mut is_split = false;
    for step in all {
        // What a split makes is not known before.
        if is_split || step.op.touches(&mut types) {
            is_split |= matches!(step.op, Op::Split { .. });
            steps.push(step.clone());
        }
    }
    steps
}
