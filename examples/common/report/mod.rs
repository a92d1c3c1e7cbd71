//! What a flight measured, written as `report.json` and as a self-contained `report.html` with pictures.

mod charts;
pub(crate) mod histogram;
mod html;
mod log;
mod map;
mod memory;
mod mips;
mod stats;
pub(crate) mod svg;
#[cfg(test)]
mod tests;
mod timeline;

use std::{fs, io, path::Path};

use serde::Serialize;

pub use log::{FlightLog, Footprint, FrameSample, LevelTrack};
pub use mips::{MipLog, MipSummary};
pub use stats::{Percentiles, percentile};

/// The counters of a flight. The first keys are the ones that scripts rely on, in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// How the program was built: `debug` or `release`.
    pub profile: String,
    /// Frames flown.
    pub frames: u64,
    /// Levels in the world.
    pub levels: u64,
    /// Levels revealed at least once and not always loaded.
    pub levels_loaded: u64,
    /// Levels that left after they were revealed.
    pub levels_unloaded: u64,
    /// The most entities that were in the world at once.
    pub entities_peak: u64,
    /// How often a part of a level was seen without the rest.
    pub atomicity_violations: u64,
    /// Levels that the camera reached before they were revealed, on the path between teleports.
    pub late_levels: u64,
    /// Main-thread time per frame spent on streaming.
    pub stream_ms: StreamTime,
    /// Frames in which the budget was raised.
    pub boosted: u64,
    /// Main-thread time per frame above the median frame of the same flight with everything resident, in milliseconds.
    pub frame_excess_ms: Percentiles,
    /// Frames of the flight in which streaming took longer than the budget.
    pub overruns: u64,
    /// Levels that failed to load.
    pub failed: u64,
    /// Loads given up in the flight before they were done.
    pub cancelled: u64,
    /// Bytes read from packages in the flight; what was there before its first frame does not count.
    pub bytes_read: u64,
    /// Bytes of those read for loads that were then given up.
    pub bytes_wasted: u64,
    /// What the flight asks of textures, and what they would take with all their mips.
    pub mips: MipSummary,
    /// The same of the frames with everything resident: what the machine adds to frames without any streaming.
    pub resident_excess_ms: Percentiles,
    /// Teleports of the camera.
    pub teleports: u64,
    /// Levels that the camera reached before they were revealed, right after a teleport.
    pub late_after_teleport: u64,
    /// Entities in all levels together.
    pub entities_total: u64,
    /// The seed of the world and of the flight.
    pub seed: u64,
    /// What took longer than the budget, frame by frame.
    pub named_overruns: Vec<NamedOverrun>,
    /// Whether all of the generated world was flown: only then many levels must come and go. Not in the JSON.
    #[serde(skip)]
    pub is_whole_flight: bool,
    /// Whether several frames with everything resident were as slow as the slowest of the flight: then they say nothing about
    /// streaming. Not in the JSON.
    #[serde(skip)]
    pub is_restless: bool,
}

/// Main-thread time per frame spent on streaming, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StreamTime {
    /// The configured budget of a frame.
    pub budget: f64,
    /// Its median, 99th and 99.9th percentile and maximum.
    #[serde(flatten)]
    pub spread: Percentiles,
}

/// A frame in which streaming took longer than the budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NamedOverrun {
    /// The frame's number, counted from the flight's first.
    pub frame: u64,
    /// How long streaming took, in milliseconds.
    pub ms: f64,
    /// What it was doing.
    pub what: String,
}

/// As many levels must come and go in a flight over the whole generated world.
const FEWEST_LEVELS: u64 = 200;

impl Report {
    /// Whether more than 1 of 1000 frames took longer than the budget that each had: what is about to be missing may take more, and is
    /// counted in `boosted`.
    fn has_overrun(&self) -> bool {
        self.overruns * 1000 > self.frames
    }

    /// Whether more than 1 of 1000 frames were slower than the median one with everything resident by over 1.5 budgets.
    fn has_slow_frames(&self) -> bool {
        self.frame_excess_ms.p999 > 1.5 * self.stream_ms.budget
    }

    /// What cannot be said on this machine, in plain words.
    #[must_use]
    pub fn undecided(&self) -> Option<&'static str> {
        (self.has_slow_frames() && self.is_restless).then_some(
            "the machine is too restless to tell whether streaming slows frames: more than 1 of 1000 were slower than the median one with \
             everything resident by over 1.5 budgets, but so were frames with everything resident",
        )
    }

    /// The demands of a flight without a hitch that this one did not meet, in plain words; empty when it met all.
    #[must_use]
    pub fn shortcomings(&self) -> Vec<String> {
        let late_limit = self.levels_loaded / 100;
        let has_few_levels = self.levels_loaded.min(self.levels_unloaded) < FEWEST_LEVELS;
        let demands = [
            (
                self.atomicity_violations > 0,
                "part of a level was seen without the rest",
            ),
            (self.failed > 0, "levels failed to load"),
            (
                self.is_whole_flight && has_few_levels,
                "fewer than 200 levels came and went",
            ),
            (self.late_levels > 0, "levels came late on the path"),
            (
                self.late_after_teleport > late_limit,
                "more than 1 % of the levels came late after a teleport",
            ),
            (
                self.has_overrun(),
                "streaming took longer than its budget in more than 1 of 1000 frames",
            ),
            (
                self.has_slow_frames() && !self.is_restless,
                "more than 1 of 1000 frames were slower than with everything resident by over 1.5 budgets",
            ),
        ];
        demands
            .into_iter()
            .filter(|(missed, _)| *missed)
            .map(|(_, text)| text.to_string())
            .collect()
    }
}

/// Writes `report.json` and `report.html` into `dir`, which is made if it does not exist.
///
/// # Errors
/// When the folder or a file cannot be written.
pub fn write(dir: &Path, report: &Report, log: &FlightLog) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut json = serde_json::to_vec_pretty(report)?;
    json.push(b'\n');
    fs::write(dir.join("report.json"), json)?;
    fs::write(dir.join("report.html"), html::page(report, log))
}
