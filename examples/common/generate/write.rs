//! Writing the generated world: in parallel, aside, and renamed when it is whole.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use serde::{Deserialize, Serialize};

use super::{Stage, WORLD_FILE, WorldOptions, WorldSummary, cell, kit, terrain::Terrain, textures, town, world_file};

/// Raise it whenever the same seed and options would give other bytes.
const GENERATOR_VERSION: u32 = 3;
/// The file that marks a finished folder.
const MARKER: &str = "generated.json";

#[derive(Serialize, Deserialize)]
struct Marker {
    generator_version: u32,
    seed: u64,
    options: WorldOptions,
    summary: WorldSummary,
}

/// The summary of the world in `dir` if it was made with this seed, these options and this version of the generator.
#[must_use]
pub fn is_current(dir: &Path, seed: u64, options: &WorldOptions) -> Option<WorldSummary> {
    let text = fs::read(dir.join(MARKER)).ok()?;
    let marker: Marker = serde_json::from_slice(&text).ok()?;
    let same = marker.generator_version == GENERATOR_VERSION && marker.seed == seed && marker.options == *options;
    (same && dir.join(WORLD_FILE).is_file()).then(|| marker.summary.below(dir))
}

/// Makes the world of a seed in `dir`, which then holds nothing else. A world that is current already stays untouched.
/// `progress` hears of every file: the stage, how many files of it are done, and how many there are.
///
/// # Errors
/// When a file cannot be written, or when `dir` holds something that was not generated: it is not overwritten.
pub fn generate(
    dir: &Path,
    seed: u64,
    options: &WorldOptions,
    progress: &mut dyn FnMut(Stage, usize, usize),
) -> io::Result<WorldSummary> {
    if let Some(summary) = is_current(dir, seed, options) {
        return Ok(summary);
    }
    refuse_foreign(dir)?;
    let aside = aside(dir)?;
    remove(&aside)?;
    for folder in ["textures", "cells", "towns"] {
        fs::create_dir_all(aside.join(folder))?;
    }
    let summary = write_all(&aside, seed, options, progress)?;
    let marker = Marker {
        generator_version: GENERATOR_VERSION,
        seed,
        options: options.clone(),
        summary: summary.clone(),
    };
    fs::write(aside.join(MARKER), serde_json::to_vec_pretty(&marker)?)?;
    remove(dir)?;
    fs::rename(&aside, dir)?;
    Ok(summary.below(dir))
}

/// A folder that exists must be empty or carry the marker.
fn refuse_foreign(dir: &Path) -> io::Result<()> {
    let occupied = match fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    if occupied && !dir.join(MARKER).is_file() {
        let text = format!(
            "`{}` is not empty and was not made by the world generator: remove it or choose another folder",
            dir.display()
        );
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    Ok(())
}

/// The folder beside `dir` in which the new one grows.
fn aside(dir: &Path) -> io::Result<PathBuf> {
    let mut name = dir
        .file_name()
        .ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{}` names no folder", dir.display()),
            )
        })?
        .to_os_string();
    name.push(".partial");
    Ok(dir.with_file_name(name))
}

fn remove(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write_all(
    dir: &Path,
    seed: u64,
    options: &WorldOptions,
    progress: &mut dyn FnMut(Stage, usize, usize),
) -> io::Result<WorldSummary> {
    let terrain = Terrain::new(seed, options);
    let grid = options.grid;
    let images = textures::TEXTURES.map(|texture| texture.smaller(options.texture_divisor));
    let textures = in_parallel(
        images.len(),
        |i| Ok((images[i].write(&dir.join("textures"), seed)?, 0)),
        &mut |done, count| progress(Stage::Textures, done, count),
    )?;
    let cells = in_parallel(
        (grid * grid) as usize,
        |i| {
            let (x, z) = (i as u32 % grid, i as u32 / grid);
            let file = cell::build(x, z, seed, options, &terrain)?;
            let bytes = write(&dir.join(format!("cells/cell_{x}_{z}.glb")), &file.bytes)?;
            Ok((bytes, file.entities))
        },
        &mut |done, count| progress(Stage::Cells, done, count),
    )?;
    let towns = in_parallel(
        terrain.towns.len(),
        |i| {
            let (text, entities) = town::build(i, seed);
            Ok((
                write(&dir.join(format!("towns/town_{i}.scn.ron")), text.as_bytes())?,
                entities,
            ))
        },
        &mut |done, count| progress(Stage::Towns, done, count),
    )?;
    let (sky, sky_entities) = town::sky();
    let rest = write(&dir.join("sky.scn.ron"), sky.as_bytes())?
        + write(&dir.join("kit.glb"), &kit::build()?)?
        + write(&dir.join(WORLD_FILE), world_file::build(options, &terrain).as_bytes())?;
    let (cell_count, town_count) = (u64::from(grid * grid), terrain.towns.len() as u64);
    Ok(WorldSummary {
        world_file: PathBuf::new(),
        levels: cell_count + town_count + 1,
        cells: cell_count,
        towns: town_count,
        entities: cells.1 + towns.1 + sky_entities,
        textures: images.len() as u64,
        bytes: textures.0 + cells.0 + towns.0 + rest,
    })
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<u64> {
    fs::write(path, bytes)?;
    Ok(bytes.len() as u64)
}

/// Runs `work` for each of `count` numbers on all cores and adds up what it gives (bytes, entities). The first error
/// ends the work.
fn in_parallel(
    count: usize,
    work: impl Fn(usize) -> io::Result<(u64, u64)> + Sync,
    progress: &mut dyn FnMut(usize, usize),
) -> io::Result<(u64, u64)> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(count.max(1));
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= count || sender.send(work(i)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let (mut sum, mut done) = ((0, 0), 0);
        for result in receiver {
            // Leaving the loop drops the receiver, and the threads stop at their next message.
            let (bytes, entities) = result?;
            sum = (sum.0 + bytes, sum.1 + entities);
            done += 1;
            progress(done, count);
        }
        Ok(sum)
    })
}
