//! The main thread's part of the pipeline, once a frame and within the budget. See [`pump`].

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use bevy_asset::AssetPath;
use bevy_ecs::{prelude::*, message::Messages};
use bevy_log::{error, warn};
use bevy_platform::{collections::HashMap, time::Instant};
use bevy_tasks::{AsyncComputeTaskPool, IoTaskPool};

use super::{
    InstanceEvent, InstanceId, LoadState, Progress, Streamer,
    budget::{Estimates, FrameBudget, Work},
    instance::{Instance, Phase, by_priority},
    link::{LoadedAsset, LoadedPackage},
    packages::{PackageEntry, PackageStatus},
    streamer::Command,
    task::{Job, LoadServices, Read, Stop, load_package},
};
use crate::{
    error::{LoadError, LoadErrorKind},
    gate::RevealGates,
    reveal,
    settings::{OVERRUNS_KEPT, Overrun, StreamingClock, StreamingSettings, StreamingStats},
};

/// The state of the pipeline. Private: game code speaks to the [`Streamer`].
#[derive(Resource)]
pub(crate) struct Pipeline {
    services: LoadServices,
    instances: BTreeMap<InstanceId, Instance>,
    packages: HashMap<AssetPath<'static>, PackageEntry>,
    finished: Arc<Mutex<Vec<Finished>>>,
    in_flight: usize,
    estimates: Estimates,
    events: Vec<InstanceEvent>,
    largest: Option<String>,
    frame: u64,
}

/// The end of a task.
struct Finished {
    path: AssetPath<'static>,
    instance: Option<InstanceId>,
    progress: Arc<Progress>,
    read: Read,
    result: Result<LoadedPackage, Stop>,
}

impl Pipeline {
    pub fn new(services: LoadServices) -> Self {
        Self {
            services,
            instances: BTreeMap::new(),
            packages: HashMap::default(),
            finished: Arc::default(),
            in_flight: 0,
            estimates: Estimates::default(),
            events: Vec::new(),
            largest: None,
            frame: 0,
        }
    }
}

/// One frame of the pipeline: results in, tasks out, assets in, levels out and in.
pub(crate) fn pump(world: &mut World) {
    let start = Instant::now();
    world.resource_scope(|world, mut pipeline: Mut<Pipeline>| {
        let settings = world.resource::<StreamingSettings>().clone();
        let spent = world.resource::<StreamingClock>().spent();
        let mut budget = FrameBudget::new(settings.budget, spent);
        pipeline.frame = world.resource::<StreamingStats>().frame;
        pipeline.services.pool.free_returned(world);
        pipeline.take_commands(world);
        pipeline.take_results(world);
        pipeline.start_tasks(&settings);
        pipeline.insert_assets(world, &settings, &mut budget);
        pipeline.check_gates(world, &settings);
        pipeline.find_lost_roots(world);
        // Whoever goes first takes most of a full frame, so they take turns.
        if pipeline.frame.is_multiple_of(2) {
            pipeline.reveal_levels(world, &mut budget);
            pipeline.leave_levels(world, &mut budget);
        } else {
            pipeline.leave_levels(world, &mut budget);
            pipeline.reveal_levels(world, &mut budget);
        }
        pipeline.largest = budget.largest();
        pipeline.publish(world);
    });
    world.resource::<StreamingClock>().add(start.elapsed());
}

/// Closes the frame's account: what the streaming work took, and whether that was too long.
pub(crate) fn roll_frame(
    clock: Res<StreamingClock>,
    settings: Res<StreamingSettings>,
    mut pipeline: ResMut<Pipeline>,
    mut stats: ResMut<StreamingStats>,
) {
    let took = clock.restart();
    let what = pipeline.largest.take();
    if took > settings.budget {
        stats.overrun_count += 1;
        if stats.overruns.len() < OVERRUNS_KEPT {
            let frame = stats.frame;
            let what = what.unwrap_or_else(|| "many small units".to_owned());
            stats.overruns.push(Overrun { frame, took, what });
        }
    }
    stats.last_frame = took;
    stats.frame += 1;
}

impl Pipeline {
    fn take_commands(&mut self, world: &mut World) {
        let commands = core::mem::take(&mut world.resource_mut::<Streamer>().commands);
        for command in commands {
            match command {
                Command::Load(id, request) => {
                    let phase = Phase::Queued;
                    let request = *request;
                    if request.dependencies.contains(&request.package) {
                        let error = LoadError::package(request.package.to_string(), LoadErrorKind::SelfDependency);
                        self.instances.insert(id, Instance { request, phase });
                        self.fail(world, id, Arc::new(error));
                    } else {
                        self.instances.insert(id, Instance { request, phase });
                    }
                }
                Command::Priority(id, priority) => {
                    if let Some(instance) = self.instances.get_mut(&id) {
                        instance.request.priority = priority;
                    }
                }
                Command::Unload(id) => self.unload(world, id),
            }
        }
    }

    fn unload(&mut self, world: &mut World, id: InstanceId) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        match core::mem::replace(&mut instance.phase, Phase::Failed) {
            Phase::Live { root, entities } | Phase::Leaving { root, entities } => {
                instance.phase = Phase::Leaving { root, entities };
            }
            Phase::Failed => {
                self.instances.remove(&id);
            }
            Phase::Loading(progress) => {
                self.stop_task(id, &progress);
                self.cancel(world, id);
            }
            Phase::Staged(level, imports) => {
                drop_elsewhere((level, imports));
                self.cancel(world, id);
            }
            Phase::Queued => self.cancel(world, id),
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

    fn cancel(&mut self, world: &mut World, id: InstanceId) {
        world.resource_mut::<StreamingStats>().cancelled += 1;
        self.events.push(InstanceEvent::Cancelled { id });
        self.release(world, id);
        self.instances.remove(&id);
    }

    fn fail(&mut self, world: &mut World, id: InstanceId, error: Arc<LoadError>) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        error!("level `{}` cannot be loaded: {error}", instance.request.name);
        match core::mem::replace(&mut instance.phase, Phase::Failed) {
            Phase::Loading(progress) => self.stop_task(id, &progress),
            other => drop_elsewhere(other),
        }
        world.resource_mut::<StreamingStats>().failed += 1;
        self.events.push(InstanceEvent::Failed { id, error });
        self.release(world, id);
    }

    /// The instance needs its packages no more; those without a user go, and with them their objects.
    fn release(&mut self, world: &mut World, id: InstanceId) {
        let Some(instance) = self.instances.get(&id) else { return };
        let paths: Vec<_> = instance.packages().cloned().collect();
        for path in paths {
            let Some(entry) = self.packages.get_mut(&path) else { continue };
            entry.users.remove(&id);
            if !entry.users.is_empty() {
                continue;
            }
            let Some(entry) = self.packages.remove(&path) else { continue };
            if let PackageStatus::Loading(progress) = &entry.status {
                progress.cancel();
            } else {
                world.resource::<RevealGates>().forget(&entry.assets);
            }
            // Dropping many handles and values takes time; a task has it.
            drop_elsewhere(entry);
        }
    }

    fn take_results(&mut self, world: &mut World) {
        let finished = core::mem::take(&mut *self.finished.lock().unwrap_or_else(PoisonError::into_inner));
        for finished in finished {
            self.in_flight = self.in_flight.saturating_sub(1);
            let wasted = finished.result.is_err();
            let mut stats = world.resource_mut::<StreamingStats>();
            stats.bytes_read += finished.read.bytes;
            if wasted {
                stats.bytes_wasted += finished.read.bytes;
            }
            let Finished { path, instance, progress, read, result } = finished;
            match result {
                Ok(loaded) => self.take_loaded(world, &path, instance, &progress, read, loaded),
                Err(Stop::Cancelled) => {}
                Err(Stop::Failed(error)) => self.take_failed(world, &path, instance, &progress, error),
            }
        }
    }

    fn take_loaded(
        &mut self,
        world: &mut World,
        path: &AssetPath<'static>,
        instance: Option<InstanceId>,
        progress: &Arc<Progress>,
        read: Read,
        mut loaded: LoadedPackage,
    ) {
        let level = loaded.level.take();
        let imports = core::mem::take(&mut loaded.imports);
        let entry = self.packages.get_mut(path);
        if let Some(entry) = entry.filter(|entry| entry.is_loaded_by(progress)) {
            entry.name = loaded.name;
            entry.exports = loaded.exports.into_iter().collect();
            entry.handles = loaded.handles;
            entry.handles.append(&mut loaded.imported);
            entry.assets = loaded.assets.iter().filter(|asset| asset.value.is_rendered()).map(|asset| asset.asset).collect();
            entry.bytes = read.bytes;
            entry.status = PackageStatus::Inserting(loaded.assets.into());
        } else {
            if progress.is_cancelled() {
                world.resource_mut::<StreamingStats>().bytes_wasted += read.bytes;
            }
            drop_elsewhere(loaded);
        }
        let waiting = instance.and_then(|id| self.instances.get_mut(&id));
        match (waiting, level) {
            (Some(instance), Some(level)) if matches!(instance.phase, Phase::Loading(_)) => {
                instance.phase = Phase::Staged(Box::new(level), imports);
            }
            (_, level) => drop_elsewhere((level, imports)),
        }
    }

    fn take_failed(
        &mut self,
        world: &mut World,
        path: &AssetPath<'static>,
        instance: Option<InstanceId>,
        progress: &Arc<Progress>,
        error: LoadError,
    ) {
        let error = Arc::new(error);
        if let Some(entry) = self.packages.get_mut(path)
            && entry.is_loaded_by(progress)
        {
            entry.status = PackageStatus::Failed;
            let users: Vec<_> = entry.users.iter().copied().collect();
            for user in users {
                if instance == Some(user) {
                    continue;
                }
                let package = self.instances.get(&user).map(|user| user.request.package.to_string());
                let kind = LoadErrorKind::Dependency {
                    package: path.to_string(),
                    message: error.to_string(),
                };
                self.fail(world, user, Arc::new(LoadError::package(package.unwrap_or_default(), kind)));
            }
        }
        if let Some(id) = instance
            && self.instances.get(&id).is_some_and(|instance| matches!(instance.phase, Phase::Loading(_)))
        {
            self.fail(world, id, error);
        }
    }

    /// Starts the most urgent requests while tasks are free.
    fn start_tasks(&mut self, settings: &StreamingSettings) {
        if self.in_flight >= settings.max_loads_in_flight {
            return;
        }
        let mut queued: Vec<_> = self
            .instances
            .iter()
            .filter(|(_, instance)| matches!(instance.phase, Phase::Queued))
            .map(|(id, instance)| (instance.request.priority, *id))
            .collect();
        queued.sort_unstable_by(|a, b| by_priority(*a, *b));
        for (_, id) in queued {
            if self.in_flight >= settings.max_loads_in_flight {
                break;
            }
            self.start(id);
        }
    }

    fn start(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        let progress = Arc::new(Progress::default());
        instance.phase = Phase::Loading(progress.clone());
        let own = instance.request.package.clone();
        let others = instance.request.dependencies.clone();
        for path in others {
            let entry = match self.packages.get_mut(&path) {
                Some(entry) => entry,
                None => {
                    let progress = Arc::new(Progress::default());
                    let job = Job { path: path.clone(), assets: true, level: false, progress: progress.clone() };
                    Self::spawn(&self.services, &self.finished, &mut self.in_flight, job, None);
                    self.packages.entry(path).or_insert(PackageEntry::loading(progress))
                }
            };
            entry.users.insert(id);
        }
        let known = self.packages.contains_key(&own);
        let job = Job { path: own.clone(), assets: !known, level: true, progress: Arc::clone(&progress) };
        Self::spawn(&self.services, &self.finished, &mut self.in_flight, job, Some(id));
        let entry = self.packages.entry(own).or_insert_with(|| PackageEntry::loading(progress));
        entry.users.insert(id);
    }

    fn spawn(
        services: &LoadServices,
        finished: &Arc<Mutex<Vec<Finished>>>,
        in_flight: &mut usize,
        job: Job,
        instance: Option<InstanceId>,
    ) {
        *in_flight += 1;
        let (services, finished) = (services.clone(), finished.clone());
        IoTaskPool::get()
            .spawn(async move {
                let (path, progress) = (job.path.clone(), job.progress.clone());
                let mut read = Read::default();
                let result = load_package(services, job, &mut read).await;
                let done = Finished { path, instance, progress, read, result };
                finished.lock().unwrap_or_else(PoisonError::into_inner).push(done);
            })
            // It is cancelled by a flag, so that what it holds always comes back.
            .detach();
    }

    /// Moves decoded assets into their `Assets`, as many as time and bytes allow.
    fn insert_assets(&mut self, world: &mut World, settings: &StreamingSettings, budget: &mut FrameBudget) {
        let mut bytes = 0_u64;
        let mut paths: Vec<_> = self.packages.iter().filter(|(_, entry)| matches!(entry.status, PackageStatus::Inserting(_))).map(|(path, entry)| {
            (entry.users.iter().min().copied(), path.clone())
        }).collect();
        paths.sort_unstable_by_key(|(user, _)| *user);
        for (_, path) in paths {
            let Some(entry) = self.packages.get_mut(&path) else { continue };
            let PackageStatus::Inserting(queue) = &mut entry.status else { continue };
            while let Some(asset) = queue.front() {
                let estimate = self.estimates.of(Work::Insert, asset.bytes);
                let fits = bytes == 0 || bytes + asset.bytes <= settings.upload_bytes_per_frame;
                if !fits || !budget.allows(estimate) {
                    return;
                }
                let Some(asset) = queue.pop_front() else { break };
                let start = Instant::now();
                let LoadedAsset { id, asset: handle, value, name, bytes: size } = asset;
                if self.services.objects.provide(id) {
                    value.insert(world, handle);
                } else {
                    drop_elsewhere(value);
                }
                let took = start.elapsed();
                bytes += size;
                self.estimates.learn(Work::Insert, size, took);
                budget.book(took, || format!("insert {name} of {path} ({size} bytes)"));
            }
            world.resource::<RevealGates>().watch(&entry.assets);
            entry.status = PackageStatus::Gated { since: self.frame };
        }
    }

    fn check_gates(&mut self, world: &mut World, settings: &StreamingSettings) {
        let mut deadlines = 0;
        let gates = world.resource::<RevealGates>();
        for (path, entry) in &mut self.packages {
            let PackageStatus::Gated { since } = entry.status else { continue };
            let open = gates.is_open(&entry.assets);
            let late = self.frame.saturating_sub(since) >= u64::from(settings.gate_deadline_frames);
            if !open && late {
                deadlines += 1;
                warn!("{path}: not all of its {} assets were ready within {} frames; its levels are revealed without them", entry.assets.len(), settings.gate_deadline_frames);
            }
            if open || late {
                gates.forget(&entry.assets);
                entry.status = PackageStatus::Ready;
            }
        }
        world.resource_mut::<StreamingStats>().gate_deadlines += deadlines;
    }

    /// A live level whose root was despawned by somebody else has left, too.
    fn find_lost_roots(&mut self, world: &World) {
        for instance in self.instances.values_mut() {
            let Phase::Live { root, entities } = &mut instance.phase else { continue };
            if !world.entities().contains_spawned(*root) {
                let (root, entities) = (*root, core::mem::take(entities));
                instance.phase = Phase::Leaving { root, entities };
            }
        }
    }

    fn leave_levels(&mut self, world: &mut World, budget: &mut FrameBudget) {
        let leaving: Vec<_> = self
            .instances
            .iter()
            .filter(|(_, instance)| matches!(instance.phase, Phase::Leaving { .. }))
            .map(|(id, _)| *id)
            .collect();
        for id in leaving {
            let Some(instance) = self.instances.get_mut(&id) else { continue };
            let Phase::Leaving { root, entities } = &mut instance.phase else { continue };
            let count = entities.len() as u64;
            if !budget.allows(self.estimates.of(Work::Leave, count)) {
                return;
            }
            let (root, entities) = (*root, core::mem::take(entities));
            let start = Instant::now();
            reveal::leave(world, root, &entities);
            self.events.push(InstanceEvent::Left { id });
            self.release(world, id);
            let took = start.elapsed();
            self.estimates.learn(Work::Leave, count, took);
            let removed = self.instances.remove(&id);
            budget.book(took, || format!("leave {} ({count} entities)", removed.map(|gone| gone.request.name).unwrap_or_default()));
            let mut stats = world.resource_mut::<StreamingStats>();
            stats.left += 1;
            drop_elsewhere(entities);
        }
    }

    fn reveal_levels(&mut self, world: &mut World, budget: &mut FrameBudget) {
        let mut staged: Vec<_> = self
            .instances
            .iter()
            .filter(|(_, instance)| matches!(instance.phase, Phase::Staged(..)))
            .filter(|(_, instance)| instance.packages().all(|path| self.packages.get(path).is_some_and(PackageEntry::is_ready)))
            .map(|(id, instance)| (instance.request.priority, *id))
            .collect();
        staged.sort_unstable_by(|a, b| by_priority(*a, *b));
        for (_, id) in staged {
            if let Err(error) = self.check_imports(id) {
                self.fail(world, id, Arc::new(error));
                continue;
            }
            let Some(instance) = self.instances.get_mut(&id) else { continue };
            let Phase::Staged(level, _) = &instance.phase else { continue };
            let count = level.level.entities.len() as u64;
            if !budget.allows(self.estimates.of(Work::Reveal, count)) {
                return;
            }
            let Phase::Staged(level, _) = core::mem::replace(&mut instance.phase, Phase::Failed) else { continue };
            let start = Instant::now();
            let revealed = reveal::reveal(world, *level, &instance.request, &self.services);
            let took = start.elapsed();
            self.estimates.learn(Work::Reveal, count, took);
            budget.book(took, || format!("reveal {} ({count} entities)", instance.request.name));
            self.events.push(InstanceEvent::Revealed { id, root: revealed.root, entities: count as u32 });
            instance.phase = Phase::Live { root: revealed.root, entities: revealed.entities };
            world.resource_mut::<StreamingStats>().revealed += 1;
        }
    }

    /// Every import must be an export of one of the instance's packages; they are all loaded by now.
    fn check_imports(&self, id: InstanceId) -> Result<(), LoadError> {
        let Some(instance) = self.instances.get(&id) else { return Ok(()) };
        let Phase::Staged(_, imports) = &instance.phase else { return Ok(()) };
        for import in imports {
            let file = instance.request.package.to_string();
            let from = instance
                .packages()
                .filter_map(|path| self.packages.get(path))
                .find(|entry| entry.name == import.package);
            let kind = match from {
                None => LoadErrorKind::UnlistedDependency { package: import.package.clone() },
                Some(entry) if !entry.exports.contains(&import.id) => LoadErrorKind::MissingImport {
                    package: import.package.clone(),
                    object: import.object.clone(),
                },
                Some(_) => continue,
            };
            return Err(LoadError::object(file, import.object.clone(), kind));
        }
        Ok(())
    }

    /// Writes states, messages and counters for everybody else.
    fn publish(&mut self, world: &mut World) {
        let mut streamer = world.resource_mut::<Streamer>();
        let pending = streamer.commands.len();
        streamer.states.retain(|id, state| pending > 0 && *state == LoadState::Requested || self.instances.contains_key(id));
        for (id, instance) in &self.instances {
            let state = match &instance.phase {
                Phase::Queued => LoadState::Requested,
                Phase::Loading(progress) => progress.state(),
                Phase::Staged(..) => LoadState::Staged,
                Phase::Live { .. } => LoadState::Live,
                Phase::Leaving { .. } => LoadState::Leaving,
                Phase::Failed => LoadState::Failed,
            };
            streamer.states.insert(*id, state);
        }
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.live_instances = 0;
        stats.live_entities = 0;
        for instance in self.instances.values() {
            if let Phase::Live { entities, .. } | Phase::Leaving { entities, .. } = &instance.phase {
                stats.live_instances += 1;
                stats.live_entities += entities.len() as u64;
            }
        }
        stats.live_packages = self.packages.values().filter(|entry| entry.is_ready()).count() as u64;
        stats.live_bytes = self.packages.values().filter(|entry| entry.is_ready()).map(|entry| entry.bytes).sum();
        let events = core::mem::take(&mut self.events);
        world.resource_mut::<Messages<InstanceEvent>>().write_batch(events);
    }
}

/// Drops something large on a task.
fn drop_elsewhere<T: Send + 'static>(value: T) {
    AsyncComputeTaskPool::get().spawn(async move { drop(value) }).detach();
}

