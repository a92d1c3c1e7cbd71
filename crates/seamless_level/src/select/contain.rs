//! Which volumes the sources are in, without asking twice. See [`Containment`].

#[cfg(test)]
mod tests;

use bevy_math::Vec3;

use super::grid::VolumeGrid;
use crate::volume::VolumeShape;

/// The part of the numbers at hand that rounding may cost in a distance, with room to spare.
const ROUNDING: f32 = 1e-5;
/// Beyond this, in world units, distances are not trusted.
const TRUSTED: f32 = 1e15;

/// Which volumes a set of points is in, and within the margins of.
///
/// Each point knows how far it may go until anything can change: distances to shapes change no faster than the point
/// moves, so the least of its distances to borders, to margins and to the walls of its cells is free to walk. A point at rest costs
/// one comparison. What is said is exact: it is what a test of each point against each volume would say.
#[derive(Debug, Default)]
pub(super) struct Containment {
    grid: VolumeGrid,
    regions: Vec<Option<Region>>,
    probes: Vec<Probe>,
    /// Whether volumes changed since the probes looked.
    is_stale: bool,
    touched: Vec<u32>,
    looked_at: u64,
    /// Scratch.
    found: Vec<u32>,
}

/// A volume's region.
#[derive(Debug)]
struct Region {
    shape: VolumeShape,
    margin: f32,
    /// The box in which a point may be within the margin.
    low: Vec3,
    high: Vec3,
    /// The largest of its numbers: how coarse distances to it are.
    magnitude: f32,
    inside: u32,
    near: u32,
    is_touched: bool,
}

/// A point.
#[derive(Debug)]
struct Probe {
    /// Where it looked.
    at: Vec3,
    /// How far from there it need not look again.
    slack: f32,
    /// The volumes within whose margins it was, and whether it was inside.
    near: Vec<(u32, bool)>,
}

impl Region {
    fn new(shape: VolumeShape, margin: f32) -> Self {
        let (low, high) = shape.bounds();
        let magnitude = shape.magnitude();
        let reach = margin.max(0.0);
        let reach = Vec3::splat(reach + (magnitude + reach) * 2.0 * ROUNDING);
        Self {
            low: low - reach,
            high: high + reach,
            shape,
            margin,
            magnitude,
            inside: 0,
            near: 0,
            is_touched: false,
        }
    }
}

impl Containment {
    /// Puts a volume in, in place of what had its number. Who is in it is known after the next [`update`](Self::update).
    pub fn set(&mut self, volume: u32, shape: VolumeShape, margin: f32) {
        self.remove(volume);
        let place = volume as usize;
        if self.regions.len() <= place {
            self.regions.resize_with(place + 1, || None);
        }
        let region = Region::new(shape, margin);
        self.grid.insert(volume, region.low, region.high);
        if let Some(slot) = self.regions.get_mut(place) {
            *slot = Some(region);
        }
        self.touch(volume);
        self.is_stale = true;
    }

    /// Takes a volume out.
    pub fn remove(&mut self, volume: u32) {
        let Some(region) = self.regions.get_mut(volume as usize).and_then(Option::take) else {
            return;
        };
        self.grid.remove(volume, region.low, region.high);
        if region.near > 0 {
            for probe in &mut self.probes {
                probe.near.retain(|(other, _)| *other != volume);
            }
        }
    }

    /// Moves the points, which must be finite.
    pub fn update(&mut self, points: impl Iterator<Item = Vec3>) {
        let is_stale = core::mem::take(&mut self.is_stale);
        let mut count = 0;
        for point in points {
            if count == self.probes.len() {
                self.probes.push(Probe {
                    at: point,
                    slack: f32::NEG_INFINITY,
                    near: Vec::new(),
                });
            }
            if let Some(probe) = self.probes.get(count)
                && (is_stale || !probe.is_free(point))
            {
                self.look(count, point);
            }
            count += 1;
        }
        while self.probes.len() > count {
            if let Some(probe) = self.probes.pop() {
                self.leave(&probe.near);
            }
        }
    }

    /// The volumes that points may have entered or left; one that was put in anew may be there twice.
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

    /// Whether a point is inside a volume.
    pub fn is_inside(&self, volume: u32) -> bool {
        self.region(volume).is_some_and(|region| region.inside > 0)
    }

    /// Whether a point is inside a volume or within its margin.
    pub fn is_near(&self, volume: u32) -> bool {
        self.region(volume).is_some_and(|region| region.near > 0)
    }

    /// How often a volume was tested against a point, ever.
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }

    fn region(&self, volume: u32) -> Option<&Region> {
        self.regions.get(volume as usize)?.as_ref()
    }

    /// Tests a point against all that may be there.
    fn look(&mut self, index: usize, point: Vec3) {
        let Some(probe) = self.probes.get_mut(index) else {
            return;
        };
        let mut near = core::mem::take(&mut probe.near);
        // What it is in counts twice for a moment, so that nothing is left that is not.
        let left = near.len();
        let mut found = core::mem::take(&mut self.found);
        let mut slack = self.grid.look(point, &mut found);
        let size = point.abs().max_element();
        slack -= size * ROUNDING;
        for &volume in &found {
            let Some(Some(region)) = self.regions.get(volume as usize) else {
                continue;
            };
            self.looked_at += 1;
            let distance = region.shape.signed_distance(point);
            slack = slack.min(region.slack(distance, size));
            let is_inside = distance <= 0.0;
            if is_inside || distance <= region.margin {
                near.push((volume, is_inside));
            }
        }
        self.found = found;
        if let (Some(gone), Some(new)) = (near.get(..left), near.get(left..)) {
            self.enter(new);
            self.leave(gone);
        }
        near.drain(..left);
        if let Some(probe) = self.probes.get_mut(index) {
            *probe = Probe { at: point, slack, near };
        }
    }

    fn enter(&mut self, near: &[(u32, bool)]) {
        for &(volume, is_inside) in near {
            if let Some(Some(region)) = self.regions.get_mut(volume as usize) {
                region.near += 1;
                region.inside += u32::from(is_inside);
            }
            self.touch(volume);
        }
    }

    fn leave(&mut self, near: &[(u32, bool)]) {
        for &(volume, is_inside) in near {
            if let Some(Some(region)) = self.regions.get_mut(volume as usize) {
                region.near -= 1;
                region.inside -= u32::from(is_inside);
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
    /// How far a point at this distance may go until it is inside or outside of the border or of the margin.
    fn slack(&self, distance: f32, size: f32) -> f32 {
        let coarse = self.magnitude + size;
        if coarse.is_nan() || coarse > TRUSTED {
            return 0.0;
        }
        let free = distance.abs().min((distance - self.margin).abs());
        free * (1.0 - ROUNDING) - coarse * ROUNDING
    }
}

impl Probe {
    /// Whether nothing can have changed at `point`.
    fn is_free(&self, point: Vec3) -> bool {
        // A probe that is new has not looked, wherever it is.
        self.slack > f32::NEG_INFINITY && (point == self.at || point.distance(self.at) < self.slack)
    }
}
