//! How fast textures are replaced, and how long that takes. See [`Pace`] and [`Lead`].

#[cfg(test)]
mod tests;

use super::{ChangeId, MipChanges};

/// How long it took before anything was measured, in seconds: as long as there may be.
const UNKNOWN: f64 = f64::INFINITY;
/// Part of the difference by which each change that was faster shortens what is expected.
const FASTER: f64 = 0.05;
/// From when a change was sent, it takes so many frames until it is drawn.
const FRAMES_TO_DRAW: f64 = 1.0;
/// A change that was not sent after so many seconds could not be read.
const GIVEN_UP: f64 = 10.0;
/// Views look ahead by multiples of this, in seconds: a lead that is another each frame would have all looked at again.
const LEAD_STEP: f64 = 0.05;

/// How much is replaced in the long run: in one frame of so many, but as much as if it were in each.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rate {
    /// In frames; 1 at least.
    pub interval: u32,
    /// A frame, of new mips.
    pub bytes: u64,
    /// Textures a frame.
    pub swaps: u64,
}

/// What may be replaced in a frame.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Turn {
    /// In bytes.
    pub bytes: u64,
    /// In textures. None if it is not the frame's turn.
    pub swaps: u64,
}

/// When it is whose turn, and what earlier frames have left, or sent beyond what was theirs.
///
/// After a while in which nothing was replaced, two turns come one after the other: what a view needs that has jumped is read in more than one frame, and
/// who came in the second would wait for whole intervals.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Pace {
    /// Frames that count for the next turn.
    waited: u32,
    bytes: Balance,
    swaps: Balance,
}

/// What is left, or owed.
#[derive(Copy, Clone, Debug, Default)]
struct Balance {
    left: u64,
    owed: u64,
}

impl Balance {
    fn of(self, rate: u64) -> u64 {
        self.left.saturating_add(rate).saturating_sub(self.owed)
    }

    /// A frame is over. What is left for more than `most` goes.
    fn note(&mut self, rate: u64, sent: u64, most: u64) {
        let spent = self.owed.saturating_add(sent);
        let all = self.left.saturating_add(rate);
        self.left = all.saturating_sub(spent).min(most);
        self.owed = spent.saturating_sub(all);
    }
}

impl Pace {
    /// What this frame may send.
    pub fn turn(&self, rate: &Rate) -> Turn {
        if self.waited + 1 < rate.interval {
            return Turn::default();
        }
        Turn {
            bytes: self.bytes.of(rate.bytes),
            swaps: self.swaps.of(rate.swaps),
        }
    }

    /// A frame is over, in which so much was sent.
    pub fn note(&mut self, rate: &Rate, sent: Turn) {
        let interval = rate.interval;
        self.waited = (self.waited + 1).min(interval.saturating_mul(2) - 1);
        if sent.swaps > 0 {
            self.waited = self.waited.saturating_sub(interval);
        }
        let others = u64::from(interval - 1);
        self.bytes
            .note(rate.bytes, sent.bytes, rate.bytes.saturating_mul(others));
        self.swaps
            .note(rate.swaps, sent.swaps, rate.swaps.saturating_mul(others));
    }
}

/// How long it takes from when a change begins until it is drawn: as long ahead views have to look, and no longer, since what is seen from farther ahead
/// takes memory before it is needed.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    /// Changes that are read, and since when.
    begun: Vec<(ChangeId, f64)>,
    /// How long the slower ones took lately, in seconds.
    expected: f64,
    last_frame: f64,
}

impl Default for Lead {
    fn default() -> Self {
        Self {
            begun: Vec::new(),
            expected: UNKNOWN,
            last_frame: 0.0,
        }
    }
}

impl Lead {
    /// Takes what was decided in a frame. `now` is in seconds.
    pub fn note(&mut self, changes: &MipChanges, now: f64) {
        let frame = (now - self.last_frame).max(0.0);
        self.last_frame = now;
        for (_, change) in &changes.cancels {
            self.end(*change);
        }
        for swap in &changes.swaps {
            if let Some(since) = self.end(swap.id) {
                self.learn(now - since + FRAMES_TO_DRAW * frame);
            }
        }
        self.begun.retain(|(_, since)| now - since < GIVEN_UP);
        self.begun.extend(changes.reads.iter().map(|read| (read.id, now)));
    }

    /// How far ahead to look, in seconds: `most` at most.
    pub fn seconds(&self, most: f32) -> f32 {
        let steps = (self.expected / LEAD_STEP).ceil() * LEAD_STEP;
        (steps as f32).min(most)
    }

    fn end(&mut self, change: ChangeId) -> Option<f64> {
        let place = self.begun.iter().position(|(id, _)| *id == change)?;
        Some(self.begun.swap_remove(place).1)
    }

    /// What is slower counts at once.
    fn learn(&mut self, took: f64) {
        self.expected = if took >= self.expected || self.expected == UNKNOWN {
            took
        } else {
            self.expected + (took - self.expected) * FASTER
        };
    }
}
