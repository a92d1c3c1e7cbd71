//! Cooking on the first run of an example, with bars on a terminal.

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use indicatif::{ProgressBar, ProgressStyle};
use seamless_cook::{CookApp, CookError, CookOptions, Progress, Stage};

/// The asset root of the examples: everything that they make lies in folders below it.
pub const ASSETS: &str = "assets";

/// A cook counts as current when it was finished after this program was built: the program holds the codecs.
#[must_use]
pub fn is_cooked(out: &Path) -> bool {
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

/// Cooks a world file, and says so.
///
/// # Errors
/// What the cooker says.
#[expect(clippy::print_stdout, reason = "the example shows what it does")]
pub fn cook(world: &Path, out: &Path, options: &CookOptions) -> Result<(), String> {
    println!("Cooking {} ...", world.display());
    let progress = Bars(RefCell::new(bar()));
    let report = CookApp::new()
        .cook(world, out, options, &progress)
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

/// The asset path of the one manifest in a folder below the asset root.
///
/// # Errors
/// When there is none, or another one.
pub fn manifest_in(folder: &str) -> Result<String, String> {
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

/// A bar with a message, silent where there is no terminal.
#[must_use]
pub fn bar() -> ProgressBar {
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
