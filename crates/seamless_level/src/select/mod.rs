//! Which levels are wanted, and how much: a pure function of sources, volumes, requests, time and what was wanted before.
//!
//! No ECS, no clocks, no names: a [`Selector`] is updated each frame by the systems of this crate, and by anything else
//! that wants to know, a tool that checks a path through the world for instance. [`select`] says it for one moment.
//!
//! # The rule
//!
//! A volume asks for its levels while a source is inside, from then on while one is within its margin, and for its delay
//! after that. What volumes and the app ask is counted ([`RequestSet`](crate::RequestSet)): a level comes as far as the
//! highest request says, and not at all under a ban. When more are wanted than the limits allow, the least urgent ones
//! are left out; one that is wanted already counts as a little more urgent than a newcomer, so that two levels do not take
//! turns at the cap.
//!
//! Urgency, most first: always loaded, requested by the app, then the largest over sources and volumes of
//! `priority of the source × priority of the volume / (1 + distance to the volume's middle)`, of which a volume that only
//! loads has half and one that lingers nothing; among equals, the lower index.
//!
//! # What it costs
//!
//! Only what changes is looked at. Sources at rest cost one comparison each; a moving one is tested against the volumes
//! of a few cells, and only when it has gone as far as the nearest border. Nothing is allocated once all lists are large enough.

mod contain;
mod dense;
mod grid;
mod linger;
mod selector;
#[cfg(test)]
pub(crate) mod tests;

pub use selector::Selector;

use bevy_math::Vec3;

use crate::{
    target::LevelTarget,
    volume::{DEFAULT_PRIORITY, VolumeMode, VolumeShape},
};

/// The priority of a level that is always loaded.
pub const ALWAYS_PRIORITY: f32 = 1e8;
/// The priority of a level that was requested by the app.
pub const EXPLICIT_PRIORITY: f32 = 1e7;
/// The most that a volume can give; a source's priority times a volume's is cut to it.
pub const MAX_SOURCE_PRIORITY: f32 = 1e6;

/// A streaming source, as a [`Selector`] sees it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SourceInput {
    /// Where it is, in world space; a source that is not finite is left out.
    pub position: Vec3,
    /// How much it counts; see [`StreamingSource::priority`](crate::StreamingSource).
    pub priority: f32,
}

/// A streaming volume, as a [`Selector`] sees it: names are resolved to indices. One that is disabled is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeInput {
    /// The region.
    pub shape: VolumeShape,
    /// How far outside a source may be before the delay begins, in world units.
    pub unload_margin: f32,
    /// For how long it asks after that, in seconds.
    pub unload_delay: f32,
    /// What it asks of its levels.
    pub mode: VolumeMode,
    /// How much it counts; see [`StreamingVolume::priority`](crate::StreamingVolume).
    pub priority: f32,
    /// The indices of the levels it asks for; one that is too large is ignored.
    pub levels: Box<[u32]>,
}

impl Default for VolumeInput {
    /// A ball of radius one that asks for nothing, without margin and delay.
    fn default() -> Self {
        Self {
            shape: VolumeShape::default(),
            unload_margin: 0.0,
            unload_delay: 0.0,
            mode: VolumeMode::default(),
            priority: DEFAULT_PRIORITY,
            levels: Box::default(),
        }
    }
}

/// A level, as a [`Selector`] sees it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelInput {
    /// Whether it is wanted wherever the sources are.
    pub always_loaded: bool,
}

/// What there is of a level; who carries plans out tells it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// Nothing, or it is on its way out.
    #[default]
    Away,
    /// On its way.
    Coming,
    /// It is where it is to be.
    There,
    /// Its load failed: it takes no place under the cap, and stays so while it is wanted.
    Failed,
}

/// The caps of a selection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SelectionLimits {
    /// How many levels may be wanted at a time; the least urgent ones beyond are left out and counted.
    pub max_levels: usize,
}

/// A volume of a [`Selector`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct VolumeKey(u32);

/// A request of the app in a [`Selector`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey(u32);

/// What a [`Selector`] decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The levels that are to come further than before; most urgent first.
    pub rise: Vec<(u32, LevelTarget)>,
    /// The levels that are not to be there any more, or not as far as before; in the order of their indices.
    pub fall: Vec<(u32, LevelTarget)>,
    /// The new priorities of levels on their way where they changed by more than a tenth; larger is more urgent.
    pub priorities: Vec<(u32, f32)>,
    /// The levels that nobody may be without and that are not there: a source is inside of a volume that is to
    /// [block](VolumeMode::BlockUntilLoaded). Told in each plan for as long as it is so, each level once.
    pub block: Vec<u32>,
    /// How many levels are wanted but left out, for there is a cap.
    pub dropped: usize,
}

/// The plan for one moment, from nothing: which levels a world has at first, seen from these sources.
#[must_use]
pub fn select(
    levels: &[LevelInput],
    volumes: &[VolumeInput],
    sources: &[SourceInput],
    limits: &SelectionLimits,
) -> Plan {
    let mut selector = Selector::new(levels);
    for volume in volumes {
        selector.add_volume(volume.clone());
    }
    selector.update(sources, 0.0, limits).clone()
}
