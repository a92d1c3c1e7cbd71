//! Requests for bulk payloads and for the tables of packages, from the queue to the end.

use std::sync::{Arc, Weak};

use bevy_ecs::world::World;

use super::{Pipeline, objects::parse};
use crate::{
    error::{LoadError, LoadErrorKind},
    linker::Linker,
    load::{
        BulkRequest, FilePartRequest, OpenRequest, Progress,
        bulk::BulkJob,
        file::{FileJob, PartJob},
        objects::Outcome,
        open::OpenJob,
        task::LoadServices,
        tasks::{FinishedSingle, JobOwner, Task},
    },
    settings::StreamingStats,
};

fn bulk_job(services: &LoadServices, request: BulkRequest, progress: Arc<Progress>) -> Result<PartJob, Box<LoadError>> {
    let path = parse(services, &request.path)?;
    let no_object = || LoadError::package(path.package.to_string(), LoadErrorKind::NoObjectNamed);
    let object = path.object.clone().ok_or_else(no_object)?;
    Ok(PartJob::Bulk(BulkJob {
        path: path.package,
        object,
        payload: request.payload,
        range: request.range,
        progress,
    }))
}

impl Pipeline {
    /// Takes a request for a payload in.
    pub(super) fn take_bulk(&mut self, id: u64, request: BulkRequest, outcome: &Weak<Outcome<Vec<u8>>>) {
        let (services, priority) = (&self.services, request.priority);
        let job = |progress| bulk_job(services, request, progress);
        if self.bulk.take(id, priority, outcome, job) {
            self.wait(JobOwner::Bulk(id), priority);
        }
    }

    /// Takes a request for a part of a file in.
    pub(super) fn take_file_part(&mut self, id: u64, request: FilePartRequest, outcome: &Weak<Outcome<Vec<u8>>>) {
        let priority = request.priority;
        let job = |progress| {
            Ok(PartJob::File(FileJob {
                path: request.path,
                head: request.head,
                range: request.range,
                progress,
            }))
        };
        if self.bulk.take(id, priority, outcome, job) {
            self.wait(JobOwner::Bulk(id), priority);
        }
    }

    /// Takes a request for tables in.
    pub(super) fn take_open(&mut self, id: u64, request: OpenRequest, outcome: &Weak<Outcome<Arc<Linker>>>) {
        let (path, priority) = (request.package, request.priority);
        let job = |progress| Ok(OpenJob { path, progress });
        if self.opens.take(id, priority, outcome, job) {
            self.wait(JobOwner::Open(id), priority);
        }
    }

    /// The requests that have not started, with their priorities.
    pub(super) fn waiting_singles(&self) -> impl Iterator<Item = (f32, JobOwner)> {
        let bulk = self.bulk.waiting();
        let bulk = bulk.map(|(priority, id)| (priority, JobOwner::Bulk(id)));
        let opens = self.opens.waiting();
        bulk.chain(opens.map(|(priority, id)| (priority, JobOwner::Open(id))))
    }

    /// Ends the requests that nobody waits for any more.
    pub(super) fn drop_unwanted_singles(&mut self, world: &mut World) {
        let dropped = [self.bulk.drop_unwanted(), self.opens.drop_unwanted()].concat();
        world.resource_mut::<StreamingStats>().cancelled += dropped.len() as u64;
        dropped.into_iter().for_each(|id| self.waiting.remove(id));
    }

    pub(super) fn start_bulk(&mut self, id: u64) {
        self.waiting.remove(id);
        if let Some((job, priority)) = self.bulk.start(id) {
            job.progress().set_rank(self.arrivals.rank(id, priority));
            self.start_task(Task::Bulk(id, job));
        }
    }

    pub(super) fn start_open(&mut self, id: u64) {
        self.waiting.remove(id);
        if let Some((job, priority)) = self.opens.start(id) {
            job.progress.set_rank(self.arrivals.rank(id, priority));
            self.start_task(Task::Open(id, job));
        }
    }

    pub(super) fn take_finished_bulk(&mut self, world: &mut World, finished: FinishedSingle<Vec<u8>>) {
        let unwanted = self.bulk.finish(finished, world.resource_mut::<StreamingStats>());
        self.tasks.drop_later(unwanted);
    }

    pub(super) fn take_finished_open(&mut self, world: &mut World, finished: FinishedSingle<Arc<Linker>>) {
        let unwanted = self.opens.finish(finished, world.resource_mut::<StreamingStats>());
        self.tasks.drop_later(unwanted);
    }
}
