//! Generates the world's sources and cooks them, unless both are up to date.

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use indicatif::{ProgressBar, ProgressStyle};
use seamless_cook::{CookApp, CookError, CookOptions, Profile, Progress, Stage};
use seamless_examples::generate::{self, WORLD_FILE, WorldOptions};

use crate::args::Args;

/// A cooked world.
pub struct PreparedWorld {
    /// The asset path of its manifest.
    pub manifest: String,
    /// The generated world's options; `None` for a world file of somebody else.
    pub generated: Option<WorldOptions>,
}

/// Everything that was made, below the workspace's `assets`.
const ASSETS: &str = "assets";
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

/// A cook counts as current when it was finished after this program was built: the program holds the codecs.
fn is_cooked(out: &Path) -> bool {
    let built = std::env::current_exe()
        .and_then(fs::metadata)
        .and_then(|data| data.modified());
    let cooked = fs::metadata(out.join(STAMP)).and_then(|data| data.modified());
    matches!((built, cooked), (Ok(built), Ok(cooked)) if built <= cooked && cooked <= SystemTime::now())
}

/// Further ones are only counted; `seamless cook` lists them all.
const WARNINGS_SHOWN: usize = 3;

/// Written last, so that an interrupted cook is not taken for a finished one.
const STAMP: &str = "cooked.stamp";

#[expect(clippy::print_stdout, reason = "the example shows what it does")]
fn cook(world: &Path, out: &Path) -> Result<(), String> {
    println!("Cooking {} ...", world.display());
    let options = CookOptions {
        profile: Profile::Dev,
        ..CookOptions::default()
    };
    let progress = Bars(RefCell::new(bar()));
    let report = CookApp::new()
        .cook(world, out, &options, &progress)
        .map_err(|error| describe(&error))?;
    progress.0.borrow().finish_and_clear();
    for warning in report.warnings.iter().take(WARNINGS_SHOWN) {
        println!("warning: {warning}");
    }
    if report.warnings.len() > WARNINGS_SHOWN {
        println!("... and {} warnings more", report.warnings.len() - WARNINGS_SHOWN);
    }
    println!(
        "Cooked {} levels into {} packages in {:.1} s.",
        report.levels.len(),
        report.packages.len(),
        report.seconds
    );
    fs::write(out.join(STAMP), []).map_err(|error| format!("{}: {error}", out.display()))
}

fn describe(error: &CookError) -> String {
    let mut text = error.to_string();
    for error in error.content_errors() {
        text.push_str(&format!("\n  {error}"));
    }
    text
}

fn manifest_in(folder: &str) -> Result<String, String> {
    let directory = Path::new(ASSETS).join(folder);
    let files = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let manifests: Vec<PathBuf> = files
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "seamless"))
        .collect();
    match manifests.as_slice() {
        [one] => Ok(format!(
            "{folder}/{}",
            one.file_name().unwrap_or_default().to_string_lossy()
        )),
        _ => Err(format!(
            "{} holds {} manifests; delete it and run again",
            directory.display(),
            manifests.len()
        )),
    }
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:>10} {wide_bar} {pos}/{len}");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Shows a cook's stages on a terminal.
struct Bars(RefCell<ProgressBar>);

impl Progress for Bars {
    fn begin(&self, stage: Stage, steps: u64) {
        let bar = self.0.borrow();
        bar.set_length(steps);
        bar.set_position(0);
        bar.set_message(stage.name());
    }

    fn step(&self, _: Stage, _: &str) {
        self.0.borrow().inc(1);
    }
}
