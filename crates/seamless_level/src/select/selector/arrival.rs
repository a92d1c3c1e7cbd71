//! Who arrives at what, and what a source waits for.

use super::{Asker, LevelSlot, Selector, Standing};
use crate::{
    select::{Presence, SourceInput, contain::ROUNDING, probe::POINTS},
    target::LevelTarget,
    volume::VolumeShape,
};

/// Arrivals that are further ahead than so many seconds are none.
const FARTHEST: f32 = 60.0;

/// After how many seconds a source is in a region, if it goes on like this and that is no later than `within`.
fn soon(source: &SourceInput, region: &VolumeShape, within: f32) -> Option<f32> {
    if is_off(source, region, within) {
        return None;
    }
    let time = region.entry_time(source.position, source.velocity)?;
    (time <= within).then_some(time)
}

/// Whether the way of a source does not even lead through the box around a region, for what is told without some work: most are far away.
fn is_off(source: &SourceInput, region: &VolumeShape, within: f32) -> bool {
    let (low, high) = match region {
        VolumeShape::Box { min, max } => (*min, *max),
        VolumeShape::Sphere { center, radius } => (*center - *radius, *center + *radius),
        VolumeShape::Capsule { .. } | VolumeShape::Convex { .. } => return false,
    };
    let end = source.position + source.velocity * within;
    let (from, to) = (source.position.min(end), source.position.max(end));
    let rounding = (from.abs().max(to.abs()) + low.abs().max(high.abs())) * ROUNDING;
    (from - rounding).cmpgt(high).any() || (to + rounding).cmplt(low).any()
}

impl Selector {
    /// The sources that see the world from where they are, as of the last update. Others get levels ready, and miss none.
    pub(crate) fn viewers(&self) -> impl Iterator<Item = &SourceInput> {
        let sources = self.sources.iter();
        sources.filter(|source| source.is_present && source.target == LevelTarget::Visible)
    }

    /// How many seconds there are until somebody comes to a level that is to be seen and is not there.
    pub(super) fn arrival(&self) -> Option<f32> {
        let rising = self.plan.rise.iter().map(|(level, _)| level);
        let levels = self.coming.members().iter().chain(rising);
        let mut soonest: Option<f32> = None;
        for slot in levels.filter_map(|level| self.level(*level)) {
            if slot.is_missing() {
                soonest = self.arrival_at(slot, soonest);
            }
            // Nobody comes sooner than who is there.
            if soonest == Some(0.0) {
                break;
            }
        }
        soonest
    }

    /// The same for one level, as far as somebody comes to it sooner than `soonest`.
    fn arrival_at(&self, slot: &LevelSlot, mut soonest: Option<f32>) -> Option<f32> {
        for source in self.viewers() {
            let within = soonest.unwrap_or(FARTHEST);
            soonest = self.arrival_of(source, slot, within).or(soonest);
        }
        soonest
    }

    /// What a level looks like is where its bounds are; of one without, all is known that its volumes say.
    fn arrival_of(&self, source: &SourceInput, slot: &LevelSlot, within: f32) -> Option<f32> {
        if let Some(bounds) = slot.bounds {
            return soon(source, &self.grounds.region(bounds), within);
        }
        let volumes = slot.askers.iter().filter_map(|asker| self.shape_of(*asker));
        volumes.filter_map(|shape| soon(source, shape, within)).reduce(f32::min)
    }

    fn shape_of(&self, asker: Asker) -> Option<&VolumeShape> {
        match asker {
            Asker::Volume(volume) => Some(&self.volumes.get(volume as usize)?.as_ref()?.input.shape),
            Asker::Request(_) => None,
        }
    }

    /// The levels that a source asks for where it is, and those that are always loaded, in the order of their indices, and how far it lets levels come; none
    /// if there was no such source, or it asks for nothing, as of the last update.
    #[must_use]
    pub fn asked_by(&self, source: u64) -> Option<(Vec<u32>, LevelTarget)> {
        let place = *self.places_of_sources.get(&source)?;
        let target = self.sources.get(place)?.target;
        let volumes = self.contain.near(place * POINTS);
        let on = volumes.filter_map(|volume| {
            self.volumes
                .get(volume as usize)?
                .as_ref()
                .filter(|slot| slot.asked.is_some())
        });
        let around = on.flat_map(|slot| slot.input.levels.iter());
        let mut levels: Vec<u32> = around.chain(&self.always).copied().collect();
        levels.sort_unstable();
        levels.dedup();
        Some((levels, target))
    }

    /// Whether a source asks for anything, as of the last update.
    #[must_use]
    pub fn is_source(&self, source: u64) -> bool {
        self.places_of_sources.contains_key(&source)
    }

    /// How it stands with a level, as of the last update.
    #[must_use]
    pub fn standing(&self, level: u32) -> Standing {
        let Some(slot) = self.level(level).filter(|slot| slot.asked != LevelTarget::Unloaded) else {
            return Standing::Unwanted;
        };
        match slot.presence {
            Presence::Failed => Standing::Failed,
            _ if slot.is_cut => Standing::LeftOut,
            Presence::Held => Standing::LeftOut,
            Presence::There => Standing::There,
            Presence::Away | Presence::Coming | Presence::Waiting => Standing::Coming,
        }
    }

    /// Whether somebody wants more than what is always loaded, as of the last update.
    pub(crate) fn is_more_asked_than_always(&self) -> bool {
        self.asked.members().len() > self.always.len()
    }

    /// All levels that somebody wants, in no order, as of the last update.
    pub fn asked(&self) -> impl ExactSizeIterator<Item = u32> {
        self.asked.members().iter().copied()
    }
}
