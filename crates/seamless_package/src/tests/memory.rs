//! Declared sizes are honoured: what a file only claims costs no memory.

use super::*;
use allocation_counter::measure;

const GIB: u64 = 1 << 30;
/// What a file of about 1 KiB may make its reader take, at the highest point: the tables of a decompressor, and a few blocks.
const LITTLE: u64 = 4 << 20;

/// The most bytes that were allocated at a time; what was read must be an error.
fn cost(bytes: &[u8]) -> u64 {
    let limits = no_limits();
    let info = measure(|| {
        if let Ok(package) = Package::parse(bytes, &limits) {
            for index in 0..package.exports().len() {
                let _ = package.export_data(index, bytes, 0);
                for payload in 0..package.bulk(index).len() {
                    let _ = package.bulk_data(index, payload, bytes, 0);
                }
            }
        }
    });
    info.bytes_max
}

#[test]
fn allocations_are_counted() {
    assert!(measure(|| drop(std::hint::black_box(vec![1_u8; 1 << 20]))).bytes_max >= 1 << 20);
    let bytes = golden();
    assert!((1..LITTLE).contains(&cost(&bytes)));
}

#[test]
fn a_small_file_that_claims_a_gigabyte_costs_nothing() {
    let bytes = golden();
    let summary = summary_of(&bytes);
    let mut tried = 0;
    for name in ["raw_size", "stored_size"] {
        let exports = (0..summary.export_count as usize).map(|at| export_field(&bytes, at, name).start);
        let bulk = (0..summary.bulk_count as usize).map(|at| bulk_at(&bytes, at) + field(Bulk::LAYOUT, name).0);
        for start in exports.chain(bulk) {
            for value in [GIB, u64::MAX, u64::MAX / 2] {
                let mut forged = bytes.clone();
                put_number(&mut forged[start..start + 8], value);
                reseal_tables(&mut forged, &summary);
                assert!(cost(&forged) < LITTLE, "{name} = {value}");
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 15 * 6);
}

#[test]
fn counts_that_are_only_claimed_cost_nothing() {
    let bytes = golden();
    let counts = Summary::LAYOUT.iter().filter(|(_, size)| *size <= 8).skip(3);
    for (name, _) in counts {
        for value in [GIB, u64::MAX] {
            let mut forged = bytes.clone();
            put(&mut forged, 0, Summary::LAYOUT, name, value);
            reseal_summary(&mut forged);
            assert!(cost(&forged) < LITTLE, "{name} = {value}");
        }
    }
}

#[test]
fn a_schema_that_claims_much_costs_nothing() {
    let mut record = schema("game::Tree").encode();
    record[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let info = measure(|| assert!(Schema::decode(&record, &Limits::default()).is_err()));
    assert!(info.bytes_max < 1024, "{info:?}");
}

/// A package with one object, whose data is the given bytes and is said to be a frame of `raw_size` bytes.
fn framed(stored: &[u8], raw_size: u64) -> Vec<u8> {
    let mut writer = PackageWriter::new("a.pkg");
    let class = writer.class(&schema("game::Point")).unwrap();
    let object = NewExport {
        codec: Codec::None,
        ..plain("A", class, stored)
    };
    writer.export(object).unwrap();
    let mut bytes = writer.finish().unwrap();
    let summary = summary_of(&bytes);
    put_export(&mut bytes, 1, "codec", 2);
    put_export(&mut bytes, 1, "raw_size", raw_size);
    reseal_tables(&mut bytes, &summary);
    bytes
}

/// A frame with a content size, a window unless it is one segment, and these bytes behind.
fn frame(content_size: u64, window: Option<u8>, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd];
    match window {
        None => frame.push(0b1110_0000),
        Some(window) => frame.extend([0b1100_0000, window]),
    }
    frame.extend(content_size.to_le_bytes());
    frame.extend(rest);
    frame
}

#[test]
fn frames_that_claim_much_cost_nothing() {
    let noise = [0x55; 900];
    // The largest size that so few bytes could stand for, and sizes that they could not.
    let possible = 900 * 32_768;
    for raw_size in [1000, possible, GIB, u64::MAX] {
        for content_size in [raw_size, GIB, u64::MAX] {
            for window in [None, Some(0), Some(20 << 3), Some(0xff)] {
                let file = framed(&frame(content_size, window, &noise), raw_size);
                let cost = cost(&file);
                assert!(cost < LITTLE, "{raw_size}, {content_size}, {window:?}: {cost}");
            }
        }
    }
}

/// One compressed block: as many sequences of one literal and a match of at least 65 539 bytes, for two bytes of the file each.
fn long_matches(sequences: u32) -> Vec<u8> {
    // The literals: one byte, repeated.
    let literals = (1 | 3 << 2 | sequences << 4).to_le_bytes();
    let mut block = [&literals[..3], b"x"].concat();
    block.extend([128 + (sequences >> 8) as u8, sequences as u8]);
    // All three tables hold one symbol: one literal, the offset before, the longest match.
    block.extend([0b0101_0100, 1, 0, 52]);
    // The extra length of each match, and the bit that ends them.
    block.resize(block.len() + 2 * sequences as usize, 0);
    block.push(1);
    let header = (1 | 2 << 1 | (block.len() as u32) << 3).to_le_bytes();
    [&header[..3], &block[..]].concat()
}

#[test]
fn a_block_that_decodes_to_megabytes_is_stopped() {
    let file = |sequences, raw_size| framed(&frame(raw_size, Some(7 << 3), &long_matches(sequences)), raw_size);
    let small = file(1, 65_540);
    let package = Package::parse(&small, &Limits::default()).unwrap();
    assert_eq!(*package.export_data(1, &small, 0).unwrap(), [b'x'; 65_540]);
    // 440 of them would be 29 MB out of one block, which may have 128 KiB.
    let large = file(440, 440 * 65_540);
    let package = Package::parse(&large, &Limits::default()).unwrap();
    let error = package.export_data(1, &large, 0).unwrap_err();
    assert!(matches!(error, PackageError::Decompress { .. }), "{error}");
    assert!(cost(&large) < LITTLE);
}

/// A frame of blocks that are one byte each, repeated to 128 KiB.
fn repeated(blocks: u32, window: Option<u8>) -> Vec<u8> {
    let block = |block| {
        [
            &(u32::from(block + 1 == blocks) | 1 << 1 | (128 << 10) << 3).to_le_bytes()[..3],
            b"x",
        ]
        .concat()
    };
    let raw_size = u64::from(blocks) << 17;
    framed(
        &frame(raw_size, window, &(0..blocks).flat_map(block).collect::<Vec<_>>()),
        raw_size,
    )
}

#[test]
fn a_window_is_not_as_large_as_what_it_looks_on() {
    const MIB: u64 = 1 << 20;
    // 2 KiB stand for 64 MiB, at the limit of what blocks can be. Nothing has to look so far back.
    for window in [None, Some(16 << 3), Some(14 << 3)] {
        let bomb = repeated(512, window);
        let package = Package::parse(&bomb, &no_limits()).unwrap();
        let error = package.export_data(1, &bomb, 0).unwrap_err();
        assert!(matches!(error, PackageError::Decompress { .. }), "{error}");
        assert!(cost(&bomb) < LITTLE, "{window:?}: {}", cost(&bomb));
    }
    // With the largest window that the writer asks for, of 4 MiB, the bytes are taken once, and the window.
    let file = repeated(512, Some(12 << 3));
    let package = Package::parse(&file, &no_limits()).unwrap();
    assert!(
        package
            .export_data(1, &file, 0)
            .unwrap()
            .iter()
            .all(|byte| *byte == b'x')
    );
    let cost = cost(&file);
    assert!(cost < (64 + 32 + 16) * MIB, "{cost}");
    // One segment is its own window.
    let one = repeated(16, None);
    let package = Package::parse(&one, &no_limits()).unwrap();
    assert_eq!(package.export_data(1, &one, 0).unwrap().len(), 2 << 20);
}

#[test]
fn opening_takes_no_memory_per_export() {
    let package = |exports: usize| {
        let mut writer = PackageWriter::new("a.pkg");
        let class = writer.class(&schema("game::Point")).unwrap();
        for index in 0..exports {
            writer
                .export(plain(&format!("object {index}"), class, b"data"))
                .unwrap();
        }
        writer.finish().unwrap()
    };
    let allocations = |bytes: &[u8]| measure(|| drop(verify(bytes).unwrap())).count_total;
    assert_eq!(allocations(&package(10)), allocations(&package(1000)));
}
