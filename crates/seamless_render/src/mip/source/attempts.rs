//! How often something is read that cannot be. See [`Attempts`].

use core::time::Duration;

/// How often it is asked for.
const MOST: u32 = 4;
/// How long after the first failure it is asked for again; after each further one, four times as long.
const PAUSE: Duration = Duration::from_secs(1);

/// What could not be read, and is tried again some times.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    times: u32,
    /// When it is tried again; `None`: never.
    again: Option<Duration>,
}

impl Attempts {
    /// It could not be read; whether that is news.
    pub fn fail(&mut self, now: Duration) -> bool {
        self.again = (self.times + 1 < MOST).then(|| now + PAUSE * 4_u32.pow(self.times));
        self.times += 1;
        self.times == 1
    }

    /// Whether it is tried again now; once.
    pub fn take_due(&mut self, now: Duration) -> bool {
        self.again.take_if(|again| *again <= now).is_some()
    }
}
