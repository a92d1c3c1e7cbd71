//! Two apps that speak of the objects of the same packages, over a wire made here.

mod faults;
mod handshake;
mod hidden;
mod instances;
mod network;
mod resolve;

use core::time::Duration;

use bevy_app::App;
use bevy_asset::io::memory::Dir;
use bevy_ecs::{message::Messages, prelude::*};
use bevy_mesh::Mesh;
use bevy_time::{Real, Time};
use seamless_package::{Limits, ObjectId, Package};

use super::*;
use crate::{
    LinkersResource, LiveObjectsResource,
    load::{
        InstanceId, LevelInstance, LoadState, Streamer,
        tests::{
            app_after,
            build::{chain, seek_free_chain, shared_package},
            load, put,
        },
    },
};

const FRAME: Duration = Duration::from_millis(20);

/// One app with one connection.
struct Side {
    app: App,
    dir: Dir,
    connection: Entity,
    got: Vec<NetMessage>,
    agreed: Vec<PackagesAgreed>,
}

impl Side {
    fn new() -> Self {
        Self::with(PackageMapPlugin::default())
    }

    fn with(plugin: PackageMapPlugin) -> Self {
        Self::of(crate::SeamlessAssetPlugin::default(), plugin)
    }

    fn of(assets: crate::SeamlessAssetPlugin, plugin: PackageMapPlugin) -> Self {
        let dir = Dir::default();
        let mut app = app_after(&dir, assets, |app| {
            app.add_plugins(plugin);
        });
        let connection = app.world_mut().spawn(PackageConnection::default()).id();
        Self {
            app,
            dir,
            connection,
            got: Vec::new(),
            agreed: Vec::new(),
        }
    }

    /// Puts a package there, and lists it.
    fn add(&mut self, name: &str, bytes: &[u8]) {
        put(&self.dir, name, bytes.to_vec());
        self.list(described(name, bytes));
    }

    fn list(&mut self, package: NetPackage) {
        self.app
            .world_mut()
            .resource_mut::<NetPackages>()
            .list(package)
            .expect("it can be listed");
    }

    fn peer(&self) -> &PackageConnection {
        self.app.world().get(self.connection).expect("it is there")
    }

    fn peer_mut(&mut self) -> Mut<'_, PackageConnection> {
        self.app.world_mut().get_mut(self.connection).expect("it is there")
    }

    fn send(&mut self, channel: u32, refs: &[Option<ObjectId>], body: &[u8]) -> Result<(), SendError> {
        let connection = self.connection;
        self.app
            .world_mut()
            .resource_scope(|world, packages: Mut<NetPackages>| {
                let mut peer = world.get_mut::<PackageConnection>(connection).expect("it is there");
                peer.send(&packages, channel, refs, body)
            })
    }

    /// A frame; what it has delivered is kept.
    fn update(&mut self) {
        self.app
            .world_mut()
            .resource_mut::<Time<Real>>()
            .update_with_duration(FRAME);
        self.app.update();
        let got = self.messages::<NetMessage>();
        self.got.extend(got);
        let agreed = self.messages::<PackagesAgreed>();
        self.agreed.extend(agreed);
    }

    fn messages<M: Message>(&mut self) -> Vec<M> {
        self.app.world_mut().resource_mut::<Messages<M>>().drain().collect()
    }

    fn reveal(&mut self, package: &str) -> InstanceId {
        load(&mut self.app, package, &[])
    }

    fn is_live(&self, id: InstanceId) -> bool {
        self.app.world().resource::<Streamer>().state(id) == Some(LoadState::Live)
    }

    /// The entity with this object id, of the only level.
    fn entity(&mut self, id: ObjectId) -> Option<Entity> {
        let world = self.app.world_mut();
        let mut levels = world.query::<&LevelInstance>();
        levels.iter(world).find_map(|level| level.entity(id))
    }
}

/// A package as its cook would list it.
fn described(name: &str, bytes: &[u8]) -> NetPackage {
    let package = Package::parse(bytes, &Limits::default()).unwrap();
    let level = package.find_name("Level");
    let entities = level.map(|level| {
        let data = package.export_data(level, bytes, 0).unwrap();
        u32::from_le_bytes(data[..4].try_into().unwrap())
    });
    NetPackage {
        name: package.name().into(),
        path: name.to_owned().into(),
        content_hash: package.summary().content_hash,
        exports: package.summary().export_count,
        entities: entities.unwrap_or(0),
    }
}

/// What carries packets from one side to the other, both ways.
trait Wire {
    /// Takes what is sent in this frame, in order, and gives what arrives, one way.
    fn carry(&mut self, to_client: bool, packets: Vec<Vec<u8>>) -> Vec<Vec<u8>>;
}

/// Everything arrives, once, in order, in the next frame.
struct Good;

impl Wire for Good {
    fn carry(&mut self, _: bool, packets: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        packets
    }
}

struct Pair<W = Good> {
    server: Side,
    client: Side,
    wire: W,
}

impl Pair {
    fn new() -> Self {
        Self::with(PackageMapPlugin::default())
    }

    fn with(plugin: PackageMapPlugin) -> Self {
        Pair {
            server: Side::with(plugin.clone()),
            client: Side::with(plugin),
            wire: Good,
        }
    }
}

impl<W: Wire> Pair<W> {
    /// Puts a package on both sides.
    fn add(&mut self, name: &str, bytes: &[u8]) {
        self.server.add(name, bytes);
        self.client.add(name, bytes);
    }

    fn chain(&mut self, name: &str, count: u32) {
        let bytes = chain(&self.server.app, name, count, None);
        self.add(name, &bytes);
    }

    fn update(&mut self) {
        let Self { server, client, wire } = self;
        pass(server, client, wire, true);
        pass(client, server, wire, false);
        // Loads run on threads of their own.
        std::thread::sleep(Duration::from_micros(300));
    }

    fn run_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        let start = std::time::Instant::now();
        while !done(self) {
            assert!(start.elapsed() < Duration::from_secs(240), "it took too long");
            self.update();
        }
    }

    fn agree(&mut self) {
        self.run_until(|pair| {
            [&pair.server, &pair.client].into_iter().all(|side| {
                let packages = side.app.world().resource::<NetPackages>();
                side.peer().is_agreed(packages)
            })
        });
    }

    /// Both agree, and the server has a level in its world.
    fn with_level_on_server(&mut self, package: &str) -> InstanceId {
        let id = self.server.reveal(package);
        self.agree();
        self.run_until(|pair| pair.server.is_live(id));
        self.update();
        id
    }
}

/// What `from` has sent reaches `to`, which has a frame then.
fn pass(from: &mut Side, to: &mut Side, wire: &mut impl Wire, to_client: bool) {
    let packets = from.peer_mut().drain().collect();
    for packet in wire.carry(to_client, packets) {
        to.peer_mut().receive(packet);
    }
    to.update();
}

/// Entity `row` of a level that [`chain`] made.
fn row(package: &str, row: u32) -> ObjectId {
    ObjectId::new(package, &row.to_string())
}

fn mesh(package: &str) -> ObjectId {
    ObjectId::new(package, "Mesh")
}

fn ids(message: &NetMessage) -> Vec<Option<ObjectId>> {
    let refs = message.refs.as_ref().unwrap_or_else(|error| panic!("{error}"));
    refs.iter().map(|object| object.as_ref().map(NetObject::id)).collect()
}
