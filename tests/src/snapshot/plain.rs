//! Values without structure, as text that is exact.

use std::{borrow::Cow, ops::Range};

use bevy::{
    camera::{CameraMainTextureUsages, Exposure},
    prelude::*,
};

/// Primitives and text; and types of Bevy that reflect neither fields nor `Debug`. `None` for everything else.
pub(super) fn text(value: &dyn Reflect) -> Option<String> {
    macro_rules! debug {
        ($($ty:ty),*) => {$(
            if let Some(value) = value.downcast_ref::<$ty>() {
                return Some(format!("{value:?}"));
            }
        )*};
    }
    if let Some(value) = value.downcast_ref::<f32>() {
        return Some(float32(*value));
    }
    if let Some(value) = value.downcast_ref::<f64>() {
        return Some(float64(*value));
    }
    if let Some(exposure) = value.downcast_ref::<Exposure>() {
        return Some(float32(exposure.ev100));
    }
    if let Some(usages) = value.downcast_ref::<CameraMainTextureUsages>() {
        return Some(format!("{:?}", usages.0));
    }
    if let Some(range) = value.downcast_ref::<Range<f32>>() {
        return Some(format!("{}..{}", float32(range.start), float32(range.end)));
    }
    debug!(
        bool,
        char,
        u8,
        u16,
        u32,
        u64,
        u128,
        usize,
        i8,
        i16,
        i32,
        i64,
        i128,
        isize,
        String,
        &'static str,
        Cow<'static, str>
    );
    None
}

/// A float by its bits: two NaNs with different bits differ, and so do `0.0` and `-0.0`.
pub(super) fn float32(value: f32) -> String {
    if value.is_nan() {
        format!("NaN({:#010x})", value.to_bits())
    } else {
        format!("{value:?}")
    }
}

/// As [`float32`], for doubles.
pub(super) fn float64(value: f64) -> String {
    if value.is_nan() {
        format!("NaN({:#018x})", value.to_bits())
    } else {
        format!("{value:?}")
    }
}
