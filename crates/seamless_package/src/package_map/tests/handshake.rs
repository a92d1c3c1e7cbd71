//! The handshake, message by message.

use super::super::message::{VERSION, write_accept, write_ask, write_list, write_offer};
use super::*;

/// The difference that the owner of `here` is told when the owner of `there` offers its list.
fn mismatch(here: Vec<PackageInfo>, there: Vec<PackageInfo>) -> Mismatch {
    let (here, there) = (of(here, MapLimits::default()), of(there, MapLimits::default()));
    let (mut receiver, mut sender) = (Side::new(&here), Side::new(&there));
    let error = shake(&mut sender, &mut receiver).unwrap_err();
    let HandshakeError::Mismatch(mismatch) = error else {
        panic!("{error}");
    };
    has_a_mend(&mismatch);
    assert_eq!(receiver.handshake.difference(&here), Some(mismatch.clone()));
    // It stays so, without another word on the wire.
    let again = receiver.receive(&offer(&mut sender.handshake, &there)).unwrap_err();
    assert_eq!(again, HandshakeError::Mismatch(mismatch.clone()));
    mismatch
}

fn infos(packages: impl IntoIterator<Item = u32>) -> Vec<PackageInfo> {
    packages.into_iter().map(info).collect()
}

/// 300 packages, with a change at the one in the middle.
fn changed(change: impl Fn(&mut PackageInfo)) -> Vec<PackageInfo> {
    let mut packages = infos(0..300);
    change(&mut packages[150]);
    packages
}

#[test]
fn equal_lists_agree_in_two_messages() {
    let (here, there) = (list(1000), list(1000));
    let (mut sender, mut receiver) = (Side::new(&there), Side::new(&here));
    let (event, accept) = receiver.receive(&offer(&mut sender.handshake, &there)).unwrap();
    assert_eq!(event, Some(HandshakeEvent::Verified { packages: 1000 }));
    let (event, silence) = sender.receive(&accept).unwrap();
    assert_eq!(event, Some(HandshakeEvent::Accepted { packages: 1000 }));
    assert!(silence.is_empty());
    assert_eq!((sender.handshake.accepted(), sender.handshake.verified()), (1000, 0));
    assert_eq!(
        (receiver.handshake.accepted(), receiver.handshake.verified()),
        (0, 1000)
    );
    assert_eq!(receiver.handshake.difference(&here), None);
    // Doubled messages are answered, and are no news.
    let (event, again) = receiver.receive(&offer(&mut sender.handshake, &there)).unwrap();
    assert_eq!((event, &again), (None, &accept));
    assert_eq!(sender.receive(&again).unwrap().0, None);
}

#[test]
fn other_content_is_named_with_both_hashes() {
    let expected = Mismatch::Content {
        path: path(150).into(),
        here: 1150,
        there: 7,
    };
    let found = mismatch(infos(0..300), changed(|info| info.content_hash = 7));
    assert_eq!(found, expected);
    assert_eq!(
        found.to_string(),
        "package `levels/cell_4_22.pkg` has content 000000000000047e here and 0000000000000007 at the peer; \
         give both sides the same cooked file"
    );
}

#[test]
fn another_export_count_is_named() {
    let found = mismatch(infos(0..300), changed(|info| info.export_count = 7));
    let expected = Mismatch::ExportCount {
        path: path(150).into(),
        content_hash: 1150,
        here: EXPORTS,
        there: 7,
    };
    assert_eq!(found, expected);
}

#[test]
fn a_package_that_only_one_side_has_is_named() {
    let without = || infos((0..300).filter(|package| *package != 150));
    let (path, content_hash) = (path(150).into(), 1150);
    let missing = Mismatch::MissingHere { path, content_hash };
    assert_eq!(mismatch(without(), infos(0..300)), missing);
    let Mismatch::MissingHere { path, content_hash } = missing else {
        unreachable!()
    };
    let missing = Mismatch::MissingThere { path, content_hash };
    assert_eq!(mismatch(infos(0..300), without()), missing);
}

#[test]
fn another_order_is_named() {
    let mut swapped = infos(0..300);
    swapped.swap(150, 260);
    let expected = Mismatch::Order {
        position: 150,
        here: path(150).into(),
        there: path(260).into(),
    };
    assert_eq!(mismatch(infos(0..300), swapped), expected);
}

#[test]
fn a_list_that_only_grows_agrees_on_its_beginning() {
    let (short, long) = (list(10), list(12));
    // The side with more offers.
    let (mut sender, mut receiver) = (Side::new(&long), Side::new(&short));
    let (_, ask) = receiver.receive(&offer(&mut sender.handshake, &long)).unwrap();
    let (_, answer) = sender.receive(&ask).unwrap();
    let (event, accept) = receiver.receive(&answer).unwrap();
    let packages = infos(10..12);
    assert_eq!(event, Some(HandshakeEvent::PeerListsMore { packages }));
    sender.receive(&accept).unwrap();
    assert_eq!((sender.handshake.accepted(), receiver.handshake.verified()), (10, 10));
    let missing = Mismatch::MissingHere {
        path: path(10).into(),
        content_hash: 1010,
    };
    assert_eq!(receiver.handshake.difference(&short), Some(missing));
    assert_eq!(
        sender.handshake.difference(&long),
        None,
        "nothing was heard of the peer's list"
    );
    // The side with fewer offers.
    let (mut sender, mut receiver) = (Side::new(&short), Side::new(&long));
    shake(&mut sender, &mut receiver).unwrap();
    assert_eq!((sender.handshake.accepted(), receiver.handshake.verified()), (10, 10));
    let missing = Mismatch::MissingThere {
        path: path(10).into(),
        content_hash: 1010,
    };
    assert_eq!(receiver.handshake.difference(&long), Some(missing));
}

#[test]
fn a_side_that_lists_nothing_is_noticed() {
    let (none, some) = (list(0), list(1));
    let (mut sender, mut receiver) = (Side::new(&none), Side::new(&some));
    assert_eq!(receiver.handshake.difference(&some), None);
    shake(&mut sender, &mut receiver).unwrap();
    let missing = receiver.handshake.difference(&some);
    assert!(matches!(missing, Some(Mismatch::MissingThere { .. })));
}

#[test]
fn a_follower_adds_what_the_peer_lists() {
    let server = list(500);
    let mut client = list(20);
    let mut sender = Side::new(&server);
    let mut follower = Handshake::new();
    let mut message = offer(&mut sender.handshake, &server);
    let mut messages = 0;
    while sender.handshake.accepted() < 500 {
        let mut reply = Vec::new();
        let event = follower.receive(&client, &message, &mut reply).unwrap();
        if let Some(HandshakeEvent::PeerListsMore { packages }) = event {
            for theirs in packages {
                let own = (0..500).map(info).find(|own| own.path == theirs.path).unwrap();
                client.add_package(own).unwrap();
            }
            sender.receive(&reply).unwrap();
            reply.clear();
            follower.ask_for_more(&client, &mut reply);
        }
        let (_, answer) = sender.receive(&reply).unwrap();
        message = answer;
        messages += 1;
        assert!(messages < 100, "it does not end");
    }
    assert_eq!(follower.verified(), 500);
    assert_eq!(follower.difference(&client), None);
}

#[test]
fn nobody_asks_for_more_than_the_peer_has() {
    let (short, long) = (list(1), list(2));
    let mut receiver = Side::new(&long);
    let mut out = Vec::new();
    receiver.handshake.ask_for_more(&long, &mut out);
    assert!(out.is_empty(), "the peer has said nothing");
    shake(&mut Side::new(&short), &mut receiver).unwrap();
    receiver.handshake.ask_for_more(&long, &mut out);
    assert!(out.is_empty(), "the peer has less");
}

#[test]
fn an_extension_is_checked_like_the_rest() {
    let (mut here, mut there) = (list(10), list(10));
    let (mut sender, mut receiver) = {
        let (mut sender, mut receiver) = (Side::new(&there), Side::new(&here));
        shake(&mut sender, &mut receiver).unwrap();
        (sender.handshake, receiver.handshake)
    };
    there.add_package(info(10)).unwrap();
    here.add_package(PackageInfo::new(path(10), 5, EXPORTS)).unwrap();
    let error = {
        let mut from = Side {
            handshake: sender.clone(),
            map: &there,
        };
        let mut to = Side {
            handshake: receiver.clone(),
            map: &here,
        };
        let error = shake(&mut from, &mut to).unwrap_err();
        (sender, receiver) = (from.handshake, to.handshake);
        error
    };
    let path = path(10).into();
    let (here, there) = (5, 1010);
    assert_eq!(error, Mismatch::Content { path, here, there }.into());
    assert_eq!(
        (sender.accepted(), receiver.verified()),
        (10, 10),
        "the beginning still holds"
    );
}

#[test]
fn the_messages_are_these_bytes() {
    let map = of(
        [PackageInfo::new("a.pkg", 0x0102_0304_0506_0708, 200)],
        MapLimits::default(),
    );
    let digested = [&[0; 8][..], &[8, 7, 6, 5, 4, 3, 2, 1], &[200, 0, 0, 0], b"a.pkg"].concat();
    let digest = xxhash_rust::xxh3::xxh3_64(&digested).to_le_bytes();
    let mut out = Vec::new();
    write_offer(&mut out, map.len(), map.whole_digest());
    assert_eq!(out, [&[1, 1, 1], &digest[..]].concat());
    out.clear();
    write_accept(&mut out, map.len(), map.whole_digest());
    assert_eq!(out, [&[2, 1], &digest[..]].concat());
    out.clear();
    write_ask(&mut out, 300, 1);
    assert_eq!(out, [3, 0xac, 2, 1]);
    out.clear();
    write_list(&mut out, &map, 0, 0, 4096);
    let package = [&[5][..], b"a.pkg", &[8, 7, 6, 5, 4, 3, 2, 1, 200, 1]].concat();
    assert_eq!(out, [&[4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], &package[..]].concat());
}

#[test]
fn a_list_is_cut_to_the_room_there_is() {
    let map = list(1000);
    for room in [0, 100, 1100, 8192, u32::MAX] {
        let mut ask = Vec::new();
        write_ask(&mut ask, 3, room);
        let (_, answer) = Side::offered(&map).receive(&ask).unwrap();
        assert!(
            answer.len() <= (room as usize).clamp(60, 8192),
            "{} for {room}",
            answer.len()
        );
        let more = Side::new(&list(3)).receive(&answer).unwrap().0;
        assert!(matches!(more, Some(HandshakeEvent::PeerListsMore { packages }) if packages[0] == info(3)));
    }
}

/// What a fresh side with ten packages says to `bytes`.
fn refused(bytes: &[u8]) -> HandshakeError {
    refused_by(&MapLimits::default(), bytes)
}

fn refused_by(limits: &MapLimits, bytes: &[u8]) -> HandshakeError {
    let map = of(infos(0..10), limits.clone());
    let error = Side::new(&map).receive(bytes).unwrap_err();
    has_a_mend(&error);
    error
}

#[test]
fn messages_that_are_none_are_refused() {
    let limit = 8192;
    let found = limit + 1;
    assert_eq!(refused(&vec![1; 8193]), HandshakeError::TooLong { found, limit });
    let valid = offer(&mut Handshake::new(), &list(10));
    for len in 0..valid.len() {
        let error = refused(&valid[..len]);
        assert!(
            matches!(error, HandshakeError::Record(CursorError::End { .. })),
            "{error}"
        );
    }
    let trailing = refused(&[&valid[..], &[0]].concat());
    assert!(matches!(trailing, HandshakeError::Record(CursorError::Trailing { .. })));
    let kind = refused(&[9]);
    assert!(matches!(
        kind,
        HandshakeError::Record(CursorError::Value { found: 9, .. })
    ));
    let not_text = refused(&[&[4, 0], &[0; 8][..], &[1, 1, 0xff], &[0; 9]].concat());
    assert!(matches!(not_text, HandshakeError::Record(CursorError::Utf8 { .. })));
    let none_of_one = refused(&[&[4, 0], &[0; 8][..], &[1]].concat());
    assert!(matches!(
        none_of_one,
        HandshakeError::Record(CursorError::Value { found: 1, .. })
    ));
    let two_of_one = refused(&[&[4, 0], &[0; 8][..], &[1], &[0; 20]].concat());
    assert!(matches!(
        two_of_one,
        HandshakeError::Record(CursorError::Value { found: 1, .. })
    ));
}

#[test]
fn another_version_is_refused_by_number() {
    let found = VERSION + 1;
    let error = refused(&[1, found as u8, 0]);
    let supported = VERSION;
    assert_eq!(error, HandshakeError::Version { found, supported });
}

#[test]
fn lists_beyond_the_limits_are_refused() {
    let limits = MapLimits {
        packages: 10,
        path_bytes: 30,
        ..MapLimits::default()
    };
    let mut bytes = Vec::new();
    write_offer(&mut bytes, 11, 0);
    let (field, limit, found) = ("packages", 10, 11);
    assert_eq!(
        refused_by(&limits, &bytes),
        HandshakeError::Limit { field, limit, found }
    );
    let long = of([PackageInfo::new("x".repeat(31), 1, 1)], MapLimits::default());
    bytes.clear();
    write_list(&mut bytes, &long, 0, 0, 4096);
    let (field, limit, found) = ("path_bytes", 30, 31);
    assert_eq!(
        refused_by(&limits, &bytes),
        HandshakeError::Limit { field, limit, found }
    );
}

#[test]
fn a_question_behind_the_end_is_refused() {
    let mut bytes = Vec::new();
    write_ask(&mut bytes, 11, 1000);
    assert_eq!(refused(&bytes), HandshakeError::AskBeyond { from: 11, count: 10 });
}

/// What `side` answers to questions for all from `from` on, until it has enough of them: bytes of questions and answers.
fn answers(side: &mut Side<'_>, from: u32) -> (usize, usize) {
    let mut ask = Vec::new();
    write_ask(&mut ask, from, u32::MAX);
    let (mut asked, mut answered) = (0, 0);
    for _ in 0..100_000 {
        asked += ask.len();
        match side.receive(&ask) {
            Ok((_, answer)) => answered += answer.len(),
            Err(error) => {
                let count = side.map.len();
                assert_eq!(error, HandshakeError::AskTooOften { from, count });
                has_a_mend(&error);
                return (asked, answered);
            }
        }
    }
    panic!("{answered} bytes of answers to {asked} bytes of questions");
}

#[test]
fn questions_without_end_are_refused() {
    let map = list(1000);
    assert_eq!(answers(&mut Side::new(&map), 0).1, 0, "nothing was offered");
    let mut whole = Vec::new();
    for from in 0..1000 {
        write_list(&mut whole, &map, from, 0, 0);
    }
    let mut side = Side::new(&map);
    // Offers that nobody answers are not saved up.
    for offers in [1, 1, 50] {
        for _ in 0..offers {
            offer(&mut side.handshake, &map);
        }
        let (_, answered) = answers(&mut side, 0);
        assert!((whole.len()..5 * whole.len()).contains(&answered), "{answered}");
    }
    // Behind the end there is little to say, and that ends too.
    offer(&mut side.handshake, &map);
    let (asked, answered) = answers(&mut side, 1000);
    assert!(answered < 4 * asked, "{answered}");
}

#[test]
fn a_list_can_be_read_piece_by_piece_more_than_once() {
    let map = list(1000);
    let mut side = Side::offered(&map);
    for from in (0..1000).chain(0..=1000) {
        let mut ask = Vec::new();
        write_ask(&mut ask, from, 0);
        assert!(!side.receive(&ask).unwrap().1.is_empty());
    }
}

#[test]
fn a_follower_asks_for_more_once_for_each_answer() {
    let (server, mut client) = (list(3), list(1));
    let mut follower = Handshake::new();
    let (mut answer, mut out) = (Vec::new(), Vec::new());
    write_list(&mut answer, &server, 1, client.whole_digest(), 0);
    follower.receive(&client, &answer, &mut Vec::new()).unwrap();
    follower.ask_for_more(&client, &mut out);
    assert!(out.is_empty(), "it has not followed");
    client.add_package(info(1)).unwrap();
    follower.ask_for_more(&client, &mut out);
    let asked = out.clone();
    assert!(!asked.is_empty());
    follower.ask_for_more(&client, &mut out);
    assert_eq!(out, asked);
}

#[test]
fn a_false_acceptance_is_refused() {
    for (count, digest) in [(11, 0), (10, list(10).whole_digest() ^ 1), (0, 1)] {
        let mut bytes = Vec::new();
        write_accept(&mut bytes, count, digest);
        assert_eq!(refused(&bytes), HandshakeError::FalseAccept { count, digest });
    }
}

#[test]
fn a_peer_that_contradicts_itself_is_refused() {
    let map = list(10);
    // Another digest, but the same list.
    let mut side = Side::new(&map);
    let mut message = Vec::new();
    write_offer(&mut message, 10, 5);
    let (_, ask) = side.receive(&message).unwrap();
    let (_, answer) = Side::offered(&map).receive(&ask).unwrap();
    let error = side.receive(&answer).unwrap_err();
    assert_eq!(error, HandshakeError::Contradiction { end: 10 });
    has_a_mend(&error);
    // Another digest for what was agreed before.
    let mut side = Side::new(&map);
    side.receive(&offer(&mut Handshake::new(), &map)).unwrap();
    message.clear();
    write_offer(&mut message, 7, 5);
    assert_eq!(
        side.receive(&message).unwrap_err(),
        HandshakeError::Contradiction { end: 7 }
    );
}

#[test]
fn answers_to_no_question_change_nothing() {
    let map = list(10);
    let mut side = Side::new(&map);
    let mut answer = Vec::new();
    write_list(&mut answer, &list(20), 5, 77, 4096);
    assert_eq!(side.receive(&answer).unwrap(), (None, Vec::new()));
    assert_eq!(side.handshake.verified(), 0);
}
