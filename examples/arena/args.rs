//! The command line.

use std::{path::PathBuf, str::FromStr};

use clap::Parser;
use seamless_examples::{
    arena::{Approach, ArenaOptions},
    display::has_display,
};

/// A game of classes and zones.
#[derive(Parser, Debug)]
pub struct Args {
    /// How content comes into memory: all, async, lazy, phase or class; `compare` plays once with each.
    #[arg(long, default_value = "phase")]
    pub approach: Choice,
    /// Play without a window, even where there is a display.
    #[arg(long)]
    pub headless: bool,
    /// Write report.json and report.html into this directory.
    #[arg(long, value_name = "DIR", default_value = "target/arena_report")]
    pub report: PathBuf,
    /// End after this many frames.
    #[arg(long, value_name = "N")]
    pub frames: Option<usize>,
    /// Decides on classes, zones and the fight.
    #[arg(long, value_name = "S", default_value_t = 7)]
    pub seed: u64,
    /// Units at the same time.
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub units: usize,
    /// Seconds that the battle takes.
    #[arg(long, value_name = "S", default_value_t = 25)]
    pub battle: u64,
    /// The machine has other things to do all the time: loading threads do not step back behind them.
    #[arg(long)]
    pub busy: bool,
    /// With small models, which are cooked in a moment: for a quick look.
    #[arg(long)]
    pub small: bool,
    /// Draw the battle without a window, and write a picture of it here. Needs a GPU, or a driver in software.
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
}

/// One approach, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// This one.
    One(Approach),
    /// All, one after the other.
    Compare,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match Approach::named(name) {
            Some(approach) => Ok(Self::One(approach)),
            None if name == "compare" => Ok(Self::Compare),
            None => Err("write all, async, lazy, phase, class or compare".to_owned()),
        }
    }
}

impl Args {
    /// Whether to open a window: there is a display, and nobody asked for none.
    pub fn has_window(&self) -> bool {
        !self.headless && has_display()
    }

    /// The game that is asked for.
    pub fn options(&self, approach: Approach) -> ArenaOptions {
        ArenaOptions {
            approach,
            seed: self.seed,
            units: self.units,
            battle_ticks: self.battle * 60,
            background: !self.busy,
            ..ArenaOptions::default()
        }
    }
}
