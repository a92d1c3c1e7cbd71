//! What levels waited for on their way. See [`LevelWaits`].

use core::time::Duration;

use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::LoadState;

use super::{Level, LevelState};
use crate::target::LevelTarget;

/// What a [level](super::Level::waited) waited for on its way, in the time that [the pipeline](seamless_asset::StreamingTime) measures waiting by.
/// States are looked at once a frame, so each is as exact as frames are long.
///
/// While it is loaded and nobody wants to see it, nothing is counted; nor while it is on its way out. Until it has left, all adds up: also what it waits for when
/// it is shown again.
#[derive(Reflect, Copy, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Default, Clone, PartialEq)]
pub struct LevelWaits {
    /// In the queue: others were more urgent, [as many as may](seamless_asset::StreamingSettings::max_loads_in_flight) were on their way, memory was short, or
    /// loading was [suspended](seamless_asset::StreamingSettings::suspended).
    pub queued: Duration,
    /// Its package was read, and its imports were looked up. It waited for the disk, or for bytes in flight.
    pub reading: Duration,
    /// Its values were decoded, or waited for a thread that does.
    pub decoding: Duration,
    /// It waited for its packages, for what the GPU has to make ready, and for its turn in a frame's budget.
    pub waiting: Duration,
    /// It came into the world in slices, which nobody saw.
    pub revealing: Duration,
    /// A frame [waited](crate::VolumeMode::BlockUntilLoaded) for it, from then on, whatever it did.
    pub blocking: Duration,
    /// It had failed, and waited to be [tried again](crate::LevelSettings::retry); told when it is. The times of all tries that follow by themselves are
    /// added up.
    pub retrying: Duration,
}

impl LevelWaits {
    /// All of its way.
    #[must_use]
    pub fn total(&self) -> Duration {
        let Self {
            queued,
            reading,
            decoding,
            waiting,
            revealing,
            blocking,
            retrying,
        } = *self;
        [reading, decoding, waiting, revealing, blocking, retrying]
            .into_iter()
            .fold(queued, Duration::saturating_add)
    }

    fn of(&mut self, state: LevelState) -> Option<&mut Duration> {
        let LevelState::Loading(state) = state else {
            return (state == LevelState::Revealing).then_some(&mut self.revealing);
        };
        match state {
            LoadState::Requested => Some(&mut self.queued),
            LoadState::Opening | LoadState::Reading | LoadState::Linking => Some(&mut self.reading),
            LoadState::Decoding => Some(&mut self.decoding),
            LoadState::Staged => Some(&mut self.waiting),
            _ => None,
        }
    }
}

impl Level {
    /// It is asked for: anew, or once more after it failed.
    pub(in crate::world) fn begin(&mut self, now: Duration) {
        match self.failures_in_row {
            0 => self.way.begin(now),
            _ => self.way.begin_again(now),
        }
    }

    /// It was in its state, and was to come as far as it is, until now.
    pub(in crate::world) fn pass(&mut self, now: Duration) {
        match (self.state, self.target) {
            // Whoever is asked for again knows since when it was not there.
            (LevelState::Unloaded | LevelState::Failed, _) => {}
            // For its turn.
            (LevelState::Hidden, LevelTarget::Visible) => self.way.leave(LevelState::Loading(LoadState::Staged), now),
            (state, _) => self.way.leave(state, now),
        }
    }

    /// A frame waits for it from now on.
    pub(in crate::world) fn block(&mut self, now: Duration) {
        self.pass(now);
        self.way.is_blocking = true;
    }
}

/// Where a level has come on its way, and since when.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Way {
    times: LevelWaits,
    since: Duration,
    /// A frame waits for it.
    is_blocking: bool,
}

impl Way {
    /// A level is asked for now.
    fn begin(&mut self, now: Duration) {
        *self = Self {
            since: now,
            ..Self::default()
        };
    }

    /// It is asked for again after it failed.
    fn begin_again(&mut self, now: Duration) {
        self.times.retrying = self.times.retrying.saturating_add(self.pass(now));
    }

    /// It was in a state until now.
    fn leave(&mut self, state: LevelState, now: Duration) {
        let passed = self.pass(now);
        let time = match core::mem::take(&mut self.is_blocking) {
            true => Some(&mut self.times.blocking),
            false => self.times.of(state),
        };
        if let Some(time) = time {
            *time = time.saturating_add(passed);
        }
    }

    fn pass(&mut self, now: Duration) -> Duration {
        now.saturating_sub(core::mem::replace(&mut self.since, now))
    }

    pub fn times(&self) -> LevelWaits {
        self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_in_a_state_is_its_own() {
        let second = Duration::from_secs;
        let mut way = Way::default();
        way.leave(LevelState::Loading(LoadState::Requested), second(90));
        way.begin(second(100));
        for (state, until) in [
            (LevelState::Loading(LoadState::Requested), 101),
            (LevelState::Loading(LoadState::Opening), 103),
            (LevelState::Loading(LoadState::Reading), 106),
            (LevelState::Loading(LoadState::Decoding), 110),
            (LevelState::Loading(LoadState::Staged), 115),
            // Loaded, and not to be shown.
            (LevelState::Hidden, 1_000),
            (LevelState::Revealing, 1_006),
            (LevelState::Visible, 2_000),
        ] {
            way.leave(state, second(until));
        }
        let expected = LevelWaits {
            queued: second(1),
            reading: second(5),
            decoding: second(4),
            waiting: second(5),
            revealing: second(6),
            ..LevelWaits::default()
        };
        assert_eq!(way.times(), expected);
        assert_eq!(expected.total(), second(21));
        // A clock that goes back takes nothing away.
        way.leave(LevelState::Revealing, second(5));
        assert_eq!(way.times(), expected);
        way.begin(second(3_000));
        assert_eq!(way.times(), LevelWaits::default());
    }

    #[test]
    fn tries_are_added_up_and_frames_that_wait_are_told_apart() {
        let second = Duration::from_secs;
        let mut way = Way::default();
        way.begin(second(0));
        way.leave(LevelState::Loading(LoadState::Reading), second(30));
        way.begin_again(second(35));
        way.leave(LevelState::Loading(LoadState::Requested), second(36));
        way.is_blocking = true;
        way.leave(LevelState::Loading(LoadState::Requested), second(44));
        way.leave(LevelState::Loading(LoadState::Staged), second(46));
        let expected = LevelWaits {
            queued: second(1),
            reading: second(30),
            waiting: second(2),
            blocking: second(8),
            retrying: second(5),
            ..LevelWaits::default()
        };
        assert_eq!(way.times(), expected);
        assert_eq!(expected.total(), second(46));
    }
}
