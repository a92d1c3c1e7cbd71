//! Which types are plain.

use core::marker::PhantomData;

use bevy_ecs::entity::{EntityMapper, MapEntities};
use bevy_math::{Affine2, DVec3, Dir3, Mat3, Vec3A};
use bevy_reflect::{FromReflect, PartialReflect, ReflectFromReflect, TypePath, std_traits::ReflectDefault};

use super::*;

macro_rules! component {
    ($(#[$meta:meta])* struct $name:ident ($($fields:tt)*)) => {
        #[derive(Component, Reflect, Clone, Debug)] #[reflect(Component)] $(#[$meta])* struct $name($($fields)*);
    };
    ($(#[$meta:meta])* struct $name:ident {$($fields:tt)*}) => {
        #[derive(Component, Reflect, Clone, Debug)] #[reflect(Component)] $(#[$meta])* struct $name { $($fields)* }
    };
}

macro_rules! components {
    ($($(#[$meta:meta])* struct $name:ident $body:tt $(;)?)*) => {
        $(component! { $(#[$meta])* struct $name $body })*
    };
}

components! {
    struct One(u8);
    struct Nested { place: Vec3, size: Sized2, tail: (f32, [u16; 2]) }
    struct Vectors { a: DVec3, b: Mat3, c: [IVec2; 3], d: Dir3 }
    struct Wide(Mat4, Vec4);
    struct Nothing2(Empty, u32, [Empty; 1000], ());
}

#[derive(Reflect, Clone, Debug)]
struct Sized2 {
    width: u32,
    height: i32,
}

#[derive(Reflect, Clone, Debug)]
struct Empty;

/// Of no bytes, and ignored: still all bytes are numbers.
#[derive(Component, Reflect, Clone, Debug)]
#[reflect(Component)]
struct Tagged<T: TypePath + Send + Sync + 'static>(f32, #[reflect(ignore)] PhantomData<fn() -> T>);

#[derive(TypePath)]
struct Tag;

#[test]
fn what_is_only_numbers_is_plain() {
    fn paths<T: GetTypeRegistration>() -> String {
        plain::<T>().unwrap().layout().to_string()
    }
    assert_eq!(paths::<One>(), "size 1 align 1; 0 u8@0");
    assert!(plain::<Vectors>().is_some());
    assert!(plain::<Wide>().is_some());
    assert!(plain::<Tagged<Tag>>().is_some());
    assert_eq!(paths::<Nothing2>(), "size 4 align 4; 1 u32@0");
    let nested = plain::<Nested>().unwrap();
    let names: Vec<_> = nested.layout().leaves().iter().map(|leaf| leaf.path.as_str()).collect();
    assert_eq!(
        names,
        [
            "place.x",
            "place.y",
            "place.z",
            "size.width",
            "size.height",
            "tail.0",
            "tail.1"
        ]
    );
    let everything = plain::<Everything>().unwrap();
    assert_eq!(everything.row(), core::alloc::Layout::new::<Everything>());
    let sum: usize = everything.layout().leaves().iter().map(Leaf::size).sum();
    assert_eq!(sum, size_of::<Everything>());
    let place = everything.layout().leaves().iter().find(|leaf| leaf.path == "place.x");
    assert_eq!(place.unwrap().offset, core::mem::offset_of!(Everything, place));
}

/// A hole of the size of a number, where reflection sees nothing.
#[derive(Component, Reflect, Clone, Debug, Default)]
#[reflect(Component, Default)]
struct Hidden {
    seen: u32,
    #[reflect(ignore)]
    #[expect(dead_code, reason = "only its bytes matter")]
    hidden: u16,
    also_seen: u16,
}

components! {
    struct Padded(u32, u8);
    struct Truth(bool, u8);
    struct Letter(char);
    struct Pointer(usize, isize);
    struct Choice(u32, Pick);
    struct Friend(Entity);
    struct Padding3(Vec3A);
    struct PaddedMatrix(Affine2);
    struct Text(String);
    struct Many(Vec<u32>);
    struct Zero {}
    struct ZeroToo([u32; 0], Empty);
    struct Maybe(Option<u32>);
    struct TooLarge([u64; MAX_ROW / 8 + 1]);
    struct FarTooMany([Empty; MAX_ROW * 3], u32);
    #[reflect(@CookByField)]
    struct OptedOut(f32);
    #[reflect(opaque)]
    struct Opaque(#[expect(dead_code, reason = "only its bytes matter")] u32);
    struct Skipping { kept: u32, #[reflect(skip_serializing)] skipped: u32 }
}

#[derive(Reflect, Clone, Debug)]
enum Pick {
    A,
    B(u32),
}

/// Nothing but a number, and something to do when it goes.
#[derive(Component, Reflect, Debug)]
#[reflect(Component)]
struct Dropping(u32);

impl Drop for Dropping {
    fn drop(&mut self) {
        self.0 = 0;
    }
}

/// Its own code has a say in what it is made of.
#[derive(Component, Reflect, Debug)]
#[reflect(from_reflect = false, Component, FromReflect)]
struct Percent(u8);

impl FromReflect for Percent {
    fn from_reflect(value: &dyn PartialReflect) -> Option<Self> {
        let value = value.reflect_ref().as_tuple_struct().ok()?.field(0)?;
        Some(Self(u8::from_reflect(value)?.min(100)))
    }
}

/// It panics on numbers that it does not like.
#[derive(Component, Reflect, Debug)]
#[reflect(from_reflect = false, Component, FromReflect)]
struct Strict(f32);

impl FromReflect for Strict {
    fn from_reflect(value: &dyn PartialReflect) -> Option<Self> {
        let value = f32::from_reflect(value.reflect_ref().as_tuple_struct().ok()?.field(0)?)?;
        assert!(value.is_finite(), "a finite number");
        Some(Self(value))
    }
}

/// There is never more than one of it, or so it thinks.
#[derive(Component, Reflect, Debug)]
#[reflect(from_reflect = false, Component, FromReflect)]
struct OnlyOne(u32);

impl FromReflect for OnlyOne {
    fn from_reflect(value: &dyn PartialReflect) -> Option<Self> {
        static IS_TAKEN: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
        if IS_TAKEN.swap(true, core::sync::atomic::Ordering::Relaxed) {
            return None;
        }
        let value = value.reflect_ref().as_tuple_struct().ok()?.field(0)?;
        Some(Self(u32::from_reflect(value)?))
    }
}

/// An entity, kept as a number.
#[derive(Component, Reflect, Debug)]
#[component(map_entities)]
#[reflect(Component)]
struct Disguised(u64);

impl MapEntities for Disguised {
    fn map_entities<M: EntityMapper>(&mut self, mapper: &mut M) {
        let entity = Entity::try_from_bits(self.0).unwrap_or(Entity::PLACEHOLDER);
        self.0 = mapper.get_mapped(entity).to_bits();
    }
}

#[test]
fn what_is_anything_else_is_not_plain() {
    macro_rules! none_is_plain {
        ($($type:ty),*) => { $(assert!(plain::<$type>().is_none(), stringify!($type));)* };
    }
    none_is_plain!(
        Hidden,
        Padded,
        Truth,
        Letter,
        Pointer,
        Choice,
        Friend,
        Padding3,
        PaddedMatrix,
        Text,
        Many,
        Zero,
        ZeroToo,
        Maybe,
        TooLarge,
        FarTooMany,
        OptedOut,
        Opaque,
        Skipping,
        Dropping,
        Percent,
        Strict,
        OnlyOne,
        Disguised
    );
    // The hole is one that sizes alone tell of.
    assert_eq!(size_of::<Hidden>(), 8);
    assert_eq!(size_of::<Skipping>(), 8);
}

/// It is registered, but its parts are not.
#[test]
fn a_type_whose_parts_are_unknown_is_not_plain() {
    let mut registry = TypeRegistry::empty();
    registry.add_registration(Nested::get_type_registration());
    let registration = registry.get(TypeId::of::<Nested>()).unwrap();
    assert!(PlainType::of(registration, &registry).is_none());
}

/// A type that is no component: nothing tells whether it drops.
#[test]
fn what_is_no_component_is_not_plain() {
    assert!(plain::<Sized2>().is_none());
}

#[test]
fn the_answer_is_kept() {
    let registry = registry::<One>();
    let types = PlainTypes::default();
    let registration = registry.get(TypeId::of::<One>()).unwrap();
    let first = types.of(registration, &registry).unwrap();
    assert!(Arc::ptr_eq(&first, &types.of(registration, &registry).unwrap()));
}
