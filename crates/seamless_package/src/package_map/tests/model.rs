//! A sender and a receiver over a network that loses, doubles and reorders, against what must hold.

use super::*;
use proptest::prelude::*;
use proptest::sample::Index;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const PACKAGES: u32 = 4;
const OBJECTS: u32 = 6;
const AGE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
enum Step {
    /// The sender mentions some objects in one message.
    Mention {
        channel: u32,
        objects: Vec<Option<(u32, u32)>>,
    },
    Arrive {
        at: Index,
        again: bool,
    },
    Lose {
        at: Index,
    },
    Acknowledge,
    Load {
        package: u32,
    },
    Unload {
        package: u32,
    },
    Fail {
        package: u32,
        export: u32,
    },
    Wait {
        ms: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let place = (0..PACKAGES, 0..OBJECTS);
    let mention = (
        0..3_u32,
        prop::collection::vec(prop::option::weighted(0.8, place.clone()), 0..4),
    );
    prop_oneof![
        6 => mention.prop_map(|(channel, objects)| Step::Mention { channel, objects }),
        8 => (any::<Index>(), any::<bool>()).prop_map(|(at, again)| Step::Arrive { at, again }),
        2 => any::<Index>().prop_map(|at| Step::Lose { at }),
        3 => Just(Step::Acknowledge),
        2 => (0..PACKAGES).prop_map(|package| Step::Load { package }),
        1 => (0..PACKAGES).prop_map(|package| Step::Unload { package }),
        1 => place.prop_map(|(package, export)| Step::Fail { package, export }),
        1 => (0..400_u64).prop_map(|ms| Step::Wait { ms }),
    ]
}

/// What is under way.
#[derive(Debug, Clone)]
enum Packet {
    Message {
        channel: u32,
        objects: Vec<Option<(u32, u32)>>,
        bytes: Vec<u8>,
    },
    Acknowledgement(Vec<u8>),
}

/// A value with what it must resolve to, and when it came.
#[derive(Debug, Clone)]
struct Value {
    arrival: u32,
    objects: Vec<Option<ObjectId>>,
    came: Duration,
}

struct Model {
    sender: PackageMap,
    receiver: PackageMap,
    of_sender: Handshake,
    of_receiver: Handshake,
    encoder: RefEncoder,
    decoder: RefDecoder,
    pending: PendingRefs<Value>,
    live: RefCell<BTreeSet<ObjectId>>,
    network: Vec<Packet>,
    now: Duration,
    arrivals: u32,
    wanted: BTreeSet<ObjectIndex>,
    /// The arrivals of each channel that have not been delivered, in order.
    expected: BTreeMap<u32, Vec<u32>>,
    failures: u32,
}

impl Model {
    fn new() -> Self {
        let (sender, receiver) = (full(PACKAGES), list(PACKAGES));
        let (of_sender, of_receiver) = agreed(&sender, &receiver);
        let limits = PendingLimits {
            age: AGE,
            ..PendingLimits::default()
        };
        Self {
            sender,
            receiver,
            of_sender,
            of_receiver,
            encoder: RefEncoder::new(),
            decoder: RefDecoder::new(),
            pending: PendingRefs::new(limits),
            live: RefCell::default(),
            network: Vec::new(),
            now: Duration::ZERO,
            arrivals: 0,
            wanted: BTreeSet::new(),
            expected: BTreeMap::new(),
            failures: 0,
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Mention { channel, objects } => self.mention(channel, objects),
            Step::Arrive { at, again } if !self.network.is_empty() => {
                let at = at.index(self.network.len());
                let packet = self.network[at].clone();
                if !again {
                    self.network.remove(at);
                }
                self.arrive(packet);
            }
            Step::Lose { at } if !self.network.is_empty() => {
                self.network.remove(at.index(self.network.len()));
            }
            Step::Arrive { .. } | Step::Lose { .. } => {}
            Step::Acknowledge => self.acknowledge(),
            Step::Load { package } => self.load(package),
            Step::Unload { package } => {
                let gone = |id: &ObjectId| (0..EXPORTS).any(|export| *id == object(package, export));
                self.live.borrow_mut().retain(|id| !gone(id));
            }
            Step::Fail { package, export } => {
                let place = index(package, export);
                self.failures += 1;
                self.call(|pending, objects, _, actions| pending.failed(objects, place, "no", actions));
            }
            Step::Wait { ms } => {
                self.now += Duration::from_millis(ms);
                self.call(|pending, objects, now, actions| pending.tick(objects, now, actions));
            }
        }
    }

    fn mention(&mut self, channel: u32, objects: Vec<Option<(u32, u32)>>) {
        let mut bytes = Vec::new();
        for place in &objects {
            let id = place.map(|(package, export)| object(package, export));
            self.encoder
                .encode(&self.sender, &self.of_sender, id, &mut bytes)
                .unwrap();
        }
        self.network.push(Packet::Message {
            channel,
            objects,
            bytes,
        });
    }

    fn arrive(&mut self, packet: Packet) {
        let (channel, objects, bytes) = match packet {
            Packet::Message {
                channel,
                objects,
                bytes,
            } => (channel, objects, bytes),
            Packet::Acknowledgement(bytes) => return self.encoder.acknowledged(&mut &bytes[..]).unwrap(),
        };
        let mut rest = &bytes[..];
        let mut refs = Vec::new();
        for place in &objects {
            let reference = self
                .decoder
                .decode(&self.receiver, &self.of_receiver, &mut rest)
                .unwrap();
            assert_eq!(
                reference,
                place.map(|(package, export)| index(package, export)),
                "the wrong object"
            );
            refs.push(reference);
        }
        assert!(rest.is_empty());
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.expected.entry(channel).or_default().push(arrival);
        let ids = objects
            .iter()
            .map(|place| place.map(|(package, export)| object(package, export)));
        let value = Value {
            arrival,
            objects: ids.collect(),
            came: self.now,
        };
        let incoming = Incoming {
            channel,
            refs,
            value,
            bytes: 10,
        };
        self.call(|pending, objects, now, actions| {
            pending.resolve(objects, incoming, now, actions).unwrap();
        });
    }

    fn acknowledge(&mut self) {
        let mut bytes = Vec::new();
        if self.decoder.acknowledge(&mut bytes) {
            self.network.push(Packet::Acknowledgement(bytes));
        }
    }

    fn load(&mut self, package: u32) {
        learn(&mut self.receiver, package);
        for export in 0..OBJECTS {
            let id = object(package, export);
            self.live.borrow_mut().insert(id);
            self.call(|pending, objects, _, actions| pending.loaded(objects, id, actions));
        }
    }

    fn call(&mut self, call: impl FnOnce(&mut PendingRefs<Value>, &Objects<'_>, Duration, &mut Vec<Action<Value>>)) {
        let mut actions = Vec::new();
        let live = |id| self.live.borrow().contains(&id);
        let objects = Objects {
            map: &self.receiver,
            live: &live,
        };
        call(&mut self.pending, &objects, self.now, &mut actions);
        for action in actions {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action<Value>) {
        match action {
            Action::Want { object, path, .. } => {
                assert_eq!(*path, *super::path(object.package));
                assert!(self.wanted.insert(object), "{object} is wanted twice");
            }
            Action::Release { object } => assert!(self.wanted.remove(&object), "{object} was not wanted"),
            Action::Deliver {
                channel, value, refs, ..
            } => {
                let order = self.expected.get_mut(&channel).unwrap();
                assert_eq!(order.remove(0), value.arrival, "out of order");
                self.check_refs(&value, refs);
            }
        }
    }

    fn check_refs(&self, value: &Value, refs: Result<Vec<Option<ObjectId>>, RefError>) {
        match refs {
            Ok(ids) => {
                assert_eq!(ids, value.objects);
                let live = self.live.borrow();
                assert!(ids.iter().flatten().all(|id| live.contains(id)), "not live");
            }
            Err(RefError::TimedOut { .. }) => assert!(self.now >= value.came + AGE, "too early"),
            Err(RefError::LoadFailed { .. }) => assert!(self.failures > 0, "nothing has failed"),
        }
    }

    /// The network gets better, and everything is loaded.
    fn settle(&mut self) {
        while let Some(packet) = self.network.pop() {
            self.arrive(packet);
        }
        for package in 0..PACKAGES {
            self.load(package);
        }
        assert!(
            self.pending.is_empty(),
            "all is loaded, and {} values wait",
            self.pending.len()
        );
        assert!(self.expected.values().all(Vec::is_empty));
        assert_eq!(
            (self.wanted.len(), self.pending.wanted_len(), self.pending.bytes()),
            (0, 0, 0)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn references_survive_a_bad_network(steps in prop::collection::vec(step(), 0..150)) {
        let mut model = Model::new();
        for step in steps {
            model.step(step);
        }
        model.settle();
        // One more mention of everything, and all of it is a number.
        let all: Vec<_> = (0..PACKAGES).flat_map(|p| (0..OBJECTS).map(move |e| Some((p, e)))).collect();
        model.mention(0, all.clone());
        model.settle();
        model.acknowledge();
        model.settle();
        prop_assert_eq!(model.encoder.unacknowledged(), 0);
        model.mention(0, all.clone());
        let Some(Packet::Message { bytes, .. }) = model.network.last() else { panic!("just sent") };
        prop_assert_eq!(bytes.len(), all.len());
        model.settle();
    }
}
