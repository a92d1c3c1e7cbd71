//! One placement of a level, from request to leave. See [`Instance`].

use std::sync::Arc;

use bevy_asset::AssetPath;
use bevy_ecs::{component::Component, entity::Entity, reflect::ReflectComponent};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_package::ObjectId;

use super::{InstanceRequest, Progress, link::LoadedLevel};
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

/// The order of two that wait: larger priority first, then the older.
pub(super) fn by_priority<T: Ord>(a: (f32, T), b: (f32, T)) -> core::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}
