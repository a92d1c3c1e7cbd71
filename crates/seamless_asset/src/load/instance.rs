//! One placement of a level, from request to leave. See [`Instance`].

mod index;

use core::time::Duration;
use std::sync::Arc;

pub(super) use index::InstanceIndex;

use bevy_asset::AssetPath;
use bevy_ecs::{component::Component, entity::Entity, reflect::ReflectComponent};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_package::ObjectId;

use super::{
    InstanceId, InstanceRequest, InstanceTarget, LevelScans, LoadState, Progress,
    link::LoadedLevel,
    rank::Arrivals,
    tracked::{Marked, Tracked},
};
use crate::{
    hide::Hiding,
    level_data::LevelObjects,
    objects::CookFolder,
    reveal::{HiddenSpawn, Members},
    stable::{InstancePath, StableId},
};

/// On the root entity of a live level instance. The level's own entities are its descendants. A clone of that entity is no root, and has none.
#[derive(Component, Reflect, Debug, Default, Clone)]
#[component(clone_behavior = Ignore)]
#[reflect(Component, Default, Clone)]
pub struct LevelInstance {
    /// What the request called it.
    pub name: String,
    /// What it is called on all machines.
    pub path: InstancePath,
    /// Name that its package was cooked under.
    #[reflect(ignore)]
    pub package: Arc<str>,
    /// The folder that its package was cooked into, with others.
    #[reflect(ignore)]
    pub cook: CookFolder,
    /// Entities of the level and their object ids, as they were revealed.
    #[reflect(ignore)]
    pub objects: Arc<LevelObjects>,
}

impl LevelInstance {
    /// The entity with this object id. It may have been despawned since the reveal.
    #[must_use]
    pub fn entity(&self, id: ObjectId) -> Option<Entity> {
        // Those that the level has forgotten have none.
        self.objects.entity(id).filter(|entity| *entity != Entity::PLACEHOLDER)
    }

    /// What an entity of the level is called on all machines; none for those that are not the level's own. [`StableIds`](crate::StableIds)
    /// leads back.
    #[must_use]
    pub fn stable_id(&self, entity: Entity) -> Option<StableId> {
        if self.path.is_empty() || entity == Entity::PLACEHOLDER {
            return None;
        }
        let object = self.objects.object(entity)?;
        let instance = self.path.id();
        Some(StableId { instance, object })
    }
}

/// What the pipeline knows about an instance.
pub(super) struct Instance {
    pub request: InstanceRequest,
    pub phase: Phase,
    /// All packages it needs, as far as they are known.
    pub packages: Vec<AssetPath<'static>>,
    /// Others know that it is loaded and not shown.
    pub is_announced: bool,
    /// What its entities are thought to take in memory, while they are loaded.
    pub expected: u64,
    /// The frame in which it was asked to go, or last told to come farther or not so far.
    pub asked_in: u64,
    /// Since when it waits. That is when it was asked for, but while it was not to be shown, it waited for nothing.
    waits_since: Duration,
    /// How long it had waited when it was not to be shown any more.
    waited: Duration,
}

impl Instance {
    /// One that was asked for at this time. That is known from now on, however long it waits.
    pub fn new(request: InstanceRequest, phase: Phase, asked: Duration) -> Self {
        let packages = Vec::new();
        Self {
            request,
            phase,
            packages,
            is_announced: false,
            expected: 0,
            asked_in: 0,
            waits_since: asked,
            waited: Duration::ZERO,
        }
    }

    /// How urgent it is beside others.
    pub fn rank(&self, arrivals: &Arrivals) -> f64 {
        arrivals.rank_since(self.since(arrivals), self.request.priority)
    }

    /// Since when it waits. While it is seen, that is for nothing.
    fn since(&self, arrivals: &Arrivals) -> Duration {
        if matches!(self.phase, Phase::Live { .. } | Phase::Leaving { .. }) {
            return arrivals.now();
        }
        self.waits_since
    }

    /// It was held back since that time, for the sake of nobody who waits: that does not make it more urgent.
    pub fn forget_hold(&mut self, since: Duration, now: Duration) {
        self.waits_since += now.saturating_sub(since.max(self.waits_since));
    }

    /// It is to come this far, as was said in `frame`. Whether it waited for nothing before, and waits to be shown now.
    pub fn aim(&mut self, target: InstanceTarget, frame: u64, arrivals: &Arrivals) -> bool {
        let has_risen = target == InstanceTarget::Shown && self.has_stopped();
        if has_risen {
            // What it has waited before counts: it may be asked for and let go of in turn.
            self.waits_since = arrivals.now().saturating_sub(self.waited);
        } else if target != self.request.target && self.request.target == InstanceTarget::Shown {
            self.waited = arrivals.now().saturating_sub(self.since(arrivals));
        }
        // Who says the same again keeps its place among those that leave.
        if core::mem::replace(&mut self.request.target, target) != target {
            self.asked_in = frame;
        }
        // Once it was to be shown, it is news again that it is not.
        self.is_announced &= target != InstanceTarget::Shown;
        has_risen
    }

    /// The content of the file that it was read from, until it is seen.
    pub fn content_hash(&self) -> Option<u64> {
        match &self.phase {
            Phase::Staged(level) => Some(level.content_hash),
            Phase::Spawning(spawn) => Some(spawn.content_hash()),
            _ => None,
        }
    }

    /// Whether it is as far as it was to come, and not seen.
    fn has_stopped(&self) -> bool {
        let is_on_hold = matches!(self.phase, Phase::Staged(_) | Phase::Spawning(_) | Phase::Hidden { .. });
        is_on_hold && self.request.target != InstanceTarget::Shown
    }
}

/// The main thread's view of [`LoadState`](super::LoadState).
pub(super) enum Phase {
    /// In the queue.
    Queued,
    /// Its task runs.
    Loading(Arc<Progress>),
    /// Decoded; waits for packages, gates and its turn.
    Staged(Box<LoadedLevel>),
    /// Partly in the world, or wholly, and nobody has seen it yet.
    Spawning(Box<HiddenSpawn>),
    /// In the world.
    Live { root: Entity, members: Members },
    /// In the world, and nobody sees it.
    Hidden {
        root: Entity,
        members: Members,
        hiding: Hiding,
    },
    /// Still in the world, about to leave.
    Leaving { root: Entity, members: Members },
    /// It has left; what is despawned of it bit by bit still needs its packages.
    Sweeping,
    /// No level: a reload, which holds packages until its end.
    Reloading,
    /// Failed; holds nothing.
    Failed,
}

impl Phase {
    /// What was found in the columns of a level that is not seen.
    pub fn scans(&self) -> Option<&Arc<LevelScans>> {
        match self {
            Self::Staged(level) => Some(&level.scans),
            Self::Spawning(spawn) => Some(spawn.scans()),
            Self::Hidden { members, .. } => Some(&members.scans),
            _ => None,
        }
    }
}

/// Where an instance is: it is said, or to be asked for.
pub(super) enum Known {
    State(LoadState),
    Loading(Arc<Progress>),
}

impl Known {
    pub fn state(&self) -> LoadState {
        match self {
            Self::State(state) => *state,
            Self::Loading(progress) => progress.state(),
        }
    }
}

impl Instance {
    /// What others see; a reload is no instance of a level.
    pub fn known(&self) -> Option<Known> {
        Some(Known::State(match &self.phase {
            Phase::Queued => LoadState::Requested,
            Phase::Loading(progress) => return Some(Known::Loading(progress.clone())),
            Phase::Staged(..) => LoadState::Staged,
            Phase::Spawning(_) if self.request.target == InstanceTarget::Shown => LoadState::Revealing,
            Phase::Spawning(_) => LoadState::Staged,
            Phase::Live { .. } => LoadState::Live,
            Phase::Hidden { .. } if self.request.target == InstanceTarget::Gone => LoadState::Leaving,
            Phase::Hidden { .. } => LoadState::Hidden,
            Phase::Leaving { .. } => LoadState::Leaving,
            Phase::Failed => LoadState::Failed,
            Phase::Sweeping | Phase::Reloading => return None,
        }))
    }
}

/// All instances.
pub(super) type Instances = Tracked<InstanceId, Instance, InstanceIndex>;

impl Instances {
    /// The name of an instance, for logs, overruns and traces.
    pub fn name_of(&self, id: InstanceId) -> &str {
        self.get(&id).map_or("", |instance| &instance.request.name)
    }

    /// Puts an instance into a phase; gives the one before.
    pub fn replace_phase(&mut self, id: InstanceId, phase: Phase) -> Option<Phase> {
        let mut instance = self.get_mut(&id)?;
        Some(core::mem::replace(&mut instance.phase, phase))
    }
}

/// What an instance waits for the main thread to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Its load starts.
    Start,
    /// Others are told that it is loaded.
    Announce,
    /// It comes into the world.
    Reveal,
    /// It is hidden.
    Hide,
    /// It is shown again.
    Show,
    /// It leaves.
    Leave,
}

const TURNS: usize = 6;

/// Who counts the entities of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    ByAll,
    ByNobody,
}

/// An instance, as far as it is counted and listed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct InstanceMark {
    phase: core::mem::Discriminant<Phase>,
    /// Its task: another may load it again.
    task: Option<*const Progress>,
    /// And since which frame, where who has waited longest goes first.
    turn: Option<(u64, Turn)>,
    /// Its root, and how many entities are below, if it is in the world.
    place: Option<(Entity, u64, Seen)>,
    memory: Memory,
    wait: Wait,
}

/// What decides beside that how an instance waits: the bits of its priority, since when, for how many packages, and to come how far.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Wait(u32, Duration, usize, InstanceTarget);

/// What the entities of an instance take in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Memory {
    live: u64,
    staged: u64,
    expected: u64,
}

impl Memory {
    /// Whether there is any by now.
    fn is_there(&self) -> bool {
        self.live + self.staged > 0
    }
}

impl Instance {
    /// What it waits for.
    pub fn turn(&self) -> Option<Turn> {
        let target = self.request.target;
        match &self.phase {
            Phase::Queued => Some(Turn::Start),
            Phase::Staged(_) | Phase::Spawning(_) if target == InstanceTarget::Shown => Some(Turn::Reveal),
            Phase::Staged(_) | Phase::Spawning(_) if !self.is_announced => Some(Turn::Announce),
            Phase::Live { .. } if target == InstanceTarget::Loaded => Some(Turn::Hide),
            Phase::Hidden { .. } if target == InstanceTarget::Shown => Some(Turn::Show),
            Phase::Hidden { .. } if target == InstanceTarget::Gone => Some(Turn::Leave),
            Phase::Leaving { .. } => Some(Turn::Leave),
            _ => None,
        }
    }

    fn in_turn_since(&self, turn: Turn) -> u64 {
        match turn {
            Turn::Hide | Turn::Leave => self.asked_in,
            _ => 0,
        }
    }

    /// Whether it is still to come, and may fail. A reload may, too.
    pub fn is_coming(&self) -> bool {
        matches!(
            self.phase,
            Phase::Queued | Phase::Loading(_) | Phase::Staged(_) | Phase::Spawning(_) | Phase::Reloading
        )
    }

    fn place(&self) -> Option<(Entity, u64, Seen)> {
        match &self.phase {
            Phase::Live { root, members } | Phase::Leaving { root, members } => {
                Some((*root, members.entities.len() as u64, Seen::ByAll))
            }
            Phase::Hidden { root, members, .. } => Some((*root, members.entities.len() as u64, Seen::ByNobody)),
            Phase::Spawning(spawn) => Some((spawn.root(), spawn.len() as u64, Seen::ByNobody)),
            _ => None,
        }
    }
}

impl Instance {
    fn memory(&self) -> Memory {
        let mut memory = Memory::default();
        match &self.phase {
            Phase::Loading(_) => memory.expected = self.expected,
            Phase::Staged(level) => memory.staged = level.memory,
            Phase::Spawning(spawn) => memory.live = spawn.memory(),
            Phase::Live { members, .. } | Phase::Hidden { members, .. } | Phase::Leaving { members, .. } => {
                memory.live = members.memory;
            }
            _ => {}
        }
        memory
    }
}

impl Marked for Instance {
    type Mark = InstanceMark;

    fn mark(&self) -> InstanceMark {
        let task = match &self.phase {
            Phase::Loading(progress) => Some(Arc::as_ptr(progress)),
            _ => None,
        };
        InstanceMark {
            phase: core::mem::discriminant(&self.phase),
            task,
            turn: self.turn().map(|turn| (self.in_turn_since(turn), turn)),
            place: self.place(),
            memory: self.memory(),
            wait: Wait(
                self.request.priority.to_bits(),
                self.waits_since,
                self.packages.len(),
                self.request.target,
            ),
        }
    }
}
