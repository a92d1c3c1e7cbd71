//! Which levels load together, as far as volumes tell. See [`Together`].

use std::collections::{BTreeMap, BTreeSet};

use bevy::math::Vec3;
use seamless_level::VolumeMode;

use crate::bounds::{self, Bounds};
use crate::plan::{PlannedInstance, PlannedLevel, WorldPlan};

/// A part of a whole, in so many parts: whole numbers, because the same world gives the same packages on every machine.
pub(crate) const ONE: u64 = 1 << 16;
/// The most levels of a set that are looked at; the others are taken to be like them.
const SAMPLES: usize = 64;

/// Where and when levels are loaded.
pub(crate) struct Together {
    levels: Vec<LevelPlace>,
    has_persistent: bool,
}

/// When one level is loaded.
#[derive(Debug, Clone, Default)]
pub(crate) struct LevelPlace {
    /// Boxes around the volumes that ask for it.
    pub regions: Vec<(Vec3, Vec3)>,
    pub is_always_loaded: bool,
    pub is_seek_free: bool,
}

impl LevelPlace {
    /// Whether it is always there, and can keep what others need.
    fn is_persistent(&self) -> bool {
        self.is_always_loaded && !self.is_seek_free
    }

    /// Whether one is there in the middle of where the other is: volumes that only touch are hardly ever there together.
    fn meets(&self, other: &Self) -> bool {
        self.has_middle_in(other) || other.has_middle_in(self)
    }

    /// Whether the other is there in the middle of where this one is.
    fn has_middle_in(&self, other: &Self) -> bool {
        let mut pairs = self
            .regions
            .iter()
            .flat_map(|own| other.regions.iter().map(move |other| (own, other)));
        pairs.any(|(own, (min, max))| {
            let middle = middle(own, &(*min, *max));
            min.cmple(middle).all() && middle.cmple(*max).all()
        })
    }
}

/// The middle of a box. Where it has no end, all of it is as good, so what is nearest to the middle of the other.
fn middle((min, max): &(Vec3, Vec3), other: &(Vec3, Vec3)) -> Vec3 {
    // Of one without end, what end it has.
    let between = |min: f32, max: f32| match (min.is_finite(), max.is_finite()) {
        (true, true) => min * 0.5 + max * 0.5,
        (true, false) => min,
        (false, true) => max,
        (false, false) => 0.0,
    };
    let on_axis = |axis: usize| match min[axis].is_finite() && max[axis].is_finite() {
        true => between(min[axis], max[axis]),
        // What holds nothing has no order either, so this is no `clamp`.
        false => between(other.0[axis], other.1[axis]).min(max[axis]).max(min[axis]),
    };
    Vec3::from_array(core::array::from_fn(on_axis))
}

fn instances_of<'p>(plan: &'p WorldPlan, level: &PlannedLevel) -> impl Iterator<Item = &'p PlannedInstance> {
    let name = level.name.clone();
    plan.instances.iter().filter(move |instance| instance.of == name)
}

/// Boxes around the volumes that a level and its instances get where the world file names none.
fn own_regions(plan: &WorldPlan, level: &PlannedLevel, bounds: Option<Bounds>) -> Vec<(Vec3, Vec3)> {
    let own = (!level.on_request).then(|| bounds::own_volume(level.translation, bounds).bounds());
    let placed = instances_of(plan, level).filter(|instance| !instance.on_request);
    let instances = placed.map(|instance| {
        let bounds = bounds::of_instance(level, instance, bounds);
        bounds::own_volume(instance.translation, bounds).bounds()
    });
    own.into_iter().chain(instances).collect()
}

impl Together {
    pub(crate) fn new(levels: Vec<LevelPlace>) -> Self {
        let has_persistent = levels.iter().any(LevelPlace::is_persistent);
        Self { levels, has_persistent }
    }

    /// Of a world whose levels have these bounds.
    pub(crate) fn of(plan: &WorldPlan, bounds: &[Option<Bounds>]) -> Self {
        let mut regions: BTreeMap<&str, Vec<(Vec3, Vec3)>> = BTreeMap::new();
        let loading = plan
            .volumes
            .iter()
            .filter(|volume| volume.mode != VolumeMode::ShowIfLoaded);
        // What asks for an instance asks for its level's package.
        let of: BTreeMap<&str, &str> = (plan.instances.iter())
            .map(|instance| (instance.name.as_str(), instance.of.as_str()))
            .collect();
        for volume in loading {
            for level in &volume.levels {
                let level = of.get(level.as_str()).copied().unwrap_or(level);
                regions.entry(level).or_default().push(volume.shape.bounds());
            }
        }
        let levels = plan.levels.iter().enumerate().map(|(index, level)| LevelPlace {
            regions: match regions.remove(level.name.as_str()) {
                Some(regions) => regions,
                // Also of those that come by their distance, this is about where they are there.
                None if plan.volumes.is_empty() && level.asked.is_none() => {
                    own_regions(plan, level, bounds.get(index).copied().flatten())
                }
                // It comes when somebody asks for it, nobody knows when.
                None => Vec::new(),
            },
            is_always_loaded: level.always_loaded || instances_of(plan, level).any(|instance| instance.always_loaded),
            is_seek_free: level.seek_free,
        });
        Self::new(levels.collect())
    }

    fn of_level(&self, level: usize) -> Option<&LevelPlace> {
        self.levels.get(level)
    }

    /// How many levels there are.
    pub(crate) fn count(&self) -> u64 {
        self.levels.len() as u64
    }

    /// Whether what a level needs lies outside its file.
    pub(crate) fn opens(&self, level: usize) -> bool {
        self.of_level(level).is_some_and(|level| !level.is_seek_free)
    }

    /// Whether there is such a level.
    pub(crate) fn has_persistent(&self) -> bool {
        self.has_persistent
    }

    /// How often a package of these users is loaded while every level is loaded once, in [`ONE`]s: whoever comes first of those that are
    /// there together loads it. In any order, that is one in `n` of a level and `n - 1` others that it meets.
    pub(crate) fn loads(&self, users: &BTreeSet<usize>) -> u64 {
        let users: Vec<&LevelPlace> = (users.iter().filter(|level| self.opens(**level)))
            .filter_map(|level| self.of_level(*level))
            .collect();
        if users.iter().any(|level| level.is_always_loaded) {
            return ONE;
        }
        let step = users.len().div_ceil(SAMPLES).max(1);
        let sampled = users.iter().step_by(step);
        let (sum, count) = sampled.fold((0, 0), |(sum, count), level| {
            let others = users.iter().filter(|other| !core::ptr::eq(**other, *level));
            let together = 1 + others.filter(|other| level.meets(other)).count() as u64;
            (sum + ONE / together, count + 1)
        });
        (sum * users.len() as u64).checked_div(count).unwrap_or_default()
    }

    /// In which part of the world's places one of these levels is there, in parts of [`ONE`]. Places are the middles of where levels that
    /// come and go are there.
    pub(crate) fn presence(&self, users: &BTreeSet<usize>) -> u64 {
        let of_users: Vec<&LevelPlace> = users.iter().filter_map(|level| self.of_level(*level)).collect();
        if of_users.iter().any(|level| level.is_always_loaded) {
            return ONE;
        }
        let places: Vec<(usize, &LevelPlace)> = (self.levels.iter().enumerate())
            .filter(|(_, level)| !level.is_always_loaded)
            .collect();
        let step = places.len().div_ceil(SAMPLES).max(1);
        let is_there = |(index, place): &(usize, &LevelPlace)| {
            users.contains(index) || of_users.iter().any(|user| place.has_middle_in(user))
        };
        let count = places.iter().step_by(step).count() as u64;
        let there = places.iter().step_by(step).filter(|place| is_there(place)).count() as u64;
        (there * ONE).checked_div(count).unwrap_or(ONE)
    }
}
