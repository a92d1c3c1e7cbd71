//! One placement of a level, from request to leave. See [`Instance`].

use std::{collections::BTreeSet, sync::Arc};

use bevy_asset::AssetPath;
use bevy_ecs::{component::Component, entity::Entity, reflect::ReflectComponent};
use bevy_platform::collections::HashMap;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_package::ObjectId;

use super::{
    InstanceId, InstanceRequest, LoadState, Progress,
    link::LoadedLevel,
    tracked::{Index, Marked, Tracked},
};
use crate::{level_data::LevelObjects, reveal::Members};

/// On the root entity of a live level instance. The level's own entities are its descendants.
#[derive(Component, Reflect, Debug, Default, Clone)]
#[reflect(Component, Default, Clone)]
pub struct LevelInstance {
    /// What the request called it.
    pub name: String,
    /// Name that its package was cooked under.
    #[reflect(ignore)]
    pub package: Arc<str>,
    /// Entities of the level and their object ids, as they were revealed.
    #[reflect(ignore)]
    pub objects: Arc<LevelObjects>,
}

impl LevelInstance {
    /// The entity with this object id. It may have been despawned since the reveal.
    #[must_use]
    pub fn entity(&self, id: ObjectId) -> Option<Entity> {
        self.objects.entity(id)
    }
}

/// What the pipeline knows about an instance.
pub(super) struct Instance {
    pub request: InstanceRequest,
    pub phase: Phase,
    /// All packages it needs, as far as they are known.
    pub packages: Vec<AssetPath<'static>>,
}

impl Instance {
    pub fn new(request: InstanceRequest, phase: Phase) -> Self {
        let packages = Vec::new();
        Self {
            request,
            phase,
            packages,
        }
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
    /// In the world.
    Live { root: Entity, members: Members },
    /// Still in the world, about to leave.
    Leaving { root: Entity, members: Members },
    /// No level: a reload, which holds packages until its end.
    Reloading,
    /// Failed; holds nothing.
    Failed,
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
            Phase::Live { .. } => LoadState::Live,
            Phase::Leaving { .. } => LoadState::Leaving,
            Phase::Failed => LoadState::Failed,
            Phase::Reloading => return None,
        }))
    }
}

/// All instances.
pub(super) type Instances = Tracked<InstanceId, Instance, InstanceIndex>;

impl Instances {
    /// Puts an instance into a phase; gives the one before.
    pub fn replace_phase(&mut self, id: InstanceId, phase: Phase) -> Option<Phase> {
        let mut instance = self.get_mut(&id)?;
        Some(core::mem::replace(&mut instance.phase, phase))
    }
}

/// The phase of an instance, with what is counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PhaseMark {
    Queued,
    /// By which task: another may load it again.
    Loading(*const Progress),
    Staged,
    Live(Entity, u64),
    Leaving(Entity, u64),
    Other,
}

impl Marked for Instance {
    type Mark = PhaseMark;

    fn mark(&self) -> PhaseMark {
        match &self.phase {
            Phase::Queued => PhaseMark::Queued,
            Phase::Loading(progress) => PhaseMark::Loading(Arc::as_ptr(progress)),
            Phase::Staged(_) => PhaseMark::Staged,
            Phase::Live { root, members } => PhaseMark::Live(*root, members.entities.len() as u64),
            Phase::Leaving { root, members } => PhaseMark::Leaving(*root, members.entities.len() as u64),
            Phase::Reloading | Phase::Failed => PhaseMark::Other,
        }
    }
}

/// What each frame asks of instances. Sets are in the order of requests.
#[derive(Default)]
pub(super) struct InstanceIndex {
    pub queued: BTreeSet<InstanceId>,
    pub staged: BTreeSet<InstanceId>,
    pub leaving: BTreeSet<InstanceId>,
    /// Those in the world, live or leaving, by their roots.
    roots: HashMap<Entity, InstanceId>,
    /// Entities of those.
    pub entities: u64,
    /// Others do not know yet that these are elsewhere by now, or gone.
    pub changed: Vec<InstanceId>,
}

impl InstanceIndex {
    /// How many are in the world, live or leaving.
    pub fn in_world(&self) -> usize {
        self.roots.len()
    }

    /// The instance in the world that has this root.
    pub fn of_root(&self, root: Entity) -> Option<InstanceId> {
        self.roots.get(&root).copied()
    }

    fn set(&mut self, mark: PhaseMark) -> Option<&mut BTreeSet<InstanceId>> {
        match mark {
            PhaseMark::Queued => Some(&mut self.queued),
            PhaseMark::Staged => Some(&mut self.staged),
            PhaseMark::Leaving(..) => Some(&mut self.leaving),
            PhaseMark::Loading(_) | PhaseMark::Live(..) | PhaseMark::Other => None,
        }
    }
}

impl Index<InstanceId, PhaseMark> for InstanceIndex {
    fn add(&mut self, id: &InstanceId, mark: PhaseMark) {
        self.changed.push(*id);
        if let PhaseMark::Live(root, entities) | PhaseMark::Leaving(root, entities) = mark {
            self.roots.insert(root, *id);
            self.entities += entities;
        }
        if let Some(set) = self.set(mark) {
            set.insert(*id);
        }
    }

    fn remove(&mut self, id: &InstanceId, mark: PhaseMark) {
        self.changed.push(*id);
        if let PhaseMark::Live(root, entities) | PhaseMark::Leaving(root, entities) = mark {
            self.roots.remove(&root);
            self.entities -= entities;
        }
        if let Some(set) = self.set(mark) {
            set.remove(id);
        }
    }

    #[cfg(test)]
    fn is_same(&self, other: &Self) -> bool {
        let sets = |index: &Self| [index.queued.clone(), index.staged.clone(), index.leaving.clone()];
        sets(self) == sets(other) && self.roots == other.roots && self.entities == other.entities
    }
}

/// The order of two that wait: larger priority first, then the older.
pub(super) fn by_priority<T: Ord>(a: (f32, T), b: (f32, T)) -> core::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}
