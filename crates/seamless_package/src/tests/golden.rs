//! Packages of every released format version, kept for ever: they stay readable, and say what they said.

use super::*;
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/golden");
    PathBuf::from(folder).join(name)
}

fn kept(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|error| panic!("the golden file {name} is kept: {error}"))
}

/// The package as this version writes it, without compression and with it, and the one that it copies from; and with compressed
/// classes.
fn files() -> [(&'static str, Vec<u8>); 6] {
    let golden = |codecs| golden_writer_with(codecs).finish().unwrap();
    [
        ("format-6.pkg", golden(PLAIN)),
        ("format-6-trees.pkg", trees(PLAIN)),
        ("format-6-compressed.pkg", golden(COMPRESSED)),
        ("format-6-compressed-trees.pkg", trees(COMPRESSED)),
        ("format-6-lz4-classes.pkg", golden_with_classes(Codec::Lz4)),
        ("format-6-zstd-classes.pkg", golden_with_classes(Codec::Zstd)),
    ]
}

/// Once per format version: `cargo test -p seamless_package write_golden -- --ignored`. It replaces nothing.
#[test]
#[ignore = "writes the golden files of a new format version"]
fn write_golden_files() {
    std::fs::create_dir_all(path("")).unwrap();
    for (name, bytes) in files() {
        if !path(name).exists() {
            std::fs::write(path(name), bytes).unwrap();
        }
    }
}

/// What is in the golden package of every format version so far, in words that do not come from the writer.
fn check_golden(version: u32, bytes: &[u8], trees: &[u8]) {
    let package = verify(bytes).unwrap();
    assert_eq!(package.summary().format_version, version);
    assert_eq!(package.name(), "levels/golden.pkg");
    let data = |name: &str| {
        let index = package.find_name(name).unwrap_or_else(|| panic!("there is no {name}"));
        package.export_data(index, bytes, 0).unwrap().into_owned()
    };
    assert_eq!(data("A"), [5; 200]);
    assert_eq!(data("B/ü"), b"hello");
    assert_eq!(data("C"), b"");
    assert_eq!(data("D"), [4; 100]);
    assert_eq!(*package.bulk_data(A, 0, bytes, 0).unwrap(), [7; 300]);
    assert_eq!(*package.bulk_data(D, 0, bytes, 0).unwrap(), [3; 400]);
    let a = ObjectRef::export(A).unwrap();
    let tree = ObjectRef::import(0).unwrap();
    assert_eq!(package.refs(B).to_vec(), [a, tree]);
    assert_eq!(package.exports().get(B).unwrap().outer, a);
    assert_eq!(package.exports().get(B).unwrap().role, Role::SERVER | Role::EDITOR);
    let class = package.class_of(TREE).unwrap();
    assert_eq!((class.type_path.as_str(), class.immutable), ("game::Tree", true));
    assert_eq!(
        (class.encoding, class.version, class.hash),
        (1, 3, 0x1234_5678_9abc_def0)
    );
    assert!(!package.class_of(A).unwrap().immutable);
    assert_eq!(package.forced_for_import(0), Some(TREE));
    assert_eq!(package.forced_for_import(1), None);
    let leaf = package.find(ObjectId::new("shared/trees.pkg", "Leaf")).unwrap();
    let origin = package.origin_of(leaf).unwrap();
    assert_eq!((origin.package, origin.index), ("shared/trees.pkg", 2));
    let lists: Vec<_> = package
        .version_lists()
        .map(|list| (list.label(), list.entries().collect::<Vec<_>>()))
        .collect();
    let expected = [
        ("engine", vec!["packages"]),
        ("game", vec!["doors have keys", "keys have colors"]),
        ("weather", vec![]),
    ];
    assert_eq!(lists, expected);
    // Marks came with version 6; before, there were none.
    let marked = |package: &Package| {
        let exports = package.exports().iter().enumerate();
        let marked = exports.filter(|(_, export)| export.bulk_use.is_marked());
        marked.map(|(index, _)| index).collect::<Vec<_>>()
    };
    let has_marks = version >= 6;
    assert_eq!(marked(&package), if has_marks { vec![A, TREE] } else { vec![] });
    let other = verify(trees).unwrap();
    assert_eq!(marked(&other), if has_marks { vec![1] } else { vec![] });
    package.check_origin(TREE, 0, &other).unwrap();
    let location = package.bulk_location(TREE, 0).unwrap();
    let stored = &trees[location.range.start as usize..location.range.end as usize];
    assert_eq!(*location.unpack(stored).unwrap(), [9; 500]);
}

#[test]
fn every_format_version_stays_readable() {
    for version in 2..=FORMAT_VERSION {
        let file = |name: &str| kept(&format!("format-{version}{name}.pkg"));
        check_golden(version, &file(""), &file("-trees"));
        let compressed = file("-compressed");
        check_golden(version, &compressed, &file("-compressed-trees"));
        let package = verify(&compressed).unwrap();
        assert_eq!(package.exports().get(A).unwrap().codec, Codec::Lz4);
        assert_eq!(package.exports().get(D).unwrap().codec, Codec::Zstd);
    }
}

#[test]
fn compressed_classes_stay_readable() {
    for version in 5..=FORMAT_VERSION {
        let trees = kept(&format!("format-{version}-compressed-trees.pkg"));
        for (name, codec) in [("lz4", Codec::Lz4), ("zstd", Codec::Zstd)] {
            let bytes = kept(&format!("format-{version}-{name}-classes.pkg"));
            check_golden(version, &bytes, &trees);
            let package = verify(&bytes).unwrap();
            assert_eq!(package.exports().get(POINT).unwrap().codec, codec);
        }
    }
}

/// A file of format version 2 has no order of the ids, and is no less strict for it.
#[test]
fn an_old_package_finds_its_objects_and_has_each_once() {
    let bytes = kept("format-2.pkg");
    let package = verify(&bytes).unwrap();
    for (index, export) in package.exports().iter().enumerate() {
        assert_eq!(package.find(export.object_id), Some(index));
    }
    for (index, import) in package.imports().iter().enumerate() {
        assert_eq!(package.find_import(import.object_id), Some(index));
    }
    // Its export table is in rows.
    let summary = summary_of(&bytes);
    let row = |index: usize| summary.exports_offset as usize + index * Export::SIZE;
    let mut forged = bytes.clone();
    forged.copy_within(row(A)..row(A) + ObjectId::SIZE + NameIndex::SIZE, row(B));
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(text.contains("has the same object id"), "{text}");
    // What an error says of a byte is so in the file.
    let mut forged = bytes.clone();
    put(&mut forged, row(B), Export::LAYOUT, "role", 0);
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(
        text.contains("export table") && text.contains("0 at byte 260 is no role"),
        "{text}"
    );
}

/// Nobody could mark anything before version 6, whoever claims it.
#[test]
fn an_old_package_marks_nothing() {
    for version in 2..6 {
        let mut forged = kept(&format!("format-{version}.pkg"));
        let summary = summary_of(&forged);
        match version {
            2 | 3 => {
                let row = summary.exports_offset as usize + A * Export::SIZE;
                put(&mut forged, row, Export::LAYOUT, "bulk_use", 1);
            }
            _ => put_export(&mut forged, A, "bulk_use", 1),
        }
        reseal_tables(&mut forged, &summary);
        let text = verify(&forged).unwrap_err().to_string();
        assert!(
            text.contains("of an older format version is marked"),
            "{version}: {text}"
        );
    }
}

/// Compressed bytes change with the compressors' versions, the format does not; so only the plain files are compared.
#[test]
fn the_writer_still_writes_the_same_bytes() {
    for (name, bytes) in &files()[..2] {
        assert!(
            *bytes == kept(name),
            "The bytes of {name} have changed. If that was meant: raise FORMAT_VERSION, keep the old golden files and their \
             test, add new ones, and bring docs/FORMAT.md up to date."
        );
    }
}
