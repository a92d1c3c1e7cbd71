//! Seeded randomness and gradient noise with derivatives: the same numbers on every machine and in every run.

use glam::Vec2;

/// Mixes 64 bits well (the finaliser of SplitMix64).
#[must_use]
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A small random generator. Streams with different `(seed, stream)` are independent.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator for one purpose (`stream`) of one world (`seed`).
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(mix(seed ^ mix(stream.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0.0..1.0`.
    pub fn unit(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / 16_777_216.0
    }

    /// A number in `low..high`.
    pub fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// A whole number in `0..count`; 0 when `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.next_u64() % (count.max(1) as u64)) as usize
    }
}

/// A noise value and its slope along both axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// The value, about -1 to 1 for one octave.
    pub value: f32,
    /// The derivative of the value by position.
    pub slope: Vec2,
}

/// Two-dimensional gradient noise.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    seed: u64,
}

/// The eight gradients of the lattice.
const GRADIENTS: [(f32, f32); 8] = [
    (1.0, 0.0),
    (-1.0, 0.0),
    (0.0, 1.0),
    (0.0, -1.0),
    (0.707, 0.707),
    (-0.707, 0.707),
    (0.707, -0.707),
    (-0.707, -0.707),
];

impl Noise {
    /// Noise for one purpose (`stream`) of one world (`seed`).
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        Self {
            seed: mix(seed.wrapping_mul(31).wrapping_add(stream)),
        }
    }

    /// A well-mixed number of a lattice point.
    fn hash(&self, x: i32, y: i32) -> u32 {
        let packed = u64::from(x as u32) | (u64::from(y as u32) << 32);
        (mix(self.seed ^ packed.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 32) as u32
    }

    fn gradient(&self, x: i32, y: i32) -> Vec2 {
        let (gx, gy) = GRADIENTS[(self.hash(x, y) & 7) as usize];
        Vec2::new(gx, gy)
    }

    /// One octave at `p`. With a `period` above 0 the lattice repeats after that many steps, so the noise tiles.
    #[must_use]
    pub fn sample(&self, p: Vec2, period: i32) -> Sample {
        let (x0, y0) = (p.x.floor(), p.y.floor());
        let (fx, fy) = (p.x - x0, p.y - y0);
        let (x0, y0) = (x0 as i32, y0 as i32);
        let wrap = |v: i32| if period > 0 { v.rem_euclid(period) } else { v };
        let (xa, xb, ya, yb) = (wrap(x0), wrap(x0 + 1), wrap(y0), wrap(y0 + 1));
        let (g00, g10) = (self.gradient(xa, ya), self.gradient(xb, ya));
        let (g01, g11) = (self.gradient(xa, yb), self.gradient(xb, yb));
        let n00 = g00.dot(Vec2::new(fx, fy));
        let n10 = g10.dot(Vec2::new(fx - 1.0, fy));
        let n01 = g01.dot(Vec2::new(fx, fy - 1.0));
        let n11 = g11.dot(Vec2::new(fx - 1.0, fy - 1.0));
        let (u, du) = fade(fx);
        let (v, dv) = fade(fy);
        let (low, high) = (n00 + (n10 - n00) * u, n01 + (n11 - n01) * u);
        let twist = n00 - n10 - n01 + n11;
        let blended = g00 + (g10 - g00) * u + (g01 - g00) * v + (g00 - g10 - g01 + g11) * (u * v);
        let slope = blended + Vec2::new(du * (n10 - n00 + twist * v), dv * (n01 - n00 + twist * u));
        Sample {
            value: (low + (high - low) * v) * SCALE,
            slope: slope * SCALE,
        }
    }

    /// `octaves` octaves, each twice as fine and half as strong; divided by the sum of their strengths.
    #[must_use]
    pub fn fractal(&self, p: Vec2, octaves: u32, period: i32) -> Sample {
        let (mut total, mut strength, mut scale, mut sum) = (Sample::default(), 1.0, 1.0, 0.0);
        for octave in 0..octaves {
            let layer = Self {
                seed: mix(self.seed.wrapping_add(u64::from(octave))),
            };
            let sample = layer.sample(p * scale, period << octave);
            total.value += sample.value * strength;
            total.slope += sample.slope * (strength * scale);
            sum += strength;
            strength *= 0.5;
            scale *= 2.0;
        }
        Sample {
            value: total.value / sum,
            slope: total.slope / sum,
        }
    }

    /// The distance from `p` to the nearest and to the second nearest of scattered points (one per lattice cell), and a
    /// number in `0.0..1.0` that belongs to the nearest one. Tiles after `period` steps.
    #[must_use]
    pub fn cells(&self, p: Vec2, period: i32) -> (f32, f32, f32) {
        let (x0, y0) = (p.x.floor() as i32, p.y.floor() as i32);
        let (mut first, mut second, mut id) = (f32::MAX, f32::MAX, 0);
        for y in y0 - 1..=y0 + 1 {
            for x in x0 - 1..=x0 + 1 {
                let hash = self.hash(x.rem_euclid(period), y.rem_euclid(period));
                let px = x as f32 + (hash & 0x3ff) as f32 / 1024.0;
                let py = y as f32 + ((hash >> 10) & 0x3ff) as f32 / 1024.0;
                let distance = (px - p.x) * (px - p.x) + (py - p.y) * (py - p.y);
                if distance < first {
                    second = first;
                    first = distance;
                    id = hash >> 20;
                } else if distance < second {
                    second = distance;
                }
            }
        }
        (first.sqrt(), second.sqrt(), id as f32 / 4096.0)
    }
}

/// Brings one octave to about -1 to 1.
const SCALE: f32 = 1.5;

/// The quintic blend and its derivative.
fn fade(t: f32) -> (f32, f32) {
    let value = t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let slope = 30.0 * t * t * (t * (t - 2.0) + 1.0);
    (value, slope)
}

/// 0 below `low`, 1 above `high`, smooth between; and its derivative.
#[must_use]
pub fn smoothstep(low: f32, high: f32, x: f32) -> (f32, f32) {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    (t * t * (3.0 - 2.0 * t), 6.0 * t * (1.0 - t) / (high - low))
}
