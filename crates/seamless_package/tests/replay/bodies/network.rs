//! Two peers whose messages arrive, get lost, are changed, or are made up.

mod packets;
mod peer;

use super::forge::number;
use arbitrary::{Result, Unstructured};
use packets::Packets;
use peer::{EXPORTS, LAST_PACKAGE, Peer};
use seamless_package::package_map::{HandshakeError, UNACKNOWLEDGED};

/// Lets two peers do what `bytes` say.
pub fn network(bytes: &[u8]) {
    // Too few bytes are no fault.
    talk(&mut Unstructured::new(bytes)).ok();
}

struct Network {
    peers: [Peer; 2],
    packets: Packets,
    /// Whether every message so far was an honest one.
    honest: bool,
}

fn talk(u: &mut Unstructured<'_>) -> Result<()> {
    let peers = [Peer::new(u)?, Peer::new(u)?];
    let mut network = Network {
        peers,
        packets: Packets::default(),
        honest: true,
    };
    // The lists are the same, or not.
    for _ in 0..u.int_in_range(0..=4)? {
        let package = u.int_in_range(0..=LAST_PACKAGE)?;
        network.peers[0].list(package, u.ratio(1, 16)?);
        network.peers[1].list(package, u.ratio(1, 16)?);
    }
    while !u.is_empty() {
        let from = usize::from(u.arbitrary::<bool>()?);
        match u.int_in_range(0..=12)? {
            0 => network.shake(u, from)?,
            1 | 2 => network.mention(u, from)?,
            3 => network.acknowledge(u, from)?,
            4 => network.crowd(u, from)?,
            5 => network.peers[from].list(u.int_in_range(0..=LAST_PACKAGE)?, false),
            6 => network.peers[from].learn(u.int_in_range(0..=4)?),
            7 => network.peers[from].load(u)?,
            10.. => network.packets.talk(u, &network.peers, from)?,
            _ => network.make_up(u, from)?,
        }
        network.peers[from].check();
    }
    let [first, second] = network.peers;
    first.close();
    second.close();
    Ok(())
}

impl Network {
    /// Changes a message, or leaves it as it is.
    fn carry(&mut self, u: &mut Unstructured<'_>, message: &mut Vec<u8>) -> Result<()> {
        if !u.ratio(1, 8)? {
            return Ok(());
        }
        self.honest = false;
        if u.arbitrary()? {
            message.truncate(u.int_in_range(0..=message.len())?);
        }
        if !message.is_empty() {
            let at = u.choose_index(message.len())?;
            message[at] = u.arbitrary()?;
        }
        Ok(())
    }

    /// `from` makes its offer, or asks for more, and both answer for a while.
    fn shake(&mut self, u: &mut Unstructured<'_>, from: usize) -> Result<()> {
        let mut message = Vec::new();
        let Peer { handshake, map, .. } = &mut self.peers[from];
        match u.ratio(1, 8)? {
            true => handshake.ask_for_more(map, &mut message),
            false => handshake.offer(map, &mut message),
        }
        let mut to = 1 - from;
        for _ in 0..12 {
            if message.is_empty() || u.ratio(1, 16)? {
                break;
            }
            self.carry(u, &mut message)?;
            let received = self.peers[to].receive(&message);
            if self.honest {
                // Lists differ, or one side accepts fewer packages; nobody is called a liar.
                let known = matches!(
                    received,
                    Ok(_)
                        | Err(HandshakeError::Mismatch(_)
                            | HandshakeError::Limit { .. }
                            | HandshakeError::TooLong { .. })
                );
                assert!(known, "{received:?}");
            }
            message = received.unwrap_or_default();
            to = 1 - to;
        }
        Ok(())
    }

    /// `from` mentions an object in a message.
    fn mention(&mut self, u: &mut Unstructured<'_>, from: usize) -> Result<()> {
        let place = (u.int_in_range(0..=4)?, u.int_in_range(0..=EXPORTS)?);
        let id = self.peers[from].object_at(place);
        let mut message = Vec::new();
        if !self.peers[from].encode(id, &mut message) {
            return Ok(());
        }
        self.carry(u, &mut message)?;
        let decoded = self.peers[1 - from].decode(&message);
        if self.honest {
            let decoded = decoded.as_ref().expect("an honest reference");
            let found = decoded.map(|index| (index.package, index.export));
            assert_eq!(found, id.map(|_| place));
        }
        let Ok(index) = decoded else { return Ok(()) };
        self.peers[1 - from].wait_for(u, index)
    }

    /// `from` acknowledges what has arrived.
    fn acknowledge(&mut self, u: &mut Unstructured<'_>, from: usize) -> Result<()> {
        let mut message = Vec::new();
        if !self.peers[from].decoder.acknowledge(&mut message) || u.ratio(1, 8)? {
            return Ok(());
        }
        self.carry(u, &mut message)?;
        let taken = self.peers[1 - from].acknowledged(&message);
        assert!(taken || !self.honest, "an honest acknowledgement");
        Ok(())
    }

    /// `from` mentions many objects, so that numbers run out; most messages arrive.
    fn crowd(&mut self, u: &mut Unstructured<'_>, from: usize) -> Result<()> {
        let package = u.int_in_range(0..=4)?;
        let lost = u.int_in_range(2..=40)?;
        for export in 0..EXPORTS {
            let id = self.peers[from].object_at((package, export));
            let mut message = Vec::new();
            let encoded = self.peers[from].encode(id, &mut message);
            if encoded && export % lost != 1 {
                let decoded = self.peers[1 - from].decode(&message);
                assert!(decoded.is_ok() || !self.honest, "{decoded:?}");
            }
        }
        assert!(self.peers[from].encoder.unacknowledged() <= UNACKNOWLEDGED);
        Ok(())
    }

    /// A message to `to` that nobody has sent. What it answers arrives.
    fn make_up(&mut self, u: &mut Unstructured<'_>, to: usize) -> Result<()> {
        self.honest = false;
        match u.int_in_range(0..=2)? {
            0 => {
                // Offers, acceptances, questions and lists start with these.
                let mut message = vec![u.int_in_range(1..=4)?];
                message.extend(made_up(u)?);
                let reply = self.peers[to].receive(&message).unwrap_or_default();
                self.peers[1 - to].receive(&reply).ok();
            }
            1 => {
                self.peers[to].acknowledged(&made_up(u)?);
            }
            _ => {
                if let Ok(index) = self.peers[to].decode(&made_up(u)?) {
                    self.peers[to].wait_for(u, index)?;
                }
            }
        }
        Ok(())
    }
}

/// A few numbers as the protocol writes them, mostly small ones, and maybe any bytes behind.
fn made_up(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut message = Vec::new();
    for _ in 0..u.int_in_range(0..=4)? {
        let mut value = match u.ratio(3, 4)? {
            true => u.int_in_range(0..=9)?,
            false => number(u)? as u32,
        };
        while value >= 0x80 {
            message.push(value as u8 | 0x80);
            value >>= 7;
        }
        message.push(value as u8);
    }
    let len = u.int_in_range(0..=40)?;
    message.extend(u.bytes(len.min(u.len()))?);
    Ok(message)
}
