//! Every variant of every public error is produced. A new variant does not compile until it has a name here, and a name
//! without an error fails.

use super::*;
use std::collections::BTreeSet;
use std::fmt::Display;

/// Declares the names of an enum's variants, and which of them an error is.
macro_rules! variants {
    ($function:ident, $all:ident, $type:ident: $($variant:ident)+) => {
        const $all: &[&str] = &[$(stringify!($variant)),+];

        fn $function(error: &$type) -> &'static str {
            match error {
                $($type::$variant { .. } => stringify!($variant),)+
            }
        }
    };
}

variants!(package_error, PACKAGE_ERRORS, PackageError: BadMagic Truncated TrailingData Checksum UnsupportedVersion
    UnsupportedFlags StaleBulk Malformed Record Decompress Limit OutOfMemory NoSuchEntry OutsideBytes ExternalBulk WrongOrigin);
variants!(cursor_error, CURSOR_ERRORS, CursorError: End Utf8 Value Count Trailing);
variants!(write_error, WRITE_ERRORS, WriteError: BadName DuplicateObject IdCollision SchemaConflict ImportConflict SelfImport
    BadClass BadReference AfterForced SelfOrigin OriginConflict OriginIndexTwice BadBulk NoPayloads DuplicateVersions EmptyRole Unreadable);
variants!(version_mismatch, VERSION_MISMATCHES, VersionMismatch: Newer Diverged UnknownList);
variants!(version_list_error, VERSION_LIST_ERRORS, VersionListError: BadLabel BadEntry DuplicateEntry);

/// All names are there, and every text says what to do.
fn check<E: Display>(errors: &[E], name: fn(&E) -> &'static str, all: &[&str], mends: &[&str]) {
    let found: BTreeSet<&str> = errors.iter().map(name).collect();
    let all: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(found, all);
    for error in errors {
        let text = error.to_string();
        assert!(mends.iter().any(|mend| text.contains(mend)), "no mend: {text}");
    }
}

/// The golden package with a change, under right checksums.
fn forged(change: impl FnOnce(&mut Vec<u8>)) -> PackageError {
    let mut bytes = golden();
    let summary = summary_of(&bytes);
    change(&mut bytes);
    reseal_tables(&mut bytes, &summary);
    verify(&bytes).unwrap_err()
}

fn forged_export(index: usize, name: &'static str, value: u64) -> PackageError {
    forged(|bytes| put_export(bytes, index, name, value))
}

#[test]
fn every_package_error() {
    let bytes = golden();
    let package = verify(&bytes).unwrap();
    let mut damaged = bytes.clone();
    damaged[SUMMARY_SIZE] ^= 1;
    let mut longer = bytes.clone();
    longer.push(0);
    let summary = |name: &'static str, value| {
        let mut bytes = golden();
        put(&mut bytes, 0, Summary::LAYOUT, name, value);
        reseal_summary(&mut bytes);
        verify(&bytes).unwrap_err()
    };
    let limits = Limits {
        depth: 1,
        ..Limits::default()
    };
    let mut endless = package.bulk_location(D, 0).unwrap();
    endless.raw_size = u64::MAX;
    endless.codec = Codec::Lz4;
    let range = endless.range.start as usize..endless.range.end as usize;
    let stale = package.bulk_location(TREE, 0).unwrap();
    let errors = [
        verify(b"PNG").unwrap_err(),
        verify(&bytes[..99]).unwrap_err(),
        verify(&longer).unwrap_err(),
        verify(&damaged).unwrap_err(),
        summary("format_version", 1),
        summary("flags", 1),
        stale.unpack(&[0; 500]).unwrap_err(),
        forged_export(A, "name", 999),
        forged_export(A, "role", 0),
        forged_export(A, "raw_size", 199),
        Package::parse(&bytes, &limits).unwrap_err(),
        endless.unpack(&bytes[range]).unwrap_err(),
        package.export_data(99, &bytes, 0).unwrap_err(),
        package.export_data(A, &bytes, u64::MAX).unwrap_err(),
        package.bulk_data(TREE, 0, &bytes, 0).unwrap_err(),
        package.check_origin(TREE, 0, &package).unwrap_err(),
    ];
    let mends = [
        "cook",
        "raise",
        "lower",
        "use an index",
        "read it from",
        "read from",
        "give that",
    ];
    check(&errors, package_error, PACKAGE_ERRORS, &mends);
    let faults: BTreeSet<String> = errors.iter().map(|error| format!("{:?}", error.fault())).collect();
    let all = ["Caller", "File", "Limits", "Stale", "Version", "Writer"];
    assert!(faults.iter().eq(all), "{faults:?}");
}

#[test]
fn every_cursor_error() {
    let errors = [
        Cursor::new(&[1]).u32().unwrap_err(),
        Cursor::new(&[1, 0, 0, 0, 0xff]).str().unwrap_err(),
        Cursor::new(&[2]).bool().unwrap_err(),
        Cursor::new(&[9, 0, 0, 0]).count("things", 8, 0).unwrap_err(),
        Cursor::new(&[1]).finish().unwrap_err(),
    ];
    // They name the place; what to do says the error that they are the source of.
    check(&errors, cursor_error, CURSOR_ERRORS, &["at byte"]);
}

#[test]
fn every_write_error() {
    let mut writer = golden_writer();
    let point = writer.class(&schema("game::Point")).unwrap();
    let tree = writer.class(&schema("game::Tree")).unwrap();
    let trees = verify(&trees(COMPRESSED)).unwrap();
    let from = ForcedOrigin {
        package: "shared/trees.pkg",
        content_hash: trees.summary().content_hash,
        index: 3,
    };
    let own = ForcedOrigin {
        package: "levels/golden.pkg",
        ..from
    };
    let mut changed = schema("game::Point");
    changed.version += 1;
    let mut early = PackageWriter::new("a.pkg");
    let class = early.class(&schema("game::Tree")).unwrap();
    let new = || plain("New", class, b"");
    let external = NewExport {
        bulk: vec![NewBulk::External(trees.bulk(1).get(0).unwrap())],
        ..new()
    };
    let refs = NewExport {
        refs: vec![ObjectRef::NONE],
        ..new()
    };
    let nobody = NewExport {
        role: Role::NONE,
        ..new()
    };
    let marked = NewExport {
        bulk_use: PayloadUse::OnDemand,
        ..new()
    };
    let other_class = {
        let mut other = PackageWriter::new("b.pkg");
        other.class(&schema("game::A")).unwrap();
        other.class(&schema("game::B")).unwrap()
    };
    let mut deep = golden_writer();
    deep.set_limits(Limits {
        depth: 1,
        ..Limits::default()
    });
    let mut weak = PackageWriter::with_hash("a.pkg", |_, _| ObjectId(1));
    weak.import("b.pkg", "B", "t", Role::ALL).unwrap();
    let errors = [
        early.export(plain("", class, b"")).unwrap_err(),
        writer.forced(from, plain("Tree", tree, b"")).unwrap_err(),
        weak.import("c.pkg", "C", "t", Role::ALL).unwrap_err(),
        writer.class(&changed).unwrap_err(),
        writer
            .import("shared/trees.pkg", "Tree", "game::Bush", Role::ALL)
            .unwrap_err(),
        writer
            .import("levels/golden.pkg", "A", "game::Point", Role::ALL)
            .unwrap_err(),
        early.export(plain("New", other_class, b"")).unwrap_err(),
        early.export(refs).unwrap_err(),
        writer.export(plain("New", point, b"")).unwrap_err(),
        writer.forced(own, plain("New", tree, b"")).unwrap_err(),
        writer
            .forced(
                ForcedOrigin {
                    content_hash: 1,
                    ..from
                },
                plain("New", tree, b""),
            )
            .unwrap_err(),
        writer
            .forced(ForcedOrigin { index: 1, ..from }, plain("New", tree, b""))
            .unwrap_err(),
        early.export(external).unwrap_err(),
        early.export(marked).unwrap_err(),
        writer.versions(&golden_versions()).unwrap_err(),
        early.export(nobody).unwrap_err(),
        deep.finish().unwrap_err(),
    ];
    let mends = [
        "give",
        "rename",
        "register",
        "has one type",
        "refer to",
        "call",
        "add",
        "use",
        "copy from one",
        "raise",
    ];
    check(&errors, write_error, WRITE_ERRORS, &mends);
}

#[test]
fn every_version_mismatch() {
    let game = |entries: &[&str]| versions(VersionId::GAME, "game", entries);
    let mut writer = PackageWriter::new("a.pkg");
    writer.versions(&[game(&["a", "b"])]).unwrap();
    let package = verify(&writer.finish().unwrap()).unwrap();
    let errors = [
        check_all(&package, &[game(&["a"])]).unwrap_err(),
        check_all(&package, &[game(&["b"])]).unwrap_err(),
        check_all(&package, &[]).unwrap_err(),
    ];
    let mends = ["newer build", "put the build's entries back", "add the plugin"];
    check(&errors, version_mismatch, VERSION_MISMATCHES, &mends);
}

#[test]
fn every_version_list_error() {
    let list = |label: &str, entries: &[&str]| {
        let entries = entries.iter().copied();
        VersionList::new(VersionId::GAME, label, entries).unwrap_err()
    };
    let errors = [
        list("", &["a"]),
        list("a\0b", &["a"]),
        list("game", &["a", ""]),
        list("game", &["a\0"]),
        list("game", &["a", "b", "a"]),
    ];
    check(&errors, version_list_error, VERSION_LIST_ERRORS, &["give", "rename"]);
    let duplicate = VersionListError::DuplicateEntry {
        label: "game".to_owned(),
        name: "a".to_owned(),
        first: 0,
        second: 2,
    };
    assert_eq!(errors[4], duplicate);
}
