//! What a trace shows of loads that wait.

use bevy_log::{
    debug_span,
    tracing::{Level, span_enabled},
};

use super::{Pipeline, coming::Queued};
use crate::load::LoadState;

impl Pipeline {
    /// The spans of a task are there only while a thread works at it, and not while it waits for the disk or for others. So: in each frame that a load takes, so that a trace shows for how long. Of those that have no place yet, of which there may be thousands, it tells how many.
    pub(super) fn trace_loads(&self) {
        if !span_enabled!(Level::DEBUG) {
            return;
        }
        let levels: usize = Queued::ALL.map(|kind| self.coming.queued(kind).len()).iter().sum();
        let mut count = levels + self.waiting.order().len();
        for (path, progress) in self.in_flight.packages() {
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
