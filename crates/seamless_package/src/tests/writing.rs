//! The writer: what it refuses, and that its bytes stay the same.

use super::*;

#[test]
fn classes_and_imports_are_stored_once() {
    let mut writer = golden_writer();
    let again = writer.class(&schema("game::Point")).unwrap();
    assert_eq!(again.index(), POINT);
    let tree = writer.import("shared/trees.pkg", "Tree", "game::Tree", Role::SERVER);
    assert_eq!(tree.unwrap(), ObjectRef::import(0).unwrap());
    let package = verify(&writer.finish().unwrap()).unwrap();
    assert_eq!((package.exports().len(), package.imports().len()), (9, 2));
    assert_eq!(package.imports().get(0).unwrap().role, Role::CLIENT | Role::SERVER);
}

#[test]
fn contradictions_are_refused() {
    let mut writer = golden_writer();
    let mut changed = schema("game::Point");
    changed.version += 1;
    let error = writer.class(&changed).unwrap_err();
    let type_path = "game::Point".to_owned();
    assert_eq!(error, WriteError::SchemaConflict { type_path });
    let error = writer.import("shared/trees.pkg", "Tree", "game::Bush", Role::ALL);
    assert!(matches!(error, Err(WriteError::ImportConflict { .. })));
    let error = writer.import("levels/golden.pkg", "A", "game::Point", Role::ALL);
    assert!(matches!(error, Err(WriteError::SelfImport { .. })));
    let error = writer.import("x.pkg", "X", "game::X", Role::NONE);
    assert!(matches!(error, Err(WriteError::EmptyRole { .. })));
    // What was refused has left no trace.
    assert_eq!(writer.finish().unwrap(), golden());
}

#[test]
fn bad_objects_are_refused_and_leave_no_trace() {
    let mut writer = golden_writer();
    let class = writer.class(&schema("game::Point")).unwrap();
    let later = ObjectRef::export(9).unwrap();
    let forced = ObjectRef::export(TREE).unwrap();
    let class_ref = ObjectRef::export(POINT).unwrap();
    let import = ObjectRef::import(0).unwrap();
    let missing = ObjectRef::import(2).unwrap();
    let new = || plain("New", class, b"");
    let outer = |outer| NewExport { outer, ..new() };
    let refs = |reference| NewExport {
        refs: vec![reference],
        ..new()
    };
    let other = {
        let mut other = PackageWriter::new("other.pkg");
        let names = (0..10).map(|at| format!("game::T{at}"));
        names.map(|name| other.class(&schema(&name)).unwrap()).last().unwrap()
    };
    let role = NewExport {
        role: Role::NONE,
        ..new()
    };
    let marked = NewExport {
        bulk_use: PayloadUse::OnDemand,
        ..new()
    };
    let cases = [
        (plain("A", class, b""), "two objects are named `A`"),
        (plain("", class, b""), "is empty"),
        (plain("a\0b", class, b""), "NUL"),
        (plain("New", other, b""), "class that is not of this writer"),
        (outer(later), "refers to export 9, which was not added"),
        (outer(class_ref), "but a class has no parts"),
        (outer(import), "but an outer is an export"),
        (refs(later), "refers to export 9, which was not added"),
        (refs(missing), "refers to import 2, which was not added"),
        (refs(ObjectRef::NONE), "refers to nothing"),
        (role, "has no role"),
        (marked, "has no bulk payloads that could be read on demand"),
        (outer(forced), "an object of the same package"),
        (new(), "follows a forced export"),
    ];
    for (object, expected) in cases {
        let error = writer.export(object).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(writer.finish().unwrap(), golden());
}

#[test]
fn names_are_checked() {
    let error = PackageWriter::new("").finish().unwrap_err();
    assert!(matches!(error, WriteError::BadName { .. }), "{error}");
    let mut writer = PackageWriter::new("a.pkg");
    let error = writer.class(&schema("")).unwrap_err();
    assert!(matches!(error, WriteError::BadName { .. }), "{error}");
    for (package, object, type_path) in [("", "o", "t"), ("p", "", "t"), ("p", "o", "")] {
        let error = writer.import(package, object, type_path, Role::ALL);
        assert!(matches!(error, Err(WriteError::BadName { .. })));
    }
}

/// Names that start alike collide.
fn weak(_: &str, object: &str) -> ObjectId {
    ObjectId(u64::from(object.as_bytes()[0]))
}

#[test]
fn colliding_ids_are_refused_with_both_names() {
    let mut writer = PackageWriter::with_hash("a.pkg", weak);
    let class = writer.class(&schema("game::Point")).unwrap();
    writer.export(plain("tree", class, b"")).unwrap();
    let collision = |first: &str, second: &str| WriteError::IdCollision {
        id: ObjectId(u64::from(b't')),
        first: first.to_owned(),
        second: second.to_owned(),
    };
    let error = writer.export(plain("trunk", class, b"")).unwrap_err();
    assert_eq!(error, collision("a.pkg#tree", "a.pkg#trunk"));
    let error = writer.export(plain("tree", class, b"")).unwrap_err();
    assert!(matches!(error, WriteError::DuplicateObject { .. }));
    let error = writer.import("b.pkg", "twig", "game::Twig", Role::ALL);
    assert_eq!(error, Err(collision("a.pkg#tree", "b.pkg#twig")));
    let first = writer.import("b.pkg", "leaf", "game::Leaf", Role::ALL);
    assert!(first.is_ok());
    let error = writer.import("c.pkg", "leaf", "game::Leaf", Role::ALL);
    let id = ObjectId(u64::from(b'l'));
    let (first, second) = ("b.pkg#leaf".to_owned(), "c.pkg#leaf".to_owned());
    assert_eq!(error, Err(WriteError::IdCollision { id, first, second }));
}

#[test]
fn data_is_compressed_only_where_it_pays() {
    let mut writer = PackageWriter::new("a.pkg");
    let class = writer.class(&schema("game::Point")).unwrap();
    let noise: Vec<u8> = (0_u64..64)
        .flat_map(|at| xxh3_64(&at.to_le_bytes()).to_le_bytes())
        .collect();
    let mostly: Vec<u8> = [&noise[..], &[0; 40]].concat();
    writer.export(plain("noise", class, &noise)).unwrap();
    writer.export(plain("mostly", class, &mostly)).unwrap();
    writer.export(plain("zeros", class, &[0; 512])).unwrap();
    let as_zstd = |name, data| NewExport {
        codec: Codec::Zstd,
        ..plain(name, class, data)
    };
    let stored = NewExport {
        codec: Codec::None,
        ..plain("stored", class, &[0; 512])
    };
    writer.export(stored).unwrap();
    writer.export(as_zstd("noise as zstd", &noise)).unwrap();
    writer.export(as_zstd("mostly as zstd", &mostly)).unwrap();
    writer.export(as_zstd("zeros as zstd", &[0; 512])).unwrap();
    let with_payloads = NewExport {
        bulk: vec![noise.clone().into(), vec![0; 512].into()],
        ..plain("payloads", class, &noise)
    };
    writer.export(with_payloads).unwrap();
    let package = verify(&writer.finish().unwrap()).unwrap();
    let payloads: Vec<Codec> = package.bulk(8).iter().map(|payload| payload.codec).collect();
    assert_eq!(payloads, [Codec::None, Codec::Lz4], "each payload for itself");
    let codecs: Vec<Codec> = package.exports().iter().map(|export| export.codec).collect();
    let (none, lz4, zstd) = (Codec::None, Codec::Lz4, Codec::Zstd);
    assert_eq!(codecs, [none, none, none, lz4, none, none, none, zstd, none]);
}

#[test]
fn an_empty_package_is_a_package() {
    let bytes = PackageWriter::new("empty.pkg").finish().unwrap();
    let package = verify(&bytes).unwrap();
    assert_eq!(package.name(), "empty.pkg");
    assert_eq!(package.summary().header_len(), bytes.len() as u64);
    assert!(package.exports().is_empty() && package.imports().is_empty());
}

#[test]
fn equal_content_hashes_mean_equal_indices() {
    let same = summary_of(&golden()).content_hash;
    assert_eq!(summary_of(&golden()).content_hash, same);
    let mut writer = golden_writer();
    let list = versions(VersionId(*b"another list too"), "another", &[]);
    writer.versions(&[list]).unwrap();
    assert_ne!(summary_of(&writer.finish().unwrap()).content_hash, same);
}
