//! The main thread's side of the tasks. See [`Tasks`].

use core::{any::Any, panic::AssertUnwindSafe};
use std::{panic::catch_unwind, sync::Arc};

use async_channel::{Receiver, Sender, unbounded};
use bevy_asset::AssetPath;
use bevy_tasks::{AsyncComputeTaskPool, IoTaskPool, TaskPool};
use futures_lite::FutureExt;

use super::{
    InstanceId, Progress,
    link::LoadedPackage,
    task::{Job, LoadServices, Read, Stop, load_package},
};
use crate::{
    error::{LoadError, LoadErrorKind},
    threads::step_back,
};

/// The end of a task.
pub(super) struct Finished {
    pub path: AssetPath<'static>,
    pub instance: Option<InstanceId>,
    pub progress: Arc<Progress>,
    pub read: Read,
    pub result: Result<LoadedPackage, Stop>,
}

type Waste = Vec<Box<dyn Any + Send + Sync>>;

/// Starts tasks, takes their results, and lets a task drop what nobody needs any more, all without a lock that a task may hold.
///
/// Tasks run at a low priority: one that was put to sleep with a lock in its hand makes the frame wait until it runs again.
/// To spawn a task is to take such a lock, so a task does that too.
pub(super) struct Tasks {
    jobs: Sender<(Job, Option<InstanceId>)>,
    finished: Receiver<Finished>,
    waste: Waste,
    carrier: Sender<Waste>,
}

impl Tasks {
    pub fn new(services: LoadServices) -> Self {
        let (jobs, queue) = unbounded();
        let (results, finished) = unbounded();
        let io = IoTaskPool::get_or_init(TaskPool::default);
        AsyncComputeTaskPool::get_or_init(TaskPool::default);
        io.spawn(start_jobs(services, queue, results)).detach();
        let (carrier, wasted) = unbounded::<Waste>();
        let carry = async move {
            while let Ok(waste) = wasted.recv().await {
                step_back();
                // A value whose drop panics does not end this task; the panic has been reported.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(waste)));
            }
        };
        AsyncComputeTaskPool::get().spawn(carry).detach();
        Self {
            jobs,
            finished,
            waste: Vec::new(),
            carrier,
        }
    }

    /// Starts a load.
    pub fn start(&self, job: Job, instance: Option<InstanceId>) {
        // The other end lives as long as this one.
        let _ = self.jobs.try_send((job, instance));
    }

    /// The next load that came to its end.
    pub fn next_finished(&self) -> Option<Finished> {
        self.finished.try_recv().ok()
    }

    /// Lets a task drop `value`, after [`carry_off`](Self::carry_off).
    ///
    /// What a task allocated goes this way: to free it takes time, and with most allocators a lock of the thread that allocated.
    pub fn drop_later<T: Send + Sync + 'static>(&mut self, value: T) {
        self.waste.push(Box::new(value));
    }

    /// Hands everything that is to be dropped to a task. Once a frame.
    pub fn carry_off(&mut self) {
        if !self.waste.is_empty() {
            let _ = self.carrier.try_send(core::mem::take(&mut self.waste));
        }
    }
}

/// A codec of the game panicked: its level fails, the others go on.
fn panicked(path: &AssetPath, panic: &(dyn Any + Send)) -> Stop {
    let message = panic.downcast_ref::<&str>().map(ToString::to_string);
    let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
    let kind = LoadErrorKind::Panicked(message.unwrap_or_default());
    Stop::from(LoadError::package(path.to_string(), kind))
}

/// Starts each job as a task of its own; ends with the app.
async fn start_jobs(services: LoadServices, queue: Receiver<(Job, Option<InstanceId>)>, results: Sender<Finished>) {
    while let Ok((job, instance)) = queue.recv().await {
        step_back();
        let (services, results) = (services.clone(), results.clone());
        let task = async move {
            step_back();
            let (path, progress) = (job.path.clone(), job.progress.clone());
            let mut read = Read::default();
            let loading = AssertUnwindSafe(load_package(services, job, &mut read)).catch_unwind();
            let result = loading.await.unwrap_or_else(|panic| Err(panicked(&path, &*panic)));
            let finished = Finished {
                path,
                instance,
                progress,
                read,
                result,
            };
            let _ = results.try_send(finished);
        };
        // It is cancelled by a flag, so that what it holds always comes back.
        IoTaskPool::get().spawn(task).detach();
    }
}
