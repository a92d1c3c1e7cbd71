//! What goes over the wire, in bytes, against the same with paths.

use super::*;

#[test]
fn a_handshake_over_a_thousand_packages_takes_23_bytes() {
    let (here, there) = (list(1000), list(1000));
    let (mut sender, mut receiver) = (Handshake::new(), Side::new(&here));
    let offer = offer(&mut sender, &there);
    let (_, accept) = receiver.receive(&offer).unwrap();
    assert_eq!((offer.len(), accept.len()), (12, 11));
}

#[test]
fn numbers_take_one_to_three_bytes() {
    let map = full(700);
    let (sender, receiver) = agreed(&map, &map);
    let (mut encoder, mut decoder) = (RefEncoder::new(), RefDecoder::new());
    let mut length = |package, export| {
        let mut out = Vec::new();
        let id = Some(object(package, export));
        encoder.encode(&map, &sender, id, &mut out).unwrap();
        decoder.decode(&map, &receiver, &mut &out[..]).unwrap();
        let mut acknowledgement = Vec::new();
        if decoder.acknowledge(&mut acknowledgement) {
            assert!(acknowledgement.len() <= 4);
            encoder.acknowledged(&mut &acknowledgement[..]).unwrap();
        }
        out.len()
    };
    let mut longest_full = 0;
    for number in 0..NUMBERS {
        longest_full = longest_full.max(length(number / EXPORTS, number % EXPORTS));
    }
    assert_eq!(longest_full, 6);
    for number in 0..NUMBERS {
        let expected = match number {
            0..64 => 1,
            64..8192 => 2,
            _ => 3,
        };
        assert_eq!(length(number / EXPORTS, number % EXPORTS), expected);
    }
}

/// Bytes per reference, ours and as path, acknowledgements included: 5 000 objects of 200 levels, each mentioned so often.
fn bytes_for(mentions: u32) -> (usize, usize) {
    let map = full(200);
    let (sender, receiver) = agreed(&map, &map);
    let (mut encoder, mut decoder) = (RefEncoder::new(), RefDecoder::new());
    let (mut ours, mut paths) = (0, 0);
    for round in 0..mentions {
        for at in 0..5000 {
            let (package, export) = (at * 7 % 200, (at / 200 + round % 2) % EXPORTS);
            let mut out = Vec::new();
            let id = Some(object(package, export));
            encoder.encode(&map, &sender, id, &mut out).unwrap();
            decoder.decode(&map, &receiver, &mut &out[..]).unwrap();
            ours += out.len();
            // One byte for its length.
            paths += 1 + format!("{}#Scene0/Node{export}~2", path(package)).len();
            if at % 50 == 49 {
                out.clear();
                if decoder.acknowledge(&mut out) {
                    ours += out.len();
                    encoder.acknowledged(&mut &out[..]).unwrap();
                }
            }
        }
    }
    (ours, paths)
}

#[test]
fn references_are_less_than_an_eighth_of_their_paths() {
    let (once, paths) = bytes_for(1);
    assert!(once * 8 < paths, "mentioned once: {once} of {paths} bytes");
    let (ours, paths) = bytes_for(10);
    assert!(ours * 16 < paths, "mentioned ten times: {ours} of {paths} bytes");
}
