//! One package in several places: a reference means the same of them on both sides, or nothing.

use bevy_asset::AssetPath;
use seamless_package::package_map::RefError;

use super::*;
use crate::{InstancePath, load::InstanceRequest};

fn path(house: &str) -> InstancePath {
    InstancePath::new("town", house)
}

impl Side {
    /// Lists where the package is placed.
    fn place(&mut self, houses: &[&str]) {
        let mut packages = self.app.world_mut().resource_mut::<NetPackages>();
        let package = packages.map().position("a.pkg").unwrap();
        for house in houses {
            packages.list_instance(package, &path(house)).unwrap();
        }
    }

    fn build(&mut self, house: &str) -> InstanceId {
        let request = InstanceRequest {
            name: house.to_owned(),
            path: path(house),
            package: AssetPath::from("a.pkg"),
            ..InstanceRequest::default()
        };
        self.app.world_mut().resource_mut::<Streamer>().load(request)
    }

    /// An entity of a house.
    fn door(&mut self, house: &str) -> Entity {
        let world = self.app.world_mut();
        let mut levels = world.query::<&LevelInstance>();
        let level = levels.iter(world).find(|level| level.path == path(house)).unwrap();
        level.entity(row("a.pkg", 1)).unwrap()
    }

    fn id_of(&mut self, entity: Entity) -> Option<ObjectId> {
        let id_of = |In(entity): In<Entity>, objects: NetObjects| objects.id_of(entity);
        self.app.world_mut().run_system_cached_with(id_of, entity).unwrap()
    }
}

impl Pair {
    /// Builds a house on one side, and another on the other.
    fn build(&mut self, server: &str, client: &str) -> [InstanceId; 2] {
        let ids = [self.server.build(server), self.client.build(client)];
        self.run_until(|pair| pair.server.is_live(ids[0]) && pair.client.is_live(ids[1]));
        self.update();
        ids
    }

    /// The entity that the client makes of a reference by the server.
    fn understood(&mut self, id: ObjectId) -> Entity {
        self.server.send(0, &[Some(id)], b"").unwrap();
        self.run_until(|pair| !pair.client.got.is_empty());
        let message = self.client.got.remove(0);
        message.refs.unwrap()[0].as_ref().unwrap().entity().unwrap()
    }
}

const HOUSES: [&str; 3] = ["house_1", "house_2", "house_3"];

#[test]
fn each_placement_has_ids_of_its_own_in_whatever_order_they_come() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 3);
    pair.server.place(&HOUSES);
    pair.client.place(&HOUSES);
    pair.agree();
    for (server, client) in [(2, 1), (0, 2), (1, 0)] {
        pair.build(HOUSES[server], HOUSES[client]);
    }
    let mut ids = Vec::new();
    for house in HOUSES {
        let door = pair.server.door(house);
        let id = pair.server.id_of(door).unwrap();
        assert_eq!(pair.understood(id), pair.client.door(house), "{house}");
        let same = pair.client.door(house);
        assert_eq!(pair.client.id_of(same), Some(id));
        ids.push(id);
    }
    assert_eq!(ids[0], row("a.pkg", 1), "the first has the package's own");
    assert!(ids[1] != ids[0] && ids[2] != ids[0] && ids[1] != ids[2]);
}

/// It is of one house that the server speaks, and the others do not stand for it.
#[test]
fn a_placement_that_is_away_is_waited_for() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 3);
    pair.server.place(&HOUSES);
    pair.client.place(&HOUSES);
    pair.agree();
    pair.build("house_2", "house_1");
    let door = pair.server.door("house_2");
    let id = pair.server.id_of(door);
    pair.server.send(0, &[id], b"open").unwrap();
    for _ in 0..40 {
        pair.update();
    }
    assert_eq!((pair.client.got.len(), pair.client.peer().waiting()), (0, 1));
    pair.client.build("house_2");
    pair.run_until(|pair| !pair.client.got.is_empty());
    let found = pair.client.got[0].refs.as_ref().unwrap()[0].as_ref().unwrap().entity();
    assert_eq!(found, Some(pair.client.door("house_2")));
}

/// Of one house it was despawned, and the others have it.
#[test]
fn what_was_despawned_in_one_placement_is_there_in_the_others() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 3);
    pair.server.place(&HOUSES);
    pair.client.place(&HOUSES);
    pair.agree();
    pair.build("house_1", "house_1");
    pair.build("house_2", "house_2");
    let gone = pair.client.door("house_1");
    pair.client.app.world_mut().entity_mut(gone).despawn();
    let [first, second] = ["house_1", "house_2"].map(|house| pair.server.door(house));
    let [first, second] = [first, second].map(|door| pair.server.id_of(door).unwrap());
    assert_eq!(pair.understood(second), pair.client.door("house_2"));
    pair.server.send(0, &[Some(first)], b"").unwrap();
    pair.run_until(|pair| !pair.client.got.is_empty());
    let Err(RefError::LoadFailed { why, .. }) = &pair.client.got[0].refs else {
        panic!("{:?}", pair.client.got);
    };
    assert!(why.contains("despawned"), "{why}");
}

#[test]
fn a_peer_without_a_placement_is_told_which() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 3);
    pair.server.place(&HOUSES);
    pair.client.place(&["house_1", "house_3"]);
    let mut refused = Vec::new();
    pair.run_until(|pair| {
        refused.extend(pair.client.messages::<PackagesRefused>());
        !refused.is_empty()
    });
    let mismatch = &refused[0].mismatch;
    assert!(mismatch.to_string().contains("a.pkg@town/house_2"), "{mismatch}");
}

/// Nobody guesses which is meant.
#[test]
fn what_no_list_places_is_not_referred_to() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 3);
    pair.server.place(&HOUSES[..1]);
    pair.agree();
    pair.build("house_1", "house_1");
    pair.build("hut", "hut");
    let [first, added] = ["house_1", "hut"].map(|house| pair.server.door(house));
    assert_eq!(pair.server.id_of(first), Some(row("a.pkg", 1)));
    assert_eq!(pair.server.id_of(added), None);
    // The client has listed no placement at all: of two it knows not which.
    let [first, added] = ["house_1", "hut"].map(|house| pair.client.door(house));
    assert_eq!([first, added].map(|door| pair.client.id_of(door)), [None; 2]);
    pair.server.send(0, &[Some(row("a.pkg", 1))], b"").unwrap();
    pair.run_until(|pair| !pair.client.got.is_empty());
    let Err(RefError::LoadFailed { why, .. }) = &pair.client.got[0].refs else {
        panic!("{:?}", pair.client.got);
    };
    assert!(why.contains("StableId"), "{why}");
}

/// What was revealed before the list came is looked at again.
#[test]
fn placements_may_be_listed_while_their_levels_are_there() {
    let mut pair = Pair::new();
    pair.chain("a.pkg", 3);
    pair.build("house_2", "house_2");
    pair.build("house_1", "house_1");
    pair.server.place(&HOUSES);
    pair.client.place(&HOUSES);
    pair.agree();
    for house in ["house_1", "house_2"] {
        let door = pair.server.door(house);
        let id = pair.server.id_of(door).unwrap();
        assert_eq!(pair.understood(id), pair.client.door(house), "{house}");
    }
}

impl Pair {
    /// Both sides keep these packages only, between two connections.
    fn retain(&mut self, names: &[&str]) {
        for side in [&mut self.server, &mut self.client] {
            let world = side.app.world_mut();
            world.despawn(side.connection);
            world.resource_mut::<NetPackages>().retain(|name| names.contains(&name));
            side.connection = world.spawn(PackageConnection::default()).id();
        }
    }
}

/// What was known of objects and placements stays known, at the new places; what has gone can be listed anew.
#[test]
fn packages_go_out_of_the_list_between_connections() {
    let mut pair = Pair::new();
    for name in ["b.pkg", "a.pkg", "c.pkg"] {
        pair.chain(name, 3);
    }
    pair.server.place(&HOUSES);
    pair.client.place(&HOUSES);
    pair.build("house_1", "house_2");
    pair.build("house_2", "house_1");
    pair.agree();
    let doors: Vec<Entity> = ["house_1", "house_2"].map(|house| pair.server.door(house)).into();
    let before: Vec<_> = doors.iter().map(|door| pair.server.id_of(*door)).collect();
    pair.retain(&["a.pkg", "c.pkg"]);
    let map = pair.server.app.world().resource::<NetPackages>().map().clone();
    let names: Vec<_> = (0..map.len()).map(|at| &*map.package(at).unwrap().path).collect();
    assert_eq!(names, ["a.pkg", "c.pkg", "a.pkg@town/house_2", "a.pkg@town/house_3"]);
    let known: Vec<_> = doors.iter().map(|door| pair.server.id_of(*door)).collect();
    assert_eq!(known, before);
    pair.agree();
    for (house, id) in ["house_1", "house_2"].into_iter().zip(known) {
        let id = id.unwrap();
        assert_eq!(pair.understood(id), pair.client.door(house), "{house}");
    }
    // A file of another content is one that may be listed again.
    let bytes = chain(&pair.server.app, "b.pkg", 5, None);
    pair.add("b.pkg", &bytes);
    pair.agree();
}
