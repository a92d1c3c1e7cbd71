//! Requests that one task answers: bulk payloads, and the tables of packages. See [`Singles`].

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use bevy_ecs::world::{Mut, World};

use crate::{
    error::LoadError,
    load::{Progress, objects::Outcome, stage::Stage, task::Stop, tasks::FinishedSingle},
    settings::StreamingStats,
};

/// A request that is under way.
struct Single<J, T> {
    priority: f32,
    /// What is to be done, until it is begun.
    queued: Option<J>,
    outcome: Weak<Outcome<T>>,
}

/// The requests of one kind, each a job `J` that a task answers with a `T`.
pub(in crate::load) struct Singles<J, T>(BTreeMap<u64, Single<J, T>>);

impl<J, T> Default for Singles<J, T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<J, T> Singles<J, T> {
    /// Those that have begun: their numbers, priorities and progress.
    pub fn begun(&self) -> impl Iterator<Item = (u64, f32, Arc<Progress>)> {
        let begun = self.0.iter().filter(|(_, single)| single.queued.is_none());
        begun.filter_map(|(id, single)| Some((*id, single.priority, single.outcome.upgrade()?.progress.clone())))
    }

    /// Takes a request in; `job` takes it apart.
    pub fn take(
        &mut self,
        id: u64,
        priority: f32,
        outcome: &Weak<Outcome<T>>,
        job: impl FnOnce(Arc<Progress>) -> Result<J, Box<LoadError>>,
    ) {
        let Some(waiting) = outcome.upgrade() else { return };
        match job(waiting.progress.clone()) {
            Ok(job) => {
                let single = Single {
                    priority,
                    queued: Some(job),
                    outcome: outcome.clone(),
                };
                self.0.insert(id, single);
            }
            Err(error) => waiting.finish(Err(error)),
        }
    }

    /// How many requests have not come to their end.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The requests that have not started, with their priorities.
    pub fn waiting(&self) -> impl Iterator<Item = (f32, u64)> {
        let queued = self.0.iter().filter(|(_, single)| single.queued.is_some());
        queued.map(|(id, single)| (single.priority, *id))
    }

    /// What is to be done for a request, and its priority; once.
    pub fn start(&mut self, id: u64) -> Option<(J, f32)> {
        let single = self.0.get_mut(&id)?;
        Some((single.queued.take()?, single.priority))
    }

    /// Ends a request. Gives back what nobody waits for.
    pub fn finish(&mut self, finished: FinishedSingle<T>, mut stats: Mut<StreamingStats>) -> Option<T> {
        let FinishedSingle { id, read, result } = finished;
        let single = self.0.remove(&id);
        let outcome = single.as_ref().and_then(|single| single.outcome.upgrade());
        stats.bytes_read += read.bytes;
        if result.is_err() {
            stats.waste(read.stage, read.bytes);
        } else if outcome.is_none() {
            stats.waste(Stage::Staged, read.bytes);
        }
        if outcome.is_none() {
            // It was counted when it was found that nobody waits, or it is now.
            stats.cancelled += u64::from(single.is_some());
        }
        match (outcome, result) {
            (Some(outcome), Ok(value)) => outcome.finish(Ok(value)),
            (Some(outcome), Err(Stop::Failed(error))) => {
                stats.failed += 1;
                outcome.finish(Err(error));
            }
            (_, result) => return result.ok(),
        }
        None
    }

    /// Ends the requests that nobody waits for any more.
    pub fn drop_unwanted(&mut self, world: &mut World) {
        let before = self.0.len();
        self.0.retain(|_, single| single.outcome.strong_count() > 0);
        let dropped = before.saturating_sub(self.0.len());
        world.resource_mut::<StreamingStats>().cancelled += dropped as u64;
    }
}
