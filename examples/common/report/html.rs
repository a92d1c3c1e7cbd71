//! The page: verdict, counters, pictures. It needs no other file and no script.

use super::{
    FlightLog, Report, histogram, map, memory,
    stats::Percentiles,
    svg::{bytes, escape, number, palette},
    timeline,
};

const STYLE: &str = "\
:root{color-scheme:light}*{box-sizing:border-box}\
body{margin:0;background:#f4f5f2;color:#1d2733;font:15px/1.5 system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif}\
main{max-width:1160px;margin:0 auto;padding:28px 20px 60px}\
h1{font-size:27px;margin:0 0 2px;letter-spacing:-.01em}h2{font-size:18px;margin:0 0 4px}\
p{margin:0 0 12px}.sub{color:#5c6773;margin-bottom:18px}\
section{background:#fff;border:1px solid #e0e4e0;border-radius:10px;padding:18px 20px;margin-top:16px}\
.note{color:#5c6773;font-size:14px;max-width:900px}\
.verdict{border-left:6px solid #1f8a8a;font-size:17px}.verdict.bad{border-left-color:#c8453b}\
.verdict strong{font-size:19px}.verdict ul{margin:6px 0 0;padding-left:20px}\
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:12px;margin-top:16px}\
.card{background:#fff;border:1px solid #e0e4e0;border-radius:10px;padding:12px 14px}\
.card b{display:block;font-size:25px;line-height:1.2;font-variant-numeric:tabular-nums}\
.card span{color:#5c6773;font-size:13.5px;line-height:1.35;display:block}\
.card.good b{color:#1f7a7a}.card.bad b{color:#c8453b}\
svg{display:block;max-width:100%;height:auto;margin-top:6px}\
svg text{font-family:system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif;fill:#1d2733}\
.tick{font-size:11.5px;fill:#5c6773}.unit{font-size:12.5px;fill:#3c4753}.legend{font-size:12.5px}\
.limit{font-size:12px;fill:#c8453b}\
.mark{font-size:11.5px;font-weight:600;paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin-top:6px}\
th,td{text-align:right;padding:4px 14px 4px 0;border-bottom:1px solid #e9ece9}th{font-weight:600;color:#3c4753}\
th:first-child,td:first-child{text-align:left}td.what{text-align:left}";

/// The whole page.
pub fn page(report: &Report, log: &FlightLog) -> String {
    let mut body = String::new();
    body.push_str(&header(report, log));
    body.push_str(&cards(report));
    body.push_str(&times(report, log));
    let (timeline, shown) = timeline::draw(log);
    let note = format!(
        "Each row is one of the {} levels that were asked for. Amber: reading and decoding in the background. Teal: in \
         the world, whole.",
        number(shown as f64, 0)
    );
    body.push_str(&section("Levels over the flight", &note, &timeline));
    let maps = map::draw(log) + &map::snapshots(log);
    let note = "The world from above. Below the map: what was in the world (teal) or on its way (amber) at six moments; \
                the ring is the camera.";
    body.push_str(&section("Map", note, &maps));
    let note = "Bytes of the images and meshes in memory, and the entities in the world.";
    body.push_str(&section("Memory", note, &(memory::draw(log) + &memory::entities(log))));
    let note = "It is flown once more for them, with a picture that nobody draws. Of what streams, nothing but the small mips is read: what is planned is there some frames later.";
    body.push_str(&log.mips.sections(note));
    body.push_str(&overruns(report));
    document("Flight report", &body)
}

/// A page with everything that it needs.
pub fn document(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head><body><main>{body}</main>\
         </body></html>\n"
    )
}

pub fn section(title: &str, note: &str, content: &str) -> String {
    let (title, note) = (escape(title), escape(note));
    format!("<section><h2>{title}</h2><p class=\"note\">{note}</p>{content}</section>")
}

fn header(report: &Report, log: &FlightLog) -> String {
    let sub = format!(
        "{} frames, {} s of flight over {} levels with {} entities · seed {} · {} build",
        number(report.frames as f64, 0),
        number(log.seconds(), 1),
        number(report.levels as f64, 0),
        number(report.entities_total as f64, 0),
        report.seed,
        report.profile
    );
    let praise = match report.undecided() {
        None => "No hitch.",
        Some(_) => "No hitch that streaming is known to make.",
    };
    let text = "Every level came and went whole, in time and within the budget.";
    let mut verdict = verdict(&report.shortcomings(), praise, text);
    if let Some(undecided) = report.undecided() {
        verdict += &format!("<p class=\"note\">Undecided: {}.</p>", escape(undecided));
    }
    format!(
        "<h1>A flight over a streamed world</h1><p class=\"sub\">{}</p>{verdict}",
        escape(&sub)
    )
}

/// What fell short, or else this praise.
pub fn verdict(missed: &[String], praise: &str, why: &str) -> String {
    if missed.is_empty() {
        return format!("<section class=\"verdict\"><strong>{praise}</strong> {why}</section>");
    }
    let list: String = missed.iter().map(|text| format!("<li>{}</li>", escape(text))).collect();
    format!("<section class=\"verdict bad\"><strong>Not as it should be.</strong><ul>{list}</ul></section>")
}

/// How a card's number is to be read.
pub enum Mood {
    Plain,
    Good,
    Bad,
}

pub fn judged(bad: bool) -> Mood {
    if bad { Mood::Bad } else { Mood::Good }
}

pub fn card(mood: &Mood, value: &str, meaning: &str) -> String {
    let class = match mood {
        Mood::Plain => "card",
        Mood::Good => "card good",
        Mood::Bad => "card bad",
    };
    format!(
        "<div class=\"{class}\"><b>{}</b><span>{}</span></div>",
        escape(value),
        escape(meaning)
    )
}

fn cards(report: &Report) -> String {
    let count = |n: u64| number(n as f64, 0);
    let (stream, budget) = (&report.stream_ms.spread, report.stream_ms.budget);
    let ms = |v: f64| format!("{} ms", number(v, 2));
    let late = format!(
        "levels late on the path; {} late right after {} teleports",
        count(report.late_after_teleport),
        count(report.teleports)
    );
    let stream_text = format!(
        "streaming in the slowest frame of 1000; the budget is {}, before it is raised",
        ms(budget)
    );
    let excess = format!(
        "slowest frame of 1000, above one with everything resident; limit {}",
        ms(1.5 * budget)
    );
    let overruns = format!(
        "frames over the budget that they had; in {} it was raised",
        count(report.boosted)
    );
    let wasted = format!(
        "read from packages; {} of it for loads given up",
        bytes(report.bytes_wasted as f64)
    );
    let cancelled = "loads given up because the camera had turned away";
    let peak = format!(
        "entities in the world at once, of {} in all",
        count(report.entities_total)
    );
    let loaded = format!(
        "levels revealed, and {} of them left again",
        count(report.levels_unloaded)
    );
    let failed = "levels failed to load";
    let atomic = "times a part of a level was seen without the rest";
    let list = [
        card(
            &judged(report.atomicity_violations > 0),
            &count(report.atomicity_violations),
            atomic,
        ),
        card(&judged(report.late_levels > 0), &count(report.late_levels), &late),
        card(&judged(report.failed > 0), &count(report.failed), failed),
        card(&Mood::Plain, &ms(stream.p999), &stream_text),
        card(
            &judged(report.frame_excess_ms.p999 > 1.5 * budget),
            &ms(report.frame_excess_ms.p999),
            &excess,
        ),
        card(&judged(report.has_overrun()), &count(report.overruns), &overruns),
        card(&Mood::Plain, &count(report.levels_loaded), &loaded),
        card(&Mood::Plain, &count(report.entities_peak), &peak),
        card(&Mood::Plain, &bytes(report.bytes_read as f64), &wasted),
        card(&Mood::Plain, &count(report.cancelled), cancelled),
    ];
    format!("<div class=\"cards\">{}</div>", list.concat())
}

fn times(report: &Report, log: &FlightLog) -> String {
    let budget = report.stream_ms.budget;
    let stream: Vec<f64> = log.frames.iter().map(|frame| f64::from(frame.stream_ms)).collect();
    let base = f64::from(log.resident_frame_ms);
    let excess: Vec<f64> = log
        .frames
        .iter()
        .map(|frame| (f64::from(frame.frame_ms) - base).max(0.0))
        .collect();
    let row = |name: &str, p: &Percentiles| {
        let cells: String = [p.p50, p.p99, p.p999, p.max]
            .map(|v| format!("<td>{}</td>", number(v, 3)))
            .concat();
        format!("<tr><td>{name}</td>{cells}</tr>")
    };
    let table = format!(
        "<table><tr><th>milliseconds on the main thread</th><th>median</th><th>99 %</th><th>99.9 %</th><th>worst</th></tr>\
         {}{}{}</table>",
        row("streaming", &report.stream_ms.spread),
        row("frame, above one with everything resident", &report.frame_excess_ms),
        row(
            "frame with everything resident, above the same",
            &report.resident_excess_ms
        ),
    );
    let note = "Every frame of the flight, by the time that all streaming work took on the main thread.";
    let mut out = section(
        "Streaming time per frame",
        note,
        &(histogram::draw(
            &stream,
            budget,
            "budget",
            "streaming on the main thread, ms",
            palette::TEAL,
        ) + &histogram::over_time(log, budget)),
    );
    let note = format!(
        "How much longer each frame took than the median frame ({} ms) of the same flight with everything resident. \
         Faster frames count as 0.",
        number(base, 2)
    );
    let unit = "frame above one with everything resident, ms";
    let chart = histogram::draw(&excess, 1.5 * budget, "1.5 budgets", unit, palette::BLUE);
    out.push_str(&section(
        "Frame time above a fully resident world",
        &note,
        &(chart + &table),
    ));
    out
}

/// At most this many named overruns are listed.
const LISTED: usize = 40;

fn overruns(report: &Report) -> String {
    if report.named_overruns.is_empty() {
        return String::new();
    }
    let mut worst: Vec<_> = report.named_overruns.iter().collect();
    worst.sort_by(|a, b| b.ms.total_cmp(&a.ms).then(a.frame.cmp(&b.frame)));
    let rows: String = worst
        .iter()
        .take(LISTED)
        .map(|o| {
            let (frame, ms, what) = (number(o.frame as f64, 0), number(o.ms, 2), escape(&o.what));
            format!("<tr><td>{frame}</td><td>{ms}</td><td class=\"what\">{what}</td></tr>")
        })
        .collect();
    let table =
        format!("<table><tr><th>frame</th><th>ms</th><th style=\"text-align:left\">what</th></tr>{rows}</table>");
    let note = format!(
        "What took longer than the budget, the worst first; {} of {} shown.",
        worst.len().min(LISTED),
        worst.len()
    );
    section("Overruns by name", &note, &table)
}
