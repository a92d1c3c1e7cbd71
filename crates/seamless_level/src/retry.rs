//! When a level that failed is tried again: pure. See [`RetryPolicy`].

#[cfg(test)]
mod tests;

use core::time::Duration;

use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// The largest part of a wait that chance may take off.
const JITTER: f32 = 0.5;

/// When a level is tried again whose load failed for a reason that may pass: a file that could not be read, a read that
/// [stalled](seamless_asset::LoadErrorKind::Stalled); see [`LoadErrorKind::is_transient`](seamless_asset::LoadErrorKind::is_transient). The same holds for a
/// world whose manifest could not be read; see [`WorldError::is_transient`](crate::WorldError::is_transient).
///
/// Each wait is `factor` times as long as the one before, up to `most`, by [`Time<Real>`](bevy_time::Real): it ends also while the game is paused. Of each wait up to a half is taken off, as the level's place in its
/// world says, so that many levels of a disk that was away do not come back in one frame. What is not wanted any more is forgotten. Where a frame
/// [waits](crate::VolumeMode::BlockUntilLoaded) for a level, it does so for the first attempt, and for no other one.
#[derive(Reflect, Copy, Clone, Debug, PartialEq)]
#[reflect(Default, Clone, PartialEq)]
pub struct RetryPolicy {
    /// How often a level is tried again before it is given up. Zero: never. Default 4.
    pub attempts: u32,
    /// The wait before the first of these. Default 0.5 s.
    pub first: Duration,
    /// How many times longer each wait is than the one before; less than one is one. Default 2.
    pub factor: f32,
    /// The longest wait. Default 30 s.
    pub most: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            first: Duration::from_millis(500),
            factor: 2.0,
            most: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// Never try anything again.
    pub const OFF: Self = Self {
        attempts: 0,
        first: Duration::ZERO,
        factor: 1.0,
        most: Duration::ZERO,
    };

    /// How long to wait after the failure with this number, counted from one, in a row; none if it was the last. `level` is the index of the
    /// level in its world.
    #[must_use]
    pub fn wait(&self, failure: u32, level: u32) -> Option<Duration> {
        let before = failure.checked_sub(1).filter(|before| *before < self.attempts)?;
        let growth = self.factor.max(1.0).powi(before.min(1000) as i32);
        let seconds = (self.first.as_secs_f32() * growth).min(self.most.as_secs_f32());
        let wait = Duration::try_from_secs_f32(seconds * (1.0 - JITTER * chance(failure, level)));
        Some(wait.unwrap_or(self.most).min(self.most))
    }
}

/// From zero to one, always the same for the same numbers.
fn chance(failure: u32, level: u32) -> f32 {
    let mut hash = (u64::from(failure) << 32 | u64::from(level)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    hash = (hash ^ hash >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((hash ^ hash >> 31) >> 40) as f32 / (1u32 << 24) as f32
}
