//! A connection as a whole: what both sides say about packages and objects, in one stream of packets.
//!
//! | packet | bytes: a kind, then |
//! |---|---|
//! | handshake | 1, a message of the [`Handshake`] |
//! | acknowledgement | 2, what [`RefDecoder::acknowledge`] wrote |
//! | message | 3, channel, number of references, the references, then the body to the end |
//!
//! A kind is one byte; numbers and references are as elsewhere in this module.

use super::decoder::RefDecoder;
use super::encoder::RefEncoder;
use super::error::{ConnectionError, EncodeError};
use super::handshake::{Handshake, HandshakeEvent};
use super::map::{ObjectIndex, PackageMap};
use super::varint;
use crate::cursor::{Cursor, CursorError};
use crate::id::ObjectId;

const HANDSHAKE: u8 = 1;
const ACKNOWLEDGEMENT: u8 = 2;
const MESSAGE: u8 = 3;

/// The state of one connection, the same on both sides: handshake, encoder and decoder, and the packets that carry what they say.
///
/// Packets may be lost, doubled and reordered by whatever carries them. What a message of the game needs beyond that is the
/// business of the transport's channel that the game sends it on.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    handshake: Handshake,
    encoder: RefEncoder,
    decoder: RefDecoder,
}

/// What was in a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received<'a> {
    /// A message of the handshake, and what it has brought.
    Handshake(Option<HandshakeEvent>),
    /// The peer has some references.
    Acknowledgement,
    /// A message of the game.
    Message {
        /// Messages of one channel are delivered in the order in which they arrive.
        channel: u32,
        /// Its references; none are references to nothing.
        refs: Vec<Option<ObjectIndex>>,
        /// What else is in it.
        body: &'a [u8],
    },
}

impl Connection {
    /// A new connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// How far the two sides agree.
    pub fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    /// What was sent.
    pub fn encoder(&self) -> &RefEncoder {
        &self.encoder
    }

    /// Appends the packet that tells the peer which list there is here; see [`Handshake::offer`].
    pub fn offer(&mut self, map: &PackageMap, out: &mut Vec<u8>) {
        out.push(HANDSHAKE);
        self.handshake.offer(map, out);
    }

    /// Appends the packet that acknowledges what has arrived, and says whether there was anything to acknowledge.
    pub fn acknowledge(&mut self, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.push(ACKNOWLEDGEMENT);
        let any = self.decoder.acknowledge(out);
        if !any {
            out.truncate(start);
        }
        any
    }

    /// Appends the packet of a message that refers to these objects.
    ///
    /// # Errors
    /// [`EncodeError`] for the first object that cannot be referred to; nothing is appended then.
    pub fn message(
        &mut self,
        map: &PackageMap,
        channel: u32,
        refs: &[Option<ObjectId>],
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        // All of them before the first one takes a number that would never be sent.
        for object in refs.iter().flatten() {
            self.encoder.check(map, &self.handshake, *object)?;
        }
        out.push(MESSAGE);
        varint::write(out, channel);
        // Saturates where nothing else would fit into memory either.
        varint::write(out, u32::try_from(refs.len()).unwrap_or(u32::MAX));
        for object in refs {
            self.encoder.encode(map, &self.handshake, *object, out)?;
        }
        out.extend_from_slice(body);
        Ok(())
    }

    /// Takes a packet of the peer. The packet that answers it, if there is one, is appended to `reply`.
    ///
    /// # Errors
    /// [`HandshakeError::Mismatch`](super::HandshakeError::Mismatch) when the lists differ; all else is what no honest peer sends.
    pub fn receive<'a>(
        &mut self,
        map: &PackageMap,
        packet: &'a [u8],
        reply: &mut Vec<u8>,
    ) -> Result<Received<'a>, ConnectionError> {
        let mut cursor = Cursor::new(packet);
        let kind = cursor.u8()?;
        let rest = packet.get(1..).unwrap_or_default();
        match kind {
            HANDSHAKE => self.on_handshake(map, rest, reply),
            ACKNOWLEDGEMENT => self.on_acknowledgement(rest),
            MESSAGE => self.on_message(map, rest),
            kind => Err(ConnectionError::Record(CursorError::Value {
                what: "kind of packet",
                offset: 0,
                found: kind.into(),
            })),
        }
    }

    fn on_handshake(
        &mut self,
        map: &PackageMap,
        bytes: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<Received<'static>, ConnectionError> {
        let start = reply.len();
        reply.push(HANDSHAKE);
        let event = self.handshake.receive(map, bytes, reply);
        if reply.len() == start.saturating_add(1) {
            reply.truncate(start);
        }
        Ok(Received::Handshake(event?))
    }

    fn on_acknowledgement(&mut self, mut bytes: &[u8]) -> Result<Received<'static>, ConnectionError> {
        self.encoder.acknowledged(&mut bytes)?;
        Cursor::new(bytes).finish()?;
        Ok(Received::Acknowledgement)
    }

    fn on_message<'a>(&mut self, map: &PackageMap, bytes: &'a [u8]) -> Result<Received<'a>, ConnectionError> {
        let mut cursor = Cursor::new(bytes);
        let channel = varint::read(&mut cursor)?;
        let offset = cursor.offset();
        let count = varint::read(&mut cursor)?;
        let mut body = bytes.get(cursor.offset()..).unwrap_or_default();
        // A reference is a byte at least, so what is reserved is in proportion to what arrived.
        if count as usize > body.len() {
            return Err(ConnectionError::Record(CursorError::Count {
                what: "references of a message",
                offset,
                limit: body.len() as u64,
                found: count.into(),
            }));
        }
        let mut refs = Vec::with_capacity(count as usize);
        for _ in 0..count {
            refs.push(self.decoder.decode(map, &self.handshake, &mut body)?);
        }
        Ok(Received::Message { channel, refs, body })
    }
}
