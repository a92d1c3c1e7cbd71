//! One side of a connection, and what is promised of it whatever the other one sends.

use arbitrary::{Result, Unstructured};
use seamless_package::ObjectId;
use seamless_package::package_map::{
    Action, DecodeError, Handshake, HandshakeError, Incoming, MapLimits, ObjectIndex, Objects, PackageInfo, PackageMap,
    PendingLimits, PendingRefs, RefDecoder, RefEncoder,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::time::Duration;

/// Objects of every package.
pub const EXPORTS: u32 = 400;
pub const LAST_PACKAGE: u32 = 7;
const VALUES: u32 = 4;
const REFS: u32 = 6;
const WANTED: u32 = 3;
const BYTES: u64 = 100;

pub struct Peer {
    pub map: PackageMap,
    pub handshake: Handshake,
    pub encoder: RefEncoder,
    pub decoder: RefDecoder,
    /// What references have meant so far.
    meanings: BTreeMap<Vec<u8>, Option<ObjectIndex>>,
    /// Which packages are in the map, in its order.
    packages: Vec<u32>,
    longest_message: usize,
    pending: PendingRefs<u64>,
    live: BTreeSet<ObjectId>,
    wanted: BTreeSet<ObjectIndex>,
    given: u64,
    delivered: BTreeSet<u64>,
    now: Duration,
}

/// The ids of all objects of a few packages: made once, because there are many.
static OBJECTS: LazyLock<Vec<Vec<ObjectId>>> = LazyLock::new(|| {
    let id = |package, export| ObjectId::new(&path(package), &format!("Node{export}"));
    let of_package = |package| (0..EXPORTS).map(|export| id(package, export)).collect();
    (0..=LAST_PACKAGE).map(of_package).collect()
});

fn object(package: u32, export: u32) -> Option<ObjectId> {
    OBJECTS.get(package as usize)?.get(export as usize).copied()
}

fn path(package: u32) -> String {
    format!("levels/cell_{package}.pkg")
}

impl Peer {
    /// Its limits are the usual ones, or narrow.
    pub fn new(u: &mut Unstructured<'_>) -> Result<Self> {
        let limits = match u.ratio(1, 4)? {
            false => MapLimits::default(),
            true => MapLimits {
                packages: u.int_in_range(0..=5)?,
                objects: 500,
                path_bytes: u.int_in_range(10..=20)?,
                message_bytes: u.int_in_range(0..=120)?,
            },
        };
        // A message always has room for one package.
        let longest = limits.message_bytes.max(limits.path_bytes + 64);
        let pending = PendingLimits {
            values: VALUES,
            bytes: BYTES,
            refs: REFS,
            objects: WANTED,
            age: Duration::from_millis(500),
        };
        Ok(Self {
            map: PackageMap::new(limits),
            handshake: Handshake::new(),
            encoder: RefEncoder::new(),
            decoder: RefDecoder::new(),
            meanings: BTreeMap::new(),
            packages: Vec::new(),
            longest_message: longest as usize,
            pending: PendingRefs::new(pending),
            live: BTreeSet::new(),
            wanted: BTreeSet::new(),
            given: 0,
            delivered: BTreeSet::new(),
            now: Duration::ZERO,
        })
    }

    /// Lists one more package, unless it is listed already or there are too many.
    pub fn list(&mut self, package: u32, other_hash: bool) {
        let info = PackageInfo::new(path(package), u64::from(other_hash), EXPORTS);
        if self.map.add_package(info).is_ok() {
            self.packages.push(package);
            assert_eq!(self.map.len() as usize, self.packages.len());
        }
    }

    /// Learns the objects of the package at a position of its list, as far as its limits let it.
    pub fn learn(&mut self, at: u32) {
        if let Some(&package) = self.packages.get(at as usize) {
            let objects = (0..EXPORTS).filter_map(|export| Some((export, object(package, export)?)));
            self.map.add_objects(at, objects).ok();
        }
    }

    /// The object at a place of its list, known to the map or not.
    pub fn object_at(&self, place: (u32, u32)) -> Option<ObjectId> {
        object(*self.packages.get(place.0 as usize)?, place.1)
    }

    /// Whether a reference was written. If not, nothing was.
    pub fn encode(&mut self, id: Option<ObjectId>, out: &mut Vec<u8>) -> bool {
        let encoded = self.encoder.encode(&self.map, &self.handshake, id, out);
        assert_eq!(encoded.is_err(), out.is_empty());
        encoded.is_ok()
    }

    /// Takes a message of the handshake, and gives the reply.
    pub fn receive(&mut self, message: &[u8]) -> std::result::Result<Vec<u8>, HandshakeError> {
        let mut reply = Vec::new();
        let received = self.handshake.receive(&self.map, message, &mut reply);
        assert!(received.is_ok() || reply.is_empty());
        assert!(reply.len() <= self.longest_message);
        received.map(|_| reply)
    }

    /// Takes a reference from the front of a message. An error changes nothing, and no reference changes its meaning.
    pub fn decode(&mut self, message: &[u8]) -> std::result::Result<Option<ObjectIndex>, DecodeError> {
        let mut rest = message;
        let decoded = self.decoder.decode(&self.map, &self.handshake, &mut rest);
        match &decoded {
            Ok(index) => {
                assert!(rest.len() < message.len());
                let agreed = |index: &ObjectIndex| index.package < self.handshake.verified() && index.export < EXPORTS;
                assert!(index.iter().all(agreed));
                let reference = message[..message.len() - rest.len()].to_vec();
                assert_eq!(self.meanings.entry(reference).or_insert(*index), index);
            }
            Err(_) => assert_eq!(rest.len(), message.len()),
        }
        decoded
    }

    /// Whether an acknowledgement was taken. An error changes nothing.
    pub fn acknowledged(&mut self, message: &[u8]) -> bool {
        let (mut rest, open) = (message, self.encoder.unacknowledged());
        let taken = self.encoder.acknowledged(&mut rest).is_ok();
        match taken {
            true => assert!(rest.len() < message.len() && self.encoder.unacknowledged() <= open),
            false => assert_eq!((rest.len(), self.encoder.unacknowledged()), (message.len(), open)),
        }
        taken
    }

    /// A value with two references has arrived.
    pub fn wait_for(&mut self, u: &mut Unstructured<'_>, index: Option<ObjectIndex>) -> Result<()> {
        let incoming = Incoming {
            channel: u.int_in_range(0..=2)?,
            refs: vec![None, index],
            value: self.given,
            bytes: u.int_in_range(0..=60)?,
        };
        self.given += 1;
        self.call(|pending, objects, now, actions| {
            // An error is that of a limit, and drops the value.
            pending.resolve(objects, incoming, now, actions).ok();
        });
        Ok(())
    }

    /// Something becomes of an object that may be wanted, or time goes by.
    pub fn load(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let place = (u.int_in_range(0..=4)?, u.int_in_range(0..=EXPORTS)?);
        let wanted = self.wanted.iter().next().copied();
        let place = wanted
            .filter(|_| place.1 % 2 == 0)
            .map_or(place, |index| (index.package, index.export));
        let (package, export) = place;
        match (u.int_in_range(0..=3)?, self.object_at(place)) {
            (0, Some(id)) => {
                self.live.insert(id);
                self.call(|pending, objects, _, actions| pending.loaded(objects, id, actions));
            }
            (1, Some(id)) => {
                self.live.remove(&id);
            }
            (2, _) => {
                let index = ObjectIndex { package, export };
                self.call(|pending, objects, _, actions| pending.failed(objects, index, "no", actions));
            }
            _ => {
                self.now += Duration::from_millis(u.int_in_range(0..=300)?);
                self.call(|pending, objects, now, actions| pending.tick(objects, now, actions));
            }
        }
        Ok(())
    }

    fn call(&mut self, call: impl FnOnce(&mut PendingRefs<u64>, &Objects<'_>, Duration, &mut Vec<Action<u64>>)) {
        let mut actions = Vec::new();
        let live = |id| self.live.contains(&id);
        let objects = Objects {
            map: &self.map,
            live: &live,
        };
        call(&mut self.pending, &objects, self.now, &mut actions);
        for action in actions {
            match action {
                Action::Want { object, .. } => assert!(self.wanted.insert(object), "{object} is wanted twice"),
                Action::Release { object } => assert!(self.wanted.remove(&object), "{object} was not wanted"),
                Action::Deliver { value, refs, .. } => {
                    assert!(self.delivered.insert(value), "a value is delivered twice");
                    let ids = refs.iter().flatten().flatten();
                    assert!(ids.into_iter().all(|id| self.live.contains(id)), "not live");
                }
                _ => panic!("an action that this test does not know"),
            }
        }
    }

    /// What it holds is within its limits.
    pub fn check(&self) {
        assert!(self.handshake.accepted() <= self.map.len() && self.handshake.verified() <= self.map.len());
        self.handshake.difference(&self.map);
        assert!(self.pending.len() <= VALUES as usize && self.pending.bytes() <= BYTES);
        assert!(self.wanted.len() <= WANTED as usize);
        assert_eq!(self.wanted.len(), self.pending.wanted_len());
        assert_eq!(self.pending.is_empty(), self.wanted.is_empty());
        assert_eq!(self.pending.is_empty(), self.pending.next_deadline().is_none());
        assert!(self.pending.bytes() == 0 || !self.pending.is_empty());
    }

    /// The connection ends: what is wanted is released.
    pub fn close(mut self) {
        let mut actions = Vec::new();
        self.pending.close(&mut actions);
        for action in actions {
            let Action::Release { object } = action else {
                panic!("only releases")
            };
            assert!(self.wanted.remove(&object), "{object} was not wanted");
        }
        assert!(self.wanted.is_empty());
    }
}
