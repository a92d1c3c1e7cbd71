//! Memory by kind and entities in the world, over the flight.

use super::{
    charts::{Chart, WIDTH, sampled},
    log::{FlightLog, FrameSample},
    svg::{bytes, number, palette},
};

fn times(log: &FlightLog) -> Vec<(f64, &FrameSample)> {
    let shown = sampled(&log.frames);
    shown.map(|(index, frame)| (log.time_of(index), frame)).collect()
}

/// Bytes of images and meshes, stacked.
pub fn draw(log: &FlightLog) -> String {
    let parts = |frame: &FrameSample| [frame.image_bytes, frame.mesh_bytes].map(|b| b as f64);
    let peak = log
        .frames
        .iter()
        .map(|frame| parts(frame).iter().sum())
        .fold(0.0, f64::max);
    let (scale, unit) = if peak >= 1e9 { (1e9, "GB") } else { (1e6, "MB") };
    let mut chart = Chart::new(WIDTH, 270.0, log.seconds(), peak / scale * 1.08);
    chart.y_axis(&format!("memory, {unit}"), 6);
    let samples = times(log);
    let places: Vec<f64> = samples.iter().map(|(time, _)| *time).collect();
    let heights = |kind: usize| samples.iter().map(|(_, frame)| parts(frame)[kind] / scale).collect();
    chart.stack(&places, &[(palette::BLUE, heights(0)), (palette::TEAL, heights(1))]);
    chart.teleports(&log.teleports());
    chart.x_axis("time of the flight, s", 10);
    let most = |kind: usize| bytes(log.frames.iter().map(|frame| parts(frame)[kind]).fold(0.0, f64::max));
    chart.legend(&[
        (palette::BLUE, &format!("images (at most {})", most(0))),
        (palette::TEAL, &format!("meshes (at most {})", most(1))),
    ]);
    chart.svg.finish("memory by kind over the flight")
}

/// Entities in the world.
pub fn entities(log: &FlightLog) -> String {
    let peak = log
        .frames
        .iter()
        .map(|frame| frame.resident_entities)
        .max()
        .unwrap_or(0);
    let mut chart = Chart::new(WIDTH, 210.0, log.seconds(), f64::from(peak) * 1.08);
    chart.y_axis("entities", 5);
    let points = times(log);
    let points = points
        .iter()
        .map(|(time, frame)| (*time, f64::from(frame.resident_entities)));
    chart.area(&points.collect::<Vec<_>>());
    chart.teleports(&log.teleports());
    chart.x_axis("time of the flight, s", 10);
    let levels = log.frames.iter().map(|frame| frame.resident_levels).max().unwrap_or(0);
    let text = format!(
        "entities in the world (at most {}, in at most {} levels at once)",
        number(f64::from(peak), 0),
        number(f64::from(levels), 0)
    );
    chart.legend(&[(palette::TEAL, &text)]);
    chart.svg.finish("entities in the world over the flight")
}
