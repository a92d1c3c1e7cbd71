//! What streamed content takes in memory, and whether more may come. Pure; see [`MemoryAccount`] and [`may_start`].

#[cfg(test)]
mod tests;

use bevy_asset::AssetPath;
use bevy_platform::collections::HashMap;
use bevy_reflect::Reflect;

/// From this part of the ceiling on, memory is tight.
const TIGHT: f64 = 0.85;

/// Packages whose sizes are remembered at least, and half of those that are at most: the oldest are forgotten.
const KNOWN: usize = 16_384;

/// What streamed content takes in memory, in bytes, about: decoded values, without what Bevy and the GPU make of them. Objects that game
/// code asked for by itself are not counted once they are live, unless a package that levels use has them, too.
#[derive(Reflect, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryAccount {
    /// Assets of the packages that levels use.
    pub packages: u64,
    /// Entities of levels in the world, seen or hidden, with their components.
    pub levels: u64,
    /// What is decoded and waits for its turn.
    pub staged: u64,
    /// What is read and not decoded yet.
    pub in_flight: u64,
}

impl MemoryAccount {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        // What is in flight is as much as was asked for, of a file that may be shorter.
        let all = [self.packages, self.levels, self.staged, self.in_flight];
        all.into_iter().fold(0, u64::saturating_add)
    }
}

/// How near memory is to [`StreamingSettings::memory_ceiling`](crate::StreamingSettings::memory_ceiling).
#[derive(Reflect, Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryPressure {
    /// Below 85 % of it, or there is none.
    #[default]
    Calm,
    /// Below it: levels leave before others come, and what is only to be loaded waits.
    Tight,
    /// At the ceiling or above: levels leave whatever time it takes, and only what is essential comes.
    Over,
}

impl MemoryPressure {
    /// Of so many bytes.
    #[must_use]
    pub fn of(used: u64, ceiling: Option<u64>) -> Self {
        match ceiling {
            Some(ceiling) if used >= ceiling => Self::Over,
            Some(ceiling) if used as f64 >= ceiling as f64 * TIGHT => Self::Tight,
            _ => Self::Calm,
        }
    }
}

/// What is known when a load is about to start.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartInputs {
    pub ceiling: Option<u64>,
    /// What is there.
    pub used: u64,
    /// What loads that are under way will bring.
    pub coming: u64,
    /// Whether there are any.
    pub is_any_coming: bool,
    /// What is about to go.
    pub going: u64,
    /// Whether there is any level already that may have to go.
    pub is_any_there: bool,
    /// What this one will bring.
    pub brings: Expected,
    /// It comes whatever memory there is.
    pub is_essential: bool,
}

/// How much a load will bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// It was here before.
    Known(u64),
    /// It was not; others have brought as much as this.
    Unknown(u64),
}

impl Expected {
    pub fn bytes(self) -> u64 {
        let (Self::Known(bytes) | Self::Unknown(bytes)) = self;
        bytes
    }
}

/// Whether a load may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MayStart {
    Yes,
    /// No other may before it that is not essential, and so many bytes would have to go for it.
    Short(u64),
}

/// Whether a load may start, the most urgent one that waits: if there is room for it. What was never here is taken to be as large as
/// anything was, and may turn out to be larger: so it comes beside others only where half of all room is free, and else when nothing else
/// comes. What is larger than the ceiling comes when nothing else is there.
pub(super) fn may_start(inputs: &StartInputs) -> MayStart {
    let Some(ceiling) = inputs.ceiling else {
        return MayStart::Yes;
    };
    if inputs.is_essential {
        return MayStart::Yes;
    }
    let pressure = MemoryPressure::of(inputs.used, inputs.ceiling);
    let all = [inputs.coming, inputs.brings.bytes()];
    let all = all.into_iter().fold(inputs.used, u64::saturating_add);
    let is_alone = !inputs.is_any_coming;
    let has_room = match inputs.brings {
        _ if is_alone && !inputs.is_any_there => true,
        Expected::Unknown(_) if is_alone => pressure != MemoryPressure::Over,
        // Nothing is known of any.
        Expected::Unknown(0) => false,
        Expected::Unknown(_) => all <= ceiling / 2,
        Expected::Known(_) => all <= ceiling,
    };
    if has_room {
        MayStart::Yes
    } else {
        MayStart::Short(all.saturating_sub(ceiling).saturating_sub(inputs.going))
    }
}

/// What a package has brought when it was here.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    level: Option<u64>,
    assets: Option<u64>,
}

/// What packages bring, as far as they were here before.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    known: HashMap<AssetPath<'static>, Size>,
    /// What was known before, and may have come again since.
    before: HashMap<AssetPath<'static>, Size>,
    largest: Size,
}

impl Sizes {
    pub fn note_level(&mut self, path: &AssetPath<'static>, bytes: u64) {
        self.largest.level = self.largest.level.max(Some(bytes));
        self.of(path).level = Some(bytes);
    }

    pub fn note_assets(&mut self, path: &AssetPath<'static>, bytes: u64) {
        self.largest.assets = self.largest.assets.max(Some(bytes));
        self.of(path).assets = Some(bytes);
    }

    fn of(&mut self, path: &AssetPath<'static>) -> &mut Size {
        let before = self.before.remove(path).unwrap_or_default();
        if self.known.len() >= KNOWN && !self.known.contains_key(path) {
            self.before = core::mem::take(&mut self.known);
        }
        self.known.entry(path.clone()).or_insert(before)
    }

    fn get(&self, path: &AssetPath<'static>) -> Size {
        let known = self.known.get(path).or_else(|| self.before.get(path));
        known.copied().unwrap_or_default()
    }

    /// What the level of a package will bring. One that was not here yet is as large as any was.
    pub fn level(&self, path: &AssetPath<'static>) -> Expected {
        let known = self.get(path).level;
        known.map_or(Expected::Unknown(self.largest.level.unwrap_or(0)), Expected::Known)
    }

    /// What the assets of a package will bring.
    pub fn assets(&self, path: &AssetPath<'static>) -> Expected {
        let known = self.get(path).assets;
        known.map_or(Expected::Unknown(self.largest.assets.unwrap_or(0)), Expected::Known)
    }
}

impl core::iter::Sum for Expected {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::Known(0), |sum, one| {
            let bytes = sum.bytes().saturating_add(one.bytes());
            match (sum, one) {
                (Self::Known(_), Self::Known(_)) => Self::Known(bytes),
                _ => Self::Unknown(bytes),
            }
        })
    }
}
