//! What units of the main thread's work will take, learnt from what they took. Pure; see [`CostModel`].

#[cfg(test)]
mod tests;

use core::{any::TypeId, fmt, time::Duration};

use bevy_platform::collections::HashMap;
use bevy_reflect::Reflect;

/// Part of what is known that each unit renews.
const RECENT: f64 = 0.08;

/// Units that were slower than thought count so much more: to be late is worse than to be early.
const SLOW: f64 = 4.0;

/// A unit that took so many times longer than thought was interrupted, and tells nothing about the work beyond that.
const OUTLIER: f64 = 4.0;

/// Nanoseconds that are not told from nothing.
const LEAST: f64 = 100.0;

/// How much it counts that nothing takes no time, as part of all else: where all units are of one size, it alone says what part of their
/// time is fixed.
const NOTHING: f64 = 1e-3;

/// A kind of the main thread's work that is done in units, each of which starts only when its estimated time fits the frame.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnitKind {
    /// An asset into its `Assets`; by its bytes.
    Insert,
    /// All that a level in slices needs before its first one.
    Begin,
    /// Entities of a level into the world, hidden.
    HiddenSpawn,
    /// A level into the world whole, in one frame.
    Reveal,
    /// The one frame in which a level can be seen that came in slices.
    RevealSliced,
    /// What somebody observes of it, which comes in that frame; by the entities that have some of it.
    Observed,
    /// A hidden level is seen again.
    Show,
    /// A level is hidden, and stays in the world.
    Hide,
    /// A level out of the world whole, in one frame.
    Leave,
    /// The one frame in which a level has left that is despawned in slices.
    Mark,
    /// A level has left that was hidden before; it is despawned in slices, too.
    LeaveUnseen,
    /// Entities that nobody sees any more out of the world.
    Sweep,
    /// What is live of a package becomes what its new file says.
    Reload,
    /// Room in Bevy's tables.
    Room,
    /// A load that held up the calling thread.
    Blocking,
}

impl UnitKind {
    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Begin => "begin of slices",
            Self::HiddenSpawn => "hidden spawn",
            Self::Reveal => "reveal",
            Self::RevealSliced => "reveal of slices",
            Self::Observed => "observed components",
            Self::Show => "show",
            Self::Hide => "hide",
            Self::Leave => "leave",
            Self::Mark => "mark",
            Self::LeaveUnseen => "leave of a hidden level",
            Self::Sweep => "sweep",
            Self::Reload => "reload",
            Self::Room => "room",
            Self::Blocking => "blocking load",
        }
    }

    /// Cautious first guesses: a microsecond an entity, two where it is compared, a few tenths where it only becomes visible or
    /// invisible, fewer where it only is counted, a nanosecond a byte.
    const fn guess(self) -> Line {
        let per_item = match self {
            Self::HiddenSpawn | Self::Reveal | Self::Observed | Self::Leave | Self::Sweep => 1000.0,
            Self::RevealSliced | Self::Show => 300.0,
            Self::Hide | Self::Mark => 200.0,
            Self::Begin | Self::LeaveUnseen => 20.0,
            Self::Reload => 2000.0,
            Self::Insert | Self::Room | Self::Blocking => 1.0,
        };
        Line {
            fixed: 2000.0,
            per_item,
        }
    }
}

impl fmt::Display for UnitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is estimated: a kind of work, and the type that it is done to, where that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CostKey {
    pub unit: UnitKind,
    pub of: Option<TypeId>,
}

impl From<UnitKind> for CostKey {
    fn from(unit: UnitKind) -> Self {
        Self { unit, of: None }
    }
}

/// Nanoseconds by items.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    fixed: f64,
    per_item: f64,
}

impl Line {
    fn at(self, items: f64) -> f64 {
        self.fixed + self.per_item * items
    }
}

/// Sums over units, each counted by its weight, the older the less.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    /// The weights that units have beside their scale.
    units: f64,
    one: f64,
    items: f64,
    items_squared: f64,
    time: f64,
    items_time: f64,
}

impl Sums {
    /// A unit's error counts in proportion to its `scale`: small ones tell what is fixed, and would not be heard beside large ones.
    fn add(&mut self, items: f64, time: f64, scale: f64, weight: f64) {
        let by_scale = weight / (scale * scale);
        self.units += weight;
        self.one += by_scale;
        self.items += by_scale * items;
        self.items_squared += by_scale * items * items;
        self.time += by_scale * time;
        self.items_time += by_scale * items * time;
    }

    fn fade(&mut self) {
        let Self {
            units,
            one,
            items,
            items_squared,
            time,
            items_time,
        } = self;
        for sum in [units, one, items, items_squared, time, items_time] {
            *sum *= 1.0 - RECENT;
        }
    }

    /// The line of least squares among those that neither begin nor fall below nothing; none where no number says which.
    fn line(&self) -> Option<Line> {
        let spread = self.one * self.items_squared - self.items * self.items;
        let per_item = (self.one * self.items_time - self.items * self.time) / spread;
        let fixed = (self.time - per_item * self.items) / self.one;
        let line = if per_item >= 0.0 && fixed >= 0.0 {
            Line { fixed, per_item }
        } else if per_item < 0.0 {
            Line {
                fixed: self.time / self.one,
                per_item: 0.0,
            }
        } else {
            Line {
                fixed: 0.0,
                per_item: self.items_time / self.items_squared,
            }
        };
        (line.fixed.is_finite() && line.per_item.is_finite()).then_some(line)
    }
}

/// What is known of one key.
#[derive(Debug, Clone)]
struct Rate {
    guess: Line,
    known: Line,
    sums: Sums,
    /// Mean square of how much longer units took than thought, as part of that.
    excess: f64,
}

impl Rate {
    /// Two units that were as guessed: the first ones that are measured count for more.
    fn new(guess: Line) -> Self {
        let mut sums = Sums::default();
        for items in [0.0, 1e6 / guess.per_item] {
            sums.add(items, guess.at(items), guess.at(items), 1.0);
        }
        Self {
            guess,
            known: guess,
            sums,
            excess: 0.0,
        }
    }

    fn learn(&mut self, items: u64, took: Duration) {
        let items = items as f64;
        let thought = self.known.at(items).max(LEAST);
        let took = (took.as_nanos() as f64).min(thought * OUTLIER);
        let excess = (took / thought - 1.0).clamp(0.0, 1.0);
        self.excess += (excess * excess - self.excess) * RECENT;
        self.sums.fade();
        let weight = if took > thought { SLOW } else { 1.0 };
        self.sums.add(items, took, self.guess.at(items), weight);
        let mut sums = self.sums;
        sums.add(0.0, 0.0, self.guess.fixed, NOTHING * sums.units);
        self.known = sums.line().unwrap_or(self.known);
    }

    /// Nanoseconds that a unit hardly exceeds.
    fn estimate(&self, items: u64) -> f64 {
        self.known.at(items as f64) * (1.0 + 2.0 * self.excess.sqrt())
    }
}

/// How long units take, by their kind and size.
///
/// A unit takes a fixed time and a time for each item: the line through what was measured, recent units counting more, slow ones more
/// than fast ones, and interrupted ones no more than slow ones. Since what disturbs a unit disturbs it by a part of its time, the errors of
/// units, and their deviation, are in parts of that. An estimate is the line and twice the deviation of those that were slower.
#[derive(Debug, Default)]
pub(super) struct CostModel {
    rates: HashMap<CostKey, Rate>,
}

impl CostModel {
    /// What a unit of so many items will take. Of a type that was not met yet, what others of the kind take; of a kind that was not, a
    /// cautious guess.
    pub fn of(&self, key: impl Into<CostKey>, items: u64) -> Duration {
        let key = key.into();
        let rate = self
            .rates
            .get(&key)
            .or_else(|| self.rates.get(&CostKey::from(key.unit)));
        let estimate = match rate {
            Some(rate) => rate.estimate(items),
            None => key.unit.guess().at(items as f64),
        };
        Duration::from_nanos(estimate as u64)
    }

    /// What so many items will take that are done in units of `each`. The line says nothing about a unit as large as all of them, if none was.
    pub fn of_units(&self, key: impl Into<CostKey>, items: u64, each: u64) -> Duration {
        let units = u32::try_from(items.div_ceil(each.max(1))).unwrap_or(u32::MAX);
        self.of(key, each).saturating_mul(units)
    }

    /// Whether any unit of the kind was measured.
    pub fn is_known(&self, kind: UnitKind) -> bool {
        self.rates.contains_key(&CostKey::from(kind))
    }

    /// What so many items will take in one unit that may also be done in slices, then a unit of `shown` for all of them: what always goes in slices is
    /// never measured whole, and what never does is known by nothing else.
    pub fn whole_or_sliced(&self, whole: UnitKind, slices: (UnitKind, u64), shown: UnitKind, items: u64) -> Duration {
        let in_one = self.of(whole, items);
        let are_slices_known = self.is_known(slices.0) && self.is_known(shown);
        if self.is_known(whole) && !are_slices_known {
            return in_one;
        }
        in_one.min(self.of_units(slices.0, items, slices.1) + self.of(shown, items))
    }

    /// What so many items take in one unit, once it is decided that they are not done in slices: as measured, else as it was `thought` for that.
    pub fn in_one(&self, whole: UnitKind, items: u64, thought: Duration) -> Duration {
        match self.is_known(whole) {
            true => self.of(whole, items),
            false => thought,
        }
    }

    /// Learns from one unit.
    pub fn learn(&mut self, key: impl Into<CostKey>, items: u64, took: Duration) {
        let key = key.into();
        let all_of_kind = key.of.map(|_| CostKey::from(key.unit));
        for key in [Some(key), all_of_kind].into_iter().flatten() {
            let rate = self.rates.entry(key);
            rate.or_insert_with(|| Rate::new(key.unit.guess())).learn(items, took);
        }
    }
}
