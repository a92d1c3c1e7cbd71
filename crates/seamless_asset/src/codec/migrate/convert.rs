//! Values made into the types of today. See [`convert_whole`].

use std::sync::Arc;

use bevy_asset::ReflectHandle;
use bevy_reflect::{
    NamedField, PartialReflect, Reflect, ReflectFromReflect, TypeInfo, TypeRegistration, UnnamedField,
    enums::{DynamicEnum, DynamicVariant, EnumInfo, VariantInfo},
    serde::SerializationData,
    std_traits::ReflectDefault,
    structs::DynamicStruct,
    tuple::DynamicTuple,
};

use super::{
    MigrateError,
    dynamic::{collection, map, tuple_struct},
    numbered::{self, Numbered},
    value::{Fields, Items, Value, number_of},
    widen::widen,
};
use crate::codec::{
    DecodeContext, DecodeError,
    reflect::{is_option, read_handle},
};

/// Makes a value of the registered type.
///
/// # Errors
/// When the value does not fit the type; says which field of which type.
pub(super) fn convert_whole(
    value: Value,
    registration: &TypeRegistration,
    context: &DecodeContext,
) -> Result<Box<dyn Reflect>, DecodeError> {
    let type_path = registration.type_info().type_path();
    let place = Place { type_path, field: "" };
    let value = convert(value, registration, &place, context)?;
    let is_there = |value: &dyn Reflect| value.as_any().type_id() == registration.type_id();
    match value.try_into_reflect() {
        Ok(value) if is_there(&*value) => Ok(value),
        _ => Err(DecodeError::Reflect {
            type_path: type_path.to_owned(),
            message: "it has no `FromReflect`".into(),
        }),
    }
}

/// Where a value goes, for messages.
#[derive(Clone, Copy)]
struct Place<'a> {
    type_path: &'a str,
    field: &'a str,
}

impl Place<'_> {
    fn does_not_fit(&self, was: &str, is: &str) -> DecodeError {
        DecodeError::from(MigrateError::FieldChanged {
            type_path: self.type_path.to_owned(),
            field: self.field.to_owned(),
            was: was.to_owned(),
            is: is.to_owned(),
        })
    }

    fn missing(&self, field: &str) -> DecodeError {
        DecodeError::from(MigrateError::MissingField {
            type_path: self.type_path.to_owned(),
            field: field.to_owned(),
        })
    }
}

type Converted = Result<Box<dyn PartialReflect>, DecodeError>;

/// A value of the registered type, or a dynamic one where the type does not say how it is made.
fn convert(value: Value, registration: &TypeRegistration, place: &Place, context: &DecodeContext) -> Converted {
    let info = registration.type_info();
    let is = info.type_path();
    // What a leaf is, it may become, or be taken apart for.
    let value = match value {
        Value::Leaf(name, leaf) => {
            let leaf_type = leaf.try_as_reflect().map(|leaf| leaf.as_any().type_id());
            if leaf_type == Some(registration.type_id()) {
                return Ok(leaf);
            }
            if let Some(wide) = widen(&*leaf, registration.type_id()) {
                return Ok(wide);
            }
            match Value::Leaf(name, leaf).open() {
                Value::Leaf(name, _) => return Err(place.does_not_fit(name.path(), is)),
                opened => opened,
            }
        }
        other => other,
    };
    let was = value.describe().to_owned();
    let does_not_fit = || place.does_not_fit(&was, is);
    if let Some(handle) = registration.data::<ReflectHandle>() {
        let Value::Handle(stored) = value else {
            return Err(does_not_fit());
        };
        return read_handle(handle, stored, context).map(<dyn Reflect>::into_partial_reflect);
    }
    match (value, info) {
        (Value::Items(Items::List, items), TypeInfo::List(info)) => {
            let items = convert_all(items, info.item_ty(), place, context)?;
            made(registration, collection(Items::List, items), does_not_fit)
        }
        (Value::Items(Items::Set, items), TypeInfo::Set(info)) => {
            let items = convert_all(items, info.value_ty(), place, context)?;
            made(registration, collection(Items::Set, items), does_not_fit)
        }
        (Value::Items(Items::Array, items), TypeInfo::Array(info)) if items.len() == info.capacity() => {
            let items = convert_all(items, info.item_ty(), place, context)?;
            made(registration, collection(Items::Array, items), does_not_fit)
        }
        (Value::Map(entries), TypeInfo::Map(info)) => {
            let (keys, values) = entries.into_iter().unzip();
            let keys = convert_all(keys, info.key_ty(), place, context)?;
            let values = convert_all(values, info.value_ty(), place, context)?;
            made(registration, map(keys.into_iter().zip(values).collect()), does_not_fit)
        }
        (Value::Fields(fields), TypeInfo::Enum(info)) if fields.variant.is_some() => {
            if !is_option(info) && fields.type_path() != is {
                return Err(does_not_fit());
            }
            variant(fields, info, registration, place, context)
        }
        (Value::Fields(fields), TypeInfo::Struct(_) | TypeInfo::TupleStruct(_) | TypeInfo::Tuple(_))
            if fields.variant.is_none() && (fields.type_path() == is || matches!(info, TypeInfo::Tuple(_))) =>
        {
            structure(fields, registration, context)
        }
        _ => Err(does_not_fit()),
    }
}

fn convert_all(
    items: Vec<Value>,
    ty: bevy_reflect::Type,
    place: &Place,
    context: &DecodeContext,
) -> Result<Vec<Box<dyn PartialReflect>>, DecodeError> {
    let registration = registered(&ty, context)?;
    items
        .into_iter()
        .map(|item| convert(item, registration, place, context))
        .collect()
}

fn registered<'a>(ty: &bevy_reflect::Type, context: &DecodeContext<'a>) -> Result<&'a TypeRegistration, DecodeError> {
    let registration = context.registry.get(ty.id());
    registration.ok_or_else(|| DecodeError::UnknownType(ty.path().to_owned()))
}

/// The registered type from its parts, which all fit.
fn made(
    registration: &TypeRegistration,
    dynamic: Option<Box<dyn PartialReflect>>,
    does_not_fit: impl FnOnce() -> DecodeError,
) -> Converted {
    let Some(dynamic) = dynamic else {
        return Err(does_not_fit());
    };
    let Some(from_reflect) = registration.data::<ReflectFromReflect>() else {
        return Ok(dynamic);
    };
    let made = from_reflect.from_reflect(&*dynamic).ok_or_else(does_not_fit)?;
    Ok(made.into_partial_reflect())
}

/// Fields by name; what is gone is left out.
struct Parts<'a> {
    fields: Vec<(Arc<str>, Value)>,
    place: Place<'a>,
    context: &'a DecodeContext<'a>,
    /// Fields that the type has and the value has not.
    missing: Vec<(String, bevy_reflect::Type)>,
}

impl<'a> Parts<'a> {
    fn new(fields: Vec<(Arc<str>, Value)>, type_path: &'a str, context: &'a DecodeContext<'a>) -> Self {
        Self {
            fields,
            place: Place { type_path, field: "" },
            context,
            missing: Vec::new(),
        }
    }

    /// The field of this name, as the type that it has today. `None` when it is not there.
    fn take(&mut self, name: &str, ty: &bevy_reflect::Type) -> Result<Option<Box<dyn PartialReflect>>, DecodeError> {
        let Some(at) = self.fields.iter().position(|(known, _)| **known == *name) else {
            self.missing.push((name.to_owned(), *ty));
            return Ok(None);
        };
        let (_, value) = self.fields.swap_remove(at);
        let place = Place {
            field: name,
            ..self.place
        };
        convert(value, registered(ty, self.context)?, &place, self.context).map(Some)
    }

    fn named<'f>(
        &mut self,
        fields: impl Iterator<Item = &'f NamedField>,
        skipped: Option<&SerializationData>,
    ) -> Result<DynamicStruct, DecodeError> {
        let mut made = DynamicStruct::default();
        for (index, field) in fields.enumerate() {
            let value = match skipped.and_then(|skipped| skipped.generate_default(index)) {
                Some(default) => Some(default.into_partial_reflect()),
                None => self.take(field.name(), field.ty())?,
            };
            if let Some(value) = value {
                made.insert_boxed(field.name(), value);
            }
        }
        Ok(made)
    }

    /// Places cannot be left open: what comes behind a missing field is missing with it.
    fn numbered<'f>(
        &mut self,
        fields: impl ExactSizeIterator<Item = &'f UnnamedField> + Clone,
        skipped: Option<&SerializationData>,
    ) -> Result<DynamicTuple, DecodeError> {
        let is_skipped = |index| skipped.is_some_and(|skipped| skipped.is_field_skipped(index));
        let today = fields.clone().enumerate().map(|(index, field)| Numbered {
            type_id: field.type_id(),
            is_skipped: is_skipped(index),
        });
        let today: Vec<_> = today.collect();
        if !numbered::is_clear(&self.fields, &today, self.context.registry) {
            return Err(DecodeError::from(MigrateError::FieldsByNumber {
                type_path: self.place.type_path.to_owned(),
                was: self.fields.len(),
                is: today.len(),
            }));
        }
        let mut made = DynamicTuple::default();
        for (index, field) in fields.enumerate() {
            let value = match skipped.and_then(|skipped| skipped.generate_default(index)) {
                Some(default) => Some(default.into_partial_reflect()),
                None => self.take(&index.to_string(), field.ty())?,
            };
            match value {
                Some(value) if self.missing.is_empty() => made.insert_boxed(value),
                Some(_) => return Err(self.place.missing(&self.missing[0].0)),
                None => {}
            }
        }
        Ok(made)
    }

    /// A struct that became a tuple, or the other way round, would be nothing but defaults.
    fn check_kind(&self, stored: Option<&str>) -> Result<(), DecodeError> {
        match (stored, self.missing.first()) {
            (Some(was), Some((is, _))) if number_of(was).is_some() != number_of(is).is_some() => {
                Err(self.place.missing(is))
            }
            _ => Ok(()),
        }
    }
}

/// A struct, tuple struct or tuple.
fn structure(fields: Fields, registration: &TypeRegistration, context: &DecodeContext) -> Converted {
    let info = registration.type_info();
    let first = fields.fields.first().map(|(name, _)| name.clone());
    let mut parts = Parts::new(fields.fields, info.type_path(), context);
    let skipped = registration.data::<SerializationData>();
    let dynamic: Box<dyn PartialReflect> = match info {
        TypeInfo::Struct(info) => Box::new(parts.named(info.iter(), skipped)?),
        TypeInfo::TupleStruct(info) => Box::new(tuple_struct(parts.numbered(info.iter(), skipped)?)),
        TypeInfo::Tuple(info) => {
            let made = parts.numbered(info.iter(), skipped)?;
            if let Some((missing, _)) = parts.missing.first() {
                return Err(parts.place.missing(missing));
            }
            Box::new(made)
        }
        _ => return Err(parts.place.does_not_fit("a struct", info.type_path())),
    };
    parts.check_kind(first.as_deref())?;
    finish(dynamic, registration, &parts)
}

fn finish(dynamic: Box<dyn PartialReflect>, registration: &TypeRegistration, parts: &Parts) -> Converted {
    if let Some(from_reflect) = registration.data::<ReflectFromReflect>() {
        return match from_reflect.from_reflect(&*dynamic) {
            Some(value) => Ok(value.into_partial_reflect()),
            None => Err(without_default(&*dynamic, from_reflect, parts)),
        };
    }
    let Some((missing, _)) = parts.missing.first() else {
        return Ok(dynamic);
    };
    let missing = || parts.place.missing(missing);
    let mut value = registration.data::<ReflectDefault>().ok_or_else(missing)?.default();
    value.try_apply(&*dynamic).map_err(|_| missing())?;
    Ok(value.into_partial_reflect())
}

/// The error that names the field which is missing and has no default. Only the type knows which that is: it is asked with
/// all others filled in.
fn without_default(dynamic: &dyn PartialReflect, from_reflect: &ReflectFromReflect, parts: &Parts) -> DecodeError {
    let default_of = |ty: &bevy_reflect::Type| {
        let registration = parts.context.registry.get(ty.id())?;
        Some(registration.data::<ReflectDefault>()?.default())
    };
    let is_culprit = |name: &str| {
        let Ok(mut filled) = dynamic.reflect_ref().as_struct().map(|value| value.to_dynamic_struct()) else {
            return false;
        };
        for (other, ty) in parts.missing.iter().filter(|(other, _)| other != name) {
            if let Some(default) = default_of(ty) {
                filled.insert_boxed(other.clone(), default.into_partial_reflect());
            }
        }
        from_reflect.from_reflect(&filled).is_none()
    };
    let culprit = parts.missing.iter().find(|(name, _)| is_culprit(name));
    match culprit.or(parts.missing.first()) {
        Some((name, _)) => parts.place.missing(name),
        None => DecodeError::Reflect {
            type_path: parts.place.type_path.to_owned(),
            message: "its `FromReflect` refuses it".into(),
        },
    }
}

/// A variant of an enum.
fn variant(
    fields: Fields,
    info: &'static EnumInfo,
    registration: &TypeRegistration,
    place: &Place,
    context: &DecodeContext,
) -> Converted {
    let Fields { variant, fields, .. } = fields;
    let name = variant.unwrap_or_default();
    let (Some(variant), Some(index)) = (info.variant(&name), info.index_of(&name)) else {
        return Err(DecodeError::from(MigrateError::VariantGone {
            type_path: info.type_path().to_owned(),
            variant: name.to_string(),
        }));
    };
    let path = format!("{}::{name}", info.type_path());
    let first = fields.first().map(|(name, _)| name.clone());
    // An item of an `Option` is said to be where the option is.
    let mut parts = Parts::new(fields, if is_option(info) { place.type_path } else { &path }, context);
    let made = match variant {
        VariantInfo::Unit(_) => DynamicVariant::Unit,
        VariantInfo::Struct(variant) => DynamicVariant::Struct(parts.named(variant.iter(), None)?),
        VariantInfo::Tuple(variant) => DynamicVariant::Tuple(parts.numbered(variant.iter(), None)?),
    };
    parts.check_kind(first.as_deref())?;
    finish(
        Box::new(DynamicEnum::new_with_index(index, name.to_string(), made)),
        registration,
        &parts,
    )
}
