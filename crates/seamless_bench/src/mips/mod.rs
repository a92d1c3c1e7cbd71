//! `mip_solve`: which mips of 4 000 textures are wanted, fitted into a pool, and fetched, while a camera flies among 100 000 things that are drawn, once a frame.
//!
//! The things lie in a square of two kilometres, each with one of 2 000 materials, and each material has two textures of 512² to 4096², compressed. The camera
//! flies in a ring at 30 m/s, and turns as it does; what it sees is known, as in an app, where Bevy finds that out. What is read has come in the
//! frame after.
//!
//! * Ours: all systems of an app that follow materials and what is drawn, decide, count and tell, in one thread; see [`Deciding`]. What carries it out is not
//!   in it: that is `mip_swap`.
//! * Peer: a system's loop over the same entities. Each pair of a thing and a texture of its material is tested from both points, where the camera is and where
//!   it will be, in every frame, and the finest of each texture tells what is wanted of it. It knows the textures of each thing, and allocates nothing; it fits
//!   nothing into a pool. The row's note says how it would be if each thing were tested once for all of its textures.
//!
//! Both sides have to want the same: theirs is exact, and ours finer by a sixteenth of a mip at most, and coarser by a 32nd.

pub mod rendered;
#[cfg(test)]
mod tests;
mod world;

use std::hint::black_box;

use bevy_camera::{primitives::Aabb, visibility::ViewVisibility};
use bevy_ecs::{component::Component, query::QueryState, world::World as EcsWorld};
use bevy_math::Vec3A;
use bevy_transform::components::GlobalTransform;
use seamless_render::mip::{MipSettings, bench_support::Deciding, need::MipView};

use crate::{
    app::cpu_ns,
    row::{Row, Samples, Targets, quantile},
};
use world::{MATERIALS, Moment, TEXTURES, Thing, World};

/// Frames of one sample: half of the ring.
const FRAMES: usize = 600;
/// What ours may take, in microseconds a frame.
const MOST: f64 = 500.0;
const FRAME_SECONDS: f64 = 1.0 / 60.0;

/// Measures both.
pub fn run(samples: Option<usize>) -> Row {
    let world = World::new(100_000);
    let mut ours = Ours::new(&world);
    let mut peer = BruteForce::new(&world, &mut ours);
    let mut result = Samples::default();
    let mut looks = 0;
    let mut by_things = Vec::new();
    for round in 0..samples.unwrap_or(21) + 1 {
        let (mut our_ns, mut views) = (0.0, Vec::new());
        looks = 0;
        for frame in round * FRAMES..(round + 1) * FRAMES {
            let moment = &world.frames[frame % world.frames.len()];
            let lead = ours.begin(moment);
            our_ns += cpu_ns(|| ours.0.frame(FRAME_SECONDS, black_box(moment.position))).0;
            views.extend(ours.0.view().map(|view| (view, lead)));
            looks += ours.0.stats().looks;
        }
        // All that is seen is as in the last of these frames; it takes as long whatever that is.
        let entities = &*ours.0.world().1;
        let (peer_ns, ()) = cpu_ns(|| {
            views.iter().for_each(|(view, lead)| peer.frame(entities, *view, *lead));
        });
        check(&world, &ours, &peer, round);
        let entities = &*ours.0.world().1;
        let (by_things_ns, ()) = cpu_ns(|| {
            views
                .iter()
                .for_each(|(view, lead)| peer.frame_by_things(entities, *view, *lead));
        });
        check(&world, &ours, &peer, round);
        // The first round brings all there is.
        if round > 0 {
            by_things.push(by_things_ns / FRAMES as f64 / 1e3);
            result.ours.push(our_ns / FRAMES as f64 / 1e3);
            result.peer.push(peer_ns / FRAMES as f64 / 1e3);
            result.limit.push(MOST);
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
        "who tests each thing once for all of its textures takes {:.0} µs; {} of {} things are looked at in a frame; {} MiB are wanted, {} resident with what is cached; {} swaps",
        quantile(&mut by_things, 0.5),
        looks / FRAMES as u64,
        world.things.len(),
        ours.0.stats().perfect >> 20,
        ours.0.stats().planned >> 20,
        ours.0.swaps()
    );
    row
}

/// Mip streaming's own side.
struct Ours(Deciding);

impl Ours {
    fn new(world: &World) -> Self {
        let things = world.things.iter().map(Thing::drawn);
        Self(Deciding::new(&world.chains, MATERIALS, things))
    }

    /// What Bevy finds out; returns how many seconds ahead the next frame looks.
    fn begin(&mut self, moment: &Moment) -> f32 {
        for (thing, is_seen) in &moment.seen {
            self.0.see(*thing as usize, *is_seen);
        }
        self.0.lead()
    }
}

/// The peer.
struct BruteForce {
    things: QueryState<Asked>,
    /// By material: of what is seen, and of the rest.
    least: Vec<[f32; 2]>,
    /// By texture, the mip that it is sampled at by both.
    sampled: Vec<[f32; 2]>,
    sides: Vec<f32>,
}

/// What is asked of a thing.
type Asked = (
    &'static GlobalTransform,
    &'static Aabb,
    &'static Plain,
    &'static ViewVisibility,
);

/// What is known of a thing.
#[derive(Component)]
struct Plain {
    material: u32,
    /// How much its texture coordinates grow in a metre.
    density: f32,
}

impl BruteForce {
    fn new(world: &World, ours: &mut Ours) -> Self {
        let (entities, ecs) = ours.0.world();
        let entities = entities.to_vec();
        for (entity, thing) in entities.into_iter().zip(&world.things) {
            ecs.entity_mut(entity).insert(Plain {
                material: thing.material,
                density: thing.metres.recip(),
            });
        }
        Self {
            things: ecs.query(),
            least: vec![[f32::INFINITY; 2]; MATERIALS as usize],
            sampled: vec![[f32::INFINITY; 2]; TEXTURES as usize],
            sides: world.chains.iter().map(|chain| chain.side(0) as f32).collect(),
        }
    }

    /// Each pair is tested.
    fn frame(&mut self, entities: &EcsWorld, view: MipView, lead: f32) {
        let Self {
            things, sampled, sides, ..
        } = self;
        sampled.fill([f32::INFINITY; 2]);
        let view = black_box(view);
        let points = [view, view.ahead(lead)];
        things.iter(entities).for_each(|(place, own, plain, seen)| {
            let (center, half) = boxed(place, own);
            for point in &points {
                let size = size(point, center, half) * plain.density;
                for texture in [plain.material, plain.material + MATERIALS] {
                    let least = &mut sampled[texture as usize][usize::from(!seen.get())];
                    *least = least.min((size * sides[texture as usize]).log2());
                }
            }
        });
        black_box(&self.sampled);
    }

    /// Each thing is tested once for all of its textures.
    fn frame_by_things(&mut self, entities: &EcsWorld, view: MipView, lead: f32) {
        let Self {
            things,
            least,
            sampled,
            sides,
        } = self;
        least.fill([f32::INFINITY; 2]);
        let view = black_box(view);
        let ahead = view.ahead(lead);
        things.iter(entities).for_each(|(place, own, plain, seen)| {
            let (center, half) = boxed(place, own);
            let near = size(&view, center, half).min(size(&ahead, center, half)) * plain.density;
            let least = &mut least[plain.material as usize][usize::from(!seen.get())];
            *least = least.min(near);
        });
        for ((texture, sampled), side) in (0..).zip(sampled).zip(sides) {
            *sampled = least[(texture % MATERIALS) as usize].map(|near| (near * *side).log2());
        }
        black_box(&self.sampled);
    }
}

/// A thing's box in the world.
fn boxed(place: &GlobalTransform, own: &Aabb) -> (Vec3A, Vec3A) {
    let (place, half) = (place.affine(), own.half_extents);
    let axes = place.matrix3;
    let half = axes.x_axis.abs() * half.x + axes.y_axis.abs() * half.y + axes.z_axis.abs() * half.z;
    (place.transform_point3a(own.center), half)
}

/// What a pixel shows of what is nearest in a box, in metres.
fn size(view: &MipView, center: Vec3A, half: Vec3A) -> f32 {
    let away = ((Vec3A::from(view.position) - center).abs() - half)
        .max(Vec3A::ZERO)
        .length();
    away.max(view.near) / view.pixels
}

/// Whoever wants something else measures something else.
fn check(world: &World, ours: &Ours, peer: &BruteForce, frame: usize) {
    let textures = ours.0.demands().textures().iter().flatten();
    let mut differ = 0;
    for ((of, sampled), chain) in textures.zip(&peer.sampled).zip(&world.chains) {
        // Beyond its floor, nobody cares how coarse a texture could be.
        let limit = f32::from(chain.floor());
        let demand = [of.demand.seen, of.demand.unseen];
        for (found, right) in demand.into_iter().zip(sampled) {
            let (found, right) = (found.min(limit), right.min(limit));
            assert!(
                found <= right + 1.0 / 32.0 + 1e-3 && found >= right - 1.0 / 16.0 - 1e-3,
                "{frame}: mip {found} is wanted, and {right} is sampled"
            );
        }
        differ += usize::from(demand.iter().any(|mip| *mip < limit));
    }
    assert!(differ > 20, "textures are wanted");
    let ([total, stray], pool) = (ours.0.bytes(), MipSettings::default().pool);
    assert!(
        total <= pool && stray == 0,
        "{total} bytes are resident, {stray} belong to nobody"
    );
}
