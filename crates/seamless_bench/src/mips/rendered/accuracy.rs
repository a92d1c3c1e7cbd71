//! `mip_accuracy`: how many pixels lack the mip that they sample, by the GPU's own answer, and what that costs beside the least that would do.
//!
//! The room is looked at from places in it. `ample`: the pool has room for all mips, and each picture is taken when nothing goes on any more. `half`: the same with
//! half of those bytes, where textures are magnified, so that all that is wanted, seen or not, is more than the pool holds. `moving`: the pool of `ample`, and a
//! camera that walks at 1.5 m/s and turns; pictures are taken on the way.
//!
//! A sample is the part of pixels of a picture that lack a mip, in percent. Bytes are those of the textures that are seen in a picture, as fine as they are wanted,
//! beside the same as fine as some pixel samples them.

use bevy::{asset::AssetId, ecs::system::RunSystemOnce, image::Image, prelude::*};
use bevy_seamless::render::mip::{MipSettings, MipStats, MipTextures, Mips, TruthPicture};
use seamless_tests::picture::has_driver;

use super::room::{By, Room, Textures, pose};
use crate::row::{Row, Samples, Targets};

/// Places that are looked from.
const PLACES: usize = 24;
/// Frames between two pictures of the walk.
const STEPS: u32 = 12;
/// Metres and turns of a frame.
const WALK: f32 = 1.5 / 60.0;
/// So much less often than in the other room textures are repeated where the pool is to be too small for all: finer mips are sampled then.
const FEW: f32 = 0.06;
/// How many times the bytes of the least that would do may be wanted.
const MOST_BYTES: f64 = 1.3;

/// What is measured.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Variant {
    Ample,
    Half,
    Moving,
}

impl Variant {
    fn name(self) -> &'static str {
        match self {
            Self::Ample => "mip_accuracy/ample",
            Self::Half => "mip_accuracy/half",
            Self::Moving => "mip_accuracy/moving",
        }
    }

    /// The room of `half` is one whose things, together, want more than there is: all that a picture shows fits, what nobody sees does not.
    fn room(self, by: By) -> Room {
        if self != Self::Half {
            return Room::new(by, 1.25, Textures::default());
        }
        let textures = Textures {
            repeats: FEW,
            ..Textures::default()
        };
        Room::new(by, 0.5, textures)
    }

    /// In percent.
    fn allowed(self) -> f64 {
        match self {
            Self::Ample => 0.5,
            Self::Half => 1.0,
            Self::Moving => 3.0,
        }
    }
}

/// Measures how many pixels lack what they sample.
pub fn run(variant: Variant, samples: Option<usize>) -> Option<Row> {
    if !has_driver() {
        return None;
    }
    let both = pictures(variant, By::PredictionAndTruth, samples);
    assert!(variant != Variant::Half || both.crowd > 1.0, "all that is wanted fits");
    let alone = pictures(variant, By::Prediction, samples);
    let mean_lacking = mean(&both.lacking);
    let note = format!(
        "in the mean {mean_lacking:.3} % lack a mip, and {:.2}× the least bytes are wanted (≤ {MOST_BYTES}); with prediction alone {:.3} % and {:.2}×; all that is wanted, seen or not, would take {:.2}× the pool",
        both.bytes,
        mean(&alone.lacking),
        alone.bytes,
        both.crowd,
    );
    let result = Samples {
        ours: vec![mean_lacking],
        limit: vec![variant.allowed()],
        ..Samples::default()
    };
    let targets = Targets {
        of_limit: Some(1.0),
        ..Targets::default()
    };
    let mut row = result.row(variant.name(), "% of pixels", None, Some("allowed"), targets);
    row.samples = both.lacking.len();
    row.note = note;
    Some(row)
}

/// What pictures tell.
struct Pictures {
    /// Of each, the part that lacks something, in percent.
    lacking: Vec<f64>,
    /// How many times the least bytes are wanted.
    bytes: f64,
    /// In the mean, what all textures would take that are as fine as is wanted, seen or not, beside the pool.
    crowd: f64,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn pictures(variant: Variant, by: By, samples: Option<usize>) -> Pictures {
    let mut room = variant.room(by);
    let (mut lacking, mut bytes, mut crowd) = (Vec::new(), [0.0; 2], Vec::new());
    room.settle();
    let mut from = pose(0);
    for number in 0..samples.unwrap_or(PLACES) {
        if variant == Variant::Moving {
            for _ in 0..STEPS {
                from.rotate_y(0.01);
                from.translation = (from.translation + from.forward() * WALK)
                    .clamp(Vec3::new(-5.0, 1.2, -5.0), Vec3::new(5.0, 2.0, 5.0));
                room.look(from);
                room.frame();
            }
        } else {
            room.look(pose(number as u32));
            room.settle();
        }
        let picture = room.truth();
        let accuracy = picture.accuracy();
        lacking.push(accuracy.lacking as f64 / accuracy.pixels.max(1) as f64 * 100.0);
        let [wanted, least] = room.bytes(&picture);
        bytes = [bytes[0] + wanted, bytes[1] + least];
        crowd.push(room.crowd());
    }
    Pictures {
        lacking,
        bytes: bytes[0] / bytes[1],
        crowd: mean(&crowd),
    }
}

impl Room {
    /// What all textures would take that are as fine as is wanted, seen or not, beside the pool.
    fn crowd(&self) -> f64 {
        let perfect = self.app.world().resource::<MipStats>().perfect;
        perfect as f64 / self.app.world().resource::<MipSettings>().pool as f64
    }

    /// What is wanted of all that a picture shows, and the least that would do, in bytes.
    fn bytes(&mut self, picture: &TruthPicture) -> [f64; 2] {
        let wanted: Vec<(AssetId<Image>, u8)> = {
            let images: Vec<AssetId<Image>> = self.images.iter().map(Handle::id).collect();
            let system = move |mips: Mips| -> Vec<(AssetId<Image>, u8)> {
                let wanted = |image: &AssetId<Image>| Some((*image, mips.residency(*image)?.wanted));
                images.iter().filter_map(wanted).collect()
            };
            let told = self.app.world_mut().run_system_once(system);
            told.unwrap_or_else(|error| panic!("mip streaming does not answer: {error}"))
        };
        let textures = self.app.world().resource::<MipTextures>();
        let needed = picture.needed();
        let mut bytes = [0.0; 2];
        for (image, wanted) in wanted {
            let record = textures.number(image).and_then(|texture| textures.get(texture));
            if let Some((record, mip)) = record.zip(needed.get(&image)) {
                let chain = record.chain();
                bytes[0] += chain.bytes(wanted) as f64;
                bytes[1] += chain.bytes(chain.top_for(*mip)) as f64;
            }
        }
        bytes
    }
}
