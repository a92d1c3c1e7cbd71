//! Requests that one task answers: bulk payloads, and the tables of packages. See [`Singles`].

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use bevy_ecs::world::Mut;

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
pub(in crate::load) struct Singles<J, T> {
    all: BTreeMap<u64, Single<J, T>>,
    /// The next one that is asked whether anybody waits for it.
    next: u64,
}

impl<J, T> Default for Singles<J, T> {
    fn default() -> Self {
        Self {
            all: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<J, T> Singles<J, T> {
    /// Those that have begun: their numbers, priorities and progress.
    pub fn begun(&self) -> impl Iterator<Item = (u64, f32, Arc<Progress>)> {
        let begun = self.all.iter().filter(|(_, single)| single.queued.is_none());
        begun.filter_map(|(id, single)| Some((*id, single.priority, single.outcome.upgrade()?.progress.clone())))
    }

    /// Takes a request in; `job` takes it apart. Whether it waits from now on.
    pub fn take(
        &mut self,
        id: u64,
        priority: f32,
        outcome: &Weak<Outcome<T>>,
        job: impl FnOnce(Arc<Progress>) -> Result<J, Box<LoadError>>,
    ) -> bool {
        let Some(waiting) = outcome.upgrade() else {
            return false;
        };
        match job(waiting.progress.clone()) {
            Ok(job) => {
                let single = Single {
                    priority,
                    queued: Some(job),
                    outcome: outcome.clone(),
                };
                self.all.insert(id, single);
                true
            }
            Err(error) => {
                waiting.finish(Err(error));
                false
            }
        }
    }

    /// How many requests have not come to their end.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The requests that have not started, with their priorities.
    pub fn waiting(&self) -> impl Iterator<Item = (f32, u64)> {
        let queued = self.all.iter().filter(|(_, single)| single.queued.is_some());
        queued.map(|(id, single)| (single.priority, *id))
    }

    /// What is to be done for a request, and its priority; once.
    pub fn start(&mut self, id: u64) -> Option<(J, f32)> {
        let single = self.all.get_mut(&id)?;
        let job = single.queued.take()?;
        // Nobody may wait for it by now.
        (single.outcome.strong_count() > 0).then_some((job, single.priority))
    }

    /// Ends a request. Gives back what nobody waits for.
    pub fn finish(&mut self, finished: FinishedSingle<T>, mut stats: Mut<StreamingStats>) -> Option<T> {
        let FinishedSingle { id, read, result } = finished;
        let single = self.all.remove(&id);
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

    /// Takes out requests that nobody waits for any more; which ones. Each frame looks at some of them, in turns: what they do is cancelled anyway.
    pub fn drop_unwanted(&mut self) -> Vec<u64> {
        let (some, next) = in_turns(&self.all, self.next, |single| single.outcome.strong_count() == 0);
        self.next = next;
        some.iter().for_each(|id| drop(self.all.remove(id)));
        some
    }
}

/// So many requests are looked at in a frame.
const LOOKS: usize = 1024;

/// Which of the next [`LOOKS`] requests, from this one on, are like that, and where to go on in the next frame.
pub(super) fn in_turns<V>(all: &BTreeMap<u64, V>, from: u64, is: impl Fn(&V) -> bool) -> (Vec<u64>, u64) {
    let looked = all.range(from..).chain(all.range(..from)).take(LOOKS);
    let mut next = from;
    let found = looked.filter_map(|(id, value)| {
        next = id.wrapping_add(1);
        is(value).then_some(*id)
    });
    (found.collect(), next)
}
