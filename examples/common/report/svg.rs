//! Drawing primitives: a small SVG writer, scales with round tick values, and HTML escaping.

use std::fmt::Write;

/// Text with the characters that mean something in HTML replaced.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The colours of all pictures.
pub mod palette {
    /// Live, good, the first series.
    pub const TEAL: &str = "#1f8a8a";
    /// Asked for and not there yet.
    pub const AMBER: &str = "#e9a23b";
    /// Limits and faults.
    pub const RED: &str = "#c8453b";
    /// The second series.
    pub const BLUE: &str = "#4a78b5";
    /// Ground of the maps.
    pub const EMPTY: &str = "#eef0ee";
}

/// A picture in the making. Lengths are pixels.
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Where a text stands relative to its point.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub fn new(width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            body: String::new(),
        }
    }

    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: &str) {
        let _ = write!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>",
            n(x),
            n(y),
            n(width),
            n(height)
        );
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        let _ = write!(
            self.body,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {style}/>",
            n(from.0),
            n(from.1),
            n(to.0),
            n(to.1)
        );
    }

    pub fn circle(&mut self, at: (f64, f64), radius: f64, style: &str) {
        let _ = write!(
            self.body,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {style}/>",
            n(at.0),
            n(at.1),
            n(radius)
        );
    }

    /// A line through points.
    pub fn polyline(&mut self, points: &[(f64, f64)], style: &str) {
        let list = points_text(points);
        let _ = write!(self.body, "<polyline points=\"{list}\" fill=\"none\" {style}/>");
    }

    /// A filled area.
    pub fn polygon(&mut self, points: &[(f64, f64)], fill: &str) {
        let list = points_text(points);
        let _ = write!(self.body, "<polygon points=\"{list}\" fill=\"{fill}\"/>");
    }

    /// A text; `class` is one of the page's styles.
    pub fn text(&mut self, at: (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, text) = (n(at.0), n(at.1), escape(text));
        let _ = write!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>"
        );
    }

    /// A text that runs upwards, for vertical axes.
    pub fn upright(&mut self, at: (f64, f64), text: &str) {
        let (x, y, text) = (n(at.0), n(at.1), escape(text));
        let _ = write!(
            self.body,
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\" class=\"unit\">{text}</text>"
        );
    }

    pub fn finish(self, label: &str) -> String {
        let (w, h) = (n(self.width), n(self.height));
        let label = escape(label);
        format!(
            "<svg viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"{label}\">{}</svg>",
            self.body
        )
    }
}

fn points_text(points: &[(f64, f64)]) -> String {
    let mut list = String::with_capacity(points.len() * 12);
    for (x, y) in points {
        let _ = write!(list, "{},{} ", n(*x), n(*y));
    }
    list
}

/// A number with at most two digits after the point; 0 for what is no number.
fn n(value: f64) -> String {
    let value = if value.is_finite() {
        (value * 100.0).round() / 100.0
    } else {
        0.0
    };
    format!("{}", value + 0.0)
}

/// Round values from 0 up to about `max`, at most `count` steps.
pub fn ticks(max: f64, count: usize) -> Vec<f64> {
    if !(max > 0.0 && max.is_finite()) {
        return vec![0.0];
    }
    let rough = max / count.max(1) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|f| f * power)
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    (0..)
        .map(|i| f64::from(i) * step)
        .take_while(|v| *v <= max * (1.0 + 1e-9))
        .collect()
}

/// A number for people: as many digits after the point as it needs, at most `digits`.
pub fn number(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "–".to_string();
    }
    let text = format!("{value:.digits$}");
    match text.split_once('.') {
        Some((whole, part)) => match part.trim_end_matches('0') {
            "" => grouped(whole),
            part => format!("{}.{part}", grouped(whole)),
        },
        None => grouped(&text),
    }
}

/// Thousands set apart by thin spaces.
fn grouped(whole: &str) -> String {
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut out = String::from(sign);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push('\u{2009}');
        }
        out.push(c);
    }
    out
}

/// Bytes for people.
pub fn bytes(value: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(size, _)| value >= *size) {
        Some((size, unit)) => format!("{} {unit}", number(value / size, 1)),
        None => format!("{} B", number(value, 0)),
    }
}
