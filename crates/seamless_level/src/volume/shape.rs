//! The geometry of streaming volumes: pure functions. See [`VolumeShape`].

use bevy_math::{BVec3, Mat3, Vec3};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use serde::{Deserialize, Serialize};

use super::ends::Ends;

/// The part of a volume's size that is its margin, when nothing else is said.
const DEFAULT_MARGIN: f32 = 0.1;
/// The margin of a shape whose size is not known, in world units.
const UNSIZED_MARGIN: f32 = 10.0;

/// A region in world space, or in that of an [entity](crate::StreamingVolume).
#[derive(Reflect, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[reflect(Default, Clone, PartialEq)]
pub enum VolumeShape {
    /// An axis-aligned box. Where it has no end, a coordinate is infinite: `Box(min: (-9.0, -inf, -9.0), max: (9.0, inf, 9.0))` in a file is a square on a map,
    /// however high.
    Box {
        /// The corner with the smallest coordinates.
        min: Vec3,
        /// The corner with the largest coordinates.
        max: Vec3,
    },
    /// A ball.
    Sphere {
        /// Its middle.
        center: Vec3,
        /// Its radius, in world units.
        radius: f32,
    },
    /// The points within a radius of a line: a stretch of road, a tunnel.
    Capsule {
        /// One end of the line.
        a: Vec3,
        /// The other end.
        b: Vec3,
        /// Its radius, in world units.
        radius: f32,
    },
    /// The points that are behind every plane: `dot(normal, point) <= d`. It need not be bounded.
    Convex {
        /// Outward normal and `d` of each plane. A normal of another length than one scales its `d` along.
        planes: Vec<(Vec3, f32)>,
    },
}

impl Default for VolumeShape {
    /// A ball of radius one around the origin.
    fn default() -> Self {
        Self::Sphere {
            center: Vec3::ZERO,
            radius: 1.0,
        }
    }
}

/// A volume that can not be used: which, why, and what mends it.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[error("streaming volume `{volume}`: {fault}")]
pub struct VolumeError {
    /// The volume's name, or its entity.
    pub volume: String,
    /// What is wrong.
    pub fault: VolumeFault,
}

/// What is wrong with a volume.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VolumeFault {
    /// A radius, a plane, or a coordinate of something round, is infinite or not a number.
    #[error("its {0} is infinite or not a number; give finite numbers")]
    NotFinite(&'static str),
    /// A coordinate of a box is not a number. It may be infinite.
    #[error("its box has a coordinate that is not a number; give numbers, and `inf` or `-inf` where it has no end")]
    NotANumber,
    /// A box ends before it starts.
    #[error("its box has a `min` above its `max`; exchange them")]
    InvertedBox,
    /// A box that is everywhere, or nowhere.
    #[error(
        "its box has no end at all, or begins and ends infinitely far away; give it an end. Levels that are to be there everywhere are `always_loaded`"
    )]
    EndlessBox,
    /// A ball or a capsule of negative size.
    #[error("its radius is negative; give zero or more")]
    NegativeRadius,
    /// A convex shape without planes would be everywhere.
    #[error("its convex shape has no planes; give at least one, or use a box")]
    NoPlanes,
    /// A plane without a direction.
    #[error("plane {0} of its convex shape has a normal of length zero; give it a direction")]
    NoNormal(usize),
    /// The margin is negative or not finite.
    #[error("its unload margin is negative, infinite or not a number; give zero or more")]
    Margin,
    /// The delay is negative or not finite.
    #[error("its unload delay is negative, infinite or not a number; give zero or more, in seconds")]
    Delay,
    /// The priority is negative or not finite.
    #[error("its priority is negative, infinite or not a number; give zero or more, one is usual")]
    Priority,
    /// Where its entity is, it is nowhere.
    #[error(
        "its entity's transform has a number that is infinite or none, or a scale of zero, or makes it larger than numbers are; give it finite ones"
    )]
    Transform,
    /// It is a game's own, and asks for nothing.
    #[error("it asks for no levels; name some in its `levels`, or turn it off by `enabled: false`")]
    NoLevels,
    /// It asks for a level that its world has not.
    #[error(
        "it asks for level `{0}`, which its world has not; mend the name, or add the level to the world file and cook it"
    )]
    UnknownLevel(String),
    /// It names no world, there are several, and neither a level that it came with nor the names of its levels say which is
    /// [meant](crate::StreamingVolume::world). If it asked one of them before, it goes on to.
    #[error("it names no world, and its levels do not say which of several is meant; set its `world`")]
    AmbiguousWorld,
}

impl VolumeShape {
    /// Checks the shape and a margin.
    ///
    /// # Errors
    /// The first fault found.
    pub fn validate(&self, unload_margin: f32) -> Result<(), VolumeFault> {
        if !(unload_margin.is_finite() && unload_margin >= 0.0) {
            return Err(VolumeFault::Margin);
        }
        match self {
            Self::Box { min, max } if min.is_nan() || max.is_nan() => Err(VolumeFault::NotANumber),
            Self::Box { min, max } if min.cmpgt(*max).any() => Err(VolumeFault::InvertedBox),
            Self::Box { min, max } if !is_somewhere(*min, *max) => Err(VolumeFault::EndlessBox),
            Self::Sphere { center, radius } if !(center.is_finite() && radius.is_finite()) => {
                Err(VolumeFault::NotFinite("sphere"))
            }
            Self::Capsule { a, b, radius } if !(a.is_finite() && b.is_finite() && radius.is_finite()) => {
                Err(VolumeFault::NotFinite("capsule"))
            }
            Self::Sphere { radius, .. } | Self::Capsule { radius, .. } if *radius < 0.0 => {
                Err(VolumeFault::NegativeRadius)
            }
            Self::Convex { planes } => validate_planes(planes),
            _ => Ok(()),
        }
    }

    /// The distance from `point` to the border, in world units: negative inside, zero on it, positive outside.
    ///
    /// Outside a convex shape it is a lower bound of the distance: the largest distance to one of its planes, exact
    /// where the nearest point lies within a face. Infinite for a shape that [`validate`](Self::validate) refuses, and
    /// for a point that is not finite: nothing is ever inside of those.
    #[must_use]
    pub fn signed_distance(&self, point: Vec3) -> f32 {
        if !point.is_finite() {
            return f32::INFINITY;
        }
        let distance = match self {
            Self::Box { min, max } => box_distance(*min, *max, point),
            Self::Sphere { center, radius } if *radius >= 0.0 => point.distance(*center) - radius,
            Self::Capsule { a, b, radius } if *radius >= 0.0 => line_distance(*a, *b, point) - radius,
            Self::Sphere { .. } | Self::Capsule { .. } => f32::INFINITY,
            Self::Convex { planes } => planes_distance(planes, point),
        };
        if distance.is_finite() { distance } else { f32::INFINITY }
    }

    /// Whether `point` is inside or on the border.
    #[must_use]
    pub fn contains(&self, point: Vec3) -> bool {
        self.signed_distance(point) <= 0.0
    }

    /// The distance from `point` to the middle, in world units. The middle of a convex shape is where its planes are
    /// equally far (in the sense of least squares); a direction in which a shape has no border does not count.
    #[must_use]
    pub fn center_distance(&self, point: Vec3) -> f32 {
        let distance = self.center_offset(point).length();
        if distance.is_finite() { distance } else { f32::MAX }
    }

    /// From `point` to the middle. It may be no number where the shape is none.
    pub(crate) fn center_offset(&self, point: Vec3) -> Vec3 {
        match self {
            Self::Box { min, max } => box_middle(*min, *max, point) - point,
            Self::Sphere { center, .. } => *center - point,
            Self::Capsule { a, b, .. } => *a * 0.5 + *b * 0.5 - point,
            Self::Convex { planes } => planes_center_offset(planes, point),
        }
    }

    /// A box that has ends along these axes only.
    pub(crate) fn box_along(axes: BVec3, (min, max): (Vec3, Vec3)) -> Self {
        Self::Box {
            min: Vec3::select(axes, min, Vec3::NEG_INFINITY),
            max: Vec3::select(axes, max, Vec3::INFINITY),
        }
    }

    /// The axes along which it is a box without an end, on either side.
    pub(crate) fn endless(&self) -> BVec3 {
        match self {
            Self::Box { min, max } => min.cmpeq(Vec3::NEG_INFINITY) | max.cmpeq(Vec3::INFINITY),
            _ => BVec3::FALSE,
        }
    }

    /// The radius of a ball around its middle that it is in, seen along the axes that are [endless](Self::endless); infinite for planes, of which that is
    /// not known without some work.
    pub(crate) fn bounding_radius(&self) -> f32 {
        match self {
            Self::Box { min, max } => {
                let halves = *max * 0.5 - *min * 0.5;
                Vec3::select(self.endless(), Vec3::ZERO, halves).length()
            }
            Self::Sphere { radius, .. } => *radius,
            Self::Capsule { a, b, radius } => (*b * 0.5 - *a * 0.5).length() + radius,
            Self::Convex { .. } => f32::INFINITY,
        }
    }

    /// The smallest box around it. It is infinite where there is no end, and holds nothing for a shape that
    /// [`validate`](Self::validate) refuses. Of a convex shape of more than sixteen planes only as many count, those that are most across an axis.
    #[must_use]
    pub fn bounds(&self) -> (Vec3, Vec3) {
        let (min, max, _) = self.bounds_around(0.0);
        (min, max)
    }

    /// A box around all points whose [distance](Self::signed_distance) is no more than `reach`, and how far it grows at most when that
    /// grows by one.
    pub(crate) fn bounds_around(&self, reach: f32) -> (Vec3, Vec3, f32) {
        let (min, max) = match self {
            Self::Box { min, max } => (*min, *max),
            Self::Sphere { center, radius } => (*center - *radius, *center + *radius),
            Self::Capsule { a, b, radius } => (a.min(*b) - *radius, a.max(*b) + *radius),
            Self::Convex { planes } => {
                let ends = Ends::of(planes);
                let (min, max) = ends.bounds(reach);
                return (min, max, ends.growth());
            }
        };
        (min - reach, max + reach, 1.0)
    }

    /// The largest of its coordinates and sizes, without their signs: the rounding of distances is a part of it. Where it has no end there is no such number.
    pub(crate) fn magnitude(&self) -> f32 {
        let most = |point: Vec3| {
            Vec3::select(point.is_finite_mask(), point, Vec3::ZERO)
                .abs()
                .max_element()
        };
        match self {
            Self::Box { min, max } => most(*min).max(most(*max)),
            Self::Sphere { center, radius } => most(*center) + radius.abs(),
            Self::Capsule { a, b, radius } => most(*a).max(most(*b)) + radius.abs(),
            Self::Convex { planes } => planes
                .iter()
                .map(|(normal, d)| (d / normal.length()).abs())
                .fold(0.0, f32::max),
        }
    }

    /// The margin of a volume whose author named none: 10 % of its largest extent, or ten units for a shape whose size is not known: a convex one, or a box
    /// that has two ends along no axis.
    #[must_use]
    pub fn default_unload_margin(&self) -> f32 {
        self.scaled_margin(Vec3::ONE, 1.0)
    }

    /// The same where lengths along its axes grow by these factors, and all others by no more than `most`.
    pub(super) fn scaled_margin(&self, along: Vec3, most: f32) -> f32 {
        self.extent(along, most)
            .map_or(UNSIZED_MARGIN, |extent| (extent * DEFAULT_MARGIN).max(0.0))
    }

    /// Its largest extent along one of its axes, as far as that is known, where they grow as for [`scaled_margin`](Self::scaled_margin).
    fn extent(&self, along: Vec3, most: f32) -> Option<f32> {
        let extent = match self {
            Self::Box { min, max } => {
                let extents = (*max - *min).to_array().into_iter().zip(along.to_array());
                let ends = extents.filter(|(extent, _)| extent.is_finite());
                ends.map(|(extent, along)| extent * along).reduce(f32::max)?
            }
            Self::Sphere { radius, .. } => radius * 2.0 * most,
            Self::Capsule { a, b, radius } => ((*a - *b).abs().max_element() + radius * 2.0) * most,
            Self::Convex { .. } => return None,
        };
        extent.is_finite().then_some(extent)
    }
}

fn validate_planes(planes: &[(Vec3, f32)]) -> Result<(), VolumeFault> {
    if planes.is_empty() {
        return Err(VolumeFault::NoPlanes);
    }
    for (index, (normal, d)) in planes.iter().enumerate() {
        if !(normal.length_squared().is_finite() && d.is_finite()) {
            return Err(VolumeFault::NotFinite("convex shape"));
        }
        if !normal.is_normalized() && normal.try_normalize().is_none() {
            return Err(VolumeFault::NoNormal(index));
        }
    }
    Ok(())
}

/// The planes that a box is behind, as those of a convex shape.
pub(super) fn box_planes(min: Vec3, max: Vec3) -> impl Iterator<Item = (Vec3, f32)> {
    (0..3).flat_map(move |axis| [(Vec3::AXES[axis], max[axis]), (-Vec3::AXES[axis], -min[axis])])
}

/// Whether a box has an end, and is no further away than that: a number between two infinite ones, if need be.
pub(super) fn is_somewhere(min: Vec3, max: Vec3) -> bool {
    let is_between = min.cmplt(Vec3::INFINITY) & max.cmpgt(Vec3::NEG_INFINITY) & min.cmple(max);
    is_between.all() && (min.is_finite_mask() | max.is_finite_mask()).any()
}

/// The middle of a box; what `point` says where it has none.
fn box_middle(min: Vec3, max: Vec3, point: Vec3) -> Vec3 {
    // Halves first: the sum of two large corners could overflow.
    let middle = min * 0.5 + max * 0.5;
    Vec3::select(middle.is_finite_mask(), middle, point)
}

fn box_distance(min: Vec3, max: Vec3, point: Vec3) -> f32 {
    // Minima and maxima of floats drop a NaN, so it is looked for here.
    if !is_somewhere(min, max) {
        return f32::INFINITY;
    }
    let beyond = (min - point).max(point - max);
    beyond.max(Vec3::ZERO).length() + beyond.max_element().min(0.0)
}

/// The distance to the line from `a` to `b`, ends included.
fn line_distance(a: Vec3, b: Vec3, point: Vec3) -> f32 {
    let (line, to_point) = (b - a, point - a);
    let length_squared = line.length_squared();
    let along = if length_squared > 0.0 {
        (to_point.dot(line) / length_squared).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (to_point - line * along).length()
}

fn planes_distance(planes: &[(Vec3, f32)], point: Vec3) -> f32 {
    let mut distance = f32::NEG_INFINITY;
    for (normal, d) in planes {
        let to_plane = (normal.dot(point) - d) / normal.length();
        if !to_plane.is_finite() {
            return f32::INFINITY;
        }
        distance = distance.max(to_plane);
    }
    distance
}

/// From `point` to the middle of the planes: the least-squares solution of `dot(normal, middle) = d` that is nearest
/// to `point`.
fn planes_center_offset(planes: &[(Vec3, f32)], point: Vec3) -> Vec3 {
    /// Small beside the eigenvalues of real shapes (one or more); makes an unbounded one solvable.
    const REGULAR: f32 = 1e-4;
    let mut matrix = Mat3::from_diagonal(Vec3::splat(REGULAR));
    let mut right = Vec3::ZERO;
    for (normal, d) in planes {
        let length = normal.length();
        let unit = *normal / length;
        matrix += Mat3::from_cols(unit * unit.x, unit * unit.y, unit * unit.z);
        right += unit * (d / length - unit.dot(point));
    }
    matrix.inverse() * right
}
