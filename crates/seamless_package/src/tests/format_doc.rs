//! `docs/FORMAT.md` and the code say the same.

use super::*;
use crate::codec::CODECS;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64_with_seed;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FORMAT.md");
    std::fs::read_to_string(path).expect("docs/FORMAT.md is part of the project")
}

/// The lines below a heading, up to the next one.
fn chapter<'a>(document: &'a str, heading: &str) -> &'a str {
    let heading = format!("## {heading}\n");
    let start = document.find(&heading);
    let start = start.unwrap_or_else(|| panic!("docs/FORMAT.md has no `{heading}`"));
    let text = &document[start + heading.len()..];
    text.split("\n## ").next().unwrap()
}

/// Cells of the rows of the tables in a text, without the headings.
fn rows(text: &str) -> Vec<Vec<String>> {
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let cells = rows.map(|line| {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().replace('`', "")).collect()
    });
    let cells: Vec<Vec<String>> = cells.collect();
    let is_number = |row: &Vec<String>| row[0].parse::<i64>().is_ok();
    cells.into_iter().filter(is_number).collect()
}

#[test]
fn the_records_are_as_documented() {
    let document = document();
    let records = [
        ("Summary", Summary::LAYOUT, SUMMARY_SIZE),
        ("Import entry", Import::LAYOUT, Import::SIZE),
        ("Origin entry", Origin::LAYOUT, Origin::SIZE),
        ("Export entry", Export::LAYOUT, Export::SIZE),
        ("Bulk entry", Bulk::LAYOUT, Bulk::SIZE),
        ("Version list", VersionRecord::LAYOUT, VersionRecord::SIZE),
    ];
    for (heading, layout, total) in records {
        let text = chapter(&document, heading);
        let mut offset = 0;
        let mut expected = Vec::new();
        for (name, size) in layout {
            expected.push([offset.to_string(), size.to_string(), (*name).to_owned()]);
            offset += size;
        }
        assert_eq!(offset, total);
        let found: Vec<_> = rows(text).iter().map(|row| row[..3].to_vec()).collect();
        assert_eq!(found, expected, "docs/FORMAT.md, {heading}");
        let size = format!("{total} bytes");
        assert!(text.contains(&size), "{heading} does not say `{size}`");
    }
}

#[test]
fn the_constants_are_as_documented() {
    let document = document();
    let magic: Vec<String> = MAGIC.iter().map(|byte| format!("{byte:02X}")).collect();
    let summary = chapter(&document, "Summary");
    assert!(summary.contains(&format!("`{}`", magic.join(" "))));
    assert!(document.contains(&format!("Format version {FORMAT_VERSION}.")));
    assert!(document.contains(&format!("from version {OLDEST_FORMAT_VERSION} on")));
    let roles: Vec<(u8, String)> = rows(chapter(&document, "Role"))
        .iter()
        .map(|row| (row[0].parse().unwrap(), row[1].clone()))
        .collect();
    let expected = [Role::CLIENT, Role::SERVER, Role::EDITOR];
    let expected = expected.map(|role| (role.bits(), role.to_string()));
    assert_eq!(roles, expected);
    for row in rows(chapter(&document, "Codec")) {
        let number: u8 = row[0].parse().unwrap();
        let codec = Codec::read(&mut Cursor::new(&[number])).unwrap();
        assert_eq!(format!("{codec:?}").to_lowercase(), row[1]);
    }
    assert_eq!(rows(chapter(&document, "Codec")).len(), CODECS.len());
    let lists = chapter(&document, "Version list");
    for id in [VersionId::ENGINE, VersionId::GAME] {
        assert!(lists.contains(&format!("`{id}`")), "{id}");
    }
    let example = Schema::object_name("game::Tree");
    assert!(chapter(&document, "Schema record").contains(&format!("`{example}`")));
}

/// A second reader, made from nothing but the document, for one field of the golden package.
#[test]
fn the_schema_record_is_as_documented() {
    let document = document();
    let schema = schema("game::Tree");
    let mut expected = Vec::new();
    for row in rows(chapter(&document, "Schema record")) {
        match row[1].as_str() {
            "type_path" => text(&mut expected, &schema.type_path),
            "encoding" => expected.push(schema.encoding),
            "flags" => expected.push(schema.immutable.into()),
            "version" => expected.extend(schema.version.to_le_bytes()),
            "hash" => expected.extend(schema.hash.to_le_bytes()),
            "description" => text(&mut expected, &schema.description),
            other => panic!("a schema has no `{other}`"),
        }
    }
    assert_eq!(schema.encode(), expected);
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
}

/// A number of the golden package, found by the offsets that the document gives.
fn documented(bytes: &[u8], chapter_text: &str, base: usize, name: &str) -> u64 {
    let rows = rows(chapter_text);
    let row = rows.iter().find(|row| row[2] == name).unwrap();
    let offset: usize = row[0].parse().unwrap();
    let size: usize = row[1].parse().unwrap();
    number(&bytes[base + offset..][..size])
}

/// A number of up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
    let mut number = [0; 8];
    number[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(number)
}

#[test]
fn a_reader_made_from_the_document_finds_an_object() {
    let document = document();
    let bytes = golden();
    let summary = chapter(&document, "Summary");
    let entry = chapter(&document, "Export entry");
    let of_summary = |name: &str| documented(&bytes, summary, 0, name);
    // The export table is in columns.
    let count = of_summary("export_count") as usize;
    let entry_of = |index: usize, name: &str| {
        let row = rows(entry).into_iter().find(|row| row[2] == name).unwrap();
        let (offset, size): (usize, usize) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        number(&bytes[of_summary("exports_offset") as usize + count * offset + index * size..][..size])
    };
    let of_entry = |name| entry_of(B, name);
    let start = of_entry("data_offset") as usize;
    let end = start + of_entry("stored_size") as usize;
    assert_eq!(&bytes[start..end], b"hello");
    assert_eq!(of_entry("checksum"), xxh3_64(b"hello"));
    let id = xxh3_64_with_seed("B/ü".as_bytes(), xxh3_64(b"levels/golden.pkg"));
    assert_eq!(of_entry("object_id"), id);
    assert_eq!(of_entry("class") as u32, OTHER as u32 + 1);
    // Its place in the order of the ids: as many exports come before it as have lower ids.
    let short = |at: usize| number(&bytes[at..at + 4]) as usize;
    let end = (of_summary("exports_offset") + of_summary("exports_size")) as usize;
    let order: Vec<usize> = (0..count).map(|at| short(end - 4 * count + 4 * at)).collect();
    let lower = (0..count).filter(|index| entry_of(*index, "object_id") < id).count();
    assert_eq!(order[lower], B);
    // The name: the text between the ends of the entry before and of this one.
    let names = of_summary("names_offset") as usize;
    let end_of = |index: usize| short(names + index * 4);
    let name = of_entry("name") as usize;
    let text = names + of_summary("name_count") as usize * 4;
    let name = &bytes[text + end_of(name - 1)..text + end_of(name)];
    assert_eq!(name, "B/ü".as_bytes());
    let mut sealed = bytes[..SUMMARY_SIZE].to_vec();
    sealed[16..24].fill(0);
    assert_eq!(of_summary("summary_checksum"), xxh3_64(&sealed));
    let sums = ["names", "imports", "origins", "exports", "versions"];
    let sums: Vec<u8> = sums
        .into_iter()
        .map(|name| format!("{name}_checksum"))
        .flat_map(|name| of_summary(&name).to_le_bytes())
        .collect();
    assert_eq!(of_summary("content_hash"), xxh3_64(&sums));
}

/// The version that the document describes, and the document's hash.
const DOCUMENTED: (u32, u64) = (6, 3_283_070_676_154_879_883);

#[test]
fn neither_document_nor_version_changes_unnoticed() {
    let found = (FORMAT_VERSION, xxh3_64(document().as_bytes()));
    assert_eq!(
        found, DOCUMENTED,
        "docs/FORMAT.md or FORMAT_VERSION has changed. If the bytes of packages change, both do, and there is a new golden \
         file; if only the words do, put the left values here."
    );
}
