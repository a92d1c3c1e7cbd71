//! Levels of any sizes below a ceiling, and a pipeline that starts what fits.

use super::*;
use crate::random::Random;

#[derive(Clone, Copy, Debug)]
struct Level {
    bytes: u64,
    memory: u64,
    is_there: bool,
    is_out: bool,
}

/// Levels that are wanted, the most urgent first.
struct World {
    levels: Vec<(u32, Level)>,
    squeeze: Squeeze<u32>,
    ceiling: u64,
    /// How much more urgent each is than the next one.
    step: f32,
    /// What somebody else has in memory, and whether others are on their way all the while.
    others: u64,
    is_busy: bool,
    now: f64,
    /// How often a level came or went, and how often one was left out.
    moves: usize,
    refusals: usize,
}

impl World {
    fn new(levels: &[(u64, u64)], ceiling: u64) -> Self {
        let level = |&(bytes, memory): &(u64, u64)| Level {
            bytes,
            memory,
            is_there: false,
            is_out: false,
        };
        Self {
            levels: (0..).zip(levels.iter().map(level)).collect(),
            squeeze: Squeeze::default(),
            ceiling,
            step: 1.5,
            others: 0,
            is_busy: false,
            now: 0.0,
            moves: 0,
            refusals: 0,
        }
    }

    fn sum(&self, part: impl Fn(&Level) -> u64) -> u64 {
        let there = self.levels.iter().filter(|(_, level)| level.is_there);
        there.map(|(_, level)| part(level)).sum()
    }

    fn used(&self) -> u64 {
        self.sum(|level| level.memory) + self.others
    }

    fn there(&self) -> Vec<u32> {
        let there = self.levels.iter().filter(|(_, level)| level.is_there);
        there.map(|(key, _)| *key).collect()
    }

    /// A frame: the selection, then a pipeline that starts the most urgent load if it fits, and nothing before it.
    fn frame(&mut self) {
        self.now += 1.0 / 60.0;
        let used = self.used();
        let seen = Shortage {
            short: self.short().unwrap_or(0),
            used,
            per_memory: self.sum(|level| level.bytes) as f64 / used.max(1) as f64,
            is_calm: used as f64 <= self.ceiling as f64 * 0.85,
            is_any_coming: self.is_busy || self.next().is_some(),
            is_any_leaving: false,
            now: self.now,
        };
        let listed = |(place, (key, level)): (usize, &(u32, Level))| Listed {
            key: *key,
            rank: self.step.powi(-(place as i32)),
            bytes: level.bytes,
            stage: match level {
                Level { is_out: true, .. } => Stage::Out,
                Level { is_there: true, .. } => Stage::There,
                _ => Stage::Waiting,
            },
        };
        let told = self
            .squeeze
            .step(&seen, || self.levels.iter().enumerate().map(listed).collect());
        for (key, is_out) in told {
            let Some((_, level)) = self.levels.iter_mut().find(|(other, _)| *other == key) else {
                continue;
            };
            level.is_out = is_out;
            self.refusals += usize::from(is_out);
            self.moves += usize::from(is_out && level.is_there);
            level.is_there &= !is_out;
        }
        if self.short().is_none()
            && let Some(next) = self.next()
        {
            self.levels[next].1.is_there = true;
            self.moves += 1;
        }
    }

    fn next(&self) -> Option<usize> {
        self.levels
            .iter()
            .position(|(_, level)| !level.is_out && !level.is_there)
    }

    fn short(&self) -> Option<u64> {
        let all = self.used() + self.levels[self.next()?].1.memory;
        (all > self.ceiling && self.used() > 0).then(|| all - self.ceiling)
    }

    fn frames(&mut self, count: usize) {
        (0..count).for_each(|_| self.frame());
    }
}

#[test]
fn the_most_urgent_comes_and_the_least_urgent_go_for_it() {
    let mut world = World::new(&[(5, 10); 9], 100);
    world.frames(60);
    assert_eq!(world.used(), 90);
    // One whose file is as large as the others', and which takes three times the memory.
    let large = World::new(&[(5, 30)], 0).levels[0].1;
    world.levels.insert(0, (99, large));
    (world.moves, world.refusals) = (0, 0);
    world.frames(60);
    assert_eq!(world.there(), [99, 0, 1, 2, 3, 4, 5, 6], "no more went than had to");
    assert_eq!(world.moves, 3);
    // Nothing comes and goes from then on.
    world.refusals = 0;
    world.frames(10_000);
    assert_eq!(world.moves, 3);
    assert!(world.refusals <= 2, "each is tried once");
    // It is not wanted any more: the others come back.
    world.levels.remove(0);
    world.frames(60);
    assert_eq!(world.used(), 90);
}

#[test]
fn the_least_urgent_is_left_out_itself() {
    let mut world = World::new(&[(5, 10), (5, 10), (5, 10), (5, 100)], 100);
    world.frames(60);
    assert_eq!((world.there(), world.moves), (vec![0, 1, 2], 3));
    assert_eq!(world.next(), None, "nobody waits for it");
    // It is tried now and then, for who knows what has made room; nobody goes for that.
    world.refusals = 0;
    world.frames(60 * 600);
    assert!((3..16).contains(&world.refusals), "{} in ten minutes", world.refusals);
    assert_eq!(world.moves, 3);
}

/// What is in the way is more urgent: what is less urgent goes in vain, and comes back.
#[test]
fn what_goes_in_vain_comes_back_and_stays() {
    let mut world = World::new(&[(5, 60), (20, 60), (10, 10), (10, 10), (10, 10)], 100);
    world.frames(120);
    assert_eq!(world.there(), [0, 2, 3, 4]);
    world.moves = 0;
    world.frames(60 * 600);
    assert_eq!(world.moves, 0);
}

/// Two that have no room beside each other, and are as good as equally urgent: the one that is there stays, and nobody waits for it to go.
#[test]
fn what_is_there_stays_for_what_is_hardly_more_urgent() {
    let mut world = World::new(&[(10, 30)], 100);
    world.frames(60);
    let large = World::new(&[(10, 90)], 0).levels[0].1;
    world.levels.insert(0, (99, large));
    world.step = 1.1;
    world.frames(90);
    assert_eq!((world.there(), world.next()), (vec![0], None));
    (world.moves, world.refusals) = (0, 0);
    world.frames(60 * 600);
    assert_eq!(world.moves, 0);
    assert!((3..16).contains(&world.refusals), "{} in ten minutes", world.refusals);
    world.step = 1.5;
    world.frames(60 * 2);
    assert_eq!((world.there(), world.next()), (vec![99], None));
}

/// Memory that no level will ever give back.
#[test]
fn nobody_waits_for_what_others_have() {
    let mut world = World::new(&[(5, 30), (5, 15)], 100);
    world.others = 80;
    world.frames(90);
    assert_eq!((world.there(), world.next()), (vec![1], None));
    world.others = 0;
    world.frames(60);
    assert_eq!(world.there(), [0, 1]);
}

#[test]
fn while_others_come_all_the_time_levels_come_back_too() {
    let mut world = World::new(&[(5, 10); 9], 100);
    world.frames(60);
    let large = World::new(&[(5, 30)], 0).levels[0].1;
    world.levels.insert(0, (99, large));
    world.frames(60);
    assert_eq!(world.there(), [99, 0, 1, 2, 3, 4, 5, 6]);
    world.is_busy = true;
    world.levels.remove(0);
    world.frames(60 * 3);
    assert_eq!((world.used(), world.next()), (90, None));
    // One that nobody wants any more is not kept away when it is wanted again.
    world.levels.insert(0, (99, large));
    world.frames(60);
    let (_, gone) = world.levels.pop().expect("there are nine");
    assert!(gone.is_out);
    world.frames(60);
    assert!(!world.squeeze.records.contains_key(&8));
}

/// The pipeline has an order of its own: a place that is got ready may be next there, and ranks last here.
#[test]
fn who_is_short_is_looked_at() {
    let level = |key, rank, stage| Listed {
        key,
        rank,
        bytes: 10,
        stage,
    };
    let list = || {
        let new = level(1, 4.0, Stage::Waiting);
        let prepared = level(2, 1e-6, Stage::Short);
        vec![new, prepared, level(3, 1.0, Stage::There)]
    };
    let seen = Shortage {
        short: 10,
        used: 95,
        per_memory: 1.0,
        ..Shortage::default()
    };
    let mut squeeze = Squeeze::default();
    assert_eq!(squeeze.step(&seen, list), []);
    assert_eq!(squeeze.step(&seen, list), [(2, true)], "nobody goes for it");
}

#[test]
fn worlds_of_any_sizes_come_to_rest_with_the_most_urgent_there() {
    let mut random = Random(0xCA11);
    for _ in 0..20 {
        let count = 1 + random.below(30);
        let levels: Vec<_> = (0..count)
            .map(|_| (1 + random.below(20) as u64, 1 + random.below(40) as u64))
            .collect();
        let mut world = World::new(&levels, 40 + random.below(200) as u64);
        for _ in 0..3 {
            world.frames(60 * 100);
            assert!(world.levels[0].1.is_there, "{:?}", world.levels);
            assert!(world.used() <= world.ceiling);
            assert_eq!(world.next(), None, "nobody waits for ever");
            world.moves = 0;
            world.frames(60 * 20);
            assert_eq!(world.moves, 0, "nothing comes or goes at rest: {:?}", world.levels);
            let room = world.ceiling - world.used();
            let mut out = world.levels.iter().filter(|(_, level)| level.is_out);
            assert!(out.all(|(_, level)| level.memory > room), "{room}: {:?}", world.levels);
            // Somebody goes elsewhere.
            random.shuffle(&mut world.levels);
        }
    }
}

/// By sums that are made once.
#[test]
fn what_may_go_for_a_level_is_what_its_rank_says() {
    let mut random = Random(77);
    for _ in 0..300 {
        let levels = (0..random.below(12) as u32).map(|key| {
            let stages = [Stage::Waiting, Stage::Loading, Stage::There, Stage::There, Stage::Out];
            Listed {
                key,
                rank: [0.0, 1e-6, 0.8, 1.0, 1.25, 1.5625, 4.0, EXPLICIT_PRIORITY][random.below(8)],
                bytes: [0, 1, 7, u64::MAX][random.below(4)],
                stage: stages[random.below(5)],
            }
        });
        let ranked = Ranked::new(levels.collect());
        for level in &ranked.levels {
            let there = || ranked.levels.iter().filter(|other| other.stage == Stage::There);
            let sum = |sum: u64, other: &Listed<u32>| sum.saturating_add(other.bytes);
            let spare = there().filter(|other| level.may_replace(other)).fold(0, sum);
            let above = there().filter(|other| !level.is_worth(other)).fold(0, sum);
            assert_eq!((ranked.spare(level), ranked.above(level)), (spare, above), "{level:?}");
        }
    }
}
