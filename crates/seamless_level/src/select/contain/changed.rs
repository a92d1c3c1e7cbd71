//! What points that need not look are told of volumes that were put in. See [`Containment`].

use super::{Containment, Place, Probe, ROUNDING, Region, TRUSTED};

/// When more volumes than this were put in, all points look: who looks is tested against a few, however many there are.
pub(super) const MOST_CHANGED: usize = 32;

impl Containment {
    /// Notes that a volume was put in, once. So many that all points look are not listed any further.
    pub(super) fn note_changed(&mut self, volume: u32) {
        if self.changed.len() <= MOST_CHANGED && !self.changed.contains(&volume) {
            self.changed.push(volume);
        }
    }

    /// Tests a point that is free against volumes that were put in since, and against nothing else: for all others it stays free. It
    /// is in none of these yet, for what was put in is in no point's list.
    ///
    /// The point is not where it looked, and its slack counts from there: who goes less far from there than what is free here, less
    /// the way from there to here, is still free. Where nothing is left of it, the point looks after all.
    pub(super) fn look_at_changed(&mut self, index: usize, probe: &Probe, changed: &[u32]) {
        let before = self.points.get(index).and_then(|point| point.probe);
        let moved = before.map_or(0.0, |before| probe.at.distance(before.at));
        let size = probe.size();
        for &volume in changed {
            let (Some(point), Some(Some(region))) = (self.points.get_mut(index), self.regions.get_mut(volume as usize))
            else {
                continue;
            };
            let gap = region.gap(probe, size);
            if gap > 0.0 {
                point.slack = point.slack.min(gap - moved);
                continue;
            }
            self.looked_at += 1;
            let Place { shape, range, margin } = &region.place;
            let (is_inside, is_near) = probe.test(shape, *range, *margin);
            point.slack = point.slack.min(region.slack(probe, size) - moved);
            if is_near {
                point.near.push((volume, is_inside));
                region.points.push(index as u32);
                self.enter(&[(volume, is_inside)], probe.asks);
            }
        }
        // Not even where it looked is all as it was then, should it come back there.
        if moved > 0.0 && self.points.get(index).is_some_and(|point| point.slack <= 0.0) {
            self.look(index, *probe);
        }
    }
}

impl Region {
    /// How far a point may go at least until it is in the box in which it may be near. More than zero only if it is not there, which
    /// is told with less work than how far the shape is.
    fn gap(&self, probe: &Probe, size: f32) -> f32 {
        let around = probe.around(self.place.farthest(), self.growth);
        let coarse = self.magnitude + size + around;
        if coarse.is_nan() || coarse > TRUSTED {
            return 0.0;
        }
        let beyond = (self.low - probe.at).max(probe.at - self.high).max_element();
        (beyond - around) * (1.0 - ROUNDING) - coarse * ROUNDING
    }
}
