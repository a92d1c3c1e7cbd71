//! Fields without names, of which there are more or fewer today. See [`is_clear`].

use core::any::TypeId;
use std::sync::Arc;

use bevy_asset::ReflectHandle;
use bevy_reflect::{PartialReflect, ReflectRef, TypeInfo, TypeRegistration, TypeRegistry};

use super::{
    value::{Items, Value, number_of},
    widen::widen,
};
use crate::codec::reflect::is_option;

/// A field of today's type.
pub(super) struct Numbered {
    pub type_id: TypeId,
    /// It is not stored.
    pub is_skipped: bool,
}

/// Whether there is no doubt about which of the stored fields is which of today's.
///
/// As many as there were are taken to be the same. Else the last came or went, if the types let no others have done so: of
/// `(f32, f32, f32)` nobody can tell which became two, of `(f32, String)` it is clear.
pub(super) fn is_clear(stored: &[(Arc<str>, Value)], today: &[Numbered], registry: &TypeRegistry) -> bool {
    let is_skipped = |number: usize| today.get(number).is_some_and(|field| field.is_skipped);
    let mut was: Vec<(usize, &Value)> = stored
        .iter()
        .filter_map(|(name, value)| Some((number_of(name)?, value)))
        .filter(|(number, _)| !is_skipped(*number))
        .collect();
    was.sort_by_key(|(number, _)| *number);
    let is = today.iter().enumerate().filter(|(_, field)| !field.is_skipped);
    let is: Vec<(usize, &Numbered)> = is.collect();
    let numbers = |of: &mut dyn Iterator<Item = usize>| of.collect::<Vec<usize>>();
    let (was_numbers, is_numbers) = (
        numbers(&mut was.iter().map(|(number, _)| *number)),
        numbers(&mut is.iter().map(|(number, _)| *number)),
    );
    if was_numbers == is_numbers {
        return true;
    }
    let fits = |was_at: usize, is_at: usize| may_be(was[was_at].1, is[is_at].1.type_id, registry);
    if was.len() < is.len() {
        is_part(&was_numbers, &is_numbers) && !is_ambiguous(was.len(), is.len(), fits)
    } else {
        is_part(&is_numbers, &was_numbers) && !is_ambiguous(is.len(), was.len(), |is, was| fits(was, is))
    }
}

/// Whether all of `few` are among `many`.
fn is_part(few: &[usize], many: &[usize]) -> bool {
    few.iter().all(|number| many.binary_search(number).is_ok())
}

/// Whether there are several ways to find `few` things among `many`, in their order.
fn is_ambiguous(few: usize, many: usize, fits: impl Fn(usize, usize) -> bool) -> bool {
    // In how many ways the first so many were found so far; two are as good as more.
    let mut ways = vec![0_u8; few + 1];
    ways[0] = 1;
    for of_many in 0..many {
        for of_few in (0..few).rev() {
            if fits(of_few, of_many) {
                ways[of_few + 1] = (ways[of_few + 1] + ways[of_few]).min(2);
            }
        }
    }
    ways[few] > 1
}

/// Whether the value might become one of this type. It says yes rather once too often: then it asks for a migration.
fn may_be(value: &Value, type_id: TypeId, registry: &TypeRegistry) -> bool {
    let Some(registration) = registry.get(type_id) else {
        return true;
    };
    let info = registration.type_info();
    match value {
        Value::Leaf(_, leaf) => may_leaf_be(&**leaf, registration),
        Value::Handle(_) => registration.contains::<ReflectHandle>(),
        Value::Fields(fields) => match info {
            TypeInfo::Enum(info) => {
                fields.variant.is_some() && (is_option(info) || fields.type_path() == info.type_path())
            }
            TypeInfo::Tuple(_) => fields.variant.is_none(),
            _ => fields.type_path() == info.type_path(),
        },
        Value::Items(Items::List, _) => matches!(info, TypeInfo::List(_)),
        Value::Items(Items::Array, _) => matches!(info, TypeInfo::Array(_)),
        Value::Items(Items::Set, _) => matches!(info, TypeInfo::Set(_)),
        Value::Map(_) => matches!(info, TypeInfo::Map(_)),
    }
}

fn may_leaf_be(leaf: &dyn PartialReflect, registration: &TypeRegistration) -> bool {
    let leaf_type = leaf.try_as_reflect().map(|leaf| leaf.as_any().type_id());
    if leaf_type == Some(registration.type_id()) || widen(leaf, registration.type_id()).is_some() {
        return true;
    }
    // What has parts may be taken apart for another type.
    !matches!(leaf.reflect_ref(), ReflectRef::Opaque(_)) && !matches!(registration.type_info(), TypeInfo::Opaque(_))
}
