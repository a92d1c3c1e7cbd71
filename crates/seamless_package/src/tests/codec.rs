//! Payloads in Zstandard frames: what comes back, and what forged frames do.

use super::*;
use crate::codec::{check_sizes, unpack};
use proptest::collection::vec;
use proptest::prelude::*;

fn place() -> Place {
    Place::File
}

/// A frame as a hostile writer makes it: single segment, with the content size as 8 bytes, then these blocks.
fn frame(content_size: u64, blocks: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0b1110_0000];
    frame.extend(content_size.to_le_bytes());
    frame.extend(blocks);
    frame
}

/// A block of one byte, repeated.
fn repeated(last: bool, byte: u8, len: u32) -> [u8; 4] {
    let [a, b, c, _] = (u32::from(last) | 1 << 1 | len << 3).to_le_bytes();
    [a, b, c, byte]
}

fn is_refused(frame: &[u8], raw_size: u64) -> bool {
    let error = unpack(frame, Codec::Zstd, raw_size, place).unwrap_err();
    error
        == PackageError::Decompress {
            place: place(),
            raw_size,
        }
}

#[test]
fn frames_hold_exactly_what_was_promised() {
    let good = frame(100, &repeated(true, 5, 100));
    assert_eq!(*unpack(&good, Codec::Zstd, 100, place).unwrap(), [5; 100]);
    assert!(is_refused(&good, 99) && is_refused(&good, 101));
    assert!(is_refused(&frame(100, &repeated(true, 5, 99)), 100), "too little");
    assert!(is_refused(&frame(100, &repeated(true, 5, 101)), 100), "too much");
    let twice = [repeated(false, 5, 100), repeated(true, 5, 100)].concat();
    assert!(is_refused(&frame(100, &twice), 100), "too much, in two blocks");
    let trailing = [&good[..], b"x"].concat();
    assert!(is_refused(&trailing, 100), "bytes behind the frame");
    let two = [&good[..], &good[..]].concat();
    assert!(is_refused(&two, 200), "two frames");
    for len in 0..good.len() {
        assert!(is_refused(&good[..len], 100), "cut off at {len}");
    }
}

#[test]
fn frames_have_no_extras() {
    let mut extra = frame(100, &repeated(true, 5, 100));
    extra[4] |= 0b0000_0100;
    extra.extend([0; 4]);
    assert!(is_refused(&extra, 100), "a checksum of its own");
    let mut dictionary = frame(100, &repeated(true, 5, 100));
    dictionary[4] |= 1;
    dictionary.insert(5, 0);
    assert!(is_refused(&dictionary, 100), "a dictionary");
    let skippable = [
        &[0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0][..],
        &frame(100, &repeated(true, 5, 100)),
    ]
    .concat();
    assert!(is_refused(&skippable, 100), "a skippable frame in front");
    // A window of 1 TiB and a bit, content size in 8 bytes.
    let mut window = vec![0x28, 0xb5, 0x2f, 0xfd, 0b1100_0000, 30 << 3];
    window.extend(100_u64.to_le_bytes());
    window.extend(repeated(true, 5, 100));
    assert!(is_refused(&window, 100), "a huge window");
    window[5] = 7 << 3;
    assert_eq!(
        *unpack(&window, Codec::Zstd, 100, place).unwrap(),
        [5; 100],
        "128 KiB are fine"
    );
}

#[test]
fn large_payloads_come_back() {
    // Larger than the window of the level that the writer uses, and barely compressible.
    let mut state = 1_u64;
    let mut noise = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 60) as u8
    };
    let raw: Vec<u8> = (0..9 << 20).map(&mut noise).collect();
    let packed = Packed::new(raw.clone(), Codec::Zstd);
    assert_eq!(packed.codec, Codec::Zstd);
    check_sizes(Codec::Zstd, packed.stored.len() as u64, packed.raw_size).unwrap();
    let back = unpack(&packed.stored, Codec::Zstd, packed.raw_size, place).unwrap();
    assert!(*back == raw);
}

#[test]
fn the_best_ratio_is_possible() {
    let raw = vec![0; 16 << 20];
    for codec in [Codec::Lz4, Codec::Zstd] {
        let packed = Packed::new(raw.clone(), codec);
        assert_eq!(packed.codec, codec);
        check_sizes(codec, packed.stored.len() as u64, packed.raw_size).unwrap();
        assert!(*unpack(&packed.stored, codec, packed.raw_size, place).unwrap() == raw);
    }
}

#[test]
fn sizes_must_be_possible() {
    assert!(check_sizes(Codec::Zstd, 1000, 1 << 30).is_err());
    assert!(check_sizes(Codec::Zstd, 1000, 1000).is_err());
    assert!(check_sizes(Codec::Zstd, 1000, 32_768_000).is_ok());
    assert!(check_sizes(Codec::Zstd, 1000, 32_768_001).is_err());
    assert!(check_sizes(Codec::Zstd, u64::MAX - 1, u64::MAX).is_ok());
}

/// Bytes with structure, so that frames have all kinds of blocks, literals and sequences.
fn structured() -> impl Strategy<Value = Vec<u8>> {
    let run = prop_oneof![
        vec(any::<u8>(), 0..60),
        (any::<u8>(), 0..300_usize).prop_map(|(byte, len)| vec![byte; len]),
        vec(0..4_u8, 0..400),
        (0..9_usize).prop_map(|many| b"the quick brown fox ".repeat(many)),
    ];
    vec(run, 0..12).prop_map(|runs| runs.concat())
}

proptest! {
    #[test]
    fn what_is_packed_is_unpacked(raw in structured(), zstd: bool) {
        let codec = if zstd { Codec::Zstd } else { Codec::Lz4 };
        let packed = Packed::new(raw.clone(), codec);
        prop_assert!(check_sizes(packed.codec, packed.stored.len() as u64, packed.raw_size).is_ok());
        let back = unpack(&packed.stored, packed.codec, packed.raw_size, place).unwrap();
        prop_assert_eq!(&*back, &raw[..]);
    }

    #[test]
    fn forged_frames_are_an_error_or_have_the_right_size(
        raw in structured(), changes in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut stored = zstd::bulk::compress(&raw, 3).unwrap();
        for (at, byte) in changes {
            let at = 5 + at.index(stored.len() - 5);
            stored[at] = byte;
        }
        if let Ok(back) = unpack(&stored, Codec::Zstd, raw.len() as u64, place) {
            prop_assert_eq!(back.len(), raw.len());
        }
    }
}
