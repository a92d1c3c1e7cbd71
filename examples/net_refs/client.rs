//! The client: it has the village, and lacks the harbour until it walks there.

use std::{net::SocketAddr, time::Duration};

use bevy::{
    app::ScheduleRunnerPlugin,
    asset::AssetPlugin,
    image::{CompressedImageFormatSupport, CompressedImageFormats},
    log::{Level, LogPlugin},
    prelude::*,
};
use bevy_replicon::prelude::ClientState;
use bevy_seamless::{asset::net::NetObject, prelude::*};
use seamless_examples::display::headless_plugins;

use crate::{
    Args,
    content::{self, IN_HARBOUR, Named},
    say,
    server::{CHATTER, DEADLINE, DONE, FRAME, MESHES, REPORT},
    transport::{self, TransportPlugin},
};

/// How long the client stays away from the harbour although it is spoken of.
const AWAY: Duration = Duration::from_millis(500);

/// What the client has understood.
#[derive(Resource, Default)]
struct Heard {
    messages: usize,
    refs: usize,
    waited: usize,
    /// How many there are in all, once the server has said so.
    total: Option<usize>,
    wrong: bool,
    /// Whether all that is to happen has happened.
    is_over: bool,
    refused: bool,
    expects_refusal: bool,
}

/// Connects to the server and listens to it. Whether all was right.
pub fn run(args: &Args, server: SocketAddr) -> Result<bool> {
    let mut app = App::new();
    app.insert_resource(CompressedImageFormatSupport(CompressedImageFormats::NONE))
        .add_plugins(
            headless_plugins()
                .set(AssetPlugin {
                    file_path: content::cooked(&args.dir)?,
                    ..default()
                })
                .set(LogPlugin {
                    level: Level::WARN,
                    // There is no renderer, and in the end the server goes.
                    filter: "bevy_render=off,renetcode=off".into(),
                    ..default()
                }),
        )
        .add_plugins((ScheduleRunnerPlugin::run_loop(FRAME), SeamlessPlugins, TransportPlugin))
        .insert_resource(Heard {
            expects_refusal: args.other_content,
            ..default()
        })
        .add_systems(Startup, set_up)
        .add_systems(Update, (hear, walk, report).chain())
        .add_systems(Update, end_late)
        .add_systems(OnExit(ClientState::Connected), end)
        .add_observer(on_refused)
        .add_observer(|failed: On<ConnectionFailed>, mut heard: ResMut<Heard>| {
            say("client", &format!("the connection failed: {}", failed.error));
            heard.wrong = true;
        });
    transport::connect(app.world_mut(), server)?;
    Ok(app.run().is_success())
}

#[derive(Component)]
struct Walker;

fn set_up(mut commands: Commands, assets: Res<AssetServer>) {
    commands.spawn(SeamlessWorld(assets.load("world.seamless")));
    commands.spawn((Walker, StreamingSource::default(), Transform::default()));
}

fn on_refused(refused: On<PackagesRefused>, mut heard: ResMut<Heard>) {
    say("client", &format!("refused: {}", refused.mismatch));
    heard.refused = true;
    heard.wrong |= !refused.mismatch.to_string().contains("`harbour.pkg`");
}

/// Checks each message: its objects are those that its text names.
fn hear(
    mut messages: MessageReader<NetMessage>,
    mut heard: ResMut<Heard>,
    names: Query<&Name>,
    meshes: Res<Assets<Mesh>>,
) {
    for message in messages.read() {
        let body = String::from_utf8_lossy(&message.body);
        if message.channel == DONE {
            heard.total = body.parse().ok();
            continue;
        }
        heard.messages += 1;
        let refs = match &message.refs {
            Ok(refs) => refs,
            Err(error) => {
                say("client", &error.to_string());
                heard.wrong = true;
                continue;
            }
        };
        let paths: Vec<&str> = body.lines().collect();
        let is_right = |(path, object): (&&str, &Option<NetObject>)| {
            object
                .as_ref()
                .is_some_and(|object| is_named(object, path, &names, &meshes))
        };
        let are_right = paths.len() == refs.len() && paths.iter().zip(refs).all(is_right);
        heard.wrong |= !are_right;
        heard.refs += refs.len();
        if message.channel != CHATTER || !are_right {
            heard.waited += refs.len();
            let what = if message.channel == MESHES {
                "an asset"
            } else {
                "entities"
            };
            say(
                "client",
                &format!(
                    "waited {:?} for {what} of a level that was not there: {}, right: {are_right}",
                    message.waited, paths[0]
                ),
            );
        }
    }
}

/// Whether the object is the one with this path, by its identity and by what it is.
fn is_named(object: &NetObject, path: &str, names: &Query<&Name>, meshes: &Assets<Mesh>) -> bool {
    let Some(named) = Named::parse(path) else { return false };
    let is_same = match object {
        NetObject::Entity { entity, .. } => {
            let name = named.object.rsplit('/').next();
            names.get(*entity).ok().map(Name::as_str) == name
        }
        NetObject::Asset { .. } => object.handle::<Mesh>().is_some_and(|mesh| meshes.contains(&mesh)),
    };
    is_same && object.id() == named.id()
}

/// To the harbour, some time after messages began to wait for it.
fn walk(
    mut walkers: Query<&mut Transform, With<Walker>>,
    peers: Query<&PackageConnection>,
    time: Res<Time<Real>>,
    mut since: Local<Option<Duration>>,
) {
    let is_waiting = peers.iter().any(|peer| peer.waiting() > 0);
    if since.is_none() && is_waiting {
        *since = Some(time.elapsed());
    }
    if since.is_some_and(|since| time.elapsed() - since > AWAY) {
        for mut walker in &mut walkers {
            walker.translation = IN_HARBOUR;
        }
    }
}

/// Says to the server what was understood, and speaks of a cube itself.
fn report(
    mut heard: ResMut<Heard>,
    mut peers: Query<&mut PackageConnection>,
    objects: NetObjects,
    mut exit: MessageWriter<AppExit>,
) {
    if heard.wrong {
        exit.write(AppExit::error());
    }
    let all = heard.total.is_some_and(|total| heard.messages == total);
    let Ok(mut peer) = peers.single_mut() else { return };
    if !all || heard.is_over || heard.wrong || !peer.is_agreed(objects.packages()) {
        return;
    }
    let cube = Named::cube("harbour", 0).id();
    match peer.send(
        objects.packages(),
        REPORT,
        &[Some(cube)],
        heard.messages.to_string().as_bytes(),
    ) {
        Ok(()) => {
            let Heard {
                messages, refs, waited, ..
            } = *heard;
            say(
                "client",
                &format!("{refs} references in {messages} messages, {waited} had to wait, none unresolved"),
            );
            heard.is_over = true;
        }
        Err(error) => {
            say("client", &error.to_string());
            exit.write(AppExit::error());
        }
    }
}

/// The server has gone. Only when all was said, or when it was to refuse.
fn end(heard: Res<Heard>, mut exit: MessageWriter<AppExit>) {
    let is_right = !heard.wrong && heard.refused == heard.expects_refusal && heard.is_over != heard.expects_refusal;
    exit.write(if is_right { AppExit::Success } else { AppExit::error() });
}

fn end_late(time: Res<Time<Real>>, mut exit: MessageWriter<AppExit>) {
    if time.elapsed() > DEADLINE {
        say("client", "it took too long");
        exit.write(AppExit::error());
    }
}
