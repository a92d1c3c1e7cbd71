//! Histograms of times with a logarithmic count axis, and the time of each frame over the flight.

use super::{
    charts::{Chart, WIDTH},
    log::FlightLog,
    svg::{Anchor, number, palette},
};

const BINS: usize = 60;

/// How many frames took how long. `limit` is drawn as a dashed line with its name.
pub fn draw(values: &[f64], limit: f64, limit_name: &str, unit: &str, color: &str) -> String {
    let largest = values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    let max = (largest * 1.02).max(limit * 1.25).max(1e-3);
    let mut counts = [0_u64; BINS];
    for value in values {
        let bin = (value.max(0.0) / max * BINS as f64) as usize;
        counts[bin.min(BINS - 1)] += 1;
    }
    let decades = counts.iter().copied().max().unwrap_or(0).max(10).ilog10() + 1;
    let mut chart = Chart::new(WIDTH, 250.0, max, f64::from(decades) + 0.3);
    chart.y_title("frames (log scale)");
    for decade in 0..=decades {
        // A single frame must be visible, so it has a height of 0.3 decades.
        chart.y_tick(f64::from(decade) + 0.3, &number(10_f64.powi(decade as i32), 0));
    }
    let bottom = chart.y(0.0);
    let width = chart.plot_width() / BINS as f64;
    for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let low = max * bin as f64 / BINS as f64;
        let fill = if low >= limit { palette::RED } else { color };
        let (x, y) = (chart.x(low), chart.y((*count as f64).log10() + 0.3));
        chart.svg.rect(x + 0.5, y, width - 1.0, bottom - y, fill);
    }
    chart.x_axis(unit, 12);
    let x = chart.x(limit);
    let style = "stroke=\"#c8453b\" stroke-width=\"1.6\" stroke-dasharray=\"6 4\"";
    chart.svg.line((x, 26.0), (x, bottom), style);
    chart.svg.text(
        (x, 20.0),
        Anchor::Middle,
        "limit",
        &format!("{limit_name}: {} ms", number(limit, 2)),
    );
    chart.svg.finish("histogram of frame times")
}

/// Streaming time of each frame over the flight: the worst frame of each pixel column, and the budget.
pub fn over_time(log: &FlightLog, budget: f64) -> String {
    let largest = log
        .frames
        .iter()
        .map(|frame| f64::from(frame.stream_ms))
        .fold(0.0, f64::max);
    let mut chart = Chart::new(WIDTH, 220.0, log.seconds(), (largest * 1.08).max(budget * 1.2));
    chart.y_axis("streaming, ms", 5);
    let columns = (chart.plot_width() as usize).max(1);
    let per_column = log.frames.len().div_ceil(columns).max(1);
    let bottom = chart.y(0.0);
    for (column, frames) in log.frames.chunks(per_column).enumerate() {
        let worst = frames
            .iter()
            .map(|frame| f64::from(frame.stream_ms))
            .fold(0.0, f64::max);
        let x = chart.x(log.time_of(column * per_column));
        let width = chart.x(log.time_of((column + 1) * per_column)) - x;
        let y = chart.y(worst);
        let fill = if worst > budget { palette::RED } else { palette::TEAL };
        chart.svg.rect(x, y, width.max(0.6), bottom - y, fill);
    }
    chart.limit(budget, &format!("budget {} ms", number(budget, 2)));
    chart.teleports(&log.teleports());
    chart.x_axis("time of the flight, s", 10);
    chart.svg.finish("streaming time of each frame over the flight")
}
