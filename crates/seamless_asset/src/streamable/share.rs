//! How many streamables a frame has time for. See [`Share`].

#[cfg(test)]
mod tests;

use core::time::Duration;

use bevy_platform::time::Instant;

/// So many are looked at in each frame, whatever it takes: where few wait, none waits for a frame more.
pub(super) const LEAST: usize = 8;

/// Whether there is time for one more.
fn has_time(done: usize, room: Duration, spent: impl FnOnce() -> Duration) -> bool {
    done < LEAST || spent() < room
}

/// This part of a budget, whatever both are: the longest budget has all the time there is, and a part that is no number is none.
fn part_of(budget: Duration, part: f32) -> Duration {
    let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
    // Rounded, all of the longest one is more than there is.
    let room = Duration::try_from_secs_f64(budget.as_secs_f64() * f64::from(part));
    room.map_or(budget, |room| room.min(budget))
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
    /// From now on, this part of a frame's `budget`.
    pub fn new(budget: Duration, part: f32) -> Self {
        Self {
            start: Instant::now(),
            room: part_of(budget, part),
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
