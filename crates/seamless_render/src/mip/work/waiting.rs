//! What has come, and waits until the pool has room for the least of it. See [`Waiting`].

#[cfg(test)]
mod tests;

use core::{hash::Hash, time::Duration};
use std::collections::VecDeque;

use bevy_platform::collections::HashMap;

/// After so long in which nobody was let in, all are: whoever waits holds back a reveal, which has a deadline of its own.
const PATIENCE: Duration = Duration::from_millis(1500);
/// A frame that takes longer counts as this: no more could make room in it.
const LONGEST_FRAME: Duration = Duration::from_millis(100);

/// Who waits to be let in, in the order in which they came: nobody is overtaken.
///
/// Room is made for them; see [`MipLedger::set_expected`](crate::mip::MipLedger::set_expected). All are let in at once, into a pool that is too small for them, when
/// nothing else can make room any more.
#[derive(Debug)]
pub(in crate::mip) struct Waiting<K, V> {
    /// Those that have gone since are not in `of`.
    order: VecDeque<K>,
    of: HashMap<K, (V, u64)>,
    bytes: u64,
    /// What may be used of the pool; none: all.
    usable: Option<u64>,
    /// Room or not.
    is_open: bool,
    /// How long somebody has waited, and nobody was let in.
    waited: Duration,
    /// When the last frame was.
    last: Option<Duration>,
}

impl<K, V> Default for Waiting<K, V> {
    fn default() -> Self {
        Self {
            order: VecDeque::new(),
            of: HashMap::default(),
            bytes: 0,
            usable: None,
            is_open: false,
            waited: Duration::ZERO,
            last: None,
        }
    }
}

impl<K: Copy + Eq + Hash, V> Waiting<K, V> {
    /// What those need that wait, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn len(&self) -> usize {
        self.of.len()
    }

    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    pub fn has(&self, key: K) -> bool {
        self.of.contains_key(&key)
    }

    /// What may be used of the pool from now on.
    pub fn set_usable(&mut self, usable: u64) {
        self.usable = Some(usable);
    }

    /// A frame begins, in which somebody waits, here or elsewhere, or nobody does. `is_stuck`: what is resident becomes no less, though room is wanted for all that
    /// wait. Whether that, or too long a wait, is why all are let in.
    pub fn begin(&mut self, is_waiting: bool, is_stuck: bool, now: Duration) -> bool {
        let last = self.last.replace(now).unwrap_or(now);
        let frame = now.saturating_sub(last).min(LONGEST_FRAME);
        self.waited = if is_waiting {
            self.waited + frame
        } else {
            Duration::ZERO
        };
        self.is_open = is_waiting && (is_stuck || self.waited >= PATIENCE);
        self.is_open
    }

    /// All that could be let in was.
    pub fn end(&mut self) {
        self.is_open = false;
    }

    /// Whether there is room for so many bytes beside all that is there.
    pub fn has_room(&self, bytes: u64, total: u64) -> bool {
        self.is_open || self.usable.is_none_or(|usable| total + bytes <= usable)
    }

    /// Whether what comes now is let in at once.
    pub fn may_pass(&self, bytes: u64, total: u64) -> bool {
        self.is_empty() && self.has_room(bytes, total)
    }

    /// It has come, and needs so many bytes.
    pub fn push(&mut self, key: K, value: V, bytes: u64) {
        self.remove(key);
        self.order.push_back(key);
        self.of.insert(key, (value, bytes));
        self.bytes += bytes;
    }

    /// It has gone; whether it waited.
    pub fn remove(&mut self, key: K) -> bool {
        let Some((_, bytes)) = self.of.remove(&key) else {
            return false;
        };
        self.bytes -= bytes;
        if self.of.is_empty() {
            self.order.clear();
        }
        true
    }

    /// Who is let in next, if there is room for it beside all that is there.
    pub fn next(&mut self, total: u64) -> Option<(K, V)> {
        while let Some(key) = self.order.front().copied() {
            if let Some((_, bytes)) = self.of.get(&key) {
                let bytes = *bytes;
                if !self.has_room(bytes, total) {
                    return None;
                }
                self.order.pop_front();
                self.admitted();
                self.bytes -= bytes;
                return self.of.remove(&key).map(|(value, _)| (key, value));
            }
            self.order.pop_front();
        }
        None
    }

    /// Somebody was let in, here or elsewhere.
    pub fn admitted(&mut self) {
        self.waited = Duration::ZERO;
    }
}
