//! How fast a sum grows. See [`Rate`].

use std::collections::VecDeque;

/// Over how long it is taken, in seconds.
const WINDOW: f64 = 1.0;

/// By how much a sum has grown within the last second.
#[derive(Clone, Debug, Default)]
pub(in crate::mip) struct Rate {
    /// Sums, and when they were so, in seconds. The first is a second old, once there is one.
    known: VecDeque<(f64, u64)>,
}

impl Rate {
    /// The sum is `sum` now; how much of it has come in the last second.
    pub fn note(&mut self, sum: u64, now: f64) -> u64 {
        // Frames of one time are one.
        self.known.pop_back_if(|(then, _)| *then >= now);
        self.known.push_back((now, sum));
        while self.known.get(1).is_some_and(|(then, _)| *then <= now - WINDOW) {
            self.known.pop_front();
        }
        self.known.front().map_or(0, |(_, before)| sum.saturating_sub(*before))
    }
}
