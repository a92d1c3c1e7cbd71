//! Volumes that everybody has left, and that still ask for their levels. See [`VolumeState`].

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

/// Whether a volume asks for its levels.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub enum VolumeState {
    /// It asks for nothing.
    #[default]
    Off,
    /// A source is inside, or was and is still within the margin.
    On,
    /// All sources are outside of the margin; it asks until this time, in seconds.
    Lingering {
        /// When it goes off.
        until: f64,
    },
}

impl VolumeState {
    /// The state that follows. `is_near` is true as well for a source that is inside. Nothing delays a volume that is
    /// entered, and one whose margin is reached again while it lingers is on as if nobody had left.
    pub(super) fn next(self, is_inside: bool, is_near: bool, delay: f64, now: f64) -> Self {
        match self {
            Self::Off if is_inside => Self::On,
            Self::Off => Self::Off,
            Self::On | Self::Lingering { .. } if is_near => Self::On,
            // Written so that a delay that is no number is none.
            Self::On if delay > 0.0 => Self::Lingering { until: now + delay },
            Self::Lingering { until } if now < until => self,
            Self::On | Self::Lingering { .. } => Self::Off,
        }
    }

    /// Whether it asks for its levels.
    #[must_use]
    pub fn asks(self) -> bool {
        self != Self::Off
    }
}

/// Which of a volume's two states is meant.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whose {
    /// That of all sources.
    All,
    /// That of sources that may show levels.
    Showing,
}

/// When each of the lingering volumes ends.
#[derive(Debug, Default)]
pub(super) struct LingerQueue(BTreeSet<(u64, u32, Whose)>);

impl LingerQueue {
    /// A volume goes from one state to another.
    pub fn change(&mut self, volume: u32, whose: Whose, from: VolumeState, to: VolumeState) {
        if let VolumeState::Lingering { until } = from {
            self.0.remove(&(order(until), volume, whose));
        }
        if let VolumeState::Lingering { until } = to {
            self.0.insert((order(until), volume, whose));
        }
    }

    /// A volume whose time is over.
    pub fn due(&self, now: f64) -> Option<u32> {
        let (until, volume, _) = self.0.first()?;
        (*until <= order(now)).then_some(*volume)
    }
}

/// The bits of a time, so that they are in the order of times: as in `f64::total_cmp`.
fn order(time: f64) -> u64 {
    let bits = time.to_bits();
    if time.is_sign_negative() { !bits } else { bits | 1 << 63 }
}
