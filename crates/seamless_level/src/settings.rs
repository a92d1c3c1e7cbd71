//! The caps of this crate, and how it tries again. See [`LevelSettings`].

use bevy_ecs::{reflect::ReflectResource, resource::Resource};
use bevy_math::BVec3;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::retry::RetryPolicy;

/// The usual [`LevelSettings::arrival_axes`].
pub(crate) const ARRIVAL_AXES: BVec3 = BVec3::new(true, false, true);

/// Caps on levels, and what becomes of those that fail; change them at any time, they are read every frame.
#[derive(Resource, Reflect, Copy, Clone, Debug, PartialEq)]
#[reflect(Resource, Default, Clone, PartialEq)]
pub struct LevelSettings {
    /// How many levels of one world may be wanted at a time, always-loaded ones included. Of more, the least urgent
    /// ones stay away; [`LevelTable::dropped`](crate::LevelTable::dropped) counts them. Default 4096.
    pub max_levels: usize,
    /// How many bytes the packages of the levels of one world that are wanted may have in their files, shared packages not counted. Of more, the
    /// least urgent levels stay away; a small level may still find a place where a larger, more urgent one does not. A single level that is
    /// larger never comes. Default: no cap.
    ///
    /// With a [memory ceiling](seamless_asset::StreamingSettings::memory_ceiling) there are no more than
    /// [fit below it](seamless_asset::StreamingStats::bytes_that_fit) either, and fewer as long as the most urgent load
    /// [finds no memory](seamless_asset::StreamingStats::memory_short): when memory is short, the least urgent levels leave, and come back
    /// when there is room. The most urgent one comes all the same, beside those that are always loaded, that code asks to be shown by name, or that somebody may not be without where it is. Several
    /// worlds have equal parts of that, and what one does not need goes to the others.
    pub max_bytes: u64,
    /// How many requests of the app there may be at a time: standing ones, tickets, and those of
    /// [`LevelWanted`](crate::LevelWanted). And how many [`Arrival`](crate::Arrival)s there may be. Default 65 536.
    pub max_requests: usize,
    /// Whether sources of [players of other machines](crate::StreamingSource::remote) count: true on a server, which sees the world from
    /// all its players. Default false.
    pub follow_remote: bool,
    /// When levels that failed are tried again, and manifests of worlds that could not be read.
    pub retry: RetryPolicy,
    /// The axes along which somebody has to be within a level's bounds to be in it: for what is [late](crate::LateLevels), for who is about to
    /// [arrive](seamless_asset::StreamingUrgency), and for [`LevelStates::at`](crate::LevelStates::at). Default: all but `y`, so that who is above a level, or below, is in it,
    /// too. In a world of sprites that is for `z`. A world with [`DistanceStreaming::axes`](crate::DistanceStreaming::axes) that leave any out goes by those instead. Without any axis,
    /// nobody is in any level.
    pub arrival_axes: BVec3,
    /// How many levels may be [added](crate::Levels::add_instance) to worlds at run time, at a time. Default 65 536.
    pub max_instances: usize,
}

impl Default for LevelSettings {
    fn default() -> Self {
        Self {
            max_levels: 4096,
            max_bytes: u64::MAX,
            max_requests: 1 << 16,
            follow_remote: false,
            retry: RetryPolicy::default(),
            arrival_axes: ARRIVAL_AXES,
            max_instances: 1 << 16,
        }
    }
}
