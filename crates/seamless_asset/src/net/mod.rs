//! References to objects over a network: the package map in Bevy. See [`PackageMapPlugin`].
//!
//! An entity of a level and an asset have the same [`ObjectId`](seamless_package::ObjectId) in every app that has the same packages, so that one side
//! can speak of them to the other. What travels is a number of one to three bytes; the protocol is
//! [`seamless_package::package_map`], which knows neither Bevy nor a transport. This module keeps its state for each
//! connection, tells it what is live, loads what a peer's messages wait for, and delivers them in order.
//!
//! | part | what it is |
//! |---|---|
//! | [`NetPackages`] | the list of packages, the same on both sides; a `SeamlessWorld` adds those of its manifest |
//! | [`PackageConnection`] | one peer, a component: packets in, packets out |
//! | [`NetObjects`] | system parameter: an entity's id, an id's object |
//! | [`NetMessage`] | a message of a peer, with everything that it refers to |
//! | [`PackagesAgreed`], [`PackagesRefused`] | how the handshake ended: both lists are the same, or which package differs first |
//! | [`ConnectionFailed`] | the peer is hostile, damaged or silent: disconnect it |
//! | [`PackageFault`] | a package that is here is not the one that was listed |
//!
//! # Which list
//! While there is no [`PackageConnection`], a world that comes or goes puts the list in order: it is that of the worlds that are there. While there is one,
//! the list only grows: both sides count on what they have compared. A server that changes worlds therefore does so between connections: both
//! sides remove theirs, and insert new ones when the new world has its `LevelTable`. Packages are listed by the names that they were cooked under,
//! so of two worlds in two folders that have one name in common, the second is refused with an error in the log.
//!
//! # When a reference resolves
//! A message is delivered when all that it refers to is live. An **asset** is loaded for it, alone with what it needs, and kept until the message
//! is delivered; its handle is in the message. An **entity** comes with its level: the message waits until whoever decides about
//! levels has revealed that. What cannot be loaded, or does not come in time
//! ([`PendingLimits::age`](seamless_package::package_map::PendingLimits)), is an error in the message that is delivered, in its turn. An entity of a
//! level that is in the world and that was despawned since is such an error at once.
//!
//! A copy in a seek-free package is the object itself: it has the place of its original.
//!
//! Where a manifest places one package several times, each placement has a place of its own in the list
//! ([`NetPackages::list_instance`]), and its entities ids of their own: a reference means the same door on both sides, in whatever order
//! houses come. A placement that is not listed, one that game code has added for instance, cannot be referred to: which of them is meant is never guessed. Its
//! [`StableId`](crate::StableId)s can travel in the body of a message.
//!
//! # Example
//! ```
//! # use bevy_ecs::prelude::*;
//! # use seamless_asset::net::*;
//! fn open(door: Entity, objects: NetObjects, mut peers: Query<&mut PackageConnection>) {
//!     for mut peer in &mut peers {
//!         // To all who have the same packages; others have been told which one differs.
//!         let _ = peer.send(objects.packages(), 0, &[objects.id_of(door)], b"open");
//!     }
//! }
//!
//! fn opened(mut messages: MessageReader<NetMessage>) {
//!     for message in messages.read() {
//!         match &message.refs {
//!             Ok(refs) => { let _door = refs.first().and_then(|door| door.as_ref()?.entity()); }
//!             Err(error) => bevy_log::warn!("{error}"),
//!         }
//!     }
//! }
//! ```

mod connection;
mod events;
mod objects;
mod packages;
mod systems;
#[cfg(test)]
mod tests;
mod wants;

use core::time::Duration;

use bevy_app::{App, Plugin, PostUpdate, PreUpdate};
use bevy_ecs::prelude::*;
use bevy_time::{Real, Time};
use seamless_package::package_map::{MapLimits, PendingLimits};

pub use connection::{PackageConnection, SendError};
pub use events::{ConnectionFailed, NetError, NetMessage, NetObject, PackageFault, PackagesAgreed, PackagesRefused};
pub use objects::NetObjects;
pub use packages::{NetPackage, NetPackageError, NetPackages};

use crate::{LinkersResource, LiveObjectsResource, load::Streamer, settings::StreamingClock};
use packages::OpenedLinkers;

/// References to objects over a network. Add it beside [`SeamlessAssetPlugin`](crate::SeamlessAssetPlugin), before anything is loaded. Time is Bevy's `Time<Real>`, so it needs
/// Bevy's `TimePlugin`, which `DefaultPlugins` and `MinimalPlugins` have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageMapPlugin {
    /// What the list of packages and the messages of a handshake may hold. Default: [`MapLimits::default`].
    pub map: MapLimits,
    /// What one peer can make wait, and for how long. Default: [`PendingLimits::default`], 10 s.
    pub pending: PendingLimits,
    /// Bytes of the packets of one peer that have arrived and were not looked at yet, and of those that wait to be sent, 32 added
    /// for each packet. Default: 4 MiB.
    pub queue_bytes: u64,
    /// How often the list is offered to a peer that has not accepted it. Default: 1 s.
    pub offer_every: Duration,
    /// How long a peer may take to accept the list: then it is told how the lists differ, or that the peer is silent. Default: 10 s.
    pub handshake_age: Duration,
}

impl Default for PackageMapPlugin {
    fn default() -> Self {
        Self {
            map: MapLimits::default(),
            pending: PendingLimits::default(),
            queue_bytes: 4 << 20,
            offer_every: Duration::from_secs(1),
            handshake_age: Duration::from_secs(10),
        }
    }
}

/// Where the frame's work on connections is.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
pub enum PackageMapSystems {
    /// In `PreUpdate`: packets that were given to [`PackageConnection::receive`] are looked at, and messages are delivered. A
    /// transport gives its packets before.
    Receive,
    /// In `PostUpdate`: offers and acknowledgements are written. A transport takes packets with [`PackageConnection::drain`]
    /// after.
    Send,
}

/// Settings that connections take over.
#[derive(Resource)]
struct NetSettings {
    pending: PendingLimits,
    queue_bytes: u64,
    offer_every: Duration,
    handshake_age: Duration,
}

impl Plugin for PackageMapPlugin {
    fn build(&self, app: &mut App) {
        // In whatever order the plugins are added.
        let opened = app
            .init_resource::<LinkersResource>()
            .init_resource::<Streamer>()
            .init_resource::<StreamingClock>()
            .init_resource::<LiveObjectsResource>()
            .init_resource::<Time<Real>>()
            .world()
            .resource::<LinkersResource>()
            .0
            .watch();
        app.insert_resource(OpenedLinkers(opened))
            .insert_resource(NetPackages::new(self.map.clone()))
            .insert_resource(NetSettings {
                pending: self.pending.clone(),
                queue_bytes: self.queue_bytes,
                offer_every: self.offer_every,
                handshake_age: self.handshake_age,
            })
            .add_message::<PackagesAgreed>()
            .add_message::<PackagesRefused>()
            .add_message::<ConnectionFailed>()
            .add_message::<NetMessage>()
            .add_message::<PackageFault>()
            .add_systems(
                PreUpdate,
                (packages::learn, systems::receive)
                    .chain()
                    .in_set(PackageMapSystems::Receive),
            )
            .add_systems(PostUpdate, systems::send.in_set(PackageMapSystems::Send));
    }
}
