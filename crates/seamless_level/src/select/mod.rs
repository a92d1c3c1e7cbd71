//! Which levels are wanted, and how much: a pure function of sources, volumes, requests, time and what was wanted before.
//!
//! No ECS, no clocks, no names: a [`Selector`] is updated each frame by the systems of this crate, and by anything else
//! that wants to know, a tool that checks a path through the world for instance. [`select`] says it for one moment.
//!
//! # The rule
//!
//! A volume asks for its levels while a source is inside, from then on while one is within its margin or on its way into it, and for its
//! delay after that. What volumes and the app ask is counted ([`RequestSet`](crate::RequestSet)): a level comes as far as the
//! highest request says, and not at all under a ban. When more are wanted than the limits allow, the least urgent ones
//! are left out; one that is wanted already counts as a little more urgent than a newcomer, so that two levels do not take
//! turns at the cap.
//!
//! A source asks where it is, at three points of its way ahead ([`SourceInput::ahead`]), and for whatever that way leads into, however small
//! it is and however far apart frames and points are; and for no more than its target. The way is a line: how far the source sees around
//! itself, and the ranges of volumes, count at the points. Whom it asks to wait is only where it is.
//!
//! Urgency, most first: always loaded, what somebody is in that may not be without ([`VolumeMode::BlockUntilLoaded`](crate::VolumeMode), which no cap
//! leaves out), requested by the app to be shown, then the largest over sources, points at which they ask, and volumes of
//! `priority of the source × priority of the volume / ((1 + distance) × (1 + seconds until the source is there))`; the point at which its way
//! enters the volume is one of these. The distance is that to the volume, zero inside, and a tenth of that to its middle; it counts as longer where the source does not look. A volume or a source that only loads has half of it, and a
//! volume that lingers nothing; among equals, the lower index is first. At a cap, a source that is not
//! [there](SourceInput::is_present) counts less than any that is.
//!
//! # What it costs
//!
//! Only what changes is looked at. Sources at rest cost one comparison each; a moving one is tested against the volumes
//! of a few cells, and only when it has gone as far as the nearest border; and against those of the cells along its way. A volume that moves is tested against
//! each source by itself, unless more than a few do. Nothing is allocated once all lists are large enough.

mod contain;
mod dense;
mod grid;
mod largest;
mod linger;
mod probe;
mod selector;
#[cfg(test)]
pub(crate) mod tests;

pub use linger::VolumeState;
pub use selector::Selector;

use bevy_math::Vec3;

use crate::{
    source::{SourceShape, StreamingSource},
    target::LevelTarget,
    volume::{DEFAULT_PRIORITY, VolumeMode, VolumeShape},
};

/// The priority of a level that is always loaded.
pub const ALWAYS_PRIORITY: f32 = 1e8;
/// The priority of a level that somebody may not be without where it is: see [`VolumeMode::BlockUntilLoaded`].
pub const BLOCKING_PRIORITY: f32 = 2e7;
/// The priority of a level that the app has asked to be loaded and not shown: as of one whose volume is about a hundred units away.
pub const PRELOAD_PRIORITY: f32 = 1e-2;
/// The priority of a level that was requested by the app.
pub const EXPLICIT_PRIORITY: f32 = 1e7;
/// The most that a volume can give; a source's priority times a volume's is cut to it.
pub const MAX_SOURCE_PRIORITY: f32 = 1e6;

/// A streaming source, as a [`Selector`] sees it; see [`StreamingSource`]. One of whose numbers any is infinite or none is left out.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SourceInput {
    /// By what [`Selector::asked_by`] knows it.
    pub key: u64,
    /// Where it is, in world space.
    pub position: Vec3,
    /// How it moves, in world units a second.
    pub velocity: Vec3,
    /// Where it looks, a unit vector, if that matters.
    pub look: Option<Vec3>,
    /// How much it matters.
    pub look_weight: f32,
    /// For how many seconds it looks ahead; less than zero is zero.
    pub ahead: f32,
    /// How far around itself it sees.
    pub shape: SourceShape,
    /// A factor on [`VolumeInput::range`]; less than zero is zero.
    pub reach: f32,
    /// How much it counts.
    pub priority: f32,
    /// How far it lets levels come at most.
    pub target: LevelTarget,
    /// Whether somebody is there: else no frame waits for what it asks for, nobody [arrives](Plan::arrival) by it, and at a cap it takes no
    /// place of what others ask for.
    pub is_present: bool,
    /// Whether frames may wait for what it asks for. Not for who plays on another machine: its own machine does.
    pub may_block: bool,
}

impl Default for SourceInput {
    /// A point at rest at the origin, all else as [`StreamingSource`] has it.
    fn default() -> Self {
        let usual = StreamingSource::default();
        Self {
            key: 0,
            position: Vec3::ZERO,
            velocity: Vec3::ZERO,
            look: None,
            look_weight: usual.look_weight,
            ahead: usual.ahead,
            shape: usual.shape,
            reach: usual.reach,
            priority: usual.priority,
            target: usual.target,
            is_present: true,
            may_block: true,
        }
    }
}

/// A streaming volume, as a [`Selector`] sees it: names are resolved to indices. One that is disabled is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeInput {
    /// The region.
    pub shape: VolumeShape,
    /// From how far outside a source counts as inside, in world units, times the source's [reach](SourceInput::reach); zero for a volume that
    /// is to be entered.
    pub range: f32,
    /// How far outside, of that range as well, a source may be before the delay begins, in world units. With a range it is multiplied by
    /// the source's reach, too.
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
            range: 0.0,
            unload_margin: 0.0,
            unload_delay: 0.0,
            mode: VolumeMode::default(),
            priority: DEFAULT_PRIORITY,
            levels: Box::default(),
        }
    }
}

/// A level, as a [`Selector`] sees it.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct LevelInput {
    /// Whether it is wanted wherever the sources are.
    pub always_loaded: bool,
    /// What it takes of [`SelectionLimits::max_bytes`].
    pub bytes: u64,
    /// The box around what is to be seen of it, if that is known: who is in it has arrived. Of a level without one the volumes count.
    pub bounds: Option<(Vec3, Vec3)>,
}

/// What there is of a level; who carries plans out tells it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// Nothing, or it is on its way out.
    #[default]
    Away,
    /// On its way.
    Coming,
    /// On its way, but it is not let in until there is more room: nobody waits for it meanwhile. It keeps its place under the cap.
    Held,
    /// It is where it is to be.
    There,
    /// Its load failed, and is to be tried again: it keeps its place under the cap, and nobody is late or waits for it meanwhile.
    Waiting,
    /// Its load failed: it takes no place under the cap, and stays so while it is wanted.
    Failed,
}

/// How it stands with a level.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody wants it, or it is banned.
    Unwanted,
    /// It is wanted, and left out because of a cap, or held until there is more room.
    LeftOut,
    /// It is on its way, or is to be tried again.
    Coming,
    /// It is as far as it is to come.
    There,
    /// It could not be loaded.
    Failed,
}

/// The caps of a selection; the least urgent levels beyond them are left out and counted. A less urgent level may still find a place where a
/// larger one does not.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SelectionLimits {
    /// How many levels may be wanted at a time.
    pub max_levels: usize,
    /// How many [bytes](LevelInput::bytes) the levels that are wanted may have. A single level that has more never comes.
    pub max_bytes: u64,
    /// For how many there is room: the same, but the most urgent level comes however large it is. What is [requested](EXPLICIT_PRIORITY) or more urgent comes, too; it
    /// counts, and is not this one.
    pub room: u64,
}

impl Default for SelectionLimits {
    /// No caps.
    fn default() -> Self {
        Self {
            max_levels: usize::MAX,
            max_bytes: u64::MAX,
            room: u64::MAX,
        }
    }
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
    /// The new priorities of levels on their way where they changed by more than a tenth, and of those that are there where they are essential now, or are so no
    /// more; larger is more urgent.
    pub priorities: Vec<(u32, f32)>,
    /// The levels that nobody may be without and that are not there: a source is inside of a volume that is to
    /// [block](VolumeMode::BlockUntilLoaded). Told in each plan for as long as it is so, each level once.
    pub block: Vec<u32>,
    /// How many levels are wanted but left out, for there is a cap.
    pub dropped: usize,
    /// How many seconds there are until somebody comes to a level that is to be seen and is not there, if all go on as they do: zero
    /// if somebody is late already, none if nobody comes to any within a minute. A source that is not [there](SourceInput::is_present), or only
    /// loads, arrives nowhere. [Some axes](Selector::set_arrival_axes) may not count.
    pub arrival: Option<f32>,
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
