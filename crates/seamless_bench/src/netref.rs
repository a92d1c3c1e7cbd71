//! `netref_encode`: references to objects in messages, beside the objects' paths.
//!
//! 1 000 objects of 100 packages are mentioned ten times each, in an order without a pattern, eight to a message. The receiver
//! acknowledges after every fourth message, and its acknowledgement arrives four messages later, so objects are
//! mentioned in full until then.
//!
//! Both sides start from the id of a loaded asset, and both have the same objects: names and paths are equal.
//! * Ours: the object's id, found in a map of the game's own, `RefEncoder::encode` of it, and `RefEncoder::acknowledged`. Bytes
//!   include the acknowledgements.
//! * Peer: the asset's path, found by `AssetServer::get_path`, written as text into the message with its length before it.
//! * Limit of the time: to copy text that is at hand, without looking for it. We may be faster, because we write less.

use std::{collections::VecDeque, fmt::Write, hint::black_box};

use bevy_asset::{AssetServer, Handle, UntypedAssetId, io::memory::Dir};
use bevy_platform::collections::HashMap;
use seamless_asset::package::{
    ObjectId,
    package_map::{Handshake, MapLimits, PackageInfo, PackageMap, RefDecoder, RefEncoder},
};

use crate::{
    app::cpu_ns,
    row::{Row, Samples, Targets},
    stones::{PER_FILE, Stone, bevy_app, label, object_path, package_path, put, stone_file, wait_for},
};

const FILES: usize = 100;
const OBJECTS: usize = 1000;
const MENTIONS: usize = 10 * OBJECTS;
const PER_MESSAGE: usize = 8;
/// Messages between two acknowledgements.
const ACKNOWLEDGE_EVERY: usize = 4;
/// Messages that are sent while an acknowledgement is under way.
const LATENCY: usize = 4;
const PEER: &str = "the object's path as a string";

/// Measures bytes.
pub fn bytes(_: Option<usize>) -> Row {
    let link = Link::new();
    let messages = link.talk();
    let ours: usize = messages
        .iter()
        .map(|message| message.bytes + message.arrived.len())
        .sum();
    let peer: usize = link
        .mentions
        .iter()
        .map(|object| 1 + object_path(number(*object)).len())
        .sum();
    let per_mention = |bytes: usize| vec![bytes as f64 / MENTIONS as f64];
    let result = Samples {
        ours: per_mention(ours),
        peer: per_mention(peer),
        limit: Vec::new(),
    };
    let targets = Targets {
        first: 8.0,
        aim: 8.0,
        of_limit: None,
    };
    result.row("netref_encode/bytes", "bytes/ref", Some(PEER), None, targets)
}

/// Measures CPU time of the sender.
pub fn ns(samples: Option<usize>) -> Row {
    let link = Link::new();
    let messages = link.talk();
    let paths = Paths::new();
    let ids: HashMap<UntypedAssetId, ObjectId> = paths.ids.iter().copied().zip(link.ids.iter().copied()).collect();
    let mut result = Samples::default();
    for round in 0..samples.unwrap_or(201) + 5 {
        let (ours, sent) = cpu_ns(|| link.send(&messages, |object| ids[&paths.ids[object]]));
        let (peer, written) = cpu_ns(|| paths.send(&link.mentions));
        let (copied, copied_bytes) = cpu_ns(|| paths.copy(&link.mentions));
        assert_eq!(sent, messages.iter().map(|message| message.bytes).sum::<usize>());
        assert_eq!(written, copied_bytes);
        // The first rounds warm caches and allocator.
        if round >= 5 {
            result.ours.push(ours / MENTIONS as f64);
            result.peer.push(peer / MENTIONS as f64);
            result.limit.push(copied / MENTIONS as f64);
        }
    }
    let targets = Targets {
        first: 2.0,
        aim: 2.0,
        of_limit: None,
    };
    let limit = Some("to copy the path's text that is at hand");
    result.row("netref_encode/ns", "ns/ref", Some(PEER), limit, targets)
}

/// The stone that is object `object`: ten of each file.
fn number(object: usize) -> usize {
    object % FILES * PER_FILE + object / FILES * 10
}

/// Every object ten times, shuffled.
fn mentions() -> Vec<usize> {
    let mut mentions: Vec<usize> = (0..MENTIONS).map(|mention| mention % OBJECTS).collect();
    let mut state = 0x5eed_u64;
    for last in (1..mentions.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let other = (state >> 33) as usize % (last + 1);
        mentions.swap(last, other);
    }
    mentions
}

/// A message of the conversation that [`Link::talk`] was.
struct Message {
    /// The acknowledgement that arrived before it was written; empty if none did.
    arrived: Vec<u8>,
    /// Its length.
    bytes: usize,
}

/// One side that sends to another.
struct Link {
    map: PackageMap,
    sender: Handshake,
    receiver: Handshake,
    mentions: Vec<usize>,
    /// By object.
    ids: Vec<ObjectId>,
}

impl Link {
    fn new() -> Self {
        let mut map = PackageMap::new(MapLimits::default());
        for file in 0..FILES {
            // The class comes first.
            let info = PackageInfo::new(package_path(file), file as u64, PER_FILE as u32 + 1);
            let package = map.add_package(info).expect("a new path");
            let objects = (0..PER_FILE).map(|index| (index as u32 + 1, id(file * PER_FILE + index)));
            map.add_objects(package, objects).expect("new objects");
        }
        let (mut sender, mut receiver) = (Handshake::new(), Handshake::new());
        let (mut offer, mut reply) = (Vec::new(), Vec::new());
        sender.offer(&map, &mut offer);
        receiver
            .receive(&map, &offer, &mut reply)
            .expect("the lists are the same");
        sender
            .receive(&map, &reply, &mut Vec::new())
            .expect("the lists are the same");
        Self {
            map,
            sender,
            receiver,
            mentions: mentions(),
            ids: (0..OBJECTS).map(|object| id(number(object))).collect(),
        }
    }

    fn encode(&self, encoder: &mut RefEncoder, object: ObjectId, out: &mut Vec<u8>) {
        encoder
            .encode(&self.map, &self.sender, Some(object), out)
            .expect("the object is known");
    }

    /// The whole conversation, with a receiver that reads and acknowledges.
    fn talk(&self) -> Vec<Message> {
        let (mut encoder, mut decoder) = (RefEncoder::new(), RefDecoder::new());
        let mut under_way = VecDeque::from(vec![Vec::new(); LATENCY]);
        let mut messages = Vec::new();
        for (turn, mentions) in self.mentions.chunks(PER_MESSAGE).enumerate() {
            let arrived = under_way.pop_front().unwrap_or_default();
            if !arrived.is_empty() {
                encoder.acknowledged(&mut &arrived[..]).expect("an honest receiver");
            }
            let mut out = Vec::new();
            for object in mentions {
                self.encode(&mut encoder, self.ids[*object], &mut out);
            }
            let mut rest = &out[..];
            for object in mentions {
                let read = decoder
                    .decode(&self.map, &self.receiver, &mut rest)
                    .expect("an honest sender");
                assert_eq!(read, self.map.index_of(self.ids[*object]));
            }
            let mut acknowledgement = Vec::new();
            if turn % ACKNOWLEDGE_EVERY == ACKNOWLEDGE_EVERY - 1 {
                decoder.acknowledge(&mut acknowledgement);
            }
            under_way.push_back(acknowledgement);
            messages.push(Message {
                arrived,
                bytes: out.len(),
            });
        }
        messages
    }

    /// The sender's part of the conversation, with ids that `find` finds; the bytes sent.
    fn send(&self, messages: &[Message], find: impl Fn(usize) -> ObjectId) -> usize {
        let mut encoder = RefEncoder::new();
        let (mut out, mut sent) = (Vec::new(), 0);
        for (message, mentions) in messages.iter().zip(self.mentions.chunks(PER_MESSAGE)) {
            if !message.arrived.is_empty() {
                encoder
                    .acknowledged(&mut &message.arrived[..])
                    .expect("an honest receiver");
            }
            out.clear();
            for object in mentions {
                self.encode(&mut encoder, find(*object), &mut out);
            }
            sent += black_box(&out).len();
        }
        sent
    }
}

fn id(number: usize) -> ObjectId {
    ObjectId::new(&package_path(number / PER_FILE), &label(number))
}

/// The same objects as loaded assets of Bevy.
struct Paths {
    server: AssetServer,
    _handles: Vec<Handle<Stone>>,
    /// By object.
    ids: Vec<UntypedAssetId>,
    texts: Vec<String>,
}

impl Paths {
    fn new() -> Self {
        let files = Dir::default();
        for file in 0..FILES {
            put(&files, &package_path(file), stone_file(file));
        }
        let mut app = bevy_app(&files);
        let server = app.world().resource::<AssetServer>().clone();
        let texts: Vec<String> = (0..OBJECTS).map(|object| object_path(number(object))).collect();
        let handles: Vec<Handle<Stone>> = texts.iter().map(|path| server.load(path.clone())).collect();
        wait_for(&mut app, &handles);
        let ids = handles.iter().map(|handle| handle.id().untyped()).collect();
        Self {
            server,
            _handles: handles,
            ids,
            texts,
        }
    }

    /// Writes all mentions as paths that are looked up; the bytes sent.
    fn send(&self, mentions: &[usize]) -> usize {
        write_all(mentions, |object, out| {
            let path = self
                .server
                .get_path(self.ids[object])
                .expect("it was loaded by its path");
            write!(out, "{path}").expect("a string takes everything");
        })
    }

    /// The same with the text at hand.
    fn copy(&self, mentions: &[usize]) -> usize {
        write_all(mentions, |object, out| out.push_str(&self.texts[object]))
    }
}

/// Writes all mentions with `write`, each behind one byte for its length.
fn write_all(mentions: &[usize], write: impl Fn(usize, &mut String)) -> usize {
    let (mut out, mut lengths, mut sent) = (String::new(), [0; PER_MESSAGE], 0);
    for mentions in mentions.chunks(PER_MESSAGE) {
        out.clear();
        for (object, length) in mentions.iter().zip(&mut lengths) {
            let start = out.len();
            write(*object, &mut out);
            // Where a format puts it is its own affair.
            *length = out.len() - start;
        }
        black_box(&lengths);
        sent += black_box(&out).len() + mentions.len();
    }
    sent
}
