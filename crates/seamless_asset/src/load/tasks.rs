//! The main thread's side of the tasks. See [`Tasks`].

use core::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicBool, Ordering},
};
use std::{panic::catch_unwind, sync::Arc};

use async_channel::{Receiver, Sender, unbounded};
use bevy_asset::AssetPath;
use bevy_tasks::TaskPool;
use futures_lite::FutureExt;

use super::{
    InstanceId, Progress,
    file::{PartJob, load_part},
    help::Help,
    link::LoadedPackage,
    open::{OpenJob, open_tables},
    stall::Pulse,
    task::{Job, LoadServices, Read, Stop, Wanted, load_package},
};
use crate::{
    error::{LoadError, LoadErrorKind},
    linker::Linker,
};

/// Whom a job is done for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum JobOwner {
    /// All users of its package.
    Package,
    /// An instance, and all users of its package if that is loaded too.
    Instance(InstanceId),
    /// A request for objects.
    Objects(u64),
    /// The same request, which needs more packages than one.
    MoreObjects(u64),
    /// A request for a bulk payload, or for a part of a file.
    Bulk(u64),
    /// A request for the tables of a package.
    Open(u64),
    /// A reload.
    Reload(InstanceId),
}

/// What a task does.
pub(super) enum Task {
    Package(Job, JobOwner),
    Bulk(u64, PartJob),
    Open(u64, OpenJob),
}

impl Task {
    /// Whom it is done for.
    pub fn owner(&self) -> JobOwner {
        match self {
            Self::Package(_, owner) => *owner,
            Self::Bulk(id, _) => JobOwner::Bulk(*id),
            Self::Open(id, _) => JobOwner::Open(*id),
        }
    }
}

impl Finished {
    /// Whom it was done for.
    pub fn owner(&self) -> JobOwner {
        match self {
            Self::Package(finished) => finished.owner,
            Self::Bulk(finished) => JobOwner::Bulk(finished.id),
            Self::Open(finished) => JobOwner::Open(finished.id),
        }
    }
}

/// The end of a task.
pub(super) enum Finished {
    Package(Box<FinishedPackage>),
    Bulk(FinishedSingle<Vec<u8>>),
    Open(FinishedSingle<Arc<Linker>>),
}

/// The end of a request that one task answers.
pub(super) struct FinishedSingle<T> {
    pub id: u64,
    pub read: Read,
    pub result: Result<T, Stop>,
}

/// A package, for whom it was loaded.
pub(super) struct FinishedPackage {
    pub path: AssetPath<'static>,
    pub wanted: Wanted,
    pub owner: JobOwner,
    pub progress: Arc<Progress>,
    pub read: Read,
    pub result: Result<LoadedPackage, Stop>,
}

/// Loads that can be under way at the same time, what they need of other packages not counted: all that have begun wait for their turns by rank.
pub(super) const MAX_LOADS: usize = 64;

/// What is to be dropped waits for a frame that is not full, no longer than for so many.
const MOST_PUT_OFF: u32 = 4;

type Waste = Vec<Box<dyn Any + Send + Sync>>;

/// Starts tasks, takes their results, and lets a task drop what nobody needs any more, all through channels: the main thread
/// takes no lock that a task holds while it works.
///
/// Tasks run at a low priority: one that was put to sleep with a lock in its hand makes the frame wait until it runs again.
pub(super) struct Tasks {
    is_over: Arc<AtomicBool>,
    /// Of threads that step back.
    help: Option<Help>,
    /// Its threads end when it is dropped; that waits for what they do at the moment.
    pool: Arc<TaskPool>,
    services: LoadServices,
    results: Sender<Finished>,
    finished: Receiver<Finished>,
    waste: Waste,
    /// Full frames in a row in which it was not carried off.
    put_off: u32,
    carrier: Sender<Waste>,
}

impl Tasks {
    /// Does them in this pool, whose threads have `help` if they step back.
    pub fn new(services: LoadServices, pool: Arc<TaskPool>, help: Option<Help>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (results, finished) = unbounded();
        let (carrier, wasted) = unbounded::<Waste>();
        let carry = async move {
            while let Ok(waste) = wasted.recv().await {
                // A value whose drop panics does not end this task; the panic has been reported.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(waste)));
            }
        };
        pool.spawn(carry).detach();
        Self {
            is_over,
            help,
            pool,
            services,
            results,
            finished,
            waste: Vec::new(),
            put_off: 0,
            carrier,
        }
    }

    /// Starts a load. Its task has the pulse until its end.
    pub fn start(&self, task: Task, pulse: Arc<Pulse>) {
        let (services, results, is_over) = (self.services.clone(), self.results.clone(), self.is_over.clone());
        let work = async move {
            // It ends with the app.
            if !is_over.load(Ordering::Relaxed) {
                let finished = run(&services, task, &pulse).await;
                let _ = results.try_send(finished);
            }
        };
        self.pool.spawn(work).detach();
    }

    /// The next load that came to its end.
    pub fn next_finished(&self) -> Option<Finished> {
        self.finished.try_recv().ok()
    }

    /// How many loads came to their end, and are not taken yet.
    #[cfg(test)]
    pub fn brought(&self) -> usize {
        self.finished.len()
    }

    /// Sees to it that tasks get time, in each frame; whether it is only now that others help their threads.
    pub fn look_after(&mut self, is_any_under_way: bool) -> bool {
        let is_loading = is_any_under_way || !self.carrier.is_empty();
        self.help.as_mut().is_some_and(|help| help.look(is_loading))
    }

    /// Lets a task drop `value`, after [`carry_off`](Self::carry_off).
    ///
    /// What a task allocated goes this way: to free it takes time, and with most allocators a lock of the thread that allocated.
    pub fn drop_later<T: Send + Sync + 'static>(&mut self, value: T) {
        self.waste.push(Box::new(value));
    }

    /// Hands everything that is to be dropped to a task. Once a frame; that wakes a thread, so a frame that is full leaves it to the next ones, if it `may_wait`.
    pub fn carry_off(&mut self, may_wait: bool) {
        if self.waste.is_empty() {
            return;
        }
        if may_wait && self.put_off < MOST_PUT_OFF {
            self.put_off += 1;
            return;
        }
        self.put_off = 0;
        let _ = self.carrier.try_send(core::mem::take(&mut self.waste));
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// A codec of the game panicked: its level fails, the others go on.
pub(super) fn panicked(path: &AssetPath, panic: &(dyn Any + Send)) -> Stop {
    let kind = LoadErrorKind::Panicked(words_of(panic));
    Stop::from(LoadError::package(path.to_string(), kind))
}

/// What a panic said.
pub(super) fn words_of(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().map(ToString::to_string);
    let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
    message.unwrap_or_default()
}

/// Does one task to its end.
pub(super) async fn run(services: &LoadServices, task: Task, pulse: &Pulse) -> Finished {
    match task {
        Task::Package(job, owner) => Finished::Package(Box::new(run_package(services, job, owner, pulse).await)),
        Task::Bulk(id, job) => {
            let load = async |read: &mut Read| load_part(services, &job, pulse, read).await;
            Finished::Bulk(run_single(id, job.path(), load).await)
        }
        Task::Open(id, job) => {
            let open = async |read: &mut Read| open_tables(services, &job, pulse, read).await;
            Finished::Open(run_single(id, &job.path, open).await)
        }
    }
}

async fn run_single<T>(
    id: u64,
    path: &AssetPath<'static>,
    load: impl AsyncFnOnce(&mut Read) -> Result<T, Stop>,
) -> FinishedSingle<T> {
    let mut read = Read::default();
    // The asset source may be the game's own.
    let loading = AssertUnwindSafe(load(&mut read)).catch_unwind();
    let result = loading.await.unwrap_or_else(|panic| Err(panicked(path, &*panic)));
    FinishedSingle { id, read, result }
}

async fn run_package(services: &LoadServices, job: Job, owner: JobOwner, pulse: &Pulse) -> FinishedPackage {
    let (path, wanted, progress) = (job.path.clone(), job.wanted.clone(), job.progress.clone());
    let mut read = Read::default();
    // It is cancelled by a flag, so that what it holds always comes back.
    let loading = AssertUnwindSafe(load_package(services, job, pulse, &mut read)).catch_unwind();
    let result = loading.await.unwrap_or_else(|panic| Err(panicked(&path, &*panic)));
    FinishedPackage {
        path,
        wanted,
        owner,
        progress,
        read,
        result,
    }
}
