//! Levels that go for one that finds no memory: pure. See [`Squeeze`].

#[cfg(test)]
mod tests;

use core::cmp::Ordering;
use std::collections::BTreeMap;

use crate::select::EXPLICIT_PRIORITY;

/// What is there counts so much more than what is to come in its place, so that two do not take turns.
const INCUMBENT: f32 = 1.25;
/// For how long one is kept away before it is tried again although nothing says that there is room, in seconds; …
const FIRST_WAIT: f64 = 2.0;
/// … and at most, for it waits longer each time that it was for nothing.
const LONGEST_WAIT: f64 = 64.0;
/// For so many seconds the most urgent one waits for what nobody lets go of.
const STUCK: f64 = 1.0;
/// So many seconds pass at most until it is looked again who may come back: somebody may have gone to where one is.
const LOOK_AGAIN: f64 = 0.5;
/// So many frames in a row something has to be short: what was let go of takes a moment until it is gone.
const PATIENCE: u8 = 2;

/// The levels that are left out while the pipeline says that the most urgent load has no memory.
///
/// How many bytes of files fit into memory is known on average only: one level may grow to much more than another, and packages that many
/// share are nobody's own. So the pipeline may hold a load back although by that reckoning all fits, and everything behind it waits. Then
/// levels that are less urgent go, the least urgent first, until the load starts. If that does not help, it is left out itself, and they
/// come back. So is the most urgent one of all, where what is there is hardly less urgent, or takes memory of which levels know nothing.
///
/// Whoever is left out is tried again, alone, when nothing is on its way; if that is in vain, it is known how little memory may be in use
/// for it to have room. So nothing comes only to go again. While something is on its way always, as in a world of many players, only they come back for whom
/// there is as much room, for whom nobody went that is still on its way, or who have become the most urgent.
#[derive(Clone, Debug)]
pub(super) struct Squeeze<K> {
    /// Levels that are left out, or on trial.
    records: BTreeMap<K, Record<K>>,
    /// For how many frames something was short.
    short_for: u8,
    /// What was in use when it was last looked who may come back, if nothing was on its way, and when that is to be done again.
    looked: Option<(Option<u64>, f64)>,
    /// Since when the most urgent one waits although nobody can go for it.
    stuck_since: Option<f64>,
}

impl<K> Default for Squeeze<K> {
    fn default() -> Self {
        Self {
            records: BTreeMap::new(),
            short_for: 0,
            looked: None,
            stuck_since: None,
        }
    }
}

#[derive(Clone, Debug)]
struct Record<K> {
    /// Whether it is left out now.
    is_out: bool,
    /// It went for this one.
    gone_for: Option<K>,
    /// With so much memory in use there is room for it, as far as that is known.
    fits_at: Option<u64>,
    /// There was no room for it beside so many bytes of what is more urgent.
    above: Option<u64>,
    /// When it is tried again, in seconds, and how long it waited for that.
    retry_at: f64,
    waited: f64,
}

impl<K> Default for Record<K> {
    fn default() -> Self {
        Self {
            is_out: false,
            gone_for: None,
            fits_at: None,
            above: None,
            retry_at: f64::NEG_INFINITY,
            waited: 0.0,
        }
    }
}

/// What there is when levels are selected.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Shortage {
    /// How much memory has to go for the next load; none waits at zero.
    pub short: u64,
    /// What streamed content takes in memory.
    pub used: u64,
    /// How much of files makes out so much memory, on average.
    pub per_memory: f64,
    /// Whether there is plenty of memory.
    pub is_calm: bool,
    pub is_any_coming: bool,
    pub is_any_leaving: bool,
    /// In seconds.
    pub now: f64,
}

/// A level that is wanted, and that no cap leaves out.
#[derive(Copy, Clone, Debug)]
pub(super) struct Listed<K> {
    pub key: K,
    /// How urgent it is.
    pub rank: f32,
    /// Of its file.
    pub bytes: u64,
    pub stage: Stage,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for its load to begin.
    Waiting,
    /// It is the one for which there is no memory.
    Short,
    Loading,
    There,
    /// It is left out here.
    Out,
}

impl<K: Copy + Ord> Squeeze<K> {
    /// Whether any level is left out.
    pub fn is_any_out(&self) -> bool {
        !self.records.is_empty()
    }

    /// Whether a [`step`](Self::step) in which nothing is short would change nothing.
    pub fn is_at_rest(&self) -> bool {
        !self.is_any_out() && self.short_for == 0
    }

    /// There is no ceiling any more: all that were left out come back.
    pub fn end(&mut self) -> Vec<(K, bool)> {
        let records = core::mem::take(&mut self.records).into_iter();
        records.map(|(key, _)| (key, false)).collect()
    }

    /// The levels that are left out from now on, and those that are so no more. `list` gives all that are wanted; it is asked only while
    /// something is short, or somebody may come back.
    pub fn step(&mut self, seen: &Shortage, list: impl FnOnce() -> Vec<Listed<K>>) -> Vec<(K, bool)> {
        let mut told = Vec::new();
        if seen.short > 0 {
            self.looked = None;
            self.short_for += u8::from(!seen.is_any_leaving);
            if self.short_for >= PATIENCE {
                self.short_for = 0;
                self.make_room(seen, &Ranked::new(list()), &mut told);
            }
            return told;
        }
        (self.short_for, self.stuck_since) = (0, None);
        if self.is_any_out() && self.is_time_to_look(seen) {
            self.let_back(seen, &Ranked::new(list()), &mut told);
        }
        told
    }

    /// Whether nobody has looked since anything was short, or only some time ago; where nothing is on its way, also with as much in memory.
    fn is_time_to_look(&self, seen: &Shortage) -> bool {
        let is_time = |(used, again)| seen.now >= again || seen.is_quiet() && used != Some(seen.used);
        self.looked.is_none_or(is_time)
    }

    /// Has levels go for the most urgent one that waits, or leaves that one out.
    fn make_room(&mut self, seen: &Shortage, ranked: &Ranked<K>, told: &mut Vec<(K, bool)>) {
        let levels = &ranked.levels;
        let find = |stage| {
            let mut levels = levels.iter();
            levels.find(|level: &&Listed<K>| level.stage == stage && level.rank < EXPLICIT_PRIORITY)
        };
        let Some(next) = find(Stage::Short).or_else(|| find(Stage::Waiting)) else {
            return;
        };
        let is_first = ranked.is_first(next);
        let need = ((seen.short as f64 * seen.per_memory) as u64).max(1);
        let (spare, above) = (ranked.spare(next), ranked.above(next));
        let gone = self.records.values().any(|record| record.gone_for == Some(next.key));
        let known = self.records.entry(next.key).or_default();
        let is_hopeless = spare < need / 2 || known.above.is_some_and(|before| before <= above);
        if spare > 0 && (is_first || gone || !is_hopeless) {
            self.stuck_since = None;
            self.let_go(next, need.min(spare.div_ceil(2)), levels, told);
            return;
        }
        // What is less urgent and on its way can go when it is there; the most urgent one sees first what all of it takes.
        let is_loading = |other: &Listed<K>| other.stage == Stage::Loading && (is_first || next.is_worth(other));
        if levels.iter().any(is_loading) || is_first && !self.is_stuck(seen.now) {
            return;
        }
        let known = self.records.entry(next.key).or_default();
        known.is_out = true;
        known.gone_for = None;
        known.above = Some(above);
        known.fits_at = Some(seen.used.saturating_sub(seen.short));
        known.waited = (known.waited * 2.0).clamp(FIRST_WAIT, LONGEST_WAIT);
        known.retry_at = seen.now + known.waited;
        told.push((next.key, true));
        self.records.retain(|key, record| {
            let is_back = record.gone_for == Some(next.key);
            told.extend(is_back.then_some((*key, false)));
            !is_back
        });
    }

    /// Whether the most urgent one has waited long enough.
    fn is_stuck(&mut self, now: f64) -> bool {
        now - *self.stuck_since.get_or_insert(now) >= STUCK
    }

    /// So many bytes of what is less urgent go, the least urgent first.
    fn let_go(&mut self, next: &Listed<K>, bytes: u64, levels: &[Listed<K>], told: &mut Vec<(K, bool)>) {
        let mut left = bytes;
        for level in levels.iter().rev().filter(|level| next.may_replace(level)) {
            let record = self.records.entry(level.key).or_default();
            (record.is_out, record.gone_for, record.fits_at) = (true, Some(next.key), None);
            told.push((level.key, true));
            left = left.saturating_sub(level.bytes);
            if left == 0 {
                break;
            }
        }
    }

    /// Who may come back does.
    fn let_back(&mut self, seen: &Shortage, ranked: &Ranked<K>, told: &mut Vec<(K, bool)>) {
        let stages: BTreeMap<K, Stage> = ranked.levels.iter().map(|level| (level.key, level.stage)).collect();
        self.forget_others(&stages, told);
        let is_quiet = seen.is_quiet();
        let is_to_come = |key: K| !matches!(stages.get(&key), None | Some(Stage::There | Stage::Out));
        let mut again = seen.now + LOOK_AGAIN;
        for level in &ranked.levels {
            let Some(record) = self.records.get_mut(&level.key).filter(|record| record.is_out) else {
                continue;
            };
            if !is_quiet && record.gone_for.is_some_and(is_to_come) {
                continue;
            }
            let lacks = seen.used.saturating_sub(record.fits_at.unwrap_or(u64::MAX));
            let is_due = seen.now >= record.retry_at;
            // Less is in its way than was, and somebody would go for it.
            let is_more_urgent = record.above.is_some_and(|before| ranked.above(level) < before);
            let can_have = is_more_urgent && ranked.spare(level) as f64 > lacks as f64 * seen.per_memory;
            let is_first = ranked.is_first(level) && (record.above.is_none() || is_more_urgent || is_due);
            let comes_anyway = is_first || level.rank >= EXPLICIT_PRIORITY;
            if lacks == 0 || comes_anyway || is_quiet && is_due && (seen.is_calm || can_have) {
                (record.is_out, record.gone_for) = (false, None);
                told.push((level.key, false));
                break;
            }
            if !is_due {
                again = again.min(record.retry_at);
            }
        }
        let used = is_quiet.then_some(seen.used);
        self.looked = (!is_quiet || told.is_empty()).then_some((used, again));
    }

    /// Those that nobody wants, and those that have come, are known no more.
    fn forget_others(&mut self, stages: &BTreeMap<K, Stage>, told: &mut Vec<(K, bool)>) {
        self.records.retain(|key, record| match stages.get(key) {
            Some(Stage::There) => false,
            Some(_) => true,
            None => {
                told.extend(record.is_out.then_some((*key, false)));
                false
            }
        });
    }
}

impl Shortage {
    /// Whether nothing is on its way.
    fn is_quiet(&self) -> bool {
        !(self.is_any_coming || self.is_any_leaving)
    }
}

impl<K> Listed<K> {
    /// Whether it is more urgent than what is there.
    fn is_worth(&self, other: &Self) -> bool {
        other.rank * INCUMBENT < self.rank
    }

    fn may_replace(&self, other: &Self) -> bool {
        other.stage == Stage::There && self.is_worth(other)
    }
}

/// All that are listed, the most urgent first, and what those that are there add up to: many may ask where they are among them.
struct Ranked<K> {
    levels: Vec<Listed<K>>,
    /// The bytes of what is there before each, and of all.
    there: Vec<u128>,
    /// The most urgent one, those apart that always come.
    first: Option<K>,
}

impl<K: Copy + Ord> Ranked<K> {
    fn new(mut levels: Vec<Listed<K>>) -> Self {
        levels.sort_unstable_by(before);
        let mut sum = 0;
        let mut there = Vec::with_capacity(levels.len() + 1);
        there.push(sum);
        there.extend(levels.iter().map(|level| {
            let is_there = level.stage == Stage::There;
            sum += if is_there { u128::from(level.bytes) } else { 0 };
            sum
        }));
        let first = levels.iter().find(|level| level.rank < EXPLICIT_PRIORITY);
        let first = first.map(|level| level.key);
        Self { levels, there, first }
    }

    /// Whether it is the most urgent one, those apart that always come: what it has no room beside goes.
    fn is_first(&self, level: &Listed<K>) -> bool {
        self.first == Some(level.key)
    }

    /// The bytes of what is there and would not go for a level, and of all that is there.
    fn sums(&self, level: &Listed<K>) -> (u128, u128) {
        let above = self.levels.partition_point(|other| !level.is_worth(other));
        let sum = |place: usize| self.there.get(place).copied().unwrap_or_default();
        (sum(above), sum(self.levels.len()))
    }

    /// The bytes of what is there and would not go for it.
    fn above(&self, level: &Listed<K>) -> u64 {
        let (above, _) = self.sums(level);
        u64::try_from(above).unwrap_or(u64::MAX)
    }

    /// The bytes of what may go for it.
    fn spare(&self, level: &Listed<K>) -> u64 {
        let (above, all) = self.sums(level);
        u64::try_from(all - above).unwrap_or(u64::MAX)
    }
}

fn before<K: Ord>(a: &Listed<K>, b: &Listed<K>) -> Ordering {
    b.rank.total_cmp(&a.rank).then(a.key.cmp(&b.key))
}
