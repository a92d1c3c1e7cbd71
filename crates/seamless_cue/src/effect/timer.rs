//! A time that runs down.

use core::time::Duration;

use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// A time that runs down, and begins to when what is to pass before it has passed: what is done in a frame is done at the end of that frame's time,
/// and not at its beginning, wherever in the frame time passes.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub(crate) struct Timer {
    left: Duration,
    wait: Duration,
}

impl Timer {
    /// So long, after so much of the time that will pass.
    pub fn new(left: Duration, wait: Duration) -> Self {
        Self { left, wait }
    }

    /// How long it runs.
    pub fn left(self) -> Duration {
        self.left
    }

    /// What has to pass until it is over.
    pub fn until_over(self) -> Duration {
        self.left.saturating_add(self.wait)
    }

    pub fn is_over(self) -> bool {
        self.until_over().is_zero()
    }

    /// Time passes, no more than until it is over.
    pub fn pass(&mut self, time: Duration) {
        let waited = self.wait.min(time);
        self.wait -= waited;
        self.left = self.left.saturating_sub(time - waited);
    }

    /// Time passes; when it is over, it begins again and again, `every` long. Gives how often it was over before the end of that time; is it
    /// over in that very moment, it stays so, and does not count.
    pub fn pass_again_and_again(&mut self, time: Duration, every: Duration) -> u64 {
        let first = self.until_over();
        if time <= first {
            self.pass(time);
            return 0;
        }
        let (beyond, every) = ((time - first).as_nanos(), every.as_nanos().max(1));
        let (more, rest) = (beyond / every, beyond % every);
        let left = if rest == 0 { 0 } else { every - rest };
        *self = Self::new(nanos(left), Duration::ZERO);
        let times = more + u128::from(rest != 0);
        u64::try_from(times).unwrap_or(u64::MAX)
    }
}

fn nanos(count: u128) -> Duration {
    u64::try_from(count).map_or(Duration::MAX, Duration::from_nanos)
}

/// How often `every` fits into a time.
pub(super) fn times(time: Duration, every: Duration) -> u32 {
    u32::try_from(time.as_nanos() / every.as_nanos().max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    #[test]
    fn what_waits_does_not_run() {
        let mut timer = Timer::new(ms(10), ms(5));
        timer.pass(ms(3));
        assert_eq!((timer.left(), timer.until_over()), (ms(10), ms(12)));
        timer.pass(ms(4));
        assert_eq!((timer.left(), timer.is_over()), (ms(8), false));
        timer.pass(ms(8));
        assert!(timer.is_over());
    }

    proptest! {
        /// Against one that passes a millisecond at a time.
        #[test]
        fn again_and_again_is_what_it_says(first in 1u64..20, wait in 0u64..5, every in 1u64..9, time in 0u64..60) {
            let mut timer = Timer::new(ms(first), ms(wait));
            let mut plain = first + wait;
            let mut over = 0;
            for _ in 0..time {
                if plain == 0 {
                    (plain, over) = (every, over + 1);
                }
                plain -= 1;
            }
            prop_assert_eq!(timer.pass_again_and_again(ms(time), ms(every)), over);
            prop_assert_eq!(timer.until_over(), ms(plain));
        }
    }
}
