//! Task pools that do not get in the frame's way. See [`background_task_pools`].

use std::sync::Arc;

use bevy_app::{TaskPoolOptions, TaskPoolPlugin};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// Bevy's default task pools, whose IO and async-compute threads step back behind all others.
///
/// Reading and decoding take whole cores for milliseconds. On a machine with few cores the system would give such a thread
/// a slice of the main thread's time in the middle of a frame, milliseconds long and most likely when the main thread has just given it
/// work. With the lowest priority it waits for the frame to end. Bevy compiles pipelines on the same pool, which
/// then take a little longer on a busy machine.
///
/// ```no_run
/// # use bevy_app::{App, PluginGroup, PluginGroupBuilder}; struct DefaultPlugins;
/// # impl PluginGroup for DefaultPlugins { fn build(self) -> PluginGroupBuilder { PluginGroupBuilder::start::<Self>() } }
/// App::new().add_plugins(DefaultPlugins.build().set(seamless_asset::background_task_pools()));
/// ```
#[must_use]
pub fn background_task_pools() -> TaskPoolPlugin {
    let mut options = TaskPoolOptions::default();
    options.io.on_thread_spawn = Some(Arc::new(step_back));
    options.async_compute.on_thread_spawn = Some(Arc::new(step_back));
    TaskPoolPlugin {
        task_pool_options: options,
    }
}

fn step_back() {
    let lowest = ThreadPriority::Crossplatform(ThreadPriorityValue::MIN);
    if let Err(error) = set_priority(lowest) {
        bevy_log::debug!("a background thread keeps its priority: {error:?}");
    }
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
