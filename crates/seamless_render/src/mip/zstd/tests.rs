use super::unpack;

/// Bytes that pack well, and are not all the same.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 97) as u8).collect()
}

#[test]
fn what_was_packed_comes_back() {
    for length in [0, 1, 1000, 300_000] {
        let raw = bytes(length);
        for level in [1, 19] {
            let frame = zstd::encode_all(&*raw, level).unwrap();
            assert_eq!(
                unpack(&frame, length as u64).as_ref(),
                Some(&raw),
                "{length} bytes, level {level}"
            );
        }
    }
}

#[test]
fn other_sizes_are_refused() {
    let frame = zstd::encode_all(&*bytes(300_000), 3).unwrap();
    for size in [0, 1, 299_999, 300_001, 1 << 20, 1 << 40, u64::MAX] {
        assert_eq!(unpack(&frame, size), None, "{size}");
    }
}

#[test]
fn any_bytes_are_no_panic() {
    let frame = zstd::encode_all(&*bytes(5000), 3).unwrap();
    for length in 0..frame.len() {
        assert_eq!(unpack(&frame[..length], 5000), None, "the first {length} bytes");
    }
    for at in 0..frame.len() {
        for bit in 0..8 {
            let mut other = frame.clone();
            other[at] ^= 1 << bit;
            let unpacked = unpack(&other, 5000);
            assert!(unpacked.is_none_or(|raw| raw.len() == 5000), "bit {bit} of byte {at}");
        }
    }
}
