//! The selection's place in the ECS: [`select_levels`] gathers its inputs and carries out its plan.

use core::time::Duration;
use std::collections::{BTreeMap, HashMap};

use bevy_ecs::{
    change_detection::{DetectChanges, DetectChangesMut, Ref},
    component::Component,
    entity::{Entity, EntityHashMap},
    system::{Local, Query, Res, ResMut, SystemParam},
};
use bevy_log::{debug_span, warn, warn_once};
use bevy_math::BVec3;
use bevy_time::{Real, Time};
use bevy_transform::{components::GlobalTransform, helper::TransformHelper};
use seamless_asset::{
    InstanceId, LoadState, Streamer, StreamingClock, StreamingTime, StreamingUrgency, Viewpoint, Viewpoints,
};

use super::{
    DistanceStreaming, InstanceIndex, LevelState, LevelTable,
    build::Freed,
    caps::{Caps, Worlds},
    table::Level,
    volumes::NamingVolumes,
};
use crate::{
    arrival::Arrivals,
    requests::{LevelRequests, RequestId, RequestKind},
    select::{LevelInput, Presence, RequestKey, Selector, SourceInput, VolumeKey},
    settings::LevelSettings,
    source::{GatheredSources, SourceMotion, StreamingSource},
    target::LevelTarget,
};

/// What the selection of one world needs, beside its table.
#[derive(Component)]
pub(crate) struct LevelSelection {
    pub selector: Selector,
    /// The world's volumes that can be used and are enabled.
    pub volumes: EntityHashMap<VolumeKey>,
    /// Those of them that name levels which the manifest has not.
    pub(super) naming: NamingVolumes,
    /// Levels that were added and removed since volumes and distances looked: their places and names.
    pub(super) renamed: Vec<(u32, String)>,
    /// Volumes that nobody placed: those of levels that come by their distance, by the level and which of its distances it is for.
    pub(super) distances: BTreeMap<(u32, u8), VolumeKey>,
    /// What these follow from.
    pub(super) by_distance: Option<DistanceStreaming>,
    /// The app's requests for levels that the world has.
    requests: HashMap<RequestId, RequestKey>,
    /// Levels that are to be tried again now.
    retry: Vec<u32>,
    /// Levels that are to be tried again later, and when, in seconds.
    later: Vec<(u32, f64)>,
    /// Those that failed since the last selection, and how long each waits: the frame in which it failed may have taken long.
    failed: Vec<(u32, Duration)>,
    /// What keeps those away that were removed.
    bans: HashMap<u32, RequestKey>,
    pub(super) freed: Freed,
}

impl LevelSelection {
    /// The selection of a table, before anybody asks for anything.
    pub fn new(table: &LevelTable) -> Self {
        let levels: Vec<LevelInput> = table.iter().map(LevelInput::from).collect();
        Self {
            selector: Selector::new(&levels),
            volumes: EntityHashMap::default(),
            naming: NamingVolumes::default(),
            renamed: Vec::new(),
            distances: BTreeMap::new(),
            by_distance: None,
            requests: HashMap::new(),
            retry: Vec::new(),
            later: Vec::new(),
            failed: Vec::new(),
            bans: HashMap::new(),
            freed: Freed::default(),
        }
    }

    /// Who is in a level is told by these axes, or by those of the distances, where these leave any out.
    pub fn count_axes(&mut self, usual: BVec3) {
        let of_distances = self.by_distance.map(|distances| distances.axes);
        let axes = of_distances.filter(|axes| !axes.all());
        self.selector.set_arrival_axes(axes.unwrap_or(usual));
    }

    /// A level that failed is to be tried again, so long after the next selection.
    pub fn retry_after(&mut self, level: u32, wait: Duration) {
        self.failed.push((level, wait));
    }

    /// What waited for this time is tried again, as far as it is still wanted.
    fn pass_time(&mut self, table: &mut LevelTable, now: f64) {
        let failed = self.failed.drain(..);
        self.later
            .extend(failed.map(|(level, wait)| (level, now + wait.as_secs_f64())));
        let (retry, selector) = (&mut self.retry, &mut self.selector);
        let LevelTable { levels, counts, .. } = table;
        self.later.retain(|(level, due)| {
            let Some(slot) = levels.get_mut(*level) else {
                return false;
            };
            if slot.state() != LevelState::Failed || slot.retry_in.is_none() {
                return false;
            }
            slot.retry_in = Duration::try_from_secs_f64(due - now)
                .ok()
                .filter(|wait| !wait.is_zero());
            if slot.retry_in.is_none() {
                slot.set_state(LevelState::Unloaded, counts);
                selector.set_presence(*level, Presence::Away);
                retry.push(*level);
            }
            slot.retry_in.is_some()
        });
    }

    /// The table has a level more, or another one in the place of one that was removed.
    pub fn add_level(&mut self, place: u32, level: &Level) {
        let input = LevelInput::from(level);
        match self.bans.remove(&place) {
            Some(ban) => {
                self.selector.release(ban);
                self.selector.replace_level(place, &input);
            }
            None => drop(self.selector.add_level(&input)),
        }
        self.renamed.push((place, level.name().to_owned()));
    }

    /// Whether nobody asks for what is in the place of a level that was removed, and nobody has to be told so.
    pub fn is_free(&self, level: u32) -> bool {
        let is_let_go = self.selector.target(level) == LevelTarget::Unloaded;
        is_let_go && self.bans.contains_key(&level) && self.selector.askers(level) == 1
    }

    /// Levels are to leave, and nobody asks for them by their names any more.
    pub fn remove_levels(&mut self, gone: HashMap<String, u32>, requests: &LevelRequests) {
        for level in gone.values() {
            let ban = self.selector.request(*level, RequestKind::Ban, 0.0);
            self.bans.insert(*level, ban);
        }
        for id in gone.keys().flat_map(|name| requests.of(name)) {
            if let Some(key) = self.requests.remove(&id) {
                self.selector.release(key);
            }
        }
        self.renamed.extend(gone.into_iter().map(|(name, level)| (level, name)));
    }

    /// Takes over all requests: levels may be there that were not when they were made.
    pub fn look_for_all(&mut self, world: Entity, table: &LevelTable, requests: &LevelRequests) {
        for id in requests.ids() {
            self.apply(world, table, requests, id);
        }
    }

    /// Takes over those for a level that is new.
    pub fn look_for(&mut self, world: Entity, table: &LevelTable, requests: &LevelRequests, level: &str) {
        for id in requests.of(level) {
            self.apply(world, table, requests, id);
        }
    }

    /// Takes over a request that was made or taken back. It does no harm to be told twice.
    fn apply(&mut self, world: Entity, table: &LevelTable, requests: &LevelRequests, id: RequestId) {
        let known = self.requests.get(&id).copied();
        match (requests.get(id), known) {
            (Some(request), None) => {
                if let Some(level) = table.meant_by(world, request) {
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

impl From<&Level> for LevelInput {
    fn from(level: &Level) -> Self {
        let entry = &level.entry;
        Self {
            always_loaded: entry.always_loaded,
            // One whose size is not known weighs something all the same, so that it can go for another one.
            bytes: entry.bytes.max(1),
            bounds: entry.bounds.map(|(min, max)| (min.into(), max.into())),
        }
    }
}

impl Drop for LevelSelection {
    fn drop(&mut self) {
        let (selector, volumes) = (core::mem::take(&mut self.selector), self.volumes.len());
        self.freed.free(volumes + self.distances.len(), selector);
    }
}

/// Takes requests to the pipeline, and remembers whose they are.
#[derive(SystemParam)]
pub(crate) struct Pipeline<'w> {
    pub streamer: ResMut<'w, Streamer>,
    pub index: ResMut<'w, InstanceIndex>,
    pub time: Res<'w, StreamingTime>,
}

impl Pipeline<'_> {
    /// Brings a level as far as its target says.
    fn aim(&mut self, world: Entity, table: &mut LevelTable, selection: &mut LevelSelection, level: u32) {
        let target = selection.selector.target(level);
        if let Some(slot) = table.levels.get_mut(level) {
            slot.pass(self.time.now());
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
        let LevelTable { levels, counts, .. } = table;
        let Some(slot) = levels.get_mut(level) else {
            return;
        };
        match (slot.state(), slot.instance) {
            (LevelState::Unloaded, _) => {
                let id = self.streamer.load(slot.request(selection.selector.priority(level)));
                self.index.insert(id, world, level);
                slot.instance = Some(id);
                slot.set_state(LevelState::Loading(LoadState::Requested), counts);
                slot.begin(self.time.now());
                selection.selector.set_presence(level, Presence::Coming);
                table.follow(level);
            }
            (_, Some(id)) => {
                self.streamer.set_target(id, slot.target.into());
                self.streamer.set_priority(id, selection.selector.priority(level));
                if let Some(state) = self.look_again(slot, id) {
                    slot.set_state(state, counts);
                }
                let is_there = slot.state() == LevelState::Visible
                    || slot.state() == LevelState::Hidden && slot.target == LevelTarget::Loaded;
                let presence = if is_there { Presence::There } else { Presence::Coming };
                selection.selector.set_presence(level, presence);
                table.follow(level);
            }
            _ => {}
        }
    }

    /// Where a level is that was to leave, and is not to any more.
    fn look_again(&self, slot: &Level, id: InstanceId) -> Option<LevelState> {
        if slot.state() != LevelState::Leaving {
            return None;
        }
        // Until its turn comes, it is as it was.
        match (slot.root, self.streamer.state(id)) {
            (Some(_), _) if slot.is_out_of_sight => Some(LevelState::Hidden),
            (Some(_), _) => Some(LevelState::Visible),
            (None, state) => Some(slot.state_by(state?)),
        }
    }

    /// Lets go of a level that is not wanted any more.
    fn unload(&mut self, table: &mut LevelTable, selection: &mut LevelSelection, level: u32) {
        let LevelTable { levels, counts, .. } = table;
        let Some(slot) = levels.get_mut(level) else {
            return;
        };
        // Also those of a load that is cancelled: it may be wanted again before it is gone.
        slot.forget_failures();
        match (slot.state(), slot.instance) {
            (LevelState::Failed, _) => slot.set_state(LevelState::Unloaded, counts),
            (_, Some(id)) => {
                self.streamer.unload(id);
                slot.set_state(LevelState::Leaving, counts);
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

/// How long a frame takes in an app that does not measure time.
const FRAME: f64 = 1.0 / 60.0;

impl Now<'_, '_> {
    /// In seconds. An app that does not measure time is taken to run at 60 Hz.
    pub fn seconds(&mut self) -> f64 {
        *self.frames = self.frames.wrapping_add(1);
        self.time
            .as_ref()
            .map_or(f64::from(*self.frames) * FRAME, |time| time.elapsed_secs_f64())
    }

    /// How long ago things were where they are: places are propagated at the end of a frame, with the time of that frame.
    fn since_last(&self) -> f64 {
        self.time.as_ref().map_or(FRAME, |time| time.delta_secs_f64())
    }
}

/// The sources of all apps' worlds.
#[derive(SystemParam)]
pub(crate) struct Sources<'w, 's> {
    sources: Query<
        'w,
        's,
        (
            Entity,
            &'static StreamingSource,
            Ref<'static, GlobalTransform>,
            &'static mut SourceMotion,
        ),
    >,
    settings: Res<'w, LevelSettings>,
    places: TransformHelper<'w, 's>,
}

impl Sources<'_, '_> {
    /// Lists those that ask for levels. Where their places are not known before they are propagated, they were there `ago`.
    fn gather(&mut self, (now, ago): (f64, f64), are_places_known: bool, inputs: &mut GatheredSources) {
        inputs.clear();
        for (entity, source, propagated, mut motion) in &mut self.sources {
            if !source.is_followed(self.settings.follow_remote) {
                continue;
            }
            let place = are_places_known
                .then(|| self.places.compute_global_transform(entity).ok())
                .flatten();
            let (place, at) = match place {
                Some(place) => (place, now),
                None if has_place(&propagated) => (*propagated, now - ago),
                None => continue,
            };
            let motion = motion.bypass_change_detection();
            motion.note(place.translation(), at);
            let input = source.input(entity.to_bits(), &place, motion.velocity());
            if !input.has_finite_settings() {
                warn_once!(
                    "the streaming source {entity} asks for nothing: {source:?} has a number that is infinite or none"
                );
            }
            inputs.push(source.world, input);
        }
    }
}

/// Whether a source is where its transform was last propagated to: one that was spawned since the last frame is not, as nothing was propagated to it. For one
/// frame it would ask for the levels at the origin, and they would linger.
fn has_place(transform: &Ref<GlobalTransform>) -> bool {
    !transform.is_added() || **transform != GlobalTransform::IDENTITY
}

/// Selects the levels of each world, and asks the pipeline for what changed.
pub(crate) fn select_levels(
    mut sources: Sources,
    mut caps: Caps,
    mut worlds: Worlds,
    mut requests: ResMut<LevelRequests>,
    mut arrivals: ResMut<Arrivals>,
    mut pipeline: Pipeline,
    mut now: Now,
    mut inputs: Local<GatheredSources>,
    (mut urgency, mut viewpoints): (ResMut<StreamingUrgency>, ResMut<Viewpoints>),
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("selecting levels");
    let _span = debug_span!("select").entered();
    let (now, ago) = (now.seconds(), now.since_last());
    let arrivals = arrivals.bypass_change_detection();
    sources.gather((now, ago), arrivals.are_places_known, &mut inputs);
    arrivals.begin();
    tell_viewpoints(arrivals, &mut viewpoints);
    let limits = caps.limits(&mut worlds, now);
    let mut arrival: Option<f32> = None;
    let requests = requests.bypass_change_detection();
    requests.take_dropped();
    for (world, mut table, mut selection) in &mut worlds {
        let selection = &mut *selection;
        if requests.has_changes() {
            apply_requests(world, requests, table.bypass_change_detection(), selection);
        }
        selection.pass_time(table.bypass_change_detection(), now);
        // What would be called late is what the budget grows for.
        selection.count_axes(sources.settings.arrival_axes);
        let inputs = inputs.of(world, arrivals.sources(world));
        let plan = selection.selector.update(inputs, now, &limits);
        arrival = arrival.into_iter().chain(plan.arrival).reduce(f32::min);
        if carry_out(world, table.bypass_change_detection(), selection, &mut pipeline) {
            table.set_changed();
        }
    }
    requests.clear_changes();
    pipeline.index.unheard.clear(sources.settings.follow_remote);
    urgency.set_if_neq(StreamingUrgency { arrival });
}

/// Tells where somebody is expected, if that has changed.
fn tell_viewpoints(arrivals: &Arrivals, viewpoints: &mut ResMut<Viewpoints>) {
    let viewpoint = |input: SourceInput| {
        Some(Viewpoint {
            position: input.expected()?,
            weight: input.priority.max(0.0),
        })
    };
    let expected = || arrivals.all().filter_map(viewpoint);
    if !viewpoints.0.iter().copied().eq(expected()) {
        viewpoints.0.clear();
        viewpoints.0.extend(expected());
    }
}

/// Takes over what was asked for since the last frame.
fn apply_requests(world: Entity, requests: &LevelRequests, table: &mut LevelTable, selection: &mut LevelSelection) {
    for &id in requests.changed() {
        selection.apply(world, table, requests, id);
    }
    for name in requests.retries() {
        let Some(level) = table.place_of(name) else { continue };
        let LevelTable { levels, counts, .. } = &mut *table;
        let slot = levels.get_mut(level).filter(|slot| slot.state() == LevelState::Failed);
        if let Some(slot) = slot {
            slot.set_state(LevelState::Unloaded, counts);
            slot.forget_failures();
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
            "seamless world `{}`: {dropped} levels more are wanted than `LevelSettings::max_levels`, `max_bytes` and \
             `StreamingSettings::memory_ceiling` allow; the least urgent ones stay away",
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
        if let Some(id) = table.at(level).and_then(|slot| slot.instance) {
            streamer.set_priority(id, priority);
        }
    }
}
