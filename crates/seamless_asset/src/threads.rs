//! Threads that do not get in the frame's way. See [`loading_threads`].

use core::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use std::{sync::Arc, thread::available_parallelism};

use bevy_tasks::{Task, TaskPool, TaskPoolBuilder};
#[cfg(any(unix, windows))]
use thread_priority::ThreadPriority;

/// The threads on which the pipeline reads and decodes, for other work that is to get in no frame's way: by default they have the lowest priority.
/// [`Streamer::loading_threads`](crate::Streamer::loading_threads) has them.
///
/// It shares them with the loads, so it should take milliseconds, and wait for nothing.
#[derive(Clone, Debug)]
pub struct LoadingThreads {
    pool: Arc<TaskPool>,
    /// How much was given to them and has not ended.
    given: Arc<AtomicUsize>,
}

/// Something that was given to them, until it has ended or was cancelled.
struct Given(Arc<AtomicUsize>);

impl Given {
    fn new(given: &Arc<AtomicUsize>) -> Self {
        given.fetch_add(1, Ordering::Relaxed);
        Self(given.clone())
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl LoadingThreads {
    pub(crate) fn new(pool: Arc<TaskPool>) -> Self {
        let given = Arc::default();
        Self { pool, given }
    }

    /// Whether anything that was given to them has not ended.
    pub(crate) fn are_busy(&self) -> bool {
        self.given.load(Ordering::Relaxed) > 0
    }

    /// Does `work` there, which must not take these threads along: they end when nobody has them any more, and cannot wait for themselves.
    /// Whoever drops the task cancels it, if it has not begun.
    pub fn spawn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        let given = Given::new(&self.given);
        self.pool.spawn(async move {
            let _given = given;
            work()
        })
    }
}

/// A pool for reading and decoding. In the `background`, its threads have the lowest priority.
///
/// Decoding takes whole cores for milliseconds. On a machine with few cores the system would give such a thread
/// a slice of the main thread's time in the middle of a frame, milliseconds long and most likely when the main thread has just given it
/// work. With the lowest priority it waits for the frame to end.
///
/// The pool is the pipeline's own, so that what else runs on Bevy's pools keeps its priority. But Bevy reads files on threads
/// that are shared by the whole process (the crate `blocking`), and on Linux those that a load is the first to need are
/// started with the priority of the load.
pub(crate) fn loading_threads(count: usize, background: bool) -> TaskPool {
    let builder = TaskPoolBuilder::new()
        .num_threads(count.max(1))
        .thread_name("Levels".to_owned());
    if background {
        builder.on_thread_spawn(step_back).build()
    } else {
        builder.build()
    }
}

/// A quarter of the machine's cores, one to four: as many as Bevy has for IO.
pub(crate) fn default_count() -> usize {
    let cores = available_parallelism().map_or(1, |cores| cores.get());
    ((cores + 2) / 4).clamp(1, 4)
}

#[cfg(any(unix, windows))]
fn step_back() {
    if let Err(error) = set_priority() {
        bevy_log::warn_once!("levels load at normal priority: {error:?}");
    }
}

/// Elsewhere threads have no priorities, or there are no threads.
#[cfg(not(any(unix, windows)))]
fn step_back() {}

/// Linux has a policy for threads that run when nothing else wants the core: any other thread that wakes takes their place at
/// once, and a core that runs only them counts as free. A low priority alone lets them finish their slice, milliseconds long.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn set_priority() -> Result<(), thread_priority::Error> {
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
    };
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy)
}

#[cfg(all(any(unix, windows), not(any(target_os = "linux", target_os = "android"))))]
fn set_priority() -> Result<(), thread_priority::Error> {
    thread_priority::set_current_thread_priority(ThreadPriority::Min)
}

/// How long the calling thread has waited for a core since it was started, as far as the system tells: Linux counts it for each thread, most
/// kernels at least ([scheduler statistics](https://docs.kernel.org/scheduler/sched-stats.html)).
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn time_without_core() -> Option<Duration> {
    let numbers = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    // Time on a core, time in a queue for one, and how often.
    let waited = numbers.split_ascii_whitespace().nth(1)?;
    waited.parse().ok().map(Duration::from_nanos)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn time_without_core() -> Option<Duration> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use futures_lite::future::block_on;
    use thread_priority::{NormalThreadSchedulePolicy::Idle, ThreadSchedulePolicy::Normal, thread_schedule_policy};

    use super::*;

    #[test]
    fn threads_are_busy_until_what_they_were_given_has_ended() {
        let threads = LoadingThreads::new(Arc::new(loading_threads(1, false)));
        let others = threads.clone();
        assert!(!threads.are_busy());
        let work = others.spawn(|| 7);
        assert_eq!(block_on(work), 7);
        assert!(!threads.are_busy());
        // One that is held, and one that is cancelled behind it.
        let (release, held) = std::sync::mpsc::channel::<()>();
        let holds = threads.spawn(move || held.recv());
        drop(threads.spawn(|| 8));
        assert!(threads.are_busy());
        release.send(()).expect("somebody waits for it");
        block_on(holds).expect("it was released");
        // It ends on its thread.
        block_on(threads.spawn(|| ()));
        assert!(!threads.are_busy());
    }

    #[test]
    fn loading_threads_step_back() {
        let pool = loading_threads(2, true);
        assert_eq!(pool.thread_num(), 2);
        let policy = block_on(pool.spawn(async { thread_schedule_policy() }));
        assert_eq!(policy.expect("a policy"), Normal(Idle));
        let other = block_on(loading_threads(1, false).spawn(async { thread_schedule_policy() }));
        assert_ne!(other.expect("a policy"), Normal(Idle));
    }
}
