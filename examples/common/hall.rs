//! The hall of the example `gallery`: its measures, its file, and what hangs in it.

use std::{f32::consts::TAU, io};

use crate::generate::{
    glb::{Glb, Material, Node},
    noise::Rng,
    shapes::Shape,
};
use glam::{Vec2, Vec3};
use image::{ExtendedColorType, ImageEncoder, codecs::png};

/// Half of the hall's width, in metres.
const HALF: f32 = 5.0;
const HEIGHT: f32 = 6.0;
/// From one painting to the next, along a wall.
const STEP: f32 = 5.0;
/// The side of a painting.
const SIDE: f32 = 3.2;
/// The height of its middle.
const MIDDLE: f32 = 2.6;
/// Metres that a floor's texture coordinate takes.
const TEXEL: f32 = 4.0;

/// How long the hall of so many paintings is, in metres. It runs from 0 along −Z.
#[must_use]
pub fn length(paintings: u32) -> f32 {
    (paintings.div_ceil(2) as f32 + 1.0) * STEP
}

/// The file of a painting.
#[must_use]
pub fn painting_file(number: u32) -> String {
    format!("painting_{number:03}.png")
}

/// The hall as a binary glTF file, its paintings beside it.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn hall(paintings: u32) -> io::Result<Vec<u8>> {
    let mut glb = Glb::default();
    shell(&mut glb, length(paintings));
    for number in 0..paintings {
        hang(&mut glb, number);
    }
    glb.finish("hall")
}

fn shell(glb: &mut Glb, length: f32) {
    let corner = |x: f32, y: f32, z: f32| Vec3::new(x * HALF, y, -z);
    let floor = [
        corner(-1.0, 0.0, 0.0),
        corner(1.0, 0.0, 0.0),
        corner(1.0, 0.0, length),
        corner(-1.0, 0.0, length),
    ];
    let top = HEIGHT;
    let ceiling = [
        corner(-1.0, top, length),
        corner(1.0, top, length),
        corner(1.0, top, 0.0),
        corner(-1.0, top, 0.0),
    ];
    let left = [
        corner(-1.0, 0.0, 0.0),
        corner(-1.0, 0.0, length),
        corner(-1.0, top, length),
        corner(-1.0, top, 0.0),
    ];
    let right = [
        corner(1.0, 0.0, length),
        corner(1.0, 0.0, 0.0),
        corner(1.0, top, 0.0),
        corner(1.0, top, length),
    ];
    let far = [
        corner(-1.0, 0.0, length),
        corner(1.0, 0.0, length),
        corner(1.0, top, length),
        corner(-1.0, top, length),
    ];
    let near = [
        corner(1.0, 0.0, 0.0),
        corner(-1.0, 0.0, 0.0),
        corner(-1.0, top, 0.0),
        corner(1.0, top, 0.0),
    ];
    let walls = [left, right, far, near];
    let parts: [(&str, &[[Vec3; 4]], [f32; 3]); 3] = [
        ("floor", &[floor], [0.16, 0.1, 0.06]),
        ("ceiling", &[ceiling], [0.7, 0.68, 0.62]),
        ("walls", &walls, [0.32, 0.07, 0.06]),
    ];
    for (name, quads, color) in parts {
        let mut shape = Shape::default();
        quads.iter().for_each(|corners| shape.quad(*corners, TEXEL));
        let material = glb.material(&Material {
            name,
            color,
            roughness: 0.9,
            ..Material::default()
        });
        add(glb, name.to_owned(), &shape, material);
    }
}

/// Even ones hang on the left.
fn hang(glb: &mut Glb, number: u32) {
    let side = if number.is_multiple_of(2) { -1.0 } else { 1.0 };
    let middle = Vec3::new(side * (HALF - 0.05), MIDDLE, -((number / 2 + 1) as f32 * STEP));
    // To the right of who looks at it: on the left wall, towards the far end.
    let right = Vec3::new(0.0, 0.0, side * SIDE / 2.0);
    let up = Vec3::new(0.0, SIDE / 2.0, 0.0);
    let mut canvas = Shape::default();
    canvas.quad(
        [
            middle - right - up,
            middle + right - up,
            middle + right + up,
            middle - right + up,
        ],
        SIDE,
    );
    let file = painting_file(number);
    let material = glb.material(&Material {
        name: "painting",
        color: [1.0; 3],
        texture: Some(&file),
        roughness: 0.8,
        ..Material::default()
    });
    add(glb, format!("painting {number}"), &canvas, material);
}

fn add(glb: &mut Glb, name: String, shape: &Shape, material: usize) {
    let mesh = glb.mesh(None, &[(shape, material)]);
    let node = Node {
        name: Some(name),
        mesh: Some(mesh),
        ..Node::default()
    };
    glb.node(None, node);
}

/// A painting as a PNG: waves of colour, and a grain that only its finest mips have.
///
/// # Errors
/// When it cannot be encoded.
pub fn paint(number: u32, size: u32, seed: u64) -> io::Result<Vec<u8>> {
    let mut rng = Rng::new(seed, u64::from(number));
    let mut random = |least: f32, most: f32| least + (rng.next_u64() >> 40) as f32 / (1 << 24) as f32 * (most - least);
    let waves: [(Vec2, f32); 3] = core::array::from_fn(|_| {
        let direction = Vec2::from_angle(random(0.0, TAU));
        (direction * random(6.0, 40.0), random(0.0, TAU))
    });
    let [dark, light] = [0.0, 0.55].map(|least| [0; 3].map(|_| random(least, least + 0.45)));
    let mut pixels = Vec::with_capacity((size * size * 3) as usize);
    for y in 0..size {
        for x in 0..size {
            let at = Vec2::new(x as f32, y as f32) / size as f32;
            let wave: f32 = waves.iter().map(|(wave, phase)| (wave.dot(at) + phase).sin()).sum();
            let grain = ((x ^ y).wrapping_mul(0x9e37_79b9) >> 28) as f32 / 16.0 - 0.5;
            let share = (0.5 + wave / 6.0 + grain * 0.2).clamp(0.0, 1.0);
            let frame = at.min(1.0 - at).min_element() < 0.03;
            let color = |part: usize| match frame {
                true => [0.75, 0.6, 0.2][part],
                false => dark[part] + (light[part] - dark[part]) * share,
            };
            pixels.extend([0, 1, 2].map(|part| (color(part) * 255.0) as u8));
        }
    }
    let mut bytes = io::Cursor::new(Vec::new());
    png::PngEncoder::new_with_quality(&mut bytes, png::CompressionType::Fast, png::FilterType::Sub)
        .write_image(&pixels, size, size, ExtendedColorType::Rgb8)
        .map_err(io::Error::other)?;
    Ok(bytes.into_inner())
}
