//! The world seen from above: how long each level was live, the path, and what was loaded at some moments.

use super::{
    log::{FlightLog, Footprint, LevelTrack},
    svg::{Anchor, Svg, number, palette},
};

/// Places on the map to pixels.
struct View {
    min: [f64; 2],
    scale: f64,
    offset: (f64, f64),
}

impl View {
    /// Fits everything that is drawn into a square of `size` pixels at `offset`.
    fn new(log: &FlightLog, size: f64, offset: (f64, f64)) -> Self {
        let (mut min, mut max) = ([f64::MAX; 2], [f64::MIN; 2]);
        let mut take = |p: [f32; 2]| {
            for axis in 0..2 {
                let v = f64::from(p[axis]);
                if v.is_finite() {
                    min[axis] = min[axis].min(v);
                    max[axis] = max[axis].max(v);
                }
            }
        };
        for (_, footprint) in log.placed() {
            take(footprint.min);
            take(footprint.max);
        }
        log.frames.iter().for_each(|frame| take(frame.camera));
        let span = (max[0] - min[0]).max(max[1] - min[1]);
        if !(span > 0.0 && span.is_finite()) {
            return Self {
                min: [0.0; 2],
                scale: 1.0,
                offset,
            };
        }
        Self {
            min,
            scale: size / span,
            offset,
        }
    }

    fn at(&self, p: [f32; 2]) -> (f64, f64) {
        let along = |axis: usize| (f64::from(p[axis]) - self.min[axis]) * self.scale;
        (self.offset.0 + along(0), self.offset.1 + along(1))
    }

    fn fill(&self, svg: &mut Svg, footprint: &Footprint, color: &str) {
        let ((x, y), (right, bottom)) = (self.at(footprint.min), self.at(footprint.max));
        let gap = if right - x > 6.0 { 0.8 } else { 0.3 };
        svg.rect(x, y, (right - x - gap).max(0.8), (bottom - y - gap).max(0.8), color);
    }
}

/// From never (light grey) over pale green to dark teal: `share` is 0 to 1.
fn shade(share: f64) -> String {
    let stops = [
        (0.0, [226, 240, 229]),
        (0.35, [150, 205, 190]),
        (0.7, [56, 145, 146]),
        (1.0, [14, 72, 92]),
    ];
    let share = share.clamp(0.0, 1.0);
    let next = stops
        .iter()
        .position(|(at, _)| *at >= share)
        .unwrap_or(stops.len() - 1)
        .max(1);
    let ((low, a), (high, b)) = (stops[next - 1], stops[next]);
    let part = (share - low) / (high - low);
    let mix = |i: usize| (f64::from(a[i]) + (f64::from(b[i]) - f64::from(a[i])) * part).round();
    format!("rgb({},{},{})", mix(0), mix(1), mix(2))
}

const SIZE: f64 = 680.0;
const SIDE: f64 = 300.0;

/// The map: levels coloured by the time they were live, the path over them, and a legend beside it.
pub fn draw(log: &FlightLog) -> String {
    let mut svg = Svg::new(SIZE + SIDE + 100.0, SIZE + 40.0);
    let view = View::new(log, SIZE, (10.0, 12.0));
    let placed = log.placed();
    // What is always there would hide the differences between the others.
    let whole = log.frames.len() as u32;
    let longest = placed
        .iter()
        .map(|(level, _)| level.live_frames())
        .filter(|n| *n < whole)
        .max()
        .unwrap_or(1)
        .max(1);
    let largest = placed
        .first()
        .map_or(0.0, |(_, footprint)| footprint.max[0] - footprint.min[0]);
    for (level, footprint) in &placed {
        let live = level.live_frames();
        let color = if live == 0 {
            palette::EMPTY.to_string()
        } else {
            shade(f64::from(live) / f64::from(longest))
        };
        view.fill(&mut svg, footprint, &color);
    }
    for (_, footprint) in placed.iter().filter(|(_, f)| f.max[0] - f.min[0] < largest * 0.85) {
        let ((x, y), (right, bottom)) = (view.at(footprint.min), view.at(footprint.max));
        let style = "fill=\"none\" stroke=\"#8a5a2b\" stroke-width=\"1.3\"";
        svg.circle(
            ((x + right) / 2.0, (y + bottom) / 2.0),
            (right - x).min(12.0) / 2.6,
            style,
        );
    }
    path(&mut svg, log, &view, true);
    legend(
        &mut svg,
        log,
        longest,
        placed.iter().any(|(_, f)| f.max[0] - f.min[0] < largest * 0.85),
    );
    svg.finish("map of the world with the path of the flight")
}

/// The path, teleports dashed; with marks every five seconds if wanted.
fn path(svg: &mut Svg, log: &FlightLog, view: &View, marks: bool) {
    let mut run: Vec<(f64, f64)> = Vec::new();
    let flown = "stroke=\"#22314e\" stroke-width=\"2.4\" stroke-linejoin=\"round\"";
    for (index, frame) in log.frames.iter().enumerate() {
        let at = view.at(frame.camera);
        if frame.teleported {
            if let Some(from) = run.last().copied() {
                svg.line(
                    from,
                    at,
                    "stroke=\"#c8453b\" stroke-width=\"1.8\" stroke-dasharray=\"3 6\"",
                );
            }
            svg.polyline(&run, flown);
            run.clear();
        }
        if index % 4 == 0 || run.is_empty() {
            run.push(at);
        }
    }
    svg.polyline(&run, flown);
    if !marks || log.seconds_per_frame <= 0.0 {
        return;
    }
    let every = ((5.0 / log.seconds_per_frame).round() as usize).max(1);
    for (index, frame) in log.frames.iter().enumerate().step_by(every) {
        let at = view.at(frame.camera);
        svg.circle(at, 3.6, "fill=\"#fff\" stroke=\"#22314e\" stroke-width=\"2\"");
        let label = format!("{} s", number(log.time_of(index), 0));
        svg.text((at.0 + 7.0, at.1 - 6.0), Anchor::Start, "mark", &label);
    }
}

fn legend(svg: &mut Svg, log: &FlightLog, longest: u32, small: bool) {
    let x = SIZE + 40.0;
    svg.text(
        (x, 30.0),
        Anchor::Start,
        "legend",
        "time in the world during the flight",
    );
    for step in 0..100 {
        svg.rect(
            x + f64::from(step) * 2.4,
            42.0,
            2.6,
            14.0,
            &shade(f64::from(step) / 99.0),
        );
    }
    let seconds = f64::from(longest) * f64::from(log.seconds_per_frame);
    svg.text((x, 72.0), Anchor::Start, "tick", "0 s");
    svg.text(
        (x + 240.0, 72.0),
        Anchor::End,
        "tick",
        &format!("{} s", number(seconds, 1)),
    );
    svg.rect(x, 92.0, 14.0, 14.0, palette::EMPTY);
    svg.text((x + 24.0, 104.0), Anchor::Start, "legend", "never loaded");
    svg.line((x, 128.0), (x + 16.0, 128.0), "stroke=\"#22314e\" stroke-width=\"2.4\"");
    svg.text(
        (x + 24.0, 132.0),
        Anchor::Start,
        "legend",
        "path of the camera, a mark every 5 s",
    );
    svg.line(
        (x, 156.0),
        (x + 16.0, 156.0),
        "stroke=\"#c8453b\" stroke-width=\"1.8\" stroke-dasharray=\"3 4\"",
    );
    svg.text((x + 24.0, 160.0), Anchor::Start, "legend", "teleport");
    if small {
        svg.circle(
            (x + 8.0, 184.0),
            5.0,
            "fill=\"none\" stroke=\"#8a5a2b\" stroke-width=\"1.3\"",
        );
        svg.text((x + 24.0, 188.0), Anchor::Start, "legend", "smaller level (a town)");
    }
}

const SMALL: f64 = 168.0;

/// What was loaded at six moments of the flight, spread evenly.
pub fn snapshots(log: &FlightLog) -> String {
    let mut svg = Svg::new(6.0 * (SMALL + 12.0), SMALL + 34.0);
    let placed = log.placed();
    let last = log.frames.len().saturating_sub(1);
    for moment in 0..6 {
        // In the middle of each sixth.
        let frame = last * (2 * moment + 1) / 12;
        let x = moment as f64 * (SMALL + 12.0) + 2.0;
        let view = View::new(log, SMALL, (x, 22.0));
        let live = placed.iter().filter(|(level, _)| level.is_live(frame as u32)).count();
        let time = number(log.time_of(frame), 1);
        svg.text((x, 14.0), Anchor::Start, "legend", &format!("{time} s · {live} levels"));
        for (level, footprint) in &placed {
            view.fill(&mut svg, footprint, state_color(level, frame as u32));
        }
        if let Some(sample) = log.frames.get(frame) {
            let at = view.at(sample.camera);
            svg.circle(at, 4.5, "fill=\"#fff\" stroke=\"#22314e\" stroke-width=\"2.5\"");
        }
    }
    svg.finish("loaded levels at six moments of the flight")
}

fn state_color(level: &LevelTrack, frame: u32) -> &'static str {
    match (level.is_live(frame), level.is_requested(frame)) {
        (true, _) => palette::TEAL,
        (false, true) => palette::AMBER,
        (false, false) => "#e4e8e5",
    }
}
