//! What the camera flies among.

use bevy_math::{Vec3, vec3};
use seamless_render::mip::{MipChain, bench_support};
use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

pub(super) const MATERIALS: u32 = 2000;
pub(super) const TEXTURES: u32 = 4000;
/// Metres along each side.
const SIDE: f32 = 2000.0;
/// The ring that the camera flies, in metres: half a metre a frame, 30 m/s.
const RADIUS: f32 = 95.49;
/// Once around.
const FRAMES: u32 = 1200;
/// Half of the angle that it sees, as a cosine, and how far, in metres.
const SEEN_COSINE: f32 = 0.7;
const SEEN_METRES: f32 = 600.0;

/// Something that is drawn.
pub(super) struct Thing {
    pub center: Vec3,
    pub half: Vec3,
    /// By which its texture coordinates grow by one.
    pub metres: f32,
    pub material: u32,
}

impl Thing {
    pub fn drawn(&self) -> bench_support::Thing {
        bench_support::Thing {
            center: self.center,
            half: self.half,
            metres: self.metres,
            material: self.material,
        }
    }
}

/// A frame of the flight.
pub(super) struct Moment {
    pub position: Vec3,
    /// Who is seen now that was not, and the other way round.
    pub seen: Vec<(u32, bool)>,
}

pub(super) struct World {
    pub things: Vec<Thing>,
    pub chains: Vec<MipChain>,
    /// The last one leads to the first.
    pub frames: Vec<Moment>,
}

impl World {
    pub fn new(count: usize) -> Self {
        let mut random = Random(1);
        let things: Vec<Thing> = (0..count).map(|_| thing(&mut random)).collect();
        let chains = (0..TEXTURES).map(|_| chain(512 << random.below(4))).collect();
        let mut seen = vec![false; count];
        // The first round finds what is seen at its end, which is before the first frame.
        moments(&things, &mut seen);
        let frames = moments(&things, &mut seen);
        Self { things, chains, frames }
    }
}

fn thing(random: &mut Random) -> Thing {
    let half = vec3(random.part(), random.part(), random.part()) * 4.0 + 0.2;
    let place = vec3(random.part() - 0.5, 0.0, random.part() - 0.5) * SIDE;
    Thing {
        center: place + Vec3::Y * half.y,
        half,
        material: random.below(MATERIALS.into()) as u32,
        metres: 0.5 + random.part() * 4.0,
    }
}

fn chain(side: u32) -> MipChain {
    let size = Extent3d {
        width: side,
        height: side,
        depth_or_array_layers: 1,
    };
    let mips = side.ilog2() + 1;
    // Mips of 64 and less come with the package.
    MipChain::new(
        size,
        TextureDimension::D2,
        1,
        TextureFormat::Bc7RgbaUnorm,
        mips,
        mips - 7,
    )
    .expect("it streams")
}

fn moments(things: &[Thing], seen: &mut [bool]) -> Vec<Moment> {
    (0..FRAMES).map(|frame| moment(frame, things, seen)).collect()
}

fn moment(frame: u32, things: &[Thing], seen: &mut [bool]) -> Moment {
    let angle = frame as f32 / FRAMES as f32 * core::f32::consts::TAU;
    let (sine, cosine) = angle.sin_cos();
    let ahead = vec3(-sine, 0.0, cosine);
    let position = vec3(cosine, 0.0, sine) * RADIUS + Vec3::Y * 2.0;
    let sees = |thing: &Thing| {
        let way = thing.center - position;
        way.length() < SEEN_METRES && way.dot(ahead) > way.length() * SEEN_COSINE
    };
    let mut changed = Vec::new();
    for ((index, thing), was) in (0..).zip(things).zip(seen) {
        let is = sees(thing);
        if core::mem::replace(was, is) != is {
            changed.push((index, is));
        }
    }
    Moment {
        position,
        seen: changed,
    }
}

/// The same numbers in every run: a linear congruential generator with Knuth's constants.
struct Random(u64);

impl Random {
    /// A number from 0 up to, not with, `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A number from 0 up to, not with, 1.
    fn part(&mut self) -> f32 {
        self.below(1 << 24) as f32 / (1 << 24) as f32
    }
}
