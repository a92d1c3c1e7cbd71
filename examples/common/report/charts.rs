//! The frame of a chart: margins, axes, grid lines, labels and legends.

use super::svg::{Anchor, Svg, number, ticks};

/// The width of all full-width pictures.
pub const WIDTH: f64 = 1080.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;
/// At most this many points per line: more would not be seen.
const POINTS: usize = 540;
const GRID: &str = "stroke=\"#e3e6e4\" stroke-width=\"1\"";
const AXIS: &str = "stroke=\"#8b938f\" stroke-width=\"1\"";

/// As many frames as a line can show, the last among them; with each its number.
pub fn sampled<T>(frames: &[T]) -> impl Iterator<Item = (usize, &T)> {
    let step = frames.len().div_ceil(POINTS).max(1);
    let last = frames.len().saturating_sub(1);
    let shown = move |(index, _): &(usize, &T)| index.is_multiple_of(step) || *index == last;
    frames.iter().enumerate().filter(shown)
}

/// A chart with a plot area. Values run from 0 to `max_x` and `max_y`.
pub struct Chart {
    /// The picture; draw between the axes by [`Chart::x`] and [`Chart::y`].
    pub svg: Svg,
    width: f64,
    height: f64,
    max_x: f64,
    max_y: f64,
}

impl Chart {
    /// A chart of a size in pixels and the largest values on its axes.
    pub fn new(width: f64, height: f64, max_x: f64, max_y: f64) -> Self {
        let positive = |v: f64| if v > 0.0 && v.is_finite() { v } else { 1.0 };
        Self {
            svg: Svg::new(width, height),
            width: width - LEFT - RIGHT,
            height: height - TOP - BOTTOM,
            max_x: positive(max_x),
            max_y: positive(max_y),
        }
    }

    pub fn x(&self, value: f64) -> f64 {
        LEFT + (value / self.max_x).clamp(0.0, 1.0) * self.width
    }

    pub fn y(&self, value: f64) -> f64 {
        TOP + (1.0 - (value / self.max_y).clamp(0.0, 1.0)) * self.height
    }

    pub fn plot_width(&self) -> f64 {
        self.width
    }

    /// The x axis with round ticks.
    pub fn x_axis(&mut self, unit: &str, count: usize) {
        let bottom = TOP + self.height;
        for value in ticks(self.max_x, count) {
            let x = self.x(value);
            self.svg.line((x, bottom), (x, bottom + 4.0), AXIS);
            self.svg
                .text((x, bottom + 17.0), Anchor::Middle, "tick", &number(value, 3));
        }
        self.svg.line((LEFT, bottom), (LEFT + self.width, bottom), AXIS);
        self.svg
            .text((LEFT + self.width / 2.0, bottom + 36.0), Anchor::Middle, "unit", unit);
    }

    /// The y axis with round ticks and grid lines.
    pub fn y_axis(&mut self, unit: &str, count: usize) {
        for value in ticks(self.max_y, count) {
            self.y_tick(value, &number(value, 2));
        }
        self.y_title(unit);
    }

    /// One tick with a grid line.
    pub fn y_tick(&mut self, value: f64, label: &str) {
        let y = self.y(value);
        self.svg.line((LEFT, y), (LEFT + self.width, y), GRID);
        self.svg.text((LEFT - 7.0, y + 4.0), Anchor::End, "tick", label);
    }

    pub fn y_title(&mut self, unit: &str) {
        self.svg.upright((14.0, TOP + self.height / 2.0), unit);
    }

    /// Coloured squares with their meaning, from the left above the plot.
    pub fn legend(&mut self, entries: &[(&str, &str)]) {
        let mut x = LEFT;
        for (color, text) in entries {
            self.svg.rect(x, 8.0, 11.0, 11.0, color);
            self.svg.text((x + 16.0, 18.0), Anchor::Start, "legend", text);
            x += 34.0 + 6.6 * text.chars().count() as f64;
        }
    }

    /// Dashed vertical lines at the teleports.
    pub fn teleports(&mut self, moments: &[f64]) {
        for moment in moments {
            let x = self.x(*moment);
            self.svg.line(
                (x, TOP),
                (x, TOP + self.height),
                "stroke=\"#22314e\" stroke-dasharray=\"4 4\" opacity=\"0.6\"",
            );
            // Above the plot is the legend.
            self.svg.text((x + 4.0, TOP + 10.0), Anchor::Start, "tick", "teleport");
        }
    }

    /// Areas on top of each other, the first at the bottom: of each its colour, and its height at each of these places along the x axis.
    pub fn stack(&mut self, places: &[f64], areas: &[(&str, Vec<f64>)]) {
        let mut floor = vec![0.0; places.len()];
        for (color, heights) in areas {
            let below = places.iter().zip(&floor).rev();
            let mut outline: Vec<(f64, f64)> = below.map(|(x, low)| (self.x(*x), self.y(*low))).collect();
            for ((x, low), height) in places.iter().zip(&mut floor).zip(heights) {
                *low += height;
                outline.push((self.x(*x), self.y(*low)));
            }
            self.svg.polygon(&outline, color);
        }
    }

    /// A line, and what is below it.
    pub fn area(&mut self, points: &[(f64, f64)]) {
        let line: Vec<(f64, f64)> = points.iter().map(|(x, y)| (self.x(*x), self.y(*y))).collect();
        if let (Some(first), Some(last)) = (line.first(), line.last()) {
            let bottom = self.y(0.0);
            let mut area = line.clone();
            area.extend([(last.0, bottom), (first.0, bottom)]);
            self.svg.polygon(&area, "#dcebe9");
        }
        self.svg.polyline(&line, "stroke=\"#1f8a8a\" stroke-width=\"1.8\"");
    }

    /// A dashed line across the plot at a limit, with its name.
    pub fn limit(&mut self, value: f64, label: &str) {
        let y = self.y(value);
        let style = "stroke=\"#c8453b\" stroke-width=\"1.4\" stroke-dasharray=\"6 4\"";
        self.svg.line((LEFT, y), (LEFT + self.width, y), style);
        self.svg
            .text((LEFT + self.width - 4.0, y - 5.0), Anchor::End, "limit", label);
    }
}
