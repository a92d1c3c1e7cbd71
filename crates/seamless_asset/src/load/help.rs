//! Loading threads that get no time, and what is done about it. See [`Help`].

#[cfg(test)]
mod tests;

use core::{
    mem,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use std::{
    io,
    sync::Arc,
    thread::{self, Builder, JoinHandle, Thread},
};

use async_channel::{Sender, bounded};
use bevy_log::warn_once;
use bevy_platform::time::Instant;
use bevy_tasks::TaskPool;

use super::gatekeeper::Gatekeeper;
use crate::threads::step_back;

/// An answer that takes no longer than this is in time.
const GRACE: Duration = Duration::from_millis(50);

/// So much lateness is too much, less the time for which answers came soon, ...
const PATIENCE: Duration = Duration::from_secs(1);

/// ... and so much of it is known beforehand once there has been too much.
const KNOWN: Duration = Duration::from_millis(800);

/// What a frame counts for at most: a program that was halted as a whole has had no time for anything.
const MOST_PER_FRAME: Duration = Duration::from_millis(100);

/// From an answer to the next question, and how long that is where answers have been late.
const PAUSE: Duration = Duration::from_secs(1);
const SHORT_PAUSE: Duration = Duration::from_millis(100);

/// Who helps stays for so long when nothing is left to load: more may come.
const STAY: Duration = Duration::from_secs(5);

/// Helps threads of the lowest priority while they get no time: where all cores are busy, because of a compiler for instance, they may wait for
/// seconds, and on most systems they cannot raise themselves again. Then threads of normal priority do the same work, but for what others are in the middle of,
/// until nothing is left to load.
///
/// While something is being loaded, a thread of the same priority that does nothing else is asked every second whether it gets any time, and ten times as often
/// where it has answered late. One that gets a few milliseconds now and then does.
pub(super) struct Help {
    pool: Arc<TaskPool>,
    decoding: Arc<Gatekeeper>,
    start: Instant,
    watch: Watch,
    canary: Option<Canary>,
    /// Those that help, as long as they are to.
    nudges: Vec<Sender<()>>,
    /// And those that have not ended yet.
    threads: Vec<JoinHandle<()>>,
}

impl Help {
    /// For the threads of this pool, as many as may be `decoding` at the same time.
    pub fn new(pool: Arc<TaskPool>, decoding: Arc<Gatekeeper>) -> Self {
        Self {
            pool,
            decoding,
            start: Instant::now(),
            watch: Watch::default(),
            canary: Canary::new().ok(),
            nudges: Vec::new(),
            threads: Vec::new(),
        }
    }

    /// Looks at the threads, in each frame; whether help begins.
    pub fn look(&mut self, is_loading: bool) -> bool {
        let Some(canary) = &self.canary else { return false };
        let has_answered = canary.has_answered();
        let act = self.watch.look(self.start.elapsed(), is_loading, has_answered);
        if act == Act::Ask {
            canary.ask();
        }
        if self.nudges.is_empty() && !self.threads.is_empty() {
            self.threads.retain(|thread| !thread.is_finished());
        }
        match act {
            Act::Begin => self.begin(),
            Act::End => self.end(),
            Act::Ask | Act::Nothing => {}
        }
        // Who waits for work is told of it through one that waits as well, and may have no time.
        for nudge in &self.nudges {
            let _ = nudge.try_send(());
        }
        act == Act::Begin
    }

    fn begin(&mut self) {
        warn_once!(
            "all cores are busy, and the threads that load levels get no time: threads of normal priority help them until all is loaded, and may take time from \
             frames. `SeamlessAssetPlugin::background` says whether loads step back at all"
        );
        for index in 0..self.pool.thread_num() {
            let (nudge, nudges) = bounded(1);
            let (pool, decoding) = (self.pool.clone(), self.decoding.clone());
            let help = move || {
                // Who has no time may be decoding.
                decoding.set_most_now(2 * pool.thread_num() as u64);
                // Whoever waits for a scope does the pool's work meanwhile. It waits on this very thread: those of the pool have no time.
                pool.scope(|scope| scope.spawn_on_scope(async move { while nudges.recv().await.is_ok() {} }));
            };
            match Builder::new().name(format!("Levels, help ({index})")).spawn(help) {
                Ok(thread) => {
                    self.threads.push(thread);
                    self.nudges.push(nudge);
                }
                Err(error) => warn_once!("the threads that load levels get no time, and cannot be helped: {error}"),
            }
        }
    }

    /// Nobody waits for them: they may be in the middle of something.
    fn end(&mut self) {
        self.nudges.clear();
        self.decoding.set_most(self.pool.thread_num() as u64);
    }
}

impl Drop for Help {
    fn drop(&mut self) {
        self.end();
        for thread in mem::take(&mut self.threads) {
            // A panic was reported on its thread.
            let _ = thread.join();
        }
    }
}

/// A thread of the lowest priority that answers questions, and does nothing else. Neither a question nor an answer takes a lock: who has no time may have it.
struct Canary {
    thread: Thread,
    talk: Arc<Talk>,
}

#[derive(Default)]
struct Talk {
    asked: AtomicU64,
    answered: AtomicU64,
}

/// The question that ends the thread.
const LAST: u64 = u64::MAX;

impl Canary {
    fn new() -> io::Result<Self> {
        let talk = Arc::new(Talk::default());
        let answers = talk.clone();
        let answer = move || {
            step_back();
            loop {
                let asked = answers.asked.load(Ordering::Acquire);
                answers.answered.store(asked, Ordering::Release);
                if asked == LAST {
                    return;
                }
                thread::park();
            }
        };
        let canary = Builder::new().name("Levels, canary".to_owned()).spawn(answer)?;
        let thread = canary.thread().clone();
        Ok(Self { thread, talk })
    }

    fn ask(&self) {
        self.talk.asked.fetch_add(1, Ordering::Release);
        self.thread.unpark();
    }

    fn has_answered(&self) -> bool {
        self.talk.answered.load(Ordering::Acquire) == self.talk.asked.load(Ordering::Relaxed)
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.talk.asked.store(LAST, Ordering::Release);
        self.thread.unpark();
    }
}

/// Whether loading threads get time.
///
/// ```text
/// Calm ───► Asked    something is being loaded, and the pause is over
///
/// Asked ─┬► Calm     one of them has answered, or nothing is left to load
///        └► Helped   answers are late all the time
///
/// Helped ─► Calm     nothing has been left to load for a while
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Calm { until: Duration },
    Asked { since: Duration },
    Helped { until: Duration },
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Act {
    Nothing,
    Ask,
    Begin,
    End,
}

/// Decides when to ask and when to help. Pure.
#[derive(Debug)]
struct Watch {
    state: State,
    /// How late answers have been, less the time for which they came soon.
    late: Duration,
    looked: Duration,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            state: State::Calm { until: Duration::ZERO },
            late: Duration::ZERO,
            looked: Duration::ZERO,
        }
    }
}

impl Watch {
    fn look(&mut self, now: Duration, is_loading: bool, has_answered: bool) -> Act {
        let passed = now.saturating_sub(self.looked).min(MOST_PER_FRAME);
        self.looked = now;
        let (state, act) = match self.state {
            State::Calm { until } if is_loading && now >= until => (State::Asked { since: now }, Act::Ask),
            State::Asked { .. } if has_answered => {
                let pause = if self.late.is_zero() { PAUSE } else { SHORT_PAUSE };
                (State::Calm { until: now + pause }, Act::Nothing)
            }
            // Somebody has done it all.
            State::Asked { .. } if !is_loading => (State::Calm { until: now }, Act::Nothing),
            State::Asked { since } if now.saturating_sub(since) > GRACE => self.note_late(passed, now),
            State::Helped { .. } if is_loading => (State::Helped { until: now + STAY }, Act::Nothing),
            State::Helped { until } if now >= until => (State::Calm { until: now }, Act::End),
            other => (other, Act::Nothing),
        };
        if is_loading && matches!(state, State::Calm { .. }) {
            self.late = self.late.saturating_sub(passed);
        }
        self.state = state;
        act
    }

    fn note_late(&mut self, passed: Duration, now: Duration) -> (State, Act) {
        self.late += passed;
        if self.late < PATIENCE {
            return (self.state, Act::Nothing);
        }
        self.late = KNOWN;
        (State::Helped { until: now + STAY }, Act::Begin)
    }
}
