//! The points at which a source asks: where it is, and where it will be. See [`Probe`].

use core::f32::consts::FRAC_PI_2;

use bevy_math::{BVec3, Vec3};

use super::{SourceInput, contain::ROUNDING};
use crate::{source::SourceShape, target::LevelTarget, volume::VolumeShape};

/// The parts of the way ahead at whose ends a source is predicted.
const AHEAD: [f32; 3] = [1.0 / 3.0, 2.0 / 3.0, 1.0];
/// The points of a source: where it is, and where it will be.
pub(super) const POINTS: usize = 1 + AHEAD.len();
/// Who comes no further than this, in world units, is not looked for ahead.
const LEAST_AHEAD: f32 = 1.0;
/// How much further than its angle, in radians, a source still sees what it is in already: who looks about a little has no levels
/// come and go.
const ANGLE_MARGIN: f32 = 0.17;

/// A point at which a source asks.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Probe {
    pub at: Vec3,
    /// It is in what is no further away than this.
    pub radius: f32,
    /// A factor on the ranges of volumes.
    pub reach: f32,
    /// It is in what lies in this direction only: a unit vector and an angle.
    pub sector: Option<(Vec3, f32)>,
    pub asks: Asks,
}

/// What a probe may ask for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Asks {
    /// That levels are shown, not only loaded.
    pub shows: bool,
    /// That the frame waits for them.
    pub blocks: bool,
}

impl SourceInput {
    /// Whether it asks for anything, and all its numbers are such.
    pub(crate) fn is_usable(&self) -> bool {
        self.target != LevelTarget::Unloaded && self.is_finite()
    }

    /// Whether all its numbers are some.
    pub(crate) fn is_finite(&self) -> bool {
        self.position.is_finite()
            && self.velocity.is_finite()
            && self.look.is_none_or(Vec3::is_finite)
            && self.has_finite_settings()
    }

    /// Whether all that somebody has set of it are numbers. As they were given: what is no number is not taken for zero.
    pub(crate) fn has_finite_settings(&self) -> bool {
        let (radius, angle) = match self.shape {
            SourceShape::Point => (0.0, 0.0),
            SourceShape::Sphere { radius } => (radius, 0.0),
            SourceShape::Sector { radius, half_angle } => (radius, half_angle),
        };
        let numbers = [self.priority, self.ahead, self.look_weight, self.reach, radius, angle];
        numbers.iter().all(|number| number.is_finite())
    }

    /// Where it asks now.
    pub(super) fn probe(&self) -> Probe {
        let sector = match (self.shape, self.look) {
            (SourceShape::Sector { half_angle, .. }, Some(look)) => Some((look, half_angle.max(0.0))),
            _ => None,
        };
        let shows = self.target == LevelTarget::Visible;
        Probe {
            at: self.position,
            radius: self.shape.radius(),
            reach: self.reach.max(0.0),
            sector,
            asks: Asks {
                shows,
                blocks: shows && self.is_present && self.may_block,
            },
        }
    }

    /// The same, somewhere else.
    pub(super) fn probe_at(&self, at: Vec3) -> Probe {
        Probe { at, ..self.probe() }
    }

    /// Whether it also asks where it will be.
    pub(crate) fn looks_ahead(&self) -> bool {
        self.ahead > 0.0 && (self.velocity * self.ahead).length() >= LEAST_AHEAD
    }

    /// One of its [points](POINTS), with the time until then in seconds: the first is where it is, and where it will be it asks only if it looks
    /// ahead, and that is somewhere.
    pub(super) fn point(&self, place: usize) -> Option<(f32, Probe)> {
        let now = self.probe();
        let Some(part) = place.checked_sub(1).and_then(|place| AHEAD.get(place)) else {
            return (place == 0).then_some((0.0, now));
        };
        if !self.looks_ahead() {
            return None;
        }
        let asks = Asks {
            blocks: false,
            ..now.asks
        };
        let at = now.at + self.velocity * self.ahead * part;
        at.is_finite().then_some((self.ahead * part, Probe { at, asks, ..now }))
    }

    /// Where somebody is expected: at a place that is got ready. Who is there already sees for itself where it goes.
    pub(crate) fn expected(&self) -> Option<Vec3> {
        (!self.is_present && self.is_usable()).then_some(self.position)
    }
}

impl Probe {
    /// The distance to a volume that is to be reached from `range` away: it is in it at zero and below.
    pub fn distance(&self, shape: &VolumeShape, range: f32) -> f32 {
        shape.signed_distance(self.at) - (self.radius + range * self.reach)
    }

    /// The largest of its numbers: how coarse distances from it are.
    pub fn size(&self) -> f32 {
        self.at.abs().max_element() + self.radius
    }

    /// How far from it the boxes of volumes may be that it may be near: those boxes are for a reach of one. It holds for volumes that are to be
    /// reached from no more than `farthest` away, where that grows with the reach, and whose boxes then grow by no more than `growth` times as much.
    pub fn around(&self, farthest: f32, growth: f32) -> f32 {
        match self.radius + (self.reach - 1.0).max(0.0) * farthest {
            0.0 => 0.0,
            around => (around * (1.0 + ROUNDING) + self.size() * ROUNDING) * growth.max(1.0),
        }
    }

    /// How far outside it may be of what it is in. The margin of a range grows with the range.
    pub fn margin(&self, margin: f32, range: f32) -> f32 {
        if range > 0.0 { margin * self.reach } else { margin }
    }

    /// Whether it is inside of a volume, and whether it is so or within its margin.
    pub fn test(&self, shape: &VolumeShape, range: f32, margin: f32) -> (bool, bool) {
        let distance = self.distance(shape, range);
        let is_inside = distance <= 0.0;
        let is_near = is_inside || distance <= self.margin(margin, range);
        if !is_near || self.sector.is_none() {
            return (is_inside, is_near);
        }
        (is_inside && self.looks_at(shape, 0.0), self.sees(shape))
    }

    /// Whether it looks about where a shape is.
    pub fn sees(&self, shape: &VolumeShape) -> bool {
        self.looks_at(shape, ANGLE_MARGIN)
    }

    /// Whether any of a shape is in the sector, were that wider by an angle to each side, as it is seen along the axis of what has no end.
    fn looks_at(&self, shape: &VolumeShape, wider: f32) -> bool {
        let sector = self
            .sector
            .and_then(|(look, half_angle)| seen_along(look, half_angle, shape.endless()));
        let Some((look, half_angle)) = sector else {
            return true;
        };
        let (offset, size) = (shape.center_offset(self.at), shape.bounding_radius());
        let distance = offset.length();
        // Written so that what is no number is seen.
        if !(distance > size && distance.is_finite()) {
            return true;
        }
        let angle = (look.dot(offset) / distance).clamp(-1.0, 1.0).acos();
        angle - (size / distance).asin() <= half_angle + wider
    }
}

/// A sector as it is seen along an axis: a unit vector and an angle across the axis, within which some of what has no end along it is in the sector. None
/// where that is all around, or is taken to be, as of what has no end along two axes.
///
/// With a cone of half angle α around a direction that is θ out of the plane across the axis, the outermost of its rays are asin(sin α ∕ cos θ) to each side.
pub(super) fn seen_along(look: Vec3, half_angle: f32, endless: BVec3) -> Option<(Vec3, f32)> {
    if !endless.any() {
        return Some((look, half_angle));
    }
    let across = Vec3::select(endless, Vec3::ZERO, look);
    let (length, sin) = (across.length(), half_angle.sin());
    let is_plain = endless.bitmask().count_ones() == 1 && half_angle < FRAC_PI_2 && sin < length;
    is_plain.then(|| (across / length, (sin / length).asin()))
}

#[cfg(test)]
mod tests {
    use core::f32::consts::PI;

    use super::*;
    use crate::random::Random;

    /// Against rays: those of a cone, each as it is seen along an axis.
    #[test]
    fn a_sector_covers_as_much_as_its_rays() {
        let mut random = Random(0x5EC7);
        let (mut all_around, mut less) = (0, 0);
        for _ in 0..300 {
            let along = random.below(3);
            let endless = BVec3::from_array([0, 1, 2].map(|axis| axis == along));
            let across = |vector: Vec3| Vec3::select(endless, Vec3::ZERO, vector);
            let look = random.point(1.0).normalize_or(Vec3::X);
            let half_angle = random.unit() * 2.0;
            let (right, up) = look.any_orthonormal_pair();
            let seen = seen_along(look, half_angle, endless);
            let flat = across(look).normalize_or(Vec3::X);
            let mut widest = 0.0_f32;
            for step in 0..4_000 {
                let (sin, cos) = (step as f32 * core::f32::consts::TAU / 4_000.0).sin_cos();
                let ray = look * half_angle.cos() + (right * cos + up * sin) * half_angle.sin();
                widest = widest.max(across(ray).angle_between(flat));
            }
            match seen {
                Some((direction, angle)) => {
                    less += 1;
                    assert!(direction.distance(flat) < 1e-3, "{direction} {flat}");
                    assert!(
                        (angle - widest).abs() < 0.02,
                        "{look} {half_angle}: {angle} and {widest}"
                    );
                }
                // Whether the outermost ray passes the axis on this side or on that, rays cannot tell where it almost meets it.
                None if (half_angle.sin() - across(look).length()).abs() < 0.01 => {}
                None => {
                    all_around += 1;
                    assert!(widest > PI - 0.1, "{look} {half_angle}: {widest}");
                }
            }
        }
        assert!(all_around > 50 && less > 50, "{all_around} {less}");
    }

    /// Against points of boxes without an end: whoever looks at any of them sees the box, and whoever has turned away by more than a little does not.
    #[test]
    fn who_turns_away_from_what_has_no_end_sees_it_no_more() {
        let mut random = Random(0x70_12);
        let (mut seen, mut lost) = (0, 0);
        for _ in 0..400 {
            let along = random.below(3);
            let axes = BVec3::from_array([0, 1, 2].map(|axis| axis != along));
            let (min, size) = (random.point(400.0), random.unit() * 20.0);
            let shape = VolumeShape::box_along(axes, (min, min + size));
            let (look, half_angle) = (random.point(1.0).normalize_or(Vec3::X), random.unit() * 1.5);
            let probe = |look| Probe {
                at: Vec3::ZERO,
                radius: 1e6,
                reach: 1.0,
                sector: Some((look, half_angle)),
                asks: Asks {
                    shows: true,
                    blocks: false,
                },
            };
            let points = (0..200).map(|_| {
                let far = Vec3::select(axes, Vec3::ZERO, Vec3::splat((random.unit() - 0.5) * 2e4));
                min + Vec3::splat(random.unit()) * Vec3::select(axes, Vec3::splat(size), Vec3::ZERO) + far
            });
            let is_met = |point: Vec3| look.angle_between(point) < half_angle;
            if points.into_iter().any(is_met) {
                seen += 1;
                assert!(
                    probe(look).looks_at(&shape, 0.0),
                    "{shape:?} from {look} and {half_angle}"
                );
            }
            // The other way round, as it is seen along the axis.
            let Some((flat, half)) = seen_along(look, half_angle, !axes) else {
                continue;
            };
            let offset = shape.center_offset(Vec3::ZERO);
            let away = PI - flat.angle_between(offset);
            let around = shape.bounding_radius() / offset.length();
            if around < 1.0 && away > half + ANGLE_MARGIN + around.asin() + 0.01 {
                lost += 1;
                let across = Vec3::select(axes, -look, look);
                assert!(!probe(across).sees(&shape), "{shape:?} from {across} and {half_angle}");
            }
        }
        assert!(seen > 50 && lost > 50, "{seen} {lost}");
    }
}
