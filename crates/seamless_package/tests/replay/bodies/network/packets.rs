//! The same two sides, with all that they say in packets.

use super::made_up;
use super::peer::{EXPORTS, Peer};
use arbitrary::{Result, Unstructured};
use seamless_package::package_map::{Connection, ConnectionError, HandshakeError, Received};

/// A packet, as it was sent.
struct Packet {
    bytes: Vec<u8>,
    from: usize,
}

/// Both ends of a connection.
#[derive(Default)]
pub struct Packets {
    ends: [Connection; 2],
    /// Some were changed or made up, so that anything may be refused from now on.
    dishonest: bool,
}

impl Packets {
    /// One side says something, and both answer for a while.
    pub fn talk(&mut self, u: &mut Unstructured<'_>, peers: &[Peer; 2], from: usize) -> Result<()> {
        let mut bytes = Vec::new();
        match u.int_in_range(0..=5)? {
            0 => self.ends[from].offer(&peers[from].map, &mut bytes),
            1 => {
                let any = self.ends[from].acknowledge(&mut bytes);
                assert_eq!(any, !bytes.is_empty());
            }
            2 => {
                self.dishonest = true;
                // Handshakes, acknowledgements and messages start with these.
                bytes.push(u.int_in_range(0..=4)?);
                bytes.extend(made_up(u)?);
            }
            _ => return self.send_message(u, peers, from),
        }
        let mut packet = self.carry(u, Packet { bytes, from })?;
        for _ in 0..12 {
            if packet.bytes.is_empty() || u.ratio(1, 16)? {
                break;
            }
            let reply = self.receive(peers, &packet);
            let reply = Packet {
                bytes: reply,
                from: 1 - packet.from,
            };
            packet = self.carry(u, reply)?;
        }
        Ok(())
    }

    fn carry(&mut self, u: &mut Unstructured<'_>, mut packet: Packet) -> Result<Packet> {
        if !packet.bytes.is_empty() && u.ratio(1, 8)? {
            self.dishonest = true;
            packet.bytes.truncate(u.int_in_range(1..=packet.bytes.len())?);
            let at = u.choose_index(packet.bytes.len())?;
            packet.bytes[at] = u.arbitrary()?;
        }
        Ok(packet)
    }

    /// Gives what is answered: nothing, if the packet is refused.
    fn receive(&mut self, peers: &[Peer; 2], packet: &Packet) -> Vec<u8> {
        let to = 1 - packet.from;
        let mut reply = Vec::new();
        let received = self.ends[to].receive(&peers[to].map, &packet.bytes, &mut reply);
        assert!(received.is_ok() || reply.is_empty());
        if !self.dishonest {
            // Lists differ, or one side accepts fewer packages; nobody is called a liar.
            let known = matches!(
                received,
                Ok(_)
                    | Err(ConnectionError::Handshake(
                        HandshakeError::Mismatch(_) | HandshakeError::Limit { .. } | HandshakeError::TooLong { .. }
                    ))
            );
            assert!(known, "{received:?}");
        }
        reply
    }

    /// A message with a few references arrives as it was sent, or is refused.
    fn send_message(&mut self, u: &mut Unstructured<'_>, peers: &[Peer; 2], from: usize) -> Result<()> {
        let mut places = Vec::new();
        for _ in 0..u.int_in_range(0..=3)? {
            places.push((u.int_in_range(0..=4)?, u.int_in_range(0..=EXPORTS)?));
        }
        let refs: Vec<_> = places.iter().map(|place| peers[from].object_at(*place)).collect();
        let len = u.int_in_range(0..=20)?;
        let (channel, body) = (u.arbitrary()?, u.bytes(len.min(u.len()))?);
        let mut bytes = Vec::new();
        let sent = self.ends[from].message(&peers[from].map, channel, &refs, body, &mut bytes);
        assert_eq!(sent.is_err(), bytes.is_empty());
        let packet = self.carry(u, Packet { bytes, from })?;
        if sent.is_err() || u.ratio(1, 8)? {
            return Ok(());
        }
        let to = 1 - from;
        let received = self.ends[to].receive(&peers[to].map, &packet.bytes, &mut Vec::new());
        if self.dishonest {
            return Ok(());
        }
        let Ok(Received::Message {
            channel: found,
            refs: indices,
            body: rest,
        }) = received
        else {
            panic!("an honest message: {received:?}");
        };
        assert_eq!((found, rest), (channel, body));
        let indices = indices
            .iter()
            .map(|index| index.map(|index| (index.package, index.export)));
        let places = places.iter().zip(refs).map(|(place, object)| object.map(|_| *place));
        assert!(indices.eq(places), "references lead where they were meant to");
        Ok(())
    }
}
