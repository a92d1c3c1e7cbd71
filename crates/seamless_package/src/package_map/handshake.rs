//! The handshake of a connection: are the two package lists the same, and if not, where do they differ?

use super::compare::{Comparison, missing_here, missing_there};
use super::error::{HandshakeError, Mismatch};
use super::limits::{READINGS, SPARE_ASKS};
use super::map::{PackageInfo, PackageMap};
use super::message::{self, Message};

/// What a message of the peer has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandshakeEvent {
    /// The peer lists the same first `packages` packages as this side. References into them are accepted now.
    Verified {
        /// How many.
        packages: u32,
    },
    /// The peer has accepted the first `packages` packages of this side. References into them may be sent now.
    Accepted {
        /// How many.
        packages: u32,
    },
    /// The list here is the beginning of the peer's, which goes on with these packages, and maybe more. A side that
    /// follows the peer looks them up in its own content and adds *its own* [`PackageInfo`]s in this order.
    PeerListsMore {
        /// The packages that come next.
        packages: Vec<PackageInfo>,
    },
}

/// The handshake of one connection, the same on both sides.
///
/// The side that wants to send references sends an [`offer`](Self::offer), a few bytes with a digest of its list, at
/// the start and whenever its list has grown, and again every now and then until [`accepted`](Self::accepted) is the length
/// of the list. Every message that arrives goes into [`receive`](Self::receive), and the reply, if there is one, back to
/// the peer. The list itself travels only when the digests differ, or when one side has more packages than the other.
///
/// Messages may be lost, doubled and reordered; a repeated offer gets a handshake going again. The digest guards against
/// mistakes, not against forgery: a peer that claims to have a package that it has not gains nothing by it.
#[derive(Debug, Clone, Default)]
pub struct Handshake {
    accepted: u32,
    verified: u32,
    /// Length of the longest list that the peer said it has; none while it said nothing.
    peer_count: Option<u32>,
    /// Position and first of the packages that only the peer lists.
    peer_next: Option<(u32, PackageInfo)>,
    comparison: Option<Comparison>,
    /// Packages that the peer may still ask for.
    credit: u32,
    mismatch: Option<Mismatch>,
}

impl Handshake {
    /// The handshake of a new connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Packages that the peer has accepted, the first ones of the list: references into them may be sent.
    #[inline]
    pub fn accepted(&self) -> u32 {
        self.accepted
    }

    /// Packages that this side has accepted, the first ones of the list: references into them may arrive.
    #[inline]
    pub fn verified(&self) -> u32 {
        self.verified
    }

    /// Appends the message that tells the peer which list there is here. The peer may ask for the list then, a few times
    /// over if messages are doubled or lost, and no more before the next offer.
    pub fn offer(&mut self, map: &PackageMap, out: &mut Vec<u8>) {
        // Set, not added, or a peer could save up what it was offered for hours.
        self.credit = map.len().saturating_mul(READINGS).saturating_add(SPARE_ASKS);
        message::write_offer(out, map.len(), map.whole_digest());
    }

    /// Appends the question for what the peer lists behind the packages that are here, unless it is known to list none:
    /// for a side that has followed a [`HandshakeEvent::PeerListsMore`] and does not wait for the next offer. Once for each;
    /// if the answer is lost, the next offer gets the handshake going again.
    pub fn ask_for_more(&mut self, map: &PackageMap, out: &mut Vec<u8>) {
        let followed = self.peer_next.take_if(|(position, _)| *position < map.len());
        if followed.is_some() && self.peer_count >= Some(map.len()) {
            ask(map, map.len(), out);
        }
    }

    /// Takes a message of the peer's handshake. The reply, if there is one, is appended to `reply`.
    ///
    /// # Errors
    /// [`HandshakeError::Mismatch`] once the lists are known to differ, and from then on for every offer of the peer; the
    /// other variants for messages that no honest peer sends.
    pub fn receive(
        &mut self,
        map: &PackageMap,
        bytes: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<Option<HandshakeEvent>, HandshakeError> {
        match Message::parse(bytes, map.limits())? {
            Message::Offer { count, digest } => self.on_offer(map, count, digest, reply),
            Message::Accept { count, digest } => self.on_accept(map, count, digest),
            Message::Ask { from, room } => self.on_ask(map, from, room, reply),
            Message::List {
                from,
                digest,
                total,
                packages,
            } => {
                self.peer_has(map, total)?;
                self.on_list(map, from, digest, total, packages, reply)
            }
        }
    }

    /// How the lists differ as far as is known, a side that only has *more* packages included. While levels are mounted
    /// that is a passing state, for the sides do not get there at one time; if it lasts, it is what to tell the player.
    pub fn difference(&self, map: &PackageMap) -> Option<Mismatch> {
        if self.mismatch.is_some() {
            return self.mismatch.clone();
        }
        match &self.peer_next {
            Some((position, info)) if *position == map.len() => Some(missing_here(info)),
            _ if self.peer_count == Some(self.verified) => map.package(self.verified).map(missing_there),
            _ => None,
        }
    }

    fn on_offer(
        &mut self,
        map: &PackageMap,
        count: u32,
        digest: u64,
        reply: &mut Vec<u8>,
    ) -> Result<Option<HandshakeEvent>, HandshakeError> {
        self.peer_has(map, count)?;
        match map.digest(count) {
            Some(here) if here == digest => Ok(self.verify(count, digest, reply)),
            Some(_) => self.compare(map, count, reply),
            None => {
                let from = self.comparison.as_ref().map_or(map.len(), Comparison::next);
                Ok(ask(map, from, reply))
            }
        }
    }

    fn on_accept(
        &mut self,
        map: &PackageMap,
        count: u32,
        digest: u64,
    ) -> Result<Option<HandshakeEvent>, HandshakeError> {
        if map.digest(count) != Some(digest) {
            return Err(HandshakeError::FalseAccept { count, digest });
        }
        if count <= self.accepted {
            return Ok(None);
        }
        self.accepted = count;
        Ok(Some(HandshakeEvent::Accepted { packages: count }))
    }

    fn on_list(
        &mut self,
        map: &PackageMap,
        from: u32,
        digest: u64,
        total: u32,
        packages: Vec<PackageInfo>,
        reply: &mut Vec<u8>,
    ) -> Result<Option<HandshakeEvent>, HandshakeError> {
        if let Some(comparison) = &mut self.comparison {
            if comparison.next() != from {
                // An answer that came late, or twice.
                return Ok(None);
            }
            let step = comparison.advance(map, &packages, total);
            let next = comparison.next();
            return match step {
                Ok(()) => Ok(ask(map, next, reply)),
                Err(error) => Err(self.end_comparison(error)),
            };
        }
        if from != map.len() {
            return Ok(None);
        }
        if map.whole_digest() != digest {
            return self.compare(map, from, reply);
        }
        let verified = self.verify(from, digest, reply);
        let Some(first) = packages.first() else {
            return Ok(verified);
        };
        self.peer_next = Some((from, first.clone()));
        Ok(Some(HandshakeEvent::PeerListsMore { packages }))
    }

    /// Answers with a part of the list. An honest peer asks when it has received an offer, or such an answer and gets on.
    fn on_ask(
        &mut self,
        map: &PackageMap,
        from: u32,
        room: u32,
        reply: &mut Vec<u8>,
    ) -> Result<Option<HandshakeEvent>, HandshakeError> {
        let count = map.len();
        let Some(digest) = map.digest(from) else {
            return Err(HandshakeError::AskBeyond { from, count });
        };
        if self.credit == 0 {
            return Err(HandshakeError::AskTooOften { from, count });
        }
        let listed = message::write_list(reply, map, from, digest, room);
        self.credit = self.credit.saturating_sub(listed.max(1));
        Ok(None)
    }

    /// Notes how long the peer's list is, and refuses to go on with one that differs.
    fn peer_has(&mut self, map: &PackageMap, count: u32) -> Result<(), HandshakeError> {
        message::check("packages", map.limits().packages, count)?;
        self.peer_count = self.peer_count.max(Some(count));
        match &self.mismatch {
            Some(mismatch) => Err(mismatch.clone().into()),
            None => Ok(()),
        }
    }

    /// The first `count` packages are the same. Says so to the peer.
    fn verify(&mut self, count: u32, digest: u64, reply: &mut Vec<u8>) -> Option<HandshakeEvent> {
        message::write_accept(reply, count, digest);
        if count <= self.verified {
            return None;
        }
        self.verified = count;
        Some(HandshakeEvent::Verified { packages: count })
    }

    /// The first `end` packages are not the same. Asks for the peer's list from where it may differ.
    fn compare(
        &mut self,
        map: &PackageMap,
        end: u32,
        reply: &mut Vec<u8>,
    ) -> Result<Option<HandshakeEvent>, HandshakeError> {
        if end <= self.verified {
            return Err(HandshakeError::Contradiction { end });
        }
        let start = self.verified;
        let comparison = self.comparison.get_or_insert_with(|| Comparison::new(start, end));
        Ok(ask(map, comparison.next(), reply))
    }

    fn end_comparison(&mut self, error: HandshakeError) -> HandshakeError {
        self.comparison = None;
        if let HandshakeError::Mismatch(mismatch) = &error {
            self.mismatch = Some(mismatch.clone());
        }
        error
    }
}

fn ask(map: &PackageMap, from: u32, reply: &mut Vec<u8>) -> Option<HandshakeEvent> {
    message::write_ask(reply, from, map.limits().longest_message());
    None
}
