//! Tests of the format: a small golden package, and the means to damage and to forge it.

mod classes;
mod codec;
mod copies;
mod damage;
mod errors;
mod forced;
mod forged;
mod format_doc;
mod golden;
mod limits;
mod memory;
mod round_trip;
#[path = "../tests/replay/bodies/seal.rs"]
mod seal;
mod versions;
mod writing;

use super::*;
use crate::summary::CHECKSUM_RANGE;
use crate::table::order_of;
use crate::tables::Wire;
use crate::versions::VersionRecord;
use seal::{reseal_summary, reseal_tables};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

fn schema(type_path: &str) -> Schema {
    Schema {
        type_path: type_path.to_owned(),
        encoding: 1,
        immutable: type_path == "game::Tree",
        version: 3,
        hash: 0x1234_5678_9abc_def0,
        description: "x: f32".to_owned(),
    }
}

fn plain<'a>(name: &'a str, class: ClassIndex, data: &[u8]) -> NewExport<'a> {
    NewExport {
        name,
        class,
        outer: ObjectRef::NONE,
        role: Role::ALL,
        data: data.to_vec().into(),
        refs: Vec::new(),
        bulk: Vec::new(),
        bulk_use: PayloadUse::WithObject,
        codec: Codec::Lz4,
    }
}

/// Indices of the golden package's exports: a class, two objects with an object of another class between, then a class and
/// an object in Zstandard frames, and two copies of objects of [`trees`].
const POINT: usize = 0;
const A: usize = 1;
const OTHER: usize = 2;
const B: usize = 3;
const C: usize = 4;
const TREE_CLASS: usize = 5;
const D: usize = 6;
const TREE: usize = 7;
const LEAF: usize = 8;

/// Indices of the golden package's bulk table: two of A, one each of C and D, two of the tree. The one that is external, and
/// the last.
const EXTERNAL: usize = 4;
const LAST_BULK: usize = 5;

/// Which codecs the golden package asks for, in place of LZ4 and Zstandard.
#[derive(Clone, Copy)]
struct Codecs(Codec, Codec);

const COMPRESSED: Codecs = Codecs(Codec::Lz4, Codec::Zstd);
const PLAIN: Codecs = Codecs(Codec::None, Codec::None);

/// The package that the golden one copies from.
fn trees(codecs: Codecs) -> Vec<u8> {
    let mut writer = PackageWriter::new("shared/trees.pkg");
    let class = writer.class(&schema("game::Tree")).unwrap();
    let tree = NewExport {
        bulk: vec![vec![9; 500].into(), b"bark".to_vec().into()],
        bulk_use: PayloadUse::OnDemand,
        codec: codecs.1,
        ..plain("Tree", class, b"oak")
    };
    let tree = writer.export(tree).unwrap();
    let leaf = NewExport {
        outer: tree,
        refs: vec![tree],
        ..plain("Leaf", class, b"green")
    };
    writer.export(leaf).unwrap();
    writer.finish().unwrap()
}

fn versions(id: VersionId, label: &str, entries: &[&str]) -> VersionList {
    VersionList::new(id, label, entries.iter().copied()).unwrap()
}

/// A list that belongs to neither engine nor game.
const WEATHER: VersionId = VersionId(*b"weather weather!");

fn golden_versions() -> [VersionList; 3] {
    [
        versions(WEATHER, "weather", &[]),
        versions(VersionId::GAME, "game", &["doors have keys", "keys have colors"]),
        versions(VersionId::ENGINE, "engine", &["packages"]),
    ]
}

/// A package with at least one of everything.
fn golden_writer() -> PackageWriter {
    golden_writer_with(COMPRESSED)
}

fn golden_writer_with(codecs: Codecs) -> PackageWriter {
    let Codecs(lz4, zstd) = codecs;
    let mut writer = PackageWriter::new("levels/golden.pkg");
    let point = writer.class(&schema("game::Point")).unwrap();
    let tree = writer
        .import("shared/trees.pkg", "Tree", "game::Tree", Role::CLIENT)
        .unwrap();
    let rock = writer
        .import("shared/rocks.pkg", "Rock", "game::Rock", Role::ALL)
        .unwrap();
    let a = NewExport {
        refs: vec![tree, rock],
        bulk: vec![vec![7; 300].into(), b"noise".to_vec().into()],
        bulk_use: PayloadUse::OnDemand,
        codec: lz4,
        ..plain("A", point, &[5; 200])
    };
    let a = writer.export(a).unwrap();
    let other = writer.class(&schema("game::Other")).unwrap();
    let b = NewExport {
        outer: a,
        refs: vec![a, tree],
        role: Role::SERVER | Role::EDITOR,
        ..plain("B/ü", other, b"hello")
    };
    let b = writer.export(b).unwrap();
    let c = NewExport {
        outer: b,
        bulk: vec![b"c".to_vec().into()],
        codec: Codec::None,
        ..plain("C", point, b"")
    };
    writer.export(c).unwrap();
    let class = writer.class(&schema("game::Tree")).unwrap();
    let d = NewExport {
        bulk: vec![vec![3; 400].into()],
        codec: zstd,
        ..plain("D", point, &[4; 100])
    };
    writer.export(d).unwrap();
    force_trees(&mut writer, class, rock, codecs);
    writer.versions(&golden_versions()).unwrap();
    writer
}

fn force_trees(writer: &mut PackageWriter, class: ClassIndex, rock: ObjectRef, codecs: Codecs) {
    let trees = verify(&trees(codecs)).unwrap();
    let from = |index| ForcedOrigin {
        package: "shared/trees.pkg",
        content_hash: trees.summary().content_hash,
        index,
    };
    let tree = NewExport {
        refs: vec![rock, ObjectRef::export(TREE_CLASS).unwrap()],
        bulk: vec![
            NewBulk::External(trees.bulk(1).get(0).unwrap()),
            b"bark".to_vec().into(),
        ],
        bulk_use: PayloadUse::OnDemand,
        ..plain("Tree", class, b"oak")
    };
    let tree = writer.forced(from(1), tree).unwrap();
    let leaf = NewExport {
        outer: tree,
        refs: vec![tree],
        ..plain("Leaf", class, b"green")
    };
    writer.forced(from(2), leaf).unwrap();
}

fn golden() -> Vec<u8> {
    golden_writer().finish().unwrap()
}

/// The same with compressed classes.
fn golden_with_classes(codec: Codec) -> Vec<u8> {
    let mut writer = golden_writer();
    writer.class_codec(codec);
    writer.finish().unwrap()
}

/// Every limit lifted, so that nothing but the bytes really there is in the way.
fn no_limits() -> Limits {
    Limits {
        file_bytes: u64::MAX,
        header_bytes: u64::MAX,
        names: u32::MAX,
        name_bytes: u32::MAX,
        imports: u32::MAX,
        origins: u32::MAX,
        exports: u32::MAX,
        refs: u32::MAX,
        bulk: u32::MAX,
        version_lists: u32::MAX,
        version_entries: u32::MAX,
        raw_bytes_per_object: u64::MAX,
        total_raw_bytes: u64::MAX,
        depth: u32::MAX,
    }
}

fn verify(bytes: &[u8]) -> Result<Package, PackageError> {
    Package::verify_whole(bytes, &Limits::default())
}

fn summary_of(bytes: &[u8]) -> Summary {
    Summary::parse(bytes, &Limits::default()).unwrap()
}

/// Offset and size of a field in its record.
fn field(layout: &[(&str, usize)], name: &str) -> (usize, usize) {
    let at = layout.iter().position(|(field, _)| *field == name);
    let at = at.unwrap_or_else(|| panic!("there is no field {name}"));
    let offset = layout[..at].iter().map(|(_, size)| size).sum();
    (offset, layout[at].1)
}

/// Overwrites a field of the record at `base` with the low bytes of `value`.
fn put(bytes: &mut [u8], base: usize, layout: &[(&str, usize)], name: &str, value: u64) {
    let (offset, size) = field(layout, name);
    put_number(&mut bytes[base + offset..][..size], value);
}

fn put_number(bytes: &mut [u8], value: u64) {
    let len = bytes.len();
    bytes.copy_from_slice(&u128::from(value).to_le_bytes()[..len]);
}

/// Where a field of an export is: the export table is in columns.
fn export_field(bytes: &[u8], index: usize, name: &str) -> Range<usize> {
    let summary = summary_of(bytes);
    let (offset, size) = field(Export::LAYOUT, name);
    let column = summary.exports_offset as usize + summary.export_count as usize * offset;
    column + index * size..column + (index + 1) * size
}

/// Overwrites a field of an export.
fn put_export(bytes: &mut [u8], index: usize, name: &str, value: u64) {
    let field = export_field(bytes, index, name);
    put_number(&mut bytes[field], value);
}

/// Gives an export the id and the name of another one.
fn copy_identity(bytes: &mut [u8], from: usize, to: usize) {
    for name in ["object_id", "name"] {
        let (from, to) = (export_field(bytes, from, name), export_field(bytes, to, name));
        bytes.copy_within(from, to.start);
    }
}

/// Offset of an import's entry.
fn import_at(bytes: &[u8], index: usize) -> usize {
    summary_of(bytes).imports_offset as usize + index * Import::SIZE
}

/// Offset of an entry of the origin table.
fn origin_at(bytes: &[u8], index: usize) -> usize {
    summary_of(bytes).origins_offset as usize + index * Origin::SIZE
}

/// Offset of an entry of the version table.
fn version_at(bytes: &[u8], index: usize) -> usize {
    summary_of(bytes).versions_offset as usize + index * VersionRecord::SIZE
}

/// Offset of the references.
fn refs_at(bytes: &[u8]) -> usize {
    summary_of(bytes).refs_offset() as usize
}

/// Offset of an entry of the bulk table.
fn bulk_at(bytes: &[u8], index: usize) -> usize {
    refs_at(bytes) + summary_of(bytes).ref_count as usize * 4 + index * Bulk::SIZE
}

#[test]
fn packages_are_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Package>();
    shared::<PackageError>();
    shared::<WriteError>();
}

#[test]
fn the_golden_package_reads_back() {
    let bytes = golden();
    let package = verify(&bytes).unwrap();
    assert_eq!(package.name(), "levels/golden.pkg");
    assert_eq!(package.summary().file_len(), bytes.len() as u64);
    let names: Vec<_> = (0..9).map(|at| package.export_name(at).unwrap()).collect();
    let expected = [
        "class:game::Point",
        "A",
        "class:game::Other",
        "B/ü",
        "C",
        "class:game::Tree",
        "D",
        "Tree",
        "Leaf",
    ];
    assert_eq!(names, expected);
    assert_eq!(package.class_of(B), Some(&schema("game::Other")));
    assert_eq!(package.class_of(C), Some(&schema("game::Point")));
    assert_eq!(package.class_of(POINT), None);
    assert_eq!(package.schema(POINT), Some(&schema("game::Point")));
    assert_eq!(package.schema(A), None);
    assert_eq!(package.schemas().len(), 3);
    assert!(package.class_of(TREE).unwrap().immutable && !package.class_of(A).unwrap().immutable);
    assert_eq!(package.exports().get(A).unwrap().codec, Codec::Lz4);
    assert_eq!(package.exports().get(B).unwrap().codec, Codec::None);
    assert_eq!(package.exports().get(D).unwrap().codec, Codec::Zstd);
    assert_eq!(package.bulk(D).get(0).unwrap().codec, Codec::Zstd);
    assert_eq!(package.exports().get(C).unwrap().outer, ObjectRef::export(B).unwrap());
    assert_eq!(package.exports().get(B).unwrap().role, Role::SERVER | Role::EDITOR);
    assert_eq!(*package.export_data(A, &bytes, 0).unwrap(), [5; 200]);
    assert_eq!(*package.export_data(B, &bytes, 0).unwrap(), *b"hello");
    assert_eq!(*package.export_data(C, &bytes, 0).unwrap(), *b"");
    assert_eq!(*package.bulk_data(A, 0, &bytes, 0).unwrap(), [7; 300]);
    assert_eq!(*package.bulk_data(A, 1, &bytes, 0).unwrap(), *b"noise");
    assert_eq!(*package.bulk_data(C, 0, &bytes, 0).unwrap(), *b"c");
    assert_eq!(*package.export_data(D, &bytes, 0).unwrap(), [4; 100]);
    assert_eq!(*package.bulk_data(D, 0, &bytes, 0).unwrap(), [3; 400]);
    assert_eq!(*package.export_data(TREE, &bytes, 0).unwrap(), *b"oak");
    assert_eq!(*package.bulk_data(TREE, 1, &bytes, 0).unwrap(), *b"bark");
    let tree = ObjectRef::import(0).unwrap();
    assert_eq!(package.refs(B).to_vec(), [ObjectRef::export(A).unwrap(), tree]);
    assert_eq!(package.import_name(1), Some("Rock"));
    assert_eq!(package.import_package(1), Some("shared/rocks.pkg"));
    assert_eq!(package.import_type(1), Some("game::Rock"));
}

#[test]
fn objects_are_found_by_id_and_by_name() {
    let package = verify(&golden()).unwrap();
    for (index, export) in package.exports().iter().enumerate() {
        assert_eq!(package.find(export.object_id), Some(index));
        let name = package.export_name(index).unwrap();
        let origin = package.origin_of(index).map(|origin| origin.package);
        let home = origin.unwrap_or(package.name());
        assert_eq!(ObjectId::new(home, name), export.object_id);
        assert_eq!(package.find_name(name), origin.is_none().then_some(index));
    }
    let rock = ObjectId::new("shared/rocks.pkg", "Rock");
    assert_eq!(package.find_import(rock), Some(1));
    assert_eq!(package.find(rock), None);
    assert_eq!(package.find_name("Rock"), None);
}

#[test]
fn the_header_is_enough_to_open_and_the_tail_is_enough_to_read() {
    let bytes = golden();
    let header = summary_of(&bytes).header_len();
    let (head, tail) = bytes.split_at(header as usize);
    let package = Package::parse(head, &Limits::default()).unwrap();
    assert_eq!(package, verify(&bytes).unwrap());
    assert_eq!(*package.export_data(B, tail, header).unwrap(), *b"hello");
    assert_eq!(*package.bulk_data(A, 0, tail, header).unwrap(), [7; 300]);
    let class = package.export_data(OTHER, tail, header).unwrap_err();
    assert!(matches!(class, PackageError::OutsideBytes { .. }));
    let short = &tail[..tail.len() - 1];
    let last = package.bulk_data(TREE, 1, short, header).unwrap_err();
    assert!(matches!(last, PackageError::Truncated { .. }));
}

#[test]
fn the_caller_may_ask_for_what_is_not_there() {
    let bytes = golden();
    let package = verify(&bytes).unwrap();
    let errors = [
        package.export_data(9, &bytes, 0).unwrap_err(),
        package.bulk_data(9, 0, &bytes, 0).unwrap_err(),
        package.check_origin(9, 0, &package).unwrap_err(),
        package.bulk_data(TREE, 0, &bytes, 0).unwrap_err(),
        package.bulk_data(A, 2, &bytes, 0).unwrap_err(),
        package.export_data(A, &bytes, u64::MAX).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.fault(), Fault::Caller, "{error}");
    }
    assert_eq!(package.export_range(9), None);
    assert_eq!(package.bulk_location(A, 2), None);
    assert_eq!(package.origin_of(9), None);
    assert_eq!(package.forced_for_import(2), None);
    assert_eq!(package.name_of(NameIndex(1000)), None);
    assert!(package.refs(9).is_empty() && package.bulk(9).is_empty());
}

#[test]
fn a_table_is_read_from_both_ends() {
    let package = verify(&golden()).unwrap();
    let exports = package.exports();
    assert_eq!((exports.len(), exports.iter().len(), exports.is_empty()), (9, 9, false));
    let all = exports.to_vec();
    let mut backwards: Vec<_> = exports.iter().rev().collect();
    backwards.reverse();
    assert_eq!(backwards, all);
    assert_eq!(exports.get(LEAF).as_ref(), all.last());
    assert_eq!(exports.get(LEAF + 1), None);
    assert_eq!(exports.into_iter().count(), 9);
    assert_eq!(exports, package.exports());
    assert_ne!(package.refs(B), package.refs(TREE));
    assert_eq!(
        format!("{:?}", package.refs(B)),
        format!("{:?}", package.refs(B).to_vec())
    );
    assert!(package.refs(POINT).is_empty());
}

#[test]
fn bytes_that_are_given_away_are_not_copied() {
    let bytes = golden();
    let header = bytes[..summary_of(&bytes).header_len() as usize].to_vec();
    let given = header.clone();
    let copied = allocation_counter::measure(|| drop(Package::parse(&header, &Limits::default()).unwrap()));
    let kept = allocation_counter::measure(|| drop(Package::parse(given, &Limits::default()).unwrap()));
    assert_eq!(
        copied.bytes_total - kept.bytes_total,
        header.len() as u64,
        "the copy alone"
    );
    assert_eq!(Package::parse(bytes.clone(), &Limits::default()), verify(&bytes));
}

#[test]
fn references_are_numbered_as_documented() {
    assert_eq!(ObjectRef::export(0).unwrap().raw(), 1);
    assert_eq!(ObjectRef::import(0).unwrap().raw(), -1);
    assert_eq!(ObjectRef::export(i32::MAX as usize), None);
    let last = ObjectRef::import(i32::MAX as usize - 1).unwrap();
    assert_eq!(last.target(), RefTarget::Import(i32::MAX as usize - 1));
    let lowest = ObjectRef::from_raw(i32::MIN).target();
    assert_eq!(lowest, RefTarget::Import(i32::MAX as usize));
    assert_eq!(ObjectRef::default().target(), RefTarget::None);
}

#[test]
fn roles_are_sets() {
    let role = Role::CLIENT | Role::EDITOR;
    assert!(role.contains(Role::EDITOR) && !role.contains(Role::ALL));
    assert!(role.intersects(Role::ALL) && !role.intersects(Role::SERVER));
    assert_eq!(Role::from_bits(8), None);
    assert_eq!(Role::from_bits(7), Some(Role::ALL));
    assert_eq!(role.to_string(), "client+editor");
}
