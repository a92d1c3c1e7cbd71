//! Which tasks wait for a read that does not come. See [`Stalls`].

use core::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use std::sync::Arc;

use async_channel::{Receiver, Sender, bounded};

use super::gatekeeper::Gatekeeper;
use crate::settings::StreamingSettings;

/// What a look counts for at most: whoever holds up the whole app, a debugger for instance, holds up its readers, too.
const MOST_PER_LOOK: Duration = Duration::from_secs(1);

/// What a task shares with the main thread, which looks at it: the steps of its reading. Each read is two of them, its begin and its
/// end.
pub(super) struct Pulse {
    /// Odd while the task waits for a read.
    step: AtomicU64,
    /// The step that has taken too long, and the seconds that it has.
    stall: (Sender<(u64, u64)>, Receiver<(u64, u64)>),
    /// Who says how much may be read, and who decodes next. Whoever loads on the calling thread asks nobody.
    pub gates: Option<Gates>,
}

/// What tasks wait for beside reads.
#[derive(Clone, Default)]
pub(super) struct Gates {
    /// Until so many packages less are under way. A level starts with all that it shares with others.
    pub loads: Arc<Gatekeeper>,
    /// Until so many bytes more may be in flight.
    pub bytes: Arc<Gatekeeper>,
    /// Until a thread is free to decode, and nobody who ranks higher wants it.
    pub decoding: Arc<Gatekeeper>,
}

impl Gates {
    /// What the settings allow.
    pub fn set_most(&self, settings: &StreamingSettings) {
        self.loads.set_most(settings.max_loads_in_flight as u64);
        self.bytes.set_most(settings.max_bytes_in_flight);
    }
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            step: AtomicU64::new(0),
            stall: bounded(1),
            gates: None,
        }
    }
}

impl Pulse {
    /// A read begins, or has ended.
    pub fn step(&self) {
        self.step.fetch_add(1, Ordering::Relaxed);
    }

    /// Comes back if the read that is under way is given up, with the seconds that it has taken.
    pub async fn stalled(&self) -> u64 {
        loop {
            match self.stall.1.recv().await {
                // What is said of an earlier read came too late.
                Ok((step, seconds)) if step == self.step.load(Ordering::Relaxed) => return seconds,
                Ok(_) => {}
                // The other end lives as long as this one.
                Err(_) => core::future::pending().await,
            }
        }
    }
}

/// How long a task has been at the same step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Watch {
    step: u64,
    waited: Duration,
    is_told: bool,
}

impl Watch {
    /// What is known after another look. The seconds that the read has taken, if it is to be given up now; that is said once.
    fn look(&mut self, step: u64, passed: Duration, timeout: Duration) -> Option<u64> {
        let is_waiting = step % 2 == 1;
        if step != self.step || !is_waiting {
            *self = Self {
                step,
                ..Self::default()
            };
            return None;
        }
        self.waited += passed.min(MOST_PER_LOOK);
        if self.is_told || self.waited < timeout {
            return None;
        }
        self.is_told = true;
        Some(self.waited.as_secs())
    }
}

/// The tasks that are under way, each with how long it has waited for its read.
#[derive(Default)]
pub(super) struct Stalls {
    watched: Vec<(Arc<Pulse>, Watch)>,
    looked: Duration,
    /// Of all tasks together.
    pub gates: Gates,
}

impl Stalls {
    /// So many tasks decode at the same time.
    pub fn new(threads: usize) -> Self {
        let stalls = Self::default();
        stalls.gates.decoding.set_most(threads as u64);
        stalls
    }

    /// The pulse of a load on the calling thread, which asks nobody before it reads.
    pub fn watch_alone() -> (Self, Arc<Pulse>) {
        let pulse = Arc::new(Pulse::default());
        let stalls = Self {
            watched: vec![(pulse.clone(), Watch::default())],
            ..Self::default()
        };
        (stalls, pulse)
    }

    /// The pulse of a task that is about to start. It is watched as long as the task has it.
    pub fn watch(&mut self) -> Arc<Pulse> {
        let pulse = Arc::new(Pulse {
            gates: Some(self.gates.clone()),
            ..Pulse::default()
        });
        self.watched.push((pulse.clone(), Watch::default()));
        pulse
    }

    /// Looks at all tasks, and gives up the reads that have not moved for `timeout`. Of zero, none ever.
    pub fn look(&mut self, now: Duration, timeout: Duration) {
        let passed = now.saturating_sub(self.looked);
        self.looked = now;
        self.watched.retain_mut(|(pulse, watch)| {
            let step = pulse.step.load(Ordering::Relaxed);
            if !timeout.is_zero()
                && let Some(seconds) = watch.look(step, passed, timeout)
            {
                // One that was said before, and not heard yet, is of an earlier read.
                let _ = pulse.stall.0.force_send((step, seconds));
            }
            Arc::strong_count(pulse) > 1
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_lite::future::{block_on, poll_once};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(3);
    const FRAME: Duration = Duration::from_millis(500);

    /// Looks so often; which of the looks gave up, and after how many seconds.
    fn looks(watch: &mut Watch, step: u64, count: usize) -> Vec<(usize, u64)> {
        let look = |at| Some((at, watch.look(step, FRAME, TIMEOUT)?));
        (0..count).filter_map(look).collect()
    }

    #[test]
    fn a_read_that_does_not_move_is_given_up_once() {
        let mut watch = Watch::default();
        // The first look finds that it has begun; six half seconds later it is given up.
        assert_eq!(looks(&mut watch, 1, 20), [(6, 3)]);
        assert_eq!(looks(&mut watch, 3, 20), [(6, 3)], "and so is a later one");
    }

    #[test]
    fn a_read_that_moves_is_not() {
        let mut watch = Watch::default();
        for step in [1, 3, 5, 7] {
            assert_eq!(looks(&mut watch, step, 6), []);
        }
    }

    /// In a queue, or decoding: the step is even.
    #[test]
    fn who_waits_for_no_read_does_not_stall() {
        let mut watch = Watch::default();
        assert_eq!(looks(&mut watch, 0, 1000), []);
        assert_eq!(looks(&mut watch, 1, 6), []);
        assert_eq!(looks(&mut watch, 2, 1000), []);
        assert_eq!(looks(&mut watch, 3, 7), [(6, 3)], "the time before does not count");
    }

    #[test]
    fn a_frame_that_takes_minutes_counts_for_a_second() {
        let mut watch = Watch::default();
        let minutes = Duration::from_secs(600);
        let given_up = (0..5).map(|_| watch.look(1, minutes, TIMEOUT));
        assert_eq!(given_up.collect::<Vec<_>>(), [None, None, None, Some(3), None]);
    }

    fn heard(pulse: &Pulse) -> Option<u64> {
        block_on(poll_once(pulse.stalled()))
    }

    #[test]
    fn tasks_hear_of_the_read_that_they_wait_for() {
        let mut stalls = Stalls::default();
        let (quick, slow) = (stalls.watch(), stalls.watch());
        let second = |at| Duration::from_secs(at);
        slow.step();
        for at in 1..=4 {
            quick.step();
            stalls.look(second(at), TIMEOUT);
        }
        assert_eq!((heard(&quick), heard(&slow)), (None, Some(3)));
        assert_eq!(heard(&slow), None, "once");
        // The next read is begun before the task hears of the one before.
        slow.step();
        slow.step();
        (5..=8).for_each(|at| stalls.look(second(at), TIMEOUT));
        slow.step();
        slow.step();
        assert_eq!(heard(&slow), None);
        (9..=20).for_each(|at| stalls.look(second(at), TIMEOUT));
        assert_eq!(heard(&slow), Some(3));
        drop((quick, slow));
        stalls.look(second(21), TIMEOUT);
        assert!(stalls.watched.is_empty());
    }

    #[test]
    fn without_a_timeout_nothing_stalls() {
        let mut stalls = Stalls::default();
        let pulse = stalls.watch();
        pulse.step();
        (1..1000).for_each(|at| stalls.look(Duration::from_secs(at), Duration::ZERO));
        assert_eq!(heard(&pulse), None);
    }
}
