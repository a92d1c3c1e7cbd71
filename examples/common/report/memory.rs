//! Memory by kind and entities in the world, over the flight.

use super::{
    charts::{Chart, WIDTH},
    log::{FlightLog, FrameSample},
    svg::{bytes, number, palette},
};

/// At most this many points per line: more would not be seen.
const POINTS: usize = 540;

fn sampled(log: &FlightLog) -> Vec<(f64, &FrameSample)> {
    let step = log.frames.len().div_ceil(POINTS).max(1);
    let last = log.frames.len().saturating_sub(1);
    let shown = |index: &usize| index.is_multiple_of(step) || *index == last;
    log.frames
        .iter()
        .enumerate()
        .filter(|(i, _)| shown(i))
        .map(|(i, frame)| (log.time_of(i), frame))
        .collect()
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
    let samples = sampled(log);
    let mut floor = vec![0.0; samples.len()];
    for (kind, color) in [palette::BLUE, palette::TEAL].into_iter().enumerate() {
        let mut outline: Vec<(f64, f64)> = samples
            .iter()
            .zip(&floor)
            .rev()
            .map(|((t, _), low)| (chart.x(*t), chart.y(low / scale)))
            .collect();
        for ((t, frame), low) in samples.iter().zip(&mut floor) {
            *low += parts(frame)[kind];
            outline.push((chart.x(*t), chart.y(*low / scale)));
        }
        chart.svg.polygon(&outline, color);
    }
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
    let line: Vec<(f64, f64)> = sampled(log)
        .iter()
        .map(|(t, frame)| (chart.x(*t), chart.y(f64::from(frame.resident_entities))))
        .collect();
    if let (Some(first), Some(last)) = (line.first(), line.last()) {
        let bottom = chart.y(0.0);
        let mut area = line.clone();
        area.extend([(last.0, bottom), (first.0, bottom)]);
        chart.svg.polygon(&area, "#dcebe9");
    }
    chart.svg.polyline(&line, "stroke=\"#1f8a8a\" stroke-width=\"1.8\"");
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
