//! The command line.

use std::path::PathBuf;

use clap::Parser;
use seamless_examples::display::has_display;

/// A hall of paintings that stream by mips.
#[derive(Parser, Debug)]
pub struct Args {
    /// Walk without a window, even where there is a display.
    #[arg(long)]
    pub headless: bool,
    /// Write report.json and, without a window, report.html into this directory.
    #[arg(long, value_name = "DIR", default_value = "target/gallery_report")]
    pub report: PathBuf,
    /// Frames that are walked, at 60 a second; at half of them the visitor is put to the other end of the hall. In a window there is no end by default,
    /// without one it is 600.
    #[arg(long, value_name = "N")]
    pub frames: Option<u32>,
    /// Paintings in the hall.
    #[arg(long, value_name = "N", default_value_t = 240)]
    pub paintings: u32,
    /// Texels along each side of a painting.
    #[arg(long, value_name = "TEXELS", default_value_t = 1024)]
    pub size: u32,
    /// What all their textures may take on the GPU, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    pub pool: u64,
    /// Decides what is painted.
    #[arg(long, value_name = "S", default_value_t = 7)]
    pub seed: u64,
    /// Write a picture of where the walk ends here. Only without a window.
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
    /// Begin with boxes around paintings that tell how fine they are: green is as fine as is wanted, blue finer, yellow to red coarser. F2 shows them, too.
    #[cfg(feature = "overlay")]
    #[arg(long)]
    pub boxes: bool,
    /// Begin with all surfaces in the colours of their mips, as the GPU samples them. F3 shows them, too.
    #[cfg(feature = "overlay")]
    #[arg(long, conflicts_with = "mips")]
    pub surfaces: bool,
    /// Write a picture of which mips the walk's end shows here: green is as fine as the GPU samples it, blue finer, yellow to red coarser. Only without a window.
    #[arg(long, value_name = "FILE")]
    pub mips: Option<PathBuf>,
}

/// Frames without a window, unless others are asked for.
const FRAMES: u32 = 600;

impl Args {
    /// Whether to open a window: there is a display, and nobody asked for none.
    pub fn has_window(&self) -> bool {
        !self.headless && has_display()
    }

    /// Frames that are walked; none for as long as the window is open.
    pub fn frames(&self) -> Option<u32> {
        self.frames.or_else(|| (!self.has_window()).then_some(FRAMES))
    }
}
