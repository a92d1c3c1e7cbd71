//! Generates the sources and cooks them, unless both are up to date.

use std::{fs, io, path::Path, thread};

use seamless_cook::{CookOptions, Profile};
use seamless_examples::{
    cook::{ASSETS, bar, cook, is_cooked, manifest_in},
    hall::{hall, paint, painting_file},
};

use crate::args::Args;

/// The world file among the sources.
const WORLD_FILE: &str = "gallery.world.ron";
const WORLD: &str = "(levels: [(source: \"hall.glb\", name: \"hall\", always_loaded: true)])\n";
/// What says that the folder was made by this code, and how.
const MARKER: &str = "generated.txt";
/// Rises when the sources that are made change.
const VERSION: u32 = 1;

/// Makes sure that the hall is cooked. Gives the asset path of its manifest.
pub fn prepare(args: &Args) -> Result<String, String> {
    if !(1..=4096).contains(&args.paintings) || !(4..=8192).contains(&args.size) {
        return Err("a hall has 1 to 4096 paintings, of 4 to 8192 texels a side".to_owned());
    }
    let name = format!("gallery_{}_{}_{}", args.paintings, args.size, args.seed);
    let folder = Path::new(ASSETS).join(&name);
    let (sources, out) = (folder.join("sources"), folder.join("cooked"));
    let is_new = generate(args, &sources)
        .map_err(|error| format!("the hall cannot be generated in {}: {error}", sources.display()))?;
    if is_new || !is_cooked(&out) {
        let options = CookOptions {
            profile: Profile::Dev,
            ..CookOptions::default()
        };
        cook(&sources.join(WORLD_FILE), &out, &options)?;
    }
    manifest_in(&format!("{name}/cooked"))
}

#[expect(clippy::print_stdout, reason = "the example shows what it does")]
fn generate(args: &Args, dir: &Path) -> io::Result<bool> {
    let marker = format!("gallery {VERSION}\n");
    if fs::read_to_string(dir.join(MARKER)).is_ok_and(|found| found == marker) {
        return Ok(false);
    }
    println!("Painting {} pictures (once; seed {}) ...", args.paintings, args.seed);
    fs::create_dir_all(dir)?;
    fs::write(dir.join(WORLD_FILE), WORLD)?;
    fs::write(dir.join("hall.glb"), hall(args.paintings)?)?;
    let (bar, painters) = (bar(), thread::available_parallelism().map_or(1, usize::from) as u32);
    bar.set_length(u64::from(args.paintings));
    thread::scope(|scope| {
        let painter = |first: u32| {
            let bar = &bar;
            scope.spawn(move || {
                (first..args.paintings)
                    .step_by(painters as usize)
                    .try_for_each(|number| {
                        fs::write(dir.join(painting_file(number)), paint(number, args.size, args.seed)?)?;
                        bar.inc(1);
                        Ok(())
                    })
            })
        };
        let painters: Vec<_> = (0..painters).map(painter).collect();
        let join = |painter: thread::ScopedJoinHandle<io::Result<()>>| {
            painter
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a painter has failed")))
        };
        painters.into_iter().try_for_each(join)
    })?;
    bar.finish_and_clear();
    fs::write(dir.join(MARKER), marker)?;
    Ok(true)
}
