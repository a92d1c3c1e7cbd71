//! When somebody who goes straight on comes into a shape: pure geometry.

use bevy_math::Vec3;

use super::{VolumeShape, shape::box_planes};

impl VolumeShape {
    /// After how many seconds a point that moves like this is inside; zero if it is. None if it never is, or the shape is one that
    /// [`validate`](Self::validate) refuses.
    #[must_use]
    pub fn entry_time(&self, point: Vec3, velocity: Vec3) -> Option<f32> {
        let distance = self.signed_distance(point);
        if distance <= 0.0 {
            return Some(0.0);
        }
        let time = match self {
            Self::Box { min, max } => entry_of_planes(box_planes(*min, *max), point, velocity),
            Self::Convex { planes } => entry_of_planes(planes.iter().copied(), point, velocity),
            Self::Sphere { center, radius } => entry_of_ball(point - *center, velocity, *radius),
            Self::Capsule { a, b, radius } => {
                let balls = [a, b].map(|end| entry_of_ball(point - *end, velocity, *radius));
                let middle = entry_of_tube(point - *a, velocity, *b - *a, *radius);
                balls.into_iter().chain([middle]).flatten().reduce(f32::min)
            }
        };
        // A shape that is none is nowhere, whatever its numbers say.
        time.filter(|time| time.is_finite() && distance.is_finite())
    }
}

/// Behind all planes is who has crossed the last of those ahead, before the first of those behind.
fn entry_of_planes(planes: impl Iterator<Item = (Vec3, f32)>, point: Vec3, velocity: Vec3) -> Option<f32> {
    let (mut first, mut last) = (0.0_f32, f32::INFINITY);
    for (normal, d) in planes {
        let (to_go, speed) = (d - normal.dot(point), normal.dot(velocity));
        if speed < 0.0 {
            first = first.max(to_go / speed);
        } else if speed > 0.0 {
            last = last.min(to_go / speed);
        } else if to_go < 0.0 {
            return None;
        }
    }
    (first <= last).then_some(first)
}

/// `from` is seen from the middle of the ball, and outside of it.
fn entry_of_ball(from: Vec3, velocity: Vec3, radius: f32) -> Option<f32> {
    let (square, along) = (velocity.length_squared(), from.dot(velocity));
    // Where it is nearest.
    let passing = from - velocity * (along / square);
    let half = (radius * radius - passing.length_squared()) / square;
    (along < 0.0 && half >= 0.0).then(|| (-along / square - half.sqrt()).max(0.0))
}

/// Into the round side of a tube from the origin along `line`; `from` is outside of it.
fn entry_of_tube(from: Vec3, velocity: Vec3, line: Vec3, radius: f32) -> Option<f32> {
    let across = |vector: Vec3| vector - line * (vector.dot(line) / line.length_squared());
    let time = entry_of_ball(across(from), across(velocity), radius)?;
    let along = (from + velocity * time).dot(line) / line.length_squared();
    (0.0..=1.0).contains(&along).then_some(time)
}
