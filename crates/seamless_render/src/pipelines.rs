//! Reveals wait until the pipelines that draw them are compiled. See [`PipelineGate`].

mod keys;
#[cfg(test)]
pub(crate) mod tests;
mod warmth;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use bevy_asset::UntypedAssetId;
use bevy_ecs::{
    resource::Resource,
    system::{Res, ResMut},
    world::{Mut, World},
};
use bevy_log::debug_span;
use bevy_platform::collections::HashMap;
use bevy_render::render_resource::{CachedPipelineState, CachedRenderPipelineId, PipelineCache};
use bevy_shader::ShaderCacheError;
use seamless_asset::{InstanceId, LevelScans, RevealGate};

use crate::drawn::{DrawnSet, Found, OwnLights};
use keys::{PassKey, Prepared, Views};
use warmth::{Left, LevelWarmth, LightWarmth};

/// A [`RevealGate`] that is open for levels whose pipelines are compiled.
///
/// Bevy asks for a pipeline when the first entity needs it, and draws nothing of that entity until it is compiled. So each level waits until
/// all pipelines are there that the views of the moment draw it with: their main passes, the shadows of lights that are there and of
/// its own, and prepasses, deferred ones among them. A level that brings the first light with shadows, or the first light probe, changes how everything is drawn that
/// is there: it waits for that, too, as far as it came with levels. Not asked for is what only morph
/// targets need where views draw motion, and what views need that come later: as long as no camera draws meshes, no level waits. A pipeline that cannot be compiled is Bevy's to report, and no reason to wait.
#[derive(Resource, Clone, Default)]
pub struct PipelineGate {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    /// One for each type of materials.
    found: Vec<Found>,
    levels: HashMap<InstanceId, Watched>,
    /// Those that need not wait any more, as long as they are there.
    others: BTreeMap<InstanceId, Watched>,
}

/// A level, what it is drawn with, and whether that is ready.
struct Watched {
    drawn: Arc<Drawn>,
    /// Gone when the level is.
    scans: Weak<LevelScans>,
    is_ready: bool,
}

/// What a level is drawn with.
struct Drawn {
    sets: Vec<DrawnSet>,
    lights: OwnLights,
}

impl Watched {
    fn is_there(&self) -> bool {
        self.scans.strong_count() > 0
    }
}

impl Drawn {
    /// Whether it waits for any pipeline, its own or that of others.
    fn needs_any(&self) -> bool {
        !self.sets.is_empty() || self.lights != OwnLights::default()
    }
}

/// Levels that wait, the oldest first.
type Waiting = Vec<(InstanceId, Arc<Drawn>)>;

/// Levels that need not wait any more, the oldest first.
type Others = Vec<(InstanceId, Other)>;

struct Other {
    drawn: Arc<Drawn>,
    was_ready: bool,
}

impl PipelineGate {
    /// Held for moments only: the main thread takes it too.
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add_material(&self, found: Found) {
        self.lock().found.push(found);
    }

    /// The levels that need any. What is ready for the views of a moment may not be for those of a later one.
    fn waiting(&self) -> Waiting {
        let shared = self.lock();
        let waiting = shared.levels.iter().filter(|(_, watched)| watched.drawn.needs_any());
        let mut waiting: Waiting = waiting.map(|(id, watched)| (*id, watched.drawn.clone())).collect();
        waiting.sort_unstable_by_key(|(id, _)| *id);
        waiting
    }

    /// Those that are there.
    fn others(&self) -> Others {
        let shared = self.lock();
        let others = shared.others.iter().filter(|(_, watched)| watched.is_there());
        let other = |watched: &Watched| Other {
            drawn: watched.drawn.clone(),
            was_ready: watched.is_ready,
        };
        others.map(|(id, watched)| (*id, other(watched))).collect()
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

    fn watch_level(&self, world: &World, id: InstanceId, scans: &Arc<LevelScans>) {
        let mut shared = self.lock();
        let sets: Vec<_> = shared.found.iter().flat_map(|found| found(scans, world)).collect();
        let drawn = Drawn {
            sets,
            lights: scans.get().copied().unwrap_or_default(),
        };
        shared.others.remove(&id);
        let level = Watched {
            is_ready: !drawn.needs_any(),
            drawn: Arc::new(drawn),
            scans: Arc::downgrade(scans),
        };
        shared.levels.insert(id, level);
    }

    fn is_level_open(&self, id: InstanceId) -> bool {
        self.lock().levels.get(&id).is_none_or(|level| level.is_ready)
    }

    fn forget_level(&self, id: InstanceId) {
        let mut shared = self.lock();
        shared.others.retain(|_, watched| watched.is_there());
        if let Some(watched) = shared.levels.remove(&id)
            && watched.drawn.needs_any()
        {
            shared.others.insert(id, watched);
        }
    }
}

/// How far the pipelines of the levels that wait have come. In the render world.
#[derive(Resource, Default)]
pub(crate) struct Warming {
    levels: HashMap<InstanceId, LevelWarmth>,
    light: LightWarmth,
}

/// On another device, no pipeline is compiled yet.
pub(crate) fn start_over(gate: ResMut<PipelineGate>, mut warming: ResMut<Warming>) {
    *warming = Warming::default();
    for watched in gate.lock().levels.values_mut() {
        watched.is_ready = !watched.drawn.needs_any();
    }
}

/// Asks for the pipelines of levels that wait; as many in a frame as it can bear. Bevy keeps them, and the reveal finds them.
pub(crate) fn ask_for_pipelines(world: &mut World) {
    let waiting = world.resource::<PipelineGate>().waiting();
    world.resource_scope(|world, mut warming: Mut<Warming>| {
        if waiting.is_empty() {
            warming.levels.clear();
            return;
        }
        let _span = debug_span!("ask_for_pipelines", levels = waiting.len()).entered();
        let Warming { levels, light } = &mut *warming;
        levels.retain(|id, _| waiting.iter().any(|(other, _)| other == id));
        let others = world.resource::<PipelineGate>().others();
        let views = Views::of(world);
        let (there, around) = lights_of(&waiting, &others);
        let (known, all) = (views.passes(there), views.passes(around));
        let mut left = Left::of(world.resource::<PipelineCache>().pipelines().count());
        let mut new = Vec::new();
        for (id, drawn) in &waiting {
            let level = levels.entry(*id).or_default();
            level.own.begin(&all, drawn.sets.len());
            level
                .own
                .ask(&drawn.sets, &mut left, |set, passes| pipelines_of(world, set, passes));
            let with_its_own = views.passes(drawn.lights.and(there));
            let added = with_its_own.into_iter().filter(|pass| !known.contains(pass));
            let before = new.len();
            new.extend(added);
            level.is_light |= new.len() > before;
        }
        // With what is left: those that only wait for themselves need little.
        if levels.values().any(|level| level.is_light) {
            light.hear(others.iter().map(|(id, other)| (*id, &*other.drawn.sets)));
            light.ask(&new, &mut left, |set, passes| pipelines_of(world, set, passes));
        }
    });
}

/// The lights of the levels that are there, as far as all was ready for them, and those of all that are there or about to come.
fn lights_of(waiting: &Waiting, others: &Others) -> (OwnLights, OwnLights) {
    let was_ready = others.iter().filter(|(_, other)| other.was_ready);
    let there = was_ready.map(|(_, other)| other.drawn.lights);
    let all = waiting.iter().map(|(_, drawn)| drawn.lights);
    let all = all.chain(others.iter().map(|(_, other)| other.drawn.lights));
    let none = OwnLights::default;
    (there.fold(none(), OwnLights::and), all.fold(none(), OwnLights::and))
}

/// The pipelines of some passes; none while the mesh or the material is not there.
fn pipelines_of(world: &mut World, set: &DrawnSet, passes: &[PassKey]) -> Option<Vec<Option<CachedRenderPipelineId>>> {
    let prepared = Prepared::of(world, set)?;
    Some(passes.iter().map(|pass| prepared.pipeline(world, set, *pass)).collect())
}

/// Says which levels are ready: those whose pipelines are compiled, or never will be.
pub(crate) fn note_compiled(gate: ResMut<PipelineGate>, warming: Res<Warming>, cache: Res<PipelineCache>) {
    let is_final = |pipeline| is_final(cache.get_render_pipeline_state(pipeline));
    for (id, level) in &warming.levels {
        let is_ready = level.own.is_ready(is_final) && (!level.is_light || warming.light.is_ready(is_final));
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
