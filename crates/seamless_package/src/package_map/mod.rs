//! The package map: references to objects over a network, as small numbers in place of paths.
//!
//! Both sides of a connection have the same packages, so an object is its package's position in a list and its export
//! index there, an [`ObjectIndex`]; and what was mentioned once is a number of one to three bytes from then on. This
//! module is the whole protocol and nothing else: it has no sockets, no clock and no threads, and takes and gives bytes
//! for whatever carries messages.
//!
//! * [`PackageMap`]: the list of packages, and the objects known in them. One for all connections.
//! * [`Handshake`]: do both sides have the same list? If not, which package differs first? One per connection.
//! * [`RefEncoder`] and [`RefDecoder`]: references into and out of the game's own messages. One each per connection.
//! * [`PendingRefs`]: values whose references lead to what is not loaded yet, in order. One per connection.
//! * [`Connection`]: handshake, encoder and decoder together, and the packets that carry what they say.
//!
//! # The way of a reference
//! ```text
//! sender                                            receiver
//!
//!  first mention ──► exported ──── full form ────►  known ───► object live? ──yes──► resolved ─► delivered, in order
//!                     │    ▲     number, package,     │             │                   ▲           ▲      of its channel
//!   further mentions  │    │     export               │             no                  │           │
//!   in full until …   └────┘                          │             ▼                   │           │
//!                                                     │          pending ── loaded ─────┘           │
//!                 acknowledged ◄─ acknowledgement ────┘             ├───── load failed ─► error ────┤
//!                     │                                             └───── too late ────► timed out ┘
//!   further mentions  └────────── short form ────►  the same object as before
//!                                number alone
//! ```
//! The full form is sent until its acknowledgement has come, so messages may be lost, doubled and reordered. When numbers
//! run out ([`NUMBERS`]), or too many are unacknowledged ([`UNACKNOWLEDGED`]), an object travels in full without one; in the
//! second case it carries an unacknowledged export of another object once more, so that one lost message, or one lost
//! acknowledgement, does not end it for all that comes later.
//!
//! # No trust
//! Whatever a peer sends is an error with a type or is what it says: every number is bounded, every index is one of the
//! agreed list, no number changes its meaning. A peer that breaks the rules costs the memory that an honest one may
//! cost, which the limits bound, and what is written to it is in proportion to the list and to the offers of this side, not
//! to its questions. Errors say what to do, which is mostly to disconnect.
//!
//! # Example
//! ```
//! use seamless_package::ObjectId;
//! use seamless_package::package_map::*;
//! use std::time::Duration;
//!
//! // Both sides list their packages in the same order; the hashes and counts come from the cooked files.
//! let mut server = PackageMap::new(MapLimits::default());
//! let mut client = PackageMap::new(MapLimits::default());
//! for map in [&mut server, &mut client] {
//!     map.add_package(PackageInfo::new("levels/cell_0_1.pkg", 0xc0ffee, 400))?;
//!     map.add_package(PackageInfo::new("levels/cell_0_2.pkg", 0xbeef, 300))?;
//! }
//! // The server has read the second one, and knows which object has which export index.
//! let door = ObjectId::new("levels/cell_0_2.pkg", "Scene0/Door");
//! server.add_objects(1, [(17, door)])?;
//!
//! // The handshake: an offer and its acceptance, over any channel.
//! let (mut of_server, mut of_client) = (Handshake::new(), Handshake::new());
//! let (mut offer, mut reply) = (Vec::new(), Vec::new());
//! of_server.offer(&server, &mut offer);
//! of_client.receive(&client, &offer, &mut reply)?;
//! of_server.receive(&server, &reply, &mut Vec::new())?;
//! assert_eq!(of_server.accepted(), 2);
//!
//! // A reference, in a message of the game's own.
//! let (mut encoder, mut decoder) = (RefEncoder::new(), RefDecoder::new());
//! let mut message = b"open ".to_vec();
//! encoder.encode(&server, &of_server, Some(door), &mut message)?;
//! let mut rest = &message[5..];
//! let reference = decoder.decode(&client, &of_client, &mut rest)?;
//!
//! // Once it is acknowledged, it takes one byte.
//! let mut acknowledgement = Vec::new();
//! assert!(decoder.acknowledge(&mut acknowledgement));
//! encoder.acknowledged(&mut &acknowledgement[..])?;
//! let mut next = Vec::new();
//! encoder.encode(&server, &of_server, Some(door), &mut next)?;
//! assert_eq!(next.len(), 1);
//!
//! // The client has not loaded the door: the message waits.
//! let mut pending = PendingRefs::new(PendingLimits::default());
//! let mut actions = Vec::new();
//! let incoming = Incoming { channel: 0, refs: vec![reference], value: "open", bytes: 4 };
//! let nothing = Objects { map: &client, live: &|_| false };
//! let resolution = pending.resolve(&nothing, incoming, Duration::ZERO, &mut actions)?;
//! assert!(matches!(resolution, Resolution::Pending(_)));
//! assert!(matches!(&actions[..], [Action::Want { path, .. }] if &**path == "levels/cell_0_2.pkg"));
//!
//! // Some frames later the package is there, and the message's turn has come.
//! actions.clear();
//! client.add_objects(1, [(17, door)])?;
//! pending.loaded(&Objects { map: &client, live: &|id| id == door }, door, &mut actions);
//! assert!(matches!(&actions[0], Action::Deliver { value: "open", refs: Ok(refs), .. } if refs == &[Some(door)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compare;
mod connection;
mod decoder;
mod encoder;
mod error;
mod handshake;
mod limits;
mod map;
mod message;
mod pending;
#[cfg(test)]
mod tests;
mod varint;
mod wire;

pub use connection::{Connection, Received};
pub use decoder::RefDecoder;
pub use encoder::RefEncoder;
pub use error::{
    AckError, ConnectionError, DecodeError, EncodeError, HandshakeError, MapError, Mismatch, PendingError, RefError,
};
pub use handshake::{Handshake, HandshakeEvent};
pub use limits::{MapLimits, NUMBERS, PendingLimits, UNACKNOWLEDGED};
pub use map::{ObjectIndex, PackageInfo, PackageMap};
pub use pending::{Action, Incoming, Objects, PendingRefs, Resolution, Ticket};
