//! How fast textures are replaced, and how long that takes. See [`Pace`] and [`Lead`].

#[cfg(test)]
mod tests;

use super::{ChangeId, MipChanges};

/// No frame is given less, in bytes.
const LEAST_BYTES: u64 = 64 << 10;
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

/// What frames have sent beyond their bytes, which later ones make up for.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Pace {
    owed: u64,
}

impl Pace {
    /// What this frame may send, of so many bytes a frame, for so many frames in which nothing could be sent and itself.
    pub fn allowance(&self, per_frame: u64, frames: u32) -> u64 {
        let bytes = per_frame.max(LEAST_BYTES).saturating_mul(frames.max(1).into());
        bytes.saturating_sub(self.owed)
    }

    /// A frame is over, in which so much was sent.
    pub fn note(&mut self, per_frame: u64, sent: u64) {
        self.owed = (self.owed + sent).saturating_sub(per_frame.max(LEAST_BYTES));
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
