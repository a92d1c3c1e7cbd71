//! The camera's path over the world: cruises, a spiral, fast dives and teleports, as a pure function of time.

use glam::{Vec2, Vec3};

use crate::generate::{WorldOptions, noise::Rng, terrain::MAX_HEIGHT};

/// Where the camera is and where it looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// The position in metres.
    pub position: Vec3,
    /// The direction of view, of length 1.
    pub forward: Vec3,
    /// Whether the camera jumped here: true in the first 60th of a second after a teleport.
    pub teleported: bool,
}

/// A place on the path: the curve between two of them is a cubic with these positions and velocities.
#[derive(Clone, Copy, Debug)]
struct Key {
    time: f32,
    position: Vec3,
    velocity: Vec3,
}

/// A path without jumps; teleports lie between runs.
#[derive(Clone, Debug, Default)]
struct Run {
    keys: Vec<Key>,
}

/// A flight over a whole world, about 40 seconds. The path scales with the world; speeds below are those over the
/// default world, 2048 m wide.
#[derive(Clone, Debug)]
pub struct Flight {
    runs: Vec<Run>,
}

/// Who reaches so many times as far from the middle as the one before is not where one flies.
const OUTLIER: f32 = 10.0;

/// The box around these, but for what lies far from the others, or reaches far around them, as a flight over that would see nothing of the others: one of eight
/// at most.
#[must_use]
pub fn around_most(boxes: &[(Vec3, Vec3)]) -> Option<(Vec3, Vec3)> {
    let middle = Vec3::from_array([0, 1, 2].map(|axis| {
        let mut centers: Vec<f32> = boxes.iter().map(|(min, max)| (min[axis] + max[axis]) / 2.0).collect();
        centers.sort_by(f32::total_cmp);
        centers.get(centers.len() / 2).copied().unwrap_or_default()
    }));
    let reach = |(min, max): &(Vec3, Vec3)| (min - middle).abs().max((max - middle).abs()).max_element();
    let mut boxes = boxes.to_vec();
    boxes.sort_by(|one, other| reach(one).total_cmp(&reach(other)));
    let most = boxes.len() - boxes.len() / 8;
    let mut last = boxes.windows(2).skip(most.saturating_sub(1));
    let jump = last.position(|pair| reach(&pair[1]) > OUTLIER * reach(&pair[0]));
    boxes.truncate(jump.map_or(boxes.len(), |jump| most + jump));
    boxes.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Cruising speed, in world widths per second: 96 m/s over the default world.
const CRUISE: f32 = 0.047;
/// Speed in a dive, in world widths per second: 532 m/s over the default world, more than 8 cells.
const DIVE: f32 = 0.26;
/// How long a dive is at full speed, in seconds.
const DIVE_SECONDS: f32 = 2.35;
/// How long a dive takes to reach that speed, in seconds.
const RAMP_SECONDS: f32 = 0.5;
/// Above the highest ground by this much, in metres, is as low as the camera goes.
const CLEARANCE: f32 = 16.0;
/// How long a pose counts as fresh after a teleport, in seconds.
const FRESH: f32 = 1.0 / 60.0;

impl Flight {
    /// The flight over a world.
    #[must_use]
    pub fn new(options: &WorldOptions, seed: u64) -> Self {
        let mut rng = Rng::new(seed, 21);
        let mut path = Path::new(options.extent());
        let low = rng.range(0.13, 0.17);
        // A cruise along the edge, a spiral down, and a dive across the whole world.
        path.start(Vec2::new(0.05, low), Vec2::new(CRUISE, 0.0), 170.0);
        path.glide(5.0, Vec2::new(0.285, low), Vec2::new(CRUISE, 0.0), 200.0);
        path.spiral(7.0, 0.11, 1.5, 120.0);
        path.glide(1.6, Vec2::new(0.11, 0.36), Vec2::new(-0.06, 0.0), 150.0);
        path.glide(1.8, Vec2::new(0.08, 0.30), Vec2::new(CRUISE, 0.0), 190.0);
        path.dive(Vec2::X, 0.0);
        // Round the far edge and back, a little further inland.
        path.glide(2.4, Vec2::new(0.95, 0.45), Vec2::new(0.0, CRUISE), 130.0);
        path.glide(2.4, Vec2::new(0.92, 0.60), Vec2::new(-CRUISE, 0.0), 210.0);
        path.dive(Vec2::NEG_X, 0.05);
        path.glide(1.5, Vec2::new(0.03, 0.70), Vec2::new(0.0, CRUISE), 120.0);
        // To the opposite corner, and a dive along the other axis.
        path.teleport(1.0, Vec2::new(0.95, 0.96), Vec2::new(-CRUISE, -0.3 * CRUISE), 160.0);
        path.glide(3.0, Vec2::new(0.80, 0.93), Vec2::new(-CRUISE, -0.2 * CRUISE), 200.0);
        path.glide(1.6, Vec2::new(0.74, 0.90), Vec2::new(0.0, -CRUISE), 220.0);
        path.dive(Vec2::NEG_Y, -0.03);
        // To the last corner, and out over the land.
        path.teleport(0.6, Vec2::new(0.05, 0.95), Vec2::new(CRUISE, -0.4 * CRUISE), 140.0);
        let end = Vec2::new(rng.range(0.29, 0.32), rng.range(0.80, 0.84));
        path.glide(5.5, end, Vec2::new(CRUISE, -0.3 * CRUISE), 120.0);
        Self { runs: path.runs }
    }

    /// How long the flight takes, in seconds.
    #[must_use]
    pub fn duration(&self) -> f32 {
        self.runs
            .last()
            .and_then(|run| run.keys.last())
            .map_or(0.0, |key| key.time)
    }

    /// The moments of the teleports, in seconds.
    #[must_use]
    pub fn teleports(&self) -> Vec<f32> {
        self.runs
            .iter()
            .skip(1)
            .filter_map(|run| run.keys.first())
            .map(|key| key.time)
            .collect()
    }

    /// The camera at `t` seconds. Before the start and after the end it rests there.
    #[must_use]
    pub fn pose(&self, t: f32) -> Pose {
        let t = if t.is_finite() {
            t.clamp(0.0, self.duration())
        } else {
            0.0
        };
        let index = self.runs.partition_point(|run| run.keys[0].time <= t).max(1) - 1;
        let run = &self.runs[index];
        // The view follows the course of about a second, so that it does not nod when a dive begins; a little down
        // shows the ground.
        let course = run.at(t + 0.65) - run.at(t - 0.45);
        let forward = (course.normalize_or(Vec3::X) - Vec3::Y * 0.22).normalize();
        Pose {
            position: run.at(t),
            forward,
            teleported: index > 0 && t - run.keys[0].time < FRESH,
        }
    }
}

impl Run {
    /// The position at a time; before the start and after the end it goes on straight.
    fn at(&self, t: f32) -> Vec3 {
        let (first, last) = (&self.keys[0], &self.keys[self.keys.len() - 1]);
        if t <= first.time {
            return first.position + first.velocity * (t - first.time);
        }
        if t >= last.time {
            return last.position + last.velocity * (t - last.time);
        }
        let next = self.keys.partition_point(|key| key.time <= t);
        let (a, b) = (&self.keys[next - 1], &self.keys[next]);
        let length = b.time - a.time;
        let s = (t - a.time) / length;
        let (s2, s3) = (s * s, s * s * s);
        a.position * (2.0 * s3 - 3.0 * s2 + 1.0)
            + a.velocity * (length * (s3 - 2.0 * s2 + s))
            + b.position * (3.0 * s2 - 2.0 * s3)
            + b.velocity * (length * (s3 - s2))
    }
}

/// Builds the runs. Places on the map are in world widths, heights in metres.
struct Path {
    extent: f32,
    runs: Vec<Run>,
    last: Key,
}

impl Path {
    fn new(extent: f32) -> Self {
        let last = Key {
            time: 0.0,
            position: Vec3::ZERO,
            velocity: Vec3::X,
        };
        Self {
            extent,
            runs: Vec::new(),
            last,
        }
    }

    fn push(&mut self, after: f32, place: Vec2, velocity: Vec2, height: f32, climb: f32) {
        let height = height.max(MAX_HEIGHT + CLEARANCE);
        let key = Key {
            time: self.last.time + after,
            position: Vec3::new(place.x * self.extent, height, place.y * self.extent),
            velocity: Vec3::new(velocity.x * self.extent, climb, velocity.y * self.extent),
        };
        self.last = key;
        match self.runs.last_mut() {
            Some(run) => run.keys.push(key),
            None => self.runs.push(Run { keys: vec![key] }),
        }
    }

    fn place(&self) -> Vec2 {
        Vec2::new(self.last.position.x, self.last.position.z) / self.extent
    }

    fn start(&mut self, place: Vec2, velocity: Vec2, height: f32) {
        self.push(0.0, place, velocity, height, 0.0);
    }

    /// Flies on in a smooth curve.
    fn glide(&mut self, seconds: f32, place: Vec2, velocity: Vec2, height: f32) {
        self.push(seconds, place, velocity, height, 0.0);
    }

    /// Jumps after staying on the course for a moment.
    fn teleport(&mut self, seconds: f32, place: Vec2, velocity: Vec2, height: f32) {
        // Between two frames at 60 Hz, so that exactly one frame is the first after it, whatever the rounding.
        let seconds = (((self.last.time + seconds) * 60.0).floor() + 0.5) / 60.0 - self.last.time;
        let course = Vec2::new(self.last.velocity.x, self.last.velocity.z) / self.extent;
        let ahead = self.place() + course * seconds;
        let here = self.last.position.y;
        self.push(seconds, ahead, course, here, 0.0);
        self.runs.push(Run::default());
        self.push(0.0, place, velocity, height, 0.0);
    }

    /// Circles down with a shrinking radius (in world widths), to the right of the course.
    fn spiral(&mut self, seconds: f32, radius: f32, turns: f32, down_to: f32) {
        let center = self.place() + Vec2::new(0.0, radius);
        let from = self.last.position.y;
        let steps = (turns * 8.0).ceil();
        let speed = turns * std::f32::consts::TAU / seconds;
        let shrink = -0.45 * radius / seconds;
        for step in 1..=steps as u32 {
            let part = step as f32 / steps;
            let (sin, cos) = (part * turns * std::f32::consts::TAU).sin_cos();
            let out = Vec2::new(sin, -cos);
            let along = Vec2::new(cos, sin);
            let wide = radius + shrink * seconds * part;
            let climb = (down_to - from) / seconds;
            let height = from + (down_to - from) * part;
            let velocity = along * (speed * wide) + out * shrink;
            self.push(seconds / steps, center + out * wide, velocity, height, climb);
        }
    }

    /// Dives along an axis: down and faster, level at full speed, up and slower. `drift` is the way to the side.
    fn dive(&mut self, axis: Vec2, drift: f32) {
        let side = axis.perp() * drift;
        let total = DIVE_SECONDS + 2.0 * RAMP_SECONDS;
        let ramp = (CRUISE + DIVE) * 0.5 * RAMP_SECONDS;
        let start = self.place();
        let top = self.last.position.y;
        let bottom = MAX_HEIGHT + CLEARANCE;
        let fast = axis * DIVE;
        let at = |way: f32, part: f32| start + axis * way + side * part;
        let entry = RAMP_SECONDS / total;
        self.push(RAMP_SECONDS, at(ramp, 0.0), fast, bottom + 12.0, -30.0);
        let middle = ramp + DIVE * DIVE_SECONDS * 0.5;
        self.push(DIVE_SECONDS * 0.5, at(middle, 0.5), fast + side / total, bottom, 0.0);
        let end = ramp + DIVE * DIVE_SECONDS;
        self.push(DIVE_SECONDS * 0.5, at(end, 1.0 - entry), fast, bottom + 12.0, 30.0);
        self.push(RAMP_SECONDS, at(end + ramp, 1.0), axis * CRUISE, top * 0.7, 0.0);
    }
}

#[cfg(test)]
mod tests;
