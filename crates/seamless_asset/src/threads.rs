//! Threads that do not get in the frame's way. See [`step_back`].

use core::cell::Cell;
use std::thread;

use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// How Bevy's `TaskPoolPlugin` names the threads that work beside the frame.
const BACKGROUND: [&str; 2] = ["IO Task Pool", "Async Compute Task Pool"];

/// Gives the thread of Bevy's IO or async-compute pool that calls it the lowest priority. Does nothing on others: without
/// threads, and inside of a pool's scope, tasks run on the main thread.
///
/// Reading and decoding take whole cores for milliseconds. On a machine with few cores the system would give such a thread
/// a slice of the main thread's time in the middle of a frame, milliseconds long and most likely when the main thread has just given it
/// work. With the lowest priority it waits for the frame to end. Bevy compiles pipelines on the same pool, which
/// then take a little longer on a busy machine.
///
/// A task does it, not the pool's `on_thread_spawn`: pools are made once a process, by whoever comes first.
pub(crate) fn step_back() {
    thread_local! {
        static IS_BACK: Cell<bool> = const { Cell::new(false) };
    }
    if IS_BACK.replace(true) || !thread::current().name().is_some_and(is_background) {
        return;
    }
    let lowest = ThreadPriority::Crossplatform(ThreadPriorityValue::MIN);
    if let Err(error) = set_priority(lowest) {
        bevy_log::debug!("a background thread keeps its priority: {error:?}");
    }
}

fn is_background(thread: &str) -> bool {
    BACKGROUND.iter().any(|pool| thread.starts_with(pool))
}

/// A batch thread does not interrupt the thread that wakes it, whatever its priority; other systems have no such policy.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn set_priority(priority: ThreadPriority) -> Result<(), thread_priority::Error> {
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
    };
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Batch);
    set_thread_priority_and_policy(thread_native_id(), priority, policy)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn set_priority(priority: ThreadPriority) -> Result<(), thread_priority::Error> {
    thread_priority::set_current_thread_priority(priority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    fn policy_in_thread(name: &str) -> thread_priority::ThreadSchedulePolicy {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(|| {
            step_back();
            thread_priority::thread_schedule_policy()
        });
        thread.expect("a thread").join().expect("no panic").expect("a policy")
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_threads_beside_the_frame_step_back() {
        use thread_priority::{NormalThreadSchedulePolicy::Batch, ThreadSchedulePolicy::Normal};
        for pool in BACKGROUND {
            assert_eq!(policy_in_thread(&format!("{pool} (0)")), Normal(Batch), "{pool}");
        }
        for other in ["main", "Compute Task Pool (0)", "TaskPool (0)"] {
            assert_ne!(policy_in_thread(other), Normal(Batch), "{other}");
        }
    }

    #[test]
    fn bevy_names_its_threads_like_this() {
        let options = bevy_app::TaskPoolOptions::default();
        options.create_default_pools();
        let name = |task: bevy_tasks::Task<Option<String>>| futures_lite::future::block_on(task);
        let own = || async { thread::current().name().map(ToOwned::to_owned) };
        let io = name(bevy_tasks::IoTaskPool::get().spawn(own()));
        let compute = name(bevy_tasks::AsyncComputeTaskPool::get().spawn(own()));
        assert!(io.as_deref().is_some_and(is_background), "{io:?}");
        assert!(compute.as_deref().is_some_and(is_background), "{compute:?}");
    }
}
