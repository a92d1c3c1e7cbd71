//! Which packages need which. Levels that need the same packages are one box, so that hundreds of them stay readable.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Facts, Kind, PackageFacts};
use super::page::{Page, escape, shortened};
use crate::cli::paint::size;
use crate::report::counted;

/// Boxes of a column; what is more is left out, and counted.
const BOXES: usize = 48;
const WIDTH: f64 = 1080.0;
const BOX_WIDTH: f64 = 330.0;
const BOX_HEIGHT: f64 = 34.0;
const STEP: f64 = 44.0;
const MARGIN: f64 = 12.0;
/// Where the right column begins, with room at its right for what it needs of itself.
const RIGHT: f64 = 600.0;
const LETTERS: usize = 46;

/// A box: levels with the same needs, or a package that others need.
struct Node<'f> {
    title: String,
    about: String,
    /// All names, for the pointer.
    names: Vec<&'f str>,
    imports: &'f BTreeSet<String>,
    payloads: &'f BTreeSet<String>,
}

pub(super) fn section(facts: &Facts, page: &mut Page) {
    page.section(
        "Who needs whom",
        "Left are the levels, those with the same needs together; right is what they open to be loaded. A dashed line leads to bulk data that stayed with the original of a copy, a line with a dot to a package that a shared one needs.",
    );
    let (levels, shared): (Vec<&PackageFacts>, Vec<_>) =
        facts.packages.iter().partition(|package| package.kind == Kind::Level);
    let mut left = groups(&levels);
    let hidden: usize =
        left.iter().skip(BOXES).map(|node| node.names.len()).sum::<usize>() + shared.len().saturating_sub(BOXES);
    left.truncate(BOXES);
    let right: Vec<Node> = shared.into_iter().take(BOXES).map(shared_node).collect();
    page.markup(&picture(&left, &right));
    if hidden > 0 {
        page.markup(&format!("<p>{} more are not drawn.</p>", counted(hidden, "package")));
    }
}

/// The levels by what they need, most levels first.
fn groups<'f>(levels: &[&'f PackageFacts]) -> Vec<Node<'f>> {
    let mut groups: BTreeMap<_, Vec<&PackageFacts>> = BTreeMap::new();
    for level in levels {
        groups.entry((&level.imports, &level.payloads)).or_default().push(level);
    }
    let mut nodes: Vec<Node> = groups
        .into_iter()
        .map(|((imports, payloads), levels)| {
            let bytes = levels.iter().map(|level| level.bytes).sum();
            let first = levels.first().map_or("", |level| level.file.as_str());
            let title = match levels.len() {
                1 => first.to_owned(),
                many => format!("{first} and {} more", many - 1),
            };
            Node {
                title,
                about: format!("{}, {}", counted(levels.len(), "level"), size(bytes)),
                names: levels.iter().map(|level| level.file.as_str()).collect(),
                imports,
                payloads,
            }
        })
        .collect();
    nodes.sort_by(|a, b| b.names.len().cmp(&a.names.len()).then_with(|| a.title.cmp(&b.title)));
    nodes
}

fn shared_node(package: &PackageFacts) -> Node<'_> {
    Node {
        title: package.file.clone(),
        about: format!("{}, {}", package.kind.name(), size(package.bytes)),
        names: vec![&package.file],
        imports: &package.imports,
        payloads: &package.payloads,
    }
}

fn top(place: usize) -> f64 {
    MARGIN + place as f64 * STEP
}

fn picture(left: &[Node], right: &[Node]) -> String {
    let rows = left.len().max(right.len()).max(1);
    let height = top(rows) - STEP + BOX_HEIGHT + MARGIN;
    let places: BTreeMap<&str, usize> = right.iter().map(|node| node.title.as_str()).zip(0..).collect();
    let mut svg =
        format!("<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"Which packages need which\">\n");
    for (place, node) in left.iter().enumerate() {
        let thickness = 1.0 + (node.names.len() as f64).log10() * 2.0;
        for (to, class) in needs(node, &places) {
            let (x, y) = (MARGIN + BOX_WIDTH, top(place) + BOX_HEIGHT / 2.0);
            let (end, end_y) = (RIGHT, top(to) + BOX_HEIGHT / 2.0);
            let middle = (x + end) / 2.0;
            svg += &format!(
                "<path class=\"{class}\" stroke-width=\"{thickness:.1}\" d=\"M{x:.0} {y:.0} C{middle:.0} {y:.0} {middle:.0} \
                 {end_y:.0} {end:.0} {end_y:.0}\" />\n"
            );
        }
    }
    for (place, node) in right.iter().enumerate() {
        for (to, class) in needs(node, &places) {
            let (x, y, end_y) = (
                RIGHT + BOX_WIDTH,
                top(place) + BOX_HEIGHT / 2.0,
                top(to) + BOX_HEIGHT / 2.0,
            );
            let bow = x + (30.0 + (end_y - y).abs() / 6.0).min(WIDTH - x - MARGIN);
            svg += &format!(
                "<path class=\"{class}\" d=\"M{x:.0} {y:.0} C{bow:.0} {y:.0} {bow:.0} {end_y:.0} {x:.0} {end_y:.0}\" />\n\
                 <circle class=\"dot\" cx=\"{x:.0}\" cy=\"{end_y:.0}\" r=\"3\" />\n"
            );
        }
    }
    draw(left, MARGIN, &mut svg);
    draw(right, RIGHT, &mut svg);
    svg + "</svg>"
}

/// The places of what a box needs, and how the line to it is drawn.
fn needs(node: &Node, places: &BTreeMap<&str, usize>) -> Vec<(usize, &'static str)> {
    let to = |names: &BTreeSet<String>, class| -> Vec<(usize, &'static str)> {
        let places = names.iter().filter_map(|name| places.get(name.as_str()));
        places.map(|place| (*place, class)).collect()
    };
    [to(node.imports, "edge"), to(node.payloads, "edge bulk")].concat()
}

fn draw(nodes: &[Node], x: f64, svg: &mut String) {
    for (place, node) in nodes.iter().enumerate() {
        let y = top(place);
        let mut names: Vec<String> = node.names.iter().take(BOXES).map(|name| escape(name)).collect();
        if node.names.len() > BOXES {
            names.push("…".to_owned());
        }
        *svg += &format!(
            "<g><title>{}</title><rect class=\"box\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" \
             rx=\"5\" /><text x=\"{:.0}\" y=\"{:.0}\">{}</text><text class=\"quiet\" x=\"{:.0}\" y=\"{:.0}\">{}</text></g>\n",
            names.join("\n"),
            x + 9.0,
            y + 14.0,
            escape(&shortened(&node.title, LETTERS)),
            x + 9.0,
            y + 28.0,
            escape(&node.about)
        );
    }
}
