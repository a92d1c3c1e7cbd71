//! What a type says about how it is cooked. See [`Immutable`] and [`CookByField`].

use bevy_reflect::{Reflect, TypeInfo, attributes::CustomAttributes};
use seamless_package::Schema;

/// The cooked form of the type is positional for good: its fields, in their order, will never change. For types that are
/// finished, such as a vector or a colour.
///
/// The promise is stored with the type's schema. A package whose layout of the type is another one is refused by a
/// [`DecodeError::ImmutableChanged`](super::DecodeError::ImmutableChanged), and one that a pending migration would change, beyond
/// its name, by a `MigrateError::Immutable`; it can still be dropped. It counts for components, assets and
/// resources of the type itself, not where it is a part of another one. Objects that were cooked before the promise was made are migrated
/// like any others.
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_reflect::prelude::*; use seamless_asset::codec::Immutable;
/// #[derive(Component, Reflect)]
/// #[reflect(Component, @Immutable)]
/// struct Tint { r: f32, g: f32, b: f32 }
/// ```
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq)]
pub struct Immutable;

/// The component is cooked field by field, through reflection, even where it is nothing but numbers and its rows
/// could be copied as they are.
///
/// For components whose numbers are entities in disguise, which `MapEntities` maps: bytes that are copied are not mapped. A
/// type of somebody else's gets the same by [`ReflectCodec::by_field`](super::ReflectCodec::by_field).
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_reflect::prelude::*; use seamless_asset::codec::CookByField;
/// #[derive(Component, Reflect)]
/// #[reflect(Component, @CookByField)]
/// struct Target { entity_bits: u64 }
/// ```
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq)]
pub struct CookByField;

/// Whether the type carries the attribute `A`.
pub(super) fn has_attribute<A: Reflect>(info: &TypeInfo) -> bool {
    attributes(info).is_some_and(CustomAttributes::contains::<A>)
}

/// Those that a type itself has; kinds of types that have none are foreign ones.
fn attributes(info: &TypeInfo) -> Option<&CustomAttributes> {
    Some(match info {
        TypeInfo::Struct(info) => info.custom_attributes(),
        TypeInfo::TupleStruct(info) => info.custom_attributes(),
        TypeInfo::Enum(info) => info.custom_attributes(),
        _ => return None,
    })
}

/// `schema`, with the promise if the type makes it. It is not part of the layout that is hashed: who makes the promise later
/// changes nothing.
pub(super) fn with_promise(mut schema: Schema, info: Option<&TypeInfo>) -> Schema {
    schema.immutable = info.is_some_and(has_attribute::<Immutable>);
    schema
}
