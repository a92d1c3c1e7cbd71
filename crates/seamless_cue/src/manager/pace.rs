//! How many cues are played between two looks at the clock. Pure; see [`Pace`].

use core::time::Duration;

#[cfg(test)]
mod tests;

/// The most between two looks, however quick the last ones were.
const MOST: u32 = 64;
/// The part of what is left that is spent before the next look: observers may be slower than those before them.
const SHARE: u32 = 4;

/// Learns from the last cues what the next ones take: a look at the clock costs as much as a quick cue, and between two looks slow ones must not
/// use up the frame.
#[derive(Debug)]
pub(crate) struct Pace {
    room: Duration,
    /// When the clock was last looked at.
    looked: Duration,
    /// Cues between that look and the next, and how many of them are still to come.
    stride: u32,
    left: u32,
}

impl Pace {
    /// Until `room`; it is `now`.
    pub fn new(room: Duration, now: Duration) -> Self {
        Self {
            room,
            looked: now,
            stride: 1,
            left: 1,
        }
    }

    /// A cue was played; whether there is time for the next one, as far as one knows what it will take.
    #[inline]
    pub fn has_time(&mut self, clock: impl FnOnce() -> Duration) -> bool {
        self.left -= 1;
        self.left > 0 || self.look(clock())
    }

    fn look(&mut self, now: Duration) -> bool {
        let each = now.saturating_sub(self.looked) / self.stride;
        let rest = self.room.saturating_sub(now);
        let fit = rest.as_nanos() / each.as_nanos().max(1);
        self.looked = now;
        self.stride = (fit as u64 / u64::from(SHARE)).clamp(1, u64::from(MOST)) as u32;
        self.left = self.stride;
        fit > 0
    }
}
