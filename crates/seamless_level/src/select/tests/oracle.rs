//! The rule once more, written plainly: every volume is tested against every source, every level is looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{requests::RequestKind, select::probe::seen_along};

/// A volume, and how it stands with it.
pub(super) struct Tested {
    pub input: VolumeInput,
    all: On,
    showing: On,
}

/// Whether a volume is on, and until when it lingers.
#[derive(Default)]
struct On {
    is_on: bool,
    until: Option<f64>,
}

/// The brute force.
#[derive(Default)]
pub(super) struct Oracle {
    pub volumes: BTreeMap<u32, Tested>,
    /// Requests of the app: level, kind, priority.
    pub requests: BTreeMap<u32, (u32, RequestKind, f32)>,
    pub levels: Vec<LevelInput>,
    pub presence: Vec<Presence>,
    pub targets: Vec<LevelTarget>,
    pub told: Vec<f32>,
    /// Levels that are there, and have become essential since that was told, or are so no more; with what that is to be told by.
    pub turned: BTreeMap<u32, f32>,
    /// Levels that are left out whatever the caps say.
    pub out: BTreeSet<u32>,
    /// The axes that count for arrivals.
    pub arrival_axes: BVec3,
}

impl On {
    fn step(&mut self, tests: &[(bool, bool)], delay: f64, now: f64) {
        let is_inside = tests.iter().any(|(is_inside, _)| *is_inside);
        let is_near = tests.iter().any(|(_, is_near)| *is_near);
        if !self.is_on {
            self.is_on = is_inside;
        } else if is_near {
            self.until = None;
        } else if let Some(until) = self.until {
            self.is_on = now < until;
        } else if delay > 0.0 {
            self.until = Some(now + delay);
        } else {
            self.is_on = false;
        }
        if !self.is_on {
            self.until = None;
        }
    }
}

/// Where a source asks, and when.
fn points(source: &SourceInput) -> Vec<(f32, Vec3)> {
    let way = source.velocity * source.ahead;
    let mut points = vec![(0.0, source.position)];
    if source.ahead > 0.0 && way.length() >= 1.0 {
        points.extend([1.0 / 3.0, 2.0 / 3.0, 1.0].map(|part| (source.ahead * part, source.position + way * part)));
    }
    points
}

/// Whether a source at a point is inside of a volume, and whether it is so or within the margin.
pub(super) fn test(source: &SourceInput, point: Vec3, volume: &VolumeInput) -> (bool, bool) {
    let reach = source.reach.max(0.0);
    let radius = match source.shape {
        SourceShape::Point => 0.0,
        SourceShape::Sphere { radius } | SourceShape::Sector { radius, .. } => radius.max(0.0),
    };
    let distance = volume.shape.signed_distance(point) - (radius + volume.range * reach);
    let margin = volume.unload_margin * if volume.range > 0.0 { reach } else { 1.0 };
    let (is_inside, is_near) = (distance <= 0.0, distance <= 0.0 || distance <= margin);
    let (SourceShape::Sector { half_angle, .. }, Some(look)) = (source.shape, source.look) else {
        return (is_inside, is_near);
    };
    let looks_at = |wider: f32| {
        let Some((look, half_angle)) = seen_along(look, half_angle.max(0.0), volume.shape.endless()) else {
            return true;
        };
        let to_middle = volume.shape.center_offset(point);
        let (size, far) = (volume.shape.bounding_radius(), to_middle.length());
        if far.is_nan() || far <= size || far.is_infinite() {
            return true;
        }
        let angle = (look.dot(to_middle) / far).clamp(-1.0, 1.0).acos();
        angle - (size / far).asin() <= half_angle + wider
    };
    (is_inside && looks_at(0.0), is_near && looks_at(0.17))
}

/// Whether a source comes into a volume as soon as it looks ahead, and sees it from the border.
fn is_on_its_way(source: &SourceInput, volume: &VolumeInput) -> bool {
    let looks_ahead = points(source).len() > 1;
    let entry = volume.shape.entry_time(source.position, source.velocity);
    let Some(time) = entry.filter(|time| looks_ahead && *time <= source.ahead) else {
        return false;
    };
    let border = source.position + source.velocity * time;
    let all_around = VolumeInput {
        unload_margin: f32::INFINITY,
        ..volume.clone()
    };
    // Beyond all margins only the angle counts.
    let present = SourceInput { reach: 1.0, ..*source };
    test(&present, border, &all_around).1
}

impl Tested {
    pub fn new(input: VolumeInput) -> Self {
        Self {
            input,
            all: On::default(),
            showing: On::default(),
        }
    }

    fn step(&mut self, sources: &[SourceInput], now: f64) {
        let (mut all, mut showing) = (Vec::new(), Vec::new());
        for source in sources {
            let leads_into = is_on_its_way(source, &self.input);
            let on_its_way = (leads_into, leads_into);
            all.push(on_its_way);
            showing.extend((source.target == LevelTarget::Visible).then_some(on_its_way));
            for (_, at) in points(source) {
                let tested = test(source, at, &self.input);
                all.push(tested);
                showing.extend((source.target == LevelTarget::Visible).then_some(tested));
            }
        }
        let delay = f64::from(self.input.unload_delay);
        self.all.step(&all, delay, now);
        self.showing.step(&showing, delay, now);
    }

    pub fn asks(&self) -> Option<RequestKind> {
        if self.showing.is_on {
            Some(self.input.mode.request())
        } else {
            (self.all.is_on && self.input.mode != VolumeMode::ShowIfLoaded).then_some(RequestKind::Load)
        }
    }

    fn score(&self, source: &SourceInput) -> f32 {
        let waits = source.is_present && source.may_block && source.target == LevelTarget::Visible;
        if self.input.mode == VolumeMode::BlockUntilLoaded && waits && test(source, source.position, &self.input).0 {
            return 2e7;
        }
        let importance = (source.priority * self.input.priority).clamp(0.0, MAX_SOURCE_PRIORITY);
        let is_half = self.input.mode == VolumeMode::Load || source.target == LevelTarget::Loaded;
        let weight = if is_half { 0.5 } else { 1.0 };
        let mut best = 0.0_f32;
        let mut points = points(source);
        let looks_ahead = points.len() > 1;
        points.retain(|(_, at)| test(source, *at, &self.input).1);
        let entry = self.input.shape.entry_time(source.position, source.velocity);
        let entry = entry.filter(|time| looks_ahead && *time <= source.ahead);
        points.extend(entry.map(|time| (time, source.position + source.velocity * time)));
        for (time, at) in points {
            let shape = &self.input.shape;
            let mut distance = shape.signed_distance(at).max(0.0) + shape.center_distance(at) * 0.1;
            if let Some(look) = source.look
                && source.look_weight > 0.0
            {
                let cos = (look.dot(shape.center_offset(at)) / shape.center_distance(at)).clamp(-1.0, 1.0);
                if !cos.is_nan() {
                    distance *= 1.0 + source.look_weight * (1.0 - cos) * 0.5;
                }
            }
            best = best.max(importance * weight / ((1.0 + distance) * (1.0 + time)));
        }
        best
    }
}

impl Oracle {
    /// The requests for a level, with how urgent each is.
    fn asking(&self, level: u32, sources: &[SourceInput]) -> Vec<(RequestKind, f32)> {
        let always = self.levels[level as usize].always_loaded;
        let always = always.then_some((RequestKind::Show, ALWAYS_PRIORITY));
        let of_app = self.requests.values().filter(|request| request.0 == level);
        let of_volumes = self
            .volumes
            .values()
            .filter(|volume| volume.input.levels.contains(&level));
        always
            .into_iter()
            .chain(of_app.map(|(_, kind, priority)| match kind {
                RequestKind::Hide => (*kind, 0.0),
                _ => (*kind, *priority),
            }))
            .chain(of_volumes.filter_map(|volume| {
                let kind = volume.asks()?;
                let scores = sources.iter().map(|source| volume.score(source));
                Some((kind, scores.fold(0.0, f32::max)))
            }))
            .collect()
    }

    fn target(asking: &[(RequestKind, f32)]) -> LevelTarget {
        let has = |kind| asking.iter().any(|(other, _)| *other == kind);
        let shown = if has(RequestKind::Hide) {
            LevelTarget::Loaded
        } else {
            LevelTarget::Visible
        };
        match (has(RequestKind::Ban), has(RequestKind::Show), has(RequestKind::Load)) {
            (true, ..) => LevelTarget::Unloaded,
            (_, true, _) => shown,
            (_, _, true) if has(RequestKind::ShowIfLoaded) => shown,
            (_, _, true) => LevelTarget::Loaded,
            _ => LevelTarget::Unloaded,
        }
    }

    /// How urgent each level is at the cap, where those who are not there hardly count.
    fn ranks(&self, sources: &[SourceInput]) -> Vec<f32> {
        let mut sources = sources.to_vec();
        for source in sources.iter_mut().filter(|source| !source.is_present) {
            source.priority = source.priority.min(1.0) * 1e-6;
        }
        let rank = |level| {
            let asking = self.asking(level, &sources);
            asking.iter().map(|(_, priority)| *priority).fold(0.0, f32::max)
        };
        (0..self.targets.len() as u32).map(rank).collect()
    }

    pub fn update(&mut self, sources: &[SourceInput], now: f64, limits: &SelectionLimits) -> Plan {
        let sources = usable(sources);
        self.volumes.values_mut().for_each(|volume| volume.step(&sources, now));
        let asking: Vec<_> = (0..self.targets.len() as u32)
            .map(|level| self.asking(level, &sources))
            .collect();
        let urgency = |level: usize| asking[level].iter().map(|(_, priority)| *priority).fold(0.0, f32::max);
        let ranks = self.ranks(&sources);
        let mut targets: Vec<LevelTarget> = asking.iter().map(|asking| Self::target(asking)).collect();
        let mut ranked: Vec<(f32, usize)> = (0..targets.len())
            .filter(|level| targets[*level] != LevelTarget::Unloaded && self.presence[*level] != Presence::Failed)
            .map(|level| {
                let is_there = self.targets[level] != LevelTarget::Unloaded;
                let rank = ranks[level] * if is_there { 1.25 } else { 1.0 };
                let is_essential = ranks[level] >= EXPLICIT_PRIORITY;
                (if is_essential { rank } else { rank.min(9.999_999e6) }, level)
            })
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let (mut levels, mut bytes) = (0, 0_u64);
        let mut cut = Vec::new();
        let is_out = |level: usize| self.out.contains(&(level as u32));
        let ordinary = |(rank, level): &&(f32, usize)| *rank < EXPLICIT_PRIORITY && !is_out(*level);
        let first = ranked.iter().find(ordinary);
        let first = first.map(|(_, level)| *level);
        for (rank, level) in ranked {
            let is_ground = (2e7..ALWAYS_PRIORITY).contains(&rank);
            let more = bytes.saturating_add(self.levels[level].bytes);
            let has_room = more <= limits.room || Some(level) == first || rank >= EXPLICIT_PRIORITY;
            let is_out = is_out(level) && rank < EXPLICIT_PRIORITY;
            let fits = levels < limits.max_levels && more <= limits.max_bytes && has_room && !is_out;
            if fits || is_ground {
                (levels, bytes) = (levels + 1, more);
            } else {
                cut.push(level);
            }
        }
        cut.iter().for_each(|level| targets[*level] = LevelTarget::Unloaded);
        let mut plan = Plan {
            dropped: cut.len(),
            ..Plan::default()
        };
        let mut risen = Vec::new();
        self.turned.clear();
        for (level, &target) in targets.iter().enumerate() {
            match target.cmp(&self.targets[level]) {
                std::cmp::Ordering::Greater => {
                    risen.push((urgency(level), level));
                    self.told[level] = urgency(level);
                }
                std::cmp::Ordering::Less => {
                    plan.fall.push((level as u32, target));
                    let has_failed = matches!(self.presence[level], Presence::Failed | Presence::Waiting);
                    if target == LevelTarget::Unloaded && has_failed {
                        self.presence[level] = Presence::Away;
                    }
                }
                std::cmp::Ordering::Equal => {
                    let is_essential = |priority: f32| priority >= EXPLICIT_PRIORITY;
                    let has_turned = is_essential(self.told[level]) != is_essential(urgency(level));
                    if self.presence[level] == Presence::There && has_turned {
                        self.turned.insert(level as u32, urgency(level));
                    }
                }
            }
            let changed = (urgency(level) - self.told[level]).abs() > self.told[level].abs() * 0.1;
            if matches!(self.presence[level], Presence::Coming | Presence::Held) && changed {
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
        plan.block = self.blocking(&sources, &plan.rise);
        plan
    }

    fn blocking(&self, sources: &[SourceInput], rise: &[(u32, LevelTarget)]) -> Vec<u32> {
        let holds = |volume: &&Tested| {
            let waits =
                |source: &SourceInput| source.is_present && source.may_block && source.target == LevelTarget::Visible;
            let is_in = |source: &SourceInput| test(source, source.position, &volume.input).0;
            let mut sources = sources.iter();
            volume.input.mode == VolumeMode::BlockUntilLoaded && sources.any(|source| waits(source) && is_in(source))
        };
        let listed = self
            .volumes
            .values()
            .filter(holds)
            .flat_map(|volume| &volume.input.levels);
        let mut levels: Vec<u32> = listed
            .copied()
            .filter(|level| self.is_missing(*level as usize) || self.is_shown_next(*level, rise))
            .collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    fn is_shown_next(&self, level: u32, rise: &[(u32, LevelTarget)]) -> bool {
        rise.contains(&(level, LevelTarget::Visible))
            && matches!(self.presence[level as usize], Presence::There | Presence::Held)
    }

    fn is_missing(&self, level: usize) -> bool {
        self.targets.get(level) == Some(&LevelTarget::Visible)
            && matches!(self.presence[level], Presence::Away | Presence::Coming)
    }
}

/// What is to be said of an arrival: whoever is said to arrive does, and nobody does before.
impl Oracle {
    pub fn check_arrival(&self, random: &mut Random, sources: &[SourceInput], plan: &Plan) {
        let rises = |level: usize| plan.rise.iter().any(|(other, _)| *other as usize == level);
        let is_coming =
            |level: &usize| self.is_missing(*level) && (self.presence[*level] == Presence::Coming || rises(*level));
        let regions: Vec<VolumeShape> = (0..self.levels.len())
            .filter(is_coming)
            .flat_map(|level| self.regions(level))
            .collect();
        let sources = usable(sources);
        let viewers = sources
            .iter()
            .filter(|source| source.is_present && source.target == LevelTarget::Visible);
        let pairs: Vec<_> = viewers
            .flat_map(|source| regions.iter().map(move |region| (source, region)))
            .collect();
        let nearest = |time: f32| {
            let distances = pairs
                .iter()
                .map(|(source, region)| region.signed_distance(source.position + source.velocity * time));
            distances.fold(f32::INFINITY, f32::min)
        };
        if let Some(arrival) = plan.arrival {
            assert!(nearest(arrival) < 1.0, "nobody is there after {arrival} s");
        }
        for _ in 0..5 {
            let time = plan.arrival.unwrap_or(60.0) * random.unit();
            assert!(
                plan.arrival == Some(0.0) || nearest(time) > -0.1,
                "somebody is there after {time} s, not {:?}",
                plan.arrival
            );
        }
    }

    /// Where a level is to be seen.
    fn regions(&self, level: usize) -> Vec<VolumeShape> {
        if let Some((min, max)) = self.levels[level].bounds {
            if !self.arrival_axes.any() {
                return vec![];
            }
            // Far above and below all that is here, and no further than numbers can tell.
            let far = Vec3::select(self.arrival_axes, Vec3::ZERO, Vec3::splat(3e4));
            let (min, max) = (min - far, max + far);
            return vec![VolumeShape::Box { min, max }];
        }
        let volumes = self.volumes.values().filter(|volume| volume.asks().is_some());
        let of_level = volumes.filter(|volume| volume.input.levels.contains(&(level as u32)));
        of_level.map(|volume| volume.input.shape.clone()).collect()
    }
}

/// Those that ask for anything, and whose numbers are such.
pub(super) fn usable(sources: &[SourceInput]) -> Vec<SourceInput> {
    let asks = |source: &&SourceInput| source.position.is_finite() && source.target != LevelTarget::Unloaded;
    sources.iter().filter(asks).copied().collect()
}
