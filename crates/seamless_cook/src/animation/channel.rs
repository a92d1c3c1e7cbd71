//! One channel of a glTF animation as a stored curve, by the rules of Bevy's glTF loader.

use bevy::animation::AnimationTargetId;
use gltf::accessor::{DataType, Dimensions, Item};
use gltf::animation::{Channel, Interpolation as GltfInterpolation, Property, util::ReadOutputs};
use gltf::{Accessor, buffer::View};
use seamless_asset::assets::animation::{ClipError, CurveProperty, Interpolation, StoredCurve};

use super::{SkipReason, buffers::Buffers};
use crate::source_check::MAX_SPARSE;

pub(super) fn curve(
    channel: &Channel,
    target: AnimationTargetId,
    buffers: &Buffers,
) -> Result<StoredCurve, SkipReason> {
    let sampler = channel.sampler();
    let property = match channel.target().property() {
        Property::Translation => CurveProperty::Translation,
        Property::Rotation => CurveProperty::Rotation,
        Property::Scale => CurveProperty::Scale,
        Property::MorphTargetWeights => CurveProperty::Weights,
    };
    if sampler.input().sparse().is_some() {
        return Err(SkipReason::SparseTimes);
    }
    if !is_readable::<f32>(&sampler.input(), buffers) || sampler.input().dimensions() != Dimensions::Scalar {
        return Err(SkipReason::Accessor("key times"));
    }
    let values = SkipReason::Accessor("values");
    if !has_type(&sampler.output(), property) || !is_output_readable(&sampler.output(), property, buffers) {
        return Err(values);
    }
    let reader = channel.reader(|buffer| buffers.get(&buffer));
    let times: Vec<f32> = reader.read_inputs().ok_or(SkipReason::Accessor("key times"))?.collect();
    let values = numbers(reader.read_outputs().ok_or(values)?);
    check_spline_weights(property, sampler.interpolation(), times.len(), values.len())?;
    let (interpolation, times, values) = normalised(property, sampler.interpolation(), times, values);
    Ok(StoredCurve::new(target, property, interpolation, times, values)?)
}

/// Bevy counts the values of these against all key times, also those that it drops afterwards.
fn check_spline_weights(
    property: CurveProperty,
    interpolation: GltfInterpolation,
    keys: usize,
    values: usize,
) -> Result<(), ClipError> {
    let is_spline = interpolation == GltfInterpolation::CubicSpline && keys > 1;
    if is_spline && property == CurveProperty::Weights && !values.is_multiple_of(keys * 3) {
        return Err(ClipError::ValueCount {
            property,
            interpolation: Interpolation::CubicSpline,
            keys,
            values,
        });
    }
    Ok(())
}

fn numbers(outputs: ReadOutputs) -> Vec<f32> {
    match outputs {
        ReadOutputs::Translations(values) | ReadOutputs::Scales(values) => values.flatten().collect(),
        ReadOutputs::Rotations(values) => values.into_f32().flatten().collect(),
        ReadOutputs::MorphTargetWeights(values) => values.into_f32().collect(),
    }
}

/// Keys as Bevy's curves hold them: it sorts key times, and drops those that are not finite or are there twice. Vectors and rotations
/// go with their times and the surplus is dropped, unless they are splines; the values of splines and weights stay where they are.
fn normalised(
    property: CurveProperty,
    interpolation: GltfInterpolation,
    times: Vec<f32>,
    mut values: Vec<f32>,
) -> (Interpolation, Vec<f32>, Vec<f32>) {
    if times.len() == 1 {
        values.truncate(property.width().unwrap_or(values.len()));
        return (Interpolation::Constant, Vec::new(), values);
    }
    let interpolation = match interpolation {
        GltfInterpolation::Linear => Interpolation::Linear,
        GltfInterpolation::Step => Interpolation::Step,
        GltfInterpolation::CubicSpline => Interpolation::CubicSpline,
    };
    match property.width() {
        Some(width) if interpolation != Interpolation::CubicSpline => {
            let (times, values): (Vec<f32>, Vec<&[f32]>) = ascending(times.into_iter().zip(values.chunks_exact(width)))
                .into_iter()
                .unzip();
            (interpolation, times, values.concat())
        }
        _ => {
            let times = ascending(times.into_iter().map(|time| (time, ())));
            (
                interpolation,
                times.into_iter().map(|(time, ())| time).collect(),
                values,
            )
        }
    }
}

/// Keys in the order of their times, one for each finite time.
fn ascending<T>(keys: impl Iterator<Item = (f32, T)>) -> Vec<(f32, T)> {
    let mut keys: Vec<(f32, T)> = keys.filter(|(time, _)| time.is_finite()).collect();
    keys.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    keys.dedup_by_key(|(time, _)| *time);
    keys
}

fn has_type(accessor: &Accessor, property: CurveProperty) -> bool {
    let dimensions = match property {
        CurveProperty::Translation | CurveProperty::Scale => Dimensions::Vec3,
        CurveProperty::Rotation => Dimensions::Vec4,
        CurveProperty::Weights => Dimensions::Scalar,
    };
    let is_float = accessor.data_type() == DataType::F32;
    let may_be_whole = matches!(property, CurveProperty::Rotation | CurveProperty::Weights);
    accessor.dimensions() == dimensions && (is_float || (may_be_whole && accessor.data_type() != DataType::U32))
}

fn is_output_readable(accessor: &Accessor, property: CurveProperty, buffers: &Buffers) -> bool {
    match (property, accessor.data_type()) {
        (CurveProperty::Translation | CurveProperty::Scale, _) => is_readable::<[f32; 3]>(accessor, buffers),
        (CurveProperty::Rotation, DataType::I8 | DataType::U8) => is_readable::<[u8; 4]>(accessor, buffers),
        (CurveProperty::Rotation, DataType::I16 | DataType::U16) => is_readable::<[u16; 4]>(accessor, buffers),
        (CurveProperty::Rotation, _) => is_readable::<[f32; 4]>(accessor, buffers),
        (CurveProperty::Weights, DataType::I8 | DataType::U8) => is_readable::<u8>(accessor, buffers),
        (CurveProperty::Weights, DataType::I16 | DataType::U16) => is_readable::<u16>(accessor, buffers),
        (CurveProperty::Weights, _) => is_readable::<f32>(accessor, buffers),
    }
}

/// Whether the `gltf` crate can read items of `T` without reaching out of the file: it adds and multiplies what the file says.
fn is_readable<T: Item>(accessor: &Accessor, buffers: &Buffers) -> bool {
    let fits = |view: &View, offset: usize, count: usize, size: usize| {
        let stride = view.stride().unwrap_or(size);
        let end = count.checked_sub(1).and_then(|last| last.checked_mul(stride));
        let end = end.and_then(|end| end.checked_add(offset)?.checked_add(size));
        let in_view = end.is_some_and(|end| end <= view.length());
        let view_end = view.offset().checked_add(view.length());
        let in_buffer = view_end
            .zip(buffers.get(&view.buffer()))
            .is_some_and(|(end, bytes)| end <= bytes.len());
        stride >= size && in_view && in_buffer
    };
    let base = accessor.view();
    let base_fits = base
        .as_ref()
        .is_none_or(|view| fits(view, accessor.offset(), accessor.count(), size_of::<T>()));
    let Some(sparse) = accessor.sparse() else {
        return accessor.size() == size_of::<T>() && base.is_some() && base_fits;
    };
    let (indices, values) = (sparse.indices(), sparse.values());
    accessor.count() > 0
        && accessor.count() <= MAX_SPARSE as usize
        && base_fits
        && fits(
            &indices.view(),
            indices.offset(),
            sparse.count(),
            indices.index_type().size(),
        )
        && fits(&values.view(), values.offset(), sparse.count(), size_of::<T>())
}
