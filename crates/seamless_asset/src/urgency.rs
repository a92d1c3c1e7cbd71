//! How soon something is needed that is not there.

use bevy_ecs::prelude::*;
use bevy_reflect::prelude::*;

/// How soon the player arrives at something that is wanted and not there, told each frame by whoever decides what is wanted, before
/// [`StreamingSystems::Reveal`](crate::StreamingSystems): the frame's budget grows for it. Nobody has to tell: the default is no hurry.
#[derive(Resource, Reflect, Debug, Clone, Copy, Default, PartialEq)]
#[reflect(Resource, Default)]
pub struct StreamingUrgency {
    /// Seconds until the soonest such arrival; 0 if it is late already. None: nobody arrives at anything that is missing.
    pub arrival: Option<f32>,
}
