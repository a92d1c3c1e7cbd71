//! A golden package cut off at every length, with junk at its end, and with every bit flipped.

use super::*;

#[test]
fn every_truncation_is_named() {
    let bytes = golden();
    let header = summary_of(&bytes).header_len() as usize;
    for len in 0..bytes.len() {
        let error = verify(&bytes[..len]).unwrap_err();
        let PackageError::Truncated { need, have, .. } = error else {
            panic!("cut off at {len}: {error}");
        };
        assert!(have == len as u64 && need > have, "cut off at {len}");
        let opened = Package::parse(&bytes[..len], &Limits::default());
        assert_eq!(opened.is_ok(), len >= header, "cut off at {len}");
    }
}

#[test]
fn every_extension_is_named() {
    let bytes = golden();
    for extra in 1..40 {
        for junk in [0, 0xff] {
            let mut longer = bytes.clone();
            longer.resize(bytes.len() + extra, junk);
            let error = verify(&longer).unwrap_err();
            let expected = PackageError::TrailingData {
                file_len: bytes.len() as u64,
                extra: extra as u64,
            };
            assert_eq!(error, expected);
        }
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = golden();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let error = verify(&damaged).expect_err("a flipped bit");
        let known = matches!(
            error,
            PackageError::Checksum { .. } | PackageError::BadMagic { .. } | PackageError::UnsupportedVersion { .. }
        );
        assert!(known, "bit {bit}: {error}");
        assert!(error.to_string().contains("cook"), "no mend: {error}");
    }
}

#[test]
fn damaged_data_is_never_handed_out() {
    let bytes = golden();
    let header = summary_of(&bytes).header_len() as usize;
    let whole = verify(&bytes).unwrap();
    for bit in header * 8..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let package = Package::parse(&damaged, &Limits::default()).unwrap();
        let mut refused = 0;
        for (index, export) in package.exports().iter().enumerate() {
            let expected = whole.export_data(index, &bytes, 0).unwrap();
            match package.export_data(index, &damaged, 0) {
                Ok(data) => assert_eq!(data, expected),
                Err(error) => refused += u32::from(error.fault() == Fault::File),
            }
            for payload in 0..export.bulk_count as usize {
                if package.bulk(index).get(payload).unwrap().origin != 0 {
                    continue;
                }
                let expected = whole.bulk_data(index, payload, &bytes, 0).unwrap();
                match package.bulk_data(index, payload, &damaged, 0) {
                    Ok(data) => assert_eq!(data, expected),
                    Err(error) => refused += u32::from(error.fault() == Fault::File),
                }
            }
        }
        assert_eq!(refused, 1, "bit {bit} belongs to one object");
    }
}

#[test]
fn damage_is_attributed_to_its_object() {
    let bytes = golden();
    let package = verify(&bytes).unwrap();
    let mut damaged = bytes.clone();
    damaged[package.export_range(B).unwrap().start as usize] ^= 1;
    let text = verify(&damaged).unwrap_err().to_string();
    assert!(text.starts_with("export 3 `B/ü`: damaged"), "{text}");
    let mut damaged = bytes.clone();
    damaged[package.bulk_location(A, 1).unwrap().range.start as usize] ^= 1;
    let text = verify(&damaged).unwrap_err().to_string();
    assert!(text.starts_with("bulk payload 1 of export 1 `A`: damaged"), "{text}");
}

#[test]
fn other_files_are_told_apart() {
    for other in [&b"\x89PNG\r\n\x1a\n"[..], b"glTF", b"(\n  resources: {"] {
        let error = verify(other).unwrap_err();
        assert!(matches!(error, PackageError::BadMagic { .. }), "{error}");
    }
}

/// A newer file needs a newer build, an older one needs to be cooked again; neither is damaged.
#[test]
fn versions_are_told_apart_and_each_has_its_mend() {
    let newer = "run a newer build";
    for (version, mend) in [
        (OLDEST_FORMAT_VERSION - 1, "older than those read here"),
        (FORMAT_VERSION + 1, newer),
        (u32::MAX, newer),
    ] {
        let mut other = golden();
        put(&mut other, 0, Summary::LAYOUT, "format_version", version.into());
        reseal_summary(&mut other);
        let error = verify(&other).unwrap_err();
        assert_eq!(error.fault(), Fault::Version);
        assert!(error.to_string().contains(mend), "{error}");
        // A shorter file of another version is no damaged file.
        assert_eq!(verify(&other[..12]).unwrap_err(), error);
    }
    let mut flagged = golden();
    put(&mut flagged, 0, Summary::LAYOUT, "flags", 4);
    reseal_summary(&mut flagged);
    let error = verify(&flagged).unwrap_err();
    assert_eq!(error, PackageError::UnsupportedFlags { found: 4 });
    assert!(error.to_string().contains(newer), "{error}");
}
