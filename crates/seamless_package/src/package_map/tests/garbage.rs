//! Bytes that nobody wrote, and bytes that somebody wrote and changed: never a panic, never much memory.

use super::super::varint;
use super::*;
use proptest::prelude::*;

/// Random bytes, small numbers more often than large ones.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![0..8_u8, any::<u8>()], 0..60)
}

/// Messages with the shape of references, about what may exist or not.
fn references() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![0..40_u32, 0..3000_u32, any::<u32>()];
    prop::collection::vec(number, 0..60).prop_map(|numbers| {
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| varint::write(&mut bytes, *number));
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn the_handshake_takes_anything(messages in prop::collection::vec(bytes(), 0..8), kinds in any::<u64>()) {
        let map = list(10);
        let mut side = Side::new(&map);
        for (at, mut message) in messages.into_iter().enumerate() {
            if let Some(kind) = message.first_mut() {
                *kind = (kinds >> (2 * at)) as u8 % 4 + 1;
            }
            let mut reply = Vec::new();
            let result = side.handshake.receive(&map, &message, &mut reply);
            prop_assert!(reply.len() <= 8192);
            prop_assert!(result.is_ok() || reply.is_empty());
            prop_assert!(side.handshake.accepted() <= 10 && side.handshake.verified() <= 10);
            side.handshake.difference(&map);
        }
    }

    #[test]
    fn a_connection_takes_any_packets(packets in prop::collection::vec((0..5_u8, bytes()), 0..12)) {
        let map = list(3);
        let (_, mut side) = super::connection::connected(&map);
        for (kind, rest) in packets {
            let packet = [&[kind][..], &rest].concat();
            let (mut reply, mut answer) = (Vec::new(), Vec::new());
            match side.receive(&map, &packet, &mut reply) {
                Ok(Received::Message { refs, body, .. }) => {
                    prop_assert!(refs.len() + body.len() < packet.len());
                    let known = |index: &ObjectIndex| index.package < 3 && index.export < EXPORTS;
                    prop_assert!(refs.iter().flatten().all(known));
                }
                Ok(_) => {}
                Err(_) => prop_assert!(reply.is_empty()),
            }
            side.acknowledge(&mut answer);
            prop_assert!(reply.len() <= 8193 && answer.len() < 200);
        }
    }

    #[test]
    fn changed_lists_are_refused_or_understood(
        from in 0..12_u32,
        change in any::<(prop::sample::Index, u8)>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let map = list(10);
        let mut message = Vec::new();
        super::super::message::write_list(&mut message, &list(20), from, list(from).whole_digest(), 8192);
        let at = change.0.index(message.len());
        message[at] ^= change.1;
        message.truncate(cut.index(message.len() + 1));
        let mut side = Side::new(&map);
        if let Ok((Some(HandshakeEvent::PeerListsMore { packages }), _)) = side.receive(&message) {
            prop_assert!(packages.len() <= 10);
        }
    }

    #[test]
    fn the_decoder_takes_anything(messages in prop::collection::vec(prop_oneof![bytes(), references()], 0..8)) {
        let map = list(10);
        let (_, handshake) = agreed(&map, &map);
        let mut decoder = RefDecoder::new();
        for message in &messages {
            let mut rest = &message[..];
            while !rest.is_empty() {
                let before = rest.len();
                match decoder.decode(&map, &handshake, &mut rest) {
                    Ok(reference) => {
                        prop_assert!(rest.len() < before);
                        prop_assert!(reference.is_none_or(|object| object.package < 10 && object.export < EXPORTS));
                    }
                    Err(_) => {
                        prop_assert_eq!(rest.len(), before);
                        break;
                    }
                }
            }
            let mut acknowledgement = Vec::new();
            decoder.acknowledge(&mut acknowledgement);
            prop_assert!(acknowledgement.len() <= 5 + 2 + 128);
        }
    }

    #[test]
    fn the_encoder_takes_any_acknowledgement(acknowledgements in prop::collection::vec(bytes(), 0..8), sent in 0..100_u32) {
        let map = full(1);
        let (handshake, other) = agreed(&map, &map);
        let mut encoder = RefEncoder::new();
        let mut message = Vec::new();
        for export in 0..sent {
            encoder.encode(&map, &handshake, Some(object(0, export)), &mut message).unwrap();
        }
        for bytes in &acknowledgements {
            let open = encoder.unacknowledged();
            let mut rest = &bytes[..];
            match encoder.acknowledged(&mut rest) {
                Ok(()) => prop_assert!(rest.len() < bytes.len() && encoder.unacknowledged() <= open),
                Err(_) => prop_assert_eq!((rest.len(), encoder.unacknowledged()), (bytes.len(), open)),
            }
        }
        // Whatever it believes now, a peer that got everything understands it.
        let mut decoder = RefDecoder::new();
        let mut rest = &message[..];
        for export in 0..sent {
            prop_assert_eq!(decoder.decode(&map, &other, &mut rest), Ok(Some(index(0, export))));
        }
        for export in 0..sent {
            let mut again = Vec::new();
            encoder.encode(&map, &handshake, Some(object(0, export)), &mut again).unwrap();
            prop_assert_eq!(decoder.decode(&map, &other, &mut &again[..]), Ok(Some(index(0, export))));
        }
    }
}
