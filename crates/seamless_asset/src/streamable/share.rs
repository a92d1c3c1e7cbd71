//! How many streamables a frame has time for. See [`Share`].

#[cfg(test)]
mod tests;

use core::time::Duration;

use bevy_platform::time::Instant;

use crate::StreamingSettings;

/// So many are looked at in each frame, whatever it takes: where few wait, none waits for a frame more.
pub(super) const LEAST: usize = 8;

/// Whether there is time for one more.
fn has_time(done: usize, room: Duration, spent: impl FnOnce() -> Duration) -> bool {
    done < LEAST || spent() < room
}

/// The part of a frame that streamables may take; who finds none left waits for the next.
pub(super) struct Share {
    start: Instant,
    room: Duration,
    done: usize,
    /// Those that have to wait.
    pub postponed: u64,
}

impl Share {
    /// From now on, this part of a frame's budget.
    pub fn new(settings: &StreamingSettings, part: f32) -> Self {
        // A part that is no number is none.
        let part = if part.is_finite() { part } else { 0.0 };
        Self {
            start: Instant::now(),
            room: settings.budget_part(part),
            done: 0,
            postponed: 0,
        }
    }

    /// Whether one more has its turn now.
    pub fn take(&mut self) -> bool {
        let has_time = has_time(self.done, self.room, || self.start.elapsed());
        match has_time {
            true => self.done += 1,
            false => self.postponed += 1,
        }
        has_time
    }
}
