//! Both sides of a connection as packets.

use super::*;

/// Gives `packet` to `to`, and what that answers back to `from`, until nobody answers.
fn exchange(from: (&mut Connection, &PackageMap), to: (&mut Connection, &PackageMap), packet: Vec<u8>) {
    let (mut sender, mut receiver) = (from, to);
    let mut packet = packet;
    while !packet.is_empty() {
        let mut reply = Vec::new();
        receiver.0.receive(receiver.1, &packet, &mut reply).unwrap();
        packet = reply;
        std::mem::swap(&mut sender, &mut receiver);
    }
}

fn offer_packet(connection: &mut Connection, map: &PackageMap) -> Vec<u8> {
    let mut packet = Vec::new();
    connection.offer(map, &mut packet);
    packet
}

/// Two sides that have agreed: the sender and the receiver.
pub(super) fn connected(map: &PackageMap) -> (Connection, Connection) {
    let (mut a, mut b) = (Connection::new(), Connection::new());
    let packet = offer_packet(&mut a, map);
    exchange((&mut a, map), (&mut b, map), packet);
    assert_eq!(
        (a.handshake().accepted(), b.handshake().verified()),
        (map.len(), map.len())
    );
    (a, b)
}

fn message(from: &mut Connection, map: &PackageMap, refs: &[Option<ObjectId>], body: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    from.message(map, 300, refs, body, &mut packet).unwrap();
    packet
}

#[test]
fn messages_shrink_once_their_references_are_acknowledged() {
    let map = full(3);
    let (mut sender, mut receiver) = connected(&map);
    let refs = [Some(object(2, 90)), None, Some(object(0, 1))];
    let mut lengths = Vec::new();
    for _ in 0..2 {
        let packet = message(&mut sender, &map, &refs, b"open");
        lengths.push(packet.len());
        let received = receiver.receive(&map, &packet, &mut Vec::new()).unwrap();
        let expected = Received::Message {
            channel: 300,
            refs: vec![Some(index(2, 90)), None, Some(index(0, 1))],
            body: b"open",
        };
        assert_eq!(received, expected);
        let mut packet = Vec::new();
        if receiver.acknowledge(&mut packet) {
            let received = sender.receive(&map, &packet, &mut Vec::new());
            assert_eq!(received, Ok(Received::Acknowledgement));
        }
    }
    // Kind, two bytes of channel, count, three references, body.
    assert_eq!(lengths, [4 + 3 + 1 + 3 + 4, 4 + 1 + 1 + 1 + 4]);
    assert_eq!((sender.encoder().exported(), sender.encoder().unacknowledged()), (2, 0));
    let mut nothing = Vec::new();
    assert!(!receiver.acknowledge(&mut nothing) && nothing.is_empty());
}

#[test]
fn a_message_that_cannot_be_sent_leaves_no_bytes() {
    let map = full(1);
    let (mut sender, _) = connected(&map);
    let mut packet = b"before".to_vec();
    let refs = [Some(object(0, 1)), Some(object(7, 7))];
    let error = sender.message(&map, 0, &refs, b"body", &mut packet);
    assert_eq!(error, Err(EncodeError::UnknownObject { id: object(7, 7) }));
    assert_eq!(packet, b"before");
    assert_eq!(
        sender.encoder().exported(),
        0,
        "no number is taken for what is not sent"
    );
}

/// Each kind of fault, as a packet.
#[test]
fn faults_of_every_part_are_told() {
    let map = full(1);
    let (mut sender, mut receiver) = connected(&map);
    let mut refused = |packet: &[u8]| {
        let mut reply = Vec::new();
        let error = receiver.receive(&map, packet, &mut reply).unwrap_err();
        assert!(reply.is_empty(), "{error}");
        has_a_mend(&error);
        error
    };
    for packet in [&[][..], &[0], &[9, 1], &[3], &[3, 0, 1], &[2, 0, 0, 7]] {
        assert!(matches!(refused(packet), ConnectionError::Record(_)), "{packet:?}");
    }
    assert!(matches!(
        refused(&[3, 0, 0xff, 0xff, 3, 0]),
        ConnectionError::Record(CursorError::Count {
            limit: 1,
            found: 0xffff,
            ..
        })
    ));
    assert!(matches!(
        refused(&[1]),
        ConnectionError::Handshake(HandshakeError::Record(_))
    ));
    assert!(matches!(
        refused(&[3, 0, 1, 2, 5, 0]),
        ConnectionError::Reference(DecodeError::UnknownPackage { package: 5, .. })
    ));
    assert!(matches!(
        refused(&[2, 9, 0]),
        ConnectionError::Acknowledgement(AckError::Unsent { .. })
    ));
    // It goes on as if nothing had been.
    let packet = message(&mut sender, &map, &[Some(object(0, 5))], b"");
    assert!(receiver.receive(&map, &packet, &mut Vec::new()).is_ok());
}

#[test]
fn lists_that_differ_are_told_by_name() {
    let (here, mut other) = (full(2), PackageMap::new(MapLimits::default()));
    other.add_package(info(0)).unwrap();
    other.add_package(PackageInfo::new(path(1), 7, EXPORTS)).unwrap();
    let (mut sender, mut receiver) = (Connection::new(), Connection::new());
    let (mut reply, mut list) = (Vec::new(), Vec::new());
    let offer = offer_packet(&mut sender, &here);
    receiver.receive(&other, &offer, &mut reply).unwrap();
    sender.receive(&here, &reply, &mut list).unwrap();
    let error = receiver.receive(&other, &list, &mut Vec::new()).unwrap_err();
    let ConnectionError::Handshake(HandshakeError::Mismatch(Mismatch::Content { path: found, .. })) = error else {
        panic!("{error}");
    };
    assert_eq!(*found, *path(1));
}
