//! What a trace shows of loads that are under way. See [`UnderWay`].

use std::sync::Arc;

use bevy_asset::AssetPath;
use bevy_log::{
    debug_span,
    tracing::{Level, span_enabled},
};

use super::{Pipeline, coming::Queued};
use crate::load::{
    LoadState, Progress,
    tasks::{Finished, Task},
};

/// The packages that tasks load, those of blocking loads apart. The spans of a task itself are only there while a thread works at it, and not while it waits
/// for the disk or for others.
#[derive(Default)]
pub(super) struct UnderWay(Vec<(AssetPath<'static>, Arc<Progress>)>);

impl UnderWay {
    pub fn begin(&mut self, task: &Task) {
        if let Task::Package(job, _) = task {
            self.0.push((job.path.clone(), job.progress.clone()));
        }
    }

    pub fn end(&mut self, finished: &Finished) {
        let Finished::Package(finished) = finished else {
            return;
        };
        let is_it = |(_, progress): &(_, Arc<Progress>)| Arc::ptr_eq(progress, &finished.progress);
        if let Some(place) = self.0.iter().position(is_it) {
            self.0.swap_remove(place);
        }
    }
}

impl Pipeline {
    /// In each frame that a load takes, so that a trace shows for how long. Of those that have no place yet, of which there may be thousands, it tells how many.
    pub(super) fn trace_loads(&self) {
        if !span_enabled!(Level::DEBUG) {
            return;
        }
        let levels: usize = Queued::ALL.map(|kind| self.coming.queued(kind).len()).iter().sum();
        let mut count = levels + self.waiting.order().len();
        for (path, progress) in &self.under_way.0 {
            match progress.state() {
                LoadState::Requested => count += 1,
                stage => drop(debug_span!("loading", package = %path, ?stage).entered()),
            }
        }
        if count > 0 {
            let _span = debug_span!("queued", count).entered();
        }
    }
}
