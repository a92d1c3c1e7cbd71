//! From the package map to replicon and back: packets are messages of replicon, and a client's entity has the connection.

use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    time::{Duration, SystemTime},
};

use bevy::prelude::*;
use bevy_replicon::prelude::*;
use bevy_replicon_renet::{
    RenetChannelsExt, RenetClient, RenetServer, RepliconRenetPlugins,
    netcode::{
        ClientAuthentication, NetcodeClientTransport, NetcodeServerTransport, ServerAuthentication, ServerConfig,
    },
    renet::ConnectionConfig,
};
use bevy_seamless::prelude::*;
use serde::{Deserialize, Serialize};

const PROTOCOL: u64 = 0x5ea_31e5;

/// A packet of the package map from the server.
#[derive(Message, Serialize, Deserialize, Debug, Clone)]
struct ToClient(Vec<u8>);

/// A packet of the package map from a client.
#[derive(Message, Serialize, Deserialize, Debug, Clone)]
struct ToServer(Vec<u8>);

/// Bytes of packets that this side has sent, the game's own bytes in them included.
#[derive(Resource, Default)]
pub struct Sent(pub usize);

/// The package map over replicon, on both sides.
pub struct TransportPlugin;

impl Plugin for TransportPlugin {
    fn build(&self, app: &mut App) {
        app.add_plugins((RepliconPlugins, RepliconRenetPlugins, PackageMapPlugin::default()))
            .init_resource::<Sent>()
            .add_server_message::<ToClient>(Channel::Ordered)
            .make_message_independent::<ToClient>()
            .add_client_message::<ToServer>(Channel::Ordered)
            .add_observer(connect_client)
            .add_systems(OnEnter(ClientState::Connected), connect_to_server)
            .configure_sets(
                PreUpdate,
                PackageMapSystems::Receive
                    .after(ServerSystems::Receive)
                    .after(ClientSystems::Receive),
            )
            .configure_sets(
                PostUpdate,
                PackageMapSystems::Send
                    .before(ServerSystems::Send)
                    .before(ClientSystems::Send),
            )
            .add_systems(
                PreUpdate,
                (from_clients, from_server)
                    .before(PackageMapSystems::Receive)
                    .after(ServerSystems::Receive)
                    .after(ClientSystems::Receive),
            )
            .add_systems(
                PostUpdate,
                (
                    to_clients.run_if(in_state(ServerState::Running)),
                    to_server.run_if(in_state(ClientState::Connected)),
                )
                    .after(PackageMapSystems::Send)
                    .before(ServerSystems::Send)
                    .before(ClientSystems::Send),
            );
    }
}

/// On the server, replicon's entity of a client is its connection.
fn connect_client(client: On<Add, AuthorizedClient>, mut commands: Commands) {
    commands.entity(client.entity).insert(PackageConnection::default());
}

fn connect_to_server(mut commands: Commands) {
    commands.spawn(PackageConnection::default());
}

fn from_clients(mut packets: MessageReader<FromClient<ToServer>>, mut peers: Query<&mut PackageConnection>) {
    for packet in packets.read() {
        let peer = packet.client_id.entity().and_then(|client| peers.get_mut(client).ok());
        if let Some(mut peer) = peer {
            peer.receive(packet.message.0.clone());
        }
    }
}

fn to_clients(
    mut peers: Query<(Entity, &mut PackageConnection)>,
    mut packets: MessageWriter<ToClients<ToClient>>,
    mut sent: ResMut<Sent>,
) {
    for (client, mut peer) in &mut peers {
        for packet in peer.drain() {
            sent.0 += packet.len();
            packets.write(ToClients {
                targets: SendTargets::Single(client.into()),
                message: ToClient(packet),
            });
        }
    }
}

fn from_server(mut packets: MessageReader<ToClient>, mut peers: Query<&mut PackageConnection>) {
    for packet in packets.read() {
        for mut peer in &mut peers {
            peer.receive(packet.0.clone());
        }
    }
}

fn to_server(mut peers: Query<&mut PackageConnection>, mut packets: MessageWriter<ToServer>, mut sent: ResMut<Sent>) {
    for packet in peers.iter_mut().flat_map(|mut peer| peer.drain()) {
        sent.0 += packet.len();
        packets.write(ToServer(packet));
    }
}

fn now() -> Duration {
    // A clock before 1970 is as good as any, as long as both sides have it.
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// A socket of the system's choice on the loopback.
pub fn loopback() -> Result<UdpSocket> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?)
}

fn config(channels: &RepliconChannels) -> ConnectionConfig {
    ConnectionConfig {
        server_channels_config: channels.server_configs(),
        client_channels_config: channels.client_configs(),
        ..default()
    }
}

/// Listens at `socket`. Call it when all messages are registered.
pub fn listen(world: &mut World, socket: UdpSocket) -> Result<()> {
    let server = RenetServer::new(config(world.resource::<RepliconChannels>()));
    let settings = ServerConfig {
        current_time: now(),
        max_clients: 4,
        protocol_id: PROTOCOL,
        public_addresses: vec![socket.local_addr()?],
        authentication: ServerAuthentication::Unsecure,
    };
    world.insert_resource(NetcodeServerTransport::new(settings, socket)?);
    world.insert_resource(server);
    Ok(())
}

/// Connects to a server. Call it when all messages are registered.
pub fn connect(world: &mut World, server_addr: SocketAddr) -> Result<()> {
    let client = RenetClient::new(config(world.resource::<RepliconChannels>()));
    let authentication = ClientAuthentication::Unsecure {
        client_id: u64::from(std::process::id()),
        protocol_id: PROTOCOL,
        server_addr,
        user_data: None,
    };
    world.insert_resource(NetcodeClientTransport::new(now(), authentication, loopback()?)?);
    world.insert_resource(client);
    Ok(())
}
