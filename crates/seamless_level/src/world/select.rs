//! The selection's place in the ECS: [`select_levels`] gathers its inputs and carries out its plan.

use std::collections::HashMap;

use bevy_ecs::{
    change_detection::{DetectChanges, DetectChangesMut, Ref},
    component::Component,
    entity::{Entity, EntityHashMap},
    system::{Local, Query, Res, ResMut, SystemParam},
};
use bevy_log::warn;
use bevy_time::{Real, Time};
use bevy_transform::components::GlobalTransform;
use seamless_asset::{InstanceId, LoadState, Streamer, StreamingClock};

use super::{InstanceIndex, LevelState, LevelTable, table::Level};
use crate::{
    requests::{LevelRequests, RequestId},
    select::{LevelInput, Presence, RequestKey, SelectionLimits, Selector, SourceInput, VolumeKey},
    settings::LevelSettings,
    source::StreamingSource,
    target::LevelTarget,
};

/// What the selection of one world needs, beside its table.
#[derive(Component)]
pub(crate) struct LevelSelection {
    pub selector: Selector,
    /// The world's volumes that can be used and are enabled.
    pub volumes: EntityHashMap<VolumeKey>,
    /// The app's requests for levels that the world has.
    requests: HashMap<RequestId, RequestKey>,
    /// Levels that the app wants to be tried again.
    retry: Vec<u32>,
}

impl LevelSelection {
    pub fn new(world: Entity, table: &LevelTable, requests: &LevelRequests) -> Self {
        let input = |level: &Level| LevelInput {
            always_loaded: level.entry.always_loaded,
        };
        let levels: Vec<LevelInput> = table.levels.iter().map(input).collect();
        let mut selection = Self {
            selector: Selector::new(&levels),
            volumes: EntityHashMap::default(),
            requests: HashMap::new(),
            retry: Vec::new(),
        };
        for id in requests.ids() {
            selection.apply(world, table, requests, id);
        }
        selection
    }

    /// Takes over a request that was made or taken back. It does no harm to be told twice.
    fn apply(&mut self, world: Entity, table: &LevelTable, requests: &LevelRequests, id: RequestId) {
        let known = self.requests.get(&id).copied();
        match (requests.get(id), known) {
            (Some(request), None) if request.world.is_none_or(|meant| meant == world) => {
                if let Some(level) = table.place_of(&request.level) {
                    let key = self.selector.request(level, request.kind, request.priority);
                    self.requests.insert(id, key);
                }
            }
            (None, Some(key)) => {
                self.selector.release(key);
                self.requests.remove(&id);
            }
            _ => {}
        }
    }
}

/// Takes requests to the pipeline, and remembers whose they are.
#[derive(SystemParam)]
pub(crate) struct Pipeline<'w> {
    pub streamer: ResMut<'w, Streamer>,
    pub index: ResMut<'w, InstanceIndex>,
}

impl Pipeline<'_> {
    /// Brings a level as far as its target says.
    fn aim(&mut self, world: Entity, table: &mut LevelTable, selection: &mut LevelSelection, level: u32) {
        let target = selection.selector.target(level);
        if let Some(slot) = table.levels.get_mut(level as usize) {
            slot.target = target;
        }
        match target {
            LevelTarget::Unloaded => self.unload(table, selection, level),
            LevelTarget::Loaded | LevelTarget::Visible => self.load(world, table, selection, level),
        }
    }

    /// Loads a level that is wanted, or says what is wanted now of one that is there or under way. One that was about to leave is kept,
    /// if it has not left yet.
    pub fn load(&mut self, world: Entity, table: &mut LevelTable, selection: &mut LevelSelection, level: u32) {
        let Some(slot) = table.levels.get_mut(level as usize) else {
            return;
        };
        match (slot.state, slot.instance) {
            (LevelState::Unloaded, _) => {
                let id = self.streamer.load(slot.request(selection.selector.priority(level)));
                self.index.insert(id, world, level);
                slot.instance = Some(id);
                slot.state = LevelState::Loading(LoadState::Requested);
                selection.selector.set_presence(level, Presence::Coming);
                table.follow(level);
            }
            (_, Some(id)) => {
                self.streamer.set_target(id, slot.target.into());
                self.streamer.set_priority(id, selection.selector.priority(level));
                slot.is_loaded &= slot.target == LevelTarget::Loaded;
                self.look_again(slot, id);
                let is_there = slot.state == LevelState::Visible
                    || slot.state == LevelState::Hidden && slot.target == LevelTarget::Loaded;
                let presence = if is_there { Presence::There } else { Presence::Coming };
                selection.selector.set_presence(level, presence);
                table.follow(level);
            }
            _ => {}
        }
    }

    /// Where a level is that is not to leave any more.
    fn look_again(&self, slot: &mut Level, id: InstanceId) {
        if slot.state != LevelState::Leaving {
            return;
        }
        // Until its turn comes, it is as it was.
        slot.state = match (slot.root, self.streamer.state(id)) {
            (Some(_), _) if slot.is_out_of_sight => LevelState::Hidden,
            (Some(_), _) => LevelState::Visible,
            (None, Some(state)) => slot.state_by(state),
            (None, None) => return,
        };
    }

    /// Lets go of a level that is not wanted any more.
    fn unload(&mut self, table: &mut LevelTable, selection: &mut LevelSelection, level: u32) {
        let Some(slot) = table.levels.get_mut(level as usize) else {
            return;
        };
        match (slot.state, slot.instance) {
            (LevelState::Failed, _) => slot.state = LevelState::Unloaded,
            (_, Some(id)) => {
                self.streamer.unload(id);
                slot.state = LevelState::Leaving;
            }
            _ => {}
        }
        selection.selector.set_presence(level, Presence::Away);
    }
}

/// The time that unload delays are measured in.
#[derive(SystemParam)]
pub(crate) struct Now<'w, 's> {
    time: Option<Res<'w, Time<Real>>>,
    frames: Local<'s, u32>,
}

impl Now<'_, '_> {
    /// In seconds. An app that does not measure time is taken to run at 60 Hz.
    fn seconds(&mut self) -> f64 {
        *self.frames = self.frames.wrapping_add(1);
        self.time
            .as_ref()
            .map_or(f64::from(*self.frames) / 60.0, |time| time.elapsed_secs_f64())
    }
}

/// Whether a source is where it says: one that was spawned since the last frame is not, as nothing was propagated to it. For one
/// frame it would ask for the levels at the origin, and they would linger.
fn has_place(transform: &Ref<GlobalTransform>) -> bool {
    !transform.is_added() || **transform != GlobalTransform::IDENTITY
}

/// Selects the levels of each world, and asks the pipeline for what changed.
pub(crate) fn select_levels(
    sources: Query<(&StreamingSource, Ref<GlobalTransform>)>,
    mut worlds: Query<(Entity, &mut LevelTable, &mut LevelSelection)>,
    mut requests: ResMut<LevelRequests>,
    settings: Res<LevelSettings>,
    mut pipeline: Pipeline,
    mut now: Now,
    mut positions: Local<Vec<SourceInput>>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure();
    positions.clear();
    positions.extend(
        sources
            .iter()
            .filter(|(source, transform)| source.enabled && has_place(transform))
            .map(|(source, transform)| SourceInput {
                position: transform.translation(),
                priority: source.priority,
            }),
    );
    let limits = SelectionLimits {
        max_levels: settings.max_levels,
    };
    let now = now.seconds();
    let requests = requests.bypass_change_detection();
    requests.take_dropped();
    for (world, mut table, mut selection) in &mut worlds {
        let selection = &mut *selection;
        if requests.has_changes() {
            apply_requests(world, requests, table.bypass_change_detection(), selection);
        }
        selection.selector.update(&positions, now, &limits);
        if carry_out(world, table.bypass_change_detection(), selection, &mut pipeline) {
            table.set_changed();
        }
    }
    requests.clear_changes();
}

/// Takes over what was asked for since the last frame.
fn apply_requests(world: Entity, requests: &LevelRequests, table: &mut LevelTable, selection: &mut LevelSelection) {
    for &id in requests.changed() {
        selection.apply(world, table, requests, id);
    }
    for name in requests.retries() {
        let Some(level) = table.place_of(name) else { continue };
        let slot = table
            .levels
            .get_mut(level as usize)
            .filter(|slot| slot.state == LevelState::Failed);
        if let Some(slot) = slot {
            slot.state = LevelState::Unloaded;
            selection.selector.set_presence(level, Presence::Away);
            selection.retry.push(level);
        }
    }
}

/// Carries out a plan; whether the table changed.
fn carry_out(world: Entity, table: &mut LevelTable, selection: &mut LevelSelection, pipeline: &mut Pipeline) -> bool {
    let plan = selection.selector.plan();
    let (falls, rises) = (plan.fall.len(), plan.rise.len());
    let dropped = plan.dropped;
    for place in 0..falls {
        if let Some(&(level, _)) = selection.selector.plan().fall.get(place) {
            pipeline.aim(world, table, selection, level);
        }
    }
    for place in 0..rises {
        if let Some(&(level, _)) = selection.selector.plan().rise.get(place) {
            pipeline.aim(world, table, selection, level);
        }
    }
    let retries = selection.retry.len();
    while let Some(level) = selection.retry.pop() {
        pipeline.aim(world, table, selection, level);
    }
    if dropped > 0 && table.dropped == 0 {
        warn!(
            "seamless world `{}`: {dropped} levels more are wanted than `LevelSettings::max_levels` allows; the least \
             urgent ones stay away",
            table.name()
        );
    }
    let changed = falls + rises + retries > 0 || table.dropped != dropped;
    table.dropped = dropped;
    tell_priorities(table, selection, &mut pipeline.streamer);
    changed
}

/// Tells the pipeline priorities that have changed by more than a little.
fn tell_priorities(table: &LevelTable, selection: &LevelSelection, streamer: &mut Streamer) {
    for &(level, priority) in &selection.selector.plan().priorities {
        if let Some(id) = table.levels.get(level as usize).and_then(|slot| slot.instance) {
            streamer.set_priority(id, priority);
        }
    }
}
