//! The frame of a chart: margins, axes, grid lines, labels and legends.

use super::svg::{Anchor, Svg, number, ticks};

/// The width of all full-width pictures.
pub const WIDTH: f64 = 1080.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;
const GRID: &str = "stroke=\"#e3e6e4\" stroke-width=\"1\"";
const AXIS: &str = "stroke=\"#8b938f\" stroke-width=\"1\"";

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
                (x, TOP - 4.0),
                (x, TOP + self.height),
                "stroke=\"#22314e\" stroke-dasharray=\"4 4\" opacity=\"0.6\"",
            );
            self.svg.text((x, TOP - 8.0), Anchor::Middle, "tick", "teleport");
        }
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
