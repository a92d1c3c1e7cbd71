//! Requests for objects, from the queue to the end. See [`Pipeline::start_objects`].

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Weak},
};

use bevy_asset::{AssetPath, UntypedHandle};
use bevy_ecs::world::World;
use bevy_platform::collections::{HashMap, hash_map::Entry};
use smallvec::{SmallVec, smallvec};

use super::{Pipeline, singles::in_turns};
use crate::{
    error::{LoadError, LoadErrorKind},
    linker::Linker,
    load::{
        LoadPolicy, ObjectRequest, Progress, Verify,
        closure::Need,
        link::{LoadedAsset, LoadedPackage},
        objects::{ObjectPath, Outcome},
        stage::Stage,
        task::{Job, LoadServices, Read, Wanted},
        tasks::JobOwner,
        verify::Unverified,
    },
    objects::Slot,
    settings::StreamingStats,
};

/// By package and name, as in [`ObjectPath`].
type Answers = HashMap<AssetPath<'static>, HashMap<Option<Arc<str>>, SmallVec<[UntypedHandle; 1]>>>;

/// A request for objects that is under way: packages are read until nothing is left that its objects refer to.
pub(in crate::load) struct Objects {
    paths: Vec<ObjectPath>,
    verify: Verify,
    pub priority: f32,
    is_queued: bool,
    outcome: Weak<Outcome<Vec<UntypedHandle>>>,
    progress: Arc<Progress>,
    /// What was asked for, and what came of it; empty until it comes.
    answers: Answers,
    /// Jobs that have not ended.
    jobs: usize,
    /// Values to move into `Assets`.
    pub queue: VecDeque<LoadedAsset>,
    /// What these take in memory.
    pub staged: u64,
    unverified: Vec<Unverified>,
    /// Keep what is loaded alive until the end.
    handles: Vec<UntypedHandle>,
    /// What is complete when the request is.
    slots: Vec<Slot>,
    /// Open as long as the load goes on.
    linkers: Vec<Arc<Linker>>,
    bytes: u64,
}

/// All requests for objects that are under way.
#[derive(Default)]
pub(in crate::load) struct ObjectRequests {
    all: BTreeMap<u64, Objects>,
    /// Those that have begun.
    begun: BTreeSet<u64>,
    /// The next one that is asked whether anybody waits for it.
    next: u64,
}

impl ObjectRequests {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn get(&self, id: u64) -> Option<&Objects> {
        self.all.get(&id)
    }

    pub fn get_mut(&mut self, id: u64) -> Option<&mut Objects> {
        self.all.get_mut(&id)
    }

    /// Those that have begun: only they have anything.
    pub fn begun(&self) -> impl Iterator<Item = (u64, &Objects)> {
        self.begun.iter().filter_map(|id| Some((*id, self.all.get(id)?)))
    }

    /// Whether any will bring objects of a package.
    pub fn ask_for(&self, path: &AssetPath<'static>) -> bool {
        self.all.values().any(|objects| objects.asks_for(path))
    }

    fn remove(&mut self, id: u64) -> Option<Objects> {
        self.begun.remove(&id);
        self.all.remove(&id)
    }

    /// Those that are complete, and some that nobody waits for any more.
    fn over(&mut self) -> BTreeSet<u64> {
        let is_unwanted = |objects: &Objects| objects.outcome.strong_count() == 0;
        let (unwanted, next) = in_turns(&self.all, self.next, is_unwanted);
        self.next = next;
        let complete = self.begun().filter(|(_, objects)| objects.is_complete());
        complete.map(|(id, _)| id).chain(unwanted).collect()
    }
}

impl Objects {
    fn new(paths: Vec<ObjectPath>, request: &ObjectRequest, outcome: &Arc<Outcome<Vec<UntypedHandle>>>) -> Self {
        Self {
            paths,
            verify: request.verify,
            priority: request.priority,
            is_queued: true,
            outcome: Arc::downgrade(outcome),
            progress: outcome.progress.clone(),
            answers: HashMap::default(),
            jobs: 0,
            queue: VecDeque::new(),
            staged: 0,
            unverified: Vec::new(),
            handles: Vec::new(),
            slots: Vec::new(),
            linkers: Vec::new(),
            bytes: 0,
        }
    }

    /// What is wanted of other packages or by the request, and was not asked for yet. What is live with all that it refers to is not
    /// asked for at all.
    fn ask(
        &mut self,
        services: &LoadServices,
        needs: impl IntoIterator<Item = Need>,
    ) -> Vec<(AssetPath<'static>, Wanted)> {
        let mut jobs = Vec::new();
        for Need { path, objects } in needs {
            let live = |name: &str| services.objects.get(services.linkers.live_id(&path, name)?);
            let answers = self.answers.entry(path.clone()).or_default();
            let mut names = Vec::new();
            for name in objects {
                let Entry::Vacant(answer) = answers.entry(Some(name.clone())) else {
                    continue;
                };
                let live = live(&name);
                if live.is_none() {
                    names.push(name);
                }
                answer.insert(live.into_iter().collect());
            }
            if !names.is_empty() {
                jobs.push((path, Wanted::Objects(names)));
            }
        }
        jobs
    }

    /// What the request itself wants, by package.
    fn first_needs(&self) -> Vec<Need> {
        let mut needs: Vec<Need> = Vec::new();
        for path in &self.paths {
            let Some(object) = &path.object else { continue };
            match needs.iter_mut().find(|need| need.path == path.package) {
                Some(need) => need.objects.push(object.clone()),
                None => needs.push(Need {
                    path: path.package.clone(),
                    objects: vec![object.clone()],
                }),
            }
        }
        needs
    }

    fn take(&mut self, path: &AssetPath<'static>, wanted: Wanted, loaded: &mut LoadedPackage) {
        self.jobs = self.jobs.saturating_sub(1);
        let answers = self.answers.entry(path.clone()).or_default();
        match wanted {
            Wanted::Objects(names) => {
                let answered = names.into_iter().zip(loaded.wanted.drain(..));
                answers.extend(answered.map(|(name, handle)| (Some(name), smallvec![handle])));
            }
            _ => {
                answers.insert(None, core::mem::take(&mut loaded.wanted).into());
            }
        }
        self.staged += loaded.assets.iter().map(|asset| asset.bytes).sum::<u64>();
        self.queue.append(&mut loaded.assets);
        self.unverified.append(&mut loaded.unverified);
        self.handles.append(&mut loaded.handles);
        self.slots.append(&mut loaded.slots);
        self.linkers.push(loaded.linker.clone());
        self.linkers.append(&mut loaded.sources);
    }

    /// Whether it wants something of the package.
    pub fn asks_for(&self, path: &AssetPath<'static>) -> bool {
        self.answers.contains_key(path) || self.paths.iter().any(|asked| asked.package == *path)
    }

    /// Whether everything that it needs is in its `Assets`.
    fn is_complete(&self) -> bool {
        !self.is_queued && self.jobs == 0 && self.queue.is_empty()
    }

    fn result(&self, services: &LoadServices) -> Result<Vec<UntypedHandle>, Box<LoadError>> {
        match self.unverified.iter().find_map(|import| import.fault(services)) {
            Some(error) => Err(error.into()),
            None => Ok(self
                .paths
                .iter()
                .filter_map(|path| self.answers.get(&path.package)?.get(&path.object))
                .flatten()
                .cloned()
                .collect()),
        }
    }
}

/// The handle of an object that is live with all that it refers to.
fn live(services: &LoadServices, path: &ObjectPath) -> Option<UntypedHandle> {
    let id = services.linkers.live_id(&path.package, path.object.as_deref()?)?;
    services.objects.get(id)
}

/// Takes the path of a request apart.
pub(super) fn parse(services: &LoadServices, path: &str) -> Result<ObjectPath, Box<LoadError>> {
    let (package, object) = match path.split_once('#') {
        Some((package, object)) => (package, Some(Arc::from(object))),
        None => (path, None),
    };
    let package = services.linkers.resolve(package);
    let package = package.map_err(|error| LoadError::package(path, error))?;
    Ok(ObjectPath { package, object })
}

/// The objects of a request that may load nothing.
fn all_live(services: &LoadServices, paths: &[ObjectPath]) -> Result<Vec<UntypedHandle>, Box<LoadError>> {
    let live = |path: &ObjectPath| {
        let object = path.object.as_deref().unwrap_or("*");
        live(services, path).ok_or_else(|| {
            Box::new(LoadError::object(
                path.package.to_string(),
                object,
                LoadErrorKind::NotLive,
            ))
        })
    };
    paths.iter().map(live).collect()
}

impl Pipeline {
    /// Takes a request in; what can be answered at once, is.
    pub(super) fn take_objects(
        &mut self,
        id: u64,
        request: &ObjectRequest,
        outcome: &Weak<Outcome<Vec<UntypedHandle>>>,
    ) {
        let Some(outcome) = outcome.upgrade() else { return };
        let paths = request.paths.iter().map(|path| parse(&self.services, path));
        let paths = match paths.collect::<Result<Vec<_>, _>>() {
            Ok(paths) => paths,
            Err(error) => return outcome.finish(Err(error)),
        };
        match request.policy {
            LoadPolicy::LiveOnly => outcome.finish(all_live(&self.services, &paths)),
            LoadPolicy::Load => {
                self.objects.all.insert(id, Objects::new(paths, request, &outcome));
                self.wait(JobOwner::Objects(id), request.priority);
            }
        }
    }

    /// Whether a request may start: of a package that is being reloaded, none does.
    pub(super) fn may_objects_start(&self, id: u64) -> bool {
        let may_start = |objects: &Objects| objects.paths.iter().all(|path| !self.is_reloading(&path.package));
        self.objects.get(id).is_some_and(may_start)
    }

    /// The requests that have not started, with their priorities.
    pub(super) fn waiting_objects(&self) -> impl Iterator<Item = (f32, JobOwner)> {
        let queued = self.objects.all.iter().filter(|(_, objects)| objects.is_queued);
        queued.map(|(id, objects)| (objects.priority, JobOwner::Objects(*id)))
    }

    /// A request is more urgent than before, or less.
    pub(super) fn set_object_priority(&mut self, id: u64, priority: f32) {
        let Some(objects) = self.objects.get_mut(id) else {
            return;
        };
        objects.priority = priority;
        if objects.is_queued {
            self.wait(JobOwner::Objects(id), priority);
        } else {
            objects.progress.set_rank(self.arrivals.rank(id, priority));
        }
    }

    /// Requests that have begun are ranked anew.
    pub(super) fn rank_objects_again(&self) {
        for (id, objects) in self.objects.begun() {
            objects.progress.set_rank(self.arrivals.rank(id, objects.priority));
        }
    }

    /// Starts a request: one job for each package that it names.
    pub(super) fn start_objects(&mut self, id: u64) {
        self.waiting.remove(id);
        let Some(objects) = self.objects.all.get_mut(&id) else {
            return;
        };
        self.objects.begun.insert(id);
        objects.is_queued = false;
        objects.progress.set_rank(self.arrivals.rank(id, objects.priority));
        let mut jobs = objects.ask(&self.services, objects.first_needs());
        for path in objects.paths.iter().filter(|path| path.object.is_none()) {
            let answers = objects.answers.entry(path.package.clone()).or_default();
            if answers.insert(None, SmallVec::new()).is_none() {
                jobs.push((path.package.clone(), Wanted::Assets));
            }
        }
        self.start_object_jobs(id, jobs);
    }

    fn start_object_jobs(&mut self, id: u64, jobs: Vec<(AssetPath<'static>, Wanted)>) {
        for (path, wanted) in jobs {
            let Some(objects) = self.objects.get_mut(id) else {
                return;
            };
            // One at a time counts: the others take turns by their ranks.
            let owner = match objects.jobs {
                0 => JobOwner::Objects(id),
                _ => JobOwner::MoreObjects(id),
            };
            objects.jobs += 1;
            let job = Job {
                path,
                wanted,
                verify: objects.verify,
                progress: objects.progress.clone(),
            };
            self.start_job(job, owner);
        }
    }

    /// A package came for a request; what it imports is asked for next. What is left in `loaded` is to be dropped where it costs no frame time.
    pub(super) fn take_loaded_objects(
        &mut self,
        world: &mut World,
        id: u64,
        path: &AssetPath<'static>,
        wanted: Wanted,
        read: Read,
        loaded: &mut LoadedPackage,
    ) {
        let Some(objects) = self.objects.get_mut(id) else {
            world.resource_mut::<StreamingStats>().waste(Stage::Staged, read.bytes);
            return;
        };
        objects.bytes += read.bytes;
        let jobs = objects.ask(&self.services, loaded.needs.drain(..));
        objects.take(path, wanted, loaded);
        self.start_object_jobs(id, jobs);
    }

    pub(super) fn fail_objects(&mut self, world: &mut World, id: u64, error: LoadError) {
        let Some(objects) = self.objects.remove(id) else {
            return;
        };
        objects.progress.cancel();
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.failed += 1;
        stats.waste(Stage::Staged, objects.bytes);
        // What is not there is told by the one who wants it.
        let fault = match &error.kind {
            LoadErrorKind::NoSuchObject => objects.missing(&self.services, &error),
            _ => None,
        };
        if let Some(outcome) = objects.outcome.upgrade() {
            outcome.finish(Err(fault.unwrap_or(error).into()));
        }
        self.tasks.drop_later(objects);
    }

    /// Ends the requests that are complete, and those that nobody waits for any more.
    pub(super) fn finish_objects(&mut self, world: &mut World) {
        for id in self.objects.over() {
            self.waiting.remove(id);
            let Some(objects) = self.objects.remove(id) else {
                continue;
            };
            let result = objects.result(&self.services);
            if result.is_ok() && objects.is_complete() {
                objects.slots.iter().for_each(Slot::complete);
            }
            let mut stats = world.resource_mut::<StreamingStats>();
            match objects.outcome.upgrade() {
                Some(outcome) => {
                    if result.is_err() {
                        stats.failed += 1;
                        stats.waste(Stage::Staged, objects.bytes);
                    }
                    outcome.finish(result);
                }
                None => {
                    stats.cancelled += 1;
                    stats.waste(Stage::Staged, objects.bytes);
                }
            }
            self.tasks.drop_later(objects);
        }
    }
}

impl Objects {
    /// The import that leads to an object which is not there, by the error of its package.
    fn missing(&self, services: &LoadServices, error: &LoadError) -> Option<LoadError> {
        let object = error.object.as_deref()?;
        let package = AssetPath::try_parse(&error.package).ok()?.into_owned();
        let id = services.linkers.live_id(&package, object)?;
        self.unverified.iter().find_map(|import| import.missing(id))
    }
}
