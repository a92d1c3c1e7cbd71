//! `mip_accuracy`: how many pixels lack the mip that they sample, by the GPU's own answer, and what that costs beside the least that would do.
//!
//! The room is looked at from places in it. `ample`: the pool has room for all mips, and each picture is taken when nothing goes on any more. `half`: the same with
//! half of those bytes, where textures are magnified, so that all that is wanted, seen or not, is more than the pool holds. `moving`: the pool of `ample`, and a
//! camera that walks at 1.5 m/s and turns; pictures are taken on the way.
//!
//! A sample is the part of pixels of a picture that lack a mip, in percent; both are of the very frame that the picture is of, on the way if the camera walks. The rows of
//! bytes have what the textures in the picture have on the GPU in that frame, beside the least that would do: what some pixel of it samples. Of what is not in the picture,
//! truth says nothing, and one mip less is wanted than if it were, as long as the pool has room: the note has all textures, beside the least with the others at their floors.

use bevy::{asset::AssetId, image::Image, prelude::*};
use bevy_seamless::render::mip::{MipChain, MipSettings, MipStats, MipTextures, Residency, TruthPicture};
use seamless_tests::picture::has_driver;

use super::room::{By, Road, Room, Textures, pose};
use crate::row::{Row, Samples, Targets};

/// Places that are looked from.
const PLACES: usize = 24;
/// Frames between two pictures of the walk.
const STEPS: u32 = 12;
/// Metres and turns of a frame.
const WALK: f32 = 1.5 / 60.0;
/// So much less often than in the other room textures are repeated where the pool is to be too small for all: finer mips are sampled then.
const FEW: f32 = 0.06;
/// How many times the bytes of the least that would do may be there.
const MOST_BYTES: f64 = 1.3;

/// What is measured.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Variant {
    Ample,
    Half,
    Moving,
}

impl Variant {
    /// Of the row of pixels, and of that of bytes.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Ample => ["mip_accuracy/ample", "mip_accuracy/ample_bytes"],
            Self::Half => ["mip_accuracy/half", "mip_accuracy/half_bytes"],
            Self::Moving => ["mip_accuracy/moving", "mip_accuracy/moving_bytes"],
        }
    }

    /// The room of `half` is one whose things, together, want more than there is: all that a picture shows fits, what nobody sees does not.
    fn room(self, by: By) -> Room {
        if self != Self::Half {
            return Room::new(by, Road::Best, 1.25, Textures::default());
        }
        let textures = Textures {
            repeats: FEW,
            ..Textures::default()
        };
        Room::new(by, Road::Best, 0.5, textures)
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

/// Measures how many pixels lack what they sample, and what is there for that.
pub fn run(variant: Variant, samples: Option<usize>) -> Vec<Row> {
    if !has_driver() {
        return Vec::new();
    }
    let both = pictures(variant, By::PredictionAndTruth, samples);
    assert!(variant != Variant::Half || both.crowd > 1.0, "all that is wanted fits");
    let alone = pictures(variant, By::Prediction, samples);
    let mean_lacking = mean(&both.lacking);
    let note = format!(
        "in the mean {mean_lacking:.3} % lack a mip, and {:.2}× the least bytes are there (≤ {MOST_BYTES}); with prediction alone {:.3} % and {:.2}×; what is not in the picture counted, {:.2}×; all that is wanted, seen or not, would take {:.2}× the pool",
        both.seen.excess(),
        mean(&alone.lacking),
        alone.seen.excess(),
        both.all.excess(),
        both.crowd,
    );
    let [pixels, bytes] = variant.names();
    let result = Samples {
        ours: vec![mean_lacking],
        limit: vec![variant.allowed()],
        ..Samples::default()
    };
    let of_limit = |most| Targets {
        of_limit: Some(most),
        ..Targets::default()
    };
    let mut row = result.row(pixels, "% of pixels", None, Some("allowed"), of_limit(1.0));
    row.samples = both.lacking.len();
    row.note = note;
    let result = Samples {
        ours: both.seen.resident,
        limit: both.seen.least,
        ..Samples::default()
    };
    let bytes = result.row(bytes, "MB", None, Some("least by truth"), of_limit(MOST_BYTES));
    vec![row, bytes]
}

/// What pictures tell.
struct Pictures {
    /// Of each, the part that lacks something, in percent.
    lacking: Vec<f64>,
    /// Of each, the bytes of the textures in it.
    seen: Bytes,
    /// Of each, the bytes of all textures.
    all: Bytes,
    /// In the mean, what all textures would take that are as fine as is wanted, seen or not, beside the pool.
    crowd: f64,
}

/// In megabytes, a picture each.
#[derive(Default)]
struct Bytes {
    /// What textures had on the GPU.
    resident: Vec<f64>,
    /// The least that would do.
    least: Vec<f64>,
}

impl Bytes {
    fn push(&mut self, [resident, least]: [u64; 2]) {
        self.resident.push(resident as f64 / 1e6);
        self.least.push(least as f64 / 1e6);
    }

    /// How many times the least bytes were there.
    fn excess(&self) -> f64 {
        mean(&self.resident) / mean(&self.least)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn pictures(variant: Variant, by: By, samples: Option<usize>) -> Pictures {
    let mut room = variant.room(by);
    let (mut lacking, mut crowd) = (Vec::new(), Vec::new());
    let (mut seen, mut all) = (Bytes::default(), Bytes::default());
    room.settle();
    let mut from = pose(0);
    let mut walk = |room: &mut Room| {
        if variant == Variant::Moving {
            from = step(from);
            room.look(from);
        }
    };
    for number in 0..samples.unwrap_or(PLACES) {
        if variant == Variant::Moving {
            for _ in 0..STEPS {
                walk(&mut room);
                room.frame();
            }
        } else {
            room.look(pose(number as u32));
            room.settle();
        }
        let (picture, resident) = room.truth(&mut walk);
        let accuracy = picture.accuracy();
        lacking.push(accuracy.lacking as f64 / accuracy.pixels.max(1) as f64 * 100.0);
        seen.push(room.bytes(&picture, &resident, true));
        all.push(room.bytes(&picture, &resident, false));
        crowd.push(room.crowd());
    }
    Pictures {
        lacking,
        seen,
        all,
        crowd: mean(&crowd),
    }
}

/// A frame of the walk.
fn step(mut from: Transform) -> Transform {
    from.rotate_y(0.01);
    let (least, most) = (Vec3::new(-5.0, 1.2, -5.0), Vec3::new(5.0, 2.0, 5.0));
    from.translation = (from.translation + from.forward() * WALK).clamp(least, most);
    from
}

impl Room {
    /// What all textures would take that are as fine as is wanted, seen or not, beside the pool.
    fn crowd(&self) -> f64 {
        let perfect = self.app.world().resource::<MipStats>().perfect;
        perfect as f64 / self.app.world().resource::<MipSettings>().pool as f64
    }

    /// What textures had, all or those in the picture, and the least that would do, in bytes.
    fn bytes(&self, picture: &TruthPicture, resident: &[(AssetId<Image>, Residency)], only_seen: bool) -> [u64; 2] {
        let textures = self.app.world().resource::<MipTextures>();
        let needed = picture.needed();
        let mut bytes = [0; 2];
        let counted = |image: &AssetId<Image>| !only_seen || needed.contains_key(image);
        for (image, resident) in resident.iter().filter(|(image, _)| counted(image)) {
            let record = textures.number(*image).and_then(|texture| textures.get(texture));
            let chain = record.expect("it streams").chain();
            bytes[0] += resident.bytes;
            bytes[1] += least(chain, needed.get(image).copied());
        }
        bytes
    }
}

/// The least bytes of a texture of which some pixel samples this mip, or none does.
pub(super) fn least(chain: &MipChain, needed: Option<u8>) -> u64 {
    chain.bytes(needed.map_or(chain.floor(), |mip| chain.top_for(mip)))
}
