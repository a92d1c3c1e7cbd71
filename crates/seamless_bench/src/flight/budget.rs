//! `flight_budget/…`: whether the pipeline keeps to its budget, whatever that is.
//!
//! The flight of [`flight_hitch`](super), by an app that has opted in to levels in slices. A sample is one flight's 99.9th percentile of the
//! pipeline's own time in a frame; the limit is the budget. What the rows are to hold beside that is in their notes.

use std::time::Duration;

use seamless_asset::{StreamingSettings, StreamingStats};

use super::{Plane, written};
use crate::{
    app::Plugins,
    row::{Row, Samples, Targets, quantile},
};

/// Flights of one sample: their frames together are enough for a 99.9th percentile.
const FLIGHTS: usize = 4;

/// Measures flights at a budget in milliseconds.
pub fn run(name: &'static str, budget: f64, samples: Option<usize>) -> Row {
    let dir = written();
    let mut plane = Plane::ours(dir.path(), Plugins::Sliced);
    let median = plane.resident_median();
    let mut settings = plane.app.world_mut().resource_mut::<StreamingSettings>();
    settings.budget = Duration::from_secs_f64(budget / 1e3);
    // No frame may have more than that, and none has to do with less.
    settings.boost = 1.0;
    settings.least = 1.0;
    let mut result = Samples::default();
    let (mut longest, mut excess) = (0.0_f64, Vec::new());
    for _ in 0..samples.unwrap_or(5) {
        let (mut streaming, mut frames) = (Vec::new(), Vec::new());
        for _ in 0..FLIGHTS {
            plane.fly_and_rest();
            streaming.append(&mut plane.streaming);
            frames.append(&mut plane.frames);
        }
        longest = longest.max(quantile(&mut streaming, 1.0));
        excess.push(quantile(&mut frames, 0.999) - median);
        result.ours.push(quantile(&mut streaming, 0.999));
        result.limit.push(budget);
    }
    let targets = Targets {
        first: 1.0,
        aim: 1.0,
        of_limit: Some(1.0),
    };
    let mut row = result.row(name, "ms", None, Some("the budget"), targets);
    let stats = plane.app.world().resource::<StreamingStats>();
    let named: Vec<&str> = stats
        .overruns
        .iter()
        .rev()
        .take(3)
        .map(|over| over.what.as_str())
        .collect();
    row.note = format!(
        "longest frame of all flights {:.2}× the budget (≤ 1.5); 99.9th percentile of frames beyond the median one {:.2}× (≤ 1.5); {} of {} frames over the budget, the last by {named:?}",
        longest / budget,
        quantile(&mut excess, 0.5) / budget,
        stats.overrun_count,
        stats.frame,
    );
    row
}
