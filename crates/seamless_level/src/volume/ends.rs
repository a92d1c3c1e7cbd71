//! How far a convex shape goes along each axis. See [`Ends`].

use std::collections::BTreeSet;

use bevy_math::{DMat3, DVec3, Vec3};

/// Of shapes of more planes only these are looked at: the work grows with the third power of their number.
const MOST_PLANES: usize = 16;
/// An end that moves faster than this when the planes move outward is none: a spike, as two planes that are nearly parallel make.
const MOST_GROWTH: f64 = 2.5;
/// What rounding may cost an end that several planes make, as a part of the numbers at hand.
const ROUNDING: f64 = 1e-6;

/// How far a convex shape goes along each axis, and how that grows when its planes are moved outward.
///
/// No point of the shape is further along a direction than a combination of planes says whose normals add up to that direction, none of them
/// taken negatively; the least of what is said by three planes at a time is the end itself (the duality of linear programs, and
/// Carathéodory's theorem).
#[derive(Copy, Clone, Debug)]
pub(super) struct Ends {
    low: [End; 3],
    high: [End; 3],
}

/// Along one direction.
#[derive(Copy, Clone, Debug)]
struct End {
    at: f64,
    /// How far it moves when all planes move outward by one.
    growth: f64,
}

impl End {
    const NONE: Self = Self {
        at: f64::INFINITY,
        growth: 0.0,
    };

    /// What is said by planes of these normals, each with its `d`, taken so often.
    fn of(planes: [(DVec3, f64); 3], times: DVec3) -> Self {
        if !times.is_finite() || times.min_element() < 0.0 {
            return Self::NONE;
        }
        let mut end = Self { at: 0.0, growth: 0.0 };
        let mut coarse = 0.0;
        for ((normal, d), times) in planes
            .into_iter()
            .zip(times.to_array())
            .filter(|(_, times)| *times > 0.0)
        {
            end.at += d * times;
            end.growth += normal.length() * times;
            coarse += (d * times).abs();
        }
        // One plane across the axis says it exactly.
        let is_exact = times.to_array().iter().filter(|times| **times > 0.0).count() == 1;
        end.at += if is_exact { 0.0 } else { coarse * ROUNDING };
        match end.at.is_finite() && end.growth <= MOST_GROWTH {
            true => end,
            false => Self::NONE,
        }
    }

    fn or_nearer(&mut self, other: Self) {
        if other.at < self.at {
            *self = other;
        }
    }

    fn moved(&self, outward: f32) -> f32 {
        if self.at.is_infinite() {
            return f32::INFINITY;
        }
        (self.at + self.growth * f64::from(outward)) as f32
    }
}

impl Ends {
    /// Of the points that are behind all planes.
    pub fn of(planes: &[(Vec3, f32)]) -> Self {
        let mut ends = Self {
            low: [End::NONE; 3],
            high: [End::NONE; 3],
        };
        let double = |(normal, d): &(Vec3, f32)| (normal.as_dvec3(), f64::from(*d));
        let mut planes: Vec<(DVec3, f64)> = planes.iter().map(double).collect();
        if planes.len() > MOST_PLANES {
            planes = across_axes(&planes);
        }
        // So that any number of planes is three or more; these say nothing.
        planes.extend(DVec3::AXES.map(|axis| (axis, f64::INFINITY)));
        for (a, first) in planes.iter().enumerate() {
            for (b, second) in planes.iter().enumerate().skip(a + 1) {
                for third in planes.iter().skip(b + 1) {
                    ends.look_at([*first, *second, *third]);
                }
            }
        }
        ends
    }

    fn look_at(&mut self, planes: [(DVec3, f64); 3]) {
        let [x, y, z] = planes.map(|(normal, _)| normal);
        // Columns are how often each normal is taken to make up an axis.
        let Some(times) = DMat3::from_cols(x, y, z).try_inverse() else {
            return;
        };
        let axes = [times.x_axis, times.y_axis, times.z_axis];
        let ends = self.low.iter_mut().zip(&mut self.high);
        for ((low, high), axis) in ends.zip(axes) {
            high.or_nearer(End::of(planes, axis));
            low.or_nearer(End::of(planes, -axis));
        }
    }

    /// The box around the shape with its planes moved outward; infinite where there is no end.
    pub fn bounds(&self, outward: f32) -> (Vec3, Vec3) {
        let low = self.low.map(|end| -end.moved(outward));
        let high = self.high.map(|end| end.moved(outward));
        (low.into(), high.into())
    }

    /// How far the box grows at most when the planes move outward by one.
    pub fn growth(&self) -> f32 {
        let growths = self.low.iter().chain(&self.high).map(|end| end.growth);
        growths.fold(1.0, f64::max) as f32
    }
}

/// Those of many planes that say most about a box: the ones that are best across each axis, from either side. What lies behind all planes lies behind
/// these.
fn across_axes(planes: &[(DVec3, f64)]) -> Vec<(DVec3, f64)> {
    let directions = DVec3::AXES.map(|axis| [axis, -axis]).concat();
    let orders = directions.into_iter().map(|axis| {
        let mut order: Vec<usize> = (0..planes.len()).collect();
        let of = |place: &usize| {
            let (normal, d) = planes[*place];
            (normal.normalize_or_zero().dot(axis), d / normal.length())
        };
        order.sort_by(|a, b| {
            let [(across, d), (other, other_d)] = [of(a), of(b)];
            other.total_cmp(&across).then(d.total_cmp(&other_d))
        });
        order.into_iter()
    });
    let mut orders: Vec<_> = orders.collect();
    let mut chosen = BTreeSet::new();
    while chosen.len() < MOST_PLANES {
        let more = orders
            .iter_mut()
            .filter_map(|order| order.find(|place| !chosen.contains(place)));
        let more: Vec<usize> = more.take(MOST_PLANES - chosen.len()).collect();
        chosen.extend(more);
    }
    chosen.into_iter().map(|place| planes[place]).collect()
}
