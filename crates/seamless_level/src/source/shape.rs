//! How far around itself a source sees. See [`SourceShape`].

use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// How far around itself a source sees.
#[derive(Reflect, Copy, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Clone, PartialEq)]
pub enum SourceShape {
    /// It is in a volume when its position is.
    #[default]
    Point,
    /// It is in every volume that a ball around it touches.
    Sphere {
        /// The ball's radius, in world units; less than zero is zero.
        radius: f32,
    },
    /// Of the volumes that a ball around it touches, it is in those that lie where it looks, in part at least: a spyglass. A convex volume
    /// counts as lying everywhere, and so does a box without an end along two axes. One without an end along one axis, as a level is by
    /// [`DistanceStreaming::axes`](crate::DistanceStreaming::axes) on a map, lies where it is seen to be along that axis: all around, for who looks so steeply that some of
    /// the sector goes along it.
    Sector {
        /// The ball's radius, in world units; less than zero is zero.
        radius: f32,
        /// The angle between its forward direction and the border of what it sees, in radians. One of π or more sees all around.
        half_angle: f32,
    },
}

impl SourceShape {
    /// The radius of the ball; zero for a point.
    #[must_use]
    pub fn radius(&self) -> f32 {
        match self {
            Self::Point => 0.0,
            Self::Sphere { radius } | Self::Sector { radius, .. } => radius.max(0.0),
        }
    }
}
