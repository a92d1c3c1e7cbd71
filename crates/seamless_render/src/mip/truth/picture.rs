//! What was seen: which mip each pixel samples. See [`TruthPicture`].

#[cfg(test)]
mod tests;

use bevy_asset::AssetId;
use bevy_ecs::entity::Entity;
use bevy_image::Image;
use bevy_platform::collections::{HashMap, HashSet};
use smallvec::SmallVec;

/// How exact the GPU is, in mips: what is sampled finer than the finest mip that is there by less than this lacks nothing.
pub const TRUTH_TOLERANCE: f32 = 1.0 / 32.0;
/// In so many parts of a mip the GPU tells it.
const PARTS: f32 = 4096.0;

/// A texture of something that is drawn.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct TruthUse {
    /// Which one.
    pub image: AssetId<Image>,
    /// Its mips.
    pub mips: u8,
    /// The finest mip that was on the GPU.
    pub top: u8,
    /// Which of the draw's layers samples it.
    pub layer: u8,
    /// By how much its mip is another than the layer's.
    pub offset: f32,
}

/// Textures of something that is drawn that are sampled alike.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(in crate::mip) struct TruthLayer {
    /// What it is to [`Watch`](crate::mip::Watch).
    pub number: u32,
    /// By which channel of texture coordinates.
    pub channel: u8,
    /// The layer's mip is that of a texture whose longer side's binary logarithm this is.
    pub side: f32,
    /// The least lod that was predicted of what is seen, when the picture was taken.
    pub predicted: f32,
}

/// Something that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::mip) struct TruthDraw {
    pub entity: Entity,
    pub layers: SmallVec<[TruthLayer; 2]>,
    pub uses: SmallVec<[TruthUse; 4]>,
}

/// A picture of which mip each pixel samples, as the GPU's own sampler has chosen it.
#[derive(Clone, Debug)]
pub struct TruthPicture {
    /// Whose picture it is.
    pub camera: Entity,
    /// In pixels of this picture.
    pub width: u32,
    /// In pixels of this picture.
    pub height: u32,
    /// So many pixels of the camera's are one of this picture's, in each direction.
    pub scale: u32,
    pub(in crate::mip) draws: Vec<TruthDraw>,
    /// Layers of which something is seen that is not in the picture.
    pub(in crate::mip) unknown: HashSet<u32>,
    /// Row by row: the draw and one, and both layers.
    pub(super) pixels: Vec<[u32; 2]>,
}

/// How many pixels lack what they sample.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct TruthAccuracy {
    /// Pixels that sample a texture that streams.
    pub pixels: u64,
    /// Those of them that sample a finer mip of one than was there.
    pub lacking: u64,
}

/// What a layer was seen with.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(in crate::mip) struct LayerTruth {
    /// As [`Footprint::lod`](crate::mip::need::Footprint::lod): the finest; infinite if no pixel shows it.
    pub lod: f32,
    /// The same, as it was predicted at that moment.
    pub predicted: f32,
    /// In pixels of the camera's.
    pub area: f32,
}

impl TruthPicture {
    /// Who is drawn at a pixel, and the textures that are sampled there, each with its mip: 1.5 is halfway between two.
    pub fn at(&self, x: u32, y: u32) -> Option<(Entity, impl Iterator<Item = (&TruthUse, f32)>)> {
        let at = (x < self.width).then(|| y as usize * self.width as usize + x as usize)?;
        let (draw, layers) = self.pixel(self.pixels.get(at)?)?;
        let uses = draw.uses.iter().map(move |of| (of, mip(of, layers)));
        Some((draw.entity, uses))
    }

    /// How many pixels lack the mip that they sample.
    #[must_use]
    pub fn accuracy(&self) -> TruthAccuracy {
        let mut found = TruthAccuracy::default();
        for (draw, layers) in self.drawn() {
            let lacks = |of: &TruthUse| mip(of, layers) + TRUTH_TOLERANCE < f32::from(of.top);
            found.pixels += u64::from(!draw.uses.is_empty());
            found.lacking += u64::from(draw.uses.iter().any(lacks));
        }
        found
    }

    /// The finest mip of each texture that any pixel samples.
    #[must_use]
    pub fn needed(&self) -> HashMap<AssetId<Image>, u8> {
        let mut needed = HashMap::default();
        for (draw, layers) in self.drawn() {
            for of in &draw.uses {
                let mip = (mip(of, layers) + TRUTH_TOLERANCE) as u8;
                let least = needed.entry(of.image).or_insert(mip);
                *least = mip.min(*least);
            }
        }
        needed
    }

    /// The picture to look at, four bytes a pixel, row by row: green where the finest mip that is there is the one that is sampled, blue where it is finer, yellow where
    /// it is a mip coarser, and ever redder beyond; by the texture that lacks most. Grey is what does not stream, black where nothing is.
    #[must_use]
    pub fn colours(&self) -> Vec<u8> {
        let colour = |pixel: &[u32; 2]| match self.pixel(pixel) {
            None => [0, 0, 0, 255],
            Some((draw, layers)) => {
                let lacks = |of: &TruthUse| i16::from(of.top) - i16::from((mip(of, layers) + TRUTH_TOLERANCE) as u8);
                draw.uses.iter().map(lacks).max().map_or([90, 90, 90, 255], colour)
            }
        };
        self.pixels.iter().flat_map(colour).collect()
    }

    /// What each layer that is drawn, and is wholly in the picture, was seen with.
    pub(in crate::mip) fn layers(&self) -> HashMap<u32, LayerTruth> {
        let mut found = HashMap::default();
        let layers = self.draws.iter().flat_map(|draw| &draw.layers);
        for layer in layers.filter(|layer| !self.unknown.contains(&layer.number)) {
            let unseen = LayerTruth {
                lod: f32::INFINITY,
                predicted: layer.predicted,
                area: 0.0,
            };
            found.insert(layer.number, unseen);
        }
        let area = (self.scale * self.scale) as f32;
        for (draw, mips) in self.drawn() {
            for (layer, mip) in draw.layers.iter().zip(mips) {
                if let Some(of) = found.get_mut(&layer.number) {
                    of.lod = of.lod.min(mip - layer.side);
                    of.area += area;
                }
            }
        }
        found
    }

    fn drawn(&self) -> impl Iterator<Item = (&TruthDraw, [f32; 2])> {
        self.pixels.iter().filter_map(|pixel| self.pixel(pixel))
    }

    fn pixel(&self, [draw, layers]: &[u32; 2]) -> Option<(&TruthDraw, [f32; 2])> {
        let draw = self.draws.get(draw.checked_sub(1)? as usize)?;
        let mip = |layer: u32| (layer & 0xffff) as f32 / PARTS;
        Some((draw, [mip(*layers), mip(layers >> 16)]))
    }
}

/// Of something that lacks so many mips; negative: it has more than it needs.
pub(in crate::mip) fn colour(lacking: i16) -> [u8; 4] {
    match lacking {
        0 => [60, 170, 80, 255],
        1 => [235, 200, 60, 255],
        2 => [235, 130, 40, 255],
        3.. => [200, 30, 40, 255],
        // A mip finer, or more.
        -1 => [80, 150, 200, 255],
        _ => [60, 80, 200, 255],
    }
}

fn mip(of: &TruthUse, layers: [f32; 2]) -> f32 {
    let last = f32::from(of.mips.saturating_sub(1));
    (layers[usize::from(of.layer.min(1))] + of.offset).clamp(0.0, last)
}
