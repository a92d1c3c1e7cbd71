//! A treemap: packages as tiles, and in each its types, as large as their bytes.

#[cfg(test)]
mod tests;

use super::facts::{Facts, PackageFacts};
use super::page::{Page, TYPE_COLOURS, escape, short_type, shortened};
use crate::cli::paint::size;

/// Packages with a tile of their own; the others share one.
const TILES: usize = 400;
const WIDTH: f64 = 1080.0;
const HEIGHT: f64 = 560.0;
/// Height of the line with a package's name, and the least size of a tile that has one.
const LABEL: f64 = 15.0;
const LABELLED: (f64, f64) = (56.0, 34.0);
/// Width of a letter, about.
const LETTER: f64 = 6.6;

/// A rectangle in the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// Rectangles that fill `area`, as large as `sizes`, and as near to squares as the order lets them be: each row takes sizes as
/// long as that makes its worst rectangle less oblong. From Bruls, Huizing and van Wijk, *Squarified Treemaps*, 2000. Best where
/// the sizes descend.
pub(super) fn squarified(sizes: &[f64], area: Rect) -> Vec<Rect> {
    let total: f64 = sizes.iter().sum();
    let scale = if total > 0.0 {
        area.width * area.height / total
    } else {
        0.0
    };
    let mut left = area;
    let mut rects = Vec::with_capacity(sizes.len());
    let mut rest = sizes;
    while !rest.is_empty() {
        let side = left.width.min(left.height);
        let mut taken = 1;
        while taken < rest.len() && worst(&rest[..taken + 1], scale, side) <= worst(&rest[..taken], scale, side) {
            taken += 1;
        }
        let (row, after) = rest.split_at(taken);
        left = lay(row, scale, left, &mut rects);
        rest = after;
    }
    rects
}

/// How oblong the worst rectangle of a row is that lies along a side of this length.
fn worst(row: &[f64], scale: f64, side: f64) -> f64 {
    let thickness = row.iter().sum::<f64>() * scale / side;
    let ratio = |size: &f64| {
        let length = size * scale / thickness;
        (length / thickness).max(thickness / length)
    };
    row.iter().map(ratio).fold(0.0, f64::max)
}

/// Lays a row along the shorter side; gives what is left.
fn lay(row: &[f64], scale: f64, left: Rect, rects: &mut Vec<Rect>) -> Rect {
    let sum = row.iter().sum::<f64>() * scale;
    let is_wide = left.width >= left.height;
    let side = if is_wide { left.height } else { left.width };
    let thickness = if side > 0.0 { sum / side } else { 0.0 };
    let mut along = 0.0;
    for size in row {
        let length = if thickness > 0.0 { size * scale / thickness } else { 0.0 };
        let (x, y) = if is_wide {
            (left.x, left.y + along)
        } else {
            (left.x + along, left.y)
        };
        let (width, height) = if is_wide {
            (thickness, length)
        } else {
            (length, thickness)
        };
        rects.push(Rect { x, y, width, height });
        along += length;
    }
    match is_wide {
        true => Rect {
            x: left.x + thickness,
            width: (left.width - thickness).max(0.0),
            ..left
        },
        false => Rect {
            y: left.y + thickness,
            height: (left.height - thickness).max(0.0),
            ..left
        },
    }
}

pub(super) fn section(facts: &Facts, page: &mut Page) {
    page.section(
        "Where the bytes are",
        "Each tile is a package, and in it lie its types, coloured; the area is the size on disk. Hold the pointer over one to read it.",
    );
    let (own, shared) = facts.packages.split_at(facts.packages.len().min(TILES));
    let mut tiles: Vec<Tile> = own.iter().map(Tile::of).collect();
    if !shared.is_empty() {
        tiles.push(Tile::of_many(shared));
    }
    let area = Rect {
        x: 0.0,
        y: 0.0,
        width: WIDTH,
        height: HEIGHT,
    };
    let sizes: Vec<f64> = tiles.iter().map(|tile| tile.bytes as f64).collect();
    let mut svg =
        format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Sizes by package and type\">\n");
    for (tile, rect) in tiles.iter().zip(squarified(&sizes, area)) {
        draw(facts, tile, rect, &mut svg);
    }
    page.markup(&(svg + "</svg>"));
    page.markup(&legend(facts));
}

/// A package, or many small ones.
struct Tile {
    name: String,
    bytes: u64,
    /// Stored bytes by type, the largest first; the tables of the file are one.
    types: Vec<(String, u64)>,
}

/// What the tables and the summary are called.
const TABLES: &str = "tables";

impl Tile {
    fn of(package: &PackageFacts) -> Self {
        let types = package.types.iter().map(|(class, bytes)| (class.clone(), *bytes));
        let tables = (TABLES.to_owned(), package.tables);
        let mut types: Vec<_> = types.chain([tables]).filter(|(_, bytes)| *bytes > 0).collect();
        types.sort_by_key(|(_, bytes)| core::cmp::Reverse(*bytes));
        Self {
            name: package.file.clone(),
            bytes: package.bytes,
            types,
        }
    }

    fn of_many(packages: &[PackageFacts]) -> Self {
        let bytes = packages.iter().map(|package| package.bytes).sum();
        Self {
            name: format!("{} smaller packages", packages.len()),
            bytes,
            types: vec![("all types".to_owned(), bytes)],
        }
    }
}

fn draw(facts: &Facts, tile: &Tile, rect: Rect, svg: &mut String) {
    let is_labelled = rect.width >= LABELLED.0 && rect.height >= LABELLED.1;
    let label = if is_labelled { LABEL } else { 0.0 };
    let inner = Rect {
        y: rect.y + label,
        height: rect.height - label,
        ..rect
    };
    *svg += &format!("<g><title>{}: {}</title>\n", escape(&tile.name), size(tile.bytes));
    if is_labelled {
        let most = ((rect.width - 8.0) / LETTER) as usize;
        *svg += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            rect.x + 4.0,
            rect.y + LABEL - 4.0,
            escape(&shortened(&tile.name, most))
        );
    }
    let sizes: Vec<f64> = tile.types.iter().map(|(_, bytes)| *bytes as f64).collect();
    for ((class, bytes), rect) in tile.types.iter().zip(squarified(&sizes, inner)) {
        draw_type(facts, &tile.name, class, *bytes, rect, svg);
    }
    *svg += &format!(
        "<rect class=\"pack\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" /></g>\n",
        rect.x, rect.y, rect.width, rect.height
    );
}

fn draw_type(facts: &Facts, package: &str, class: &str, bytes: u64, rect: Rect, svg: &mut String) {
    // Nobody sees it, and it would only make the page larger.
    if rect.width * rect.height < 1.0 {
        return;
    }
    *svg += &format!(
        "<rect class=\"cell t{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}\n{}: {}</title></rect>\n",
        facts.colour(class),
        rect.x,
        rect.y,
        rect.width,
        rect.height,
        escape(package),
        escape(class),
        size(bytes)
    );
    let short = short_type(class);
    if rect.width >= short.chars().count() as f64 * LETTER + 8.0 && rect.height >= LABEL + 4.0 {
        *svg += &format!(
            "<text class=\"label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            rect.x + 4.0,
            rect.y + LABEL - 2.0,
            escape(&short)
        );
    }
}

fn legend(facts: &Facts) -> String {
    let own = facts.types.iter().take(TYPE_COLOURS - 1).enumerate();
    let mut legend = "<ul class=\"legend\">".to_owned();
    for (colour, (class, _)) in own {
        legend += &format!("<li><i class=\"t{colour}\"></i>{}</li>", escape(&short_type(class)));
    }
    legend += &format!(
        "<li><i class=\"t{}\"></i>tables and all others</li></ul>",
        TYPE_COLOURS - 1
    );
    legend
}
