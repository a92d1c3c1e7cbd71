//! The main thread's part of the pipeline, once a frame and within the budget. See [`pump`].

mod blocking;
mod bulk;
mod coming;
mod frame;
mod gates;
mod in_flight;
mod insert;
mod levels;
mod lost;
mod memory;
mod objects;
mod order;
mod pin;
mod reload;
mod results;
mod singles;
mod sliced;
mod start;
mod target;
mod trace;
mod turns;
mod waiting;

use core::time::Duration;
use std::{collections::BTreeMap, sync::Arc};

use bevy_asset::AssetPath;
use bevy_ecs::{change_detection::Tick, prelude::*};
use bevy_log::debug_span;
use bevy_platform::time::Instant;
use bevy_tasks::TaskPool;

pub use self::blocking::BlockingLoads;
pub(crate) use self::frame::roll_frame;
pub(crate) use self::lost::{LostRoots, note_lost_root};
pub(crate) use self::reload::keep_ticks_valid;
use self::{
    coming::Coming, frame::Frames, gates::LevelGates, in_flight::InFlight, objects::ObjectRequests, reload::Reload,
    singles::Singles, sliced::Sweeps, waiting::Waiting,
};

use super::{
    InstanceEvent, InstanceId, InstanceRequest, InstanceTarget, Progress, Streamer,
    budget::FrameBudget,
    cost::{CostModel, UnitKind},
    file::PartJob,
    gate_clock::GateClock,
    held::HeldMemory,
    help::Help,
    instance::{Instance, Instances, Phase},
    link::LoadedLevel,
    memory::{MemoryPressure, Sizes},
    open::OpenJob,
    packages::{PackageStatus, Packages},
    rank::Arrivals,
    room::Room,
    stage::Stage,
    stall::Stalls,
    streamer::Command,
    task::LoadServices,
    tasks::{Task, Tasks},
};
use crate::{
    error::{LoadError, LoadErrorKind},
    gate::RevealGates,
    linker::Linker,
    settings::{StreamingClock, StreamingSettings, StreamingStats},
};

/// The state of the pipeline. Private: game code speaks to the [`Streamer`].
#[derive(Resource)]
pub(crate) struct Pipeline {
    services: LoadServices,
    keep_linkers: bool,
    instances: Instances,
    packages: Packages,
    objects: ObjectRequests,
    bulk: Singles<PartJob, Vec<u8>>,
    opens: Singles<OpenJob, Arc<Linker>>,
    waiting: Waiting,
    reloads: BTreeMap<InstanceId, Reload>,
    /// What a blocking load does itself; there only while one is under way.
    blocking: Option<Vec<Task>>,
    tasks: Tasks,
    stalls: Stalls,
    arrivals: Arrivals,
    in_flight: InFlight,
    gate_clock: GateClock,
    costs: CostModel,
    events: Vec<InstanceEvent>,
    frames: Frames,
    sizes: Sizes,
    held_memory: HeldMemory,
    pressure: MemoryPressure,
    /// Bytes that have to go so that the next load may start, …
    short: u64,
    /// … and of which level that is.
    short_for: Option<InstanceId>,
    /// What was in memory when that was found.
    short_at: u64,
    /// Loads that are not to be shown yet, and wait until memory is calm, …
    held: u64,
    /// … and since when they do.
    held_since: Option<Duration>,
    room: Room,
    frame: u64,
    inserted_in: Option<u64>,
    are_leaves_first: bool,
    leaves_held: u32,
    /// When the pipeline last ran: who looks in each frame has heard of what is older.
    heard: Tick,
    sweeps: Sweeps,
    level_gates: LevelGates,
    coming: Coming,
}

impl Pipeline {
    /// Loads on threads of its own, which may be in the `background`.
    pub fn new(services: LoadServices, threads: Arc<TaskPool>, background: bool, keep_linkers: bool) -> Self {
        let stalls = Stalls::new(threads.thread_num());
        let help = background.then(|| Help::new(threads.clone(), stalls.gates.decoding.clone()));
        Self {
            keep_linkers,
            sweeps: Sweeps::default(),
            level_gates: LevelGates::default(),
            coming: Coming::default(),
            stalls,
            tasks: Tasks::new(services.clone(), threads, help),
            services,
            instances: Instances::default(),
            packages: Packages::default(),
            objects: ObjectRequests::default(),
            bulk: Singles::default(),
            opens: Singles::default(),
            waiting: Waiting::default(),
            reloads: BTreeMap::new(),
            blocking: None,
            arrivals: Arrivals::default(),
            in_flight: InFlight::default(),
            gate_clock: GateClock::default(),
            costs: CostModel::default(),
            events: Vec::new(),
            frames: Frames::default(),
            sizes: Sizes::default(),
            held_memory: HeldMemory::default(),
            pressure: MemoryPressure::default(),
            short: 0,
            short_for: None,
            short_at: 0,
            held: 0,
            held_since: None,
            room: Room::default(),
            frame: 0,
            inserted_in: None,
            are_leaves_first: false,
            leaves_held: 0,
            heard: Tick::new(0),
        }
    }
}

/// One frame of the pipeline: results in, tasks out, assets in, levels out and in.
pub(crate) fn pump(world: &mut World) {
    let _span = debug_span!("pump").entered();
    let start = Instant::now();
    let units = world.resource_scope(|world, mut pipeline: Mut<Pipeline>| {
        let settings = world.resource::<StreamingSettings>().clone();
        let mut budget = pipeline.begin_frame(world, &settings);
        pipeline.services.pool.free_returned(world);
        pipeline.take_commands(world, &mut budget);
        // Where memory is short, it is looked at in each frame.
        let gives_way = pipeline.frames.gives_way() && pipeline.short == 0;
        if !gives_way {
            pipeline.take_results(world, settings.budget);
        }
        pipeline.look_after_tasks(world, &settings);
        pipeline.relieve(world, &mut budget);
        if !gives_way {
            pipeline.start_tasks(world, &settings);
        }
        // Who is to be shown from now on counts when it is decided whose frame it is.
        pipeline.check_level_gates(world, &settings);
        pipeline.trace_loads();
        let before = world.resource::<StreamingClock>().spent();
        pipeline.begin_units(before + start.elapsed(), &mut budget);
        let has_inserted = pipeline.insert_assets(world, &settings, &mut budget);
        pipeline.finish_objects(world);
        pipeline.drop_unwanted_singles(world);
        pipeline.drop_unwanted_reloads(world);
        pipeline.check_gates(world, &settings);
        pipeline.check_level_gates(world, &settings);
        pipeline.check_reload_gates(world, &settings);
        pipeline.find_lost_roots(world);
        pipeline.announce_loaded();
        // What was done since is learnt by what is reserved for it.
        budget.watch();
        if has_inserted {
            pipeline.inserted_in = Some(pipeline.frame);
        } else {
            pipeline.move_levels(world, &mut budget);
        }
        // What still waits to be dropped is in memory.
        let may_wait = budget.is_full() && pipeline.pressure < MemoryPressure::Tight;
        let units = pipeline.end_frame(budget);
        pipeline.publish(world);
        pipeline.tell_memory(world);
        pipeline.tasks.carry_off(may_wait);
        pipeline.heard = world.increment_change_tick();
        units
    });
    world
        .resource::<StreamingClock>()
        .add_with_units("the pipeline's bookkeeping", start.elapsed(), units);
}

impl Pipeline {
    fn take_commands(&mut self, world: &mut World, budget: &mut FrameBudget) {
        self.note_arrivals(world);
        self.note_essential(world.resource::<StreamingSettings>().essential_priority);
        let commands = core::mem::take(&mut world.resource_mut::<Streamer>().commands);
        let mut ranked = Vec::new();
        for command in commands {
            match command {
                Command::Load(id, request) => self.take_request(world, id, *request),
                Command::Objects(id, request, outcome) => self.take_objects(id, &request, &outcome),
                Command::Bulk(id, request, outcome) => self.take_bulk(id, request, &outcome),
                Command::FilePart(id, request, outcome) => self.take_file_part(id, request, &outcome),
                Command::Open(id, request, outcome) => self.take_open(id, request, &outcome),
                Command::Reload(id, request, outcome) => self.take_reload(id, &request, &outcome),
                Command::Priority(id, priority) => {
                    if let Some(mut instance) = self.instances.get_mut(&id) {
                        instance.request.priority = priority;
                    }
                    ranked.push(id);
                }
                Command::ObjectPriority(id, priority) => self.set_object_priority(id, priority),
                Command::Target(id, target) => self.set_target(world, id, target),
                Command::Expect(entities) => {
                    let start = Instant::now();
                    if self.room.expect(world, entities) {
                        budget.book(UnitKind::Room, start.elapsed(), || {
                            format!("make room for {entities} entities")
                        });
                    }
                }
            }
        }
        self.rank_again(&ranked);
    }

    fn take_request(&mut self, world: &mut World, id: InstanceId, request: InstanceRequest) {
        let is_unwanted = request.target == InstanceTarget::Gone;
        let depends_on_itself = request.dependencies.contains(&request.package);
        let package = request.package.to_string();
        let asked = self.arrivals.came(id.0);
        self.instances.insert(id, Instance::new(request, Phase::Queued, asked));
        if depends_on_itself {
            let error = LoadError::package(package, LoadErrorKind::SelfDependency);
            self.fail(world, id, Arc::new(error));
        } else if is_unwanted {
            self.set_target(world, id, InstanceTarget::Gone);
        }
    }

    /// Stops the task of an instance, unless it also loads its package's assets: those may have other users, and
    /// [`release`](Self::release) stops it when there are none.
    fn stop_task(&self, id: InstanceId, progress: &Arc<Progress>) {
        let package = self.instances.get(&id).map(|instance| &instance.request.package);
        let entry = package.and_then(|path| self.packages.get(path));
        if !entry.is_some_and(|entry| entry.is_loaded_by(progress)) {
            progress.cancel();
        }
    }

    /// Nobody will see the level.
    fn drop_level(&mut self, world: &mut World, level: Box<LoadedLevel>) {
        world.resource_mut::<StreamingStats>().waste(Stage::Staged, level.bytes);
        self.tasks.drop_later(level);
    }

    fn cancel(&mut self, world: &mut World, id: InstanceId) {
        world.resource_mut::<StreamingStats>().cancelled += 1;
        self.events.push(InstanceEvent::Cancelled { id });
        self.release(world, id);
        self.instances.remove(&id);
    }

    fn fail(&mut self, world: &mut World, id: InstanceId, error: Arc<LoadError>) {
        if self.reloads.contains_key(&id) {
            return self.fail_reload(world, id, error);
        }
        // Others have what they need; only who comes later needs more.
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.is_coming()) else {
            return;
        };
        error.tell(&instance.request.name);
        let Some(before) = self.instances.replace_phase(id, Phase::Failed) else {
            return;
        };
        match before {
            Phase::Loading(progress) => self.stop_task(id, &progress),
            Phase::Staged(level) => self.drop_level(world, level),
            Phase::Spawning(spawn) => self.abandon(world, spawn),
            other => self.tasks.drop_later(other),
        }
        world.resource_mut::<StreamingStats>().failed += 1;
        self.events.push(InstanceEvent::Failed { id, error });
        self.release(world, id);
    }

    /// The instance needs its packages no more; those without a user go, and with them their objects.
    fn release(&mut self, world: &mut World, id: InstanceId) {
        let instance = self.instances.get_mut(&id);
        let packages = instance.map(|mut instance| core::mem::take(&mut instance.packages));
        for path in packages.into_iter().flatten() {
            self.release_package(world, id, &path);
        }
    }

    fn release_package(&mut self, world: &mut World, id: InstanceId, path: &AssetPath<'static>) {
        let Some(mut entry) = self.packages.get_mut(path) else {
            return;
        };
        entry.users.remove(&id);
        let is_used = !entry.users.is_empty() || entry.is_pinned;
        drop(entry);
        if is_used {
            // It may have been the most urgent.
            self.rank_package(path);
            return;
        }
        let Some(mut entry) = self.packages.remove(path) else {
            return;
        };
        if let PackageStatus::Loading(progress) = &entry.status {
            progress.cancel();
        }
        entry.unwatch(world.resource::<RevealGates>());
        self.held_memory.let_go(&entry.held);
        if !entry.is_shown {
            world.resource_mut::<StreamingStats>().waste(Stage::Staged, entry.bytes);
        }
        self.tasks.drop_later(entry);
    }
}
