//! The server: both levels are in its world, and it speaks of what is in them.

use std::{
    net::SocketAddr,
    process::{Child, Command},
    thread::sleep,
    time::{Duration, Instant},
};

use bevy::{
    app::ScheduleRunnerPlugin,
    asset::AssetPlugin,
    log::{Level, LogPlugin},
    prelude::*,
    state::app::StatesPlugin,
    transform::TransformPlugin,
};
use bevy_seamless::prelude::*;

use crate::{
    Args,
    content::{self, HARBOUR, IN_HARBOUR, Named, VILLAGE},
    say,
    transport::{self, Sent, TransportPlugin},
};

/// Each cube of the village is mentioned so often.
const ROUNDS: usize = 60;
/// Channels: messages of one come in order.
pub const CHATTER: u32 = 0;
pub const MESHES: u32 = 1;
const CUBES: u32 = 2;
/// The last message: how many there were before it.
pub const DONE: u32 = 3;
/// What a client sends: how many it has understood.
pub const REPORT: u32 = 4;
/// Whatever goes wrong, it ends.
pub const DEADLINE: Duration = Duration::from_secs(60);
pub const FRAME: Duration = Duration::from_millis(16);

/// What the server has said.
#[derive(Resource, Default)]
struct Talk {
    refs: usize,
    /// What the paths of these would have taken.
    path_bytes: usize,
    body_bytes: usize,
    messages: usize,
    is_done: bool,
}

#[derive(Resource)]
struct Expect {
    refusal: bool,
}

/// Makes the content, starts a client, and talks to it. Whether all was right on both sides.
pub fn run(args: &Args) -> Result<bool> {
    let (own, other) = (args.dir.join("server"), args.dir.join("client"));
    content::make(&own, false)?;
    let of_client = if args.other_content {
        content::make(&other, true)?;
        other
    } else {
        own.clone()
    };
    let socket = transport::loopback()?;
    let address = socket.local_addr()?;
    let mut app = app(&content::cooked(&own)?, args.other_content);
    transport::listen(app.world_mut(), socket)?;
    let child = start_client(args, &of_client, address)?;
    say("server", &format!("listens at {address}"));
    let is_right = app.run().is_success();
    // Sockets are closed, so that the client ends too.
    drop(app);
    Ok(wait_for(child)? && is_right)
}

fn start_client(args: &Args, dir: &std::path::Path, address: SocketAddr) -> Result<Child> {
    let mut client = Command::new(std::env::current_exe()?);
    client.arg("--client").arg(address.to_string()).arg("--dir").arg(dir);
    if args.other_content {
        client.arg("--other-content");
    }
    Ok(client.spawn()?)
}

/// Whether the client has ended well, and soon.
fn wait_for(mut child: Child) -> Result<bool> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        sleep(FRAME);
    }
    child.kill()?;
    child.wait()?;
    say("server", "the client did not end by itself");
    Ok(false)
}

fn app(assets: &str, refusal: bool) -> App {
    let mut app = App::new();
    app.add_plugins((
        MinimalPlugins.set(ScheduleRunnerPlugin::run_loop(FRAME)),
        LogPlugin {
            level: Level::WARN,
            ..default()
        },
        AssetPlugin {
            file_path: assets.to_owned(),
            ..default()
        },
        TransformPlugin,
        StatesPlugin,
        SeamlessMinimalPlugins,
        TransportPlugin,
    ))
    .insert_resource(Expect { refusal })
    .init_resource::<Talk>()
    .add_systems(Startup, set_up)
    .add_systems(Update, (talk, listen, end_late))
    .add_observer(on_refused)
    .add_observer(|failed: On<ConnectionFailed>, mut exit: MessageWriter<AppExit>| {
        say("server", &format!("the connection failed: {}", failed.error));
        exit.write(AppExit::error());
    });
    app
}

fn set_up(mut commands: Commands, assets: Res<AssetServer>) {
    commands.spawn(SeamlessWorld(assets.load("world.seamless")));
    commands.spawn((StreamingSource::default(), Transform::from_translation(IN_HARBOUR)));
}

/// A refusal is what `--other-content` is for, and an error else. It lingers a little, so that the client is told as well.
fn on_refused(refused: On<PackagesRefused>, expect: Res<Expect>, mut commands: Commands) {
    say("server", &format!("refused: {}", refused.mismatch));
    let names_it = refused.mismatch.to_string().contains("`harbour.pkg`");
    let is_right = expect.refusal && names_it;
    commands.insert_resource(EndAt(Instant::now() + Duration::from_secs(1), is_right));
}

#[derive(Resource)]
struct EndAt(Instant, bool);

fn end_late(end: Option<Res<EndAt>>, time: Res<Time<Real>>, mut exit: MessageWriter<AppExit>) {
    if time.elapsed() > DEADLINE {
        say("server", "it took too long");
        exit.write(AppExit::error());
    }
    if let Some(end) = end.filter(|end| Instant::now() >= end.0) {
        exit.write(if end.1 { AppExit::Success } else { AppExit::error() });
    }
}

/// A message a frame: the village, again and again; then the harbour's mesh, and its cubes.
fn talk(
    objects: NetObjects,
    mut peers: Query<&mut PackageConnection>,
    mut talk: ResMut<Talk>,
    mut exit: MessageWriter<AppExit>,
) {
    let Ok(mut peer) = peers.single_mut() else { return };
    let is_there = |named: &Named| objects.get(named.id()).is_some();
    let are_there = is_there(&Named::cube("village", 0)) && is_there(&Named::cube("harbour", 0));
    if talk.is_done || !are_there || !peer.is_agreed(objects.packages()) {
        return;
    }
    let cubes = |level: &str, count: usize| (0..count).map(|number| Named::cube(level, number)).collect::<Vec<_>>();
    let (channel, named) = match talk.messages {
        ROUNDS => (MESHES, vec![Named::mesh("harbour")]),
        at if at == ROUNDS + 1 => (CUBES, cubes("harbour", HARBOUR)),
        at if at > ROUNDS + 1 => (DONE, Vec::new()),
        _ => (CHATTER, cubes("village", VILLAGE)),
    };
    let paths: Vec<String> = named.iter().map(Named::path).collect();
    let body = match channel {
        DONE => talk.messages.to_string(),
        // So that the client can check what it gets.
        _ => paths.join("\n"),
    };
    let refs: Vec<_> = named.iter().map(|named| Some(named.id())).collect();
    if let Err(error) = peer.send(objects.packages(), channel, &refs, body.as_bytes()) {
        say("server", &format!("cannot speak of {paths:?}: {error}"));
        exit.write(AppExit::error());
        talk.is_done = true;
        return;
    }
    talk.refs += refs.len();
    talk.path_bytes += paths.iter().map(|path| path.len() + 1).sum::<usize>();
    talk.body_bytes += body.len();
    talk.messages += 1;
    talk.is_done = channel == DONE;
}

/// The client's report, which refers to a cube as well.
fn listen(
    mut messages: MessageReader<NetMessage>,
    talk: Res<Talk>,
    sent: Res<Sent>,
    objects: NetObjects,
    mut exit: MessageWriter<AppExit>,
) {
    for message in messages.read().filter(|message| message.channel == REPORT) {
        let cube = Named::cube("harbour", 0);
        let expected = objects.get(cube.id());
        let is_cube = message.refs.as_ref().is_ok_and(|refs| *refs == [expected.clone()]);
        let body = String::from_utf8_lossy(&message.body);
        let is_right = is_cube && expected.is_some() && body == (talk.messages - 1).to_string();
        let bytes = sent.0.saturating_sub(talk.body_bytes);
        say(
            "server",
            &format!(
                "{} references in {} messages took {bytes} bytes, handshake and all: {:.2} bytes each; as paths {:.1}",
                talk.refs,
                talk.messages,
                bytes as f64 / talk.refs as f64,
                talk.path_bytes as f64 / talk.refs as f64
            ),
        );
        say(
            "server",
            &format!(
                "the client understood {body} messages, and speaks of {}: {is_right}",
                cube.path()
            ),
        );
        exit.write(if is_right { AppExit::Success } else { AppExit::error() });
    }
}
