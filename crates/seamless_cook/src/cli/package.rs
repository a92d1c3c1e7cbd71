//! What `seamless inspect` prints.

use super::cook::print_startup;
use super::paint::{BOLD, DIM, Painted, size};
use crate::commands::{BulkInfo, ExportInfo, LevelInfo, PackageInfo};

pub(super) fn print_package(info: &PackageInfo, text: &mut String) {
    *text += &format!(
        "{}: format {}, {}, of which {} header; content {}; {} names; all checksums are right\n",
        Painted(BOLD, &info.name),
        info.format_version,
        size(info.bytes),
        size(info.header_bytes),
        info.content_hash,
        info.names,
    );
    print_versions(info, text);
    heading("types", info.types.len(), text);
    for of in &info.types {
        *text += &format!(
            "  {:>10} stored  {:>10} raw  {:4}  {}\n",
            size(of.stored_bytes),
            size(of.raw_bytes),
            of.objects,
            of.class
        );
    }
    heading("schemas", info.schemas.len(), text);
    for schema in &info.schemas {
        let immutable = if schema.immutable { ", immutable" } else { "" };
        *text += &format!(
            "  {}  {}  {} version {}{immutable}\n",
            Painted(DIM, &schema.hash),
            schema.type_path,
            schema.encoding,
            schema.version
        );
    }
    heading("imports", info.imports.len(), text);
    for import in &info.imports {
        *text += &format!(
            "  {}  {}#{}  {}\n",
            Painted(DIM, &import.id),
            import.package,
            import.object,
            import.class
        );
    }
    heading("origins", info.origins.len(), text);
    for origin in &info.origins {
        *text += &format!(
            "  {}  content {}  {} copied\n",
            origin.package, origin.content_hash, origin.objects
        );
    }
    heading("exports", info.exports.len(), text);
    for (index, export) in info.exports.iter().enumerate() {
        print_export(index, export, text);
    }
    if let Some(startup) = &info.startup {
        text.push('\n');
        print_startup(startup, text);
    }
    if let Some(level) = &info.level {
        print_level(level, text);
    }
}

fn heading(what: &str, count: usize, text: &mut String) {
    *text += &format!("\n{}: {count}\n", Painted(BOLD, what));
}

fn print_versions(info: &PackageInfo, text: &mut String) {
    for list in &info.versions {
        let last = list.entries.last().map_or("none", String::as_str);
        *text += &format!(
            "versions: {} at {}, the last is `{last}`\n",
            list.label,
            list.entries.len()
        );
    }
}

fn print_export(index: usize, export: &ExportInfo, text: &mut String) {
    *text += &format!(
        "  {index:4}  {}  {}  {}  [{}]  {} stored, {} raw, {} at {}",
        Painted(DIM, &export.id),
        Painted(BOLD, &export.name),
        export.class,
        export.role,
        size(export.stored_bytes),
        size(export.raw_bytes),
        export.codec,
        export.offset,
    );
    if let Some(origin) = &export.copied_from {
        *text += &format!(", a copy from {origin}");
    }
    if export.marked {
        *text += ", marked: its payloads may come later";
    }
    text.push('\n');
    for (number, bulk) in export.bulk.iter().enumerate() {
        print_bulk(number, bulk, text);
    }
    for reference in &export.refs {
        *text += &format!("          -> {reference}\n");
    }
}

fn print_bulk(number: usize, bulk: &BulkInfo, text: &mut String) {
    *text += &format!(
        "          bulk {number}: {} stored, {} raw, {} at {}",
        size(bulk.stored_bytes),
        size(bulk.raw_bytes),
        bulk.codec,
        bulk.offset
    );
    if let Some(package) = &bulk.package {
        *text += &format!(" of {package}");
    }
    text.push('\n');
}

/// So many entities of a level are named.
const NAMED: usize = 24;

fn print_level(level: &LevelInfo, text: &mut String) {
    *text += &format!(
        "\nlevel: {} entities, {} roots, {} groups\n",
        level.entities,
        level.roots,
        level.groups.len()
    );
    for (index, group) in level.groups.iter().enumerate() {
        *text += &format!("  group {index}: {} entities\n", group.rows);
        for column in &group.columns {
            *text += &format!("    {}  [{}]  {}\n", column.class, column.role, size(column.bytes));
        }
    }
    *text += "\nentities, as soft links and `seamless why` name them\n";
    for name in level.names.iter().take(NAMED) {
        *text += &format!("  {name}\n");
    }
    if let Some(more) = level.names.len().checked_sub(NAMED).filter(|more| *more > 0) {
        *text += &format!("  and {more} more; `--json` has all\n");
    }
}
