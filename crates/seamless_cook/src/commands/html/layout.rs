//! Where objects lie that several levels use, as the last cook decided it. See [`section`].

use super::page::{Cell, Page};
use crate::layout::{LayoutCost, LayoutGroup, LayoutReason, LayoutReport};
use crate::report::{CookReport, counted};

/// How many groups are shown.
const GROUPS: usize = 40;

/// The layouts of the folder's worlds, as far as the cooker remembers them.
pub(super) fn section(cooks: &[CookReport], page: &mut Page) {
    for cook in cooks.iter().filter(|cook| !cook.layout.groups.is_empty()) {
        let layout = &cook.layout;
        page.section(
            &format!("Layout of {}", cook.world),
            "Where objects lie that several levels use, and what it takes to store them and to load every level once, by the prices of \
             cook.ron. A level of several that are there together finds what the others have opened. The price has all of it in bytes read.",
        );
        totals(layout, page);
        groups(layout, page);
    }
}

fn totals(layout: &LayoutReport, page: &mut Page) {
    let row = |name: &str, cost: &LayoutCost| {
        vec![
            Cell::Text(name.to_owned()),
            Cell::Bytes(cost.disk_bytes),
            Cell::Bytes(cost.read_bytes),
            Cell::Text(format!("{:.1}", cost.opens)),
            Cell::Bytes(cost.resident_bytes),
            Cell::Bytes(cost.price),
        ]
    };
    let rows = [
        row("as it is", &layout.chosen),
        row("everything copied", &layout.duplicate_everything),
        row("everything shared", &layout.share_everything),
    ];
    let head = [
        "",
        "On disk#",
        "Read#",
        "Packages opened#",
        "In memory without need#",
        "Price#",
    ];
    page.table(&head, &rows);
}

fn groups(layout: &LayoutReport, page: &mut Page) {
    let row = |group: &LayoutGroup| {
        vec![
            Cell::Lines(some(&group.largest, group.objects as usize)),
            Cell::Lines(some(&group.some_levels, group.levels as usize)),
            Cell::Text(group.choice.name().to_owned()),
            Cell::Text(reason(group.reason).to_owned()),
            Cell::Bytes(group.stored_bytes),
            Cell::Lines(group.chosen.against(&group.duplicated)),
            Cell::Lines(group.chosen.against(&group.shared)),
        ]
    };
    let rows: Vec<Vec<Cell>> = layout.groups.iter().take(GROUPS).map(row).collect();
    let head = [
        "Objects",
        "Levels",
        "Place",
        "Why",
        "Size#",
        "Against copies",
        "Against sharing",
    ];
    page.table(&head, &rows);
    let left_out = layout.groups.len().saturating_sub(GROUPS) + layout.groups_left_out as usize;
    if left_out > 0 {
        page.markup(&format!("<p>{} of less weight.</p>", counted(left_out, "more group")));
    }
}

fn some(names: &[String], count: usize) -> Vec<String> {
    let more = count.saturating_sub(names.len());
    let more = (more > 0).then(|| format!("and {more} more"));
    names.iter().cloned().chain(more).collect()
}

fn reason(reason: LayoutReason) -> &'static str {
    match reason {
        LayoutReason::Cost => "costs least",
        LayoutReason::Rule => "a rule",
        LayoutReason::World => "costs least with all else",
    }
}
