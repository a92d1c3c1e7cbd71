//! Limits, and files that claim more than they have.

use super::*;

/// Limits that the golden package keeps exactly.
fn exact() -> Limits {
    let bytes = golden();
    let package = verify(&bytes).unwrap();
    let summary = package.summary();
    let exports = package.exports().iter().map(|export| export.raw_size);
    let indices = 0..package.exports().len();
    let bulk = indices.flat_map(|at| package.bulk(at)).map(|b| b.raw_size);
    let sizes: Vec<u64> = exports.chain(bulk).collect();
    Limits {
        file_bytes: summary.file_len(),
        header_bytes: summary.header_len(),
        names: summary.name_count,
        imports: summary.import_count,
        origins: summary.origin_count,
        exports: summary.export_count,
        refs: summary.ref_count,
        bulk: summary.bulk_count,
        version_lists: summary.version_list_count,
        version_entries: summary.version_entry_count,
        raw_bytes_per_object: *sizes.iter().max().unwrap(),
        total_raw_bytes: sizes.iter().sum(),
        depth: 3,
        name_bytes: longest_name(&package),
    }
}

fn longest_name(package: &Package) -> u32 {
    let indices = 0..package.summary().name_count;
    let bytes = indices.map(|index| package.name_of(NameIndex(index)).unwrap().len());
    bytes.max().unwrap() as u32
}

#[test]
fn every_limit_is_kept_and_named() {
    let bytes = golden();
    let exact = exact();
    Package::verify_whole(&bytes, &exact).unwrap();
    let lower: [(&str, fn(&mut Limits)); 14] = [
        ("file_bytes", |limits| limits.file_bytes -= 1),
        ("header_bytes", |limits| limits.header_bytes -= 1),
        ("names", |limits| limits.names -= 1),
        ("imports", |limits| limits.imports -= 1),
        ("origins", |limits| limits.origins -= 1),
        ("exports", |limits| limits.exports -= 1),
        ("refs", |limits| limits.refs -= 1),
        ("bulk", |limits| limits.bulk -= 1),
        ("version_lists", |limits| limits.version_lists -= 1),
        ("version_entries", |limits| limits.version_entries -= 1),
        ("raw_bytes_per_object", |limits| {
            limits.raw_bytes_per_object -= 1;
        }),
        ("total_raw_bytes", |limits| limits.total_raw_bytes -= 1),
        ("depth", |limits| limits.depth -= 1),
        ("name_bytes", |limits| limits.name_bytes -= 1),
    ];
    for (name, change) in lower {
        let mut limits = exact.clone();
        change(&mut limits);
        let error = Package::parse(&bytes, &limits).unwrap_err();
        let PackageError::Limit {
            field, limit, found, ..
        } = &error
        else {
            panic!("{name}: {error}");
        };
        assert_eq!((*field, limit + 1), (name, *found));
        assert!(error.to_string().contains(&format!("raise Limits::{name}")));
        let mut writer = golden_writer();
        writer.set_limits(limits);
        assert_eq!(writer.finish(), Err(WriteError::Unreadable(error)));
    }
}

#[test]
fn no_memory_is_taken_for_what_is_only_claimed() {
    // Were the counts believed, the vectors for them would end the test run.
    for (name, _) in Summary::LAYOUT.iter().skip(4) {
        let mut forged = golden();
        put(&mut forged, 0, Summary::LAYOUT, name, u64::MAX);
        reseal_summary(&mut forged);
        let error = Package::parse(&forged, &no_limits()).unwrap_err();
        let known = matches!(error, PackageError::Malformed { .. } | PackageError::Checksum { .. });
        assert!(known, "{name}: {error}");
    }
}

#[test]
fn a_bomb_is_refused_before_it_goes_off() {
    let mut writer = PackageWriter::new("bomb.pkg");
    let class = writer.class(&schema("game::Bomb")).unwrap();
    let bomb = plain("Bomb", class, &vec![0; 32 << 20]);
    writer.export(bomb).unwrap();
    let bytes = writer.finish().unwrap();
    assert!(bytes.len() < 200_000, "the bomb is small: {}", bytes.len());
    let limits = Limits {
        raw_bytes_per_object: 1 << 20,
        ..Limits::default()
    };
    let error = Package::parse(&bytes, &limits).unwrap_err();
    assert_eq!(error.fault(), Fault::Limits);
    assert!(error.to_string().contains("`Bomb`"), "{error}");
    let limits = Limits {
        total_raw_bytes: 1 << 20,
        ..Limits::default()
    };
    let error = Package::parse(&bytes, &limits).unwrap_err();
    assert_eq!(error.fault(), Fault::Limits);
}

#[test]
fn an_external_payload_ends_within_a_file() {
    let mut bytes = golden();
    let summary = summary_of(&bytes);
    let at = bulk_at(&bytes, EXTERNAL);
    put(&mut bytes, at, Bulk::LAYOUT, "offset", 1 << 40);
    reseal_tables(&mut bytes, &summary);
    let error = verify(&bytes).unwrap_err();
    assert!(
        matches!(
            error,
            PackageError::Limit {
                field: "file_bytes",
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("`Tree`"), "{error}");
}

#[test]
fn a_raw_size_must_be_possible_and_true() {
    let bytes = golden();
    let summary = summary_of(&bytes);
    let stored = verify(&bytes).unwrap().exports().get(A).unwrap().stored_size;
    let forge = |raw: u64| {
        let mut forged = bytes.clone();
        put_export(&mut forged, A, "raw_size", raw);
        reseal_tables(&mut forged, &summary);
        verify(&forged).unwrap_err()
    };
    let impossible = forge(stored * 255 + 1).to_string();
    assert!(impossible.contains("LZ4 can hold"), "{impossible}");
    for untrue in [199, 201, stored * 255] {
        let error = forge(untrue);
        let expected = matches!(error, PackageError::Decompress { raw_size, .. } if raw_size == untrue);
        assert!(expected, "{untrue}: {error}");
    }
}
