//! Which volumes the sources are in, without asking twice. See [`Containment`].

mod changed;
#[cfg(test)]
mod tests;

use bevy_math::Vec3;

use self::changed::MOST_CHANGED;
use super::{
    grid::VolumeGrid,
    largest::Largest,
    probe::{Asks, Probe},
};
use crate::volume::VolumeShape;

/// The part of the numbers at hand that rounding may cost in a distance, with room to spare.
pub(super) const ROUNDING: f32 = 1e-5;
/// Beyond this, in world units, distances are not trusted.
const TRUSTED: f32 = 1e15;

/// Which volumes a set of points is in, and within the margins of.
///
/// Each point knows how far it may go until anything can change: distances to shapes change no faster than the point
/// moves, so the least of its distances to borders, to margins and to the walls of its cells is free to walk. A point at rest costs
/// one comparison; one that sees a sector looks again when it moves or turns. A volume that is put in is tested by itself against those
/// that need not look; of more than a few, all look. What is said is exact: it is what a test of each point against each volume would say.
#[derive(Debug, Default)]
pub(super) struct Containment {
    grid: VolumeGrid,
    regions: Vec<Option<Region>>,
    points: Vec<Point>,
    /// The largest distance from which any volume is to be reached, margins included.
    farthest: Largest,
    /// How much more than a reach any volume's box grows with it, at most.
    growth: Largest,
    /// The volumes that were put in since the last update, each once; some may be gone again, and of very many some are left out.
    changed: Vec<u32>,
    /// How often somebody began to look along ways.
    rounds: u64,
    touched: Vec<u32>,
    looked_at: u64,
    /// How often a point looked.
    looks: u64,
    /// Scratch.
    found: Vec<u32>,
}

/// A volume, as a place.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub shape: VolumeShape,
    /// From how far away it counts as entered.
    pub range: f32,
    pub margin: f32,
}

/// How many points are inside of a volume, and inside or within its margin.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub inside: u32,
    pub near: u32,
}

/// A volume's region.
#[derive(Debug)]
struct Region {
    place: Place,
    /// The box in which a point may be within the margin.
    low: Vec3,
    high: Vec3,
    /// The largest of its numbers: how coarse distances to it are.
    magnitude: f32,
    /// How far its box grows when the reach does.
    growth: f32,
    /// All points.
    all: Count,
    /// Those that may show levels.
    shows: Count,
    /// How many points are inside for which the frame waits.
    blocks: u32,
    is_touched: bool,
    /// The look that found it last, that of a point that was near before it, and that of one that is near after it.
    found_by: u64,
    left_by: u64,
    entered_by: u64,
    /// The points that are near.
    points: Vec<u32>,
    /// The ways that lead into it, and when somebody last looked along them.
    ways: Vec<u32>,
    /// Whether one does that sees it from its border, of all and of those that may show levels.
    is_ahead: [bool; 2],
    round: u64,
}

/// A probe, and where it was when it looked; one that is nowhere asks for nothing.
#[derive(Debug, Default)]
struct Point {
    probe: Option<Probe>,
    /// How far from there it need not look again.
    slack: f32,
    /// The volumes within whose margins it was, and whether it was inside.
    near: Vec<(u32, bool)>,
}

/// A way that somebody goes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Way {
    /// Whose.
    pub source: u32,
    pub start: Vec3,
    pub end: Vec3,
    /// Whether levels may be shown for it.
    pub shows: bool,
}

impl Region {
    fn new(place: Place) -> Self {
        let magnitude = place.shape.magnitude() + place.range;
        let reach = place.reach();
        let reach = reach + (magnitude + reach) * 2.0 * ROUNDING;
        let (low, high, growth) = place.shape.bounds_around(reach);
        // What has no inside as yet may have one for who sees further.
        Self {
            low: low.min(high),
            high: low.max(high),
            place,
            magnitude,
            all: Count::default(),
            shows: Count::default(),
            blocks: 0,
            is_touched: false,
            found_by: 0,
            left_by: 0,
            entered_by: 0,
            points: Vec::new(),
            ways: Vec::new(),
            is_ahead: [false; 2],
            round: 0,
            growth,
        }
    }
}

impl Place {
    /// How far from its shape it may matter, for a probe whose reach is one.
    fn reach(&self) -> f32 {
        self.range + self.margin.max(0.0)
    }

    /// The same where that grows with a probe's reach.
    fn farthest(&self) -> f32 {
        let reach = self.reach();
        if self.range > 0.0 && reach.is_finite() {
            reach
        } else {
            0.0
        }
    }
}

impl Containment {
    /// Puts a volume in, in place of what had its number. Who is in it is known after the next [`update`](Self::update).
    pub fn set(&mut self, volume: u32, place: Place) {
        self.remove(volume);
        let slot = volume as usize;
        if self.regions.len() <= slot {
            self.regions.resize_with(slot + 1, || None);
        }
        let region = Region::new(place);
        self.farthest.add(region.place.farthest());
        self.growth.add(region.growth);
        self.grid.insert(volume, region.low, region.high);
        if let Some(slot) = self.regions.get_mut(slot) {
            *slot = Some(region);
        }
        self.touch(volume);
        self.note_changed(volume);
    }

    /// Takes a volume out. No point need look: without it, each may go as far as with it at least.
    pub fn remove(&mut self, volume: u32) {
        let Some(region) = self.regions.get_mut(volume as usize).and_then(Option::take) else {
            return;
        };
        self.grid.remove(volume, region.low, region.high);
        self.farthest.remove(region.place.farthest());
        self.growth.remove(region.growth);
        for point in region.points {
            if let Some(point) = self.points.get_mut(point as usize) {
                point.near.retain(|(other, _)| *other != volume);
            }
        }
    }

    /// Moves the points, whose numbers must be finite. None is a point that is nowhere.
    pub fn update(&mut self, probes: impl Iterator<Item = Option<Probe>>) {
        let mut changed = core::mem::take(&mut self.changed);
        let all_look = changed.len() > MOST_CHANGED;
        let mut count = 0;
        for probe in probes {
            if count == self.points.len() {
                self.points.push(Point::default());
            }
            match (probe, self.points.get(count)) {
                (Some(probe), Some(point)) if all_look || !point.is_free(&probe) => self.look(count, probe),
                (Some(probe), Some(_)) if !changed.is_empty() => self.look_at_changed(count, &probe, &changed),
                (None, Some(point)) if point.probe.is_some() => self.vacate(count),
                _ => {}
            }
            count += 1;
        }
        while self.points.len() > count {
            self.vacate(self.points.len() - 1);
            self.points.pop();
        }
        changed.clear();
        self.changed = changed;
    }

    /// Begins to [look along](Self::look_along) ways: those of before lead nowhere.
    pub fn begin_ways(&mut self) {
        self.rounds += 1;
    }

    /// Finds the volumes that a way leads into, as `sees` says of them: whether it does, and whether they are seen from there. Those count as touched.
    pub fn look_along(&mut self, way: Way, sees: impl Fn(&VolumeShape) -> Option<bool>) {
        let size = way.start.abs().max_element() + (way.end - way.start).abs().max_element();
        let around = size * ROUNDING;
        self.grid.look_along(way.start, way.end, around, &mut self.found);
        let (low, high) = (way.start.min(way.end) - around, way.start.max(way.end) + around);
        self.looks += 1;
        let found = core::mem::take(&mut self.found);
        for &volume in &found {
            let Some(Some(region)) = self.regions.get_mut(volume as usize) else {
                continue;
            };
            if core::mem::replace(&mut region.found_by, self.looks) == self.looks {
                continue;
            }
            // Written so that a box that is none is looked into.
            if region.low.cmpgt(high).any() || region.high.cmplt(low).any() {
                continue;
            }
            self.looked_at += 1;
            let Some(is_seen) = sees(&region.place.shape) else {
                continue;
            };
            region.lead(&way, is_seen, self.rounds);
            if is_seen {
                self.touch(volume);
            }
        }
        self.found = found;
    }

    /// The points that are near a volume; none where that is not known, since volumes were put in.
    pub fn points(&self, volume: u32) -> Option<&[u32]> {
        let points = || self.region(volume).map_or(&[][..], |region| &region.points);
        self.changed.is_empty().then(points)
    }

    /// The sources whose ways lead into a volume, in the same manner.
    pub fn ways(&self, volume: u32) -> Option<&[u32]> {
        let ways = || self.with_ways(volume).map_or(&[][..], |region| &region.ways);
        self.changed.is_empty().then(ways)
    }

    /// Whether a way leads into a volume that is seen from there: any, and any for which levels may be shown.
    pub fn is_ahead(&self, volume: u32) -> [bool; 2] {
        self.with_ways(volume).map_or([false; 2], |region| region.is_ahead)
    }

    fn with_ways(&self, volume: u32) -> Option<&Region> {
        self.region(volume).filter(|region| region.round == self.rounds)
    }

    /// The volumes that points may have entered or left, or to which a way leads; one that was put in anew may be there twice.
    pub fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// Begins to note anew.
    pub fn clear_touched(&mut self) {
        for volume in self.touched.drain(..) {
            if let Some(Some(region)) = self.regions.get_mut(volume as usize) {
                region.is_touched = false;
            }
        }
    }

    /// How many points are in a volume: of all, and of those that may show levels.
    pub fn count(&self, volume: u32) -> (Count, Count) {
        self.region(volume)
            .map_or_else(Default::default, |region| (region.all, region.shows))
    }

    /// Whether a point is inside a volume for which the frame waits.
    pub fn blocks(&self, volume: u32) -> bool {
        self.region(volume).is_some_and(|region| region.blocks > 0)
    }

    /// The volumes that a point is in, or within the margins of.
    pub fn near(&self, point: usize) -> impl Iterator<Item = u32> {
        let near = self.points.get(point).map_or(&[][..], |point| &point.near);
        near.iter().map(|(volume, _)| *volume)
    }

    /// How often a volume was tested against a point, ever.
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }

    fn region(&self, volume: u32) -> Option<&Region> {
        self.regions.get(volume as usize)?.as_ref()
    }

    /// Tests a point against all that may be there.
    fn look(&mut self, index: usize, probe: Probe) {
        let Some(point) = self.points.get_mut(index) else {
            return;
        };
        let mut near = core::mem::take(&mut point.near);
        let asked = point.probe;
        // What it is in counts twice for a moment, so that nothing is left that is not.
        let left = near.len();
        let size = probe.size();
        let mut slack = self.find(&probe, size);
        let found = core::mem::take(&mut self.found);
        self.looks += 1;
        for &(volume, _) in &near {
            if let Some(Some(region)) = self.regions.get_mut(volume as usize) {
                region.left_by = self.looks;
            }
        }
        for &volume in &found {
            let Some(Some(region)) = self.regions.get_mut(volume as usize) else {
                continue;
            };
            // A volume lies in several cells.
            if core::mem::replace(&mut region.found_by, self.looks) == self.looks {
                continue;
            }
            self.looked_at += 1;
            let Place { shape, range, margin } = &region.place;
            let (is_inside, is_near) = probe.test(shape, *range, *margin);
            slack = slack.min(region.slack(&probe, size));
            if is_near {
                near.push((volume, is_inside));
                region.enter(index as u32, self.looks);
            }
        }
        self.found = found;
        if let (Some(gone), Some(new)) = (near.get(..left), near.get(left..)) {
            self.enter(new, probe.asks);
            if let Some(asked) = asked {
                self.leave(gone, asked.asks, index as u32);
            }
        }
        near.drain(..left);
        if let Some(point) = self.points.get_mut(index) {
            let probe = Some(probe);
            *point = Point { probe, slack, near };
        }
    }

    /// A point is nowhere from now on.
    fn vacate(&mut self, index: usize) {
        let Some(point) = self.points.get_mut(index) else {
            return;
        };
        let Some(probe) = point.probe.take() else {
            return;
        };
        let mut near = core::mem::take(&mut point.near);
        // None of these is near after this look.
        self.looks += 1;
        self.leave(&near, probe.asks, index as u32);
        near.clear();
        if let Some(point) = self.points.get_mut(index) {
            point.near = near;
        }
    }

    /// Lists all volumes that a point may be in, some of them twice; how far it may go until they are others.
    fn find(&mut self, probe: &Probe, size: f32) -> f32 {
        let around = probe.around(self.farthest.get(), self.growth.get());
        let free = self.grid.look(probe.at, around, &mut self.found);
        // Without an end it stays so, whatever is taken off.
        if free.is_finite() {
            free - (size + around) * ROUNDING
        } else {
            free
        }
    }

    fn enter(&mut self, near: &[(u32, bool)], asks: Asks) {
        self.change(near, asks, |count, by| *count += by);
    }

    /// A point leaves what it was near before this look.
    fn leave(&mut self, near: &[(u32, bool)], asks: Asks, point: u32) {
        self.change(near, asks, |count, by| *count -= by);
        for &(volume, _) in near {
            if let Some(Some(region)) = self.regions.get_mut(volume as usize) {
                region.leave(point, self.looks);
            }
        }
    }

    fn change(&mut self, near: &[(u32, bool)], asks: Asks, change: impl Fn(&mut u32, u32)) {
        for &(volume, is_inside) in near {
            if let Some(Some(region)) = self.regions.get_mut(volume as usize) {
                let inside = u32::from(is_inside);
                change(&mut region.all.near, 1);
                change(&mut region.all.inside, inside);
                if asks.shows {
                    change(&mut region.shows.near, 1);
                    change(&mut region.shows.inside, inside);
                }
                if asks.blocks {
                    change(&mut region.blocks, inside);
                }
            }
            self.touch(volume);
        }
    }

    fn touch(&mut self, volume: u32) {
        if let Some(Some(region)) = self.regions.get_mut(volume as usize)
            && !core::mem::replace(&mut region.is_touched, true)
        {
            self.touched.push(volume);
        }
    }
}

impl Region {
    /// A point is near after this look.
    fn enter(&mut self, point: u32, look: u64) {
        self.entered_by = look;
        if self.left_by != look {
            self.points.push(point);
        }
    }

    /// A point was near before this look.
    fn leave(&mut self, point: u32, look: u64) {
        if self.entered_by != look
            && let Some(place) = self.points.iter().position(|other| *other == point)
        {
            self.points.swap_remove(place);
        }
    }

    /// A way leads into it, and it is seen from there, or not.
    fn lead(&mut self, way: &Way, is_seen: bool, round: u64) {
        if core::mem::replace(&mut self.round, round) != round {
            self.ways.clear();
            self.is_ahead = [false; 2];
        }
        self.ways.push(way.source);
        let [any, showing] = &mut self.is_ahead;
        *any |= is_seen;
        *showing |= is_seen && way.shows;
    }

    /// How far a point may go until it is inside or outside of the border or of the margin.
    fn slack(&self, probe: &Probe, size: f32) -> f32 {
        let Place { shape, range, margin } = &self.place;
        let reach = range * probe.reach;
        let coarse = self.magnitude + size + reach;
        if coarse.is_nan() || coarse > TRUSTED {
            return 0.0;
        }
        let distance = probe.distance(shape, *range);
        let free = distance.abs().min((distance - probe.margin(*margin, *range)).abs());
        free * (1.0 - ROUNDING) - coarse * ROUNDING
    }
}

impl Point {
    /// Whether nothing can have changed for `probe`.
    fn is_free(&self, probe: &Probe) -> bool {
        // One that is new has not looked, wherever it is.
        let Some(before) = self.probe else { return false };
        let moved = Probe { at: probe.at, ..before };
        let may_move = probe.sector.is_none() && moved == *probe && probe.at.distance(before.at) < self.slack;
        before == *probe || may_move
    }
}
