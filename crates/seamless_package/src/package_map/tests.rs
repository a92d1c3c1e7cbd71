//! Tests of the package map, rule by rule, and against a model of a bad network.

mod connection;
mod garbage;
mod handshake;
mod lists;
mod loss;
mod map;
mod model;
mod pending;
mod references;
mod sizes;

use super::*;
use crate::{CursorError, ObjectId};

/// Objects of every package of [`list`].
const EXPORTS: u32 = 100;

fn path(package: u32) -> String {
    format!("levels/cell_{}_{}.pkg", package / 32, package % 32)
}

fn object(package: u32, export: u32) -> ObjectId {
    ObjectId::new(&path(package), &format!("Scene0/Node{export}~2"))
}

fn index(package: u32, export: u32) -> ObjectIndex {
    ObjectIndex { package, export }
}

fn info(package: u32) -> PackageInfo {
    PackageInfo::new(path(package), u64::from(package) + 1000, EXPORTS)
}

/// A list of so many packages, with no object known.
fn list(packages: u32) -> PackageMap {
    of((0..packages).map(info), MapLimits::default())
}

fn of(packages: impl IntoIterator<Item = PackageInfo>, limits: MapLimits) -> PackageMap {
    let mut map = PackageMap::new(limits);
    for info in packages {
        map.add_package(info).unwrap();
    }
    map
}

/// A list of so many packages, with all objects known.
fn full(packages: u32) -> PackageMap {
    let mut map = list(packages);
    for package in 0..packages {
        learn(&mut map, package);
    }
    map
}

fn learn(map: &mut PackageMap, package: u32) {
    let objects = (0..EXPORTS).map(|export| (export, object(package, export)));
    map.add_objects(package, objects).unwrap();
}

fn offer(of: &mut Handshake, map: &PackageMap) -> Vec<u8> {
    let mut bytes = Vec::new();
    of.offer(map, &mut bytes);
    bytes
}

/// One side of a handshake.
struct Side<'a> {
    handshake: Handshake,
    map: &'a PackageMap,
}

impl<'a> Side<'a> {
    fn new(map: &'a PackageMap) -> Self {
        let handshake = Handshake::new();
        Self { handshake, map }
    }

    /// A side that has made an offer, which was lost or not.
    fn offered(map: &'a PackageMap) -> Self {
        let mut side = Self::new(map);
        offer(&mut side.handshake, map);
        side
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(Option<HandshakeEvent>, Vec<u8>), HandshakeError> {
        let mut reply = Vec::new();
        let event = self.handshake.receive(self.map, bytes, &mut reply)?;
        Ok((event, reply))
    }
}

/// `from` makes its offer, and both answer until nobody has anything to say. Returns what `to` said wrong.
fn shake(from: &mut Side<'_>, to: &mut Side<'_>) -> Result<(), HandshakeError> {
    let mut message = offer(&mut from.handshake, from.map);
    for _ in 0..10_000 {
        (_, message) = to.receive(&message)?;
        if message.is_empty() {
            return Ok(());
        }
        (_, message) = from
            .receive(&message)
            .expect("the side that offers sees an honest peer");
        if message.is_empty() {
            return Ok(());
        }
    }
    panic!("the handshake does not end");
}

/// The handshakes of the side that sends references and of the one that receives them.
fn agreed(sender: &PackageMap, receiver: &PackageMap) -> (Handshake, Handshake) {
    let (mut sender, mut receiver) = (Side::new(sender), Side::new(receiver));
    shake(&mut sender, &mut receiver).unwrap();
    (sender.handshake, receiver.handshake)
}

/// An error's text tells what is wrong, and behind a semicolon, how to mend it.
fn has_a_mend(error: &dyn std::error::Error) {
    let text = error.to_string();
    assert!(text.contains("; "), "no mend: {text}");
}

#[test]
fn states_move_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<(PackageMap, Handshake, RefEncoder, RefDecoder, PendingRefs<Vec<u8>>)>();
    shared::<(HandshakeError, MapError, EncodeError, DecodeError, AckError)>();
}
