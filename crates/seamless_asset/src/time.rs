//! The time that waiting is measured by. See [`StreamingTime`].

use core::time::Duration;

use bevy_ecs::resource::Resource;
use bevy_platform::time::Instant;

/// The time that the pipeline measures waiting by: how long a read has not moved, how long a request has been in the queue, and how
/// long gates are closed. It
/// goes on by itself, also while the game is paused, unless a test has stopped it.
#[derive(Resource, Debug)]
pub struct StreamingTime {
    /// What it goes on from; `None`: it stands still.
    start: Option<Instant>,
    ahead: Duration,
}

impl Default for StreamingTime {
    fn default() -> Self {
        Self {
            start: Some(Instant::now()),
            ahead: Duration::ZERO,
        }
    }
}

impl StreamingTime {
    /// For tests: a time that stands still but for [`advance`](Self::advance). Put it in place of the plugin's own.
    #[must_use]
    pub fn stopped() -> Self {
        Self {
            start: None,
            ahead: Duration::ZERO,
        }
    }

    /// Moves it on.
    pub fn advance(&mut self, by: Duration) {
        self.ahead = self.ahead.saturating_add(by);
    }

    /// Whether it stands still.
    pub(crate) fn is_stopped(&self) -> bool {
        self.start.is_none()
    }

    /// Since the plugin was added, what was advanced included.
    #[must_use]
    pub fn now(&self) -> Duration {
        let gone = self.start.map_or(Duration::ZERO, |start| start.elapsed());
        gone.saturating_add(self.ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_is_stopped_moves_only_when_it_is_told() {
        let mut time = StreamingTime::stopped();
        assert_eq!(time.now(), Duration::ZERO);
        time.advance(Duration::from_secs(2));
        assert_eq!(
            (time.now(), time.now()),
            (Duration::from_secs(2), Duration::from_secs(2))
        );
        let mut running = StreamingTime::default();
        let before = running.now();
        running.advance(Duration::from_secs(100));
        assert!(running.now() >= before + Duration::from_secs(100));
    }
}
