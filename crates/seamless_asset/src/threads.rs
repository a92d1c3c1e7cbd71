//! Task pools that do not get in the frame's way. See [`background_task_pools`].

use std::sync::Arc;

use bevy_app::{TaskPoolOptions, TaskPoolPlugin};
use thread_priority::{ThreadPriority, ThreadPriorityValue, set_current_thread_priority};

/// Of 100; about nice 10 on Unix: a tenth of the weight of a normal thread while cores are short, all of a core that is idle.
const PRIORITY: u8 = 25;

/// Bevy's default task pools, whose IO and async-compute threads step back behind all others.
///
/// Reading and decoding take whole cores for milliseconds. On a machine with few cores the system would give such a thread
/// a slice of the main thread's time in the middle of a frame; with a lower priority it waits for the frame to end. Bevy compiles
/// pipelines on the same pool, which then take a little longer on a busy machine.
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
    let lowered = ThreadPriorityValue::try_from(PRIORITY)
        .map(ThreadPriority::Crossplatform)
        .map_err(|error| error.to_string())
        .and_then(|priority| set_current_thread_priority(priority).map_err(|error| format!("{error:?}")));
    if let Err(error) = lowered {
        bevy_log::debug!("a background thread keeps its priority: {error}");
    }
}
