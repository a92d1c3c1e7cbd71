//! What a game can ask of mip streaming. See [`Mips`].

#[cfg(test)]
mod tests;

use bevy_asset::AssetId;
use bevy_ecs::{prelude::*, system::SystemParam};
use bevy_image::Image;

use super::{LedgerSums, MipPool, MipTextures, MipWork, NotStreamed, plan::MipPlan, users::MipUsers};

/// How fine a texture is, and how fine it is to be.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Residency {
    /// The finest mip that is on the GPU.
    pub top: u8,
    /// The finest mip that is wanted, by who draws with it.
    pub wanted: u8,
    /// The finest mip that it is to have, as the pool goes.
    pub planned: u8,
    /// What it takes on the GPU, copies left out, in bytes.
    pub bytes: u64,
    /// It is on its way to another top.
    pub is_changing: bool,
}

/// A texture that is coarser than it should be.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Offender {
    /// Its image.
    pub image: AssetId<Image>,
    /// The finest mip that is on the GPU.
    pub top: u8,
    /// The finest mip that is wanted.
    pub wanted: u8,
    /// What is drawn with it covers so many pixels, if nothing were before it.
    pub area: f32,
}

/// Tells how mip streaming does. What it tells is that of the last frame's plan.
#[derive(SystemParam)]
pub struct Mips<'w> {
    plan: Res<'w, MipPlan>,
    pool: Res<'w, MipPool>,
    textures: Res<'w, MipTextures>,
    work: Res<'w, MipWork>,
    users: Res<'w, MipUsers>,
}

impl Mips<'_> {
    /// How fine a texture is; none if it does not stream.
    #[must_use]
    pub fn residency(&self, image: AssetId<Image>) -> Option<Residency> {
        let texture = self.textures.number(image)?;
        let resident = self.pool.ledger.get(texture)?;
        Some(Residency {
            top: resident.top,
            wanted: self.plan.wanted(texture)?,
            planned: self
                .plan
                .fit
                .tops
                .get(texture as usize)
                .copied()
                .unwrap_or(resident.top),
            bytes: resident.bytes,
            is_changing: resident.change.is_some(),
        })
    }

    /// By how many mips an entity's textures are coarser than is wanted, the one that lacks most; less than 0: all of them are finer. None if it draws with
    /// none that streams.
    #[must_use]
    pub fn lack(&self, entity: Entity) -> Option<i16> {
        let lacks = |texture| {
            let (resident, wanted) = (self.pool.ledger.get(texture)?, self.plan.wanted(texture)?);
            Some(i16::from(resident.top) - i16::from(wanted))
        };
        self.users.textures(entity).filter_map(lacks).max()
    }

    /// Whether all textures are as they are to be, as the pool goes, and nothing is on its way. What was there before may be on the GPU for some frames more.
    /// A texture that nobody draws is to be whole once it has been there for a second, and is waited for so long.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let is_known =
            !self.users.seats.is_waiting() && !self.users.surfaces.is_seeking() && !self.plan.demands.has_new();
        self.plan.is_settled() && self.work.is_idle() && is_known
    }

    /// The textures that are coarser than they should be, the worst first, by pixels and missing mips: so many at most.
    #[must_use]
    pub fn worst(&self, most: usize) -> Vec<Offender> {
        self.worst_of(most, |texture| Some(self.pool.ledger.get(texture)?.top))
    }

    /// The textures that are going to be coarser than they should be, as the pool goes, the worst first: so many at most. With each, the finest mip that it is to have.
    #[must_use]
    pub fn worst_planned(&self, most: usize) -> Vec<Offender> {
        self.worst_of(most, |texture| self.plan.fit.tops.get(texture as usize).copied())
    }

    /// How many textures are coarser than they should be.
    #[must_use]
    pub fn under_resolved(&self) -> u64 {
        self.plan.tally().under_resolved
    }

    /// Whether the pool has no room for all that is wanted, so that something is coarser.
    #[must_use]
    pub fn is_over_budget(&self) -> bool {
        !self.plan.fit.cut.is_empty()
    }

    /// Whether the pool has not even room for all mip tails.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.plan.fit.is_short
    }

    /// What is on the GPU, by what it is for, in bytes.
    #[must_use]
    pub fn sums(&self) -> LedgerSums {
        self.pool.ledger.sums()
    }

    /// What all textures would take that are as fine as is wanted, in bytes.
    #[must_use]
    pub fn perfect(&self) -> u64 {
        self.plan.fit.perfect
    }

    /// Images of packages and files that are whole, and why.
    pub fn not_streamed(&self) -> impl ExactSizeIterator<Item = (AssetId<Image>, NotStreamed)> {
        self.textures.not_streamed()
    }

    fn worst_of(&self, most: usize, top_of: impl Fn(u32) -> Option<u8>) -> Vec<Offender> {
        let mut found: Vec<(f32, Offender)> = self.offenders(top_of).collect();
        found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        found.truncate(most);
        found.into_iter().map(|(_, offender)| offender).collect()
    }

    fn offenders(&self, top_of: impl Fn(u32) -> Option<u8>) -> impl Iterator<Item = (f32, Offender)> {
        self.textures.iter().filter_map(move |(texture, image, _)| {
            let (top, wanted) = (top_of(texture)?, self.plan.wanted(texture)?);
            let demand = &self.plan.demands.textures().get(texture as usize)?.as_ref()?.demand;
            // What is not seen counts as little as when it is fitted.
            let unseen = demand.unseen_area + demand.expected_area;
            let weight = (demand.area + unseen / 16.0) * f32::from(top.saturating_sub(wanted));
            let offender = Offender {
                image,
                top,
                wanted,
                area: demand.area,
            };
            (top > wanted).then_some((weight, offender))
        })
    }
}
