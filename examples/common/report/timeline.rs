//! The level timeline: one row per level, time to the right, colours for loading and live.

use super::{
    charts::{Chart, WIDTH},
    log::{FlightLog, LevelTrack},
    svg::{number, palette},
};

/// The picture, and how many levels it shows: those that were asked for at all, ordered by their first request.
pub fn draw(log: &FlightLog) -> (String, usize) {
    let mut levels: Vec<&LevelTrack> = log
        .levels
        .iter()
        .filter(|level| level.first_request() < u32::MAX)
        .collect();
    levels.sort_by_key(|level| (level.first_request(), level.name.as_str()));
    let row = (760.0 / levels.len().max(1) as f64).clamp(1.4, 12.0);
    // Thin rows touch: gaps of less than a pixel would only blur.
    let filled = if row < 4.0 { row + 0.1 } else { row * 0.85 };
    let height = row * levels.len() as f64;
    let mut chart = Chart::new(WIDTH, height + 74.0, log.seconds(), levels.len() as f64);
    chart.y_title("levels, in the order of their first load");
    let step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 2000, 5000]
        .into_iter()
        .find(|step| levels.len() / step <= 10)
        .unwrap_or(10_000);
    for shown in (0..=levels.len()).step_by(step) {
        chart.y_tick((levels.len() - shown) as f64, &number(shown as f64, 0));
    }
    for (index, level) in levels.iter().enumerate() {
        let y = chart.y((levels.len() - index) as f64);
        for (intervals, color) in [(&level.loading(), palette::AMBER), (&level.live, palette::TEAL)] {
            for (from, to) in intervals {
                let (x, end) = (chart.x(log.time_of(*from as usize)), chart.x(log.time_of(*to as usize)));
                chart.svg.rect(x, y, (end - x).max(0.8), filled, color);
            }
        }
    }
    chart.teleports(&log.teleports());
    chart.x_axis("time of the flight, s", 10);
    chart.legend(&[(palette::AMBER, "loading"), (palette::TEAL, "live")]);
    (chart.svg.finish("timeline of levels"), levels.len())
}
