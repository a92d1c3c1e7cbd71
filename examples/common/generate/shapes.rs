//! The low-poly shapes the world is made of.

use glam::{Vec2, Vec3, Vec4};

use super::noise::Rng;

/// Triangles with positions, normals, texture coordinates and, where not empty, vertex colours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// Positions in metres.
    pub positions: Vec<Vec3>,
    /// Unit normals.
    pub normals: Vec<Vec3>,
    /// Texture coordinates.
    pub uvs: Vec<Vec2>,
    /// Vertex colours, 8 bits per channel, linear; empty for none.
    pub colors: Vec<[u8; 4]>,
    /// Three per triangle, counter-clockwise from outside.
    pub indices: Vec<u16>,
}

impl Shape {
    /// The smallest and the largest corner.
    #[must_use]
    pub fn bounds(&self) -> (Vec3, Vec3) {
        let min = self.positions.iter().copied().reduce(Vec3::min).unwrap_or_default();
        let max = self.positions.iter().copied().reduce(Vec3::max).unwrap_or_default();
        (min, max)
    }

    /// Per vertex the direction in which the texture's u grows, and in w the handedness, as glTF wants them.
    #[must_use]
    pub fn tangents(&self) -> Vec<Vec4> {
        let mut along_u = vec![Vec3::ZERO; self.positions.len()];
        let mut along_v = along_u.clone();
        for triangle in self.indices.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|i| usize::from(triangle[i]));
            let (e1, e2) = (
                self.positions[b] - self.positions[a],
                self.positions[c] - self.positions[a],
            );
            let (d1, d2) = (self.uvs[b] - self.uvs[a], self.uvs[c] - self.uvs[a]);
            let area = d1.perp_dot(d2);
            if area.abs() < 1e-9 {
                continue;
            }
            for i in [a, b, c] {
                along_u[i] += (e1 * d2.y - e2 * d1.y) / area;
                along_v[i] += (e2 * d1.x - e1 * d2.x) / area;
            }
        }
        let finish = |i: usize| {
            let normal = self.normals[i];
            let flat = along_u[i]
                .reject_from_normalized(normal)
                .normalize_or(normal.any_orthonormal_vector());
            // glTF's texture v runs downwards, its bitangent upwards in the normal map's green channel.
            let side = if normal.cross(flat).dot(along_v[i]) < 0.0 {
                -1.0
            } else {
                1.0
            };
            flat.extend(side)
        };
        (0..self.positions.len()).map(finish).collect()
    }

    fn vertex(&mut self, position: Vec3, normal: Vec3, uv: Vec2) -> u16 {
        self.positions.push(position);
        self.normals.push(normal);
        self.uvs.push(uv);
        (self.positions.len() - 1) as u16
    }

    /// A flat four-sided face, corners counter-clockwise from outside; texture coordinates in metres divided by `texel`.
    pub fn quad(&mut self, corners: [Vec3; 4], texel: f32) {
        let [a, b, c, d] = corners;
        let normal = (b - a).cross(d - a).normalize_or(Vec3::Y);
        let (right, up) = ((b - a).length() / texel, (d - a).length() / texel);
        let uvs = [(0.0, up), (right, up), (right, 0.0), (0.0, 0.0)];
        let first = self.positions.len() as u16;
        for (corner, (u, v)) in [a, b, c, d].into_iter().zip(uvs) {
            self.vertex(corner, normal, Vec2::new(u, v));
        }
        self.indices.extend([0, 1, 2, 0, 2, 3].map(|i| first + i));
    }

    /// A flat triangle, corners counter-clockwise from outside.
    pub fn triangle(&mut self, corners: [Vec3; 3], texel: f32) {
        let [a, b, c] = corners;
        let normal = (b - a).cross(c - a).normalize_or(Vec3::Y);
        let width = (b - a).length() / texel;
        let height = (c - (a + b) * 0.5).length() / texel;
        let uvs = [(0.0, height), (width, height), (width * 0.5, 0.0)];
        let first = self.positions.len() as u16;
        for (corner, (u, v)) in [a, b, c].into_iter().zip(uvs) {
            self.vertex(corner, normal, Vec2::new(u, v));
        }
        self.indices.extend([first, first + 1, first + 2]);
    }

    /// An upright box from `min` to `max` without its bottom.
    pub fn cuboid(&mut self, min: Vec3, max: Vec3, texel: f32) {
        let p = |x: bool, y: bool, z: bool| {
            Vec3::new(
                if x { max.x } else { min.x },
                if y { max.y } else { min.y },
                if z { max.z } else { min.z },
            )
        };
        let faces = [
            [
                p(false, false, true),
                p(true, false, true),
                p(true, true, true),
                p(false, true, true),
            ],
            [
                p(true, false, false),
                p(false, false, false),
                p(false, true, false),
                p(true, true, false),
            ],
            [
                p(true, false, true),
                p(true, false, false),
                p(true, true, false),
                p(true, true, true),
            ],
            [
                p(false, false, false),
                p(false, false, true),
                p(false, true, true),
                p(false, true, false),
            ],
            [
                p(false, true, true),
                p(true, true, true),
                p(true, true, false),
                p(false, true, false),
            ],
        ];
        for face in faces {
            self.quad(face, texel);
        }
    }
}

/// A tapered trunk or cone around the vertical axis, smooth, open below.
#[must_use]
pub fn cone(bottom: f32, top: f32, low: f32, high: f32, sides: u16) -> Shape {
    let mut shape = Shape::default();
    let lean = (bottom - top) / (high - low);
    for i in 0..=sides {
        let turn = f32::from(i) / f32::from(sides);
        let (sin, cos) = (turn * std::f32::consts::TAU).sin_cos();
        let out = Vec3::new(cos, lean, sin).normalize();
        let around = Vec3::new(cos, 0.0, sin);
        shape.vertex(
            around * bottom + Vec3::Y * low,
            out,
            Vec2::new(turn * 2.0, (high - low) * 0.5),
        );
        shape.vertex(around * top + Vec3::Y * high, out, Vec2::new(turn * 2.0, 0.0));
    }
    for i in 0..sides {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| 2 * i + k);
        shape.indices.extend([a, b, c]);
        if top > 0.0 {
            shape.indices.extend([c, b, d]);
        }
    }
    shape
}

/// Several cones above each other: a fir's crown.
#[must_use]
pub fn fir_crown(height: f32, radius: f32, tiers: u16, rng: &mut Rng) -> Shape {
    let mut shape = Shape::default();
    for tier in 0..tiers {
        let at = f32::from(tier) / f32::from(tiers);
        let low = height * (0.18 + 0.62 * at);
        let wide = radius * (1.0 - 0.72 * at) * rng.range(0.92, 1.08);
        let part = cone(wide, 0.0, low, low + height * 0.38, 7);
        join(&mut shape, &part);
    }
    shape
}

/// A bumpy ball with `rings` rings: a rock, a bush or a crown. `squash` flattens it, `rough` is the size of its bumps.
#[must_use]
pub fn lump(radius: f32, squash: f32, rough: f32, rings: u16, rng: &mut Rng) -> Shape {
    let segments = rings * 2 - 1;
    let bumps: Vec<(Vec3, f32)> = (0..7)
        .map(|_| {
            let direction = Vec3::new(rng.range(-1.0, 1.0), rng.range(-0.6, 1.0), rng.range(-1.0, 1.0));
            (direction.normalize_or(Vec3::Y), rng.range(-rough, rough))
        })
        .collect();
    let mut shape = Shape::default();
    for ring in 0..=rings {
        let tilt = std::f32::consts::PI * f32::from(ring) / f32::from(rings);
        for segment in 0..=segments {
            let turn = std::f32::consts::TAU * f32::from(segment % segments) / f32::from(segments);
            let direction = Vec3::new(tilt.sin() * turn.cos(), tilt.cos(), tilt.sin() * turn.sin());
            let bump: f32 = bumps
                .iter()
                .map(|(at, size)| size * at.dot(direction).max(0.0).powi(2))
                .sum();
            let position = direction * radius * (1.0 + bump) * Vec3::new(1.0, squash, 1.0);
            let normal = (direction / Vec3::new(1.0, squash, 1.0)).normalize();
            let uv = Vec2::new(
                f32::from(segment) * 2.0 / f32::from(segments),
                tilt / std::f32::consts::PI,
            );
            shape.vertex(position, normal, uv * (0.7 * radius).max(0.5));
        }
    }
    let row = segments + 1;
    for ring in 0..rings {
        for segment in 0..segments {
            let a = ring * row + segment;
            if ring > 0 {
                shape.indices.extend([a, a + 1, a + row]);
            }
            if ring + 1 < rings {
                shape.indices.extend([a + 1, a + row + 1, a + row]);
            }
        }
    }
    shape
}

/// A tuft of grass: a few bent blades, for a material that shows both sides.
#[must_use]
pub fn tuft(blades: usize, height: f32, rng: &mut Rng) -> Shape {
    let mut shape = Shape::default();
    for _ in 0..blades {
        let (sin, cos) = (rng.unit() * std::f32::consts::TAU).sin_cos();
        let side = Vec3::new(cos, 0.0, sin) * rng.range(0.025, 0.05);
        let foot = Vec3::new(rng.range(-0.16, 0.16), -0.05, rng.range(-0.16, 0.16));
        let lean = Vec3::new(rng.range(-0.3, 0.3), 1.0, rng.range(-0.3, 0.3)) * height * rng.range(0.6, 1.0);
        let corners = [foot - side, foot + side, foot + lean];
        // Blades are lit like the ground they stand on.
        let first = shape.positions.len() as u16;
        for (corner, u) in corners.into_iter().zip([0.0, 1.0, 0.5]) {
            shape.vertex(corner, Vec3::Y, Vec2::new(u, (height - corner.y) / height));
        }
        shape.indices.extend([first, first + 1, first + 2]);
    }
    shape
}

/// Appends `part` to `shape`.
fn join(shape: &mut Shape, part: &Shape) {
    let first = shape.positions.len() as u16;
    shape.positions.extend_from_slice(&part.positions);
    shape.normals.extend_from_slice(&part.normals);
    shape.uvs.extend_from_slice(&part.uvs);
    shape.colors.extend_from_slice(&part.colors);
    shape.indices.extend(part.indices.iter().map(|i| i + first));
}
