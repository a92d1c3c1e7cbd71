//! Work for several threads, whose results come in the order in which it was given. See [`InOrder`].

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use async_channel::{Receiver, Sender, unbounded};

/// A job, and how many were given before it.
type Job<'a, R> = (usize, Box<dyn FnOnce() -> R + Send + 'a>);
/// What came of it.
type Done<R> = (usize, thread::Result<R>);

/// Has jobs done by a few threads. Who takes the results sees no difference to doing one after the other: with one thread, that is
/// what is done, on the caller's own.
pub(crate) struct InOrder<'a, R> {
    jobs: (Sender<Job<'a, R>>, Receiver<Job<'a, R>>),
    done: Receiver<Done<R>>,
    /// What is done, and has to wait for what was given before.
    early: BTreeMap<usize, thread::Result<R>>,
    threads: usize,
    given: usize,
    taken: usize,
}

/// How many jobs may wait, or wait to be taken, for each thread: they hold memory.
const AHEAD: usize = 2;

impl<'a, R: Send + 'a> InOrder<'a, R> {
    /// `spawn` has work done by a thread of its own; it is called `threads` times, or not at all if that is 1.
    pub fn new(threads: usize, mut spawn: impl FnMut(Box<dyn FnOnce() + Send + 'a>)) -> Self {
        let (jobs, (sender, done)) = (unbounded(), unbounded());
        let threads = threads.max(1);
        let spawned = if threads > 1 { threads } else { 0 };
        for _ in 0..spawned {
            let (waiting, sender) = (jobs.1.clone(), sender.clone());
            spawn(Box::new(move || work(&waiting, &sender)));
        }
        Self {
            jobs,
            done,
            early: BTreeMap::new(),
            threads,
            given: 0,
            taken: 0,
        }
    }

    /// Gives a job. Waits while there are many, and gives to `take` what is done.
    pub fn give(&mut self, job: impl FnOnce() -> R + Send + 'a, take: &mut dyn FnMut(R)) {
        let number = self.given;
        self.given += 1;
        if self.threads == 1 {
            self.taken += 1;
            take(job());
            return;
        }
        // The other end lives as long as this one.
        let _ = self.jobs.0.send_blocking((number, Box::new(job)));
        while let Ok((number, result)) = self.done.try_recv() {
            self.early.insert(number, result);
        }
        self.take_ready(take);
        self.take_until(AHEAD * self.threads, take);
    }

    /// Waits for all jobs.
    pub fn finish(&mut self, take: &mut dyn FnMut(R)) {
        self.take_until(0, take);
    }

    /// Waits until no more than so many are left.
    fn take_until(&mut self, left: usize, take: &mut dyn FnMut(R)) {
        while self.given - self.taken > left {
            // Nobody ends before the jobs do.
            let Ok((number, result)) = self.done.recv_blocking() else {
                return;
            };
            self.early.insert(number, result);
            self.take_ready(take);
        }
    }

    fn take_ready(&mut self, take: &mut dyn FnMut(R)) {
        while let Some(result) = self.early.remove(&self.taken) {
            self.taken += 1;
            match result {
                Ok(result) => take(result),
                Err(panic) => resume_unwind(panic),
            }
        }
    }
}

impl<R> Drop for InOrder<'_, R> {
    fn drop(&mut self) {
        self.jobs.0.close();
        // What nobody has begun is not begun any more.
        while self.jobs.1.try_recv().is_ok() {}
    }
}

fn work<R>(jobs: &Receiver<Job<R>>, done: &Sender<Done<R>>) {
    while let Ok((number, job)) = jobs.recv_blocking() {
        // A panic is the caller's, as if the job had been done there.
        let result = catch_unwind(AssertUnwindSafe(job));
        if done.send_blocking((number, result)).is_err() {
            return;
        }
    }
}
