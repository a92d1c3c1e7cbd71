//! A value as it was cooked, apart from its type: what migrations work on. See [`Value`] and [`Fields`].

use std::sync::Arc;

use bevy_reflect::{
    FromReflect, PartialReflect, Reflect, ReflectRef, TypePath,
    enums::{DynamicEnum, DynamicVariant},
    structs::DynamicStruct,
};

use super::dynamic::{collection, has_taken, map, tuple, tuple_struct};
use crate::codec::reflect::StoredHandle;

/// What the type of a value is called.
#[derive(Clone, Default)]
pub(super) struct TypeName {
    path: Arc<str>,
    is_today: bool,
}

impl TypeName {
    /// At this point of its history: steps that rename the type change it.
    pub fn then(path: impl Into<Arc<str>>) -> Self {
        let (path, is_today) = (path.into(), false);
        Self { path, is_today }
    }

    /// By the app, of whose types it is one already.
    fn today(value: &dyn PartialReflect) -> Self {
        let (path, is_today) = (value.reflect_type_path().into(), true);
        Self { path, is_today }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn is_today(&self) -> bool {
        self.is_today
    }
}

/// A value, part by part.
pub(super) enum Value {
    /// A value that is there as its type.
    Leaf(TypeName, Box<dyn PartialReflect>),
    Handle(StoredHandle),
    /// A struct, a tuple, or a variant of an enum.
    Fields(Fields),
    Items(Items, Vec<Value>),
    Map(Vec<(Value, Value)>),
}

/// What kind of collection it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Items {
    List,
    Array,
    Set,
}

impl Value {
    /// A value of a type that the app knows.
    pub fn leaf(value: Box<dyn PartialReflect>) -> Self {
        Self::Leaf(TypeName::today(&*value), value)
    }

    /// Its type, or its kind where the type does not matter.
    pub fn describe(&self) -> &str {
        match self {
            Self::Leaf(name, _) => name.path(),
            Self::Handle(_) => "an asset handle",
            Self::Fields(fields) => fields.type_path(),
            Self::Items(Items::List, _) => "a list",
            Self::Items(Items::Array, _) => "an array",
            Self::Items(Items::Set, _) => "a set",
            Self::Map(_) => "a map",
        }
    }

    /// Takes a leaf apart, as far as its type has parts that can be copied.
    pub fn open(self) -> Self {
        match self {
            Self::Leaf(name, value) => match parts_of(&name, &*value) {
                Some(parts) => parts,
                None => Self::Leaf(name, value),
            },
            other => other,
        }
    }

    /// The value without its type. `None` when a handle is in it, or a key that cannot be hashed.
    fn into_dynamic(self) -> Option<Box<dyn PartialReflect>> {
        Some(match self {
            Self::Leaf(_, value) => value,
            Self::Handle(_) => return None,
            Self::Fields(fields) => fields.into_dynamic()?,
            Self::Items(kind, items) => {
                let items = items.into_iter().map(Self::into_dynamic).collect::<Option<Vec<_>>>()?;
                collection(kind, items)?
            }
            Self::Map(entries) => {
                let entries = entries
                    .into_iter()
                    .map(|(key, value)| Some((key.into_dynamic()?, value.into_dynamic()?)));
                map(entries.collect::<Option<Vec<_>>>()?)?
            }
        })
    }

    fn copy(&self) -> Option<Self> {
        Some(match self {
            Self::Leaf(name, value) => Self::Leaf(name.clone(), copy(&**value)?),
            Self::Handle(handle) => Self::Handle(*handle),
            Self::Fields(fields) => Self::Fields(fields.copy()?),
            Self::Items(kind, items) => Self::Items(*kind, items.iter().map(Self::copy).collect::<Option<_>>()?),
            Self::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| Some((key.copy()?, value.copy()?)));
                Self::Map(entries.collect::<Option<_>>()?)
            }
        })
    }
}

fn copy(value: &dyn PartialReflect) -> Option<Box<dyn PartialReflect>> {
    value.reflect_clone().ok().map(<dyn Reflect>::into_partial_reflect)
}

fn copied(value: &dyn PartialReflect) -> Option<Value> {
    Some(Value::leaf(copy(value)?))
}

fn parts_of(name: &TypeName, value: &dyn PartialReflect) -> Option<Value> {
    let fields = |variant: Option<&str>, fields: Vec<(Arc<str>, Value)>| {
        Value::Fields(Fields {
            type_name: name.clone(),
            variant: variant.map(Arc::from),
            fields,
        })
    };
    let numbered = |(index, field): (usize, &dyn PartialReflect)| Some((index.to_string().into(), copied(field)?));
    Some(match value.reflect_ref() {
        ReflectRef::Struct(value) => {
            let parts = value
                .iter_fields()
                .map(|(name, part)| Some((name.into(), copied(part)?)));
            fields(None, parts.collect::<Option<_>>()?)
        }
        ReflectRef::TupleStruct(value) => fields(
            None,
            value.iter_fields().enumerate().map(numbered).collect::<Option<_>>()?,
        ),
        ReflectRef::Tuple(value) => fields(
            None,
            value.iter_fields().enumerate().map(numbered).collect::<Option<_>>()?,
        ),
        ReflectRef::Enum(value) => {
            let parts = value.iter_fields().enumerate().map(|(index, part)| {
                let name = part.name().map_or_else(|| index.to_string().into(), Arc::from);
                Some((name, copied(part.value())?))
            });
            fields(Some(value.variant_name()), parts.collect::<Option<_>>()?)
        }
        ReflectRef::List(value) => Value::Items(Items::List, value.iter().map(copied).collect::<Option<_>>()?),
        ReflectRef::Array(value) => Value::Items(Items::Array, value.iter().map(copied).collect::<Option<_>>()?),
        ReflectRef::Set(value) => Value::Items(Items::Set, value.iter().map(copied).collect::<Option<_>>()?),
        ReflectRef::Map(value) => {
            let entries = value.iter().map(|(key, value)| Some((copied(key)?, copied(value)?)));
            Value::Map(entries.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// The fields of a value that is migrated, by name: those of a struct, or of an enum's variant; tuples have `0`, `1` and so on.
///
/// What was cooked has the names and types of its time. Whatever is there when all migrations have run must fit the type of today.
#[derive(Default)]
pub struct Fields {
    pub(super) type_name: TypeName,
    /// Of an enum.
    pub(super) variant: Option<Arc<str>>,
    pub(super) fields: Vec<(Arc<str>, Value)>,
}

/// The value of one field, to move it elsewhere as it is; see [`Fields::take`].
pub struct Field(Value);

impl Fields {
    /// No fields, for a value that is made anew.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The type path of the value at this point of its history; empty for a new one.
    #[must_use]
    pub fn type_path(&self) -> &str {
        self.type_name.path()
    }

    /// The variant that an enum's value is; `None` for a struct.
    #[must_use]
    pub fn variant(&self) -> Option<&str> {
        self.variant.as_deref()
    }

    /// Makes it another variant of its enum; its fields stay.
    pub fn set_variant(&mut self, name: &str) {
        self.variant = Some(name.into());
    }

    /// The names of the fields that are there.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| &**name)
    }

    /// Whether there is such a field.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// A copy of a field's value.
    ///
    /// # Errors
    /// When there is no such field, or it is no `T` as it is today; the message says so. Handles cannot be read, only moved.
    pub fn get<T: FromReflect + TypePath>(&self, name: &str) -> Result<T, String> {
        let value = self.find(name).ok_or_else(|| self.lacks(name))?;
        let other = || format!("field `{name}` is {}, not `{}`", value.describe(), T::type_path());
        let dynamic = value.copy().and_then(Value::into_dynamic).ok_or_else(other)?;
        let made = T::from_reflect(&*dynamic).ok_or_else(other)?;
        // A type with a default takes it for every field that does not fit, and does not say so.
        if has_taken(&made, &*dynamic) {
            Ok(made)
        } else {
            Err(format!(
                "field `{name}` is a {}, which does not fit the fields that a `{}` has today; read them one by one, by `inner`",
                value.describe(),
                T::type_path()
            ))
        }
    }

    /// Sets a field, whether or not it was there. Numbers may be narrower than the field of today.
    pub fn set<T: Reflect>(&mut self, name: &str, value: T) {
        self.put(name, Field(Value::leaf(Box::new(value))));
    }

    /// The fields of a struct or enum inside this value.
    ///
    /// # Errors
    /// When there is no such field, or it has no fields of its own.
    pub fn inner(&mut self, name: &str) -> Result<&mut Self, String> {
        let lacks = self.lacks(name);
        let (_, value) = self
            .fields
            .iter_mut()
            .find(|(known, _)| **known == *name)
            .ok_or(lacks)?;
        let opened = core::mem::replace(value, Value::Map(Vec::new())).open();
        *value = opened;
        match value {
            Value::Fields(fields) => Ok(fields),
            other => Err(format!("field `{name}` is {} and has no fields", other.describe())),
        }
    }

    /// Takes a field's value out, as it is. Other fields keep their numbers.
    ///
    /// # Errors
    /// When there is no such field.
    pub fn take(&mut self, name: &str) -> Result<Field, String> {
        let at = self.fields.iter().position(|(known, _)| **known == *name);
        let at = at.ok_or_else(|| self.lacks(name))?;
        Ok(Field(self.fields.remove(at).1))
    }

    /// Puts a value in as this field, over the one that is there.
    pub fn put(&mut self, name: &str, Field(value): Field) {
        match self.fields.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, old)) => *old = value,
            None => self.fields.push((name.into(), value)),
        }
    }

    /// Leaves a field out. Behind one without a name the others move up.
    pub(super) fn drop_field(&mut self, name: &str) {
        self.fields.retain(|(known, _)| **known != *name);
        let Some(gone) = number_of(name) else { return };
        for (known, _) in &mut self.fields {
            if let Some(number) = number_of(known).filter(|number| *number > gone) {
                *known = (number - 1).to_string().into();
            }
        }
    }

    fn find(&self, name: &str) -> Option<&Value> {
        let mut fields = self.fields.iter();
        fields.find_map(|(known, value)| (**known == *name).then_some(value))
    }

    fn lacks(&self, name: &str) -> String {
        let names: Vec<_> = self.names().collect();
        format!("there is no field `{name}`, only `{}`", names.join("`, `"))
    }

    fn copy(&self) -> Option<Self> {
        let fields = self
            .fields
            .iter()
            .map(|(name, value)| Some((name.clone(), value.copy()?)));
        Some(Self {
            type_name: self.type_name.clone(),
            variant: self.variant.clone(),
            fields: fields.collect::<Option<_>>()?,
        })
    }

    fn into_dynamic(self) -> Option<Box<dyn PartialReflect>> {
        let Self {
            type_name,
            variant,
            fields,
        } = self;
        let fields = fields
            .into_iter()
            .map(|(name, value)| Some((name, value.into_dynamic()?)));
        let fields: Vec<_> = fields.collect::<Option<_>>()?;
        let is_numbered = fields.first().is_some_and(|(name, _)| number_of(name).is_some());
        let parts = match is_numbered {
            true => DynamicVariant::Tuple(tuple(fields)?),
            false if fields.is_empty() => DynamicVariant::Unit,
            false => DynamicVariant::Struct(fields.into_iter().fold(
                DynamicStruct::default(),
                |mut named, (name, value)| {
                    named.insert_boxed(name.to_string(), value);
                    named
                },
            )),
        };
        Some(match (variant, parts) {
            (Some(variant), parts) => Box::new(DynamicEnum::new(variant.to_string(), parts)),
            (None, DynamicVariant::Tuple(parts)) if type_name.path().starts_with('(') => Box::new(parts),
            (None, DynamicVariant::Tuple(parts)) => Box::new(tuple_struct(parts)),
            (None, DynamicVariant::Struct(parts)) => Box::new(parts),
            (None, DynamicVariant::Unit) => Box::new(DynamicStruct::default()),
        })
    }
}

/// The number that a field without a name has for one.
pub(super) fn number_of(name: &str) -> Option<usize> {
    name.parse()
        .ok()
        .filter(|_| name.bytes().all(|byte| byte.is_ascii_digit()))
}
