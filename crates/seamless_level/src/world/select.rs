//! The selection's place in the ECS: [`select_levels`] gathers its inputs and carries out its plan.

use bevy_ecs::{
    change_detection::DetectChangesMut,
    component::Component,
    entity::Entity,
    system::{Local, Query, Res, ResMut, SystemParam},
};
use bevy_log::warn;
use bevy_transform::components::GlobalTransform;
use seamless_asset::{Streamer, StreamingClock};

use super::{InstanceIndex, LevelState, LevelTable, table::Level, volumes::VolumeSet};
use crate::{
    requests::LevelRequests,
    select::{LevelInput, Plan, SelectionInputs, SelectionLimits, SourceInput, Wanted, select_into},
    settings::LevelSettings,
    source::StreamingSource,
};

/// How much a priority must change, as a part of itself, before the pipeline is told.
const PRIORITY_STEP: f32 = 0.1;

/// What the selection of one world needs, beside its table.
#[derive(Component)]
pub(crate) struct LevelSelection {
    pub inputs: Vec<LevelInput>,
    pub volumes: VolumeSet,
    previous: Wanted,
    plan: Plan,
    /// The priority that the pipeline was told last, by level.
    told: Vec<f32>,
    /// Levels that the app wants to be tried again.
    retry: Vec<usize>,
}

impl LevelSelection {
    pub fn new(table: &LevelTable, requests: &LevelRequests) -> Self {
        let input = |level: &Level| LevelInput {
            always_loaded: level.entry.always_loaded,
            request: requests.get(&level.entry.name),
            failed: false,
        };
        Self {
            inputs: table.levels.iter().map(input).collect(),
            volumes: VolumeSet::default(),
            previous: Wanted::none(),
            plan: Plan::default(),
            told: vec![0.0; table.levels.len()],
            retry: Vec::new(),
        }
    }

    /// How many levels are wanted.
    pub fn wanted(&self) -> usize {
        self.plan.wanted()
    }

    /// The priority of a level that is wanted.
    fn priority(&self, level: usize) -> f32 {
        self.plan.priority(level).unwrap_or_default()
    }
}

/// Takes requests to the pipeline, and remembers whose they are.
#[derive(SystemParam)]
pub(crate) struct Pipeline<'w> {
    pub streamer: ResMut<'w, Streamer>,
    pub index: ResMut<'w, InstanceIndex>,
}

impl Pipeline<'_> {
    /// Loads a level that is wanted, unless something of it is still under way.
    pub fn load(&mut self, world: Entity, table: &mut LevelTable, selection: &mut LevelSelection, level: usize) {
        let priority = selection.priority(level);
        let Some(slot) = table.levels.get_mut(level) else {
            return;
        };
        if slot.state != LevelState::Unloaded {
            return;
        }
        let id = self.streamer.load(slot.request(priority));
        self.index.insert(id, world, level);
        slot.instance = Some(id);
        slot.state = LevelState::Loading(seamless_asset::LoadState::Requested);
        if let Some(told) = selection.told.get_mut(level) {
            *told = priority;
        }
    }

    /// Lets go of a level that is not wanted any more.
    fn unload(&mut self, table: &mut LevelTable, selection: &mut LevelSelection, level: usize) {
        let Some(slot) = table.levels.get_mut(level) else {
            return;
        };
        match (slot.state, slot.instance) {
            (LevelState::Failed, _) => {
                slot.state = LevelState::Unloaded;
                if let Some(input) = selection.inputs.get_mut(level) {
                    input.failed = false;
                }
            }
            (_, Some(id)) => {
                self.streamer.unload(id);
                slot.state = LevelState::Leaving;
            }
            _ => {}
        }
    }
}

/// Selects the levels of each world, and asks the pipeline for what changed.
pub(crate) fn select_levels(
    sources: Query<(&StreamingSource, &GlobalTransform)>,
    mut worlds: Query<(Entity, &mut LevelTable, &mut LevelSelection)>,
    mut requests: ResMut<LevelRequests>,
    settings: Res<LevelSettings>,
    mut pipeline: Pipeline,
    mut positions: Local<Vec<SourceInput>>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure();
    positions.clear();
    positions.extend(
        sources
            .iter()
            .filter(|(source, _)| source.enabled)
            .map(|(source, transform)| SourceInput {
                position: transform.translation(),
                priority: source.priority,
            }),
    );
    let limits = SelectionLimits {
        max_levels: settings.max_levels,
    };
    for (world, mut table, mut selection) in &mut worlds {
        let selection = &mut *selection;
        if requests.has_changes() {
            apply_requests(&requests, table.bypass_change_detection(), selection);
        }
        let inputs = SelectionInputs {
            sources: &positions,
            volumes: selection.volumes.inputs(),
            levels: &selection.inputs,
        };
        select_into(&inputs, &selection.previous, &limits, &mut selection.plan);
        selection.previous.update(&selection.plan);
        if carry_out(world, table.bypass_change_detection(), selection, &mut pipeline) {
            table.set_changed();
        }
    }
    requests.clear_changes();
}

/// Takes over what was asked for since the last frame.
fn apply_requests(requests: &LevelRequests, table: &mut LevelTable, selection: &mut LevelSelection) {
    for name in requests.changed() {
        if let Some(input) = table.index_of(name).and_then(|index| selection.inputs.get_mut(index)) {
            input.request = requests.get(name);
        }
    }
    for name in requests.retries() {
        let Some(index) = table.index_of(name) else { continue };
        let slot = table
            .levels
            .get_mut(index)
            .filter(|slot| slot.state == LevelState::Failed);
        if let (Some(slot), Some(input)) = (slot, selection.inputs.get_mut(index)) {
            slot.state = LevelState::Unloaded;
            input.failed = false;
            selection.retry.push(index);
        }
    }
}

/// Carries out a plan; whether the table changed.
fn carry_out(world: Entity, table: &mut LevelTable, selection: &mut LevelSelection, pipeline: &mut Pipeline) -> bool {
    let load = std::mem::take(&mut selection.plan.load);
    let unload = std::mem::take(&mut selection.plan.unload);
    let retry = std::mem::take(&mut selection.retry);
    for &level in &unload {
        set_wanted(table, level as usize, false);
        pipeline.unload(table, selection, level as usize);
    }
    for &level in &load {
        set_wanted(table, level as usize, true);
        pipeline.load(world, table, selection, level as usize);
    }
    for &level in &retry {
        if selection.plan.wants(level) {
            pipeline.load(world, table, selection, level);
        }
    }
    let dropped = selection.plan.dropped;
    if dropped > 0 && table.dropped == 0 {
        warn!(
            "seamless world `{}`: {dropped} levels more are wanted than `LevelSettings::max_levels` allows; the least \
             urgent ones stay away",
            table.name()
        );
    }
    let changed = !(load.is_empty() && unload.is_empty() && retry.is_empty()) || table.dropped != dropped;
    table.dropped = dropped;
    tell_priorities(table, selection, &mut pipeline.streamer);
    // Their memory is used again.
    selection.plan.load = load;
    selection.plan.unload = unload;
    changed
}

fn set_wanted(table: &mut LevelTable, level: usize, wanted: bool) {
    if let Some(slot) = table.levels.get_mut(level) {
        slot.wanted = wanted;
    }
}

/// Tells the pipeline priorities that have changed by more than a little.
fn tell_priorities(table: &LevelTable, selection: &mut LevelSelection, streamer: &mut Streamer) {
    for (index, (level, told)) in table.levels.iter().zip(&mut selection.told).enumerate() {
        let (LevelState::Loading(_), Some(id)) = (level.state, level.instance) else {
            continue;
        };
        let Some(priority) = selection.plan.priority(index) else {
            continue;
        };
        if (priority - *told).abs() > PRIORITY_STEP * told.abs() {
            *told = priority;
            streamer.set_priority(id, priority);
        }
    }
}
