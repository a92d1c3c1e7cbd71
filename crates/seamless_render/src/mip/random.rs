//! Numbers for tests that do many things.

/// The same numbers in every run: a linear congruential generator with Knuth's constants.
pub(super) struct Random(pub u64);

impl Random {
    /// A number from 0 up to, not with, `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A number from 0 up to, not with, 1.
    pub fn part(&mut self) -> f32 {
        self.below(1 << 24) as f32 / (1 << 24) as f32
    }
}
