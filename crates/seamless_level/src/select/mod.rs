//! Which levels are wanted, and how much: a pure function of sources, volumes, requests and what was wanted before.
//!
//! No ECS, no clocks, no names: [`select`] is called each frame by the systems of this crate, and by anything else that
//! wants to know, a tool that checks a path through the world for instance.

#[cfg(test)]
mod tests;

use bevy_math::Vec3;

use crate::volume::VolumeShape;

/// The priority of a level that is always loaded.
pub const ALWAYS_PRIORITY: f32 = 1e8;
/// The priority of a level that was requested explicitly.
pub const EXPLICIT_PRIORITY: f32 = 1e7;
/// The most that a volume can give; a source's own priority is cut to it.
pub const MAX_SOURCE_PRIORITY: f32 = 1e6;

/// What the app asked for a level, by name, apart from volumes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum LevelRequest {
    /// Nothing: volumes decide.
    #[default]
    None,
    /// Keep it loaded, wherever the sources are.
    Load,
    /// Keep it away, even where volumes want it, and even if it is always loaded.
    Unload,
}

/// A streaming source, as [`select`] sees it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SourceInput {
    /// Where it is, in world space.
    pub position: Vec3,
    /// How much it counts; see [`StreamingSource::priority`](crate::StreamingSource).
    pub priority: f32,
}

/// A streaming volume, as [`select`] sees it: names are resolved to indices.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeInput {
    /// The region.
    pub shape: VolumeShape,
    /// How far outside a source may be before levels leave.
    pub unload_margin: f32,
    /// The indices of the levels it asks for; one that is too large is ignored.
    pub levels: Box<[u32]>,
}

/// A level, as [`select`] sees it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelInput {
    /// Whether it is wanted wherever the sources are.
    pub always_loaded: bool,
    /// What the app asked for.
    pub request: LevelRequest,
    /// Whether its load failed: it is not loaded again while it stays wanted, and takes no place under the cap.
    pub failed: bool,
}

/// All that [`select`] looks at in one frame.
#[derive(Copy, Clone, Debug)]
pub struct SelectionInputs<'a> {
    /// The enabled sources; their order does not matter.
    pub sources: &'a [SourceInput],
    /// The volumes; their order does not matter.
    pub volumes: &'a [VolumeInput],
    /// The levels; their order breaks ties.
    pub levels: &'a [LevelInput],
}

/// The caps of a selection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SelectionLimits {
    /// How many levels may be wanted at a time; the least urgent ones beyond are left out and counted.
    pub max_levels: usize,
}

/// Which levels were wanted last time, by index: what makes a border have a width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted(Vec<bool>);

impl Wanted {
    /// Nothing is wanted.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether level `index` was wanted; false for one that there is not.
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        self.0.get(index).copied().unwrap_or(false)
    }

    /// How many were wanted.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().filter(|wanted| **wanted).count()
    }

    /// Takes over what `plan` wants, for the next selection.
    pub fn update(&mut self, plan: &Plan) {
        self.0.clear();
        self.0.extend(plan.priorities.iter().map(Option::is_some));
    }
}

/// What [`select`] decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// For each level its priority if it is wanted; larger is more urgent.
    priorities: Vec<Option<f32>>,
    /// The levels that are wanted now, were not wanted before, and have not failed; most urgent first.
    pub load: Vec<u32>,
    /// The levels that were wanted and are no longer; in the order of their indices.
    pub unload: Vec<u32>,
    /// How many levels were wanted but left out, for there is a cap.
    pub dropped: usize,
    /// Scratch: the candidates for a place under the cap.
    ranked: Vec<Candidate>,
}

#[derive(Copy, Clone, Debug, PartialEq)]
struct Candidate {
    level: u32,
    rank: f32,
}

impl Plan {
    /// The priority of level `index` if it is wanted.
    #[must_use]
    pub fn priority(&self, index: usize) -> Option<f32> {
        self.priorities.get(index).copied().flatten()
    }

    /// Whether level `index` is wanted.
    #[must_use]
    pub fn wants(&self, index: usize) -> bool {
        self.priority(index).is_some()
    }

    /// How many levels are wanted.
    #[must_use]
    pub fn wanted(&self) -> usize {
        self.priorities.iter().flatten().count()
    }
}

/// Decides which levels are wanted.
///
/// A level is wanted when it was requested, or always loaded, or when a source is inside a volume that asks for it; a
/// level that was wanted stays so while a source is within the unload margin of such a volume. A request to unload wins
/// over all of that. When more are wanted than `limits` allow, the least urgent ones are left out; a level that is
/// wanted already counts as a little more urgent than a newcomer, so that two levels do not take turns at the cap.
///
/// Urgency, most first: always loaded, requested, then `priority / (1 + distance to the volume's middle)` at its
/// largest over sources and volumes; among equals, the lower index.
#[must_use]
pub fn select(inputs: &SelectionInputs, previous: &Wanted, limits: &SelectionLimits) -> Plan {
    let mut plan = Plan::default();
    select_into(inputs, previous, limits, &mut plan);
    plan
}

/// [`select`] into a plan whose memory is used again: nothing is allocated once it is large enough.
pub fn select_into(inputs: &SelectionInputs, previous: &Wanted, limits: &SelectionLimits, plan: &mut Plan) {
    plan.priorities.clear();
    plan.priorities.resize(inputs.levels.len(), None);
    for source in inputs.sources {
        if source.position.is_finite() && source.priority.is_finite() {
            for volume in inputs.volumes {
                ask(source, volume, previous, &mut plan.priorities);
            }
        }
    }
    for (level, priority) in inputs.levels.iter().zip(&mut plan.priorities) {
        *priority = match level.request {
            LevelRequest::Unload => None,
            _ if level.always_loaded => Some(ALWAYS_PRIORITY),
            LevelRequest::Load => Some(EXPLICIT_PRIORITY),
            LevelRequest::None => *priority,
        };
    }
    cap(inputs.levels, previous, limits, plan);
    compare(inputs.levels, previous, plan);
}

/// Adds what one volume wants for one source.
fn ask(source: &SourceInput, volume: &VolumeInput, previous: &Wanted, priorities: &mut [Option<f32>]) {
    let distance = volume.shape.signed_distance(source.position);
    // Written so that a margin that is no number keeps nothing.
    let inside = distance <= 0.0;
    if !(inside || distance <= volume.unload_margin) {
        return;
    }
    let importance = source.priority.clamp(0.0, MAX_SOURCE_PRIORITY);
    let score = importance / (1.0 + volume.shape.center_distance(source.position));
    for &level in &volume.levels {
        let index = level as usize;
        if (inside || previous.contains(index))
            && let Some(priority) = priorities.get_mut(index)
        {
            *priority = Some(priority.map_or(score, |other| other.max(score)));
        }
    }
}

/// What being wanted already is worth at the cap.
const INCUMBENT: f32 = 1.25;

/// Leaves out what is beyond the cap.
fn cap(levels: &[LevelInput], previous: &Wanted, limits: &SelectionLimits, plan: &mut Plan) {
    plan.dropped = 0;
    let Plan { priorities, ranked, .. } = plan;
    ranked.clear();
    ranked.extend(
        (0u32..)
            .zip(priorities.iter().zip(levels))
            .filter_map(|(level, (priority, input))| {
                let priority = (*priority)?;
                let factor = if previous.contains(level as usize) {
                    INCUMBENT
                } else {
                    1.0
                };
                (!input.failed).then_some(Candidate {
                    level,
                    rank: priority * factor,
                })
            }),
    );
    if ranked.len() <= limits.max_levels {
        return;
    }
    ranked.sort_unstable_by(most_urgent_first);
    plan.dropped = ranked.len() - limits.max_levels;
    for candidate in ranked.drain(limits.max_levels..) {
        if let Some(priority) = priorities.get_mut(candidate.level as usize) {
            *priority = None;
        }
    }
}

/// Fills the lists of what changed.
fn compare(levels: &[LevelInput], previous: &Wanted, plan: &mut Plan) {
    let Plan {
        priorities,
        load,
        unload,
        ranked,
        ..
    } = plan;
    load.clear();
    unload.clear();
    ranked.clear();
    for (level, (priority, input)) in (0u32..).zip(priorities.iter().zip(levels)) {
        match (priority, previous.contains(level as usize)) {
            (Some(rank), false) if !input.failed => ranked.push(Candidate { level, rank: *rank }),
            (None, true) => unload.push(level),
            _ => {}
        }
    }
    ranked.sort_unstable_by(most_urgent_first);
    load.extend(ranked.iter().map(|candidate| candidate.level));
}

fn most_urgent_first(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.rank.total_cmp(&a.rank).then(a.level.cmp(&b.level))
}
