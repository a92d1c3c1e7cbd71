//! Values without their types, and what a type made of one.

use std::sync::Arc;

use bevy_reflect::{
    PartialReflect, Reflect, ReflectRef,
    array::DynamicArray,
    list::DynamicList,
    map::{DynamicMap, Map},
    set::{DynamicSet, Set},
    tuple::{DynamicTuple, Tuple},
    tuple_struct::DynamicTupleStruct,
};

use super::value::{Items, number_of};

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

/// Numbered fields in their order. `None` when one is missing, or one has a name.
pub(super) fn tuple(fields: Vec<(Arc<str>, Box<dyn PartialReflect>)>) -> Option<DynamicTuple> {
    let mut slots: Vec<Option<Box<dyn PartialReflect>>> = fields.iter().map(|_| None).collect();
    for (name, value) in fields {
        *slots.get_mut(number_of(&name)?)? = Some(value);
    }
    let mut made = DynamicTuple::default();
    slots.into_iter().try_for_each(|value| {
        made.insert_boxed(value?);
        Some(())
    })?;
    Some(made)
}

/// The same fields, of a type with a name.
pub(super) fn tuple_struct(fields: DynamicTuple) -> DynamicTupleStruct {
    let mut made = DynamicTupleStruct::default();
    Box::new(fields)
        .drain()
        .into_iter()
        .for_each(|field| made.insert_boxed(field));
    made
}

/// Whether `made` took over every part of `from` that it has a place for.
pub(super) fn has_taken(made: &dyn PartialReflect, from: &dyn PartialReflect) -> bool {
    let same_type = |made: &dyn Reflect, from: &dyn Reflect| made.as_any().type_id() == from.as_any().type_id();
    if let (Some(made), Some(from)) = (made.try_as_reflect(), from.try_as_reflect())
        && same_type(made, from)
    {
        return true;
    }
    let taken = |(made, from): (Option<&dyn PartialReflect>, &dyn PartialReflect)| {
        made.is_none_or(|made| has_taken(made, from))
    };
    match (made.reflect_ref(), from.reflect_ref()) {
        (ReflectRef::Struct(made), ReflectRef::Struct(from)) => {
            from.iter_fields().all(|(name, part)| taken((made.field(name), part)))
        }
        (ReflectRef::TupleStruct(made), ReflectRef::TupleStruct(from)) => {
            let mut parts = from.iter_fields().enumerate();
            parts.all(|(index, part)| taken((made.field(index), part)))
        }
        (ReflectRef::Tuple(made), ReflectRef::Tuple(from)) => {
            let mut parts = from.iter_fields().enumerate();
            parts.all(|(index, part)| taken((made.field(index), part)))
        }
        (ReflectRef::Enum(made), ReflectRef::Enum(from)) => {
            let mut parts = from.iter_fields().enumerate();
            made.variant_name() == from.variant_name()
                && parts.all(|(index, part)| {
                    let made = match part.name() {
                        Some(name) => made.field(name),
                        None => made.field_at(index),
                    };
                    taken((made, part.value()))
                })
        }
        (ReflectRef::List(made), ReflectRef::List(from)) => {
            made.len() == from.len() && made.iter().zip(from.iter()).all(|(made, from)| has_taken(made, from))
        }
        (ReflectRef::Array(made), ReflectRef::Array(from)) => {
            made.len() == from.len() && made.iter().zip(from.iter()).all(|(made, from)| has_taken(made, from))
        }
        (ReflectRef::Set(made), ReflectRef::Set(from)) => made.len() == from.len(),
        (ReflectRef::Map(made), ReflectRef::Map(from)) => {
            made.len() == from.len()
                && from
                    .iter()
                    .all(|(key, value)| made.get(key).is_none_or(|made| has_taken(made, value)))
        }
        _ => false,
    }
}
