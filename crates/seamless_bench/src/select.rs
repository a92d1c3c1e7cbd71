//! `select_10k`: which of 10 000 levels are wanted, seen from four sources, once a frame.
//!
//! The levels are cells of 100 m on a grid, each with a box around it, 160 m wider and with a margin of 20 m.
//!
//! * Ours: [`Selector::update`].
//! * Peer: every volume is tested against every source, and against the three places where it will be if it moves, and every level is compared
//!   with what it was: what one writes first. It is written as well as ours, with the same distances and without an allocation.
//!
//! In `select_10k/rest` nobody moves; in `select_10k/moving` all four go at 30 m/s, sixty frames a second, and look a second ahead; in
//! `select_10k/crowd` a thousand do, as on a server that follows its players. Both sides have to want the same levels in the end.

mod plugin;

use std::{borrow::Borrow, collections::VecDeque, hint::black_box};

use bevy_math::{Vec3, vec3};
use seamless_level::{
    LevelTarget, VolumeShape,
    select::{LevelInput, Presence, SelectionLimits, Selector, SourceInput, VolumeInput},
};

use crate::{
    app::cpu_ns,
    row::{Row, Samples, Targets},
};

/// Cells along each side.
const SIDE: u32 = 100;
/// Their size in metres.
const CELL: f32 = 100.0;
const MARGIN: f32 = 20.0;
/// How far a source goes in a frame: 30 m/s.
const STEP: f32 = 0.5;
/// Frames a second.
const RATE: f32 = 60.0;
/// The parts of the way ahead at which a source that moves asks, too.
const AHEAD: [f32; 3] = [1.0 / 3.0, 2.0 / 3.0, 1.0];
/// Frames after which a level is there.
const UNTIL_THERE: usize = 10;
/// Frames of one sample.
const FRAMES: u32 = 200;
/// Sources of a crowd.
const CROWD: usize = 1_000;
/// Where its sources begin, along each side.
const SPREAD: f32 = 6_000.0;

/// What the sources do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Nothing.
    Rest,
    /// They move.
    Moving,
    /// So does a crowd.
    Crowd,
}

impl Variant {
    /// By how much ours is to be faster.
    fn targets(self) -> Targets {
        let gain = match self {
            Self::Rest => 50.0,
            Self::Moving | Self::Crowd => 10.0,
        };
        Targets {
            first: gain,
            aim: gain,
            of_limit: None,
        }
    }

    /// Frames of one sample, and so many samples if nobody says how many.
    fn size(self) -> (u32, usize) {
        match self {
            Self::Rest | Self::Moving => (FRAMES, 51),
            // The peer takes a tenth of a second for one.
            Self::Crowd => (10, 5),
        }
    }
}

pub use plugin::run as run_plugin;

/// Measures selecting.
pub fn run(variant: Variant, samples: Option<usize>) -> Row {
    let volumes: Vec<VolumeInput> = (0..SIDE * SIDE).map(volume).collect();
    let mut selector = Selector::new(&vec![LevelInput::default(); volumes.len()]);
    for volume in &volumes {
        selector.add_volume(volume.clone());
    }
    let mut ours = Ours::new(selector);
    let mut brute = BruteForce::new(volumes.len());
    let tested = || volumes.iter().map(|volume| (&volume.shape, volume.unload_margin));
    let mut result = Samples::default();
    let (size, usual) = variant.size();
    for round in 0..samples.unwrap_or(usual) as u32 + 1 {
        let frames: Vec<_> = (round * size..(round + 1) * size)
            .map(|frame| sources(variant, frame))
            .collect();
        let (our_ns, ()) = cpu_ns(|| frames.iter().for_each(|sources| ours.update(sources)));
        let (peer_ns, ()) = cpu_ns(|| {
            let frames = frames.iter();
            frames.for_each(|sources| brute.update(tested(), black_box(sources).iter()));
        });
        check(&ours.selector, &brute);
        // The first round brings the levels of the start.
        if round > 0 {
            result.ours.push(our_ns / f64::from(size));
            result.peer.push(peer_ns / f64::from(size));
        }
    }
    let name = match variant {
        Variant::Rest => "select_10k/rest",
        Variant::Moving => "select_10k/moving",
        Variant::Crowd => "select_10k/crowd",
    };
    result.row(name, "ns/frame", Some("each volume is tested"), None, variant.targets())
}

fn volume(level: u32) -> VolumeInput {
    let (x, z) = ((level % SIDE) as f32 * CELL, (level / SIDE) as f32 * CELL);
    VolumeInput {
        shape: VolumeShape::Box {
            min: vec3(x - 80.0, -500.0, z - 80.0),
            max: vec3(x + CELL + 80.0, 2000.0, z + CELL + 80.0),
        },
        unload_margin: MARGIN,
        levels: [level].into(),
        ..VolumeInput::default()
    }
}

/// Four sources, or a crowd; those that move go along the grid, each its own way, and back.
fn sources(variant: Variant, frame: u32) -> Vec<SourceInput> {
    let (way, speed) = match variant {
        Variant::Rest => (0.0, 0.0),
        Variant::Moving | Variant::Crowd => (frame as f32 * STEP, STEP * RATE),
    };
    let length = 5000.0;
    let way = way % (2.0 * length);
    let along = length - (way - length).abs();
    let speed = if way < length { speed } else { -speed };
    let directions = [vec3(1.0, 0.0, 0.2), vec3(0.3, 0.0, 1.0), vec3(0.7, 0.0, 0.7), Vec3::X];
    let source = |(place, direction): (Vec3, Vec3)| SourceInput {
        position: place + direction * along,
        velocity: direction * speed,
        ..SourceInput::default()
    };
    let starts = (1u16..).map(|number| vec3(700.0 * f32::from(number) + 37.0, 12.0, 611.0 * f32::from(number)));
    let all = starts.zip(directions.into_iter().cycle());
    match variant {
        Variant::Rest | Variant::Moving => all.take(4).map(source).collect(),
        Variant::Crowd => {
            let inside = all.map(|(start, direction)| (start % SPREAD, direction));
            inside.take(CROWD).map(source).collect()
        }
    }
}

/// Ours, and levels that come as it says.
struct Ours {
    selector: Selector,
    /// Those on their way, by the frame in which they are there.
    coming: VecDeque<Vec<u32>>,
}

impl Ours {
    fn new(selector: Selector) -> Self {
        Self {
            selector,
            coming: vec![Vec::new(); UNTIL_THERE].into(),
        }
    }

    fn update(&mut self, sources: &[SourceInput]) {
        let limits = SelectionLimits {
            max_levels: 8192,
            ..SelectionLimits::default()
        };
        let mut there = self.coming.pop_front().unwrap_or_default();
        for level in there.drain(..) {
            if self.selector.presence(level) == Presence::Coming {
                self.selector.set_presence(level, Presence::There);
            }
        }
        let plan = black_box(self.selector.update(black_box(sources), 0.0, &limits));
        let left: Vec<u32> = plan.fall.iter().map(|(level, _)| *level).collect();
        there.extend(plan.rise.iter().map(|(level, _)| *level));
        left.iter()
            .for_each(|level| self.selector.set_presence(*level, Presence::Away));
        there
            .iter()
            .for_each(|level| self.selector.set_presence(*level, Presence::Coming));
        self.coming.push_back(there);
    }
}

/// The peer.
struct BruteForce {
    /// Where sources are, and will be.
    places: Vec<Vec3>,
    wanted: Vec<bool>,
    was: Vec<bool>,
    changed: Vec<u32>,
}

impl BruteForce {
    /// One that knows so many volumes, each with a level of its own.
    fn new(volumes: usize) -> Self {
        Self {
            places: Vec::new(),
            wanted: vec![false; volumes],
            was: vec![false; volumes],
            changed: Vec::with_capacity(volumes),
        }
    }

    /// `volumes` gives each with its margin.
    fn update<'a>(
        &mut self,
        volumes: impl Iterator<Item = (&'a VolumeShape, f32)>,
        sources: impl Iterator<Item = impl Borrow<SourceInput>>,
    ) {
        core::mem::swap(&mut self.wanted, &mut self.was);
        self.wanted.fill(false);
        self.places.clear();
        for source in sources {
            let source = source.borrow();
            let way = source.velocity * source.ahead;
            self.places.push(source.position);
            if way != Vec3::ZERO {
                let ahead = AHEAD.map(|part| source.position + way * part);
                self.places.extend(ahead);
            }
        }
        let Self {
            places, wanted, was, ..
        } = self;
        let mut level = 0;
        // Queries are faster from inside.
        volumes.for_each(|(shape, margin)| {
            let was = was[level];
            wanted[level] = places.iter().any(|place| {
                let distance = shape.signed_distance(*place);
                distance <= margin && (distance <= 0.0 || was)
            });
            level += 1;
        });
        self.changed.clear();
        let both = self.wanted.iter().zip(&self.was);
        self.changed.extend(
            (0..)
                .zip(both)
                .filter(|(_, (is, was))| is != was)
                .map(|(level, _)| level),
        );
        black_box(&self.changed);
    }
}

/// Whoever wants something else measures something else.
fn check(selector: &Selector, brute: &BruteForce) {
    let is_wanted = |level: u32| selector.target(level) == LevelTarget::Visible;
    let is_same = |(level, wanted): (u32, &bool)| is_wanted(level) == *wanted;
    assert!((0..).zip(&brute.wanted).all(is_same), "both want the same levels");
    assert!(selector.wanted() > 16, "levels are wanted");
}
