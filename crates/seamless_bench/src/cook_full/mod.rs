//! `cook_full`: the PNGs of the example world, from nothing to files on the disk.
//!
//! Wall time, in this process. Both sides have as many threads to compress with: Bevy's saver takes [`SAVER_THREADS`] for every image, and
//! Bevy processes an image for every thread of its IO pool at once. Ours gets the product, and works on a texture with each.
//!
//! * Ours: a cook without a cache, of a project whose materials show every PNG as the world's do. It reads glTF and PNGs by Bevy's loaders,
//!   makes mips, compresses, measures what compression did, and writes packages and manifest.
//! * Peer: Bevy's `AssetProcessor` with its default for PNGs (`CompressedImageSaver`: UASTC with mips, by basis-universal), which writes a
//!   file and a `.meta` for each; normal maps have a `.meta` that says that they are linear. Only with the feature `bevy_processor`.
//!
//! The two make different formats: the note tells how good each is.

#[cfg(feature = "bevy_processor")]
mod processor;
#[cfg(any(test, feature = "bevy_processor"))]
mod quality;
#[cfg(test)]
mod tests;

use std::{fs, time::Duration};

use bevy_app::{App, TaskPoolPlugin};
use bevy_tasks::IoTaskPool;
use cpu_time::ProcessTime;
use seamless_cook::{CookReport, CookedTextureReport, Profile};

use crate::{
    open_world::{OpenWorld, Picture},
    project::Project,
    row::{Row, Samples, Targets, quantile},
};

/// Threads that Bevy's `CompressedImageSaver` compresses an image with; fixed there.
const SAVER_THREADS: usize = 4;

/// Wall and CPU time of one side, in seconds, and what came out.
#[derive(Default)]
struct Side {
    cpu: Vec<f64>,
    quality: String,
}

/// Measures a cook with textures for development.
pub fn dev(world: &OpenWorld, samples: Option<usize>) -> Row {
    run("cook_full/dev", Profile::Dev, world, samples)
}

/// Measures a cook with textures to ship.
pub fn ship(world: &OpenWorld, samples: Option<usize>) -> Row {
    run("cook_full/ship", Profile::Ship, world, samples)
}

fn run(name: &'static str, profile: Profile, world: &OpenWorld, samples: Option<usize>) -> Row {
    App::new().add_plugins(TaskPoolPlugin::default());
    let io = IoTaskPool::get().thread_num();
    let pictures = world.pictures();
    let project = project(&pictures);
    #[cfg(feature = "bevy_processor")]
    let peer = processor::Processor::new(&pictures);
    let mut result = Samples::default();
    let mut ours = Side::default();
    #[cfg_attr(not(feature = "bevy_processor"), expect(unused_mut, reason = "the peer fills it"))]
    let mut peers = Side::default();
    for _ in 0..samples.unwrap_or(3) {
        let (wall, cpu, report) = cook(&project, profile, io * SAVER_THREADS);
        assert_eq!(report.textures.len(), pictures.len(), "all PNGs are cooked");
        result.ours.push(wall);
        ours.cpu.push(cpu);
        ours.quality = quality_of(&report.textures);
        #[cfg(feature = "bevy_processor")]
        {
            let (wall, cpu) = peer.run();
            result.peer.push(wall);
            peers.cpu.push(cpu);
            peers.quality = peer.quality(&pictures);
        }
    }
    let targets = Targets {
        first: 1.0,
        aim: 1.0,
        of_limit: None,
    };
    let peer_name = cfg!(feature = "bevy_processor").then_some("Bevy's AssetProcessor");
    let mut row = result.row(name, "s", peer_name, None, targets);
    row.note = note(pictures.len(), io, ours, peers);
    row
}

/// The pictures, and a material for each that shows it as the world does.
fn project(pictures: &[Picture]) -> Project {
    let textures = pictures.iter().map(|picture| (picture.file.clone(), picture.role));
    let project = Project::new(&[textures.collect()]);
    for picture in pictures {
        fs::copy(&picture.path, project.path(&picture.file)).expect("the picture can be copied");
    }
    project
}

/// Cooks from nothing; wall and CPU time in seconds.
fn cook(project: &Project, profile: Profile, jobs: usize) -> (f64, f64, CookReport) {
    if project.out().exists() {
        fs::remove_dir_all(project.out()).expect("the folder can be removed");
    }
    let start = ProcessTime::now();
    let (ms, report) = project.cook(profile, jobs);
    let cpu: Duration = start.elapsed();
    (ms / 1e3, cpu.as_secs_f64(), report)
}

/// Formats, and how far the textures are from what they were.
fn quality_of(textures: &[CookedTextureReport]) -> String {
    let textures = || textures.iter().map(|cooked| &cooked.texture);
    let mut formats: Vec<&str> = textures().map(|texture| &*texture.to_format).collect();
    formats.sort_unstable();
    formats.dedup();
    let colors = mean(textures().filter_map(|texture| texture.psnr_db));
    let normals = mean(textures().filter_map(|texture| texture.normal_error_degrees));
    let bytes: u64 = textures().map(|texture| texture.bytes_after).sum();
    format!(
        "{}, {bytes} bytes of texels; colours {colors:.1} dB, normals {normals:.2}° off, over all mips",
        formats.join(" and ")
    )
}

/// The mean; no number if there are no values.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count)
}

fn note(pictures: usize, io: usize, mut ours: Side, mut peers: Side) -> String {
    let mut note = format!(
        "{pictures} PNGs; both with {} threads: ours works on as many textures at once, the peer on {io} with {SAVER_THREADS} each\n  \
         ours: {:.1} s of CPU time; {}",
        io * SAVER_THREADS,
        quantile(&mut ours.cpu, 0.5),
        ours.quality,
    );
    note += &if peers.cpu.is_empty() {
        "\n  peer: none in this build; build with `--features bevy_processor`, which needs a C++ compiler".to_owned()
    } else {
        format!(
            "\n  peer: {:.1} s of CPU time; {}",
            quantile(&mut peers.cpu, 0.5),
            peers.quality
        )
    };
    note
}
