//! What of a surface is looked at again and again. See [`Outline`].

use std::sync::Arc;

use bevy_math::{Affine3A, Vec3};

use super::{COARSEST_LOD, FINEST_LOD, Footprint, MipUser, MipView, SLACK_MIPS, Surface, SurfaceSphere};

/// What is nearer than this many half diagonals of its box is asked for its spheres.
const NEAR: f32 = 1.0;
/// No view has more pixels.
const MOST_AREA: f32 = 16_777_216.0;

/// A surface and its user, as few numbers as are needed to look at it.
#[derive(Clone, Debug)]
pub(in crate::mip) struct Outline {
    center: Vec3,
    half: Vec3,
    /// log2 of units of texture coordinates per metre of the world.
    density: f32,
    /// Nearer than this, spheres are asked, in metres; negative if there are none.
    near: f32,
    spheres: Option<Box<Placed>>,
}

/// Spheres in the world.
#[derive(Clone, Debug)]
struct Placed {
    world: Affine3A,
    scale: f32,
    /// log2 of what divides metres of the mesh per unit.
    repeats: f32,
    channel: usize,
    spheres: Arc<[SurfaceSphere]>,
}

impl Outline {
    pub fn new(surface: &Surface, user: &MipUser) -> Self {
        let spheres = surface.spheres.as_ref().filter(|spheres| !spheres.is_empty());
        let placed = spheres.map(|spheres| {
            Box::new(Placed {
                world: surface.world,
                scale: largest_scale(&surface.world),
                repeats: (user.uv_scale / user.object_scale).log2(),
                channel: usize::from(user.channel & 1),
                spheres: spheres.clone(),
            })
        });
        let half = surface.half.abs();
        Self {
            center: surface.center,
            half,
            density: (user.uv_scale / (user.metres * user.object_scale)).log2(),
            near: placed.as_ref().map_or(-1.0, |_| half.length() * NEAR),
            spheres: placed,
        }
    }

    /// What the view needs; lods above `limit` make no difference to anybody, so it is given then, and the slack is the way until that ends.
    pub fn look(&self, view: &MipView, limit: f32) -> Footprint {
        let limit = limit.clamp(FINEST_LOD, COARSEST_LOD);
        let lens = view.bias - view.pixels.log2();
        let way = (view.position - self.center).abs() - self.half;
        if !way.is_finite() {
            return Footprint {
                lod: limit,
                slack: f32::INFINITY,
                area: 0.0,
            };
        }
        let to_box = way.max(Vec3::ZERO).length();
        let mut least = Least::new(limit);
        let area = self.area(view);
        match &self.spheres {
            Some(placed) if to_box <= self.near => {
                placed.look(view, lens, &mut least);
                least.slack = least.slack.min(self.near - to_box);
            }
            Some(_) => {
                least.add(view, self.density + lens, to_box);
                least.slack = least.slack.min(to_box - self.near);
            }
            None => least.add(view, self.density + lens, to_box),
        }
        Footprint {
            lod: least.lod.max(FINEST_LOD),
            slack: least.slack.max(0.0),
            area,
        }
    }

    /// A quarter of the box's surface is what is seen of it from a side, on average.
    fn area(&self, view: &MipView) -> f32 {
        let Vec3 { x, y, z } = self.half;
        let metres = 2.0 * (x * y + y * z + z * x);
        let away = if view.is_orthographic {
            1.0
        } else {
            let half = self.half.length() / 2.0;
            (view.position - self.center).length().max(half).max(view.near)
        };
        let area = metres * (view.pixels / away).powi(2);
        // Written so that what is no number is none.
        if area > 0.0 { area.min(MOST_AREA) } else { 0.0 }
    }
}

impl Placed {
    fn look(&self, view: &MipView, lens: f32, least: &mut Least) {
        for sphere in &*self.spheres {
            let metres = sphere.metres[self.channel];
            if metres > 0.0 {
                let center = self.world.transform_point3(sphere.center);
                let away = (view.position - center).length() - sphere.radius * self.scale;
                least.add(view, self.repeats - metres.log2() + lens, away.max(0.0));
            }
        }
    }
}

/// The least lod of the parts of a surface so far.
struct Least {
    limit: f32,
    lod: f32,
    slack: f32,
}

impl Least {
    fn new(limit: f32) -> Self {
        Self {
            limit,
            lod: limit,
            slack: f32::INFINITY,
        }
    }

    /// A part that is `away`; `lod` is what it would have one metre away.
    fn add(&mut self, view: &MipView, lod: f32, away: f32) {
        if view.is_orthographic {
            // Written so that what is no number is not finer.
            self.lod = if lod < self.lod { lod } else { self.lod };
            return;
        }
        let drawn = away.max(view.near).max(f32::MIN_POSITIVE);
        let lod = lod + drawn.log2();
        if lod < self.limit {
            self.lod = self.lod.min(lod);
            // To come nearer changes more than to leave.
            let slack = (drawn - away) + drawn * (1.0 - (-SLACK_MIPS).exp2());
            self.slack = self.slack.min(slack);
        } else if lod >= self.limit {
            let until = away - drawn * (self.limit - lod).exp2();
            self.slack = self.slack.min(until.max(0.0));
        }
    }
}

/// How much longer than in the mesh something is in the world, at most; of what is not sheared.
fn largest_scale(world: &Affine3A) -> f32 {
    let axes = world.matrix3;
    let square = axes.x_axis.length_squared().max(axes.y_axis.length_squared());
    square.max(axes.z_axis.length_squared()).sqrt()
}
