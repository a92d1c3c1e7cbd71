//! `cook_noop`, `cook_one_edit`, `cook_scaling`: what a cook costs when there is little or nothing to do, and what threads bring.
//!
//! Wall time, in this process: the cooker starts tasks and threads, and waits for the disk.
//!
//! * `cook_noop`: 10 000 sources of which none has changed, in 100 levels; the limit is one `stat` of each.
//! * `cook_one_edit`: one texture of these was painted anew, and what that takes beyond a cook without an edit; the limit is to decode, compress and write that texture alone, on as many threads.
//! * `cook_scaling`: textures alone, compressed by one thread and by two: ours is how many times faster two are, and the limit is two.

use std::{fs, hint::black_box, num::NonZeroUsize, path::Path, time::Instant};

use bevy_asset::RenderAssetUsages;
use bevy_image::{CompressedImageFormats, Image, ImageSampler, ImageType};
use seamless_cook::{
    Profile,
    texture::{AlphaUse, CpuEncoder, TextureSettings, TextureUse, cook_texture},
};

use crate::{
    project::{Project, TextureRole},
    row::{Row, Samples, Targets},
};

const LEVELS: usize = 100;
/// With the level's file and its buffer, 10 000 sources in all.
const TEXTURES_PER_LEVEL: usize = 98;
/// Side of the textures, and of the one that is edited.
const SMALL: usize = 16;
const EDITED: usize = 1024;
/// Both sides have so many.
const THREADS: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// Levels, each with so many textures of so many texels a side.
fn project(levels: usize, textures: usize, side: usize) -> Project {
    let list = |level| (0..textures).map(move |texture| (texture_file(level, texture), TextureRole::Color));
    let project = Project::new(&(0..levels).map(|level| list(level).collect()).collect::<Vec<_>>());
    for (level, texture) in (0..levels).flat_map(|level| (0..textures).map(move |texture| (level, texture))) {
        let seed = (level * textures + texture) as u32;
        project.write(&texture_file(level, texture), picture(side, seed));
    }
    project
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

/// Measures a cook of 10 000 sources of which none has changed.
pub fn noop(samples: Option<usize>) -> Row {
    let project = project(LEVELS, TEXTURES_PER_LEVEL, SMALL);
    project.cook(Profile::Dev, THREADS.get());
    let sources = project.sources();
    let mut result = Samples::default();
    for _ in 0..samples.unwrap_or(21) {
        let (ms, report) = project.cook(Profile::Dev, THREADS.get());
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
    let project = project(LEVELS, TEXTURES_PER_LEVEL, SMALL);
    project.cook(Profile::Dev, THREADS.get());
    let file = texture_file(LEVELS / 2, 0);
    let alone = tempfile::tempdir().expect("a folder for temporary files");
    let mut result = Samples::default();
    let (mut whole, mut noop, rounds) = (Vec::new(), Vec::new(), samples.unwrap_or(7));
    for round in 0..=rounds {
        let bytes = picture(EDITED, round as u32);
        project.write(&file, &bytes);
        let (ours, report) = project.cook(Profile::Dev, THREADS.get());
        assert_eq!(
            (report.work.sources_loaded, report.work.encoded),
            (1, 1),
            "one texture has changed"
        );
        let (idle, _) = project.cook(Profile::Dev, THREADS.get());
        let start = Instant::now();
        cook_alone(&bytes, alone.path());
        let limit = start.elapsed().as_secs_f64() * 1e3;
        // The first edit changes the size, too.
        if round > 0 {
            result.ours.push(ours - idle);
            result.limit.push(limit);
            whole.push(ours);
            noop.push(idle);
        }
    }
    let targets = Targets {
        of_limit: Some(2.0),
        ..Targets::default()
    };
    let [whole, idle] = [&mut whole, &mut noop].map(|times| crate::row::quantile(times, 0.5));
    let mut row = result.row("cook_one_edit", "ms", None, Some("that texture alone"), targets);
    row.note = format!(
        "beyond a cook without the edit; a texture of {EDITED}² of {} sources; the whole cook {whole:.1} ms, without the edit {idle:.1} ms",
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
    let cooked = cook_texture(&image, usage, &TextureSettings::default(), &CpuEncoder, THREADS);
    let pixels = cooked.image.data.expect("it has pixels");
    fs::write(folder.join("texture"), pixels).expect("the folder can be written to");
}

/// Measures how many times faster two threads cook textures than one.
pub fn scaling(samples: Option<usize>) -> Row {
    let mut result = Samples::default();
    for _ in 0..samples.unwrap_or(3) {
        let times = [1, 2].map(|jobs| {
            let project = project(1, 48, EDITED);
            project.cook(Profile::Dev, jobs).0
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
    row.note = "48 textures of 1024², Bevy's start, its loaders and packages included".to_owned();
    row
}
