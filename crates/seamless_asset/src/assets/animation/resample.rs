//! Clips whose curves are unknown, sampled anew. See [`resampled`].

use bevy_animation::{
    AnimationClip, AnimationTargetId, animated_field,
    animation_curves::{AnimatableProperty, AnimatedField, AnimationCurve, WeightsCurve},
};
use bevy_math::{
    Quat, StableInterpolate,
    curve::{ConstantCurve, Interval},
};
use bevy_transform::components::Transform;

use super::{
    ClipError, CurveProperty, Interpolation, StoredClip, StoredCurve,
    source::{event_count, panics_at_keys, values_at},
};

/// Keys a second before any is added where a curve bends.
const RATE: f32 = 60.0;
/// Keys of a curve before any is added: four and a half minutes at [`RATE`]. A longer curve has them further apart.
const MOST_STEPS: usize = 1 << 14;
/// How often the time between two keys is halved where the curve is not straight.
const MOST_HALVINGS: u32 = 6;
/// How far values may be off before a key is added: this part of the curve's extent. Of a rotation, radians.
const TOLERANCE: f32 = 1.0 / 4096.0;

/// What sampling a clip anew did to it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Resampled {
    /// How many curves were sampled.
    pub curves: usize,
    /// How many keys they have now.
    pub keys: usize,
    /// The largest error of a translation, in its units, metres usually.
    pub translation: f32,
    /// The largest error of a rotation, in radians.
    pub rotation: f32,
    /// The largest error of a scale.
    pub scale: f32,
    /// The largest error of a morph weight.
    pub weight: f32,
    /// How often a curve jumps. A jump takes up to a 3840th of a second now, and is not counted as an error above; in a clip of
    /// more than four and a half minutes it takes longer.
    pub jumps: usize,
}

impl core::fmt::Display for Resampled {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        write!(
            f,
            "{} curves became {} linear keys; off by at most {} in translation, {} rad in rotation, {} in scale and {} in weights, \
             with {} jumps",
            self.curves, self.keys, self.translation, self.rotation, self.scale, self.weight, self.jumps
        )
    }
}

impl Resampled {
    fn add_error(&mut self, property: CurveProperty, error: f32) {
        let largest = match property {
            CurveProperty::Translation => &mut self.translation,
            CurveProperty::Rotation => &mut self.rotation,
            CurveProperty::Scale => &mut self.scale,
            CurveProperty::Weights => &mut self.weight,
        };
        *largest = largest.max(error);
    }
}

/// Samples every curve of `clip` anew, as linear keys: 60 a second, and more where a curve bends. Tells the largest errors, measured
/// at quarters between the keys.
///
/// # Errors
/// When the clip has events, or animates something else than transforms and morph weights.
pub fn resampled(clip: &AnimationClip) -> Result<(StoredClip, Resampled), ClipError> {
    let events = event_count(clip);
    if events > 0 {
        return Err(ClipError::Events(events));
    }
    let mut targets: Vec<_> = clip.curves().iter().collect();
    // A hash map has no order, and the same clip must give the same bytes.
    targets.sort_by_key(|(target, _)| **target);
    let mut report = Resampled::default();
    let mut curves = Vec::new();
    for (target, list) in targets {
        for curve in list {
            let curve = resampled_curve(*target, &*curve.0, clip.duration(), &mut report)?;
            report.curves += 1;
            report.keys += curve.keys();
            curves.push(curve);
        }
    }
    Ok((StoredClip::new(clip.duration(), curves)?, report))
}

/// What a curve animates, as far as a stored curve can.
fn property_of(curve: &dyn AnimationCurve) -> Option<CurveProperty> {
    let id = curve.evaluator_id();
    let weights = WeightsCurve(ConstantCurve::new(Interval::EVERYWHERE, Vec::<f32>::new()));
    if id == animated_field!(Transform::translation).evaluator_id() {
        Some(CurveProperty::Translation)
    } else if id == animated_field!(Transform::rotation).evaluator_id() {
        Some(CurveProperty::Rotation)
    } else if id == animated_field!(Transform::scale).evaluator_id() {
        Some(CurveProperty::Scale)
    } else if id == weights.evaluator_id() {
        Some(CurveProperty::Weights)
    } else {
        None
    }
}

fn resampled_curve(
    target: AnimationTargetId,
    curve: &dyn AnimationCurve,
    duration: f32,
    report: &mut Resampled,
) -> Result<StoredCurve, ClipError> {
    let unknown = || ClipError::Property {
        target: target.0.to_string(),
    };
    let property = property_of(curve).ok_or_else(unknown)?;
    if panics_at_keys(curve) {
        return Err(ClipError::CubicWeights);
    }
    let domain = curve.domain();
    // What lies outside of the clip is never seen, and may be endless.
    let start = if domain.start().is_finite() {
        domain.start()
    } else {
        0.0
    };
    let end = if domain.end().is_finite() {
        domain.end()
    } else {
        duration
    };
    let base = steps(start, end).map(|time| Some((time, values_at(curve, time)?)));
    let base = base.collect::<Option<Vec<Sample>>>().ok_or_else(unknown)?;
    let first = base.first().map(|(_, values)| values.clone()).unwrap_or_default();
    let is_constant = base.len() < 2 || is_straight(curve, &base, &first);
    if is_constant {
        return StoredCurve::new(target, property, Interpolation::Constant, Vec::new(), first);
    }
    let extent = base.iter().map(|(_, values)| distance(property, &first, values));
    let extent = if property == CurveProperty::Rotation {
        1.0
    } else {
        extent.fold(0.0, f32::max)
    };
    let mut walk = Walk {
        curve,
        property,
        tolerance: extent * TOLERANCE,
        keys: Vec::new(),
        report,
    };
    for [from, to] in base.array_windows() {
        walk.add(from, to, MOST_HALVINGS);
    }
    walk.keys.extend(base.last().cloned());
    let (times, values): (Vec<f32>, Vec<Vec<f32>>) = walk.keys.into_iter().unzip();
    StoredCurve::new(target, property, Interpolation::Linear, times, values.concat())
}

/// A time, and the curve's value then.
type Sample = (f32, Vec<f32>);

/// Times from `start` to `end`, both included, each later than the one before.
fn steps(start: f32, end: f32) -> impl Iterator<Item = f32> {
    let length = f64::from(end) - f64::from(start);
    let count = ((length * f64::from(RATE)).ceil().max(0.0) as usize).min(MOST_STEPS);
    let times = (0..=count).map(move |step| (f64::from(start) + length * step as f64 / count.max(1) as f64) as f32);
    let mut last = f32::NEG_INFINITY;
    times.filter(move |time| {
        let is_later = *time > last;
        last = last.max(*time);
        is_later
    })
}

/// Whether the curve is `value` at every sample and between them.
fn is_straight(curve: &dyn AnimationCurve, base: &[Sample], value: &[f32]) -> bool {
    let between = base
        .array_windows()
        .all(|[(from, _), (to, _)]| values_at(curve, from + (to - from) / 2.0).is_some_and(|values| values == value));
    between && base.iter().all(|(_, values)| values == value)
}

struct Walk<'a> {
    curve: &'a dyn AnimationCurve,
    property: CurveProperty,
    tolerance: f32,
    keys: Vec<Sample>,
    report: &'a mut Resampled,
}

impl Walk<'_> {
    /// Adds the key `from`, and those between it and `to` that the curve needs.
    fn add(&mut self, from: &Sample, to: &Sample, halvings: u32) {
        let at = |part: f32| {
            let time = from.0 + (to.0 - from.0) * part;
            Some((time, values_at(self.curve, time)?))
        };
        let quarters = [0.25, 0.5, 0.75].map(|part| (part, at(part)));
        let errors = quarters.iter().filter_map(|(part, sample)| {
            let straight = interpolate(self.property, &from.1, &to.1, *part);
            Some(distance(self.property, &straight, &sample.as_ref()?.1))
        });
        let error = errors.fold(0.0, f32::max);
        let [_, (_, middle), _] = quarters;
        let is_split = error > self.tolerance;
        match middle.filter(|(time, _)| is_split && halvings > 0 && from.0 < *time && *time < to.0) {
            Some(middle) => {
                self.add(from, &middle, halvings - 1);
                self.add(&middle, to, halvings - 1);
            }
            None => {
                // A curve that is steady over so short a time is nearly straight; one that is not jumps.
                if is_split {
                    self.report.jumps += 1;
                } else {
                    self.report.add_error(self.property, error);
                }
                self.keys.push(from.clone());
            }
        }
    }
}

/// The value that a linear curve has at `part` of the way.
fn interpolate(property: CurveProperty, from: &[f32], to: &[f32], part: f32) -> Vec<f32> {
    match (property, <[f32; 4]>::try_from(from), <[f32; 4]>::try_from(to)) {
        (CurveProperty::Rotation, Ok(from), Ok(to)) => {
            let between = Quat::from_array(from).interpolate_stable(&Quat::from_array(to), part);
            between.to_array().to_vec()
        }
        _ => from
            .iter()
            .zip(to)
            .map(|(from, to)| from + (to - from) * part)
            .collect(),
    }
}

/// How far two values are apart: radians between rotations, else the largest difference of a number.
fn distance(property: CurveProperty, a: &[f32], b: &[f32]) -> f32 {
    match (property, <[f32; 4]>::try_from(a), <[f32; 4]>::try_from(b)) {
        (CurveProperty::Rotation, Ok(a), Ok(b)) => {
            // The angle from the chord keeps its precision near zero, where a cosine has none.
            let (a, b) = (Quat::from_array(a).normalize(), Quat::from_array(b).normalize());
            let chord = (a - b).length().min((a + b).length());
            4.0 * (chord / 2.0).min(1.0).asin()
        }
        _ => a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max),
    }
}
