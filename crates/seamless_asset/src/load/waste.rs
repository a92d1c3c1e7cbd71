//! Memory that the main thread is done with. See [`Waste`].

use core::any::Any;

use bevy_tasks::AsyncComputeTaskPool;

/// What tasks allocated and nobody needs any more; a task drops it after the frame's work.
///
/// Freeing takes time. With most allocators it also takes a lock of the thread that allocated, and if that thread was put to sleep
/// in the middle of an allocation of its own, the frame waits for it.
#[derive(Default)]
pub(super) struct Waste(Vec<Box<dyn Any + Send + Sync>>);

impl Waste {
    pub fn put<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.push(Box::new(value));
    }

    /// Hands everything to one task.
    pub fn carry_off(&mut self) {
        if !self.0.is_empty() {
            let waste = core::mem::take(&mut self.0);
            AsyncComputeTaskPool::get().spawn(async move { drop(waste) }).detach();
        }
    }
}
