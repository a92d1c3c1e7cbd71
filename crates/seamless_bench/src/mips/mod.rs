//! `mip_solve`: which mips of 4 000 textures are wanted, fitted into a pool, and fetched, while a camera flies among 100 000 things that are drawn, once a frame.
//!
//! The things lie in a square of two kilometres, each with one of 2 000 materials, and each material has two textures of 512² to 4096², compressed. The camera
//! flies in a ring at 30 m/s, and turns as it does; what it sees is known, as in an app, where Bevy finds that out. What is read has come in the
//! frame after.
//!
//! * Ours: the system that follows what is drawn, with all things as entities; [`Watch`], [`MipDemands`], [`Fit`], [`schedule`] and [`MipLedger`].
//! * Peer: each thing is tested from both points, where the camera is and where it will be, in every frame, and the finest of each material tells what is
//!   wanted of its textures. It is written as well as ours, with numbers side by side and without an allocation; it fits nothing into a pool.
//!
//! Both sides have to want the same: theirs is exact, and ours finer by a sixteenth of a mip at most, and coarser by a 32nd.

pub mod rendered;
#[cfg(test)]
mod tests;
mod world;

use std::hint::black_box;

use bevy_math::Vec3;
use seamless_render::mip::{
    ChangeId, DemandRule, Fit, FitInput, MipChanges, MipDemands, MipLedger, MipLimits, UserId, Wanting, Watch,
    bench_support::Following,
    need::{COARSEST_LOD, FINEST_LOD, MipView},
    schedule,
};

use crate::{
    app::cpu_ns,
    row::{Row, Samples, Targets},
};
use world::{MATERIALS, TEXTURES, Thing, World};

/// How far ahead the camera looks, in seconds.
const LEAD: f32 = 0.5;
/// Frames of one sample: half of the ring.
const FRAMES: usize = 600;
/// What ours may take, in microseconds a frame.
const MOST: f64 = 500.0;
const FRAME_SECONDS: f64 = 1.0 / 60.0;
/// As large as it is by default: what was wanted before fills it.
const POOL: u64 = 512 << 20;

/// Measures both.
pub fn run(samples: Option<usize>) -> Row {
    let world = World::new(100_000);
    let mut ours = Ours::new(&world);
    let mut peer = BruteForce::new(&world);
    let mut result = Samples::default();
    let mut looks = 0;
    for round in 0..samples.unwrap_or(21) + 1 {
        let frames = || (round * FRAMES..(round + 1) * FRAMES).map(|frame| frame % world.frames.len());
        let (our_ns, looked) = cpu_ns(|| frames().map(|frame| ours.frame(&world, frame)).sum::<usize>());
        let (peer_ns, ()) = cpu_ns(|| frames().for_each(|frame| peer.frame(&world, frame)));
        let last = frames().next_back().unwrap_or_default();
        check(&world, &ours, &peer, last);
        // The first round brings all there is.
        if round > 0 {
            result.ours.push(our_ns / FRAMES as f64 / 1e3);
            result.peer.push(peer_ns / FRAMES as f64 / 1e3);
            result.limit.push(MOST);
            looks = looked;
        }
    }
    let targets = Targets {
        first: 10.0,
        aim: 10.0,
        of_limit: Some(1.0),
    };
    let mut row = result.row(
        "mip_solve",
        "µs/frame",
        Some("each pair is tested"),
        Some("allowed"),
        targets,
    );
    row.note = format!(
        "{} of {} things are looked at in a frame; {} MiB are wanted, {} resident with what is cached; {} swaps",
        looks / FRAMES,
        world.things.len(),
        ours.fit.perfect >> 20,
        ours.fit.used >> 20,
        ours.swaps
    );
    row
}

/// Mip streaming's own side.
struct Ours {
    following: Following,
    watch: Watch,
    users: Vec<UserId>,
    demands: MipDemands,
    fit: Fit,
    ledger: MipLedger,
    limits: MipLimits,
    changes: MipChanges,
    resident: Vec<u8>,
    ready: Vec<(u32, ChangeId)>,
    frame: u32,
    swaps: usize,
}

impl Ours {
    fn new(world: &World) -> Self {
        let mut ours = Self {
            following: Following::new(world.things.iter().map(|thing| (thing.center, thing.half))),
            watch: Watch::default(),
            users: Vec::new(),
            demands: MipDemands::default(),
            fit: Fit::default(),
            ledger: MipLedger::default(),
            limits: MipLimits {
                pool: POOL,
                staging: 32 << 20,
                reads: 24,
                step: 4 << 20,
                swaps: 16,
                bytes: 8 << 20,
            },
            changes: MipChanges::default(),
            resident: Vec::new(),
            ready: Vec::new(),
            frame: 0,
            swaps: 0,
        };
        ours.users = world
            .things
            .iter()
            .map(|thing| ours.watch.add(&thing.user, &thing.surface()))
            .collect();
        for (texture, chain) in (0..TEXTURES).zip(&world.chains) {
            ours.ledger.insert(texture, chain, chain.floor());
            ours.demands.insert(texture, chain.clone(), DemandRule::default(), 0.0);
            ours.demands.link(texture, texture % MATERIALS, 0);
        }
        ours
    }

    /// How many things were looked at.
    fn frame(&mut self, world: &World, frame: usize) -> usize {
        let moment = &world.frames[frame];
        self.frame += 1;
        let now = f64::from(self.frame) * FRAME_SECONDS;
        for (thing, is_seen) in &moment.seen {
            self.following.see(*thing as usize, *is_seen);
            self.watch.seen(self.users[*thing as usize], *is_seen);
        }
        self.following.look();
        self.demands.set_limits(&mut self.watch, Wanting::default().margin);
        self.watch.update(black_box(&[moment.view]), LEAD);
        self.demands.update(&self.watch, now);
        self.ledger.targets(&mut self.resident);
        self.fit.update(&FitInput {
            textures: self.demands.textures(),
            changed: Some(self.demands.changed()),
            resident: &self.resident,
            room: self.ledger.room(POOL),
            headroom: 32 << 20,
            cached: 5.0,
            wanting: Wanting::default(),
            now,
        });
        let Self {
            fit, demands, ledger, ..
        } = self;
        let (ready, limits, changes) = (&self.ready, &self.limits, &mut self.changes);
        schedule(fit, demands.textures(), ledger, ready, limits, changes);
        self.come();
        black_box(&self.changes);
        self.watch.looks()
    }

    /// What was read is there, and the renderer has done what it was told.
    fn come(&mut self) {
        self.ready.clear();
        self.ready
            .extend(self.changes.reads.iter().map(|read| (read.texture, read.id)));
        for swap in &self.changes.swaps {
            self.ledger.swapped(swap.texture, swap.id);
            self.ledger.retired(swap.id);
        }
        self.swaps += self.changes.swaps.len();
    }
}

/// The peer.
struct BruteForce {
    things: Vec<Plain>,
    /// By material: of what is seen, and of the rest.
    least: Vec<[f32; 2]>,
    /// By texture, the mip that it is sampled at by both.
    sampled: Vec<[f32; 2]>,
    sides: Vec<f32>,
}

/// What is asked of a thing.
struct Plain {
    center: Vec3,
    half: Vec3,
    density: f32,
    material: u32,
    is_seen: bool,
}

impl BruteForce {
    fn new(world: &World) -> Self {
        let plain = |thing: &Thing| Plain {
            center: thing.center,
            half: thing.half,
            density: -thing.user.metres.log2(),
            material: thing.user.material,
            is_seen: false,
        };
        Self {
            things: world.things.iter().map(plain).collect(),
            least: vec![[f32::INFINITY; 2]; MATERIALS as usize],
            sampled: vec![[f32::INFINITY; 2]; TEXTURES as usize],
            sides: world.chains.iter().map(|chain| (chain.side(0) as f32).log2()).collect(),
        }
    }

    fn frame(&mut self, world: &World, frame: usize) {
        let moment = &world.frames[frame];
        for (thing, is_seen) in &moment.seen {
            self.things[*thing as usize].is_seen = *is_seen;
        }
        self.least.fill([f32::INFINITY; 2]);
        let view = black_box(moment.view);
        let points = [view, view.ahead(LEAD)];
        for thing in &self.things {
            let lods = points.map(|view| lod(&view, thing));
            let least = &mut self.least[thing.material as usize][usize::from(!thing.is_seen)];
            *least = least.min(lods[0].min(lods[1]).clamp(FINEST_LOD, COARSEST_LOD));
        }
        for (texture, sampled) in (0..TEXTURES).zip(&mut self.sampled) {
            let side = self.sides[texture as usize];
            *sampled = self.least[(texture % MATERIALS) as usize].map(|lod| lod + side);
        }
        black_box(&self.sampled);
    }
}

fn lod(view: &MipView, thing: &Plain) -> f32 {
    let away = ((view.position - thing.center).abs() - thing.half)
        .max(Vec3::ZERO)
        .length();
    thing.density + (away.max(view.near) / view.pixels).log2()
}

/// Whoever wants something else measures something else.
fn check(world: &World, ours: &Ours, peer: &BruteForce, frame: usize) {
    let textures = ours.demands.textures().iter().flatten();
    let mut differ = 0;
    for ((of, sampled), chain) in textures.zip(&peer.sampled).zip(&world.chains) {
        // Beyond its floor, nobody cares how coarse a texture could be.
        let limit = f32::from(chain.floor()) + Wanting::default().margin;
        let demand = [of.demand.seen, of.demand.unseen];
        for (found, right) in demand.into_iter().zip(sampled) {
            let (found, right) = (found.min(limit), right.min(limit));
            assert!(
                found <= right + 1.0 / 32.0 + 1e-3 && found >= right - 1.0 / 16.0 - 1e-3,
                "frame {frame}: mip {found} is wanted, and {right} is sampled"
            );
        }
        differ += usize::from(demand.iter().any(|mip| *mip < limit));
    }
    assert!(differ > 20, "textures are wanted");
    let total = ours.ledger.sums().total();
    assert!(total <= POOL, "{total} bytes are resident");
}
