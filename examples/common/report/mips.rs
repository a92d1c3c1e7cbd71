//! A walk among textures that stream by mips, as a page.

use std::collections::BTreeMap;

use bevy_seamless::render::mip::MipStats;
use serde::Serialize;

use super::{
    charts::{Chart, WIDTH, sampled},
    html::{Mood, card, document, judged, section, verdict},
    svg::{bytes, escape, number, palette},
};

/// Textures that are listed at most.
const LISTED: usize = 20;
/// What is on the GPU, by what it is for: colour and name.
const NOT_STREAMED: &str = "#8d8d8d";
const KINDS: [(&str, &str); 6] = [
    (palette::TEAL, "seen"),
    (palette::BLUE, "not seen"),
    ("#7a5ba6", "forced"),
    ("#c9d2ce", "kept while there is room"),
    (palette::AMBER, "copies and buffers"),
    (NOT_STREAMED, "not streamed"),
];

/// What a walk was like, frame by frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MipLog {
    /// Frames in a second.
    rate: f64,
    /// What streamed textures may take, in bytes.
    pool: u64,
    /// What they would take whole, in bytes.
    pub full: u64,
    frames: Vec<Frame>,
    /// Frames in which the visitor was put somewhere else.
    jumps: Vec<usize>,
    /// By path, who was coarser than wanted.
    coarse: BTreeMap<String, Coarse>,
}

/// A walk or a flight in four numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MipSummary {
    /// What textures that stream may take on the GPU, in bytes.
    pub pool_budget_bytes: u64,
    /// What textures took at most, copies and those that do not stream included.
    pub pool_peak_bytes: u64,
    /// What they would have taken at most with all their mips.
    pub full_bytes: u64,
    /// The most textures that were coarser than wanted in a frame.
    pub under_resolved: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Frame {
    bytes: [u64; KINDS.len()],
    coarse: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Coarse {
    frames: u32,
    most: u8,
}

impl MipLog {
    /// Of a walk of so many frames a second, with a pool of so many bytes.
    #[must_use]
    pub fn new(rate: f64, pool: u64) -> Self {
        Self {
            rate,
            pool,
            ..Self::default()
        }
    }

    /// Takes a frame, and the textures that are coarser than wanted in it: with each, by how many mips.
    pub fn note(&mut self, stats: &MipStats, coarse: impl IntoIterator<Item = (String, u8)>) {
        self.frames.push(Frame {
            bytes: [
                stats.visible,
                stats.hidden,
                stats.forced,
                stats.cached,
                stats.in_flight(),
                stats.not_streamed,
            ],
            coarse: stats.under_resolved,
        });
        for (path, mips) in coarse {
            let entry = self.coarse.entry(path).or_default();
            entry.frames += 1;
            entry.most = entry.most.max(mips);
        }
    }

    /// The visitor is somewhere else in the next frame.
    pub fn jump(&mut self) {
        self.jumps.push(self.frames.len());
    }

    /// The page. `missed` is what fell short; `facts` are numbers with what they mean.
    #[must_use]
    pub fn page(&self, title: &str, missed: &[String], facts: &[(String, String)]) -> String {
        let peak = self.peak();
        let within = card(
            &judged(peak > self.pool),
            &bytes(peak as f64),
            &format!("on the GPU at most, of a pool of {}", bytes(self.pool as f64)),
        );
        let cards = facts.iter().map(|(value, meaning)| card(&Mood::Plain, value, meaning));
        let cards: String = core::iter::once(within).chain(cards).collect();
        let praise = "All textures that stream stayed within the pool, and none failed.";
        let body = format!(
            "<h1>{}</h1>{}<div class=\"cards\">{cards}</div>{}",
            escape(title),
            verdict(missed, "As it should be.", praise),
            self.sections(""),
        );
        document(title, &body)
    }

    /// The pool, and who was coarser than wanted. `about` says what else there is to know of it.
    pub(super) fn sections(&self, about: &str) -> String {
        let pool_note = format!(
            "What streamed textures take, by what it is for. The pool has {}; all of them whole would be {}. {about}",
            bytes(self.pool as f64),
            bytes(self.full as f64)
        );
        [
            section("The pool", &pool_note, &self.pool()),
            section(
                "Coarser than wanted",
                "Textures whose finer mips were on their way, or for which the pool had no room.",
                &self.waiting(),
            ),
            self.offenders(),
        ]
        .concat()
    }

    /// The numbers of it.
    #[must_use]
    pub fn summary(&self) -> MipSummary {
        MipSummary {
            pool_budget_bytes: self.pool,
            pool_peak_bytes: self.peak(),
            full_bytes: self.full,
            under_resolved: self.most_coarse(),
        }
    }

    fn peak(&self) -> u64 {
        let sums = self.frames.iter().map(|frame| frame.bytes.iter().sum());
        sums.max().unwrap_or_default()
    }

    fn most_coarse(&self) -> u64 {
        self.frames.iter().map(|frame| frame.coarse).max().unwrap_or_default()
    }

    fn seconds(&self, frame: usize) -> f64 {
        frame as f64 / self.rate.max(1.0)
    }

    fn jumps(&self) -> Vec<f64> {
        self.jumps.iter().map(|frame| self.seconds(*frame)).collect()
    }

    fn pool(&self) -> String {
        const MB: f64 = 1e6;
        let (peak, pool) = (self.peak() as f64 / MB, self.pool as f64 / MB);
        // Beside a pool that is much larger, nothing could be told apart.
        let is_near = pool <= peak * 4.0;
        let most = if is_near { peak.max(pool) } else { peak };
        let mut chart = Chart::new(WIDTH, 290.0, self.seconds(self.frames.len()), most * 1.12);
        chart.y_axis("on the GPU, MB", 6);
        let (places, shown): (Vec<f64>, Vec<&Frame>) = sampled(&self.frames)
            .map(|(number, frame)| (self.seconds(number), frame))
            .unzip();
        let heights = |kind: usize| shown.iter().map(|frame| frame.bytes[kind] as f64 / MB).collect();
        let areas: Vec<(&str, Vec<f64>)> = (0..KINDS.len()).map(|kind| (KINDS[kind].0, heights(kind))).collect();
        chart.stack(&places, &areas);
        if is_near {
            chart.limit(pool, "the pool");
        }
        chart.teleports(&self.jumps());
        chart.x_axis("time, s", 10);
        chart.legend(&KINDS);
        chart.svg.finish("what textures take on the GPU over the walk")
    }

    fn waiting(&self) -> String {
        let most = self.most_coarse() as f64;
        let mut chart = Chart::new(WIDTH, 210.0, self.seconds(self.frames.len()), most * 1.08);
        chart.y_axis("textures", 5);
        let points = sampled(&self.frames).map(|(number, frame)| (self.seconds(number), frame.coarse as f64));
        chart.area(&points.collect::<Vec<_>>());
        chart.teleports(&self.jumps());
        chart.x_axis("time, s", 10);
        chart.svg.finish("textures that are coarser than wanted over the walk")
    }

    /// Those that were coarse for longest.
    fn offenders(&self) -> String {
        if self.coarse.is_empty() {
            return String::new();
        }
        let mut all: Vec<_> = self.coarse.iter().collect();
        all.sort_by_key(|(_, of)| core::cmp::Reverse((of.frames, of.most)));
        let row = |(path, of): &(&String, &Coarse)| {
            format!(
                "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(path),
                number(self.seconds(of.frames as usize), 2),
                of.most
            )
        };
        let rows: String = all.iter().take(LISTED).map(row).collect();
        let table =
            format!("<table><tr><th>texture</th><th>seconds too coarse</th><th>mips, at most</th></tr>{rows}</table>");
        let note = format!(
            "The {} of {} that were among the worst of a frame for longest.",
            all.len().min(LISTED),
            all.len()
        );
        section("The worst offenders", &note, &table)
    }
}
