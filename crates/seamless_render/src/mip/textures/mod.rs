//! The textures that stream: what is known of each, by number. See [`MipTextures`].

mod codec;
mod parts;
mod record;
#[cfg(test)]
pub(super) mod tests;
mod unmarked;

pub(super) use codec::Comer;
pub use codec::StreamedImageCodec;
pub(super) use parts::{MipFile, MipLevel, MipParts};
pub use record::MipRecord;
pub(super) use record::{LABEL, image_bytes, is_stand_in, mip_bytes};

use std::sync::Arc;

use bevy_asset::AssetId;
use bevy_ecs::resource::Resource;
use bevy_image::{Image, ImageSampler};
use bevy_platform::collections::HashMap;

use super::NotStreamed;

/// All textures that stream. Each has a number, the lowest that is free when it comes, by which [`MipLedger`](super::MipLedger), [`Fit`](super::Fit) and
/// [`MipDemands`](super::MipDemands) know it too.
///
/// A texture comes when its [`Image`] is inserted and the pool has room for its tail, which is made if there is none, and goes when the last handle of the image is
/// dropped. It is on the GPU from its [floor](super::MipChain::floor) on in the very frame in which it comes; what it begins with later says the
/// [ledger](super::MipPool).
#[derive(Resource, Default)]
pub struct MipTextures {
    /// By number.
    slots: Vec<Option<Slot>>,
    /// Numbers that are free, the lowest last.
    free: Vec<u32>,
    numbers: HashMap<AssetId<Image>, u32>,
    news: Vec<MipTextureNews>,
    not_streamed: HashMap<AssetId<Image>, NotStreamed>,
    most: usize,
    /// That of the app's default sampler.
    default_anisotropy: u16,
}

#[derive(Debug)]
struct Slot {
    id: AssetId<Image>,
    record: Arc<MipRecord>,
    /// No finer mip than this can be read.
    readable: u8,
    /// The device takes no finer mip than this.
    taken: u8,
    /// It was told that the device has refused something.
    is_told: bool,
}

impl Slot {
    fn finest(&self) -> u8 {
        self.readable.max(self.taken)
    }
}

/// What became of a texture, in the order in which it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MipTextureNews {
    /// It has come; all demands on its number are new.
    Come(u32),
    /// It has gone, and its number may be another's by the next news.
    Gone(u32),
    /// [`MipTextures::finest`] has another value.
    Limited(u32),
    /// Its sampler is another.
    Resampled(u32),
}

impl MipTextures {
    /// None, of which there may be so many.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// What the app's default sampler has.
    pub(super) fn set_default_anisotropy(&mut self, clamp: u16) {
        self.default_anisotropy = clamp;
    }

    /// How many texels the texture's sampler takes along a pixel's longer side, at most.
    pub(super) fn anisotropy(&self, texture: u32) -> u16 {
        let sampler = self.get(texture).map(|record| record.sampler());
        let clamp = match sampler {
            Some(ImageSampler::Descriptor(descriptor)) => descriptor.anisotropy_clamp,
            Some(ImageSampler::Default) | None => self.default_anisotropy,
        };
        clamp.max(1)
    }

    /// The number of an image, if it streams.
    #[must_use]
    pub fn number(&self, id: AssetId<Image>) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// The image with this number.
    #[must_use]
    pub fn id(&self, texture: u32) -> Option<AssetId<Image>> {
        self.slot(texture).map(|slot| slot.id)
    }

    /// What is known of the texture with this number.
    #[must_use]
    pub fn get(&self, texture: u32) -> Option<&Arc<MipRecord>> {
        self.slot(texture).map(|slot| &slot.record)
    }

    /// The finest mip that can be read, and that the device takes: 0, unless one could not be. For [`DemandRule::finest`](super::DemandRule::finest).
    #[must_use]
    pub fn finest(&self, texture: u32) -> u8 {
        self.slot(texture).map_or(0, Slot::finest)
    }

    /// Whether it is one of those that stream, or that are known not to.
    pub(super) fn knows(&self, id: AssetId<Image>) -> bool {
        self.numbers.contains_key(&id) || self.not_streamed.contains_key(&id)
    }

    /// Whether no more may come, beside so many that will.
    pub(super) fn is_full_with(&self, coming: usize) -> bool {
        self.numbers.len() + coming >= self.most
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// All of them by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, AssetId<Image>, &Arc<MipRecord>)> {
        let slots = (0..).zip(&self.slots);
        slots.filter_map(|(texture, slot)| slot.as_ref().map(|slot| (texture, slot.id, &slot.record)))
    }

    /// Moves what has become of textures since the last call to the end of `out`. One system takes them.
    pub fn take_news(&mut self, out: &mut Vec<MipTextureNews>) {
        out.append(&mut self.news);
    }

    /// The images of packages and files that are whole on the GPU, and why.
    pub fn not_streamed(&self) -> impl ExactSizeIterator<Item = (AssetId<Image>, NotStreamed)> {
        self.not_streamed.iter().map(|(id, why)| (*id, *why))
    }

    /// A texture has come; the one that had the same id must have gone before.
    pub(super) fn insert(&mut self, id: AssetId<Image>, record: Arc<MipRecord>) -> u32 {
        let texture = self.free.pop().unwrap_or(self.slots.len() as u32);
        let slot = Slot {
            id,
            record,
            readable: 0,
            taken: 0,
            is_told: false,
        };
        match self.slots.get_mut(texture as usize) {
            Some(free) => *free = Some(slot),
            None => self.slots.push(Some(slot)),
        }
        self.numbers.insert(id, texture);
        self.news.push(MipTextureNews::Come(texture));
        texture
    }

    /// A texture has gone, or is whole.
    pub(super) fn remove(&mut self, id: AssetId<Image>) -> Option<u32> {
        self.not_streamed.remove(&id);
        let texture = self.numbers.remove(&id)?;
        self.slots[texture as usize] = None;
        let place = self.free.partition_point(|free| *free > texture);
        self.free.insert(place, texture);
        self.news.push(MipTextureNews::Gone(texture));
        Some(texture)
    }

    /// An image that does not stream.
    pub(super) fn note_whole(&mut self, id: AssetId<Image>, why: NotStreamed) {
        self.not_streamed.insert(id, why);
    }

    /// Mips finer than this cannot be read.
    pub(super) fn limit(&mut self, texture: u32, finest: u8) {
        self.change(texture, |slot| slot.readable = finest);
    }

    /// The device takes no mips finer than this.
    pub(super) fn refuse(&mut self, texture: u32, finest: u8) {
        self.change(texture, |slot| slot.taken = finest);
    }

    /// There is another device, which has refused nothing yet.
    pub(super) fn forget_refusals(&mut self) {
        for texture in 0..self.slots.len() as u32 {
            self.change(texture, |slot| (slot.taken, slot.is_told) = (0, false));
        }
    }

    fn change(&mut self, texture: u32, change: impl FnOnce(&mut Slot)) {
        let Some(slot) = self.slots.get_mut(texture as usize).and_then(Option::as_mut) else {
            return;
        };
        let was = slot.finest();
        change(slot);
        if slot.finest() != was {
            self.news.push(MipTextureNews::Limited(texture));
        }
    }

    /// The texture is sampled in this way from now on; what is known of it then, if that is another than before.
    pub(super) fn resample(&mut self, texture: u32, sampler: &ImageSampler) -> Option<&Arc<MipRecord>> {
        let slot = self.slots.get_mut(texture as usize)?.as_mut()?;
        if slot.record.sampler() == sampler {
            return None;
        }
        slot.record = Arc::new(slot.record.resampled(sampler.clone()));
        self.news.push(MipTextureNews::Resampled(texture));
        Some(&slot.record)
    }

    /// Whether this is the first time that the device refuses something to this texture.
    pub(super) fn is_first_refusal(&mut self, texture: u32) -> bool {
        let slot = self.slots.get_mut(texture as usize).and_then(Option::as_mut);
        slot.is_some_and(|slot| !core::mem::replace(&mut slot.is_told, true))
    }

    fn slot(&self, texture: u32) -> Option<&Slot> {
        self.slots.get(texture as usize)?.as_ref()
    }
}
