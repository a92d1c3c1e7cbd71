//! Both sides have the same packages, or are told which differs first.

use bevy_ecs::observer::On;
use seamless_package::package_map::{EncodeError, Mismatch};

use super::*;

#[derive(Resource, Default)]
struct Observed(Vec<&'static str>);

fn observe(side: &mut Side) {
    let mut entity = side.app.world_mut().entity_mut(side.connection);
    entity
        .observe(|_: On<PackagesAgreed>, mut seen: ResMut<Observed>| seen.0.push("agreed"))
        .observe(|_: On<PackagesRefused>, mut seen: ResMut<Observed>| seen.0.push("refused"))
        .observe(|_: On<ConnectionFailed>, mut seen: ResMut<Observed>| seen.0.push("failed"));
    side.app.init_resource::<Observed>();
}

#[test]
fn equal_lists_are_agreed_on() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 5);
    observe(&mut pair.client);
    pair.with_level_on_server("a.pkg");
    let told = pair.server.agreed.last().expect("it was told");
    assert_eq!(
        (told.connection, told.sendable, told.receivable),
        (pair.server.connection, 1, 1)
    );
    assert_eq!(pair.client.app.world().resource::<Observed>().0, ["agreed", "agreed"]);
    // A package that both list later.
    pair.chain("b.pkg", 2);
    pair.agree();
    assert_eq!(pair.server.agreed.last().map(|told| told.sendable), Some(2));
}

#[test]
fn before_that_nothing_can_be_referred_to() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 5);
    let id = pair.server.reveal("a.pkg");
    while !pair.server.is_live(id) {
        pair.server.update();
        // The peer says nothing meanwhile, and is given up after so many seconds of frames.
        std::thread::sleep(core::time::Duration::from_millis(20));
    }
    pair.server.update();
    let early = pair.server.send(0, &[Some(mesh("a.pkg"))], b"");
    assert!(
        matches!(early, Err(SendError::Reference(EncodeError::NotAccepted { .. }))),
        "{early:?}"
    );
    pair.agree();
    let unknown = pair.server.send(0, &[Some(mesh("b.pkg"))], b"");
    assert!(matches!(
        unknown,
        Err(SendError::Reference(EncodeError::UnknownObject { .. }))
    ));
    assert_eq!(pair.server.send(0, &[Some(mesh("a.pkg"))], b""), Ok(()));
}

#[test]
fn both_sides_are_told_which_package_differs() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 5);
    let (here, there) = (
        chain(&pair.server.app, "b.pkg", 5, None),
        chain(&pair.server.app, "b.pkg", 6, None),
    );
    pair.server.add("b.pkg", &here);
    pair.client.add("b.pkg", &there);
    observe(&mut pair.client);
    let mut told = [Vec::new(), Vec::new()];
    pair.run_until(|pair| {
        told[0].extend(pair.server.messages::<PackagesRefused>());
        told[1].extend(pair.client.messages::<PackagesRefused>());
        told.iter().all(|told| !told.is_empty())
    });
    for _ in 0..200 {
        pair.update();
    }
    told[1].extend(pair.client.messages::<PackagesRefused>());
    for told in &told {
        assert_eq!(told.len(), 1, "once");
        let Mismatch::Content { path, .. } = &told[0].mismatch else {
            panic!("{told:?}");
        };
        assert_eq!(&**path, "b.pkg");
    }
    assert_eq!(pair.client.app.world().resource::<Observed>().0, ["refused"]);
}

/// One side has a package more: that may pass, so it is told after a while, and forgotten when it has passed.
#[test]
fn a_package_that_only_one_side_has_is_told_after_a_while() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 5);
    let more = chain(&pair.server.app, "b.pkg", 5, None);
    pair.server.add("b.pkg", &more);
    let mut told = Vec::new();
    let mut frames = 0;
    pair.run_until(|pair| {
        frames += 1;
        told.extend(pair.server.messages::<PackagesRefused>());
        !told.is_empty()
    });
    assert!(frames > 490, "{frames} frames of 20 ms");
    assert!(
        matches!(&told[0].mismatch, Mismatch::MissingThere { path, .. } if &**path == "b.pkg"),
        "{told:?}"
    );
    pair.client.add("b.pkg", &more);
    pair.agree();
    assert!(!pair.server.peer().has_failed());
    // What happens next is told again.
    let more = chain(&pair.server.app, "c.pkg", 5, None);
    pair.server.add("c.pkg", &more);
    pair.run_until(|pair| !pair.server.messages::<PackagesRefused>().is_empty());
}

#[test]
fn a_silent_peer_is_told() {
    let mut side = Side::new();
    let bytes = chain(&side.app, "a.pkg", 5, None);
    side.add("a.pkg", &bytes);
    observe(&mut side);
    let mut packets = 0;
    let mut failed = Vec::new();
    for _ in 0..600 {
        side.update();
        packets += side.peer_mut().drain().count();
        failed.extend(side.messages::<ConnectionFailed>());
    }
    assert!((9..=11).contains(&packets), "an offer a second, {packets} in all");
    let expected = NetError::NoAnswer {
        after: Duration::from_secs(10),
    };
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].error, expected);
    assert_eq!(side.app.world().resource::<Observed>().0, ["failed"]);
    assert_eq!(side.send(0, &[], b""), Err(SendError::Failed));
}
