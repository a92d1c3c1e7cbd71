//! Copies of other packages' objects, and payloads that stay in their file.

use super::*;

const FROM: ForcedOrigin<'static> = ForcedOrigin {
    package: "shared/trees.pkg",
    content_hash: 7,
    index: 1,
};

/// A writer with a class, and an import of the tree.
fn writer() -> (PackageWriter, ClassIndex, ObjectRef) {
    let mut writer = PackageWriter::new("a.pkg");
    let class = writer.class(&schema("game::Tree")).unwrap();
    let import = writer.import("shared/trees.pkg", "Tree", "game::Tree", Role::ALL);
    (writer, class, import.unwrap())
}

#[test]
fn a_copy_keeps_its_identity() {
    let package = verify(&golden()).unwrap();
    let trees = verify(&trees(COMPRESSED)).unwrap();
    for (copy, original, name) in [(TREE, 1, "Tree"), (LEAF, 2, "Leaf")] {
        let id = ObjectId::new("shared/trees.pkg", name);
        assert_eq!(package.exports().get(copy).unwrap().object_id, id);
        assert_eq!(package.find(id), Some(copy));
        let origin = package.origin_of(copy).unwrap();
        assert_eq!((origin.package, origin.index as usize), (trees.name(), original));
        assert_eq!(origin.content_hash, trees.summary().content_hash);
        assert_eq!(trees.exports().get(original).unwrap().object_id, id);
        assert!(package.exports().get(copy).unwrap().is_forced());
    }
    assert_eq!(package.origin_of(A), None);
    assert_eq!(package.origins().len(), 1);
    assert_eq!(
        package.exports().get(LEAF).unwrap().outer,
        ObjectRef::export(TREE).unwrap()
    );
}

#[test]
fn a_package_with_copies_of_all_imports_is_seek_free() {
    let golden = verify(&golden()).unwrap();
    assert_eq!(golden.forced_for_import(0), Some(TREE));
    assert!(!golden.is_seek_free(), "it has no copy of the rock");
    let (mut writer, class, import) = writer();
    let user = NewExport {
        refs: vec![import],
        ..plain("User", class, b"")
    };
    writer.export(user).unwrap();
    assert!(!verify(&writer.clone().finish().unwrap()).unwrap().is_seek_free());
    writer.forced(FROM, plain("Tree", class, b"oak")).unwrap();
    let package = verify(&writer.finish().unwrap()).unwrap();
    assert!(package.is_seek_free());
    assert_eq!(package.forced_for_import(0), Some(2));
    let empty = verify(&PackageWriter::new("a.pkg").finish().unwrap()).unwrap();
    assert!(empty.is_seek_free());
}

#[test]
fn origins_are_sorted_whatever_the_order_of_copying() {
    let mut writer = PackageWriter::new("a.pkg");
    let class = writer.class(&schema("game::Tree")).unwrap();
    for (number, package) in ["c.pkg", "b.pkg", "d.pkg", "b.pkg"].into_iter().enumerate() {
        let from = ForcedOrigin {
            package,
            content_hash: package.len() as u64,
            index: number as u32,
        };
        writer.forced(from, plain(&format!("o{number}"), class, b"")).unwrap();
    }
    let package = verify(&writer.finish().unwrap()).unwrap();
    let paths: Vec<_> = package.origins().iter().map(|o| package.name_of(o.package)).collect();
    assert_eq!(paths, [Some("b.pkg"), Some("c.pkg"), Some("d.pkg")]);
    let copies: Vec<_> = (1..5).map(|at| package.origin_of(at).unwrap()).collect();
    let found: Vec<_> = copies.iter().map(|origin| (origin.package, origin.index)).collect();
    assert_eq!(found, [("c.pkg", 0), ("b.pkg", 1), ("d.pkg", 2), ("b.pkg", 3)]);
}

#[test]
fn many_origins_are_put_into_their_places() {
    let mut writer = PackageWriter::new("a.pkg");
    let class = writer.class(&schema("game::Tree")).unwrap();
    writer.set_limits(no_limits());
    for number in (0..30_000).rev() {
        let package = format!("kit/{number:06}.pkg");
        let from = ForcedOrigin {
            package: &package,
            content_hash: number.into(),
            index: number,
        };
        writer.forced(from, plain("Tree", class, b"")).unwrap();
    }
    let package = Package::parse(writer.finish().unwrap(), &no_limits()).unwrap();
    let first = package.origin_of(1).unwrap();
    assert_eq!((first.package, first.index), ("kit/029999.pkg", 29_999));
    assert_eq!(
        package.name_of(package.origins().get(7).unwrap().package),
        Some("kit/000007.pkg")
    );
}

#[test]
fn bad_copies_are_refused_and_leave_no_trace() {
    let mut golden = golden_writer();
    let class = golden.class(&schema("game::Tree")).unwrap();
    let point = golden.class(&schema("game::Point")).unwrap();
    let trees = verify(&trees(COMPRESSED)).unwrap();
    let from = ForcedOrigin {
        content_hash: trees.summary().content_hash,
        index: 3,
        ..FROM
    };
    let rocks = ForcedOrigin {
        package: "shared/rocks.pkg",
        ..from
    };
    let own = ForcedOrigin {
        package: "levels/golden.pkg",
        ..from
    };
    let new = || plain("New", class, b"");
    let outer = |index| NewExport {
        outer: ObjectRef::export(index).unwrap(),
        ..new()
    };
    let refs = |reference| NewExport {
        refs: vec![reference],
        ..new()
    };
    let cases = [
        (own, new(), "is copied from its own package"),
        (ForcedOrigin { package: "", ..from }, new(), "is empty"),
        (from, plain("", class, b""), "is empty"),
        (from, plain("Tree", class, b""), "two objects are named `Tree`"),
        (
            ForcedOrigin { index: 2, ..from },
            new(),
            "`Leaf` and `New` are both copied from export 2",
        ),
        (
            ForcedOrigin {
                content_hash: 1,
                ..from
            },
            new(),
            "from two versions of `shared/trees.pkg`",
        ),
        (
            rocks,
            plain("Rock", class, b""),
            "is imported as `game::Rock` and as `game::Tree`",
        ),
        (from, outer(A), "an outer is an object of the same package"),
        (rocks, outer(TREE), "an outer is an object of the same package"),
        (from, outer(TREE_CLASS), "a class has no parts"),
        (from, refs(ObjectRef::export(A).unwrap()), "a copy cannot know"),
        (from, refs(ObjectRef::export(20).unwrap()), "which was not added before"),
        (
            from,
            NewExport {
                role: Role::NONE,
                ..new()
            },
            "has no role",
        ),
    ];
    for (origin, object, expected) in cases {
        let text = golden.forced(origin, object).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    }
    let text = golden.class(&schema("game::New")).unwrap_err().to_string();
    assert!(text.contains("`class:game::New` follows a forced export"), "{text}");
    let text = golden.export(plain("New", point, b"")).unwrap_err().to_string();
    assert!(text.contains("`New` follows a forced export"), "{text}");
    let twice = [versions(WEATHER, "storms", &[])];
    let text = golden.versions(&twice).unwrap_err().to_string();
    assert!(text.contains("`weather` and `storms` have the same id"), "{text}");
    let text = golden.import("shared/trees.pkg", "Leaf", "game::Leaf", Role::ALL);
    assert!(matches!(text, Err(WriteError::ImportConflict { .. })));
    assert_eq!(golden.finish().unwrap(), super::golden());
}

#[test]
fn a_copy_may_be_imported_after_it_was_added() {
    let mut writer = golden_writer();
    let leaf = writer.import("shared/trees.pkg", "Leaf", "game::Tree", Role::ALL);
    assert_eq!(leaf, Ok(ObjectRef::import(2).unwrap()));
    let package = verify(&writer.finish().unwrap()).unwrap();
    assert_eq!(package.forced_for_import(2), Some(LEAF));
}

#[test]
fn external_payloads_are_for_copies_of_what_has_them() {
    let trees = verify(&trees(COMPRESSED)).unwrap();
    let golden = verify(&golden()).unwrap();
    let payload = trees.bulk(1).get(0).unwrap();
    let (mut writer, class, _) = writer();
    let with = |bulk: Bulk| NewExport {
        bulk: vec![b"first".to_vec().into(), NewBulk::External(bulk)],
        ..plain("Tree", class, b"")
    };
    let error = writer.export(with(payload.clone())).unwrap_err();
    assert!(matches!(error, WriteError::BadBulk { payload: 1, .. }), "{error}");
    let impossible = Bulk {
        raw_size: 1,
        ..payload.clone()
    };
    let beyond = Bulk {
        offset: u64::MAX,
        ..payload.clone()
    };
    let cases = [
        (golden.bulk(TREE).get(0).unwrap(), "even there"),
        (impossible, "sizes that cannot be"),
        (beyond, "sizes that cannot be"),
    ];
    for (bulk, expected) in cases {
        let error = writer.forced(FROM, with(bulk)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(matches!(error, WriteError::BadBulk { payload: 1, .. }), "{error}");
    }
    writer.forced(FROM, with(payload.clone())).unwrap();
    writer.finish().unwrap();
}

#[test]
fn a_payload_is_read_alone_out_of_the_file_that_it_lies_in() {
    for codecs in [COMPRESSED, PLAIN] {
        let other = trees(codecs);
        let bytes = golden_writer_with(codecs).finish().unwrap();
        let header = summary_of(&bytes[..SUMMARY_SIZE]).header_len() as usize;
        let package = Package::parse(&bytes[..header], &Limits::default()).unwrap();
        let hash = summary_of(&other).content_hash;
        let location = package.bulk_location(TREE, 0).unwrap();
        assert_eq!(location.origin, Some(("shared/trees.pkg", hash)));
        assert_eq!(location.raw_size, 500);
        let stored = &other[location.range.start as usize..location.range.end as usize];
        assert_eq!(*location.unpack(stored).unwrap(), [9; 500]);
        let own = package.bulk_location(TREE, 1).unwrap();
        assert_eq!(own.origin, None);
        let stored = &bytes[own.range.start as usize..own.range.end as usize];
        assert_eq!(*own.unpack(stored).unwrap(), *b"bark");
        let short = own.unpack(&stored[1..]).unwrap_err();
        assert!(matches!(short, PackageError::Truncated { .. }), "{short}");
        let damaged = own.unpack(b"bork").unwrap_err();
        assert_eq!(damaged.fault(), Fault::File);
        let error = package.bulk_data(TREE, 0, &bytes, 0).unwrap_err();
        assert!(error.to_string().contains("`shared/trees.pkg`"), "{error}");
        assert!(matches!(error, PackageError::ExternalBulk { .. }));
    }
}

#[test]
fn a_part_of_a_plain_payload_can_be_located() {
    let bytes = golden();
    let package = verify(&bytes).unwrap();
    let plain = package.bulk_location(A, 1).unwrap();
    let part = plain.part(1..3).unwrap();
    assert_eq!(&bytes[part.start as usize..part.end as usize], b"oi");
    assert_eq!(plain.part(0..5), Some(plain.range.clone()));
    let backwards = std::ops::Range { start: 3, end: 1 };
    for outside in [0..6, 5..6, backwards, u64::MAX - 1..u64::MAX] {
        assert_eq!(plain.part(outside), None);
    }
    let packed = package.bulk_location(A, 0).unwrap();
    assert_eq!(packed.part(0..1), None, "a part of a compressed payload means nothing");
}

/// The package that the golden one copies from, after an edit.
fn edited(edit: impl FnOnce(&mut PackageWriter, ClassIndex)) -> Package {
    let mut writer = PackageWriter::new("shared/trees.pkg");
    let class = writer.class(&schema("game::Tree")).unwrap();
    edit(&mut writer, class);
    verify(&writer.finish().unwrap()).unwrap()
}

fn tree(class: ClassIndex, payload: u8) -> NewExport<'static> {
    NewExport {
        bulk: vec![vec![payload; 500].into()],
        codec: Codec::Zstd,
        ..plain("Tree", class, b"oak")
    }
}

#[test]
fn a_stale_payload_names_both_packages() {
    let package = verify(&golden()).unwrap();
    let same = verify(&trees(COMPRESSED)).unwrap();
    assert_eq!(package.check_origin(TREE, 0, &same), Ok(()));
    assert_eq!(package.check_origin(TREE, 1, &same), Ok(()), "its own payload");
    let changed = edited(|writer, class| {
        writer.export(tree(class, 8)).unwrap();
    });
    let lost = edited(|writer, class| {
        writer.export(plain("Tree", class, b"oak")).unwrap();
    });
    let gone = edited(|_, _| {});
    let cases = [
        (&changed, "has changed"),
        (&lost, "no such payload"),
        (&gone, "is no more"),
    ];
    for (other, expected) in cases {
        let error = package.check_origin(TREE, 0, other).unwrap_err();
        assert_eq!(error.fault(), Fault::Stale);
        let text = error.to_string();
        for part in [
            expected,
            "`levels/golden.pkg`",
            "`shared/trees.pkg`",
            "`Tree`",
            "cook both",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let error = package.check_origin(TREE, 0, &package).unwrap_err();
    assert!(matches!(error, PackageError::WrongOrigin { .. }), "{error}");
    // Read without the check, other bytes are noticed by their checksum.
    let error = package.bulk_location(TREE, 0).unwrap().unpack(&[0; 500]).unwrap_err();
    assert!(matches!(error, PackageError::StaleBulk { .. }), "{error}");
}

/// The origin's content hash is as it was; that alone does not say that the entry is true.
#[test]
fn a_payload_is_where_its_origin_has_it() {
    let bytes = golden();
    let summary = summary_of(&bytes);
    let origin = verify(&trees(COMPRESSED)).unwrap();
    let at = bulk_at(&bytes, EXTERNAL);
    let sound = verify(&bytes).unwrap();
    let entry = sound.bulk(TREE).get(0).unwrap();
    for (field, value) in [
        ("offset", entry.offset + 1),
        ("raw_size", entry.raw_size + 1),
        ("checksum", entry.checksum ^ 1),
    ] {
        let mut forged = bytes.clone();
        put(&mut forged, at, Bulk::LAYOUT, field, value);
        reseal_tables(&mut forged, &summary);
        let package = verify(&forged).unwrap();
        let location = package.bulk_location(TREE, 0).unwrap();
        assert_eq!(location.origin, Some((origin.name(), origin.summary().content_hash)));
        let error = package.check_origin(TREE, 0, &origin).unwrap_err();
        assert!(matches!(error, PackageError::StaleBulk { .. }), "{field}: {error}");
    }
}

#[test]
fn an_edit_elsewhere_makes_no_payload_stale() {
    let package = verify(&golden()).unwrap();
    let mut bytes = trees(COMPRESSED);
    // The leaf changes its color; the tree's payload stays where it is.
    let other = verify(&bytes).unwrap();
    let range = other.export_range(2).unwrap();
    let range = range.start as usize..range.end as usize;
    bytes[range.clone()].copy_from_slice(b"black");
    let summary = summary_of(&bytes);
    put_export(&mut bytes, 2, "checksum", xxh3_64(b"black"));
    reseal_tables(&mut bytes, &summary);
    let edited = verify(&bytes).unwrap();
    assert_ne!(edited.summary().content_hash, other.summary().content_hash);
    assert_eq!(package.check_origin(TREE, 0, &edited), Ok(()));
}

#[test]
fn forged_copies_are_refused() {
    let bytes = golden();
    let summary = summary_of(&bytes);
    let refs = refs_at(&bytes);
    // The last reference is the leaf's to the tree: make it one to an own object.
    let last = refs + (summary.ref_count as usize - 1) * 4;
    let mut forged = bytes.clone();
    forged[last..last + 4].copy_from_slice(&(A as i32 + 1).to_le_bytes());
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(text.contains("refers to an own object"), "{text}");
    // The import of the tree asks for a type that the copy does not have.
    let mut forged = bytes.clone();
    let package = verify(&bytes).unwrap();
    let rock = u64::from(package.imports().get(1).unwrap().type_path.0);
    put(&mut forged, import_at(&bytes, 0), Import::LAYOUT, "type_path", rock);
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(
        text.contains("import 0: the forced export of the same object has another type"),
        "{text}"
    );
}

#[test]
fn origins_are_there_once_and_used() {
    let mut writer = PackageWriter::new("a.pkg");
    let class = writer.class(&schema("game::Tree")).unwrap();
    let from = |package, index| ForcedOrigin {
        package,
        content_hash: 1,
        index,
    };
    writer.forced(from("b.pkg", 1), plain("x", class, b"")).unwrap();
    writer.forced(from("c.pkg", 2), plain("y", class, b"")).unwrap();
    let bytes = writer.finish().unwrap();
    let summary = summary_of(&bytes);
    let mut forged = bytes.clone();
    let (b, c) = (origin_at(&bytes, 0), origin_at(&bytes, 1));
    forged.copy_within(b..b + 4, c);
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(
        text.contains("origin 1: the origins are not in ascending order"),
        "{text}"
    );
    // The second copy is said to be from the first origin, too.
    let mut forged = bytes.clone();
    put_export(&mut forged, 2, "origin", 1);
    put_export(&mut forged, 2, "object_id", ObjectId::new("b.pkg", "y").0);
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(text.contains("nothing is copied from an origin"), "{text}");
}

#[test]
fn the_same_object_is_not_collided_with() {
    /// Every object of a name is one object.
    fn weak(_: &str, object: &str) -> ObjectId {
        ObjectId(object.len() as u64)
    }
    let mut writer = PackageWriter::with_hash("a.pkg", weak);
    let class = writer.class(&schema("game::Tree")).unwrap();
    writer.import("b.pkg", "Tree", "game::Tree", Role::ALL).unwrap();
    let from = |package| ForcedOrigin { package, ..FROM };
    let error = writer.forced(from("c.pkg"), plain("Tree", class, b"")).unwrap_err();
    let (first, second) = ("b.pkg#Tree".to_owned(), "c.pkg#Tree".to_owned());
    let id = ObjectId(4);
    assert_eq!(error, WriteError::IdCollision { id, first, second });
    assert!(writer.forced(from("b.pkg"), plain("Tree", class, b"")).is_ok());
    let error = writer.import("c.pkg", "Bush", "game::Tree", Role::ALL).unwrap_err();
    assert!(matches!(error, WriteError::IdCollision { .. }), "{error}");
}
