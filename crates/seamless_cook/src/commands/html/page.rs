//! The page itself: its style, its sections, and text that cannot break out of them.

use crate::cli::paint::size;

/// A page that grows.
pub(super) struct Page(String);

/// The colours of types, in order; the last is for all others.
pub(super) const TYPE_COLOURS: usize = 10;

const STYLE: &str = "
:root { color-scheme: light dark; --ground: #ffffff; --card: #f6f7f9; --ink: #1c2230; --quiet: #667085; --line: #dfe3ea; --bar: #4269d0; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171d; --card: #1c2129; --ink: #e6e9ef; --quiet: #98a2b3; --line: #303744; --bar: #6f8fe6; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 32px 20px 64px; background: var(--ground); color: var(--ink); font: 14px/1.5 system-ui, sans-serif; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 40px 0 6px; } p { margin: 0 0 12px; color: var(--quiet); max-width: 78ch; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 20px 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; }
.tile b { display: block; font-size: 20px; font-variant-numeric: tabular-nums; } .tile span { color: var(--quiet); font-size: 12px; }
svg { display: block; width: 100%; height: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
svg text { font: 11px system-ui, sans-serif; fill: var(--ink); } svg .quiet { fill: var(--quiet); }
svg .label { fill: #10141c; font-weight: 600; } svg .pack { fill: none; stroke: var(--ground); stroke-width: 2; } svg .cell { stroke: var(--ground); stroke-width: 0.5; }
svg .box { fill: var(--ground); stroke: var(--line); } svg .edge { fill: none; stroke: var(--bar); stroke-opacity: 0.45; } svg .dot { fill: var(--bar); } svg .bulk { stroke-dasharray: 4 3; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 8px 0; padding: 0; list-style: none; font-size: 12px; color: var(--quiet); }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 13px; }
th { text-align: left; color: var(--quiet); font-weight: 500; } th, td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; } .bar { width: 120px; } .bar i { display: block; height: 9px; margin-top: 6px; border-radius: 2px; background: var(--bar); min-width: 1px; }
details { margin-top: 12px; } summary { cursor: pointer; color: var(--quiet); } .dim { color: var(--quiet); }
.t0 { fill: #6f8fe6; background: #6f8fe6; } .t1 { fill: #efb118; background: #efb118; } .t2 { fill: #ff8674; background: #ff8674; }
.t3 { fill: #6cc5b0; background: #6cc5b0; } .t4 { fill: #5cb96c; background: #5cb96c; } .t5 { fill: #ff8ab7; background: #ff8ab7; }
.t6 { fill: #b584f5; background: #b584f5; } .t7 { fill: #97bbf5; background: #97bbf5; } .t8 { fill: #b98a6c; background: #b98a6c; } .t9 { fill: #9aa1ac; background: #9aa1ac; }
";

impl Page {
    pub fn new(title: &str) -> Self {
        let title = escape(title);
        Self(format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\" /><meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\" /><title>{title}</title><style>{STYLE}</style></head><body>\n\
             <h1>{title}</h1>\n"
        ))
    }

    /// Adds text as it is: markup whose parts are escaped.
    pub fn markup(&mut self, markup: &str) {
        self.0.push_str(markup);
        self.0.push('\n');
    }

    /// Begins a section.
    pub fn section(&mut self, title: &str, about: &str) {
        self.markup(&format!("<h2>{}</h2><p>{}</p>", escape(title), escape(about)));
    }

    /// Adds a table. A column whose head ends in `#` holds numbers.
    pub fn table(&mut self, head: &[&str], rows: &[Vec<Cell>]) {
        let is_number = |column: usize| head.get(column).is_some_and(|head| head.ends_with('#'));
        let class = |column: usize| if is_number(column) { " class=\"n\"" } else { "" };
        let mut table = "<div class=\"wide\"><table><thead><tr>".to_owned();
        for (column, head) in head.iter().enumerate() {
            table += &format!("<th{}>{}</th>", class(column), escape(head.trim_end_matches('#')));
        }
        table += "</tr></thead><tbody>\n";
        for row in rows {
            table += "<tr>";
            for (column, cell) in row.iter().enumerate() {
                table += &cell.markup(class(column));
            }
            table += "</tr>\n";
        }
        table += "</tbody></table></div>";
        self.markup(&table);
    }

    pub fn finish(mut self) -> String {
        self.0.push_str("</body></html>\n");
        self.0
    }
}

/// What stands in a table.
pub(super) enum Cell {
    Text(String),
    /// Quiet lines, one below the other.
    Lines(Vec<String>),
    Bytes(u64),
    /// A bar, from 0 to 1.
    Bar(f64),
}

impl Cell {
    fn markup(&self, class: &str) -> String {
        match self {
            Self::Text(text) => format!("<td{class}>{}</td>", escape(text)),
            Self::Lines(lines) => {
                let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
                format!("<td class=\"dim\">{}</td>", lines.join("<br />"))
            }
            Self::Bytes(bytes) => format!("<td{class}>{}</td>", size(*bytes)),
            Self::Bar(part) => {
                format!(
                    "<td class=\"bar\"><i style=\"width:{:.1}%\"></i></td>",
                    part.clamp(0.0, 1.0) * 100.0
                )
            }
        }
    }
}

/// `part` of `whole`, from 0 to 1.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Text that means nothing to a browser. Control characters, which no page may hold, are shown as one sign.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// A type path without the modules: `Handle<Mesh>` for `bevy_asset::handle::Handle<bevy_mesh::mesh::Mesh>`.
pub(super) fn short_type(path: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for letter in path.chars().chain(['\0']) {
        if letter.is_alphanumeric() || letter == '_' || letter == ':' {
            word.push(letter);
            continue;
        }
        out.push_str(word.rsplit("::").next().unwrap_or_default());
        word.clear();
        if letter != '\0' {
            out.push(letter);
        }
    }
    out
}

/// At most `most` characters, with a sign where something is left out.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}
