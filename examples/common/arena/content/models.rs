//! What cues show: a lump with a picture of its own for each, and the floors of the zones.

use std::{io, io::Cursor};

use glam::Vec3;
use image::{ExtendedColorType, ImageEncoder, codecs::png};

use super::{
    Files,
    classes::CLASSES,
    cues::shows,
    zones::{APART, HALF, ZONES},
};
use crate::generate::{
    glb::{Glb, Material, Node},
    noise::{Noise, Rng},
    shapes::{Shape, lump},
};

/// How large models are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Models {
    /// Rings of each lump; it has twice as many segments.
    pub rings: u16,
    /// Pixels along each side of a picture.
    pub texture: u32,
}

impl Default for Models {
    /// About 600 kB in memory for each cue that shows something.
    fn default() -> Self {
        Self {
            rings: 48,
            texture: 320,
        }
    }
}

impl Models {
    /// Small ones, for tests.
    #[must_use]
    pub fn small() -> Self {
        Self { rings: 6, texture: 8 }
    }

    pub(super) fn write(&self, files: &mut Files) -> io::Result<()> {
        let mut stream = 0;
        let mut put = |path: String, color: [f32; 3], look: Look| {
            stream += 1;
            self.write_one(files, &path, color, look, stream)
        };
        for class in &CLASSES {
            put(format!("models/{}/hit", class.name), class.color, Look::Hit)?;
            put(format!("models/{}/special", class.name), class.color, Look::Aura)?;
        }
        for zone in &ZONES {
            put(format!("models/{}/hazard", zone.name), zone.color, Look::Burst)?;
            put(format!("models/{}/ambience", zone.name), zone.color, Look::Beacon)?;
        }
        put("models/common/death".into(), [0.7, 0.7, 0.75], Look::Burst)?;
        for (place, (folder, name)) in shows().enumerate() {
            let hue = place as f32 / 8.0;
            let color = [0.4 + 0.6 * hue, 0.9 - 0.7 * hue, 0.3 + 0.5 * (1.0 - hue)];
            put(format!("models/{folder}/{name}"), color, Look::Beacon)?;
        }
        files.put("models/ground.glb", ground()?)
    }

    fn write_one(&self, files: &mut Files, path: &str, color: [f32; 3], look: Look, stream: u64) -> io::Result<()> {
        let mut rng = Rng::new(31, stream);
        let mut shape = lump(1.0, look.squash(), 0.35, self.rings, &mut rng);
        let (scale, lift) = (look.scale(), look.lift());
        for position in &mut shape.positions {
            *position = *position * scale + Vec3::Y * lift;
        }
        let mut glb = Glb::default();
        // It lies beside the model.
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let picture = format!("{name}.png");
        let material = glb.material(&Material {
            name: "skin",
            color: [1.0; 3],
            texture: Some(&picture),
            roughness: 0.6,
            ..Material::default()
        });
        let mesh = glb.mesh(None, &[(&shape, material)]);
        glb.node(
            None,
            Node {
                name: Some("body".into()),
                mesh: Some(mesh),
                ..Node::default()
            },
        );
        files.put(&format!("{path}.png"), self.picture(color, stream)?)?;
        files.put(&format!("{path}.glb"), glb.finish("cue")?)
    }

    /// Clouds of a colour.
    fn picture(&self, color: [f32; 3], stream: u64) -> io::Result<Vec<u8>> {
        let noise = Noise::new(31, stream);
        let size = self.texture;
        let mut pixels = Vec::with_capacity((size * size * 3) as usize);
        for y in 0..size {
            for x in 0..size {
                let at = (glam::Vec2::new(x as f32, y as f32) + 0.5) * 6.0 / size as f32;
                let light = 0.75 + 0.45 * noise.fractal(at, 3, 6).value;
                pixels.extend(color.map(|part| ((part.powf(1.0 / 2.2) * light).clamp(0.0, 1.0) * 255.0) as u8));
            }
        }
        let mut bytes = Cursor::new(Vec::new());
        png::PngEncoder::new_with_quality(&mut bytes, png::CompressionType::Fast, png::FilterType::Sub)
            .write_image(&pixels, size, size, ExtendedColorType::Rgb8)
            .map_err(io::Error::other)?;
        Ok(bytes.into_inner())
    }
}

/// What a model is for.
#[derive(Clone, Copy, PartialEq)]
enum Look {
    /// A small thing over who was hit.
    Hit,
    /// Around who has it.
    Aura,
    /// Large, for a moment.
    Burst,
    /// High, to be seen from afar.
    Beacon,
}

impl Look {
    fn squash(self) -> f32 {
        match self {
            Self::Hit | Self::Burst => 1.0,
            Self::Aura => 0.25,
            Self::Beacon => 3.0,
        }
    }

    fn scale(self) -> f32 {
        match self {
            Self::Hit => 0.3,
            Self::Aura => 0.9,
            Self::Burst => 0.8,
            Self::Beacon => 1.5,
        }
    }

    fn lift(self) -> f32 {
        match self {
            Self::Hit => 2.2,
            Self::Aura => 0.2,
            Self::Burst => 1.2,
            Self::Beacon => 6.0,
        }
    }
}

/// A floor for each zone, all in one level.
fn ground() -> io::Result<Vec<u8>> {
    let mut glb = Glb::default();
    for (place, zone) in ZONES.iter().enumerate() {
        let material = glb.material(&Material {
            name: zone.name,
            color: zone.floor,
            roughness: 0.95,
            ..Material::default()
        });
        let mut shape = Shape::default();
        let half = HALF * 1.25;
        shape.cuboid(Vec3::new(-half, -1.0, -half), Vec3::new(half, 0.0, half), 4.0);
        let mesh = glb.mesh(None, &[(&shape, material)]);
        let translation = Some([place as f32 * APART, 0.0, 0.0]);
        glb.node(
            None,
            Node {
                name: Some(zone.name.into()),
                mesh: Some(mesh),
                translation,
                ..Node::default()
            },
        );
    }
    glb.finish("ground")
}
