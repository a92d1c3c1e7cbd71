//! Classes that are compressed, all together.

use super::*;

const CLASSES: [usize; 3] = [POINT, OTHER, TREE_CLASS];
const PACKED: [Codec; 2] = [Codec::Lz4, Codec::Zstd];

/// A package with many classes, as like each other as types are.
fn many(codec: Codec) -> Vec<u8> {
    let mut writer = PackageWriter::new("many.pkg");
    writer.class_codec(codec);
    for number in 0..50 {
        let class = writer.class(&schema(&format!("game::Thing{number}"))).unwrap();
        writer.export(plain(&format!("{number}"), class, b"data")).unwrap();
    }
    writer.finish().unwrap()
}

/// The golden package with compressed classes and a change, under right checksums.
fn forged(codec: Codec, change: impl FnOnce(&mut Vec<u8>)) -> Result<Package, PackageError> {
    let mut bytes = golden_with_classes(codec);
    let summary = summary_of(&bytes);
    change(&mut bytes);
    reseal_tables(&mut bytes, &summary);
    verify(&bytes)
}

/// The first class's checksum is made that of what is stored now.
fn reseal_classes(bytes: &mut [u8]) {
    let summary = summary_of(bytes);
    let (start, size) = (summary.data_offset as usize, summary.class_data_size as usize);
    let sum = xxh3_64(&bytes[start..start + size]);
    put_export(bytes, POINT, "checksum", sum);
}

#[test]
fn they_are_what_they_were() {
    let plain = verify(&golden()).unwrap();
    for codec in PACKED {
        let bytes = golden_with_classes(codec);
        let package = verify(&bytes).unwrap();
        assert!(package.schemas().eq(plain.schemas()), "{codec:?}");
        assert!(package.summary().class_data_size < plain.summary().class_data_size);
        let stored = CLASSES.map(|class| package.exports().get(class).unwrap().stored_size);
        assert_eq!(stored, [package.summary().class_data_size, 0, 0]);
        let header = package.summary().header_len();
        for class in CLASSES {
            let expected = package.schema(class).unwrap().encode();
            assert_eq!(*package.export_data(class, &bytes, 0).unwrap(), expected);
            let range = package.export_range(class).unwrap();
            assert_eq!(range, package.summary().data_offset..header);
            let part = &bytes[range.start as usize..range.end as usize];
            assert_eq!(*package.export_data(class, part, range.start).unwrap(), expected);
            let behind = package.export_data(class, &bytes[header as usize..], header);
            assert!(matches!(behind, Err(PackageError::OutsideBytes { .. })));
        }
        let objects = (0..package.exports().len()).filter(|index| !CLASSES.contains(index));
        for index in objects {
            let was = plain.export_data(index, &golden(), 0).unwrap().into_owned();
            assert_eq!(*package.export_data(index, &bytes, 0).unwrap(), was);
        }
    }
}

#[test]
fn together_they_are_small() {
    let [plain, lz4, zstd] = [Codec::None, Codec::Lz4, Codec::Zstd].map(|codec| many(codec).len());
    let classes = summary_of(&many(Codec::None)).class_data_size as usize;
    assert!(lz4 < plain - classes / 2 && zstd <= lz4, "{plain} {lz4} {zstd}");
}

#[test]
fn what_does_not_compress_stays_as_it_is() {
    let mut writer = PackageWriter::new("a.pkg");
    writer.class_codec(Codec::Zstd);
    assert_eq!(PackageWriter::new("a.pkg").finish(), writer.clone().finish());
    let class = writer.class(&schema("game::Point")).unwrap();
    writer.export(plain("A", class, b"data")).unwrap();
    let package = verify(&writer.finish().unwrap()).unwrap();
    assert_eq!(package.exports().get(0).unwrap().codec, Codec::None);
}

#[test]
fn every_rule_is_kept() {
    let other = CLASSES[1];
    let cases = [
        (POINT, "codec", 0, "two different sizes"),
        (other, "codec", 0, "stored in different ways"),
        (other, "stored_size", 1, "outside of its region"),
        (POINT, "stored_size", 1, "does not follow"),
        (other, "data_offset", 0, "does not follow"),
        (other, "checksum", 1, "damaged"),
        (POINT, "raw_size", 1 << 40, "more than"),
        (other, "raw_size", 0, "does not decompress"),
        (other, "raw_size", 1000, "does not decompress"),
    ];
    for codec in PACKED {
        for (class, name, value, expected) in cases {
            let text = forged(codec, |bytes| put_export(bytes, class, name, value));
            let text = text.unwrap_err().to_string();
            assert!(text.contains(expected), "{name} of {class} = {value}: {text}");
        }
        let both = forged(codec, |bytes| {
            let (size, end) = (summary_of(bytes).class_data_size, summary_of(bytes).header_len());
            put_export(bytes, POINT, "stored_size", size - 1);
            put_export(bytes, other, "data_offset", end - 1);
            put_export(bytes, other, "stored_size", 1);
        });
        let text = both.unwrap_err().to_string();
        assert!(text.contains("not stored with that of the first"), "{text}");
    }
}

#[test]
fn the_bounds_between_them_are_theirs() {
    for codec in PACKED {
        let moved = forged(codec, |bytes| {
            let package = Package::parse(&**bytes, &Limits::default()).unwrap();
            let size = |class: usize| package.exports().get(class).unwrap().raw_size;
            let [first, second] = [size(POINT), size(OTHER)];
            put_export(bytes, POINT, "raw_size", first - 1);
            put_export(bytes, OTHER, "raw_size", second + 1);
        });
        let error = moved.unwrap_err();
        assert!(matches!(error, PackageError::Record { .. }), "{error}");
        assert!(error.to_string().starts_with("export 0 `class:game::Point`"), "{error}");
    }
}

#[test]
fn sizes_must_be_possible_together() {
    let small = |bytes: &mut Vec<u8>| {
        CLASSES
            .iter()
            .for_each(|class| put_export(bytes, *class, "raw_size", 1))
    };
    let text = forged(Codec::Lz4, small).unwrap_err().to_string();
    assert!(
        text.starts_with("export table: compressed data is not smaller"),
        "{text}"
    );
    let text = forged(Codec::Lz4, |bytes| put_export(bytes, OTHER, "raw_size", 1 << 20));
    let text = text.unwrap_err().to_string();
    assert!(text.contains("more than LZ4 can hold"), "{text}");
}

#[test]
fn an_older_version_has_none() {
    // The last that has none; the export table of those before is in rows.
    let older = forged(Codec::Lz4, |bytes| {
        put(bytes, 0, Summary::LAYOUT, "format_version", 4);
    });
    let text = older.unwrap_err().to_string();
    assert!(text.contains("a class is compressed"), "{text}");
}

#[test]
fn damage_is_noticed_on_opening() {
    for codec in PACKED {
        let bytes = golden_with_classes(codec);
        let summary = summary_of(&bytes);
        for at in summary.data_offset..summary.header_len() {
            let mut damaged = bytes.clone();
            damaged[at as usize] ^= 1;
            let error = Package::parse(&damaged, &Limits::default()).unwrap_err();
            assert!(matches!(error, PackageError::Checksum { .. }), "{error}");
        }
        let package = verify(&bytes).unwrap();
        let mut damaged = bytes.clone();
        damaged[summary.data_offset as usize] ^= 1;
        assert!(package.export_data(TREE_CLASS, &damaged, 0).is_err());
    }
}

/// What is stored under a right checksum, and is no frame, or one of other bytes.
#[test]
fn what_does_not_unpack_is_refused() {
    for codec in PACKED {
        let refused = forged(codec, |bytes| {
            let start = summary_of(bytes).data_offset as usize;
            bytes[start..start + 8].fill(0xff);
            reseal_classes(bytes);
        });
        let error = refused.unwrap_err();
        assert!(
            matches!(
                error,
                PackageError::Decompress {
                    place: Place::Classes,
                    ..
                }
            ),
            "{error}"
        );
    }
}

/// Bytes of a package's classes, unpacked.
fn unpacked(package: &Package) -> u64 {
    package.schemas().map(|(_, schema)| schema.encode().len() as u64).sum()
}

#[test]
fn unpacked_they_are_within_the_header() {
    for codec in PACKED {
        let bytes = many(codec);
        let package = verify(&bytes).unwrap();
        let exact = Limits {
            header_bytes: package.summary().data_offset + unpacked(&package),
            ..Limits::default()
        };
        Package::parse(&bytes, &exact).unwrap();
        let narrow = Limits {
            header_bytes: exact.header_bytes - 1,
            ..exact.clone()
        };
        let error = Package::parse(&bytes, &narrow).unwrap_err();
        let expected = PackageError::Limit {
            place: Place::Exports,
            field: "header_bytes",
            limit: exact.header_bytes - 1,
            found: exact.header_bytes,
        };
        assert_eq!(error, expected);
    }
}

/// However many there are, they are unpacked once.
#[test]
fn a_whole_package_is_checked_in_one_pass() {
    for codec in PACKED {
        let bytes = many(codec);
        let package = verify(&bytes).unwrap();
        let opening = allocation_counter::measure(|| drop(Package::parse(&bytes, &Limits::default()).unwrap()));
        let checking = allocation_counter::measure(|| drop(verify(&bytes).unwrap()));
        assert!(
            checking.bytes_total < opening.bytes_total + unpacked(&package),
            "{checking:?} {opening:?}"
        );
    }
}
