//! One peer: packets in, packets out. See [`PackageConnection`].

use core::time::Duration;
use std::collections::VecDeque;

use bevy_ecs::{component::Component, lifecycle::HookContext, world::DeferredWorld};
use seamless_package::{
    ObjectId,
    package_map::{Connection, EncodeError, PendingLimits, PendingRefs},
};

use super::{NetPackages, NetSettings, wants::Wants};

/// The peer of one network connection, on an entity: on replicon's client entity, on a game's own. It knows no transport: the game gives it the
/// packets that have arrived, before [`PackageMapSystems::Receive`](super::PackageMapSystems), and sends those that it has
/// to send, after [`PackageMapSystems::Send`](super::PackageMapSystems). Packets may be lost, doubled and reordered.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_asset::net::*;
/// # #[derive(Resource, Default)] struct Transport(Vec<Vec<u8>>);
/// # impl Transport { fn receive(&mut self) -> Option<Vec<u8>> { self.0.pop() } fn send(&mut self, packet: Vec<u8>) {} }
/// fn from_the_wire(mut transport: ResMut<Transport>, mut peer: Single<&mut PackageConnection>) {
///     while let Some(packet) = transport.receive() {
///         peer.receive(packet);
///     }
/// }
///
/// fn to_the_wire(mut transport: ResMut<Transport>, mut peer: Single<&mut PackageConnection>) {
///     for packet in peer.drain() {
///         transport.send(packet);
///     }
/// }
/// ```
#[derive(Component, Default)]
#[component(on_add = take_limits)]
pub struct PackageConnection {
    pub(super) link: Connection,
    pub(super) pending: Option<PendingRefs<Waiting>>,
    pub(super) wants: Wants,
    pub(super) inbox: Queue,
    pub(super) outbox: Queue,
    pub(super) handshake: HandshakeClock,
    pub(super) state: State,
}

/// A message of the game that waits for its objects.
pub(super) struct Waiting {
    pub body: Vec<u8>,
    pub arrived: Duration,
}

/// What the game was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    #[default]
    Open,
    /// The lists differ.
    Refused,
    /// Nothing goes on here.
    Failed,
}

/// When the list was offered to the peer.
#[derive(Debug, Default)]
pub(super) struct HandshakeClock {
    /// Length of the list that was offered last, and when.
    pub offered: Option<(u32, Duration)>,
    /// Since when the peer has not accepted it.
    pub since: Option<Duration>,
}

/// Packets that wait, up to a number of bytes.
#[derive(Debug, Default)]
pub(super) struct Queue {
    packets: VecDeque<Vec<u8>>,
    bytes: u64,
    limit: u64,
    /// What it would have held, when it was too much.
    pub overflow: Option<u64>,
}

impl Queue {
    /// A packet costs its bytes and a little more, or empty ones would cost nothing.
    const FRAME: u64 = 32;

    pub fn push(&mut self, packet: Vec<u8>) -> bool {
        let bytes = self
            .bytes
            .saturating_add(packet.len() as u64)
            .saturating_add(Self::FRAME);
        if bytes > self.limit {
            self.overflow = Some(bytes);
            return false;
        }
        self.bytes = bytes;
        self.packets.push_back(packet);
        true
    }

    pub fn take(&mut self) -> VecDeque<Vec<u8>> {
        self.bytes = 0;
        core::mem::take(&mut self.packets)
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }
}

/// Why a message was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// It refers to something that it cannot refer to, or not yet.
    #[error(transparent)]
    Reference(#[from] EncodeError),
    /// Packets of so many bytes wait to be sent.
    #[error(
        "the packets that wait to be sent would exceed {limit} bytes; send less, let the transport drain them, or raise PackageMapPlugin::queue_bytes"
    )]
    Full {
        /// The most that may wait.
        limit: u64,
    },
    /// The connection has failed, as was told, and is of no use.
    #[error("the connection has failed; close it and make a new one")]
    Failed,
}

impl PackageConnection {
    /// Takes a packet that has arrived. It is looked at in the next
    /// [`PackageMapSystems::Receive`](super::PackageMapSystems).
    pub fn receive(&mut self, packet: impl Into<Vec<u8>>) {
        if self.state != State::Failed {
            self.inbox.push(packet.into());
        }
    }

    /// The packets that are to be sent.
    pub fn drain(&mut self) -> impl Iterator<Item = Vec<u8>> + use<> {
        self.outbox.take().into_iter()
    }

    /// Sends a message: what it refers to, and anything else. Its references take one to three bytes each once the peer
    /// has acknowledged them. At the peer it is delivered, as a [`NetMessage`](super::NetMessage), when all objects are live there.
    ///
    /// # Errors
    /// [`SendError`]; nothing is sent then.
    pub fn send(
        &mut self,
        packages: &NetPackages,
        channel: u32,
        refs: &[Option<ObjectId>],
        body: &[u8],
    ) -> Result<(), SendError> {
        if self.state == State::Failed {
            return Err(SendError::Failed);
        }
        let mut packet = Vec::with_capacity(body.len().saturating_add(16));
        self.link.message(packages.map(), channel, refs, body, &mut packet)?;
        if self.outbox.push(packet) {
            return Ok(());
        }
        let limit = self.outbox.limit();
        Err(SendError::Full { limit })
    }

    /// Whether the peer has accepted the whole list, so that any known object may be referred to.
    #[must_use]
    pub fn is_agreed(&self, packages: &NetPackages) -> bool {
        !packages.map().is_empty() && self.link.handshake().accepted() == packages.map().len()
    }

    /// The protocol's own state: how far the sides agree, how many references are acknowledged.
    #[must_use]
    pub fn link(&self) -> &Connection {
        &self.link
    }

    /// Messages that wait for their objects.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.pending.as_ref().map_or(0, PendingRefs::len)
    }

    /// Objects that these wait for.
    #[must_use]
    pub fn wanted(&self) -> usize {
        self.wants.len()
    }

    /// Whether nothing has arrived since the last look.
    #[cfg(test)]
    pub(super) fn inbox_is_empty(&self) -> bool {
        self.inbox.packets.is_empty()
    }

    /// Whether it has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.state == State::Failed
    }

    fn limit(&mut self, pending: PendingLimits, queue_bytes: u64) {
        self.pending = Some(PendingRefs::new(pending));
        self.inbox.limit = queue_bytes;
        self.outbox.limit = queue_bytes;
    }

    /// Ends everything here.
    pub(super) fn fail(&mut self) {
        self.state = State::Failed;
        self.pending = None;
        self.wants = Wants::default();
        self.inbox.take();
        self.outbox.take();
    }
}

/// A connection has the limits of the app that it is in. Without the plugin, it takes and gives nothing.
fn take_limits(mut world: DeferredWorld, context: HookContext) {
    let Some(settings) = world.get_resource::<NetSettings>() else {
        return;
    };
    let (pending, queue_bytes) = (settings.pending.clone(), settings.queue_bytes);
    if let Some(mut connection) = world.get_mut::<PackageConnection>(context.entity) {
        connection.limit(pending, queue_bytes);
    }
}
