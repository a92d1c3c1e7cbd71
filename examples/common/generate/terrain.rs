//! The ground: one height function for the whole world, so that cells meet without a seam.

use glam::{Vec2, Vec3};

use super::{
    WorldOptions,
    noise::{Noise, Rng, Sample, smoothstep},
};

/// The highest the ground can be, in metres.
pub const MAX_HEIGHT: f32 = 72.0;

/// Where a town lies. Its ground is flattened, and nothing else grows there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TownSite {
    /// The centre on the ground plane (x, z), in metres.
    pub center: Vec2,
    /// The height of its ground, in metres.
    pub height: f32,
    /// The turn about the vertical axis, in radians.
    pub turn: f32,
}

/// Within this distance of its centre a town's ground is flat, in metres.
pub const TOWN_RADIUS: f32 = 26.0;
/// At this distance a town no longer shapes the ground, in metres.
const TOWN_BLEND: f32 = 46.0;

/// The height function of a world and the towns on it.
#[derive(Clone, Debug)]
pub struct Terrain {
    broad: Noise,
    fine: Noise,
    /// The towns, in the order of their numbers.
    pub towns: Vec<TownSite>,
}

impl Terrain {
    /// The terrain of a world.
    #[must_use]
    pub fn new(seed: u64, options: &WorldOptions) -> Self {
        let mut terrain = Self {
            broad: Noise::new(seed, 1),
            fine: Noise::new(seed, 2),
            towns: Vec::new(),
        };
        terrain.towns = choose_towns(&terrain, seed, options);
        terrain
    }

    /// The height in metres and its slope at a place on the ground plane (x, z).
    #[must_use]
    pub fn ground(&self, p: Vec2) -> Sample {
        let mut ground = self.wild(p);
        for town in &self.towns {
            let offset = p - town.center;
            let distance = offset.length();
            if distance >= TOWN_BLEND {
                continue;
            }
            let (keep, keep_slope) = smoothstep(TOWN_RADIUS, TOWN_BLEND, distance);
            let away = if distance > 0.0 { offset / distance } else { Vec2::ZERO };
            ground.slope = ground.slope * keep + away * (keep_slope * (ground.value - town.height));
            ground.value = town.height + (ground.value - town.height) * keep;
        }
        ground
    }

    /// The ground as it would be without towns.
    fn wild(&self, p: Vec2) -> Sample {
        let broad = self.broad.fractal(p / 420.0, 3, 0);
        let fine = self.fine.fractal(p / 60.0, 3, 0);
        let (rough, rough_slope) = smoothstep(-0.2, 0.5, broad.value);
        // Fine relief is stronger where the land is high.
        let relief = 1.5 + 6.5 * rough;
        let height = 30.0 + broad.value * 48.0 + fine.value * relief;
        if !(0.0..=MAX_HEIGHT).contains(&height) {
            return Sample {
                value: height.clamp(0.0, MAX_HEIGHT),
                slope: Vec2::ZERO,
            };
        }
        let by_broad = 48.0 + fine.value * 6.5 * rough_slope;
        Sample {
            value: height,
            slope: broad.slope * (by_broad / 420.0) + fine.slope * (relief / 60.0),
        }
    }

    /// The ground's normal for a slope.
    #[must_use]
    pub fn normal(slope: Vec2) -> Vec3 {
        Vec3::new(-slope.x, 1.0, -slope.y).normalize()
    }

    /// Whether a place lies in a town.
    #[must_use]
    pub fn in_town(&self, p: Vec2) -> bool {
        self.towns.iter().any(|town| town.center.distance(p) < TOWN_RADIUS)
    }
}

/// Picks a town's site in every few cells, the flattest of some tries, never two in touch.
fn choose_towns(terrain: &Terrain, seed: u64, options: &WorldOptions) -> Vec<TownSite> {
    let mut rng = Rng::new(seed, 3);
    let mut towns: Vec<TownSite> = Vec::new();
    let (extent, margin) = (options.extent(), TOWN_BLEND);
    for _ in 0..options.towns * 40 {
        if towns.len() >= options.towns || extent <= 2.0 * margin {
            break;
        }
        let mut best: Option<(f32, Vec2)> = None;
        for _ in 0..6 {
            let p = Vec2::new(rng.range(margin, extent - margin), rng.range(margin, extent - margin));
            let steep = terrain.wild(p).slope.length();
            let free = towns.iter().all(|town| town.center.distance(p) > 2.0 * TOWN_BLEND);
            if free && best.is_none_or(|(other, _)| steep < other) {
                best = Some((steep, p));
            }
        }
        if let Some((_, center)) = best {
            // Whole metres: short numbers in the text files.
            let center = center.round();
            let height = (terrain.wild(center).value * 4.0).round() / 4.0;
            let turn = rng.below(24) as f32 * std::f32::consts::TAU / 24.0;
            towns.push(TownSite { center, height, turn });
        }
    }
    towns
}
