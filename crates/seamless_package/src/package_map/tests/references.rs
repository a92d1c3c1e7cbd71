//! References out and in: forms, numbers, acknowledgements.

use super::super::{varint, wire};
use super::*;

/// Two sides that have agreed, from the first to the second.
struct Link {
    map: PackageMap,
    sender: Handshake,
    receiver: Handshake,
    encoder: RefEncoder,
    decoder: RefDecoder,
}

impl Link {
    fn new(packages: u32) -> Self {
        let map = full(packages);
        let (sender, receiver) = agreed(&map, &map);
        Self {
            map,
            sender,
            receiver,
            encoder: RefEncoder::new(),
            decoder: RefDecoder::new(),
        }
    }

    fn encode(&mut self, object: Option<ObjectId>) -> Vec<u8> {
        let mut out = Vec::new();
        self.encoder.encode(&self.map, &self.sender, object, &mut out).unwrap();
        out
    }

    /// Decodes one reference that is all of `bytes`.
    fn decode(&mut self, mut bytes: &[u8]) -> Result<Option<ObjectIndex>, DecodeError> {
        let whole = bytes;
        let reference = self.decoder.decode(&self.map, &self.receiver, &mut bytes);
        match reference {
            Ok(_) => assert!(bytes.is_empty(), "{bytes:?} of {whole:?} are left"),
            Err(_) => assert_eq!(bytes, whole, "an error moves nothing"),
        }
        reference
    }

    fn send(&mut self, object: Option<ObjectId>) -> (Vec<u8>, Option<ObjectIndex>) {
        let bytes = self.encode(object);
        let reference = self.decode(&bytes).unwrap();
        (bytes, reference)
    }

    fn acknowledgement(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        self.decoder.acknowledge(&mut out).then_some(out)
    }

    fn acknowledge(&mut self) {
        let bytes = self.acknowledgement().expect("something to acknowledge");
        self.encoder.acknowledged(&mut &bytes[..]).unwrap();
    }

    /// What the decoder says to a reference made of these numbers.
    fn refused(&mut self, numbers: &[u32]) -> DecodeError {
        let bytes = numbers_bytes(numbers);
        let error = self.decode(&bytes).unwrap_err();
        has_a_mend(&error);
        error
    }
}

fn numbers_bytes(numbers: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    numbers.iter().for_each(|number| varint::write(&mut bytes, *number));
    bytes
}

#[test]
fn a_reference_is_full_until_it_is_acknowledged() {
    let mut link = Link::new(3);
    let id = object(2, 33);
    assert_eq!(link.send(Some(id)), (vec![6, 2, 33], Some(index(2, 33))));
    assert_eq!(link.send(Some(id)), (vec![6, 2, 33], Some(index(2, 33))));
    assert_eq!(link.encoder.unacknowledged(), 1);
    link.acknowledge();
    assert_eq!(link.encoder.unacknowledged(), 0);
    assert_eq!(link.send(Some(id)), (vec![1], Some(index(2, 33))));
    assert_eq!(link.send(Some(object(0, 99))), (vec![8, 0, 99], Some(index(0, 99))));
    assert_eq!(link.send(None), (vec![0], None));
    assert_eq!(link.encoder.exported(), 2);
}

#[test]
fn references_stand_in_messages_of_the_game() {
    let mut link = Link::new(3);
    let mut message = b"<".to_vec();
    for object in [Some(object(1, 1)), None, Some(object(1, 2))] {
        link.encoder
            .encode(&link.map, &link.sender, object, &mut message)
            .unwrap();
    }
    message.push(b'>');
    let mut rest = &message[1..];
    let mut next = || link.decoder.decode(&link.map, &link.receiver, &mut rest).unwrap();
    assert_eq!((next(), next(), next()), (Some(index(1, 1)), None, Some(index(1, 2))));
    assert_eq!(rest, b">");
}

#[test]
fn an_acknowledgement_is_written_once_per_arrival() {
    let mut link = Link::new(1);
    assert_eq!(link.acknowledgement(), None);
    let (bytes, _) = link.send(Some(object(0, 0)));
    assert!(link.acknowledgement().is_some());
    assert_eq!(link.acknowledgement(), None);
    // It was lost, so the export comes again, and so does the acknowledgement.
    link.decode(&bytes).unwrap();
    link.acknowledge();
    link.send(Some(object(0, 0)));
    assert_eq!(link.acknowledgement(), None, "a number alone needs none");
}

#[test]
fn acknowledgements_name_what_came_out_of_order() {
    let mut link = Link::new(1);
    let messages: Vec<_> = (0..20).map(|export| link.encode(Some(object(0, export)))).collect();
    for at in [0, 1, 3, 12] {
        link.decode(&messages[at]).unwrap();
    }
    let early = link.acknowledgement().unwrap();
    // All below 2, and above: 3 (bit 1) and 12 (bit 2 of the next byte).
    assert_eq!(early, [2, 2, 0b10, 0b100]);
    link.encoder.acknowledged(&mut &early[..]).unwrap();
    assert_eq!(link.encoder.unacknowledged(), 16);
    assert_eq!(link.encode(Some(object(0, 3))), [7]);
    assert_eq!(link.encode(Some(object(0, 2))), [10, 0, 2]);
    for message in &messages[2..] {
        link.decode(message).unwrap();
    }
    link.acknowledge();
    assert_eq!(link.encoder.unacknowledged(), 0);
    // The early one again, doubled by the network: nothing is unlearned.
    link.encoder.acknowledged(&mut &early[..]).unwrap();
    assert_eq!(link.encode(Some(object(0, 2))), [5]);
}

#[test]
fn too_many_unacknowledged_objects_travel_without_a_number() {
    let mut link = Link::new(11);
    let objects: Vec<_> = (0..11)
        .flat_map(|package| (0..EXPORTS).map(move |export| (package, export)))
        .collect();
    let (numbered, rest) = objects.split_at(UNACKNOWLEDGED as usize);
    for (package, export) in numbered {
        link.send(Some(object(*package, *export)));
    }
    let (package, export) = rest[0];
    let id = object(package, export);
    // The oldest one goes along.
    assert_eq!(link.send(Some(id)).0, [4, package as u8, export as u8, 0, 0, 0]);
    assert_eq!(link.encoder.exported(), UNACKNOWLEDGED);
    link.acknowledge();
    let (bytes, reference) = link.send(Some(id));
    assert_eq!(bytes, numbers_bytes(&[2 * UNACKNOWLEDGED + 6, package, export]));
    assert_eq!(reference, Some(index(package, export)));
}

#[test]
fn numbers_run_out_and_references_still_arrive() {
    let packages = NUMBERS / EXPORTS + 2;
    let mut link = Link::new(packages);
    let mut last = Vec::new();
    for package in 0..packages {
        for export in 0..EXPORTS {
            let (bytes, reference) = link.send(Some(object(package, export)));
            assert_eq!(reference, Some(index(package, export)));
            last = bytes;
        }
        if link.encoder.unacknowledged() > 0 {
            link.acknowledge();
        }
    }
    assert_eq!(link.encoder.exported(), NUMBERS);
    assert_eq!(last, numbers_bytes(&[2, packages - 1, EXPORTS - 1]));
    let (number, end) = (NUMBERS, NUMBERS);
    let error = link.refused(&[2 * number + 6, packages - 1, EXPORTS - 1]);
    assert_eq!(error, DecodeError::NumberTooHigh { number, end });
    let last_number = object((NUMBERS - 1) / EXPORTS, (NUMBERS - 1) % EXPORTS);
    assert_eq!(link.encode(Some(last_number)), numbers_bytes(&[2 * NUMBERS - 1]));
}

#[test]
fn only_what_both_sides_have_is_sent() {
    let map = full(3);
    let mut encoder = RefEncoder::new();
    let (sender, _) = agreed(&map, &list(2));
    let mut out = Vec::new();
    let id = object(3, 0);
    let unknown = encoder.encode(&map, &sender, Some(id), &mut out).unwrap_err();
    assert_eq!(unknown, EncodeError::UnknownObject { id });
    let early = encoder.encode(&map, &sender, Some(object(2, 0)), &mut out).unwrap_err();
    let path = path(2).into();
    let (package, accepted) = (2, 2);
    assert_eq!(
        early,
        EncodeError::NotAccepted {
            path,
            package,
            accepted
        }
    );
    assert!(out.is_empty());
    assert_eq!(encoder.exported(), 0);
    has_a_mend(&unknown);
    has_a_mend(&early);
    let none_yet = encoder.encode(&map, &Handshake::new(), Some(object(0, 0)), &mut out);
    assert!(matches!(none_yet, Err(EncodeError::NotAccepted { accepted: 0, .. })));
}

#[test]
fn unknown_numbers_are_refused() {
    let mut link = Link::new(2);
    assert_eq!(
        link.refused(&[wire::short(0)]),
        DecodeError::UnknownNumber { number: 0 }
    );
    link.send(Some(object(0, 0)));
    let second = link.encode(Some(object(0, 1)));
    let third = link.encode(Some(object(0, 2)));
    link.decode(&third).unwrap();
    assert_eq!(
        link.refused(&[wire::short(1)]),
        DecodeError::UnknownNumber { number: 1 }
    );
    link.decode(&second).unwrap();
    assert_eq!(link.decode(&numbers_bytes(&[wire::short(1)])), Ok(Some(index(0, 1))));
    let number = u32::MAX / 2;
    assert_eq!(link.refused(&[u32::MAX]), DecodeError::UnknownNumber { number });
}

#[test]
fn numbers_far_ahead_are_refused() {
    let mut link = Link::new(2);
    let full = |number: u32| [2 * number + 6, 0, 0];
    let end = UNACKNOWLEDGED;
    let number = end;
    assert_eq!(link.refused(&full(number)), DecodeError::NumberTooHigh { number, end });
    let number = u32::MAX / 2 - 3;
    assert_eq!(link.refused(&full(number)), DecodeError::NumberTooHigh { number, end });
    link.decode(&numbers_bytes(&full(end - 1))).unwrap();
}

#[test]
fn contradicting_exports_are_refused() {
    let mut link = Link::new(2);
    link.decode(&numbers_bytes(&[6, 0, 7])).unwrap();
    let error = link.refused(&[6, 0, 8]);
    let (first, second) = (index(0, 7), index(0, 8));
    assert_eq!(
        error,
        DecodeError::NumberTwice {
            number: 0,
            first,
            second
        }
    );
    let error = link.refused(&[8, 0, 7]);
    let object = index(0, 7);
    let (first, second) = (0, 1);
    assert_eq!(error, DecodeError::ObjectTwice { object, first, second });
    assert_eq!(link.decode(&numbers_bytes(&[1])), Ok(Some(index(0, 7))));
}

#[test]
fn contradicting_repetitions_are_refused() {
    let mut link = Link::new(2);
    link.decode(&numbers_bytes(&[6, 0, 7])).unwrap();
    let (package, verified) = (2, 2);
    let unknown = DecodeError::UnknownPackage { package, verified };
    assert_eq!(link.refused(&[4, 2, 0, 1, 0, 8]), unknown);
    assert_eq!(link.refused(&[4, 0, 0, 1, 2, 0]), unknown);
    let number = 0;
    let (first, second) = (index(0, 7), index(0, 8));
    let twice = DecodeError::NumberTwice { number, first, second };
    assert_eq!(link.refused(&[4, 0, 0, 0, 0, 8]), twice);
    let (number, end) = (1 + UNACKNOWLEDGED, 1 + UNACKNOWLEDGED);
    let high = DecodeError::NumberTooHigh { number, end };
    assert_eq!(link.refused(&[4, 0, 0, number, 0, 8]), high);
    // Nothing was learned from these.
    assert_eq!(link.refused(&[3]), DecodeError::UnknownNumber { number: 1 });
    assert_eq!(link.decode(&numbers_bytes(&[4, 0, 9, 1, 0, 8])), Ok(Some(index(0, 9))));
    assert_eq!(link.decode(&numbers_bytes(&[3])), Ok(Some(index(0, 8))));
}

#[test]
fn places_outside_of_the_agreed_list_are_refused() {
    let mut link = Link::new(2);
    let (package, verified) = (2, 2);
    assert_eq!(
        link.refused(&[6, 2, 0]),
        DecodeError::UnknownPackage { package, verified }
    );
    assert_eq!(
        link.refused(&[2, 2, 0]),
        DecodeError::UnknownPackage { package, verified }
    );
    let error = link.refused(&[6, 1, EXPORTS]);
    let path = path(1).into();
    let (export, count) = (EXPORTS, EXPORTS);
    assert_eq!(error, DecodeError::UnknownExport { path, export, count });
    // In the list here, but not agreed with this peer.
    link.receiver = Handshake::new();
    let (package, verified) = (0, 0);
    assert_eq!(
        link.refused(&[6, 0, 0]),
        DecodeError::UnknownPackage { package, verified }
    );
}

#[test]
fn numbers_have_one_form() {
    let mut link = Link::new(1);
    for value in [0, 1, 127, 128, 16_383, 16_384, u32::MAX - 1, u32::MAX] {
        let bytes = numbers_bytes(&[value]);
        let mut cursor = crate::Cursor::new(&bytes);
        assert_eq!(varint::read(&mut cursor), Ok(value));
        assert_eq!(cursor.remaining(), 0);
    }
    let spare: [&[u8]; 4] = [
        &[0x80, 0],
        &[0x81, 0x80, 0],
        &[0xff, 0xff, 0xff, 0xff, 0x10],
        &[0x80, 0x80, 0x80, 0x80, 0x80, 1],
    ];
    for bytes in spare {
        let error = link.decode(bytes).unwrap_err();
        assert!(
            matches!(error, DecodeError::Record(CursorError::Value { .. })),
            "{error}"
        );
        has_a_mend(&error);
    }
    for cut in [&[][..], &[0x80], &[6], &[6, 0], &[6, 0, 0x80], &[4, 0, 0, 1, 0]] {
        let error = link.decode(cut).unwrap_err();
        assert!(matches!(error, DecodeError::Record(CursorError::End { .. })), "{error}");
    }
}

#[test]
fn acknowledgements_of_what_was_never_sent_are_refused() {
    let mut link = Link::new(1);
    link.send(Some(object(0, 0)));
    link.send(Some(object(0, 1)));
    let sent = 2;
    let forged: [(&[u8], u32); 4] = [
        (&[3, 0], 2),
        (&[0, 1, 0b110], 2),
        (&[2, 1, 1], 2),
        (&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0xff], u32::MAX - 1),
    ];
    for (bytes, number) in forged {
        let mut rest = bytes;
        let error = link.encoder.acknowledged(&mut rest).unwrap_err();
        assert_eq!(error, AckError::Unsent { number, sent });
        has_a_mend(&error);
        assert_eq!((rest, link.encoder.unacknowledged()), (bytes, 2), "nothing has changed");
    }
}

#[test]
fn acknowledgements_that_are_none_are_refused() {
    let mut encoder = RefEncoder::new();
    for cut in [&[][..], &[0], &[0, 1], &[0x80]] {
        let error = encoder.acknowledged(&mut &cut[..]).unwrap_err();
        assert!(matches!(error, AckError::Record(CursorError::End { .. })), "{error}");
        has_a_mend(&error);
    }
    let long = [&[0, 129, 1][..], &[0; 129]].concat();
    let error = encoder.acknowledged(&mut &long[..]).unwrap_err();
    let found = 129;
    assert!(matches!(error, AckError::Record(CursorError::Count { limit: 128, found: f, .. }) if f == found));
    let mut with_more = &[0, 1, 0, 77][..];
    encoder.acknowledged(&mut with_more).unwrap();
    assert_eq!(with_more, [77]);
}
