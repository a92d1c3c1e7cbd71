//! Loading threads that get no time, and what is done about it. See [`Help`].

#[cfg(test)]
mod tests;

use core::{
    cell::Cell,
    mem,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use std::{
    sync::Arc,
    thread::{Builder, JoinHandle},
};

use async_channel::{Sender, bounded};
use bevy_log::warn_once;
use bevy_platform::time::Instant;
use bevy_tasks::TaskPool;

use super::gatekeeper::Gatekeeper;
use crate::threads::time_without_core;

/// An answer that takes no longer than this is in time.
const GRACE: Duration = Duration::from_millis(50);

/// One that takes no longer than this may have waited for what its thread was in the middle of: a thread that is decoding has a core.
const LONG: Duration = Duration::from_secs(5);

/// So much time without a core is too much, less the time in which nobody was asked, ...
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
/// While something is being loaded, a tiny task asks every second whether the threads get any time, and ten times as often where they have answered late. A thread that
/// gets a few milliseconds now and then answers, too, so what counts is how long it had to wait for a core, where the system tells that, else how late the answer is.
pub(super) struct Help {
    pool: Arc<TaskPool>,
    decoding: Arc<Gatekeeper>,
    start: Instant,
    watch: Watch,
    talk: Arc<Talk>,
    questions: Sender<u64>,
    /// Those that help, as long as they are to.
    nudges: Vec<Sender<()>>,
    /// And those that have not ended yet.
    threads: Vec<JoinHandle<()>>,
}

impl Help {
    /// For the threads of this pool, as many as may be `decoding` at the same time.
    pub fn new(pool: Arc<TaskPool>, decoding: Arc<Gatekeeper>) -> Self {
        let talk = Arc::new(Talk::default());
        let (questions, asked) = bounded(1);
        let answers = talk.clone();
        let answering = async move {
            while let Ok(question) = asked.recv().await {
                answers.answer(question);
            }
        };
        pool.spawn(answering).detach();
        Self {
            pool,
            decoding,
            start: Instant::now(),
            watch: Watch::default(),
            talk,
            questions,
            nudges: Vec::new(),
            threads: Vec::new(),
        }
    }

    /// Looks at the threads, in each frame; whether help begins.
    pub fn look(&mut self, is_loading: bool) -> bool {
        let answer = self.talk.answer_to(self.watch.asked);
        let act = self.watch.look(self.start.elapsed(), is_loading, answer);
        if act == Act::Ask {
            // In the place of one that nobody has heard.
            let _ = self.questions.force_send(self.watch.asked);
        }
        if self.nudges.is_empty() && !self.threads.is_empty() {
            self.threads.retain(|thread| !thread.is_finished());
        }
        match act {
            Act::Begin => self.begin(),
            Act::End => self.end(),
            Act::Ask | Act::Nothing => {}
        }
        if is_loading {
            self.nudge();
        }
        act == Act::Begin && !self.nudges.is_empty()
    }

    /// Who waits for work is told of it through one that waits as well, and may have no time.
    fn nudge(&self) {
        for nudge in &self.nudges {
            let _ = nudge.try_send(());
        }
    }

    fn begin(&mut self) {
        warn_once!(
            "all cores are busy, and the threads that load levels get no time: threads of normal priority help them until all is loaded, and may take time from \
             frames. `SeamlessAssetPlugin::background` says whether loads step back at all"
        );
        // Who has no time may be decoding.
        self.decoding.set_most(2 * self.pool.thread_num() as u64);
        for index in 0..self.pool.thread_num() {
            let (nudge, nudges) = bounded(1);
            let (pool, decoding) = (self.pool.clone(), self.decoding.clone());
            let help = move || {
                decoding.admit_waiting();
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

/// What loading threads have answered.
#[derive(Default)]
struct Talk {
    /// The last question that is answered.
    question: AtomicU64,
    /// Nanoseconds for which those who answered have waited for a core since their answers before.
    waited: AtomicU64,
}

/// That a question is answered.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Answer {
    /// How long whoever answered has waited for a core lately, if the system tells.
    waited: Option<Duration>,
}

/// The system does not tell.
const UNKNOWN: u64 = u64::MAX;

impl Talk {
    /// On a loading thread.
    fn answer(&self, question: u64) {
        thread_local! {
            static BEFORE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
        }
        let waited = time_without_core().map_or(UNKNOWN, |waited| {
            let since = waited.saturating_sub(BEFORE.replace(waited));
            since.as_nanos() as u64
        });
        self.waited.store(waited, Ordering::Relaxed);
        self.question.store(question, Ordering::Release);
    }

    fn answer_to(&self, question: u64) -> Option<Answer> {
        let is_answered = self.question.load(Ordering::Acquire) >= question;
        is_answered.then(|| {
            let waited = self.waited.load(Ordering::Relaxed);
            let waited = (waited != UNKNOWN).then(|| Duration::from_nanos(waited));
            Answer { waited }
        })
    }
}

/// Whether loading threads get time.
///
/// ```text
/// Calm ───► Asked    something is being loaded, and the pause is over
///
/// Asked ─┬► Calm     one of them has answered, or nothing is left to load
///        └► Helped   they wait for a core nearly all the time, or none answers at all
///
/// Helped ─► Calm     nothing has been left to load for a while
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Calm { until: Duration },
    Asked { late: Duration },
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
    /// The number of the last question.
    asked: u64,
    /// How long threads went without a core, less the time in which nobody was asked.
    without: Duration,
    looked: Duration,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            state: State::Calm { until: Duration::ZERO },
            asked: 0,
            without: Duration::ZERO,
            looked: Duration::ZERO,
        }
    }
}

impl Watch {
    /// The next frame, with what was answered to the last question.
    fn look(&mut self, now: Duration, is_loading: bool, answer: Option<Answer>) -> Act {
        let passed = now.saturating_sub(self.looked).min(MOST_PER_FRAME);
        self.looked = now;
        let (state, act) = match self.state {
            State::Calm { until } if is_loading && now >= until => {
                self.asked += 1;
                let late = Duration::ZERO;
                (State::Asked { late }, Act::Ask)
            }
            State::Calm { until } => {
                if is_loading {
                    self.without = self.without.saturating_sub(passed);
                }
                (State::Calm { until }, Act::Nothing)
            }
            State::Asked { late } => self.wait(late + passed, now, is_loading, answer),
            State::Helped { .. } if is_loading => (State::Helped { until: now + STAY }, Act::Nothing),
            State::Helped { until } if now >= until => (State::Calm { until: now }, Act::End),
            State::Helped { until } => (State::Helped { until }, Act::Nothing),
        };
        self.state = state;
        act
    }

    /// An answer has been waited for so long.
    fn wait(&mut self, late: Duration, now: Duration, is_loading: bool, answer: Option<Answer>) -> (State, Act) {
        let without = match answer {
            Some(_) if late <= GRACE => Duration::ZERO,
            Some(Answer { waited }) => waited.map_or(late, |waited| waited.min(late)),
            // Somebody has done it all.
            None if !is_loading => return (State::Calm { until: now }, Act::Nothing),
            None if late > LONG => PATIENCE,
            None => return (State::Asked { late }, Act::Nothing),
        };
        self.without += without;
        if self.without >= PATIENCE && is_loading {
            self.without = KNOWN;
            return (State::Helped { until: now + STAY }, Act::Begin);
        }
        let pause = if without.is_zero() { PAUSE } else { SHORT_PAUSE };
        (State::Calm { until: now + pause }, Act::Nothing)
    }
}
