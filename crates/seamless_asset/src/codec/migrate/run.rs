//! Steps done to values. See [`PlannedStep::run`].

use std::borrow::Cow;

use bevy_reflect::{PartialReflect, ReflectRef};

use super::{
    ops::{Op, rename_in},
    plan::PlannedStep,
    value::{Fields, TypeName, Value},
};

/// What becomes of a value.
#[derive(PartialEq, Eq)]
enum Stays {
    Yes,
    No,
}

impl PlannedStep {
    /// Does it to the values that one object has become so far.
    pub(super) fn run(&self, values: &mut Vec<Value>) -> Result<(), String> {
        let mut done = Vec::with_capacity(values.len());
        for mut value in values.drain(..) {
            if self.parts(&mut value)? == Stays::No {
                continue;
            }
            match self.op() {
                Op::Split(split) if self.is_about(&value) => {
                    let Value::Fields(fields) = value.open() else {
                        return Err(format!("`{}` has no fields to split", self.at));
                    };
                    done.extend(split(fields)?.into_iter().map(|(type_path, mut fields)| {
                        fields.type_name = TypeName::then(type_path);
                        Value::Fields(fields)
                    }));
                }
                _ => done.push(value),
            }
        }
        *values = done;
        Ok(())
    }

    /// Does it to a value and what is in it, inside first.
    fn parts(&self, value: &mut Value) -> Result<Stays, String> {
        self.open(value)?;
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
        match self.op() {
            Op::Split(_) if self.is_about(value) => Err(format!(
                "a `{}` is inside another value; only components can be split",
                self.at
            )),
            _ => Ok(stays == Stays::Yes),
        }
    }

    /// Values of the type that the step looks for may be hidden in one that read itself.
    fn open(&self, value: &mut Value) -> Result<(), String> {
        let Value::Leaf(name, leaf) = &*value else {
            return Ok(());
        };
        let is_inside = match self.op() {
            Op::Change(_) => is_or_has_variant(name.path(), self.path_for(name)) || is_in(&**leaf, &self.today),
            Op::DropType | Op::Split(_) => is_in(&**leaf, &self.today),
            // The app's own types have their new names.
            Op::RenameType { .. } => false,
        };
        if !is_inside {
            return Ok(());
        }
        *value = core::mem::replace(value, Value::Map(Vec::new())).open();
        match value {
            Value::Leaf(name, _) => Err(format!("a `{}` cannot be taken apart", name.path())),
            _ => Ok(()),
        }
    }

    fn whole(&self, value: &mut Value) -> Result<Stays, String> {
        match self.op() {
            Op::DropType if self.is_about(value) => return Ok(Stays::No),
            Op::RenameType { new } => {
                if let Value::Leaf(name, _) | Value::Fields(Fields { type_name: name, .. }) = value
                    && !name.is_today()
                    && let Cow::Owned(renamed) = rename_in(name.path(), &self.at, new)
                {
                    *name = TypeName::then(renamed);
                }
            }
            Op::Change(change) => {
                if let Value::Fields(fields) = value
                    && self.is_about_fields(fields)
                {
                    if fields.type_name.path() == self.path_for(&fields.type_name) {
                        // Patches see the name of their time.
                        fields.type_name = TypeName::then(&*self.at);
                    }
                    change.run(fields)?;
                }
            }
            _ => {}
        }
        Ok(Stays::Yes)
    }

    fn is_about(&self, value: &Value) -> bool {
        match value {
            Value::Leaf(name, _) => self.path_for(name) == name.path(),
            Value::Fields(fields) => self.path_for(&fields.type_name) == fields.type_name.path(),
            _ => false,
        }
    }

    /// Fields of a variant answer to the enum's path, and to their own.
    fn is_about_fields(&self, fields: &Fields) -> bool {
        let (own, path) = (fields.type_name.path(), self.path_for(&fields.type_name));
        own == path || fields.variant().is_some_and(|name| variant_of(path, own) == Some(name))
    }
}

/// The name of a variant of the enum `type_path`, if `path` is that of one.
fn variant_of<'p>(path: &'p str, type_path: &str) -> Option<&'p str> {
    path.strip_prefix(type_path)?.strip_prefix("::")
}

/// Whether `path` is that of the type, or of one of its variants.
fn is_or_has_variant(type_path: &str, path: &str) -> bool {
    type_path == path || variant_of(path, type_path).is_some()
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

/// Whether a value of this type is a part of `value`.
fn is_in(value: &dyn PartialReflect, type_path: &str) -> bool {
    let is =
        |part: &dyn PartialReflect| is_or_has_variant(part.reflect_type_path(), type_path) || is_in(part, type_path);
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
