//! Peers that say what they must not, and packages that are not what was listed.

use seamless_package::package_map::{
    AckError, ConnectionError, DecodeError, MapError, MapLimits, PendingError, PendingLimits,
};

use super::*;

/// What the client says when it is given these packets of an otherwise honest server.
fn failure(pair: &mut Pair, packets: Vec<Vec<u8>>) -> NetError {
    for packet in packets {
        pair.client.peer_mut().receive(packet);
    }
    let mut failed = Vec::new();
    pair.run_until(|pair| {
        failed.extend(pair.client.messages::<ConnectionFailed>());
        !failed.is_empty()
    });
    assert_eq!(failed[0].connection, pair.client.connection);
    let peer = pair.client.peer();
    assert!(peer.has_failed() && peer.waiting() == 0 && peer.wanted() == 0);
    let text = failed[0].error.to_string();
    assert!(text.contains("; "), "no mend: {text}");
    failed.swap_remove(0).error
}

fn agreed(plugin: PackageMapPlugin) -> Pair {
    let mut pair = Pair::with(plugin);
    pair.chain("a.pkg", 5);
    pair.agree();
    pair
}

#[test]
fn a_hostile_peer_is_named_and_cut_off() {
    type Check = fn(&NetError) -> bool;
    let cases: [(Vec<u8>, Check); 5] = [
        (vec![77], |error| {
            matches!(error, NetError::Protocol(ConnectionError::Record(_)))
        }),
        (vec![1, 99], |error| {
            matches!(error, NetError::Protocol(ConnectionError::Handshake(_)))
        }),
        (vec![2, 5, 0], |error| {
            matches!(
                error,
                NetError::Protocol(ConnectionError::Acknowledgement(AckError::Unsent { .. }))
            )
        }),
        (vec![3, 0, 1, 2, 9, 0], |error| {
            matches!(
                error,
                NetError::Protocol(ConnectionError::Reference(DecodeError::UnknownPackage { .. }))
            )
        }),
        // An object behind the last entity of the level.
        (vec![3, 0, 1, 2, 0, 0x7f], |error| {
            matches!(
                error,
                NetError::Protocol(ConnectionError::Reference(DecodeError::UnknownExport { .. }))
            )
        }),
    ];
    for (packet, is_expected) in cases {
        let mut pair = agreed(PackageMapPlugin::default());
        let error = failure(&mut pair, vec![packet]);
        assert!(is_expected(&error), "{error:?}");
        // Nothing goes on, and nobody is told twice.
        pair.client.peer_mut().receive([77]);
        for _ in 0..5 {
            pair.update();
        }
        assert_eq!(pair.client.messages::<ConnectionFailed>().len(), 0);
    }
}

/// Each message waits for an entity whose level never comes.
#[test]
fn what_one_peer_can_make_wait_is_bounded() {
    let pending = PendingLimits {
        values: 8,
        ..PendingLimits::default()
    };
    let mut pair = agreed(PackageMapPlugin {
        pending,
        ..PackageMapPlugin::default()
    });
    let exports = pair
        .client
        .app
        .world()
        .resource::<NetPackages>()
        .map()
        .package(0)
        .unwrap()
        .export_count
        - 5;
    let message = vec![3, 0, 1, 2, 0, exports as u8];
    let error = failure(&mut pair, vec![message; 9]);
    assert!(
        matches!(
            error,
            NetError::Pending(PendingError::Limit {
                field: "values",
                limit: 8,
                found: 9
            })
        ),
        "{error:?}"
    );
}

#[test]
fn what_arrives_or_leaves_in_a_frame_is_bounded() {
    let plugin = PackageMapPlugin {
        queue_bytes: 1000,
        ..PackageMapPlugin::default()
    };
    let mut pair = agreed(plugin);
    assert_eq!(pair.server.send(0, &[], &[0; 900]), Ok(()));
    assert_eq!(
        pair.server.send(0, &[], &[0; 900]),
        Err(SendError::Full { limit: 1000 })
    );
    let error = failure(&mut pair, vec![vec![3, 0, 0]; 40]);
    assert!(
        matches!(
            error,
            NetError::Flooded {
                limit: 1000,
                found: 1001..
            }
        ),
        "{error:?}"
    );
}

/// A side whose package is listed as `change` says; what it says when the package's level comes.
fn fault(plugin: PackageMapPlugin, change: impl FnOnce(&mut NetPackage)) -> NetPackageError {
    let mut side = Side::with(plugin);
    let bytes = chain(&side.app, "a.pkg", 5, None);
    let mut package = described("a.pkg", &bytes);
    change(&mut package);
    put(&side.dir, "a.pkg", bytes);
    side.list(package);
    side.reveal("a.pkg");
    fault_of(&mut side)
}

fn fault_of(side: &mut Side) -> NetPackageError {
    let start = std::time::Instant::now();
    loop {
        assert!(start.elapsed() < Duration::from_secs(240), "nothing was told");
        side.update();
        if let Some(fault) = side.messages::<PackageFault>().pop() {
            let text = fault.error.to_string();
            assert!(text.contains("; "), "no mend: {text}");
            return (*fault.error).clone();
        }
    }
}

#[test]
fn a_package_that_is_not_the_listed_one_is_told() {
    let plugin = PackageMapPlugin::default;
    let content = fault(plugin(), |package| package.content_hash ^= 1);
    assert!(
        matches!(&content, NetPackageError::Content { path, listed, found } if path == &"a.pkg".into() && *listed == found ^ 1)
    );
    let exports = fault(plugin(), |package| package.exports += 1);
    assert!(matches!(exports, NetPackageError::Count { what: "exports", listed, found, .. } if listed == found + 1));
    let entities = fault(plugin(), |package| package.entities -= 1);
    assert!(matches!(
        entities,
        NetPackageError::Count {
            what: "entities",
            listed: 4,
            found: 5,
            ..
        }
    ));
    let limits = PackageMapPlugin {
        map: MapLimits {
            objects: 3,
            ..MapLimits::default()
        },
        ..plugin()
    };
    let full = fault(limits, |_| {});
    assert!(
        matches!(full, NetPackageError::Map(MapError::Limit { field: "objects", .. })),
        "{full:?}"
    );
}

#[test]
fn a_copy_of_another_version_is_told() {
    let mut side = Side::new();
    let shared = shared_package(&side.app, "s.pkg");
    let bytes = seek_free_chain(&side.app, "a.pkg", 3, &shared);
    let mut newer = described("s.pkg", &shared);
    newer.content_hash ^= 1;
    side.list(newer);
    side.add("a.pkg", &bytes);
    side.reveal("a.pkg");
    let error = fault_of(&mut side);
    assert!(
        matches!(&error, NetPackageError::Copy { origin, .. } if &**origin == "s.pkg"),
        "{error:?}"
    );
}

/// The client's file is another one than it has listed: the reference fails, and says why.
#[test]
fn no_object_is_taken_for_another_of_a_stale_file() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 5);
    let other = chain(&pair.client.app, "a.pkg", 6, None);
    put(&pair.client.dir, "a.pkg", other);
    pair.with_level_on_server("a.pkg");
    pair.server.send(0, &[Some(mesh("a.pkg"))], b"").unwrap();
    pair.server.send(0, &[Some(row("a.pkg", 2))], b"").unwrap();
    pair.client.reveal("a.pkg");
    pair.run_until(|pair| pair.client.got.len() == 2);
    let texts: Vec<String> = pair
        .client
        .got
        .iter()
        .map(|got| got.refs.as_ref().unwrap_err().to_string())
        .collect();
    assert!(
        texts[0].contains("not loaded") || texts[0].contains("another one than was listed"),
        "{texts:?}"
    );
    assert!(texts[1].contains("not loaded within"), "{texts:?}");
}

/// What is listed stays where it is; the same name with other content is refused.
#[test]
fn a_list_holds_each_package_once() {
    let mut side = Side::new();
    let bytes = chain(&side.app, "a.pkg", 5, None);
    side.add("a.pkg", &bytes);
    let mut packages = side.app.world_mut().resource_mut::<NetPackages>();
    let mut package = described("a.pkg", &bytes);
    assert_eq!(packages.list(package.clone()), Ok(0));
    package.content_hash ^= 1;
    assert!(matches!(packages.list(package), Err(MapError::PackageTwice { .. })));
}

/// It has the name of a listed package, lies in another folder, and is neither at fault nor meant.
#[test]
fn a_package_of_another_cook_is_no_fault() {
    let mut side = Side::new();
    let bytes = chain(&side.app, "a.pkg", 5, None);
    side.add("a.pkg", &bytes);
    put(&side.dir, "old/a.pkg", chain(&side.app, "a.pkg", 7, None));
    let ids = ["old/a.pkg", "a.pkg"].map(|package| side.reveal(package));
    let start = std::time::Instant::now();
    while !ids.iter().all(|id| side.is_live(*id)) {
        assert!(start.elapsed() < Duration::from_secs(240), "it took too long");
        side.update();
    }
    side.update();
    assert!(side.messages::<PackageFault>().is_empty());
    let world = side.app.world_mut();
    let mut levels = world.query::<&LevelInstance>();
    let all: Vec<_> = levels
        .iter(world)
        .map(|level| (level.objects.len(), level.entity(row("a.pkg", 1))))
        .collect();
    let id_of = |In(entity): In<Entity>, objects: NetObjects| objects.id_of(entity);
    for (len, entity) in all {
        let id = world.run_system_cached_with(id_of, entity.unwrap()).unwrap();
        assert_eq!(id, (len == 5).then(|| row("a.pkg", 1)), "of {len}");
    }
}
