//! Packages that no cooker would write.

use bevy::prelude::*;
use seamless_asset::codec::{Encoding, schema};
use seamless_asset::level_data::{LEVEL_EXPORT, LevelBuilder, level_schema};
use seamless_asset::{STARTUP_EXPORT, StartupIndex};
use seamless_package::{
    Codec, ForcedOrigin, NewExport, ObjectId, ObjectRef, PackageWriter, PayloadUse, Role, Schema, VersionId,
    VersionList,
};

use super::*;
use crate::inspect;

fn tree() -> Schema {
    schema("game::Tree", Encoding::Asset, 1, "codec")
}

/// A package, as it is written by hand.
fn package(name: &str, write: impl FnOnce(&mut PackageWriter)) -> Vec<u8> {
    let mut writer = PackageWriter::new(name);
    write(&mut writer);
    writer.finish().unwrap()
}

fn object<'a>(writer: &mut PackageWriter, name: &'a str, class: &Schema, role: Role, data: &[u8]) -> NewExport<'a> {
    NewExport {
        name,
        class: writer.class(class).unwrap(),
        outer: ObjectRef::NONE,
        role,
        data: data.to_vec().into(),
        refs: Vec::new(),
        bulk: Vec::new(),
        bulk_use: Default::default(),
        codec: Codec::None,
    }
}

fn add(writer: &mut PackageWriter, name: &str, class: &Schema, role: Role, data: &[u8]) {
    let object = object(writer, name, class, role, data);
    writer.export(object).unwrap();
}

/// A folder of made packages; it has no manifest.
fn folder(packages: &[(&str, Vec<u8>)]) -> Fixture {
    let fixture = Fixture::new();
    for (file, bytes) in packages {
        fixture.write(&format!("out/{file}"), bytes);
    }
    fixture
}

#[test]
fn no_manifest() {
    let fixture = folder(&[("a.pkg", package("a.pkg", |_| {}))]);
    let report = checked(&fixture.out());
    assert_eq!(report.faults.len(), 1, "{:#?}", report.faults);
    assert_fault(
        &report,
        "no_manifest",
        &fixture.out().display().to_string(),
        &["cook the world again"],
    );
}

#[test]
fn imports_of_what_is_not_there_or_something_else() {
    let shared = package("s.pkg", |writer| {
        add(writer, "Oak", &tree(), Role::CLIENT, b"oak");
        add(
            writer,
            "Elm",
            &schema("game::Shrub", Encoding::Asset, 1, "codec"),
            Role::ALL,
            b"elm",
        );
    });
    let level = package("l.pkg", |writer| {
        for (name, role) in [("Oak", Role::ALL), ("Elm", Role::ALL), ("Ash", Role::ALL)] {
            writer.import("s.pkg", name, "game::Tree", role).unwrap();
        }
    });
    let report = checked(&folder(&[("s.pkg", shared), ("l.pkg", level)]).out());
    assert_fault(
        &report,
        "missing_object",
        "l.pkg",
        &["imports `s.pkg#Ash`", "no such object"],
    );
    assert_fault(
        &report,
        "wrong_type",
        "l.pkg",
        &["`s.pkg#Elm`", "as a `game::Tree`", "is a `game::Shrub`"],
    );
    assert_fault(
        &report,
        "wrong_role",
        "l.pkg",
        &["`s.pkg#Oak`", "for client+server+editor", "for client there"],
    );
}

#[test]
fn copies_that_are_marked_otherwise_than_their_originals() {
    for is_marked in [true, false] {
        let oak = |writer: &mut PackageWriter, is_marked| {
            let bulk = vec![vec![7; 100].into()];
            let bulk_use = PayloadUse::marked(is_marked);
            let oak = object(writer, "Oak", &tree(), Role::ALL, b"oak");
            NewExport { bulk, bulk_use, ..oak }
        };
        let shared = package("s.pkg", |writer| {
            let original = oak(writer, !is_marked);
            writer.export(original).unwrap();
        });
        let opened = Package::parse(&shared, &Limits::default()).unwrap();
        let level = package("l.pkg", |writer| {
            let copy = oak(writer, is_marked);
            let origin = ForcedOrigin {
                package: "s.pkg",
                content_hash: opened.summary().content_hash,
                index: 1,
            };
            writer.forced(origin, copy).unwrap();
        });
        let report = checked(&folder(&[("s.pkg", shared), ("l.pkg", level)]).out());
        let words = if is_marked {
            "is marked, but not in `s.pkg`"
        } else {
            "is not marked, but is in `s.pkg`"
        };
        assert_fault(&report, "wrong_mark", "l.pkg", &["s.pkg#Oak", words]);
        assert_eq!(report.marked, 1);
    }
}

#[test]
fn copies_that_say_the_wrong_place() {
    let shared = package("s.pkg", |writer| add(writer, "Oak", &tree(), Role::ALL, b"oak"));
    let content_hash = Package::parse(&shared, &Limits::default())
        .unwrap()
        .summary()
        .content_hash;
    let level = package("l.pkg", |writer| {
        let copy = object(writer, "Oak", &tree(), Role::ALL, b"oak");
        let origin = ForcedOrigin {
            package: "s.pkg",
            content_hash,
            index: 0,
        };
        writer.forced(origin, copy).unwrap();
    });
    let report = checked(&folder(&[("s.pkg", shared), ("l.pkg", level)]).out());
    let fault = assert_fault(&report, "wrong_place", "l.pkg", &["copy of export 0 of `s.pkg`"]);
    assert_eq!(fault.object, "s.pkg#Oak");
}

/// A level of two entities with one column.
fn level(class: Option<Schema>, data: &[u8]) -> Fixture {
    let bytes = package("l.pkg", |writer| {
        let class = class.map_or(77, |class| writer.class(&class).unwrap().index() as u32);
        let ids = ["A", "B"].map(|name| ObjectId::new("l.pkg", name)).to_vec();
        let mut builder = LevelBuilder::new(ids, vec![0, 1]);
        builder.group(2, [(class, Role::ALL, data)].into_iter());
        builder.export(writer, Vec::new(), Codec::None).unwrap();
    });
    folder(&[("l.pkg", bytes)])
}

#[test]
fn columns_that_are_not_what_they_say() {
    let transform = schema(Transform::type_path(), Encoding::Record, 1, "record");
    let sound = checked(&level(Some(transform.clone()), &[0; 80]).out());
    assert_eq!(sound.faults.len(), 1, "no manifest is there: {:#?}", sound.faults);
    let torn = checked(&level(Some(transform), &[0; 81]).out());
    let fault = assert_fault(&torn, "column", "l.pkg", &["Transform`"]);
    assert_eq!(fault.object, LEVEL_EXPORT);
    let no_class = checked(&level(None, &[]).out());
    assert_fault(&no_class, "column_class", "l.pkg", &["export 77"]);
    let mesh = schema(
        "bevy_mesh::components::Mesh3d",
        Encoding::Handle,
        1,
        "handle of bevy_mesh::mesh::Mesh",
    );
    let handles = checked(&level(Some(mesh), &[3, 0, 0, 0, 3, 0, 0, 0]).out());
    assert_fault(&handles, "column_reference", "l.pkg", &["reference 2 of 0"]);
    let child = schema(ChildOf::type_path(), Encoding::Relation, 1, "row");
    let parents = checked(&level(Some(child), &[0, 0, 0, 0, 2, 0, 0, 0]).out());
    assert_fault(&parents, "column_reference", "l.pkg", &["entity 2 of 2"]);
}

#[test]
fn level_tables_and_startup_indices_that_are_none() {
    let index = schema(StartupIndex::type_path(), Encoding::Asset, 1, "codec");
    let fixture = folder(&[
        (
            "l.pkg",
            package("l.pkg", |writer| {
                add(writer, LEVEL_EXPORT, &level_schema(), Role::ALL, &[9; 3])
            }),
        ),
        (
            "s.pkg",
            package("s.pkg", |writer| {
                add(writer, STARTUP_EXPORT, &index, Role::ALL, &[0xff])
            }),
        ),
    ]);
    let report = checked(&fixture.out());
    assert_fault(&report, "level_table", "l.pkg", &["l.pkg#Level"]);
    assert_fault(&report, "startup", "s.pkg", &["s.pkg#Startup"]);
    let error = inspect(&fixture.out().join("l.pkg")).unwrap_err();
    assert!(matches!(error, InspectError::Level { .. }), "{error}");
}

#[test]
fn versions_that_no_build_has() {
    let id = VersionId(*b"a list of a game");
    let saved = |name: &str, label: &str, entries: &[&str], engine: &[&str]| {
        package(name, |writer| {
            let lists = [
                VersionList::new(id, label, entries.iter().copied()).unwrap(),
                VersionList::new(VersionId::ENGINE, "engine", engine.iter().copied()).unwrap(),
            ];
            writer.versions(&lists).unwrap();
        })
    };
    let codecs = seamless_asset::codec::Codecs::default();
    let engine = codecs.read().migrations().versions()[0].entries().to_vec();
    let engine: Vec<&str> = engine.iter().map(String::as_str).collect();
    let ahead = [&engine[..], &["of the year 3000"]].concat();
    let fixture = folder(&[
        ("a.pkg", saved("a.pkg", "props", &["first", "second"], &ahead)),
        ("b.pkg", saved("b.pkg", "props", &["first", "other"], &ahead)),
    ]);
    let report = checked(&fixture.out());
    let newer = of_kind(&report, "version");
    assert_eq!(newer.len(), 2);
    assert!(
        newer[0].to_string().contains("`of the year 3000`; run a newer build"),
        "{}",
        newer[0]
    );
    assert_fault(
        &report,
        "diverged_versions",
        "b.pkg",
        &["entry 2 ", "`props`", "`other`", "`second` in `a.pkg`"],
    );
}

#[test]
fn formats_that_do_not_go_together() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../seamless_package/src/tests/golden/format-2-trees.pkg");
    let bytes = std::fs::read(golden).unwrap();
    let name = Package::parse(&bytes, &Limits::default()).unwrap().name().to_owned();
    let fixture = folder(&[(&name, bytes), ("z.pkg", package("z.pkg", |_| {}))]);
    let report = checked(&fixture.out());
    assert_fault(
        &report,
        "mixed_formats",
        &name,
        &[&format!(
            "has format 2, and `z.pkg` has format {}",
            seamless_package::FORMAT_VERSION
        )],
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read() {
    let fixture = folder(&[("a.pkg", package("a.pkg", |_| {}))]);
    std::os::unix::fs::symlink("gone", fixture.out().join("b.pkg")).unwrap();
    assert_fault(&checked(&fixture.out()), "unreadable", "b.pkg", &["cannot be read"]);
}
