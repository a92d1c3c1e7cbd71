//! What a game cost, as numbers and as a page. See [`ArenaReport`].

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use super::{Approach, ArenaOptions, Outcome};
use crate::report::{histogram, svg::escape};

/// The numbers of one game.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArenaReport {
    /// `debug` or `release`.
    pub profile: String,
    /// How content came into memory.
    pub approach: String,
    /// The game's seed.
    pub seed: u64,
    /// Units at the same time.
    pub units: usize,
    /// Frames to the end.
    pub frames: usize,
    /// Whether the game was played to its end.
    pub is_whole: bool,
    /// Seconds from the first frame to the lobby.
    pub start_s: f32,
    /// Seconds of the loading screen before the battle.
    pub battle_wait_s: f32,
    /// Seconds of the loading screen after it.
    pub aftermath_wait_s: f32,
    /// The most bytes of meshes and images in memory.
    pub content_peak_bytes: u64,
    /// Their mean while the battle was fought.
    pub content_battle_bytes: u64,
    /// The most memory that the process has had, where the system tells.
    pub process_peak_bytes: Option<u64>,
    /// A frame's budget for streaming.
    pub budget_ms: f32,
    /// Streaming in the slowest frame of those in which something was used for the first time.
    pub worst_first_use_ms: f32,
    /// The same of the whole frame.
    pub worst_first_use_frame_ms: f32,
    /// The middle one of all whole frames.
    pub median_frame_ms: f32,
    /// What became of cues.
    pub cues: CueNumbers,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// Frames in which streaming took more than its budget.
    pub overruns: u64,
    /// How often a unit has fallen.
    pub falls: u64,
    /// What came of the battle: the same deeds give the same text.
    pub digest: String,
    /// Units, instances and cues that are there when all is over.
    pub left_over: u64,
}

/// What became of cues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CueNumbers {
    /// Fired by the game.
    pub fired: u64,
    /// Played by a notify at least.
    pub played: u64,
    /// Played late, because something of it was not there.
    pub late: u64,
    /// Milliseconds that the latest one had waited.
    pub longest_wait_ms: f32,
    /// Never played, because it would have been too late.
    pub expired: u64,
    /// Not played, because nobody was near.
    pub culled: u64,
    /// Not played, because whom it was about was gone.
    pub dead: u64,
}

impl ArenaReport {
    /// The numbers of an outcome.
    #[must_use]
    pub fn of(options: &ArenaOptions, outcome: &Outcome, is_whole: bool) -> Self {
        let (content_peak_bytes, content_battle_bytes) = outcome.content();
        let (cues, waits) = (&outcome.cues, &outcome.waits);
        Self {
            profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
            approach: outcome.approach.name().to_owned(),
            seed: options.seed,
            units: options.units,
            frames: outcome.frames.len(),
            is_whole,
            start_s: waits.start.as_secs_f32(),
            battle_wait_s: waits.battle.as_secs_f32(),
            aftermath_wait_s: waits.aftermath.as_secs_f32(),
            content_peak_bytes,
            content_battle_bytes,
            process_peak_bytes: outcome.process_peak,
            budget_ms: outcome.budget.as_secs_f32() * 1e3,
            worst_first_use_ms: outcome.worst_first_use(|frame| frame.stream_ms),
            worst_first_use_frame_ms: outcome.worst_first_use(|frame| frame.frame_ms),
            median_frame_ms: outcome.median(|frame| frame.frame_ms),
            cues: CueNumbers {
                fired: cues.fired,
                played: cues.played,
                late: cues.replayed,
                longest_wait_ms: cues.longest_wait.as_secs_f32() * 1e3,
                expired: cues.expired,
                culled: cues.culled,
                dead: cues.dead,
            },
            bytes_read: outcome.streaming.bytes_read,
            overruns: outcome.streaming.overrun_count,
            falls: outcome.falls,
            digest: format!("{:016x}", outcome.digest),
            left_over: outcome.left_over,
        }
    }

    /// Writes `report.json` and, of an outcome, `report.html` into `dir`.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, dir: &Path, outcome: &Outcome) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        fs::write(dir.join("report.json"), serde_json::to_vec_pretty(self)?)?;
        fs::write(dir.join("report.html"), self.page(outcome))
    }

    fn page(&self, outcome: &Outcome) -> String {
        let stream: Vec<f64> = outcome.frames.iter().map(|frame| f64::from(frame.stream_ms)).collect();
        let first: Vec<f64> = outcome
            .frames
            .iter()
            .filter(|frame| frame.is_first_use && !frame.is_waiting)
            .map(|frame| f64::from(frame.stream_ms))
            .collect();
        let budget = f64::from(self.budget_ms);
        let all = histogram::draw(&stream, budget, "budget", "ms", "#4878a8");
        let first = match first.is_empty() {
            true => "<p>There was none.</p>".to_owned(),
            false => histogram::draw(&first, budget, "budget", "ms", "#a85848"),
        };
        format!(
            "<!doctype html><meta charset=\"utf-8\"><title>arena</title>\
             <style>body{{font:15px sans-serif;max-width:60em;margin:2em auto}}td,th{{padding:.2em .8em;text-align:right}}\
             td:first-child,th:first-child{{text-align:left}}</style>\
             <h1>Arena: content {label}</h1>{table}\
             <h2>Streaming on the main thread, all frames</h2>{all}\
             <h2>Streaming where something was used for the first time</h2>{first}",
            label = escape(outcome.approach.label()),
            table = html_table(core::slice::from_ref(self)),
        )
    }
}

/// The columns of the table of approaches.
const COLUMNS: [&str; 8] = [
    "content comes",
    "start",
    "wait for battle",
    "in memory: peak",
    "in battle",
    "worst first use",
    "late cues",
    "never played",
];

impl ArenaReport {
    /// A row of the table of approaches.
    fn row(&self) -> [String; 8] {
        let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        let label = match Approach::named(&self.approach) {
            Some(approach) => approach.label(),
            None => self.approach.as_str(),
        };
        let late = match self.cues.late {
            0 => "0".to_owned(),
            late => format!("{late} (≤ {:.0} ms)", self.cues.longest_wait_ms),
        };
        [
            label.to_owned(),
            format!("{:.2} s", self.start_s),
            format!("{:.2} s", self.battle_wait_s),
            megabytes(self.content_peak_bytes),
            megabytes(self.content_battle_bytes),
            format!("{:.2} ms of {:.1}", self.worst_first_use_ms, self.budget_ms),
            late,
            self.cues.expired.to_string(),
        ]
    }
}

/// The table of approaches, in Markdown.
#[must_use]
pub fn markdown_table(reports: &[ArenaReport]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut table = line(&COLUMNS.map(String::from));
    table += &line(&COLUMNS.map(|_| "---".to_owned()));
    table.extend(reports.iter().map(|report| line(&report.row())));
    table
}

fn html_table(reports: &[ArenaReport]) -> String {
    let cells = |tag: &str, cells: &[String]| -> String {
        let cells = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let rows: String = reports.iter().map(|report| cells("td", &report.row())).collect();
    format!("<table>{}{rows}</table>", cells("th", &COLUMNS.map(String::from)))
}

/// The page of several games.
#[must_use]
pub fn comparison_page(reports: &[ArenaReport]) -> String {
    format!(
        "<!doctype html><meta charset=\"utf-8\"><title>arena: approaches</title>\
         <style>body{{font:15px sans-serif;margin:2em}}td,th{{padding:.2em .8em;text-align:right}}\
         td:first-child,th:first-child{{text-align:left}}</style><h1>Arena: five ways for content to come</h1>{}",
        html_table(reports)
    )
}
