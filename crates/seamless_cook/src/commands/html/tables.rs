//! The tables of the page.

use super::facts::Facts;
use super::page::{Cell, Page, escape, share, short_type};
use crate::cli::paint::size;
use crate::report::counted;
use crate::report::{CookReport, ObjectTiming};

pub(super) fn summary(facts: &Facts, page: &mut Page) {
    let count = |kind: &str| {
        facts
            .packages
            .iter()
            .filter(|package| package.kind.name() == kind)
            .count()
    };
    let tables: u64 = facts.packages.iter().map(|package| package.tables).sum();
    let raw: u64 = facts.types.iter().map(|(_, facts)| facts.raw).sum();
    let tiles = [
        (size(facts.bytes), "on disk".to_owned()),
        (size(raw), "unpacked".to_owned()),
        (facts.packages.len().to_string(), "packages".to_owned()),
        (count("level").to_string(), "levels".to_owned()),
        (facts.objects.to_string(), "objects, types included".to_owned()),
        (size(tables), "of tables".to_owned()),
    ];
    let mut markup = "<div class=\"tiles\">".to_owned();
    for (value, what) in tiles {
        markup += &format!(
            "<div class=\"tile\"><b>{}</b><span>{}</span></div>",
            escape(&value),
            escape(&what)
        );
    }
    page.markup(&(markup + "</div>"));
}

pub(super) fn types(facts: &Facts, page: &mut Page) {
    page.section(
        "Types",
        "All objects by type, bulk data included; “class” are the descriptions of the types themselves.",
    );
    let stored: u64 = facts.types.iter().map(|(_, facts)| facts.stored).sum();
    let rows: Vec<Vec<Cell>> = facts
        .types
        .iter()
        .map(|(class, of)| {
            vec![
                Cell::Text(class.clone()),
                Cell::Text(of.objects.to_string()),
                Cell::Bytes(of.stored),
                Cell::Bytes(of.raw),
                Cell::Bar(share(of.stored, stored)),
            ]
        })
        .collect();
    page.table(&["Type", "Objects#", "On disk#", "Unpacked#", ""], &rows);
}

pub(super) fn largest(facts: &Facts, page: &mut Page) {
    page.section(
        "Largest objects",
        "With their bulk data, where it lies in the same file; without copies.",
    );
    let most = facts.largest.first().map_or(0, |object| object.stored);
    let rows: Vec<Vec<Cell>> = facts
        .largest
        .iter()
        .map(|object| {
            vec![
                Cell::Text(object.object.clone()),
                Cell::Text(object.package.clone()),
                Cell::Text(short_type(&object.class)),
                Cell::Bytes(object.stored),
                Cell::Bytes(object.raw),
                Cell::Bar(share(object.stored, most)),
            ]
        })
        .collect();
    page.table(&["Object", "Package", "Type", "On disk#", "Unpacked#", ""], &rows);
}

pub(super) fn slowest(cooks: &[CookReport], page: &mut Page) {
    let mut timings: Vec<&ObjectTiming> = cooks.iter().flat_map(|cook| &cook.slowest).collect();
    timings.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let Some(most) = timings.first().map(|timing| timing.seconds) else {
        return;
    };
    page.section(
        "Slowest objects",
        "What took longest to encode or to compress when it was last cooked, each on one thread.",
    );
    let rows: Vec<Vec<Cell>> = timings
        .iter()
        .map(|timing| {
            vec![
                Cell::Text(timing.object.clone()),
                Cell::Text(timing.step.clone()),
                Cell::Text(format!("{:.1} ms", timing.seconds * 1e3)),
                Cell::Bar(timing.seconds / most),
            ]
        })
        .collect();
    page.table(&["Object", "Step", "Time#", ""], &rows);
}

pub(super) fn packages(facts: &Facts, page: &mut Page) {
    page.section("Packages", "All of them, the largest first.");
    let most = facts.packages.first().map_or(0, |package| package.bytes);
    let rows: Vec<Vec<Cell>> = facts
        .packages
        .iter()
        .map(|package| {
            vec![
                Cell::Text(package.file.clone()),
                Cell::Text(package.kind.name().to_owned()),
                Cell::Text(package.objects.to_string()),
                Cell::Text(package.copies.to_string()),
                Cell::Bytes(package.tables),
                Cell::Bytes(package.bytes),
                Cell::Bar(share(package.bytes, most)),
            ]
        })
        .collect();
    page.markup(&format!(
        "<details><summary>{}</summary>",
        counted(rows.len(), "package")
    ));
    let head = ["Package", "Kind", "Objects#", "Copies#", "Tables#", "On disk#", ""];
    page.table(&head, &rows);
    page.markup("</details>");
}
