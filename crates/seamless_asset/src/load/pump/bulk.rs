//! Requests for bulk payloads, from the queue to the end. See [`Pipeline::start_bulk`].

use std::sync::{Arc, Weak};

use bevy_ecs::world::World;

use super::{Pipeline, objects::parse};
use crate::{
    error::{LoadError, LoadErrorKind},
    load::{
        BulkRequest, Progress,
        bulk::BulkJob,
        objects::Outcome,
        task::{LoadServices, Stop},
        tasks::{FinishedBulk, JobOwner, Task},
    },
    settings::StreamingStats,
};

/// A request for a bulk payload that is under way.
pub(in crate::load) struct Bulk {
    priority: f32,
    /// What is to be done, until it is begun.
    queued: Option<BulkJob>,
    outcome: Weak<Outcome<Vec<u8>>>,
}

fn job(services: &LoadServices, request: BulkRequest, progress: Arc<Progress>) -> Result<BulkJob, Box<LoadError>> {
    let path = parse(services, &request.path)?;
    let no_object = || LoadError::package(path.package.to_string(), LoadErrorKind::NoObjectNamed);
    let object = path.object.clone().ok_or_else(no_object)?;
    Ok(BulkJob {
        path: path.package,
        object,
        payload: request.payload,
        range: request.range,
        progress,
    })
}

impl Pipeline {
    /// Takes a request in.
    pub(super) fn take_bulk(&mut self, id: u64, request: BulkRequest, outcome: &Weak<Outcome<Vec<u8>>>) {
        let Some(waiting) = outcome.upgrade() else { return };
        let priority = request.priority;
        match job(&self.services, request, waiting.progress.clone()) {
            Ok(job) => {
                let bulk = Bulk {
                    priority,
                    queued: Some(job),
                    outcome: outcome.clone(),
                };
                self.bulk.insert(id, bulk);
            }
            Err(error) => waiting.finish(Err(error)),
        }
    }

    /// The requests that have not started, with their priorities.
    pub(super) fn waiting_bulk(&self) -> impl Iterator<Item = (f32, JobOwner)> {
        let queued = self.bulk.iter().filter(|(_, bulk)| bulk.queued.is_some());
        queued.map(|(id, bulk)| (bulk.priority, JobOwner::Bulk(*id)))
    }

    pub(super) fn start_bulk(&mut self, id: u64) {
        let job = self.bulk.get_mut(&id).and_then(|bulk| bulk.queued.take());
        if let Some(job) = job {
            self.start_task(Task::Bulk(id, job));
        }
    }

    pub(super) fn take_finished_bulk(&mut self, world: &mut World, finished: FinishedBulk) {
        let FinishedBulk { id, read, result } = finished;
        let bulk = self.bulk.remove(&id);
        let outcome = bulk.as_ref().and_then(|bulk| bulk.outcome.upgrade());
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.bytes_read += read.bytes;
        if result.is_err() || outcome.is_none() {
            stats.bytes_wasted += read.bytes;
        }
        if outcome.is_none() {
            // It was counted when it was found that nobody waits, or it is now.
            stats.cancelled += u64::from(bulk.is_some());
        }
        match (outcome, result) {
            (Some(outcome), Ok(bytes)) => outcome.finish(Ok(bytes)),
            (Some(outcome), Err(Stop::Failed(error))) => {
                stats.failed += 1;
                outcome.finish(Err(error));
            }
            (_, result) => self.tasks.drop_later(result.ok()),
        }
    }

    /// Ends the requests that nobody waits for any more.
    pub(super) fn drop_unwanted_bulk(&mut self, world: &mut World) {
        let before = self.bulk.len();
        self.bulk.retain(|_, bulk| bulk.outcome.strong_count() > 0);
        let dropped = before - self.bulk.len();
        world.resource_mut::<StreamingStats>().cancelled += dropped as u64;
    }
}
