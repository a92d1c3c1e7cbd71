//! Packages with right checksums that break one rule each, as a wrong or a hostile writer makes them.

use super::*;
use std::collections::BTreeSet;

/// Which record of the golden package is forged.
enum At {
    Export(usize),
    Import(usize),
    Bulk(usize),
    Origin(usize),
    Version(usize),
}

fn forge(at: &At, name: &str, value: u64) -> Result<Package, PackageError> {
    let mut bytes = golden();
    let summary = summary_of(&bytes);
    let (base, layout) = match at {
        At::Export(_) => (0, Export::LAYOUT),
        At::Import(index) => (import_at(&bytes, *index), Import::LAYOUT),
        At::Bulk(index) => (bulk_at(&bytes, *index), Bulk::LAYOUT),
        At::Origin(index) => (origin_at(&bytes, *index), Origin::LAYOUT),
        At::Version(index) => (version_at(&bytes, *index), VersionRecord::LAYOUT),
    };
    match at {
        At::Export(index) => put_export(&mut bytes, *index, name, value),
        _ => put(&mut bytes, base, layout, name, value),
    }
    reseal_tables(&mut bytes, &summary);
    verify(&bytes)
}

/// The number that is stored for a reference to an import.
fn import(index: i64) -> u64 {
    (-(index + 1)) as u64
}

/// The number that is stored for a reference to an export.
fn export(index: usize) -> u64 {
    index as u64 + 1
}

#[test]
fn every_rule_between_the_tables_is_kept() {
    use At::{Bulk, Export, Import, Origin, Version};
    let cases = [
        (Export(B), "object_id", 1, "object id is not that"),
        (Export(B), "name", 0, "object id is not that"),
        (Export(B), "name", 999, "not in the name table"),
        (Export(B), "class", 0, "a class has an outer"),
        (Export(A), "class", 0, "a class has references"),
        (Export(B), "class", export(B), "no export before"),
        (Export(A), "class", export(OTHER), "no export before"),
        (Export(B), "class", import(0), "no export before"),
        (Export(B), "class", export(A), "the class is an object"),
        (Export(OTHER), "class", export(POINT), "does not follow"),
        (Export(OTHER), "outer", export(A), "a class has an outer"),
        (Export(POINT), "codec", 1, "stored in different ways"),
        (Export(OTHER), "codec", 1, "stored in different ways"),
        (Export(B), "outer", export(B), "the outer is no export"),
        (Export(B), "outer", import(0), "the outer is no export"),
        (Export(B), "outer", export(POINT), "the outer is a class"),
        (Export(B), "role", 0, "0 at byte 183 is no role"),
        (Export(B), "role", 8, "8 at byte 183 is no role"),
        (Export(B), "codec", 3, "3 at byte 192 is no codec"),
        (Export(B), "reserved", 1, "is no reserved byte"),
        (Export(A), "bulk_use", 2, "2 at byte 199 is no use of payloads"),
        (Export(B), "bulk_use", 1, "without bulk payloads is marked"),
        (Export(OTHER), "bulk_use", 1, "without bulk payloads is marked"),
        (Export(LEAF), "bulk_use", 1, "without bulk payloads is marked"),
        (Export(B), "data_offset", 0, "data does not follow"),
        (Export(B), "stored_size", 4, "two different sizes"),
        (Export(B), "stored_size", u64::MAX, "outside of its region"),
        (Export(B), "raw_size", 6, "two different sizes"),
        (Export(A), "raw_size", 3, "is not smaller"),
        (Export(A), "first_ref", 1, "references do not follow"),
        (Export(B), "ref_count", 9, "outside of their list"),
        (Export(B), "ref_count", 1, "references do not follow"),
        (Export(A), "first_bulk", 1, "entries do not follow"),
        (Export(A), "bulk_count", 9, "outside of their table"),
        (Import(0), "object_id", 1, "object id is not that"),
        (Import(0), "package", 999, "not in the name table"),
        (Import(0), "object", 999, "not in the name table"),
        (Import(0), "type_path", 999, "not in the name table"),
        (Import(0), "role", 0, "is no role"),
        (Import(0), "reserved", 1, "is no reserved byte"),
        (Bulk(0), "offset", 0, "data does not follow"),
        (Bulk(LAST_BULK), "stored_size", 5, "outside of its region"),
        (Bulk(1), "raw_size", 6, "two different sizes"),
        (Bulk(0), "codec", 0, "two different sizes"),
        (Bulk(0), "reserved", 1 << 16, "is no reserved byte"),
        (Export(A), "origin", 1, "object id is not that"),
        (Export(LEAF), "origin", 0, "own object follows a forced export"),
        (Export(LEAF), "origin", 2, "not in the origin table"),
        (Export(A), "origin_index", 1, "index elsewhere"),
        (Export(LEAF), "origin_index", 1, "copied from one export"),
        (Export(LEAF), "class", 0, "a class is a forced export"),
        (Export(LEAF), "outer", export(D), "an object of another package"),
        (Bulk(0), "origin", 1, "that the object is not from"),
        (Bulk(EXTERNAL), "origin", 0, "data does not follow"),
        (Bulk(EXTERNAL), "origin", 2, "that the object is not from"),
        (Bulk(EXTERNAL), "offset", u64::MAX, "outside of every file"),
        (Bulk(EXTERNAL), "raw_size", 1, "is not smaller"),
        (Origin(0), "package", 999, "not in the name table"),
        (Origin(0), "package", 0, "object id is not that"),
        (Version(0), "label", 999, "not in the name table"),
        (Version(1), "first_entry", 0, "entries do not follow"),
        (Version(2), "entry_count", 9, "outside of their list"),
        (Version(0), "entry_count", 0, "the hash is not that"),
        (Version(0), "hash", 1, "the hash is not that"),
        (Version(0), "id", u64::MAX, "order of their ids"),
    ];
    for (at, name, value, expected) in cases {
        let error = forge(&at, name, value).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{name} = {value}: {text}");
        assert_eq!(error.fault(), Fault::Writer, "{text}");
    }
}

#[test]
fn references_are_to_what_comes_before() {
    let bytes = golden();
    let summary = summary_of(&bytes);
    let refs = refs_at(&bytes);
    let cases = [
        (0, "refers to nothing"),
        (A as i32 + 1, "to no export before this one"),
        (100, "to no export before this one"),
        (-3, "an import that is not there"),
        (i32::MIN, "an import that is not there"),
    ];
    for (raw, expected) in cases {
        let mut forged = bytes.clone();
        forged[refs..refs + 4].copy_from_slice(&raw.to_le_bytes());
        reseal_tables(&mut forged, &summary);
        let text = verify(&forged).unwrap_err().to_string();
        assert!(text.contains(expected), "{raw}: {text}");
    }
}

#[test]
fn regions_are_used_up() {
    // The last payload loses a byte, which then belongs to nothing.
    let mut forged = golden();
    let summary = summary_of(&forged);
    let at = bulk_at(&forged, LAST_BULK);
    put(&mut forged, at, Bulk::LAYOUT, "stored_size", 3);
    put(&mut forged, at, Bulk::LAYOUT, "raw_size", 3);
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(text.contains("left over behind the last bulk"), "{text}");
    // The last reference belongs to nobody.
    let mut forged = golden();
    put_export(&mut forged, LEAF, "ref_count", 0);
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(text.contains("references are left over"), "{text}");
    // The last bulk entry belongs to nobody.
    let mut forged = golden();
    put_export(&mut forged, TREE, "bulk_count", 1);
    put_export(&mut forged, LEAF, "first_bulk", LAST_BULK as u64);
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(text.contains("bulk entries are left over"), "{text}");
    // The last object's data ends early.
    let mut forged = golden();
    put_export(&mut forged, LEAF, "stored_size", 4);
    put_export(&mut forged, LEAF, "raw_size", 4);
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(text.contains("left over behind the last export"), "{text}");
}

#[test]
fn every_name_is_a_text() {
    let bytes = golden();
    let summary = summary_of(&bytes);
    let start = summary.names_offset as usize;
    let text = start + summary.name_count as usize * 4;
    let forge = |at: usize, patch: &[u8]| {
        let mut forged = bytes.clone();
        forged[at..at + patch.len()].copy_from_slice(patch);
        reseal_tables(&mut forged, &summary);
        verify(&forged).unwrap_err().to_string()
    };
    // The first name is "A", the second "B/ü".
    let empty = forge(start, &[0]);
    assert!(empty.contains("a name is empty"), "{empty}");
    // Where the order of the names matters, it is asked for; an object has its id.
    let order = forge(text, b"Z");
    assert!(order.contains("object id is not that"), "{order}");
    let nul = forge(text, b"\0");
    assert!(nul.contains("NUL"), "{nul}");
    let utf8 = forge(text, b"\xff");
    assert!(utf8.contains("not UTF-8"), "{utf8}");
    let inside = forge(start + 4, &[4]);
    assert!(inside.contains("outside of the text"), "{inside}");
    let beyond = forge(start + 4, &[0xff, 0xff]);
    assert!(beyond.contains("outside of the text"), "{beyond}");
    let backwards = forge(start + 4, &[0]);
    assert!(backwards.contains("outside of the text"), "{backwards}");
    let last = start + (summary.name_count as usize - 1) * 4;
    let end = bytes[last];
    let short = forge(last, &[end - 1]);
    assert!(short.contains("does not end with"), "{short}");
}

#[test]
fn the_summary_contradicts_nothing() {
    for (name, size) in Summary::LAYOUT.iter().skip(4) {
        for value in [0, 1, 3, u64::MAX] {
            let mut forged = golden();
            let before = forged.clone();
            put(&mut forged, 0, Summary::LAYOUT, name, value);
            if forged == before || *name == "package_name" && *size == 4 {
                continue;
            }
            reseal_summary(&mut forged);
            assert!(verify(&forged).is_err(), "{name} = {value}");
        }
    }
    // Another name for the package changes the id of every object.
    let mut forged = golden();
    put(&mut forged, 0, Summary::LAYOUT, "package_name", 1);
    reseal_summary(&mut forged);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(text.contains("object id is not that"), "{text}");
}

#[test]
fn the_package_imports_nothing_from_itself() {
    let mut bytes = golden();
    let summary = summary_of(&bytes);
    let at = import_at(&bytes, 0);
    let own = u64::from(summary.package_name.0);
    put(&mut bytes, at, Import::LAYOUT, "package", own);
    reseal_tables(&mut bytes, &summary);
    let text = verify(&bytes).unwrap_err().to_string();
    assert!(text.contains("imports from itself"), "{text}");
}

#[test]
fn the_package_is_no_origin_of_itself() {
    let mut bytes = golden();
    let summary = summary_of(&bytes);
    let at = origin_at(&bytes, 0);
    put(&mut bytes, at, Origin::LAYOUT, "package", summary.package_name.0.into());
    reseal_tables(&mut bytes, &summary);
    let text = verify(&bytes).unwrap_err().to_string();
    assert!(text.contains("its own origin"), "{text}");
}

/// Writes the order of the ids anew, as a writer would that checks nothing.
fn reorder(bytes: &mut [u8], offset: u64, ids: impl Iterator<Item = ObjectId>) {
    let order = order_of(ids);
    let offset = offset as usize;
    bytes[offset..offset + order.len()].copy_from_slice(&order);
}

#[test]
fn every_object_is_there_once() {
    let bytes = golden();
    let summary = summary_of(&bytes);
    let package = verify(&bytes).unwrap();
    let mut forged = bytes.clone();
    let (first, second) = (import_at(&bytes, 0), import_at(&bytes, 1));
    forged.copy_within(first..first + Import::SIZE, second);
    let id = package.imports().get(0).unwrap().object_id;
    reorder(&mut forged, summary.import_order_offset(), [id, id].into_iter());
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(
        text.contains("import 1: another entry has the same object id"),
        "{text}"
    );
    let mut forged = bytes.clone();
    copy_identity(&mut forged, A, B);
    let ids = |index| {
        package
            .exports()
            .get(if index == B { A } else { index })
            .unwrap()
            .object_id
    };
    reorder(&mut forged, summary.export_order_offset(), (0..9).map(ids));
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(
        text.contains("export 3 `A`: another entry has the same object id"),
        "{text}"
    );
}

#[test]
fn the_orders_of_the_ids_are_right() {
    let bytes = golden();
    let summary = summary_of(&bytes);
    let orders = [
        (summary.import_order_offset(), summary.import_count, "import table"),
        (summary.export_order_offset(), summary.export_count, "export table"),
    ];
    for (offset, count, place) in orders {
        let (first, second) = (offset as usize, offset as usize + 4);
        let forge = |patch: &dyn Fn(&mut [u8])| {
            let mut forged = bytes.clone();
            patch(&mut forged);
            reseal_tables(&mut forged, &summary);
            let text = verify(&forged).unwrap_err().to_string();
            assert!(text.starts_with(place), "{text}");
            text
        };
        let swapped = forge(&|forged| {
            forged.copy_within(first..second, second);
            forged[first..second].copy_from_slice(&bytes[second..second + 4]);
        });
        assert!(swapped.contains("does not ascend"), "{swapped}");
        for beyond in [count, u32::MAX] {
            let text = forge(&|forged| forged[first..second].copy_from_slice(&beyond.to_le_bytes()));
            assert!(text.contains("an entry that is not there"), "{text}");
        }
        // One entry twice, and so another one missing.
        let mut forged = bytes.clone();
        forged.copy_within(first..second, second);
        reseal_tables(&mut forged, &summary);
        let text = verify(&forged).unwrap_err().to_string();
        assert!(text.contains("has the same object id"), "{text}");
    }
}

#[test]
fn a_class_is_named_after_its_type() {
    let mut bytes = golden();
    let summary = summary_of(&bytes);
    let package = verify(&bytes).unwrap();
    let range = package.export_range(POINT).unwrap();
    let range = range.start as usize..range.end as usize;
    // The first letter of the type path, behind its length.
    bytes[range.start + 4] = b'x';
    let sum = xxh3_64(&bytes[range]);
    put_export(&mut bytes, POINT, "checksum", sum);
    reseal_tables(&mut bytes, &summary);
    let text = verify(&bytes).unwrap_err().to_string();
    assert!(text.contains("not named after its type"), "{text}");
}

#[test]
fn every_flipped_bit_under_right_checksums_is_an_error_or_changes_no_data() {
    let bytes = golden();
    let summary = summary_of(&bytes);
    let whole = verify(&bytes).unwrap();
    let tables = SUMMARY_SIZE * 8..summary.data_offset as usize * 8;
    let mut accepted = 0;
    for bit in tables {
        let mut forged = bytes.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        reseal_tables(&mut forged, &summary);
        let Ok(package) = verify(&forged) else {
            continue;
        };
        accepted += 1;
        assert_ne!(package, whole, "bit {bit} has no meaning");
        for index in 0..package.exports().len() {
            let expected = whole.export_data(index, &bytes, 0).unwrap();
            let data = package.export_data(index, &forged, 0).unwrap();
            assert_eq!(data, expected, "bit {bit}");
        }
    }
    // Roles, marks, outers, references, and the type that an import names are free to change, and so is the name of that; and what is said
    // of other files.
    assert!((1..800).contains(&accepted), "{accepted} bits are free");
}

/// Own objects of all kinds and copies from two packages, so many that they are looked at in blocks.
fn many() -> Vec<u8> {
    let mut writer = PackageWriter::new("levels/many.pkg");
    let rock = writer
        .import("shared/rocks.pkg", "Rock", "game::Rock", Role::ALL)
        .unwrap();
    let classes = ["game::Point", "game::Other"].map(|name| writer.class(&schema(name)).unwrap());
    let mut before = vec![rock];
    for index in 0..150_usize {
        let name = format!("object {index}");
        let bulk = match index % 50 {
            7 => vec![vec![3; 100].into(), b"noise".to_vec().into()],
            _ => Vec::new(),
        };
        let export = NewExport {
            outer: match index {
                0..40 => ObjectRef::NONE,
                40..110 => before[1],
                _ => before[index - 3],
            },
            refs: before.iter().rev().step_by(5).take(index % 4).copied().collect(),
            bulk,
            bulk_use: PayloadUse::marked(index % 100 == 7),
            codec: if index % 30 == 29 { Codec::Lz4 } else { Codec::None },
            ..plain(&name, classes[index % 2], &[index as u8; 90])
        };
        before.push(writer.export(export).unwrap());
    }
    let mut copies = Vec::new();
    for index in 0..40_u32 {
        let name = format!("copy {index}");
        let export = NewExport {
            outer: match index % 5 {
                2.. if index > 1 => copies[index as usize - 2],
                _ => ObjectRef::NONE,
            },
            refs: copies.iter().rev().take(2).copied().chain([rock]).collect(),
            ..plain(&name, classes[0], b"copy")
        };
        let from = ForcedOrigin {
            package: ["shared/a.pkg", "shared/b.pkg"][index as usize % 2],
            content_hash: 1,
            index: 100 + index,
        };
        copies.push(writer.forced(from, export).unwrap());
    }
    writer.finish().unwrap()
}

/// Each field of some exports gets other values, which must be refused, or be those that another writer could have meant.
#[test]
fn no_field_of_any_export_is_overlooked() {
    let bytes = many();
    let summary = summary_of(&bytes);
    let whole = verify(&bytes).unwrap();
    let mut accepted = BTreeSet::new();
    for index in [
        0, 1, 2, 3, 9, 16, 17, 18, 41, 60, 99, 111, 112, 113, 151, 152, 153, 170, 191,
    ] {
        for (name, size) in Export::LAYOUT {
            let at = export_field(&bytes, index, name);
            for bit in 0..size * 8 {
                let mut forged = bytes.clone();
                forged[at.start + bit / 8] ^= 1 << (bit % 8);
                reseal_tables(&mut forged, &summary);
                if let Ok(package) = Package::parse(&forged, &Limits::default()) {
                    assert_ne!(package, whole);
                    accepted.insert(*name);
                }
            }
        }
    }
    // The checksum of data is compared when that is read; a compressed object's size is known then, too. Which copy it was at home,
    // only home knows. What has payloads may be marked, or not.
    let free = ["bulk_use", "checksum", "origin_index", "outer", "raw_size", "role"];
    assert_eq!(accepted.into_iter().collect::<Vec<_>>(), free);
}

#[test]
fn a_reference_of_any_export_is_to_what_comes_before() {
    let bytes = many();
    let summary = summary_of(&bytes);
    let package = verify(&bytes).unwrap();
    let refs = refs_at(&bytes);
    let mut before = None;
    for (index, export) in package.exports().iter().enumerate() {
        // A copy refers to copies only.
        let may = before.is_some_and(|before: crate::Export| before.is_forced() || !export.is_forced());
        before = Some(export.clone());
        for reference in export.first_ref..export.first_ref + export.ref_count {
            let at = refs + reference as usize * 4;
            let count = summary.export_count as i32;
            for (raw, right) in [
                (index as i32, may),
                (index as i32 + 1, false),
                (count, false),
                (count + 1, false),
                (i32::MAX, false),
                (0, false),
                (-1, true),
                (-2, false),
                (i32::MIN, false),
            ] {
                let mut forged = bytes.clone();
                forged[at..at + 4].copy_from_slice(&raw.to_le_bytes());
                reseal_tables(&mut forged, &summary);
                let opened = Package::parse(&forged, &Limits::default());
                assert_eq!(opened.is_ok(), right, "{raw} of export {index}: {opened:?}");
            }
        }
    }
}
