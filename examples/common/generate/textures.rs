//! Procedural textures that tile: colours and normal maps.

use std::{fs::File, io, path::Path};

use glam::{Vec2, Vec3};
use image::{ExtendedColorType, ImageEncoder, codecs::png};

use super::noise::{Noise, mix, smoothstep};

/// One texture: its file name without extension, its size in pixels and how it is painted.
#[derive(Clone, Copy, Debug)]
pub struct Texture {
    /// File name without extension.
    pub name: &'static str,
    /// Width and height in pixels.
    pub size: u32,
    paint: Paint,
}

/// The colour (gamma-encoded, 0 to 1) at a place of the unit square, or the height that a normal map is made of.
#[derive(Clone, Copy, Debug)]
enum Paint {
    Color(fn(&Layers, Vec2) -> Vec3),
    /// A height function and the strength of its slopes.
    Normal(fn(&Layers, Vec2) -> f32, f32),
}

/// All textures of the world. The kit and the cells name them by path.
pub const TEXTURES: [Texture; 10] = [
    Texture {
        name: "grass",
        size: 2048,
        paint: Paint::Color(grass),
    },
    Texture {
        name: "rock",
        size: 2048,
        paint: Paint::Color(rock),
    },
    Texture {
        name: "rock_normal",
        size: 1024,
        paint: Paint::Normal(rock_height, 0.02),
    },
    Texture {
        name: "leaves",
        size: 1024,
        paint: Paint::Color(leaves),
    },
    Texture {
        name: "brick",
        size: 1024,
        paint: Paint::Color(brick),
    },
    Texture {
        name: "brick_normal",
        size: 1024,
        paint: Paint::Normal(brick_height, 0.008),
    },
    Texture {
        name: "roof",
        size: 1024,
        paint: Paint::Color(roof),
    },
    Texture {
        name: "bark",
        size: 512,
        paint: Paint::Color(bark),
    },
    Texture {
        name: "plaster",
        size: 512,
        paint: Paint::Color(plaster),
    },
    Texture {
        name: "wood",
        size: 512,
        paint: Paint::Color(wood),
    },
];

/// Three independent noises to paint with.
struct Layers {
    a: Noise,
    b: Noise,
    c: Noise,
}

impl Layers {
    fn new(seed: u64, name: &str) -> Self {
        let stream = name.bytes().fold(7, |sum, byte| mix(sum ^ u64::from(byte)));
        let noise = |n| Noise::new(seed ^ stream, n);
        Self {
            a: noise(1),
            b: noise(2),
            c: noise(3),
        }
    }
}

impl Texture {
    /// The same picture with `divisor` times fewer pixels along each side.
    #[must_use]
    pub fn smaller(self, divisor: u32) -> Self {
        Self {
            size: (self.size / divisor.max(1)).max(4),
            ..self
        }
    }

    /// Paints the texture: rows of RGB, 8 bits each.
    #[must_use]
    pub fn paint(&self, seed: u64) -> Vec<u8> {
        let layers = Layers::new(seed, self.name.trim_end_matches("_normal"));
        let size = self.size as usize;
        let mut pixels = Vec::with_capacity(size * size * 3);
        for y in 0..size {
            for x in 0..size {
                let p = (Vec2::new(x as f32, y as f32) + 0.5) / size as f32;
                let color = match self.paint {
                    Paint::Color(paint) => paint(&layers, p),
                    Paint::Normal(height, strength) => normal(&layers, p, height, strength, size),
                };
                let byte = |v: f32| (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
                pixels.extend([byte(color.x), byte(color.y), byte(color.z)]);
            }
        }
        pixels
    }

    /// Paints the texture and writes it as `NAME.png` into `dir`; gives the file's size in bytes.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, dir: &Path, seed: u64) -> io::Result<u64> {
        let path = dir.join(format!("{}.png", self.name));
        let pixels = self.paint(seed);
        let file = io::BufWriter::new(File::create(&path)?);
        png::PngEncoder::new_with_quality(file, png::CompressionType::Fast, png::FilterType::Sub)
            .write_image(&pixels, self.size, self.size, ExtendedColorType::Rgb8)
            .map_err(io::Error::other)?;
        Ok(path.metadata()?.len())
    }
}

/// A tangent-space normal (Y up, as glTF wants) from a height function.
fn normal(layers: &Layers, p: Vec2, height: fn(&Layers, Vec2) -> f32, strength: f32, size: usize) -> Vec3 {
    let step = 1.0 / size as f32;
    let here = height(layers, p);
    let dx = (height(layers, p + Vec2::new(step, 0.0)) - here) / step;
    let dy = (height(layers, p + Vec2::new(0.0, step)) - here) / step;
    // Texture coordinates run downwards, the green channel upwards.
    Vec3::new(-dx * strength, dy * strength, 1.0).normalize() * 0.5 + 0.5
}

fn mix3(a: Vec3, b: Vec3, t: f32) -> Vec3 {
    a.lerp(b, t.clamp(0.0, 1.0))
}

fn rgb(r: u8, g: u8, b: u8) -> Vec3 {
    Vec3::new(f32::from(r), f32::from(g), f32::from(b)) / 255.0
}

/// Fractal noise that tiles, `scale` lattice steps over the texture, about -1 to 1.
fn fractal(noise: &Noise, p: Vec2, scale: i32, octaves: u32) -> f32 {
    noise.fractal(p * scale as f32, octaves, scale).value
}

/// Noise stretched along one axis.
fn streaks(noise: &Noise, p: Vec2, across: i32, along: i32) -> f32 {
    // The lattice repeats after a whole number of steps on both axes, because `along` divides `across`.
    noise.sample(p * Vec2::new(across as f32, along as f32), along).value
}

fn grass(layers: &Layers, p: Vec2) -> Vec3 {
    let patches = fractal(&layers.a, p, 5, 3);
    let bend = Vec2::new(layers.b.sample(p * 24.0, 24).value, layers.c.sample(p * 24.0, 24).value) * 0.006;
    let blades = streaks(&layers.b, p + bend, 320, 80) + 0.7 * streaks(&layers.c, p - bend, 480, 120);
    let fine = fractal(&layers.c, p, 128, 2);
    let base = mix3(rgb(66, 92, 38), rgb(106, 122, 54), 0.5 + 0.7 * patches);
    let lit = base * (0.86 + 0.22 * blades + 0.16 * fine);
    let dry = smoothstep(0.25, 0.75, fractal(&layers.b, p, 9, 3)).0;
    mix3(lit, rgb(142, 130, 78) * (0.9 + 0.2 * blades), 0.45 * dry)
}

fn rock_height(layers: &Layers, p: Vec2) -> f32 {
    let warp = Vec2::new(layers.b.sample(p * 6.0, 6).value, layers.c.sample(p * 6.0, 6).value) * 0.05;
    let (near, next, id) = layers.a.cells((p + warp) * 4.0, 4);
    let (fine_near, fine_next, fine_id) = layers.b.cells((p - warp) * 11.0, 11);
    // Cracks come and go along their way.
    let open = smoothstep(-0.35, 0.35, layers.c.sample(p * 9.0, 9).value).0;
    let crack = 1.0 - (1.0 - smoothstep(0.0, 0.1, next - near).0) * open;
    let chip = 1.0 - (1.0 - smoothstep(0.0, 0.14, fine_next - fine_near).0) * (1.0 - open) * 0.6;
    let layer = 0.12 * layers.b.sample(p * Vec2::new(3.0, 27.0), 3).value;
    crack * chip * (0.5 + 0.3 * id + 0.2 * fine_id) + 0.75 * fractal(&layers.b, p, 10, 6) + layer
}

fn rock(layers: &Layers, p: Vec2) -> Vec3 {
    let height = rock_height(layers, p);
    let tint = fractal(&layers.c, p, 4, 3);
    let base = mix3(rgb(62, 58, 55), rgb(158, 150, 138), 0.1 + 0.75 * height);
    let grain = 1.0 + 0.1 * fractal(&layers.c, p, 160, 2);
    let lichen = smoothstep(0.35, 0.7, fractal(&layers.a, p, 18, 3)).0 * 0.35;
    let stone = mix3(base, base * Vec3::new(1.12, 0.98, 0.82), 0.5 + 0.8 * tint) * grain;
    mix3(stone, rgb(122, 128, 84), lichen)
}

fn leaves(layers: &Layers, p: Vec2) -> Vec3 {
    // Three layers of leaves; the upper ones hide the lower ones.
    let mut color = rgb(28, 44, 20);
    for (layer, (noise, scale)) in [(&layers.a, 22), (&layers.b, 26), (&layers.c, 30)]
        .into_iter()
        .enumerate()
    {
        let shift = Vec2::splat(layer as f32 * 0.37);
        let (near, next, id) = noise.cells((p + shift) * scale as f32, scale);
        let edge = smoothstep(0.03, 0.3, next - near).0 * smoothstep(0.62, 0.4, near).0.abs();
        if edge > 0.12 && id > 0.25 {
            let green = mix3(rgb(52, 84, 30), rgb(118, 146, 58), id);
            color = green * (0.55 + 0.25 * layer as f32 * 0.5 + 0.3 * edge);
        }
    }
    color * (1.0 + 0.12 * fractal(&layers.a, p, 64, 2))
}

fn bark(layers: &Layers, p: Vec2) -> Vec3 {
    let bend = layers.b.sample(p * 8.0, 8).value * 0.03;
    let ridges = streaks(&layers.a, p + Vec2::new(bend, 0.0), 32, 8) + 0.5 * streaks(&layers.c, p, 96, 16);
    let grain = fractal(&layers.b, p, 32, 3);
    let depth = smoothstep(-0.5, 0.6, ridges + 0.3 * grain).0;
    mix3(rgb(46, 36, 28), rgb(122, 100, 78), depth)
}

/// A wall of `columns` by `rows` bricks: the distance into the mortar (0 in it, 1 on a brick) and a number per brick.
fn bond(p: Vec2, columns: i32, rows: i32, joint: Vec2) -> (f32, u64) {
    let row = (p.y * rows as f32).floor();
    let shift = if row as i64 % 2 == 0 { 0.0 } else { 0.5 };
    let along = p.x * columns as f32 + shift;
    let (fx, fy) = (along - along.floor(), p.y * rows as f32 - row);
    let edge = |f: f32, joint: f32| smoothstep(joint, joint * 2.2, f.min(1.0 - f)).0;
    let column = (along.floor() as i64).rem_euclid(i64::from(columns)) as u64;
    let row = (row as i64).rem_euclid(i64::from(rows)) as u64;
    (edge(fx, joint.x).min(edge(fy, joint.y)), mix(column * 613 + row * 7))
}

fn unit(hash: u64) -> f32 {
    (hash & 0xffff) as f32 / 65536.0
}

const BRICK_JOINT: Vec2 = Vec2::new(0.022, 0.06);

fn brick_height(layers: &Layers, p: Vec2) -> f32 {
    let (on_brick, hash) = bond(p, 8, 24, BRICK_JOINT);
    on_brick * (0.85 + 0.15 * unit(hash)) + 0.18 * fractal(&layers.b, p, 48, 3)
}

fn brick(layers: &Layers, p: Vec2) -> Vec3 {
    let (on_brick, hash) = bond(p, 8, 24, BRICK_JOINT);
    let burn = unit(hash);
    let body = mix3(rgb(126, 58, 42), rgb(176, 98, 70), burn);
    let body = if unit(hash >> 20) > 0.9 { body * 0.72 } else { body };
    let grain = 1.0 + 0.16 * fractal(&layers.a, p, 64, 3);
    let mortar = rgb(168, 160, 146) * (1.0 + 0.14 * fractal(&layers.b, p, 96, 2));
    let soot = 1.0 - 0.16 * smoothstep(0.0, 0.7, fractal(&layers.c, p, 3, 3)).0;
    mix3(mortar, body * grain, on_brick) * soot
}

fn roof(layers: &Layers, p: Vec2) -> Vec3 {
    // Overlapping tiles with round lower ends.
    let rows = 16.0;
    let row = (p.y * rows).floor();
    let shift = if row as i64 % 2 == 0 { 0.0 } else { 0.5 };
    let along = p.x * 12.0 + shift;
    let (fx, fy) = (along - along.floor() - 0.5, p.y * rows - row);
    let hash = mix((along.floor() as i64).rem_euclid(12) as u64 * 997 + row as u64 * 31);
    let end = 0.92 - 0.9 * fx * fx;
    let shadow = smoothstep(0.0, 0.22, fy).0 * 0.4 + 0.6;
    let gap = smoothstep(0.5, 0.44, fx.abs()).0;
    let below = smoothstep(end, end - 0.05, fy).0;
    let tile = mix3(rgb(120, 62, 46), rgb(158, 92, 66), unit(hash));
    let weather = 1.0 + 0.2 * fractal(&layers.a, p, 40, 3);
    let moss = smoothstep(0.3, 0.8, fractal(&layers.b, p, 5, 4)).0;
    let lit = tile * weather * shadow * (0.45 + 0.55 * gap) * (0.55 + 0.45 * below);
    mix3(lit, rgb(88, 94, 58) * shadow, 0.35 * moss)
}

fn plaster(layers: &Layers, p: Vec2) -> Vec3 {
    let stain = fractal(&layers.a, p, 3, 4);
    let trowel = fractal(&layers.b, p, 24, 4);
    rgb(222, 212, 190) * (0.95 + 0.05 * trowel) * (1.0 - 0.08 * smoothstep(0.0, 0.8, stain).0)
}

fn wood(layers: &Layers, p: Vec2) -> Vec3 {
    let plank = (p.x * 6.0).floor();
    let fx = p.x * 6.0 - plank;
    let hash = mix(plank as u64 + 11);
    let grain = streaks(&layers.a, p + Vec2::new(0.0, unit(hash)), 96, 4) + 0.6 * streaks(&layers.b, p, 192, 8);
    let seam = smoothstep(0.0, 0.04, fx.min(1.0 - fx)).0;
    let base = mix3(rgb(92, 62, 38), rgb(132, 92, 58), unit(hash));
    base * (1.0 + 0.2 * grain) * (0.4 + 0.6 * seam)
}
