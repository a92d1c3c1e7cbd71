//! A value as it was cooked, apart from its type: what migrations work on. See [`Value`] and [`Fields`].

use std::sync::Arc;

use bevy_reflect::{
    FromReflect, PartialReflect, Reflect, ReflectRef, TypePath,
    array::DynamicArray,
    enums::{DynamicEnum, DynamicVariant, VariantType},
    list::DynamicList,
    map::{DynamicMap, Map},
    set::{DynamicSet, Set},
    structs::DynamicStruct,
    tuple::DynamicTuple,
};

use crate::codec::reflect::StoredHandle;

/// A value, part by part.
pub(super) enum Value {
    /// A value that is there as its type, with its type path as the package names it.
    Leaf(Arc<str>, Box<dyn PartialReflect>),
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
        Self::Leaf(value.reflect_type_path().into(), value)
    }

    /// Its type, or its kind where the type does not matter.
    pub fn describe(&self) -> &str {
        match self {
            Self::Leaf(path, _) => path,
            Self::Handle(_) => "an asset handle",
            Self::Fields(fields) => &fields.type_path,
            Self::Items(Items::List, _) => "a list",
            Self::Items(Items::Array, _) => "an array",
            Self::Items(Items::Set, _) => "a set",
            Self::Map(_) => "a map",
        }
    }

    /// Takes a leaf apart, as far as its type has parts that can be copied.
    pub fn open(self) -> Self {
        match self {
            Self::Leaf(path, value) => match parts_of(&path, &*value) {
                Some(parts) => parts,
                None => Self::Leaf(path, value),
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
            Self::Leaf(path, value) => Self::Leaf(path.clone(), copy(&**value)?),
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

/// A collection without its type. `None` when items of a set cannot be compared.
pub(super) fn collection(kind: Items, items: Vec<Box<dyn PartialReflect>>) -> Option<Box<dyn PartialReflect>> {
    Some(match kind {
        Items::List => {
            let mut list = DynamicList::default();
            items.into_iter().for_each(|item| list.push_box(item));
            Box::new(list)
        }
        Items::Array => Box::new(DynamicArray::new(items.into_boxed_slice())),
        Items::Set => {
            let mut set = DynamicSet::default();
            for item in items {
                set.insert_boxed(hashable(item)?);
            }
            Box::new(set)
        }
    })
}

/// A map without its type. `None` when its keys cannot be compared.
pub(super) fn map(entries: Vec<(Box<dyn PartialReflect>, Box<dyn PartialReflect>)>) -> Option<Box<dyn PartialReflect>> {
    let mut map = DynamicMap::default();
    for (key, value) in entries {
        map.insert_boxed(hashable(key)?, value);
    }
    Some(Box::new(map))
}

/// Bevy's dynamic maps and sets panic at other keys.
fn hashable(key: Box<dyn PartialReflect>) -> Option<Box<dyn PartialReflect>> {
    (key.reflect_hash().is_some() && key.reflect_partial_eq(&*key) == Some(true)).then_some(key)
}

fn copy(value: &dyn PartialReflect) -> Option<Box<dyn PartialReflect>> {
    value.reflect_clone().ok().map(<dyn Reflect>::into_partial_reflect)
}

fn copied(value: &dyn PartialReflect) -> Option<Value> {
    Some(Value::leaf(copy(value)?))
}

fn parts_of(path: &Arc<str>, value: &dyn PartialReflect) -> Option<Value> {
    let fields = |variant: Option<&str>, fields: Vec<(Arc<str>, Value)>| {
        Value::Fields(Fields {
            type_path: path.clone(),
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
    pub(super) type_path: Arc<str>,
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
        &self.type_path
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
    /// When there is no such field, or it is no `T`; the message says so. Handles cannot be read, only moved.
    pub fn get<T: FromReflect + TypePath>(&self, name: &str) -> Result<T, String> {
        let value = self.find(name).ok_or_else(|| self.lacks(name))?;
        let other = || format!("field `{name}` is {}, not `{}`", value.describe(), T::type_path());
        let dynamic = value.copy().and_then(Value::into_dynamic).ok_or_else(other)?;
        T::from_reflect(&*dynamic).ok_or_else(other)
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

    /// Takes a field's value out, as it is.
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
            type_path: self.type_path.clone(),
            variant: self.variant.clone(),
            fields: fields.collect::<Option<_>>()?,
        })
    }

    /// Whether the fields have numbers for names.
    fn kind(&self) -> VariantType {
        match self.fields.first() {
            None => VariantType::Unit,
            Some((name, _)) if name.bytes().all(|byte| byte.is_ascii_digit()) => VariantType::Tuple,
            Some(_) => VariantType::Struct,
        }
    }

    fn into_dynamic(self) -> Option<Box<dyn PartialReflect>> {
        let (kind, variant) = (self.kind(), self.variant);
        let (mut named, mut numbered) = (DynamicStruct::default(), DynamicTuple::default());
        for (name, value) in self.fields {
            let value = value.into_dynamic()?;
            match kind {
                VariantType::Struct => named.insert_boxed(name.to_string(), value),
                _ => numbered.insert_boxed(value),
            }
        }
        Some(match (variant, kind) {
            (Some(variant), VariantType::Struct) => {
                Box::new(DynamicEnum::new(variant.to_string(), DynamicVariant::Struct(named)))
            }
            (Some(variant), VariantType::Tuple) => {
                Box::new(DynamicEnum::new(variant.to_string(), DynamicVariant::Tuple(numbered)))
            }
            (Some(variant), VariantType::Unit) => Box::new(DynamicEnum::new(variant.to_string(), DynamicVariant::Unit)),
            (None, VariantType::Tuple) => Box::new(numbered),
            (None, _) => Box::new(named),
        })
    }
}
