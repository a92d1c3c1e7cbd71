//! What happens to connections and packages: buffered [`Message`]s for systems, and, for connections, [`EntityEvent`]s for
//! observers too.

use core::time::Duration;
use std::sync::Arc;

use bevy_asset::{Asset, Handle, UntypedHandle};
use bevy_ecs::{entity::Entity, event::EntityEvent, message::Message};
use seamless_package::{
    ObjectId,
    package_map::{ConnectionError, Mismatch, PendingError, RefError},
};

use super::NetPackageError;

/// Both sides agree on more packages than before: references into them may travel.
#[derive(Message, EntityEvent, Clone, Debug, PartialEq, Eq)]
pub struct PackagesAgreed {
    /// The entity with the [`PackageConnection`](super::PackageConnection).
    #[event_target]
    pub connection: Entity,
    /// References into the first so many packages of the list may be sent.
    pub sendable: u32,
    /// References into the first so many packages of the list may arrive.
    pub receivable: u32,
}

/// The lists of the two sides differ: which package, the first of all, and how. Each side finds it out by itself. What the sides had agreed on
/// before still holds, but most games disconnect, and show the text.
#[derive(Message, EntityEvent, Clone, Debug, PartialEq, Eq)]
pub struct PackagesRefused {
    /// The entity with the [`PackageConnection`](super::PackageConnection).
    #[event_target]
    pub connection: Entity,
    /// The first difference.
    pub mismatch: Mismatch,
}

/// The connection is of no use any more: what waits is dropped, packets are ignored. The game closes it, and despawns it.
#[derive(Message, EntityEvent, Clone, Debug, PartialEq, Eq)]
pub struct ConnectionFailed {
    /// The entity with the [`PackageConnection`](super::PackageConnection).
    #[event_target]
    pub connection: Entity,
    /// Why.
    pub error: NetError,
}

/// A message of the peer: it has arrived, and everything that it refers to is live, or has failed for good.
#[derive(Message, Clone, Debug)]
pub struct NetMessage {
    /// The entity with the [`PackageConnection`](super::PackageConnection).
    pub connection: Entity,
    /// Messages of one channel come in the order in which they arrived.
    pub channel: u32,
    /// What it refers to, in the order in which it was written, nothing for nothing; or what became of the first that failed.
    pub refs: Result<Vec<Option<NetObject>>, RefError>,
    /// What else is in it.
    pub body: Vec<u8>,
    /// How long it has waited for its objects; zero if they were live when it arrived.
    pub waited: Duration,
}

/// The objects of a listed package cannot be referred to; see [`NetPackageError`].
#[derive(Message, Clone, Debug)]
pub struct PackageFault {
    /// Which package, why, and what mends it.
    pub error: Arc<NetPackageError>,
}

/// An object that a peer refers to, and that is live here.
#[derive(Debug, Clone, PartialEq)]
pub enum NetObject {
    /// An asset. The handle keeps it alive.
    Asset {
        /// Its object id.
        id: ObjectId,
        /// Its handle.
        handle: UntypedHandle,
    },
    /// An entity of a level.
    Entity {
        /// Its object id.
        id: ObjectId,
        /// The entity in this app's world.
        entity: Entity,
    },
}

impl NetObject {
    /// Its identity, the same on both sides.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        match self {
            Self::Asset { id, .. } | Self::Entity { id, .. } => *id,
        }
    }

    /// The entity, if it is one.
    #[must_use]
    pub fn entity(&self) -> Option<Entity> {
        match self {
            Self::Entity { entity, .. } => Some(*entity),
            Self::Asset { .. } => None,
        }
    }

    /// The asset, if it is one of this type.
    #[must_use]
    pub fn handle<A: Asset>(&self) -> Option<Handle<A>> {
        match self {
            Self::Asset { handle, .. } => handle.clone().try_typed().ok(),
            Self::Entity { .. } => None,
        }
    }
}

/// Why a connection has failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// The peer said what no honest peer says.
    #[error(transparent)]
    Protocol(#[from] ConnectionError),
    /// More messages of the peer would wait for objects than may.
    #[error(transparent)]
    Pending(#[from] PendingError),
    /// More packets arrived between two frames than are kept.
    #[error(
        "{found} bytes of packets in a frame, at most {limit} are kept; disconnect the peer, or raise PackageMapPlugin::queue_bytes"
    )]
    Flooded {
        /// Bytes that would have waited.
        found: u64,
        /// The most that may.
        limit: u64,
    },
    /// The peer did not answer the handshake.
    #[error(
        "the peer has not answered the handshake for {after:?}; does it run the PackageMapPlugin, and do packets get through in both directions?"
    )]
    NoAnswer {
        /// How long it had.
        after: Duration,
    },
}
