//! What somebody waits for: told by the main thread, and heard on any other. See [`Outcome`].

use core::{
    convert::Infallible,
    sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
};
use std::sync::{Arc, Weak};

use async_channel::{Receiver, Sender};
use bevy_ecs::entity::Entity;

use super::{StreamingProgress, StreamingStatus};

/// What has become of an [`Arrival`](crate::Arrival), or of what a [`LevelTicket`](crate::LevelTicket) asks for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum StreamingResult {
    /// All that was asked for is there.
    Ready,
    /// All is there but so many levels: they could not be loaded, or there is no room for them under a
    /// [cap](crate::LevelSettings::max_levels) or in memory. What is only to be loaded waits until there is
    /// [plenty](seamless_asset::MemoryPressure::Calm) of it. Of a ticket also those that somebody [keeps away](crate::Levels::unload).
    WithFailures(u32),
    /// The world has ended, or could not be loaded; so has the app if it does not run any more. Or there were
    /// [too many](crate::LevelSettings::max_requests) arrivals, or any number of the place is infinite or none. A place where no level is asked for is no such case: it is ready at once, and
    /// its [progress](crate::Arrival::progress) has no level that is wanted. A ticket for a level that no world has, or has any more, is gone.
    Gone,
}

/// What the main thread writes and everybody reads; nobody locks.
#[derive(Debug)]
pub(crate) struct Outcome {
    state: AtomicU8,
    /// Whether it is known what is asked for.
    is_known: AtomicBool,
    /// Levels: wanted, there, failed.
    levels: [AtomicU32; 3],
    /// Bytes: wanted, there.
    bytes: [AtomicU64; 2],
    /// Closed when all is over.
    done: Receiver<Infallible>,
}

/// So many of one kind are looked at in a frame: there may be tens of thousands, that take their time.
pub(crate) const LOOKED_AT: usize = 256;

/// States of an outcome.
const WAITING: u8 = 0;
const COMPLETE: u8 = 1;
const GONE: u8 = 2;

impl Outcome {
    pub fn is_complete(&self) -> bool {
        self.state.load(Ordering::Acquire) == COMPLETE
    }

    /// How it ended; `None` while it has not.
    pub fn result(&self) -> Option<StreamingResult> {
        // In this order: what ended is said before it is closed.
        let is_closed = self.done.is_closed();
        match self.state.load(Ordering::Acquire) {
            COMPLETE => Some(match self.progress().failed {
                0 => StreamingResult::Ready,
                failed => StreamingResult::WithFailures(failed),
            }),
            WAITING if !is_closed => None,
            _ => Some(StreamingResult::Gone),
        }
    }

    pub fn progress(&self) -> StreamingProgress {
        let [wanted, there, failed] = self.levels.each_ref().map(|count| count.load(Ordering::Relaxed));
        let [wanted_bytes, there_bytes] = self.bytes.each_ref().map(|count| count.load(Ordering::Relaxed));
        StreamingProgress {
            is_pending: !self.is_known.load(Ordering::Relaxed),
            wanted,
            there,
            failed,
            wanted_bytes,
            there_bytes,
        }
    }

    /// Waits until it has ended.
    pub async fn wait(&self) -> StreamingResult {
        // Nothing is ever sent.
        let _ = self.done.recv().await;
        self.result().unwrap_or(StreamingResult::Gone)
    }

    fn set_progress(&self, progress: &StreamingProgress) {
        let StreamingProgress {
            is_pending,
            wanted,
            there,
            failed,
            wanted_bytes,
            there_bytes,
        } = *progress;
        self.is_known.store(!is_pending, Ordering::Relaxed);
        let levels = self.levels.iter().zip([wanted, there, failed]);
        levels.for_each(|(place, count)| place.store(count, Ordering::Relaxed));
        let bytes = self.bytes.iter().zip([wanted_bytes, there_bytes]);
        bytes.for_each(|(place, count)| place.store(count, Ordering::Relaxed));
    }
}

/// Who tells an [`Outcome`]: as long as it has not ended, and as somebody may hear it.
#[derive(Debug)]
pub(crate) struct Promise {
    outcome: Weak<Outcome>,
    /// Until it has ended; dropping this ends it for those who wait.
    waiting: Option<Sender<Infallible>>,
    /// There was a world for it, if only one that had failed.
    had_world: bool,
}

impl Promise {
    pub fn new() -> (Self, Arc<Outcome>) {
        let (waiting, done) = async_channel::bounded(1);
        let outcome = Arc::new(Outcome {
            state: AtomicU8::new(WAITING),
            is_known: AtomicBool::new(false),
            levels: Default::default(),
            bytes: Default::default(),
            done,
        });
        let promise = Self {
            outcome: Arc::downgrade(&outcome),
            waiting: Some(waiting),
            had_world: false,
        };
        (promise, outcome)
    }

    /// Whether anybody can still ask.
    pub fn is_held(&self) -> bool {
        self.outcome.strong_count() > 0
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.waiting.is_none()
    }

    /// Tells how far it is in the world that is meant, or in all; without any progress, none of them has what was asked for.
    pub fn look(
        &mut self,
        meant: Option<Entity>,
        status: &StreamingStatus,
        progress: impl FnOnce() -> Option<StreamingProgress>,
    ) {
        self.had_world |= meant.is_some() || status.has_any(meant);
        if !status.has_world(meant) {
            // The first world may be spawned later than the first who asks.
            if self.had_world {
                self.end(GONE);
            }
            return;
        }
        match progress() {
            Some(progress) => self.tell(&progress),
            None if status.is_pending(meant) => {}
            None => self.end(GONE),
        }
    }

    fn tell(&mut self, progress: &StreamingProgress) {
        if let Some(outcome) = self.outcome.upgrade() {
            outcome.set_progress(progress);
        }
        if progress.is_complete() {
            self.end(COMPLETE);
        }
    }

    /// There is nothing to wait for.
    pub fn give_up(&mut self) {
        self.end(GONE);
    }

    fn end(&mut self, state: u8) {
        if let Some(outcome) = self.outcome.upgrade() {
            outcome.state.store(state, Ordering::Release);
        }
        self.waiting = None;
    }

    /// It has come, whatever it is.
    #[cfg(test)]
    pub fn keep(&mut self) {
        self.end(COMPLETE);
    }
}
