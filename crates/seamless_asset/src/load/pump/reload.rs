//! Reloads, from the queue until everything is there that they need. See [`Pipeline::take_reload`].

mod apply;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use bevy_asset::{AssetPath, UntypedAssetId};
use bevy_ecs::{change_detection::CheckChangeTicks, prelude::*};

use super::{Pipeline, objects::parse};
use crate::{
    edits::AssetEdits,
    error::{LoadError, LoadErrorKind},
    gate::RevealGates,
    load::{
        InstanceId, InstanceInfo, InstanceRequest, InstanceTarget, Progress, ReloadPolicy, ReloadReport, ReloadRequest,
        gate_clock::Moment,
        instance::{Instance, Phase, Turn},
        link::{LiveLevel, LoadedAsset, LoadedPackage, Reloading},
        objects::Outcome,
        packages::{PackageEntry, PackageStatus},
        stage::Stage,
        task::{Job, Read, Wanted},
        tasks::JobOwner,
    },
    reveal::Members,
    settings::{StreamingSettings, StreamingStats},
};

/// A reload that is under way. It uses the packages that the new file imports as a level instance does.
pub(in crate::load) struct Reload {
    path: AssetPath<'static>,
    policy: ReloadPolicy,
    outcome: Weak<Outcome<ReloadReport>>,
    progress: Arc<Progress>,
    step: Step,
    bytes: u64,
    /// How often the new file was read.
    tries: u32,
}

/// A reload for which what is live changed so often meanwhile is given up: levels of the package wait for it.
const MOST_TRIES: u32 = 16;

enum Step {
    Queued,
    Loading(Arc<Reloading>),
    Staged(Box<Staged>),
}

/// The new file, decoded.
struct Staged {
    of: Arc<Reloading>,
    loaded: LoadedPackage,
    /// Assets that are not live yet: they come ahead, since nobody refers to them.
    queue: VecDeque<LoadedAsset>,
    /// Of these, what gates watch.
    rendered: Vec<UntypedAssetId>,
    /// New values of assets that are live.
    replacing: Vec<LoadedAsset>,
    added: usize,
    gated_since: Option<Moment>,
    is_open: bool,
}

impl Staged {
    fn new(of: Arc<Reloading>, mut loaded: LoadedPackage) -> Self {
        let assets = core::mem::take(&mut loaded.assets).into_iter();
        let (replacing, queue): (Vec<_>, Vec<_>) = assets.partition(|asset| asset.replaces);
        let rendered = queue.iter().filter(|asset| asset.value.is_rendered());
        Self {
            rendered: rendered.map(|asset| asset.asset).collect(),
            added: queue.len(),
            of,
            loaded,
            queue: queue.into(),
            replacing,
            gated_since: None,
            is_open: false,
        }
    }

    /// Whether gates watch what is new.
    fn is_watched(&self) -> bool {
        self.gated_since.is_some() && !self.is_open
    }

    fn entities(&self) -> u64 {
        let levels = self.loaded.renewed.levels.iter();
        levels.map(|level| level.loaded.level.entities.len() as u64).sum()
    }
}

impl Reload {
    pub fn queue(&mut self) -> Option<&mut VecDeque<LoadedAsset>> {
        match &mut self.step {
            Step::Staged(staged) => Some(&mut staged.queue),
            _ => None,
        }
    }

    /// All assets that wait in it, until they have their turn or it is applied.
    pub fn waiting(&self) -> impl Iterator<Item = &LoadedAsset> {
        let staged = match &self.step {
            Step::Staged(staged) => Some(staged),
            _ => None,
        };
        let staged = staged.into_iter();
        staged.flat_map(|staged| staged.queue.iter().chain(&staged.replacing))
    }

    pub fn has_queue(&self) -> bool {
        matches!(&self.step, Step::Staged(staged) if !staged.queue.is_empty())
    }
}

/// Keeps the ticks that tell what was changed comparable, in games that run for days.
pub(crate) fn keep_ticks_valid(check: On<CheckChangeTicks>, pipeline: Option<ResMut<Pipeline>>) {
    let Some(mut pipeline) = pipeline else { return };
    pipeline
        .instances
        .for_each_unmarked(|instance| match &mut instance.phase {
            // One that is about to leave may stay.
            Phase::Live { members, .. } | Phase::Leaving { members, .. } => {
                members.keep_ticks_valid(*check);
            }
            Phase::Hidden { members, hiding, .. } => {
                members.keep_ticks_valid(*check);
                hiding.keep_ticks_valid(*check);
            }
            _ => {}
        });
}

impl Pipeline {
    /// Takes a request in, or refuses it.
    pub(super) fn take_reload(
        &mut self,
        id: InstanceId,
        request: &ReloadRequest,
        outcome: &Weak<Outcome<ReloadReport>>,
    ) {
        let Some(waiting) = outcome.upgrade() else { return };
        let path = match parse(&self.services, &request.package) {
            Ok(path) => path.package,
            Err(error) => return waiting.finish(Err(error)),
        };
        let refuse = |kind| waiting.finish(Err(Box::new(LoadError::package(path.to_string(), kind))));
        if self.is_loading(&path) {
            return refuse(LoadErrorKind::Loading);
        }
        if !self.packages.contains_key(&path) && !self.services.linkers.knows(&path) {
            return refuse(LoadErrorKind::NotLoaded);
        }
        let holder = InstanceRequest {
            name: format!("reload of {path}"),
            package: path.clone(),
            verify: request.verify,
            priority: request.priority,
            ..InstanceRequest::default()
        };
        let asked = self.arrivals.came(id.0);
        self.instances
            .insert(id, Instance::new(holder, Phase::Reloading, asked));
        let reload = Reload {
            path,
            policy: request.policy,
            outcome: outcome.clone(),
            progress: waiting.progress.clone(),
            step: Step::Queued,
            bytes: 0,
            tries: 0,
        };
        self.reloads.insert(id, reload);
    }

    /// Whether somebody has asked for the package and does not have it yet. Levels that are not to be shown may rest for as long as they like.
    fn is_loading(&self, path: &AssetPath<'static>) -> bool {
        let is_waiting = |instance: &Instance| {
            let is_on_its_way = match instance.phase {
                Phase::Loading(_) => true,
                Phase::Queued | Phase::Staged(_) | Phase::Spawning(_) => {
                    instance.request.target != InstanceTarget::Loaded
                }
                _ => false,
            };
            is_on_its_way && instance.request.package == *path
        };
        let entry = self.packages.get(path);
        let is_settled = |entry: &PackageEntry| matches!(entry.status, PackageStatus::Ready | PackageStatus::Failed);
        self.is_reloading(path)
            || self.instances.iter().any(|(_, instance)| is_waiting(instance))
            || !entry.is_none_or(is_settled)
            || self.objects.ask_for(path)
    }

    /// Whether the package is being reloaded: who asks for it has to wait.
    pub(super) fn is_reloading(&self, path: &AssetPath<'static>) -> bool {
        self.reloads.values().any(|reload| reload.path == *path)
    }

    /// The reloads that have not started, with their priorities.
    pub(super) fn waiting_reloads(&self) -> impl Iterator<Item = (f32, JobOwner)> {
        let queued = self
            .reloads
            .iter()
            .filter(|(_, reload)| matches!(reload.step, Step::Queued));
        queued.map(|(id, reload)| (self.reload_priority(*id, &reload.path), JobOwner::Reload(*id)))
    }

    /// A reload is as urgent as the most urgent level that waits for it, be it to start, or to come with what is new in the package.
    fn reload_priority(&self, id: InstanceId, path: &AssetPath<'static>) -> f32 {
        let waiting = self.instances.index().waiting(Turn::Start).iter();
        let waiting = waiting.filter_map(|(_, id)| {
            let request = &self.instances.get(id)?.request;
            (request.package == *path).then_some(request.priority)
        });
        let users = self.packages.get(path).into_iter().flat_map(|entry| &entry.users);
        let coming = users.filter_map(|user| {
            let user = self.instances.get(user)?;
            user.is_coming().then_some(user.request.priority)
        });
        waiting.chain(coming).fold(self.priority_of(id), f32::max)
    }

    pub(super) fn reload_rank(&self, id: InstanceId, reload: &Reload) -> f64 {
        self.arrivals.rank(id.0, self.reload_priority(id, &reload.path))
    }

    pub(super) fn priority_of(&self, id: InstanceId) -> f32 {
        self.instances
            .get(&id)
            .map_or(0.0, |instance| instance.request.priority)
    }

    /// Opens the new file.
    pub(super) fn start_reload(&mut self, world: &World, id: InstanceId) {
        let Some(mut reload) = self.reloads.remove(&id) else {
            return;
        };
        let reloading = Arc::new(self.reloading(world, &reload));
        self.services.linkers.reset(&reload.path);
        let verify = self.instances.get(&id).map(|instance| instance.request.verify);
        let job = Job {
            path: reload.path.clone(),
            wanted: Wanted::Reload(reloading.clone()),
            verify: verify.unwrap_or_default(),
            progress: reload.progress.clone(),
        };
        reload.progress.set_rank(self.reload_rank(id, &reload));
        reload.step = Step::Loading(reloading);
        reload.tries += 1;
        self.reloads.insert(id, reload);
        self.start_job(job, JobOwner::Reload(id));
    }

    /// What is there to be reloaded.
    fn reloading(&self, world: &World, reload: &Reload) -> Reloading {
        let level = |(instance, root, members): (InstanceId, Entity, &Members)| {
            let objects = members.objects.ids().zip(members.objects.entities());
            let gone = objects.filter(|(_, entity)| !world.entities().contains_spawned(*entity));
            LiveLevel {
                instance,
                info: self.info_of(instance),
                root,
                objects: members.objects.clone(),
                entities: members.entities.clone(),
                runs: members.runs.clone(),
                gone: gone.map(|(id, _)| id.0).collect(),
                stay_gone: reload.policy != ReloadPolicy::Overwrite,
            }
        };
        Reloading {
            policy: reload.policy,
            levels: self.live_instances(&reload.path).map(level).collect(),
            is_used: self.packages.contains_key(&reload.path),
            edited: world.resource::<AssetEdits>().all().clone(),
            packages: self.packages.iter().map(|(path, _)| path.clone()).collect(),
        }
    }

    /// What hooks are told of an instance.
    fn info_of(&self, id: InstanceId) -> Arc<InstanceInfo> {
        let instance = self.instances.get(&id);
        instance.map_or_else(Arc::default, |instance| Arc::new(InstanceInfo::from(&instance.request)))
    }

    fn live_instances(&self, path: &AssetPath<'static>) -> impl Iterator<Item = (InstanceId, Entity, &Members)> {
        let instances = self
            .instances
            .iter()
            .filter(|(_, instance)| instance.request.package == *path);
        let live = instances.filter_map(|(id, instance)| match &instance.phase {
            // Who is about to leave may be wanted again.
            Phase::Live { root, members } | Phase::Leaving { root, members } | Phase::Hidden { root, members, .. } => {
                Some((*id, *root, members))
            }
            _ => None,
        });
        let mut live: Vec<_> = live.collect();
        live.sort_unstable_by_key(|(id, ..)| *id);
        live.into_iter()
    }

    /// The new file is decoded; what it imports comes next.
    pub(super) fn take_reloaded(&mut self, world: &mut World, id: InstanceId, read: Read, loaded: LoadedPackage) {
        let Some(reload) = self.reloads.get_mut(&id) else {
            let path = loaded.linker.path().clone();
            world.resource_mut::<StreamingStats>().waste(Stage::Staged, read.bytes);
            self.tasks.drop_later(loaded);
            return self.settle_linker(&path);
        };
        reload.bytes += read.bytes;
        let Step::Loading(of) = core::mem::replace(&mut reload.step, Step::Queued) else {
            return;
        };
        if !of.is_used && loaded.renewed.own.is_empty() {
            let error = LoadError::package(reload.path.to_string(), LoadErrorKind::NotLoaded);
            self.tasks.drop_later(loaded);
            return self.fail_reload(world, id, Arc::new(error));
        }
        let needs: Vec<_> = loaded.needs.iter().map(|need| need.path.clone()).collect();
        reload.step = Step::Staged(Box::new(Staged::new(of, loaded)));
        for need in needs {
            self.join(id, need);
        }
    }

    /// Nothing comes of it, and nothing has changed.
    pub(super) fn fail_reload(&mut self, world: &mut World, id: InstanceId, error: Arc<LoadError>) {
        let Some(reload) = self.reloads.remove(&id) else {
            return;
        };
        world.resource_mut::<StreamingStats>().failed += 1;
        if let Some(outcome) = reload.outcome.upgrade() {
            outcome.fail(error);
        }
        self.drop_reload(world, id, reload);
    }

    /// Ends the reloads that nobody waits for any more.
    pub(super) fn drop_unwanted_reloads(&mut self, world: &mut World) {
        let unwanted = self
            .reloads
            .iter()
            .filter(|(_, reload)| reload.outcome.strong_count() == 0);
        let unwanted: Vec<_> = unwanted.map(|(id, _)| *id).collect();
        for id in unwanted {
            if let Some(reload) = self.reloads.remove(&id) {
                world.resource_mut::<StreamingStats>().cancelled += 1;
                self.drop_reload(world, id, reload);
            }
        }
    }

    fn drop_reload(&mut self, world: &mut World, id: InstanceId, reload: Reload) {
        reload.progress.cancel();
        world
            .resource_mut::<StreamingStats>()
            .waste(Stage::Staged, reload.bytes);
        if let Step::Staged(staged) = &reload.step
            && staged.is_watched()
        {
            world.resource::<RevealGates>().forget(&staged.rendered);
        }
        self.release(world, id);
        self.instances.remove(&id);
        self.tasks.drop_later(reload.step);
        self.settle_linker(&reload.path);
    }

    /// Nothing came of a reload: the tables of what is live are found again.
    pub(super) fn settle_linker(&self, path: &AssetPath<'static>) {
        let live = self.packages.get(path).and_then(|entry| entry.linker.as_ref());
        if let Some(linker) = live.filter(|_| !self.is_reloading(path)) {
            self.services.linkers.restore(linker);
        }
    }

    /// Asks the gates for what is new.
    pub(super) fn check_reload_gates(&mut self, world: &mut World, settings: &StreamingSettings) {
        let gates = world.resource::<RevealGates>();
        let mut deadlines = 0;
        for reload in self.reloads.values_mut() {
            let Step::Staged(staged) = &mut reload.step else {
                continue;
            };
            if staged.is_open || !staged.queue.is_empty() {
                continue;
            }
            let since = *staged.gated_since.get_or_insert_with(|| {
                gates.watch(&staged.rendered);
                self.gate_clock.now()
            });
            let is_open = gates.is_open(&staged.rendered);
            let is_late = self.gate_clock.is_late(since, settings.gate_deadline_frames);
            if is_open || is_late {
                deadlines += u64::from(!is_open);
                gates.forget(&staged.rendered);
                staged.is_open = true;
            }
        }
        world.resource_mut::<StreamingStats>().gate_deadlines += deadlines;
    }

    /// Whether a package that an instance or another reload needs is being reloaded, and not all is in that is new in it.
    pub(super) fn is_any_reload_to_bring(&self, id: InstanceId) -> bool {
        let packages = self.instances.get(&id).map(|instance| &instance.packages);
        let mut packages = packages.into_iter().flatten();
        packages.any(|path| {
            let mut others = self
                .reloads
                .iter()
                .filter(|(other, reload)| **other != id && reload.path == *path);
            others.any(|(_, reload)| !matches!(&reload.step, Step::Staged(staged) if staged.queue.is_empty()))
        })
    }

    /// Reloads that have begun are ranked anew.
    pub(super) fn rank_reloads_again(&self) {
        for (id, reload) in &self.reloads {
            reload.progress.set_rank(self.reload_rank(*id, reload));
        }
    }

    /// Whether everything that the reload needs is there.
    pub(super) fn is_reload_ready(&self, id: InstanceId) -> bool {
        let Some(reload) = self.reloads.get(&id) else {
            return false;
        };
        let is_open = matches!(&reload.step, Step::Staged(staged) if staged.is_open);
        let own = self.packages.get(&reload.path);
        is_open && own.is_none_or(PackageEntry::is_ready) && self.has_packages(id) && !self.waits_for_reload(id)
    }
}
