//! Loads that do not come back before they are done. See [`BlockingLoads`].

mod finish;

use core::{panic::Location, pin::pin, time::Duration};
use std::{
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
};

use bevy_ecs::world::World;
use bevy_log::{debug_span, warn};
use bevy_platform::time::Instant;
use futures_lite::future::{block_on, poll_once};

use super::Pipeline;
use crate::{
    error::{LoadError, LoadErrorKind},
    load::{
        BulkLoad, BulkRequest, InstanceEvent, InstanceId, InstanceRequest, InstanceTarget, ObjectLoad, ObjectRequest,
        Progress, Streamer,
        budget::{Booked, FrameBudget},
        cost::UnitKind,
        packages::PackageStatus,
        stall::Stalls,
        task::{Job, Wanted},
        tasks::{JobOwner, run},
    },
    settings::{StreamingClock, StreamingSettings, StreamingStats},
};

use super::insert::AssetsOf;

/// How often it is looked whether the reads of a blocking load move.
const LOOK: Duration = Duration::from_millis(50);

/// Loads on the calling thread, for what cannot go on without: menus, tests, tools. **Each call is a hitch**, so it is logged as a
/// warning with its caller and what it took, and counted in [`StreamingStats`].
///
/// A blocking load reads and decodes what it needs itself; it waits for no task and moves nobody else's load forward. What it
/// loads is equal to what the same request to the [`Streamer`] loads. A read that does not move for
/// [`StreamingSettings::read_timeout`] is given up, and the load fails.
pub trait BlockingLoads {
    /// Loads a level and reveals it, without waiting for the renderer or for the frame's budget.
    ///
    /// # Errors
    /// As [`InstanceEvent::Failed`], which is written as well; [`LoadErrorKind::Busy`] inside of the pipeline's own work.
    #[track_caller]
    fn load_level_blocking(&mut self, request: InstanceRequest) -> Result<InstanceId, Arc<LoadError>>;

    /// Brings a level into the world at once that was asked for before, wherever it is on its way: what a task has not finished is loaded again
    /// here. Its target is [`Shown`](InstanceTarget::Shown) from then on. One that is in the world already costs nothing and is not counted.
    ///
    /// # Errors
    /// As [`InstanceEvent::Failed`], which is written as well; [`LoadErrorKind::NoSuchInstance`] if it is gone, and
    /// [`LoadErrorKind::Busy`] inside of the pipeline's own work.
    #[track_caller]
    fn finish_level_blocking(&mut self, id: InstanceId) -> Result<(), Arc<LoadError>>;

    /// Loads objects; the result has one.
    ///
    /// # Errors
    /// As [`ObjectLoad::result`]; [`LoadErrorKind::Busy`] inside of the pipeline's own work.
    #[track_caller]
    fn load_objects_blocking(&mut self, request: ObjectRequest) -> Result<ObjectLoad, Arc<LoadError>>;

    /// Loads a bulk payload; the result has one.
    ///
    /// # Errors
    /// As [`BulkLoad::result`]; [`LoadErrorKind::Busy`] inside of the pipeline's own work.
    #[track_caller]
    fn load_bulk_blocking(&mut self, request: BulkRequest) -> Result<BulkLoad, Arc<LoadError>>;
}

impl BlockingLoads for World {
    #[track_caller]
    fn load_level_blocking(&mut self, request: InstanceRequest) -> Result<InstanceId, Arc<LoadError>> {
        let caller = Location::caller();
        let name = request.name.clone();
        let package = request.package.to_string();
        blocking(self, caller, &name, &package, |pipeline, world| {
            let id = world.resource_mut::<Streamer>().next_instance();
            pipeline.load_level_now(world, id, request)?;
            Ok(id)
        })
    }

    #[track_caller]
    fn finish_level_blocking(&mut self, id: InstanceId) -> Result<(), Arc<LoadError>> {
        let caller = Location::caller();
        let Some(mut pipeline) = self.remove_resource::<Pipeline>() else {
            return Err(Arc::new(LoadError::package(format!("{id:?}"), LoadErrorKind::Busy)));
        };
        let found = pipeline.find(self, id);
        let is_shown = pipeline.is_shown(id);
        self.insert_resource(pipeline);
        let (name, package) = found?;
        if is_shown {
            return Ok(());
        }
        blocking(self, caller, &name, &package, |pipeline, world| {
            pipeline.finish_now(world, id)
        })
    }

    #[track_caller]
    fn load_objects_blocking(&mut self, request: ObjectRequest) -> Result<ObjectLoad, Arc<LoadError>> {
        let caller = Location::caller();
        let name = request.paths.join(", ");
        blocking(self, caller, &name, &name, |pipeline, world| {
            let (id, outcome) = world.resource_mut::<Streamer>().next_outcome();
            pipeline.take_objects(id, &request, &Arc::downgrade(&outcome));
            pipeline.load_objects_now(world, id);
            let load = ObjectLoad { id, outcome };
            match load.result() {
                Some(Err(error)) => Err(error.clone()),
                _ => Ok(load),
            }
        })
    }

    #[track_caller]
    fn load_bulk_blocking(&mut self, request: BulkRequest) -> Result<BulkLoad, Arc<LoadError>> {
        let caller = Location::caller();
        let name = request.path.clone();
        blocking(self, caller, &name, &name, |pipeline, world| {
            let (id, outcome) = world.resource_mut::<Streamer>().next_outcome();
            pipeline.take_bulk(id, request, &Arc::downgrade(&outcome));
            pipeline.start_bulk(id);
            pipeline.do_jobs(world);
            let load = BulkLoad(outcome);
            match load.result() {
                Some(Err(error)) => Err(error.clone()),
                _ => Ok(load),
            }
        })
    }
}

fn blocking<T>(
    world: &mut World,
    caller: &Location,
    name: &str,
    package: &str,
    load: impl FnOnce(&mut Pipeline, &mut World) -> Result<T, Arc<LoadError>>,
) -> Result<T, Arc<LoadError>> {
    let _span = debug_span!("blocking_load", package).entered();
    let start = Instant::now();
    let Some(mut pipeline) = world.remove_resource::<Pipeline>() else {
        return Err(Arc::new(LoadError::package(package, LoadErrorKind::Busy)));
    };
    pipeline.blocking = Some(Vec::new());
    let result = load(&mut pipeline, world);
    pipeline.blocking = None;
    let took = start.elapsed();
    warn!(
        "blocking load of `{name}` at {caller} took {:.1} ms; a request to the `Streamer` takes none",
        took.as_secs_f64() * 1e3
    );
    let booked = Booked {
        took,
        kind: UnitKind::Blocking,
        name: format!("blocking load of {name} at {caller}"),
    };
    pipeline.frames.note(Some(booked), took);
    world.insert_resource(pipeline);
    world
        .resource::<StreamingClock>()
        .add_with_units("a blocking load", took, took);
    world.resource_mut::<StreamingStats>().blocking_loads += 1;
    result
}

impl Pipeline {
    fn load_level_now(
        &mut self,
        world: &mut World,
        id: InstanceId,
        mut request: InstanceRequest,
    ) -> Result<(), Arc<LoadError>> {
        request.target = InstanceTarget::Shown;
        self.take_brought(world, None);
        self.take_request(world, id, request);
        self.start(id);
        let result = self.drive(world, id);
        if result.is_err() {
            // The caller has no id to let go of it.
            self.instances.remove(&id);
        }
        result
    }

    /// Brings an instance into the world whose jobs are kept for here.
    fn drive(&mut self, world: &mut World, id: InstanceId) -> Result<(), Arc<LoadError>> {
        let mut budget = FrameBudget::unlimited();
        loop {
            self.do_jobs(world);
            if self.take_over(id) {
                continue;
            }
            let packages = self.instances.get(&id).map(|instance| instance.packages.clone());
            for path in packages.unwrap_or_default() {
                self.insert_all(world, &AssetsOf::Package(path));
            }
            self.show_level(world, id, &mut budget);
            // It may have turned out that the level is to be read again.
            if self.blocking.as_ref().is_none_or(Vec::is_empty) {
                break;
            }
        }
        let failure = self.events.iter().find_map(|event| match event {
            InstanceEvent::Failed { id: failed, error } if *failed == id => Some(error.clone()),
            _ => None,
        });
        failure.map_or(Ok(()), Err)
    }

    /// Packages that tasks are loading are not waited for, but loaded here too. Whether there were any.
    fn take_over(&mut self, id: InstanceId) -> bool {
        let Some(packages) = self.instances.get(&id).map(|instance| instance.packages.clone()) else {
            return false;
        };
        let mut has_any = false;
        for path in packages {
            let Some(mut entry) = self.packages.get_mut(&path) else {
                continue;
            };
            if !matches!(entry.status, PackageStatus::Loading(_)) {
                continue;
            }
            has_any = true;
            let users = entry.users.iter().filter_map(|user| self.instances.get(user));
            let verify = users.map(|user| user.request.verify).min().unwrap_or_default();
            let progress = Arc::new(Progress::default());
            entry.status = PackageStatus::Loading(progress.clone());
            drop(entry);
            let job = Job {
                path,
                wanted: Wanted::Assets,
                verify,
                progress,
            };
            self.start_job(job, JobOwner::Package);
        }
        has_any
    }

    fn load_objects_now(&mut self, world: &mut World, id: u64) {
        self.take_brought(world, None);
        self.start_objects(id);
        self.do_jobs(world);
        self.insert_all(world, &AssetsOf::Objects(id));
        self.finish_objects(world);
    }

    /// Does the jobs of the blocking load, and those that come of them.
    fn do_jobs(&mut self, world: &mut World) {
        let timeout = world.resource::<StreamingSettings>().read_timeout;
        while let Some(task) = self.blocking.as_mut().and_then(Vec::pop) {
            let (stalls, pulse) = Stalls::watch_alone();
            let job = run(&self.services, task, &pulse);
            let finished = block_on_watched(job, stalls, timeout);
            self.take_finished(world, finished);
        }
    }
}

/// Waits for a job on the calling thread, on which nobody can look whether its reads move: a thread of their own does, if there is anything to wait
/// for.
fn block_on_watched<T>(job: impl Future<Output = T>, mut stalls: Stalls, timeout: Duration) -> T {
    let mut job = pin!(job);
    if let Some(done) = block_on(poll_once(&mut job)) {
        return done;
    }
    let start = Instant::now();
    thread::scope(|scope| {
        let (over, is_over) = mpsc::channel::<()>();
        let watch = move || {
            while is_over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                stalls.look(start.elapsed(), timeout);
            }
        };
        // Without a thread it waits as long as its readers do.
        let _ = thread::Builder::new()
            .name("Blocking load".to_owned())
            .spawn_scoped(scope, watch);
        let done = block_on(job);
        drop(over);
        done
    })
}
