//! One frame of every connection: what arrived, what was waited for, what is to be said.

use core::time::Duration;

use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use bevy_time::{Real, Time};
use seamless_package::package_map::{
    Action, ConnectionError, HandshakeError, HandshakeEvent, Incoming, Mismatch, PendingRefs, Received,
};

use super::{
    ConnectionFailed, NetError, NetMessage, NetObjects, NetPackages, NetSettings, PackageConnection, PackagesAgreed,
    PackagesRefused,
    connection::{State, Waiting},
    wants::Told,
};
use crate::{LinkersResource, load::Streamer, settings::StreamingClock};

/// Tells the game what has happened.
#[derive(SystemParam)]
pub(super) struct Tell<'w, 's> {
    commands: Commands<'w, 's>,
    agreed: MessageWriter<'w, PackagesAgreed>,
    refused: MessageWriter<'w, PackagesRefused>,
    failed: MessageWriter<'w, ConnectionFailed>,
    messages: MessageWriter<'w, NetMessage>,
}

impl Tell<'_, '_> {
    fn agreed(&mut self, connection: Entity, peer: &mut PackageConnection, packages: &NetPackages) {
        // A side that only lacked packages may have got them.
        if peer.state == State::Refused && peer.link.handshake().difference(packages.map()).is_none() {
            peer.state = State::Open;
        }
        let event = PackagesAgreed {
            connection,
            sendable: peer.link.handshake().accepted(),
            receivable: peer.link.handshake().verified(),
        };
        self.commands.trigger(event.clone());
        self.agreed.write(event);
    }

    /// Once, until they agree.
    fn refused(&mut self, connection: Entity, peer: &mut PackageConnection, mismatch: Mismatch) {
        if peer.state != State::Open {
            return;
        }
        peer.state = State::Refused;
        let event = PackagesRefused { connection, mismatch };
        self.commands.trigger(event.clone());
        self.refused.write(event);
    }

    fn failed(&mut self, connection: Entity, peer: &mut PackageConnection, error: NetError) {
        peer.fail();
        let event = ConnectionFailed { connection, error };
        self.commands.trigger(event.clone());
        self.failed.write(event);
    }
}

/// Looks at what arrived, and at what messages wait for; delivers those whose time has come.
pub(super) fn receive(
    mut peers: Query<(Entity, &mut PackageConnection)>,
    objects: NetObjects,
    linkers: Res<LinkersResource>,
    mut streamer: ResMut<Streamer>,
    time: Res<Time<Real>>,
    mut tell: Tell,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("references that came over the network");
    for (connection, mut peer) in &mut peers {
        // Without the plugin's limits, or failed.
        let Some(pending) = peer.pending.take() else { continue };
        let mut turn = Turn {
            connection,
            peer: &mut peer,
            pending,
            objects: &objects,
            linkers: &linkers,
            streamer: &mut streamer,
            now: time.elapsed(),
            tell: &mut tell,
            actions: Vec::new(),
        };
        let result = turn.run();
        let pending = turn.pending;
        match result {
            Ok(()) => peer.pending = Some(pending),
            Err(error) => tell.failed(connection, &mut peer, error),
        }
    }
}

/// The frame of one connection.
struct Turn<'a, 'w, 's> {
    connection: Entity,
    peer: &'a mut PackageConnection,
    pending: PendingRefs<Waiting>,
    objects: &'a NetObjects<'a, 'a>,
    linkers: &'a LinkersResource,
    streamer: &'a mut Streamer,
    now: Duration,
    tell: &'a mut Tell<'w, 's>,
    actions: Vec<Action<Waiting>>,
}

impl Turn<'_, '_, '_> {
    fn run(&mut self) -> Result<(), NetError> {
        if let Some(found) = self.peer.inbox.overflow.take() {
            let limit = self.peer.inbox.limit();
            return Err(NetError::Flooded { found, limit });
        }
        for told in self.peer.wants.look(self.objects, self.streamer) {
            self.take_told(told);
        }
        for packet in self.peer.inbox.take() {
            self.take_packet(&packet)?;
            self.act();
        }
        self.objects
            .ask(|objects| self.pending.tick(objects, self.now, &mut self.actions));
        self.act();
        Ok(())
    }

    fn take_packet(&mut self, packet: &[u8]) -> Result<(), NetError> {
        let mut reply = Vec::new();
        let received = self
            .peer
            .link
            .receive(self.objects.packages().map(), packet, &mut reply);
        if !reply.is_empty() {
            // Where there is no room it is lost, as if by the network, and asked for again.
            self.peer.outbox.push(reply);
        }
        match received {
            Err(ConnectionError::Handshake(HandshakeError::Mismatch(mismatch))) => {
                self.tell.refused(self.connection, self.peer, mismatch);
            }
            Err(error) => return Err(error.into()),
            Ok(Received::Handshake(Some(HandshakeEvent::Verified { .. } | HandshakeEvent::Accepted { .. }))) => {
                self.tell.agreed(self.connection, self.peer, self.objects.packages());
            }
            Ok(Received::Message { channel, refs, body }) => {
                let incoming = Incoming {
                    channel,
                    bytes: packet.len() as u64,
                    refs,
                    value: Waiting {
                        body: body.to_vec(),
                        arrived: self.now,
                    },
                };
                let (pending, actions) = (&mut self.pending, &mut self.actions);
                self.objects
                    .ask(|objects| pending.resolve(objects, incoming, self.now, actions))?;
            }
            Ok(_) => {}
        }
        Ok(())
    }

    fn take_told(&mut self, (object, result): Told) {
        let (pending, actions) = (&mut self.pending, &mut self.actions);
        self.objects.ask(|objects| match result {
            Ok(id) => pending.loaded(objects, id, actions),
            Err(why) => pending.failed(objects, object, why, actions),
        });
        self.act();
    }

    /// Does what the protocol says is to be done.
    fn act(&mut self) {
        for action in core::mem::take(&mut self.actions) {
            match action {
                Action::Want { object, .. } => {
                    self.peer.wants.start(object, self.objects, self.linkers, self.streamer);
                }
                Action::Release { object } => self.peer.wants.release(object),
                Action::Deliver {
                    channel, value, refs, ..
                } => {
                    let refs = refs.map(|refs| refs.iter().map(|id| self.objects.get((*id)?)).collect());
                    self.tell.messages.write(NetMessage {
                        connection: self.connection,
                        channel,
                        refs,
                        waited: self.now.saturating_sub(value.arrived),
                        body: value.body,
                    });
                }
                // The protocol may learn to say more; what is new is not needed here.
                _ => {}
            }
        }
    }
}

/// Says what is to be said: acknowledgements, and the list, until the peer has accepted it.
pub(super) fn send(
    mut peers: Query<(Entity, &mut PackageConnection)>,
    packages: Res<NetPackages>,
    settings: Res<NetSettings>,
    time: Res<Time<Real>>,
    mut tell: Tell,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("references that go over the network");
    for (connection, mut peer) in &mut peers {
        if peer.pending.is_none() {
            continue;
        }
        let mut packet = Vec::new();
        if peer.link.acknowledge(&mut packet) {
            peer.outbox.push(packet);
        }
        offer(connection, &mut peer, &packages, &settings, time.elapsed(), &mut tell);
    }
}

fn offer(
    connection: Entity,
    peer: &mut PackageConnection,
    packages: &NetPackages,
    settings: &NetSettings,
    now: Duration,
    tell: &mut Tell,
) {
    let count = packages.map().len();
    if peer.link.handshake().accepted() == count {
        peer.handshake.since = None;
        return;
    }
    let last = peer.handshake.offered;
    let has_grown = last.is_none_or(|(offered, _)| offered != count);
    if has_grown {
        peer.handshake.since = Some(now);
    }
    if has_grown || last.is_some_and(|(_, at)| now.saturating_sub(at) >= settings.offer_every) {
        let mut packet = Vec::new();
        peer.link.offer(packages.map(), &mut packet);
        peer.outbox.push(packet);
        peer.handshake.offered = Some((count, now));
    }
    let since = *peer.handshake.since.get_or_insert(now);
    if now.saturating_sub(since) < settings.handshake_age || peer.state != State::Open {
        return;
    }
    match peer.link.handshake().difference(packages.map()) {
        Some(mismatch) => tell.refused(connection, peer, mismatch),
        None => tell.failed(
            connection,
            peer,
            NetError::NoAnswer {
                after: settings.handshake_age,
            },
        ),
    }
}
