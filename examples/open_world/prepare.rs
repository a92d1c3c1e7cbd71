//! Generates the world's sources and cooks them, unless both are up to date.

use std::path::Path;

use seamless_cook::{CookOptions, Profile};
use seamless_examples::{
    cook::{self, ASSETS, bar, is_cooked, manifest_in},
    generate::{self, WORLD_FILE, WorldOptions},
};

use crate::args::Args;

/// A cooked world.
pub struct PreparedWorld {
    /// The asset path of its manifest.
    pub manifest: String,
    /// The generated world's options; `None` for a world file of somebody else.
    pub generated: Option<WorldOptions>,
}

/// Everything that was made, below the workspace's `assets`.
const FOLDER: &str = "open_world";

/// Makes sure that the world to fly over is cooked.
pub fn prepare(args: &Args) -> Result<PreparedWorld, String> {
    match &args.world {
        Some(file) => {
            let name = file
                .file_stem()
                .map_or_else(|| "world".into(), |stem| stem.to_string_lossy().into_owned());
            let name = name.trim_end_matches(".world").to_owned();
            let out = format!("{FOLDER}/worlds/{name}");
            cook(file, &Path::new(ASSETS).join(&out))?;
            Ok(PreparedWorld {
                manifest: manifest_in(&out)?,
                generated: None,
            })
        }
        None => prepare_generated(args.seed),
    }
}

fn prepare_generated(seed: u64) -> Result<PreparedWorld, String> {
    let options = WorldOptions::default();
    let sources = Path::new(ASSETS).join(FOLDER).join("sources");
    let out = format!("{FOLDER}/cooked");
    let mut fresh = false;
    if generate::is_current(&sources, seed, &options).is_none() {
        fresh = true;
        generate_sources(&sources, seed, &options)?;
    }
    if fresh || !is_cooked(&Path::new(ASSETS).join(&out)) {
        cook(&sources.join(WORLD_FILE), &Path::new(ASSETS).join(&out))?;
    }
    Ok(PreparedWorld {
        manifest: manifest_in(&out)?,
        generated: Some(options),
    })
}

#[expect(clippy::print_stdout, reason = "the example shows what it does")]
fn generate_sources(sources: &Path, seed: u64, options: &WorldOptions) -> Result<(), String> {
    println!("Generating the world (once; seed {seed}) ...");
    let bar = bar();
    let summary = generate::generate(sources, seed, options, &mut |stage, done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(stage.label());
    })
    .map_err(|error| format!("the world cannot be generated in {}: {error}", sources.display()))?;
    bar.finish_and_clear();
    println!(
        "Generated {} levels with {} entities and {} textures, {} MB.",
        summary.levels,
        summary.entities,
        summary.textures,
        summary.bytes / 1_000_000
    );
    Ok(())
}

fn cook(world: &Path, out: &Path) -> Result<(), String> {
    let options = CookOptions {
        profile: Profile::Dev,
        ..CookOptions::default()
    };
    cook::cook(world, out, &options)
}
