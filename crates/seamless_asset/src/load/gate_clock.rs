//! How long gates are waited for. See [`GateClock`].

#[cfg(test)]
mod tests;

use core::time::Duration;

use crate::time::StreamingTime;

/// What a frame takes at 60 Hz: a deadline of so many frames is no shorter where frames are, since whoever gates wait for is no faster there. And
/// what one counts for where the time stands still.
const FRAME: Duration = Duration::from_nanos(16_666_666);

/// What a frame counts for at most: whoever holds up the whole app, a debugger for instance, holds up the renderer, too.
const MOST_PER_FRAME: Duration = Duration::from_secs(1);

/// When a wait began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Moment {
    frames: u64,
    time: Duration,
}

/// Counts frames, and the time that they take.
#[derive(Debug, Default)]
pub(super) struct GateClock {
    now: Moment,
    /// What the last frame has added.
    step: Moment,
    looked: Duration,
}

impl GateClock {
    /// Another frame begins.
    pub fn tick(&mut self, time: &StreamingTime) {
        let now = time.now();
        let passed = now.saturating_sub(self.looked).min(MOST_PER_FRAME);
        self.looked = now;
        self.step = Moment {
            frames: 1,
            time: if time.is_stopped() { FRAME } else { passed },
        };
        self.now = self.now.after(self.step);
    }

    pub fn now(&self) -> Moment {
        self.now
    }

    /// Whether a wait since then is longer than so many frames, and than these take at 60 Hz.
    pub fn is_late(&self, since: Moment, frames: u32) -> bool {
        self.now.frames.saturating_sub(since.frames) >= u64::from(frames)
            && self.now.time.saturating_sub(since.time) >= FRAME.saturating_mul(frames)
    }

    /// This frame does not count for who waits since then.
    pub fn put_off(&self, since: Moment) -> Moment {
        let later = since.after(self.step);
        Moment {
            frames: later.frames.min(self.now.frames),
            time: later.time.min(self.now.time),
        }
    }
}

impl Moment {
    fn after(self, step: Self) -> Self {
        Self {
            frames: self.frames + step.frames,
            time: self.time.saturating_add(step.time),
        }
    }
}
