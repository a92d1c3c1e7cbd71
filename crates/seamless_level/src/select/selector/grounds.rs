//! Where levels are by their bounds. See [`Grounds`].

use bevy_math::{BVec3, Vec3};

use super::Selector;
use crate::{select::grid::VolumeGrid, settings::ARRIVAL_AXES, volume::VolumeShape};

/// Around what is to be seen of a level.
pub(super) type Bounds = (Vec3, Vec3);

/// The bounds of levels by place, as far as axes count.
#[derive(Debug)]
pub(super) struct Grounds {
    axes: BVec3,
    grid: VolumeGrid,
}

impl Default for Grounds {
    fn default() -> Self {
        Self {
            axes: ARRIVAL_AXES,
            grid: VolumeGrid::default(),
        }
    }
}

impl Grounds {
    /// Where somebody is in a level of these bounds.
    pub fn region(&self, bounds: Bounds) -> VolumeShape {
        VolumeShape::box_along(self.axes, bounds)
    }

    /// A level has other bounds now.
    pub fn change(&mut self, level: u32, was: Option<Bounds>, is: Option<Bounds>) {
        if let Some(bounds) = was {
            let (low, high) = self.region(bounds).bounds();
            self.grid.remove(level, low, high);
        }
        if let Some(bounds) = is {
            let (low, high) = self.region(bounds).bounds();
            self.grid.insert(level, low, high);
        }
    }
}

impl Selector {
    /// The axes along which somebody has to be within the bounds of a level to be [in it](Self::at), and to [arrive](crate::select::Plan::arrival) there:
    /// [`LevelSettings::arrival_axes`](crate::LevelSettings::arrival_axes).
    pub fn set_arrival_axes(&mut self, axes: BVec3) {
        if self.grounds.axes == axes {
            return;
        }
        self.grounds = Grounds {
            axes,
            ..Grounds::default()
        };
        for (level, slot) in (0..).zip(&self.levels) {
            self.grounds.change(level, None, slot.bounds);
        }
        self.has_changed = true;
    }

    /// The levels within whose bounds a point is, in the order of their indices. Those without bounds are nowhere.
    #[must_use]
    pub fn at(&self, point: Vec3) -> Vec<u32> {
        let mut found = Vec::new();
        self.grounds.grid.look(point, 0.0, &mut found);
        found.retain(|level| self.is_at(*level, point));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a point is within a level's bounds.
    #[must_use]
    pub fn is_at(&self, level: u32, point: Vec3) -> bool {
        let bounds = self.level(level).and_then(|slot| slot.bounds);
        bounds.is_some_and(|bounds| self.grounds.region(bounds).contains(point))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{random::Random, select::LevelInput};

    fn random_bounds(random: &mut Random) -> Option<Bounds> {
        let size = [1.0, 30.0, 500.0][random.below(3)];
        let (one, other) = (random.point(1000.0), random.point(size));
        (random.below(8) > 0).then(|| (one.min(one + other), one.max(one + other)))
    }

    /// Against each level's bounds, while levels come, take the place of others, and other axes count.
    #[test]
    fn who_is_at_a_place_is_found() {
        let mut random = Random(0x6_0D5);
        let mut met = 0;
        for _ in 0..60 {
            let level = |bounds| LevelInput {
                bounds,
                ..LevelInput::default()
            };
            let mut bounds: Vec<_> = (0..random.below(40)).map(|_| random_bounds(&mut random)).collect();
            let levels: Vec<_> = bounds.iter().copied().map(level).collect();
            let mut selector = Selector::new(&levels);
            let mut axes = ARRIVAL_AXES;
            for _ in 0..60 {
                match random.below(12) {
                    0 => {
                        bounds.push(random_bounds(&mut random));
                        selector.add_level(&level(bounds[bounds.len() - 1]));
                    }
                    1 if !bounds.is_empty() => {
                        let place = random.below(bounds.len());
                        bounds[place] = random_bounds(&mut random);
                        selector.replace_level(place as u32, &level(bounds[place]));
                    }
                    2 => {
                        axes = BVec3::from_array([0; 3].map(|_| random.below(2) == 0));
                        selector.set_arrival_axes(axes);
                    }
                    _ => {}
                }
                let point = random.point(1100.0);
                let holds = |&(min, max): &Bounds| {
                    let is_within = point.cmpge(min) & point.cmple(max);
                    (is_within | !axes).all() && axes.any()
                };
                let expected: Vec<u32> = (0..)
                    .zip(&bounds)
                    .filter(|(_, bounds)| bounds.as_ref().is_some_and(holds))
                    .map(|(level, _)| level)
                    .collect();
                met += expected.len();
                assert_eq!(selector.at(point), expected, "{point} by {axes}");
            }
        }
        assert!(met > 500, "{met}");
    }
}
