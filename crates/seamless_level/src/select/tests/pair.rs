//! Random worlds in which the selector says what the brute force says, step by step.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    oracle::{Oracle, Tested, test, usable},
    *,
};
use crate::requests::RequestKind;

/// Both, side by side.
struct Pair {
    oracle: Oracle,
    selector: Selector,
    keys: BTreeMap<u32, VolumeKey>,
    requests: BTreeMap<u32, RequestKey>,
    sources: Vec<SourceInput>,
    next: u32,
    now: f64,
    limits: SelectionLimits,
}

impl Pair {
    fn random(random: &mut Random) -> Self {
        let levels: Vec<LevelInput> = (0..1 + random.below(30))
            .map(|_| LevelInput {
                always_loaded: random.below(10) == 0,
                bytes: random.below(20) as u64,
                bounds: (random.below(2) == 0).then(|| {
                    let min = random.point(100.0);
                    (min, min + (random.point(30.0)).abs())
                }),
            })
            .collect();
        let count = levels.len();
        let mut pair = Self {
            oracle: Oracle {
                levels: levels.clone(),
                presence: vec![Presence::Away; count],
                targets: vec![LevelTarget::Unloaded; count],
                told: vec![0.0; count],
                ..Oracle::default()
            },
            selector: Selector::new(&levels),
            keys: BTreeMap::new(),
            requests: BTreeMap::new(),
            sources: (0..random.below(4)).map(|_| random_source(random)).collect(),
            next: 0,
            now: 0.0,
            limits: random_limits(random),
        };
        (0..random.below(40)).for_each(|_| pair.add_volume(random));
        pair.oracle.arrival_axes = random_axes(random);
        pair.selector.set_arrival_axes(pair.oracle.arrival_axes);
        pair
    }

    fn levels(&self) -> usize {
        self.oracle.targets.len()
    }

    fn add_volume(&mut self, random: &mut Random) {
        let input = random_volume(random, self.levels());
        self.next += 1;
        self.keys.insert(self.next, self.selector.add_volume(input.clone()));
        self.oracle.volumes.insert(self.next, Tested::new(input));
    }

    /// Moves a little, and now and then changes anything there is.
    fn change(&mut self, random: &mut Random) {
        self.now += f64::from(random.unit()) * 0.3;
        let step = [0.0, 0.0, 0.5, 4.0][random.below(4)];
        for source in &mut self.sources {
            source.position += random.point(step);
            if random.below(4) == 0 {
                source.velocity = random_velocity(random);
                source.look = random_look(random);
            }
        }
        let any = |random: &mut Random, keys: Vec<u32>| keys.get(random.below(keys.len().max(1))).copied();
        match random.below(24) {
            0 => self.add_volume(random),
            1 => {
                if let Some(id) = any(random, self.keys.keys().copied().collect()) {
                    self.selector.remove_volume(self.keys.remove(&id).unwrap());
                    self.oracle.volumes.remove(&id);
                }
            }
            2 => {
                if let Some(id) = any(random, self.keys.keys().copied().collect()) {
                    let input = random_volume(random, self.levels());
                    self.selector.set_volume(self.keys[&id], input.clone());
                    self.oracle.volumes.get_mut(&id).unwrap().input = input;
                }
            }
            3 | 4 => {
                let kinds = [
                    RequestKind::Load,
                    RequestKind::Show,
                    RequestKind::ShowIfLoaded,
                    RequestKind::Hide,
                    RequestKind::Ban,
                ];
                let request = (
                    random.below(self.levels()) as u32,
                    kinds[random.below(kinds.len())],
                    random.unit(),
                );
                self.next += 1;
                let key = self.selector.request(request.0, request.1, request.2);
                self.requests.insert(self.next, key);
                self.oracle.requests.insert(self.next, request);
            }
            5 | 6 => {
                if let Some(id) = any(random, self.requests.keys().copied().collect()) {
                    self.selector.release(self.requests.remove(&id).unwrap());
                    self.oracle.requests.remove(&id);
                }
            }
            7 => self.sources.push(random_source(random)),
            8 => drop(self.sources.pop()),
            9 => self
                .sources
                .iter_mut()
                .for_each(|source| *source = random_source(random)),
            10 => self.limits = random_limits(random),
            11 => random.shuffle(&mut self.sources),
            12 => {
                let level = random.below(self.levels()) as u32;
                let is_out = self.oracle.out.insert(level) || !self.oracle.out.remove(&level);
                self.selector.set_out(level, is_out);
            }
            13 => {
                self.oracle.arrival_axes = random_axes(random);
                self.selector.set_arrival_axes(self.oracle.arrival_axes);
            }
            _ => {}
        }
    }

    /// Plays the one who carries plans out, with whatever luck.
    fn carry_out(&mut self, random: &mut Random, plan: &Plan) {
        let all = [
            Presence::Away,
            Presence::Coming,
            Presence::Held,
            Presence::There,
            Presence::Waiting,
            Presence::Failed,
        ];
        let fallen = plan.fall.iter().map(|(level, _)| (*level, Presence::Away));
        let risen = plan.rise.iter().map(|(level, _)| (*level, Presence::Coming));
        let told: Vec<(u32, Presence)> = fallen.chain(risen).collect();
        let surprise = (random.below(self.levels()) as u32, all[random.below(all.len())]);
        for (level, presence) in told.into_iter().chain((random.below(3) == 0).then_some(surprise)) {
            self.selector.set_presence(level, presence);
            self.oracle.presence[level as usize] = presence;
        }
    }

    /// What is told of levels that are there: of those alone that have turned essential, or are so no more. Who has asked for nothing else is not looked at.
    fn turned(&mut self, plan: &Plan) -> Vec<(u32, f32)> {
        let turned = core::mem::take(&mut self.oracle.turned);
        let is_told = |level: &u32| plan.priorities.iter().any(|(told, _)| told == level);
        let told: Vec<_> = turned.into_iter().filter(|(level, _)| is_told(level)).collect();
        for (level, priority) in &told {
            self.oracle.told[*level as usize] = *priority;
        }
        told
    }

    fn step(&mut self, random: &mut Random) -> Plan {
        self.change(random);
        let mut plan = self.selector.update(&self.sources, self.now, &self.limits).clone();
        plan.priorities.sort_unstable_by_key(|(level, _)| *level);
        plan.block.sort_unstable();
        let mut expected = self.oracle.update(&self.sources, self.now, &self.limits);
        if random.below(16) == 0 {
            self.oracle.check_arrival(random, &self.sources, &plan);
            self.check_sources();
        }
        expected.arrival = plan.arrival;
        expected.priorities.extend(self.turned(&plan));
        expected.priorities.sort_unstable_by_key(|(level, _)| *level);
        assert_eq!(plan, expected);
        for level in 0..self.levels() {
            assert_eq!(self.selector.target(level as u32), self.oracle.targets[level]);
            assert_eq!(self.selector.presence(level as u32), self.oracle.presence[level]);
        }
        let wanted = self
            .oracle
            .targets
            .iter()
            .filter(|target| **target != LevelTarget::Unloaded);
        assert_eq!(self.selector.wanted(), wanted.count());
        self.carry_out(random, &plan);
        plan
    }
}

fn random_axes(random: &mut Random) -> BVec3 {
    BVec3::from_array([0, 1, 2].map(|_| random.below(3) > 0))
}

impl Pair {
    /// What the levels that a source asks for are waiting for.
    fn check_sources(&self) {
        for source in &self.sources {
            let asks = usable(core::slice::from_ref(source)).pop();
            let levels = asks.map(|source| {
                let is_near = |volume: &&Tested| test(&source, source.position, &volume.input).1;
                let on = self.oracle.volumes.values().filter(|volume| volume.asks().is_some());
                let near = on
                    .filter(is_near)
                    .flat_map(|volume| volume.input.levels.iter().copied());
                let all = (0..).zip(&self.oracle.levels);
                let always = all.filter(|(_, level)| level.always_loaded).map(|(level, _)| level);
                near.chain(always)
                    .collect::<BTreeSet<u32>>()
                    .into_iter()
                    .collect::<Vec<u32>>()
            });
            let expected = levels.map(|levels| (levels, source.target));
            assert_eq!(self.selector.asked_by(source.key), expected);
        }
    }
}

fn random_velocity(random: &mut Random) -> Vec3 {
    let size = [0.0, 0.0, 20.0, 300.0][random.below(4)];
    random.point(size)
}

fn random_look(random: &mut Random) -> Option<Vec3> {
    let look = random.point(2.0).normalize_or(Vec3::Z);
    (random.below(3) > 0).then_some(look)
}

/// A source of any kind; now and then it is nowhere.
pub(in crate::select) fn random_source(random: &mut Random) -> SourceInput {
    let position = if random.below(20) == 0 {
        Vec3::NAN
    } else {
        random.point(140.0)
    };
    let radius = random.unit() * 40.0 - 2.0;
    let half_angle = random.unit() * 4.0;
    SourceInput {
        key: random.next(),
        position,
        velocity: random_velocity(random),
        look: random_look(random),
        look_weight: random.unit() - 0.2,
        ahead: random.unit() * 2.0 - 0.2,
        shape: [
            SourceShape::Point,
            SourceShape::Sphere { radius },
            SourceShape::Sector { radius, half_angle },
        ][random.below(3)],
        reach: random.unit() * 3.0 - 0.2,
        priority: random.unit() * 4.0,
        target: [
            LevelTarget::Visible,
            LevelTarget::Visible,
            LevelTarget::Loaded,
            LevelTarget::Unloaded,
        ][random.below(4)],
        is_present: random.below(4) > 0,
        may_block: random.below(4) > 0,
    }
}

fn random_limits(random: &mut Random) -> SelectionLimits {
    let max_levels = [usize::MAX, random.below(20)][random.below(2)];
    let max_bytes = [u64::MAX, random.below(150) as u64][random.below(2)];
    let room = [u64::MAX, random.below(150) as u64][random.below(2)];
    SelectionLimits {
        max_levels,
        max_bytes,
        room,
    }
}

#[test]
fn worlds_of_all_kinds_are_as_the_rule_says() {
    worlds_are_as_the_rule_says(0x5EED_1234_5678_9ABC);
}

// By itself, so that two cores share the work.
#[test]
fn as_many_others_are_too() {
    worlds_are_as_the_rule_says(0x5EED_CBA9_8765_4321);
}

/// A thousand worlds with `SEAMLESS_SOAK=1`; ordinary tests look at a quarter of them.
fn worlds_are_as_the_rule_says(seed: u64) {
    let worlds = match std::env::var_os("SEAMLESS_SOAK") {
        Some(_) => 1_000,
        None => 250,
    };
    let mut random = Random(seed);
    let (mut dropped, mut changes, mut blocked, mut told, mut arrivals) = (0, 0, 0, 0, 0);
    for _ in 0..worlds {
        let mut pair = Pair::random(&mut random);
        for _ in 0..200 {
            let plan = pair.step(&mut random);
            dropped += plan.dropped;
            changes += plan.rise.len() + plan.fall.len();
            blocked += plan.block.len();
            told += plan.priorities.len();
            arrivals += usize::from(plan.arrival.is_some_and(|arrival| arrival > 0.0));
        }
    }
    assert!([dropped, changes, blocked].into_iter().all(|count| count > 5 * worlds));
    assert!(told > worlds / 2 && arrivals > worlds / 2);
}
