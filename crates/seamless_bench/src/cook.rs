//! `cook_noop`, `cook_one_edit`, `cook_scaling`: what a cook costs when there is little or nothing to do, and what threads bring.
//!
//! Wall time, in this process: the cooker starts tasks and threads, and waits for the disk.
//!
//! * `cook_noop`: 10 000 sources of which none has changed, in 100 levels; the limit is one `stat` of each.
//! * `cook_one_edit`: one texture of these was painted anew; the limit is to decode, compress and write that texture alone.
//! * `cook_scaling`: textures alone, compressed by one thread and by two: ours is how many times faster two are, and the limit is two.

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    time::Instant,
};

use bevy_asset::RenderAssetUsages;
use bevy_image::{CompressedImageFormats, Image, ImageSampler, ImageType};
use seamless_cook::{
    CookApp, CookOptions, CookReport, Profile,
    texture::{AlphaUse, CpuEncoder, TextureSettings, TextureUse, cook_texture},
};
use tempfile::TempDir;

use crate::row::{Row, Samples, Targets};

const LEVELS: usize = 100;
/// With the level's file and its buffer, 10 000 sources in all.
const TEXTURES_PER_LEVEL: usize = 98;
/// Side of the textures, and of the one that is edited.
const SMALL: usize = 16;
const EDITED: usize = 1024;

/// A project on disk.
struct Project {
    directory: TempDir,
}

impl Project {
    fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    fn write(&self, file: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("in the folder")).expect("the folder can be written to");
        fs::write(path, bytes).expect("the folder can be written to");
    }

    /// Levels, each a triangle for every texture.
    fn new(levels: usize, textures: usize, side: usize) -> Self {
        let directory = tempfile::tempdir().expect("a folder for temporary files");
        let project = Self { directory };
        let mut world = String::from("(levels: [");
        for level in 0..levels {
            project.write(&format!("l{level}.bin"), triangle());
            project.write(&format!("l{level}.gltf"), gltf(level, textures));
            world += &format!("(source: \"l{level}.gltf\"),");
            for texture in 0..textures {
                project.write(
                    &texture_file(level, texture),
                    picture(side, (level * textures + texture) as u32),
                );
            }
        }
        project.write("w.world.ron", world + "])");
        project
    }

    fn cook(&self, jobs: usize) -> (f64, CookReport) {
        let options = CookOptions {
            profile: Profile::Dev,
            jobs,
            ..CookOptions::default()
        };
        let start = Instant::now();
        let report = CookApp::new().cook(&self.path("w.world.ron"), &self.path("out"), &options, &());
        (
            start.elapsed().as_secs_f64() * 1e3,
            report.expect("the project is sound"),
        )
    }

    fn sources(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.directory.path())
            .expect("the folder is there")
            .flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.is_file())
            .collect()
    }
}

fn texture_file(level: usize, texture: usize) -> String {
    format!("t{level}_{texture}.ppm")
}

fn picture(side: usize, seed: u32) -> Vec<u8> {
    let mut bytes = format!("P6\n{side} {side}\n255\n").into_bytes();
    let mut noise = seed.wrapping_mul(0x9e37_79b9) | 1;
    for y in 0..side {
        for x in 0..side {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let grain = (noise >> 28) as usize;
            bytes.extend([x * 255 / side, y * 255 / side, (x + y) / 2 + grain].map(|value| value.min(255) as u8));
        }
    }
    bytes
}

fn triangle() -> Vec<u8> {
    let values = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn gltf(level: usize, textures: usize) -> String {
    let list = |item: &dyn Fn(usize) -> String| (0..textures).map(item).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[{}]}}],"nodes":[{}],"meshes":[{}],
        "materials":[{}],"textures":[{}],"images":[{}],"buffers":[{{"uri":"l{level}.bin","byteLength":36}}],
        "bufferViews":[{{"buffer":0,"byteLength":36}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}}]}}"#,
        list(&|n| n.to_string()),
        list(&|n| format!(r#"{{"mesh":{n}}}"#)),
        list(&|n| format!(r#"{{"primitives":[{{"attributes":{{"POSITION":0}},"material":{n}}}]}}"#)),
        list(&|n| format!(r#"{{"pbrMetallicRoughness":{{"baseColorTexture":{{"index":{n}}}}}}}"#)),
        list(&|n| format!(r#"{{"source":{n}}}"#)),
        list(&|n| format!(r#"{{"uri":"{}"}}"#, texture_file(level, n))),
    )
}

/// Measures a cook of 10 000 sources of which none has changed.
pub fn noop(samples: Option<usize>) -> Row {
    let project = Project::new(LEVELS, TEXTURES_PER_LEVEL, SMALL);
    project.cook(2);
    let sources = project.sources();
    let mut result = Samples::default();
    for _ in 0..samples.unwrap_or(21) {
        let (ms, report) = project.cook(2);
        assert_eq!(report.work, Default::default(), "nothing has changed");
        result.ours.push(ms);
        let start = Instant::now();
        sources.iter().for_each(|path| drop(black_box(fs::metadata(path))));
        result.limit.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let targets = Targets {
        of_limit: Some(5.0),
        ..Targets::default()
    };
    let mut row = result.row("cook_noop", "ms", None, Some("stat of each source"), targets);
    row.note = format!("{} sources", sources.len());
    row
}

/// Measures a cook of 10 000 sources of which one texture has changed.
pub fn one_edit(samples: Option<usize>) -> Row {
    let project = Project::new(LEVELS, TEXTURES_PER_LEVEL, SMALL);
    project.cook(2);
    let file = texture_file(LEVELS / 2, 0);
    let alone = tempfile::tempdir().expect("a folder for temporary files");
    let mut result = Samples::default();
    let (mut noop, rounds) = (Vec::new(), samples.unwrap_or(7));
    for round in 0..=rounds {
        let bytes = picture(EDITED, round as u32);
        project.write(&file, &bytes);
        let (ours, report) = project.cook(2);
        assert_eq!(
            (report.work.sources_loaded, report.work.encoded),
            (1, 1),
            "one texture has changed"
        );
        let (idle, _) = project.cook(2);
        let start = Instant::now();
        cook_alone(&bytes, alone.path());
        let limit = start.elapsed().as_secs_f64() * 1e3;
        // The first edit changes the size, too.
        if round > 0 {
            result.ours.push(ours);
            result.limit.push(limit);
            noop.push(idle);
        }
    }
    let targets = Targets {
        of_limit: Some(2.0),
        ..Targets::default()
    };
    let idle = crate::row::quantile(&mut noop, 0.5);
    let mut row = result.row("cook_one_edit", "ms", None, Some("that texture alone"), targets);
    row.note = format!(
        "a texture of {EDITED}² of {} sources; without the edit {idle:.1} ms",
        project.sources().len()
    );
    row
}

/// A texture from its file's bytes to a file, without anything around it.
fn cook_alone(bytes: &[u8], folder: &Path) {
    let image = Image::from_buffer(
        bytes,
        ImageType::Extension("ppm"),
        CompressedImageFormats::NONE,
        true,
        ImageSampler::Default,
        RenderAssetUsages::RENDER_WORLD,
    );
    let image = image.expect("the picture is sound");
    let usage = TextureUse::Color(AlphaUse::Ignored);
    let cooked = cook_texture(&image, usage, &TextureSettings::default(), &CpuEncoder);
    let pixels = cooked.image.data.expect("it has pixels");
    fs::write(folder.join("texture"), pixels).expect("the folder can be written to");
}

/// Measures how many times faster two threads cook textures than one.
pub fn scaling(samples: Option<usize>) -> Row {
    let mut result = Samples::default();
    for _ in 0..samples.unwrap_or(5) {
        let times = [1, 2].map(|jobs| {
            let project = Project::new(1, 24, EDITED / 2);
            project.cook(jobs).0
        });
        result.ours.push(times[0] / times[1]);
        result.limit.push(2.0);
    }
    let targets = Targets {
        of_limit: Some(0.9),
        ..Targets::default()
    };
    let mut row = result
        .row("cook_scaling", "×", None, Some("two threads"), targets)
        .higher_is_better();
    row.note = "24 textures of 512², Bevy's loaders and packages included".to_owned();
    row
}
