//! Numbers that became wider. See [`widen`].

use core::any::{Any, TypeId};

use bevy_reflect::{PartialReflect, Reflect};

/// The number as one of the type `to`, if every number of its own type has its like there.
pub(super) fn widen(value: &dyn PartialReflect, to: TypeId) -> Option<Box<dyn PartialReflect>> {
    let value = value.try_as_reflect()?.as_any();
    macro_rules! from {
        ($($from:ty => $($to:ty),*;)*) => { $(
            if let Some(value) = value.downcast_ref::<$from>() {
                $(if to == TypeId::of::<$to>() { return boxed(<$to>::from(*value)); })*
            }
        )* };
    }
    from! {
        u8 => u16, u32, u64, u128, usize, i16, i32, i64, i128, f32, f64;
        u16 => u32, u64, u128, usize, i32, i64, i128, f32, f64;
        u32 => u64, u128, i64, i128, f64;
        u64 => u128, i128;
        i8 => i16, i32, i64, i128, isize, f32, f64;
        i16 => i32, i64, i128, isize, f32, f64;
        i32 => i64, i128, f64;
        i64 => i128;
        f32 => f64;
    }
    sized(value, to)
}

/// Sizes have the width of the machine, and are taken as 64 bits wide: what does not fit a narrower machine does not load there.
fn sized(value: &dyn Any, to: TypeId) -> Option<Box<dyn PartialReflect>> {
    macro_rules! try_from {
        ($($from:ty => $($to:ty),*;)*) => { $(
            if let Some(value) = value.downcast_ref::<$from>() {
                $(if to == TypeId::of::<$to>() { return boxed(<$to>::try_from(*value).ok()?); })*
            }
        )* };
    }
    try_from! {
        u32 => usize;
        u64 => usize;
        usize => u64, u128, i128;
        u8 => isize;
        u16 => isize;
        u32 => isize;
        i32 => isize;
        i64 => isize;
        isize => i64, i128;
    }
    None
}

fn boxed<T: Reflect>(value: T) -> Option<Box<dyn PartialReflect>> {
    Some(Box::new(value))
}
