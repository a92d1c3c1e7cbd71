//! Which textures the materials have, by image and by material. See [`Materials`].

#[cfg(test)]
mod tests;

use bevy_asset::{AssetId, UntypedAssetId};
use bevy_image::Image;
use bevy_platform::collections::HashMap;
use smallvec::SmallVec;
use wgpu_types::Face;

use super::MipImage;
use crate::mip::{MipDemands, need::uv_scale};

/// The images of a material.
pub(in crate::mip) type Images = SmallVec<[MipImage; 4]>;

/// A texture that is repeated more or less often by less than this, in mips, is sampled as before.
const RESCALED: f32 = 1.0 / 32.0;

/// A texture that streams, as materials see it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::mip) struct Streamed {
    /// Its number.
    pub texture: u32,
    /// Its sampler is anisotropic.
    pub is_anisotropic: bool,
}

/// All textures of a material that are sampled alike: by one channel, repeated as often. To [`Watch`](crate::mip::Watch) and [`MipDemands`], each is a material
/// of its own.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(in crate::mip) struct Layer {
    /// What it is to those two.
    pub number: u32,
    pub channel: u8,
    /// How often textures are repeated; see [`uv_scale`].
    pub scale: f32,
}

impl Layer {
    fn key(&self) -> (u8, u32) {
        (self.channel, self.scale.to_bits())
    }
}

/// Whether nothing of them is another that counts: where a texture begins does not, nor how it is turned.
fn are_alike(known: &[MipImage], new: &[MipImage]) -> bool {
    known.len() == new.len() && known.iter().zip(new).all(|(known, new)| is_alike(known, new))
}

fn is_alike(known: &MipImage, new: &MipImage) -> bool {
    let key = |of: &MipImage| (of.id, of.channel, of.is_whole);
    // What is known stays, so small steps add up to a large one.
    let is_repeated_alike = |is_anisotropic: bool| {
        let [known, new] = [known, new].map(|of| uv_scale(of.uv.matrix2, is_anisotropic));
        known.to_bits() == new.to_bits() || (known.log2() - new.log2()).abs() < RESCALED
    };
    key(known) == key(new) && is_repeated_alike(false) && is_repeated_alike(true)
}

/// What is drawn of what has a material.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mip) struct Sides {
    /// One cannot see through it.
    pub is_opaque: bool,
    /// The side of its triangles that is not drawn, and that which is not by cameras that [invert](bevy_camera::Camera::invert_culling) it.
    pub culled: [Option<Face>; 2],
}

#[derive(Debug, Default)]
struct Slot {
    id: Option<UntypedAssetId>,
    /// Whether its images are known: it is there.
    is_known: bool,
    /// It waits to be linked.
    is_listed: bool,
    /// How many that draw with it are not looked at.
    unknown: u32,
    sides: Sides,
    images: Images,
    layers: SmallVec<[Layer; 2]>,
    links: SmallVec<[Link; 4]>,
    /// Who draws with it.
    users: Vec<u32>,
}

/// A texture that is sampled by a layer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Link {
    texture: u32,
    layer: u32,
    channel: u8,
    is_whole: bool,
    /// Which of the material's images.
    image: u8,
}

/// The materials that are there or drawn with, their images, and who draws with them. Only images that stream make layers: what draws with other materials is
/// never looked at.
#[derive(Debug, Default)]
pub(in crate::mip) struct Materials {
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_id: HashMap<UntypedAssetId, u32>,
    /// Each material once.
    of_image: HashMap<AssetId<Image>, Vec<u32>>,
    /// Numbers of layers that nobody has, and the next that nobody had.
    free_layers: Vec<u32>,
    next_layer: u32,
    /// Slots that wait to be linked.
    listed: Vec<u32>,
    /// By texture, how many have all of it.
    wholes: Vec<u32>,
    /// Textures of which another number has all, since this was asked last.
    other_wholes: Vec<u32>,
    /// Another one whenever a material has other textures.
    pub version: u64,
}

impl Materials {
    /// The number of a material, whether it is there or not. It keeps it while it is there, or has users.
    pub fn number(&mut self, id: UntypedAssetId) -> u32 {
        if let Some(slot) = self.by_id.get(&id) {
            return *slot;
        }
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        if self.slots.len() == slot as usize {
            self.slots.push(Slot::default());
        }
        self.slots[slot as usize].id = Some(id);
        self.by_id.insert(id, slot);
        // So that it goes again if nobody takes it.
        self.list(slot);
        slot
    }

    /// The material has these images now.
    pub fn note(&mut self, id: UntypedAssetId, images: Images) {
        let slot = self.number(id);
        let of = &mut self.slots[slot as usize];
        if of.is_known && are_alike(&of.images, &images) {
            return;
        }
        of.is_known = true;
        self.set_images(slot, images);
    }

    /// What is drawn of what has the material.
    pub fn set_sides(&mut self, id: UntypedAssetId, sides: Sides) {
        let slot = self.number(id);
        self.slots[slot as usize].sides = sides;
    }

    /// What is drawn of what has a material, as far as is known.
    pub fn sides(&self, slot: u32) -> Sides {
        self.slots[slot as usize].sides
    }

    /// The images of a material that a layer samples, and what textures they are.
    pub fn images_of_layer(&self, slot: u32, layer: u32) -> impl Iterator<Item = (&MipImage, u32)> {
        let of = &self.slots[slot as usize];
        let links = of.links.iter().filter(move |link| link.layer == layer);
        links.filter_map(|link| Some((of.images.get(link.image as usize)?, link.texture)))
    }

    /// The material is gone.
    pub fn forget(&mut self, id: UntypedAssetId) {
        if let Some(slot) = self.by_id.get(&id).copied() {
            let of = &mut self.slots[slot as usize];
            of.is_known = false;
            self.set_images(slot, Images::new());
        }
    }

    /// An image streams now that did not, or the other way round, or is sampled in another way.
    pub fn image_changed(&mut self, image: AssetId<Image>) {
        let slots = self.of_image.get(&image).map_or(0, Vec::len);
        for at in 0..slots {
            self.list(self.of_image[&image][at]);
        }
    }

    /// One user more of the material is not looked at, or one less. While there are some, all of its textures are wanted whole.
    pub fn set_unknown(&mut self, slot: u32, is_unknown: bool) {
        let unknown = &mut self.slots[slot as usize].unknown;
        let were_some = *unknown > 0;
        *unknown = if is_unknown {
            *unknown + 1
        } else {
            unknown.saturating_sub(1)
        };
        if were_some != (*unknown > 0) {
            self.list(slot);
        }
    }

    /// The materials that have an image, in the order in which they came.
    pub fn of_image(&self, image: AssetId<Image>) -> impl Iterator<Item = UntypedAssetId> {
        let slots = self.of_image.get(&image).into_iter().flatten();
        slots.filter_map(|slot| self.slots[*slot as usize].id)
    }

    /// By what a material's users are to be looked at.
    pub fn layers(&self, slot: u32) -> &[Layer] {
        &self.slots[slot as usize].layers
    }

    /// The textures of a material that stream.
    pub fn textures(&self, slot: u32) -> impl Iterator<Item = u32> {
        let links = self.slots.get(slot as usize).map(|of| of.links.iter());
        links.into_iter().flatten().map(|link| link.texture)
    }

    /// Which material it is.
    pub fn id(&self, slot: u32) -> Option<UntypedAssetId> {
        self.slots.get(slot as usize)?.id
    }

    /// The material has one user more, at the place that is returned.
    pub fn add_user(&mut self, slot: u32, user: u32) -> u32 {
        let users = &mut self.slots[slot as usize].users;
        users.push(user);
        users.len() as u32 - 1
    }

    /// The user at a place leaves; who takes the place, if anybody.
    pub fn remove_user(&mut self, slot: u32, place: u32) -> Option<u32> {
        let of = &mut self.slots[slot as usize];
        of.users.swap_remove(place as usize);
        let moved = of.users.get(place as usize).copied();
        if of.users.is_empty() && !of.is_known {
            self.list(slot);
        }
        moved
    }

    /// Whether somebody has all of a texture, however far away it is drawn.
    pub fn is_whole(&self, texture: u32) -> bool {
        self.wholes.get(texture as usize).is_some_and(|users| *users > 0)
    }

    /// The textures of which [that](Self::is_whole) may have become another, since this was asked last.
    pub fn take_other_wholes(&mut self, mut each: impl FnMut(&Self, u32)) {
        let mut textures = core::mem::take(&mut self.other_wholes);
        textures.drain(..).for_each(|texture| each(self, texture));
        self.other_wholes = textures;
    }

    /// Links the textures of all materials of which something has changed. `leave` is told of users whose material has other layers
    /// than before, while it still has the old ones.
    pub fn link(
        &mut self,
        demands: &mut MipDemands,
        streamed: impl Fn(AssetId<Image>) -> Option<Streamed>,
        mut leave: impl FnMut(u32),
    ) {
        let mut listed = core::mem::take(&mut self.listed);
        for slot in listed.drain(..) {
            let mut of = core::mem::take(&mut self.slots[slot as usize]);
            of.is_listed = false;
            self.link_slot(&mut of, demands, &streamed, &mut leave);
            if of.is_known || of.unknown > 0 || !of.users.is_empty() {
                self.slots[slot as usize] = of;
            } else if let Some(id) = of.id {
                self.by_id.remove(&id);
                self.free.push(slot);
            }
        }
        self.listed = listed;
    }

    fn link_slot(
        &mut self,
        of: &mut Slot,
        demands: &mut MipDemands,
        streamed: &impl Fn(AssetId<Image>) -> Option<Streamed>,
        leave: &mut impl FnMut(u32),
    ) {
        self.version += 1;
        for link in of.links.drain(..) {
            demands.unlink(link.texture, link.layer, link.channel);
            self.count_whole(&link, |users| users.saturating_sub(1));
        }
        let layer = |image: &MipImage, streamed: &Streamed| Layer {
            number: 0,
            channel: image.channel.min(1),
            scale: uv_scale(image.uv.matrix2, streamed.is_anisotropic),
        };
        let known = (0_u8..).zip(&of.images);
        let known = known.filter_map(|(at, image)| streamed(image.id).map(|streamed| (at, *image, streamed)));
        let known: SmallVec<[(u8, MipImage, Streamed); 4]> = known.collect();
        let mut layers: SmallVec<[Layer; 2]> = known.iter().map(|(_, image, of)| layer(image, of)).collect();
        layers.sort_unstable_by_key(Layer::key);
        layers.dedup_by_key(|layer| layer.key());
        if !layers.iter().map(Layer::key).eq(of.layers.iter().map(Layer::key)) {
            of.users.iter().for_each(|user| leave(*user));
            self.free_layers
                .extend(of.layers.iter().rev().map(|layer| layer.number));
            layers.iter_mut().for_each(|layer| layer.number = self.new_layer());
            of.layers = layers;
        }
        for (at, image, streamed) in &known {
            let key = layer(image, streamed).key();
            let Some(layer) = of.layers.iter().find(|layer| layer.key() == key) else {
                continue;
            };
            let link = Link {
                texture: streamed.texture,
                layer: layer.number,
                channel: layer.channel,
                is_whole: image.is_whole || of.unknown > 0,
                image: *at,
            };
            demands.link(link.texture, link.layer, link.channel);
            self.count_whole(&link, |users| users + 1);
            of.links.push(link);
        }
    }

    fn new_layer(&mut self) -> u32 {
        self.free_layers.pop().unwrap_or_else(|| {
            self.next_layer += 1;
            self.next_layer - 1
        })
    }

    fn count_whole(&mut self, link: &Link, count: impl Fn(u32) -> u32) {
        if !link.is_whole {
            return;
        }
        let index = link.texture as usize;
        if self.wholes.len() <= index {
            self.wholes.resize(index + 1, 0);
        }
        self.wholes[index] = count(self.wholes[index]);
        self.other_wholes.push(link.texture);
    }

    fn set_images(&mut self, slot: u32, images: Images) {
        let before = core::mem::replace(&mut self.slots[slot as usize].images, images.clone());
        for image in &before {
            if let Some(slots) = self.of_image.get_mut(&image.id) {
                slots.retain(|of| *of != slot);
                if slots.is_empty() {
                    self.of_image.remove(&image.id);
                }
            }
        }
        for image in &images {
            let slots = self.of_image.entry(image.id).or_default();
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        self.list(slot);
    }

    fn list(&mut self, slot: u32) {
        if !core::mem::replace(&mut self.slots[slot as usize].is_listed, true) {
            self.listed.push(slot);
        }
    }
}
