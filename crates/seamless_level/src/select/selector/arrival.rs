//! Who arrives at what, and what a source waits for.

use bevy_math::Vec3;

use super::{Asker, LevelSlot, Selector, Standing};
use crate::{
    select::{Presence, SourceInput, probe::POINTS},
    target::LevelTarget,
    volume::VolumeShape,
};

/// Arrivals that are further ahead than so many seconds are none.
const FARTHEST: f32 = 60.0;

/// After how many seconds a source is in a region, if it goes on like this and that is soon.
fn soon(source: &SourceInput, region: &VolumeShape) -> Option<f32> {
    let time = region.entry_time(source.position, source.velocity)?;
    (time <= FARTHEST).then_some(time)
}

/// The same source as high as the middle of a region, where it stays.
fn level_with(source: &SourceInput, region: &VolumeShape) -> SourceInput {
    let middle = region.center_offset(source.position).y;
    SourceInput {
        position: source.position + Vec3::Y * middle,
        velocity: source.velocity.with_y(0.0),
        ..*source
    }
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
        let arrivals = self.coming.members().iter().chain(rising);
        arrivals.filter_map(|level| self.arrival_at(*level)).reduce(f32::min)
    }

    fn arrival_at(&self, level: u32) -> Option<f32> {
        let slot = self.level(level).filter(|slot| slot.is_missing())?;
        let arrivals = self.viewers().filter_map(|source| self.arrival_of(source, slot));
        arrivals.reduce(f32::min)
    }

    /// What a level looks like is where its bounds are; of one without, all is known that its volumes say. As long as heights do not count,
    /// who is above is there, too.
    fn arrival_of(&self, source: &SourceInput, slot: &LevelSlot) -> Option<f32> {
        match &slot.bounds {
            Some(bounds) if self.in_height => return soon(source, bounds),
            Some(bounds) => return soon(&level_with(source, bounds), bounds),
            None => {}
        }
        let volumes = slot.askers.iter().filter_map(|asker| self.shape_of(*asker));
        volumes.filter_map(|shape| soon(source, shape)).reduce(f32::min)
    }

    fn shape_of(&self, asker: Asker) -> Option<&VolumeShape> {
        match asker {
            Asker::Volume(volume) => Some(&self.volumes.get(volume as usize)?.as_ref()?.input.shape),
            Asker::Request(_) => None,
        }
    }

    /// The levels that a source asks for where it is, and those that are always loaded, in the order of their indices; none if there was no
    /// such source, or it asks for nothing, as of the last update.
    #[must_use]
    pub fn asked_by(&self, source: u64) -> Option<Vec<u32>> {
        let place = self.sources.iter().position(|other| other.key == source)?;
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
        Some(levels)
    }

    /// Whether a source asks for anything, as of the last update.
    #[must_use]
    pub fn is_source(&self, source: u64) -> bool {
        self.sources.iter().any(|other| other.key == source)
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
