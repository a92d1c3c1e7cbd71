//! The rule once more, written plainly: every volume is tested against every source, every level is looked at. And random
//! worlds in which the selector says the same, step by step.

use std::collections::BTreeMap;

use super::*;
use crate::requests::RequestKind;

/// A volume, and how it stands with it.
struct Tested {
    input: VolumeInput,
    is_on: bool,
    until: Option<f64>,
}

/// The brute force.
#[derive(Default)]
struct Oracle {
    volumes: BTreeMap<u32, Tested>,
    /// Requests of the app: level, kind, priority.
    requests: BTreeMap<u32, (u32, RequestKind, f32)>,
    always: Vec<bool>,
    presence: Vec<Presence>,
    targets: Vec<LevelTarget>,
    told: Vec<f32>,
}

impl Tested {
    fn step(&mut self, sources: &[SourceInput], now: f64) {
        let within = |most: f32| {
            let mut distances = sources
                .iter()
                .map(|source| self.input.shape.signed_distance(source.position));
            distances.any(|distance| distance <= 0.0 || distance <= most)
        };
        let (is_inside, is_near) = (within(0.0), within(self.input.unload_margin));
        if !self.is_on {
            self.is_on = is_inside;
        } else if is_near {
            self.until = None;
        } else if let Some(until) = self.until {
            self.is_on = now < until;
        } else if self.input.unload_delay > 0.0 {
            self.until = Some(now + f64::from(self.input.unload_delay));
        } else {
            self.is_on = false;
        }
        if !self.is_on {
            self.until = None;
        }
    }

    fn score(&self, source: &SourceInput) -> f32 {
        let distance = self.input.shape.signed_distance(source.position);
        if distance <= 0.0 || distance <= self.input.unload_margin {
            let importance = (source.priority * self.input.priority).clamp(0.0, MAX_SOURCE_PRIORITY);
            let weight = if self.input.mode == VolumeMode::Load { 0.5 } else { 1.0 };
            importance * weight / (1.0 + self.input.shape.center_distance(source.position))
        } else {
            0.0
        }
    }
}

impl Oracle {
    /// The requests for a level, with how urgent each is.
    fn asking(&self, level: u32, sources: &[SourceInput]) -> Vec<(RequestKind, f32)> {
        let always = self.always[level as usize].then_some((RequestKind::Show, ALWAYS_PRIORITY));
        let of_app = self.requests.values().filter(|request| request.0 == level);
        let on = self.volumes.values().filter(|volume| volume.is_on);
        let of_volumes = on.filter(|volume| volume.input.levels.contains(&level));
        always
            .into_iter()
            .chain(of_app.map(|(_, kind, priority)| (*kind, *priority)))
            .chain(of_volumes.map(|volume| {
                let scores = sources.iter().map(|source| volume.score(source));
                (volume.input.mode.request(), scores.fold(0.0, f32::max))
            }))
            .collect()
    }

    fn target(asking: &[(RequestKind, f32)]) -> LevelTarget {
        let has = |kind| asking.iter().any(|(other, _)| *other == kind);
        match (has(RequestKind::Ban), has(RequestKind::Show), has(RequestKind::Load)) {
            (true, ..) => LevelTarget::Unloaded,
            (_, true, _) => LevelTarget::Visible,
            (_, _, true) if has(RequestKind::ShowIfLoaded) => LevelTarget::Visible,
            (_, _, true) => LevelTarget::Loaded,
            _ => LevelTarget::Unloaded,
        }
    }

    fn update(&mut self, sources: &[SourceInput], now: f64, limits: &SelectionLimits) -> Plan {
        let usable = |source: &&SourceInput| source.position.is_finite() && source.priority.is_finite();
        let sources: Vec<SourceInput> = sources.iter().filter(usable).copied().collect();
        self.volumes.values_mut().for_each(|volume| volume.step(&sources, now));
        let asking: Vec<_> = (0..self.targets.len() as u32)
            .map(|level| self.asking(level, &sources))
            .collect();
        let urgency = |level: usize| asking[level].iter().map(|(_, priority)| *priority).fold(0.0, f32::max);
        let mut targets: Vec<LevelTarget> = asking.iter().map(|asking| Self::target(asking)).collect();
        let mut ranked: Vec<(f32, usize)> = (0..targets.len())
            .filter(|level| targets[*level] != LevelTarget::Unloaded && self.presence[*level] != Presence::Failed)
            .map(|level| {
                let is_there = self.targets[level] != LevelTarget::Unloaded;
                (urgency(level) * if is_there { 1.25 } else { 1.0 }, level)
            })
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let cut: Vec<usize> = ranked.iter().skip(limits.max_levels).map(|(_, level)| *level).collect();
        cut.iter().for_each(|level| targets[*level] = LevelTarget::Unloaded);
        let mut plan = Plan {
            dropped: cut.len(),
            ..Plan::default()
        };
        let mut risen = Vec::new();
        for (level, &target) in targets.iter().enumerate() {
            match target.cmp(&self.targets[level]) {
                std::cmp::Ordering::Greater => {
                    risen.push((urgency(level), level));
                    self.told[level] = urgency(level);
                }
                std::cmp::Ordering::Less => {
                    plan.fall.push((level as u32, target));
                    if target == LevelTarget::Unloaded && self.presence[level] == Presence::Failed {
                        self.presence[level] = Presence::Away;
                    }
                }
                std::cmp::Ordering::Equal => {}
            }
            let changed = (urgency(level) - self.told[level]).abs() > self.told[level].abs() * 0.1;
            if self.presence[level] == Presence::Coming && changed {
                self.told[level] = urgency(level);
                plan.priorities.push((level as u32, urgency(level)));
            }
        }
        risen.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        plan.rise = risen
            .iter()
            .map(|(_, level)| (*level as u32, targets[*level]))
            .collect();
        self.targets = targets;
        plan.block = self.blocking(&sources);
        plan
    }

    fn blocking(&self, sources: &[SourceInput]) -> Vec<u32> {
        let holds = |volume: &&Tested| {
            let mut sources = sources.iter();
            volume.input.mode == VolumeMode::BlockUntilLoaded
                && sources.any(|source| volume.input.shape.contains(source.position))
        };
        let listed = self
            .volumes
            .values()
            .filter(holds)
            .flat_map(|volume| &volume.input.levels);
        let mut levels: Vec<u32> = listed
            .copied()
            .filter(|level| self.is_missing(*level as usize))
            .collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    fn is_missing(&self, level: usize) -> bool {
        self.targets.get(level) == Some(&LevelTarget::Visible)
            && matches!(self.presence[level], Presence::Away | Presence::Coming)
    }
}

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
            })
            .collect();
        let count = levels.len();
        let mut pair = Self {
            oracle: Oracle {
                always: levels.iter().map(|level| level.always_loaded).collect(),
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
        pair
    }

    fn levels(&self) -> usize {
        self.oracle.targets.len()
    }

    fn add_volume(&mut self, random: &mut Random) {
        let input = random_volume(random, self.levels());
        self.next += 1;
        self.keys.insert(self.next, self.selector.add_volume(input.clone()));
        let tested = Tested {
            input,
            is_on: false,
            until: None,
        };
        self.oracle.volumes.insert(self.next, tested);
    }

    /// Moves a little, and now and then changes anything there is.
    fn change(&mut self, random: &mut Random) {
        self.now += f64::from(random.unit()) * 0.3;
        let step = [0.0, 0.0, 0.5, 4.0][random.below(4)];
        for source in &mut self.sources {
            source.position += random.point(step);
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
                    RequestKind::Ban,
                ];
                let request = (
                    random.below(self.levels()) as u32,
                    kinds[random.below(4)],
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
            _ => {}
        }
    }

    /// Plays the one who carries plans out, with whatever luck.
    fn carry_out(&mut self, random: &mut Random, plan: &Plan) {
        let all = [Presence::Away, Presence::Coming, Presence::There, Presence::Failed];
        let fallen = plan.fall.iter().map(|(level, _)| (*level, Presence::Away));
        let risen = plan.rise.iter().map(|(level, _)| (*level, Presence::Coming));
        let told: Vec<(u32, Presence)> = fallen.chain(risen).collect();
        let surprise = (random.below(self.levels()) as u32, all[random.below(4)]);
        for (level, presence) in told.into_iter().chain((random.below(3) == 0).then_some(surprise)) {
            self.selector.set_presence(level, presence);
            self.oracle.presence[level as usize] = presence;
        }
    }

    fn step(&mut self, random: &mut Random) -> Plan {
        self.change(random);
        let mut plan = self.selector.update(&self.sources, self.now, &self.limits).clone();
        plan.priorities.sort_unstable_by_key(|(level, _)| *level);
        plan.block.sort_unstable();
        assert_eq!(plan, self.oracle.update(&self.sources, self.now, &self.limits));
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

fn random_source(random: &mut Random) -> SourceInput {
    let position = if random.below(20) == 0 {
        Vec3::NAN
    } else {
        random.point(140.0)
    };
    let priority = random.unit() * 4.0;
    SourceInput { position, priority }
}

fn random_limits(random: &mut Random) -> SelectionLimits {
    let max_levels = if random.below(2) == 0 {
        usize::MAX
    } else {
        random.below(20)
    };
    SelectionLimits { max_levels }
}

#[test]
fn two_thousand_worlds_are_as_the_rule_says() {
    let mut random = Random(0x5EED_1234_5678_9ABC);
    let (mut dropped, mut changes, mut blocked, mut told) = (0, 0, 0, 0);
    for _ in 0..2000 {
        let mut pair = Pair::random(&mut random);
        for _ in 0..200 {
            let plan = pair.step(&mut random);
            dropped += plan.dropped;
            changes += plan.rise.len() + plan.fall.len();
            blocked += plan.block.len();
            told += plan.priorities.len();
        }
    }
    assert!(dropped > 10_000 && changes > 10_000 && blocked > 10_000 && told > 1_000);
}
