//! The command line.

use std::path::PathBuf;

use clap::Parser;
use seamless_examples::display::has_display;

/// A streamed open world, generated, cooked and flown over.
#[derive(Parser, Debug)]
pub struct Args {
    /// Cook and fly this world file instead of the generated one.
    #[arg(long, value_name = "FILE")]
    pub world: Option<PathBuf>,
    /// Fly without a window, even where there is a display.
    #[arg(long)]
    pub headless: bool,
    /// Write report.json and report.html into this directory.
    #[arg(long, value_name = "DIR", default_value = "target/open_world_report")]
    pub report: PathBuf,
    /// End the flight after this many frames.
    #[arg(long, value_name = "N")]
    pub frames: Option<u64>,
    /// Seed of the generated world and of the flight.
    #[arg(long, value_name = "S", default_value_t = 7)]
    pub seed: u64,
}

impl Args {
    /// Whether to open a window: there is a display, and nobody asked for none.
    pub fn has_window(&self) -> bool {
        !self.headless && has_display()
    }
}
