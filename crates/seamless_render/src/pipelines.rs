//! Reveals wait until the pipelines that draw them are compiled. See [`PipelineGate`].

mod keys;
#[cfg(test)]
mod tests;
mod warmth;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bevy_asset::UntypedAssetId;
use bevy_ecs::{
    resource::Resource,
    system::{Res, ResMut},
    world::{Mut, World},
};
use bevy_platform::collections::HashMap;
use bevy_render::render_resource::{CachedPipelineState, PipelineCache};
use bevy_shader::ShaderCacheError;
use seamless_asset::{InstanceId, LevelScans, RevealGate};

use crate::drawn::{DrawnSet, Found, OwnLights};
use keys::{Prepared, Views};
use warmth::{Left, Warmth};

/// A [`RevealGate`] that is open for levels whose pipelines are compiled.
///
/// Bevy asks for a pipeline when the first entity needs it, and draws nothing of that entity until it is compiled. So each level waits until
/// all pipelines are there that the views of the moment draw it with: their main passes, the shadows of lights that are there and of
/// its own, and depth and normal prepasses. Not asked for are deferred rendering, and what only motion vectors of skins and morph
/// targets need. A pipeline that cannot be compiled is Bevy's to report, and no reason to wait.
#[derive(Resource, Clone, Default)]
pub struct PipelineGate {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    /// One for each type of materials.
    found: Vec<Found>,
    levels: HashMap<InstanceId, Watched>,
}

struct Watched {
    drawn: Arc<Drawn>,
    is_ready: bool,
}

/// What a level is drawn with.
struct Drawn {
    sets: Vec<DrawnSet>,
    lights: OwnLights,
}

impl PipelineGate {
    /// Held for moments only: the main thread takes it too.
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add_material(&self, found: Found) {
        self.lock().found.push(found);
    }

    /// The levels that need any, the oldest first. What is ready for the views of a moment may not be for those of a later one.
    fn waiting(&self) -> Vec<(InstanceId, Arc<Drawn>)> {
        let shared = self.lock();
        let waiting = shared.levels.iter().filter(|(_, level)| !level.drawn.sets.is_empty());
        let mut waiting: Vec<_> = waiting.map(|(id, level)| (*id, level.drawn.clone())).collect();
        waiting.sort_unstable_by_key(|(id, _)| *id);
        waiting
    }

    fn set_ready(&self, id: InstanceId, is_ready: bool) {
        if let Some(level) = self.lock().levels.get_mut(&id) {
            level.is_ready = is_ready;
        }
    }
}

impl RevealGate for PipelineGate {
    fn watch(&self, _: &[UntypedAssetId]) {}

    fn is_open(&self, _: &[UntypedAssetId]) -> bool {
        true
    }

    fn forget(&self, _: &[UntypedAssetId]) {}

    fn watch_level(&self, world: &World, id: InstanceId, scans: &LevelScans) {
        let mut shared = self.lock();
        let sets: Vec<_> = shared.found.iter().flat_map(|found| found(scans, world)).collect();
        let level = Watched {
            is_ready: sets.is_empty(),
            drawn: Arc::new(Drawn {
                sets,
                lights: scans.get().copied().unwrap_or_default(),
            }),
        };
        shared.levels.insert(id, level);
    }

    fn is_level_open(&self, id: InstanceId) -> bool {
        self.lock().levels.get(&id).is_none_or(|level| level.is_ready)
    }

    fn forget_level(&self, id: InstanceId) {
        self.lock().levels.remove(&id);
    }
}

/// How far the pipelines of the levels that wait have come. In the render world.
#[derive(Resource, Default)]
pub(crate) struct Warming(HashMap<InstanceId, Warmth>);

/// On another device, no pipeline is compiled yet.
pub(crate) fn start_over(gate: ResMut<PipelineGate>, mut warming: ResMut<Warming>) {
    warming.0.clear();
    for level in gate.lock().levels.values_mut() {
        level.is_ready = level.drawn.sets.is_empty();
    }
}

/// Asks for the pipelines of levels that wait; as many in a frame as it can bear. Bevy keeps them, and the reveal finds them.
pub(crate) fn ask_for_pipelines(world: &mut World) {
    let waiting = world.resource::<PipelineGate>().waiting();
    world.resource_scope(|world, mut warming: Mut<Warming>| {
        if waiting.is_empty() {
            warming.0.clear();
            return;
        }
        warming.0.retain(|id, _| waiting.iter().any(|(other, _)| other == id));
        let views = Views::of(world);
        let mut left = Left::of(world.resource::<PipelineCache>().pipelines().count());
        for (id, drawn) in &waiting {
            let warmth = warming.0.entry(*id).or_default();
            warmth.begin(&views.passes(drawn.lights), drawn.sets.len());
            warmth.ask(&drawn.sets, &mut left, |set, passes| {
                let prepared = Prepared::of(world, set)?;
                Some(passes.iter().map(|pass| prepared.pipeline(world, set, *pass)).collect())
            });
        }
    });
}

/// Says which levels are ready: those whose pipelines are compiled, or never will be.
pub(crate) fn note_compiled(gate: ResMut<PipelineGate>, warming: Res<Warming>, cache: Res<PipelineCache>) {
    for (id, warmth) in &warming.0 {
        let is_ready = warmth.is_ready(|pipeline| is_final(cache.get_render_pipeline_state(pipeline)));
        gate.set_ready(*id, is_ready);
    }
}

/// Whether the pipeline changes no more.
fn is_final(state: &CachedPipelineState) -> bool {
    match state {
        CachedPipelineState::Queued | CachedPipelineState::Creating(_) => false,
        CachedPipelineState::Ok(_) => true,
        // Bevy tries it again until the shader is loaded.
        CachedPipelineState::Err(error) => !matches!(
            error,
            ShaderCacheError::ShaderNotLoaded(_) | ShaderCacheError::ShaderImportNotYetAvailable
        ),
    }
}
