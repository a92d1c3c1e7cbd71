//! What a message refers to: live at once, loaded for it, come with its level, or failed.

use bevy_asset::Assets;
use seamless_package::package_map::RefError;

use super::*;
use crate::LiveId;

#[test]
fn a_level_s_entities_and_assets_are_the_same_objects_on_both_sides() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 5);
    let ids_of = [pair.server.reveal("a.pkg"), pair.client.reveal("a.pkg")];
    pair.agree();
    pair.run_until(|pair| pair.server.is_live(ids_of[0]) && pair.client.is_live(ids_of[1]));
    pair.update();
    let refs: Vec<_> = (0..5)
        .map(|at| Some(row("a.pkg", at)))
        .chain([None, Some(mesh("a.pkg"))])
        .collect();
    pair.server.send(7, &refs, b"all").unwrap();
    pair.run_until(|pair| !pair.client.got.is_empty());
    let message = pair.client.got.remove(0);
    assert_eq!(
        (message.channel, &*message.body, message.waited),
        (7, &b"all"[..], Duration::ZERO)
    );
    assert_eq!(ids(&message), refs);
    let objects = message.refs.unwrap();
    for (object, at) in objects.iter().zip(0..5) {
        let entity = object.as_ref().unwrap().entity();
        assert_eq!(entity, pair.client.entity(row("a.pkg", at)));
        assert!(entity.is_some());
    }
    let handle = objects[6].as_ref().unwrap().handle::<Mesh>().unwrap();
    assert!(pair.client.app.world().resource::<Assets<Mesh>>().contains(&handle));
    assert_eq!(
        (
            objects[6].as_ref().unwrap().entity(),
            objects[0].as_ref().unwrap().handle::<Mesh>()
        ),
        (None, None)
    );
}

/// The sender finds an entity's id by itself, and none for what came with no level.
#[test]
fn entities_know_their_ids() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 4);
    pair.with_level_on_server("a.pkg");
    let world = pair.server.app.world_mut();
    let own = world.spawn_empty().id();
    let id_of = |entity: Entity, world: &mut World| {
        world
            .run_system_cached_with(
                |In(entity): In<Entity>, objects: NetObjects| objects.id_of(entity),
                entity,
            )
            .unwrap()
    };
    assert_eq!(id_of(own, world), None);
    let third = pair.server.entity(row("a.pkg", 3)).unwrap();
    let world = pair.server.app.world_mut();
    assert_eq!(id_of(third, world), Some(row("a.pkg", 3)));
    let root = world
        .query_filtered::<Entity, With<LevelInstance>>()
        .single(world)
        .unwrap();
    assert_eq!(id_of(root, world), None);
}

/// The client has nothing: the asset is loaded for the message, alone, and the entity comes when its level does. Until then the
/// messages behind it wait, those of other channels do not.
#[test]
fn what_is_not_loaded_is_waited_for_in_order() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 5);
    pair.with_level_on_server("a.pkg");
    let (asset, entity) = (Some(mesh("a.pkg")), Some(row("a.pkg", 2)));
    pair.server.send(0, &[asset], b"asset").unwrap();
    pair.server.send(0, &[entity, asset], b"entity").unwrap();
    pair.server.send(0, &[], b"behind").unwrap();
    pair.server.send(1, &[], b"beside").unwrap();
    pair.run_until(|pair| pair.client.got.len() == 2);
    let bodies = |pair: &Pair| -> Vec<String> {
        let got = pair.client.got.iter();
        got.map(|message| String::from_utf8_lossy(&message.body).into_owned())
            .collect()
    };
    assert_eq!(bodies(&pair), ["beside", "asset"]);
    assert_eq!(pair.client.got[0].waited, Duration::ZERO);
    assert!(pair.client.got[1].waited > Duration::ZERO);
    for _ in 0..50 {
        pair.update();
    }
    assert_eq!((pair.client.got.len(), pair.client.peer().waiting()), (2, 2));
    assert_eq!(pair.client.entity(row("a.pkg", 2)), None, "no level came for it");
    pair.client.reveal("a.pkg");
    pair.run_until(|pair| pair.client.got.len() == 4);
    assert_eq!(bodies(&pair), ["beside", "asset", "entity", "behind"]);
    assert_eq!(ids(&pair.client.got[2]), [entity, asset]);
    assert!(pair.client.got[2].waited > 50 * FRAME);
    assert_eq!((pair.client.peer().waiting(), pair.client.peer().wanted()), (0, 0));
}

/// Nobody waits for the asset any more, and nobody has kept its handle.
#[test]
fn an_asset_is_kept_as_long_as_messages_wait_for_it() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 5);
    pair.with_level_on_server("a.pkg");
    pair.server
        .send(0, &[Some(mesh("a.pkg")), Some(row("a.pkg", 1))], b"")
        .unwrap();
    let live = pair.client.app.world().resource::<LiveObjectsResource>().0.clone();
    pair.run_until(|_| live.get(LiveId::new("", "a.pkg", "Mesh")).is_some());
    for _ in 0..20 {
        pair.update();
    }
    assert!(live.get(LiveId::new("", "a.pkg", "Mesh")).is_some());
    // The peer goes, and with it what waits.
    let connection = pair.client.connection;
    pair.client.app.world_mut().entity_mut(connection).despawn();
    let start = std::time::Instant::now();
    while live.get(LiveId::new("", "a.pkg", "Mesh")).is_some() {
        assert!(start.elapsed() < Duration::from_secs(240), "it stays");
        pair.client.app.update();
    }
}

#[test]
fn what_does_not_come_in_time_is_an_error_in_its_turn() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 5);
    pair.with_level_on_server("a.pkg");
    pair.server.send(0, &[Some(row("a.pkg", 1))], b"late").unwrap();
    pair.server.send(0, &[], b"behind").unwrap();
    pair.run_until(|pair| pair.client.got.len() == 2);
    let message = &pair.client.got[0];
    let Err(RefError::TimedOut { path, .. }) = &message.refs else {
        panic!("{message:?}");
    };
    assert_eq!((&**path, &*message.body), ("a.pkg", &b"late"[..]));
    assert!(message.waited >= Duration::from_secs(10) && message.waited < Duration::from_secs(11));
    assert_eq!(pair.client.got[1].body, b"behind");
}

#[test]
fn what_cannot_be_loaded_is_told_at_once() {
    let mut pair = Pair::new();
    let bytes = chain(&pair.server.app, "a.pkg", 5, None);
    pair.server.add("a.pkg", &bytes);
    // The client lists it, and does not have it.
    pair.client.list(described("a.pkg", &bytes));
    pair.with_level_on_server("a.pkg");
    // The level table is an export as well, and no asset.
    let level = ObjectId::new("a.pkg", "Level");
    pair.server.send(0, &[Some(mesh("a.pkg"))], b"").unwrap();
    pair.run_until(|pair| pair.client.got.len() == 1);
    put(&pair.client.dir, "a.pkg", bytes);
    pair.server.send(0, &[Some(level)], b"").unwrap();
    pair.run_until(|pair| pair.client.got.len() == 2);
    let id = pair.client.reveal("a.pkg");
    pair.run_until(|pair| pair.client.is_live(id));
    let gone = pair.client.entity(row("a.pkg", 4)).unwrap();
    pair.client.app.world_mut().entity_mut(gone).despawn();
    pair.server.send(0, &[Some(row("a.pkg", 4))], b"").unwrap();
    pair.run_until(|pair| pair.client.got.len() == 3);
    for (message, part) in pair
        .client
        .got
        .iter()
        .zip(["cannot be read", "no such object", "despawned"])
    {
        let Err(RefError::LoadFailed { why, .. }) = &message.refs else {
            panic!("{message:?}");
        };
        assert!(why.contains(part) && why.contains("; "), "{why}");
    }
}

/// The client has a package with a copy and not the original: the copy is the object.
#[test]
fn a_copy_has_the_place_of_its_original() {
    let mut pair = Pair::new();
    let shared = shared_package(&pair.server.app, "s.pkg");
    let seek_free = seek_free_chain(&pair.server.app, "a.pkg", 3, &shared);
    for side in [&mut pair.server, &mut pair.client] {
        side.list(described("s.pkg", &shared));
        side.add("a.pkg", &seek_free);
    }
    put(&pair.server.dir, "s.pkg", shared);
    let level = pair.client.reveal("a.pkg");
    // The server has loaded the original, and knows nothing of the copy.
    let load = pair
        .server
        .app
        .world_mut()
        .resource_mut::<Streamer>()
        .load_objects(crate::ObjectRequest::new(["s.pkg#Mesh"]));
    pair.agree();
    pair.run_until(|pair| load.is_finished() && pair.client.is_live(level));
    pair.update();
    assert!(
        pair.server
            .app
            .world()
            .resource::<LinkersResource>()
            .0
            .find(&"a.pkg".into())
            .is_none()
    );
    pair.server.send(0, &[Some(mesh("s.pkg"))], b"").unwrap();
    pair.run_until(|pair| !pair.client.got.is_empty());
    assert_eq!(ids(&pair.client.got[0]), [Some(mesh("s.pkg"))]);
    assert_eq!(pair.client.app.world().resource::<Assets<Mesh>>().len(), 1);
}

/// Of several of one path the first is meant, as their stable ids say; when it leaves, the next.
#[test]
fn of_several_instances_of_one_path_the_first_is_meant() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 2);
    pair.with_level_on_server("a.pkg");
    let mut roots = Vec::new();
    let mut instances = Vec::new();
    for _ in 0..2 {
        let id = pair.client.reveal("a.pkg");
        pair.run_until(|pair| pair.client.is_live(id));
        let world = pair.client.app.world_mut();
        let mut levels = world.query_filtered::<Entity, With<LevelInstance>>();
        roots.extend(
            levels
                .iter(world)
                .filter(|root| !roots.contains(root))
                .collect::<Vec<_>>(),
        );
        instances.push(id);
    }
    for root in roots {
        pair.server.send(0, &[Some(row("a.pkg", 1))], b"").unwrap();
        pair.run_until(|pair| pair.client.got.len() == 1);
        let message = pair.client.got.remove(0);
        let found = message.refs.unwrap()[0].as_ref().unwrap().entity();
        let level = pair.client.app.world().get::<LevelInstance>(root).unwrap();
        assert_eq!(found, level.entity(row("a.pkg", 1)));
        let id = instances.remove(0);
        pair.client.app.world_mut().resource_mut::<Streamer>().unload(id);
        pair.run_until(|pair| pair.client.app.world().get_entity(root).is_err());
    }
}

/// The console way: tables go after the load, and objects that were known stay so.
#[test]
fn objects_stay_known_when_their_tables_are_dropped() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 3);
    pair.with_level_on_server("a.pkg");
    let linkers = pair.client.app.world().resource::<LinkersResource>().0.clone();
    for _ in 0..2 {
        pair.server.send(0, &[Some(mesh("a.pkg"))], b"").unwrap();
        pair.run_until(|pair| !pair.client.got.is_empty());
        assert_eq!(ids(&pair.client.got.remove(0)), [Some(mesh("a.pkg"))]);
        pair.run_until(|_| linkers.is_empty());
    }
}
