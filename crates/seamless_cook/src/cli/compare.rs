//! What `seamless diff` prints.

use anstyle::Style;

use super::paint::{BOLD, CHANGED, DIM, GONE, GOOD, Painted, size};
use crate::commands::{
    BulkDiff, Change, ComponentDiff, DiffReport, LevelDiff, ManifestDiff, ObjectDiff, PackageDiff, RegistryDiff, Sizes,
};
use crate::report::counted;

pub(super) fn print_diff(report: &DiffReport, text: &mut String) {
    for manifest in &report.manifests {
        print_manifest(manifest, text);
    }
    for registry in &report.registries {
        print_registry(registry, text);
    }
    for package in &report.packages {
        print_package(package, text);
    }
    if report.is_equal() {
        *text += &format!("equal: {}\n", counted(report.equal, "package"));
    } else {
        let files = report.packages.len() + report.manifests.len() + report.registries.len();
        *text += &format!(
            "{} {}, {} equal\n",
            counted(files, "file"),
            if files == 1 { "differs" } else { "differ" },
            counted(report.equal, "package")
        );
    }
}

/// The sign in front of a line.
fn sign(change: Change) -> Painted<&'static str> {
    let (style, sign): (Style, _) = match change {
        Change::Added => (GOOD, "+"),
        Change::Removed => (GONE, "-"),
        Change::Changed => (CHANGED, "~"),
    };
    Painted(style, sign)
}

fn sizes(bytes: &Sizes) -> String {
    match (bytes.before, bytes.after) {
        (Some(before), Some(after)) if before == after => size(before),
        (Some(before), Some(after)) => {
            let (sign, change) = if after > before {
                ('+', after - before)
            } else {
                ('-', before - after)
            };
            format!("{} -> {} ({sign}{})", size(before), size(after), size(change))
        }
        (before, after) => before.or(after).map_or_else(String::new, size),
    }
}

fn print_manifest(manifest: &ManifestDiff, text: &mut String) {
    *text += &format!("{} {}\n", sign(manifest.change), Painted(BOLD, &manifest.manifest));
    for what in &manifest.what {
        *text += &format!("    {what}\n");
    }
}

fn print_registry(registry: &RegistryDiff, text: &mut String) {
    *text += &format!("{} {}\n", sign(registry.change), Painted(BOLD, &registry.registry));
    for what in &registry.what {
        *text += &format!("    {what}\n");
    }
    if registry.resized > 0 {
        let resized = format!("{}: other bytes to load", counted(registry.resized, "object"));
        *text += &format!("    {}\n", Painted(DIM, resized));
    }
}

fn print_package(package: &PackageDiff, text: &mut String) {
    *text += &format!(
        "{} {}  {}\n",
        sign(package.change),
        Painted(BOLD, &package.package),
        sizes(&package.bytes)
    );
    for what in &package.header {
        *text += &format!("    {what}\n");
    }
    let (moved, objects): (Vec<_>, Vec<_>) = package.objects.iter().partition(|object| object.is_place_only());
    if package.change == Change::Changed {
        for object in objects {
            print_object(object, text);
        }
    } else {
        *text += &format!("    {}\n", counted(objects.len(), "object"));
    }
    if !moved.is_empty() {
        let moved = format!(
            "{} lie elsewhere in the file, and are the same",
            counted(moved.len(), "object")
        );
        *text += &format!("    {}\n", Painted(DIM, moved));
    }
    if let Some(level) = &package.level {
        print_level(level, text);
    }
}

fn print_object(object: &ObjectDiff, text: &mut String) {
    *text += &format!(
        "  {} {}  {}  {}\n",
        sign(object.change()),
        object.object,
        Painted(DIM, &object.class),
        sizes(&object.bytes)
    );
    let mut line = |what: String| *text += &format!("      {what}\n");
    if object.data {
        line("data".to_owned());
    }
    let pairs = [
        ("stored", &object.codec),
        ("role", &object.role),
        ("type", &object.class_change),
    ];
    for (what, pair) in pairs {
        if let Some([before, after]) = pair {
            line(format!("{what} {before} -> {after}"));
        }
    }
    if let Some([was, _]) = object.marked {
        line(if was { "not marked any more" } else { "marked" }.to_owned());
    }
    object.schema.iter().for_each(|what| line(format!("schema {what}")));
    object
        .references_added
        .iter()
        .for_each(|name| line(format!("refers to {name}")));
    object
        .references_removed
        .iter()
        .for_each(|name| line(format!("no longer refers to {name}")));
    if object.references_order {
        line("references in another order".to_owned());
    }
    object.bulk.iter().for_each(|bulk| line(bulk_line(bulk)));
    if object.origin {
        line("copied from another cook of its package".to_owned());
    }
}

fn bulk_line(bulk: &BulkDiff) -> String {
    let what = match (bulk.place_only, bulk.change) {
        (true, _) => "lies elsewhere",
        (_, Change::Added) => "added",
        (_, Change::Removed) => "removed",
        (_, Change::Changed) => "changed",
    };
    format!("bulk {} {what}, {}", bulk.payload, sizes(&bulk.bytes))
}

fn print_level(level: &LevelDiff, text: &mut String) {
    for entity in &level.added {
        *text += &format!("  {} entity {entity}\n", sign(Change::Added));
    }
    for entity in &level.removed {
        *text += &format!("  {} entity {entity}\n", sign(Change::Removed));
    }
    for component in &level.components {
        print_component(component, text);
    }
    if level.moved > 0 {
        let moved = match level.moved {
            1 => "1 entity lies in another row".to_owned(),
            moved => format!("{moved} entities lie in other rows"),
        };
        *text += &format!("    {}\n", Painted(DIM, moved));
    }
    if level.roots {
        *text += "    other roots\n";
    }
}

fn print_component(component: &ComponentDiff, text: &mut String) {
    let counts = [
        (component.added, "added to"),
        (component.removed, "removed from"),
        (
            component.changed,
            if component.by_value {
                "changed on"
            } else {
                "perhaps changed on"
            },
        ),
        (component.roles, "for other roles on"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, what)| format!("{what} {count} {}", if *count == 1 { "entity" } else { "entities" }))
        .collect();
    let all = component.added + component.removed + component.changed.max(component.roles);
    let more = if all > component.entities.len() { ", …" } else { "" };
    *text += &format!(
        "  {} {}: {} ({}{more})\n",
        sign(Change::Changed),
        component.component,
        counts.join(", "),
        component.entities.join(", ")
    );
}
