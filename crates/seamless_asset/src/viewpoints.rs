//! Where somebody is expected. See [`Viewpoints`].

use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use bevy_reflect::prelude::*;

/// The places from which the world is going to be seen, told each frame by whoever decides what is wanted, before
/// [`StreamingSystems::Reveal`](crate::StreamingSystems): what cameras will see from there can be got ready as well. Cameras themselves are
/// not among them. Nobody has to tell: the default is that nobody is expected.
///
/// `seamless_level` tells of places that are got ready.
#[derive(Resource, Reflect, Debug, Clone, Default, PartialEq)]
#[reflect(Resource, Debug, Clone, Default, PartialEq)]
pub struct Viewpoints(pub Vec<Viewpoint>);

/// A place from which the world is going to be seen.
#[derive(Reflect, Debug, Clone, Copy, PartialEq)]
#[reflect(Debug, Clone, PartialEq)]
pub struct Viewpoint {
    /// Where it is, in world space.
    pub position: Vec3,
    /// How much it counts beside others; a usual one has 1.
    pub weight: f32,
}
