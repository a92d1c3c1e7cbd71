//! What of all textures is gone through in each fit. See [`Rows`].

use super::Found;

/// So many are looked at at once.
const CHUNK: usize = 64;

/// What is gone through for all textures in each fit, side by side. By number.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// What was told to be resident.
    told: Vec<u8>,
    /// As what was found says.
    pub wanted: Vec<u8>,
    pub possible: Vec<u8>,
    pub change: Vec<u64>,
    /// When it may be another though nothing changes, in seconds.
    pub due: Vec<f64>,
    /// 255 for those that are not there, else 0.
    pub absent: Vec<u8>,
    /// The tops of those that are cached, and finer than what is possible of what is wanted; 255 for others.
    pub stay: Vec<u8>,
    /// How much more these take, in bytes, and all of them together.
    more_of: Vec<u64>,
    pub more: u64,
}

impl Rows {
    pub fn resize(&mut self, count: usize) {
        self.told.resize(count, u8::MAX);
        self.wanted.resize(count, 0);
        self.possible.resize(count, 0);
        self.change.resize(count, 0);
        self.due.resize(count, f64::INFINITY);
        self.absent.resize(count, u8::MAX);
        self.stay.resize(count, u8::MAX);
        self.more_of.resize(count, 0);
    }

    pub fn stay(&mut self, index: usize, top: u8, more: u64) {
        self.stay[index] = top;
        self.more = self.more + more - core::mem::replace(&mut self.more_of[index], more);
    }

    pub fn set(&mut self, index: usize, told: u8, found: &Found) {
        self.told[index] = told;
        self.wanted[index] = found.wanted;
        self.possible[index] = found.possible;
        self.change[index] = found.change;
        // What is not there takes nothing.
        self.absent[index] = if found.perfect > 0 { 0 } else { u8::MAX };
    }

    /// Adds those whose time has come.
    pub fn due(&self, now: f64, others: &mut Vec<u32>) {
        for (first, due) in (0..).step_by(CHUNK).zip(self.due.chunks(CHUNK)) {
            // Without a branch for each.
            if due.iter().fold(false, |any, due| any | (*due <= now)) {
                let is_due = (first..).zip(due).filter(|(_, due)| **due <= now);
                others.extend(is_due.map(|(texture, _)| texture));
            }
        }
    }

    /// Adds those of which something else is resident than was told.
    pub fn told_other(&self, resident: &[u8], others: &mut Vec<u32>) {
        let rows = self.told.chunks(CHUNK).zip(resident.chunks(CHUNK));
        for (first, (told, resident)) in (0..).step_by(CHUNK).zip(rows) {
            // Without a branch for each.
            if told.iter().zip(resident).fold(false, |any, (a, b)| any | (a != b)) {
                let both = (first..).zip(told.iter().zip(resident));
                others.extend(both.filter(|(_, (a, b))| a != b).map(|(texture, _)| texture));
            }
        }
        // Of those behind its end, nothing is.
        let behind = (0..).zip(&self.told).skip(resident.len());
        others.extend(behind.filter(|(_, told)| **told != u8::MAX).map(|(texture, _)| texture));
    }

    /// Tells of those whose top is coarser than is wanted, by number: what is wanted, and the top.
    pub fn coarser(&self, tops: &[u8], mut each: impl FnMut(u32, u8, u8)) {
        let rows = tops.chunks(CHUNK).zip(self.wanted.chunks(CHUNK));
        for (first, (tops, wanted)) in (0..).step_by(CHUNK).zip(rows) {
            // Without a branch for each.
            if tops
                .iter()
                .zip(wanted)
                .fold(false, |any, (top, wanted)| any | (top > wanted))
            {
                let both = (first..).zip(tops.iter().zip(wanted));
                let coarser = both.filter(|(_, (top, wanted))| top > wanted);
                coarser.for_each(|(texture, (top, wanted))| each(texture, *wanted, *top));
            }
        }
    }
}
