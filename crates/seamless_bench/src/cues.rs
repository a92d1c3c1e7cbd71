//! `cue_dispatch`, `cue_storm`, `soft_resolve`: what cues and soft handles cost the main thread.
//!
//! * `cue_dispatch`: a system fires 10 000 cues that happen and are over, each about one of 64 entities, whose notify is loaded; one observer of all
//!   hears them. The peer is the same system that triggers an event of its own, with the same context, which one observer hears.
//! * `cue_storm`: 100 000 cues begin in one frame, and no notify of theirs is loaded, so all wait. The peer is the same when all are loaded, and
//!   played. How they are played later is told below.
//! * `soft_resolve`: a thousand soft handles lead to loaded objects, to their ids, or (in the row's note) to handles; the peer is `AssetServer::get_handle` of a thousand paths.

#[cfg(test)]
mod tests;

use core::any::TypeId;
use std::{hint::black_box, path::Path, time::Instant};

use bevy_app::App;
use bevy_asset::{AssetServer, Assets, Handle, io::memory::Dir};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry, system::SystemState};
use bevy_mesh::MeshPlugin;
use bevy_reflect::TypePath;
use bevy_time::TimePlugin;
use seamless_asset::{
    ObjectRegistries, ObjectRegistry, RegistryObject, SeamlessAssetPlugin, SoftHandle, SoftObjects, StreamableRequest,
    StreamingSettings, StreamingStats,
    codec::{Codecs, EncodeContext, EntityRows},
    package::{Codec, NewExport, ObjectRef, PackageWriter, Role},
};
use seamless_cue::{
    CueConfig, CueContext, CueExecuted, CueNotify, CueOnActive, CuePlugin, CueStats, Cues, GameplayTag,
};

use crate::{
    app::{cpu_ns, in_memory, writer},
    row::{Row, Samples, Targets},
};

const PACKAGE: &str = "cues.pkg";
/// Notifies, each with a tag of its own.
const NOTIFIES: usize = 1_000;
/// Cues of one sample of `cue_dispatch`.
const FIRED: usize = 10_000;
/// Entities that they are about.
const TARGETS: usize = 64;
/// Cues of one sample of `cue_storm`.
const STORM: usize = 100_000;
/// Tags that they have.
const STORM_TAGS: usize = 16;

fn tag_name(number: usize) -> String {
    format!("Bench.Cue{number}")
}

fn tag(number: usize) -> GameplayTag {
    GameplayTag::new(&tag_name(number)).expect("the name is a tag")
}

fn path(number: usize) -> String {
    format!("cues/cue{number}.cue.ron")
}

/// An app with notifies in a package, of which none is loaded.
fn app() -> App {
    let dir = Dir::default();
    let mut app = in_memory(&dir);
    app.add_plugins((
        TimePlugin,
        MeshPlugin,
        SeamlessAssetPlugin::default(),
        CuePlugin {
            config: CueConfig {
                max_waiting: STORM,
                max_active: STORM,
                ..CueConfig::default()
            },
            ..CuePlugin::default()
        },
    ))
    .init_resource::<Targeted>()
    .init_resource::<Heard>();
    app.finish();
    app.cleanup();
    let targets: Vec<Entity> = (0..TARGETS).map(|_| app.world_mut().spawn_empty().id()).collect();
    app.insert_resource(Targeted(targets));
    dir.insert_asset(Path::new(PACKAGE), package(&app));
    for number in 0..NOTIFIES {
        let text = format!("(tag: {:?})", tag_name(number));
        dir.insert_asset(Path::new(&path(number)), text.into_bytes());
    }
    let rows = (0..NOTIFIES).map(|number| RegistryObject {
        path: path(number).into(),
        package: PACKAGE.into(),
        object: number.to_string().into(),
        type_path: CueNotify::type_path().into(),
        tags: vec![("cue".into(), tag_name(number).into())],
        ..RegistryObject::default()
    });
    let registry = ObjectRegistry::new("", rows.collect()).expect("the paths differ");
    app.world_mut().resource_mut::<ObjectRegistries>().insert(registry);
    app.update();
    app
}

fn package(app: &App) -> Vec<u8> {
    let mut writer = writer(app.world(), PACKAGE);
    for number in 0..NOTIFIES {
        export(app, &mut writer, number);
    }
    writer.finish().expect("the package is within the limits")
}

fn export(app: &App, writer: &mut PackageWriter, number: usize) {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codecs = app.world().resource::<Codecs>().read();
    let codec = codecs.asset(TypeId::of::<CueNotify>()).expect("notifies have a codec");
    let class = writer.class(&codec.schema(&registry)).expect("a class");
    let mut world = World::new();
    world.init_resource::<Assets<CueNotify>>();
    let notify = CueNotify::new(tag(number));
    let handle = world.resource_mut::<Assets<CueNotify>>().add(notify);
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = codec.encode(&world, handle.id().untyped(), &mut context);
    let encoded = encoded.expect("it can be encoded").expect("it is there");
    let name = number.to_string();
    let export = NewExport {
        name: &name,
        class,
        outer: ObjectRef::NONE,
        role: Role::ALL,
        data: encoded.data.into(),
        refs: Vec::new(),
        bulk: Vec::new(),
        bulk_use: Default::default(),
        codec: Codec::None,
    };
    writer.export(export).expect("the export fits");
}

/// Whom cues are about.
#[derive(Resource, Default, Clone)]
struct Targeted(Vec<Entity>);

/// What observers have heard, so that both sides have to have heard the same.
#[derive(Resource, Default)]
struct Heard {
    cues: u64,
    events: u64,
}

/// An event of a game without cues.
#[derive(EntityEvent)]
struct Happened {
    entity: Entity,
    context: CueContext,
}

fn fire_cues(count: usize, tags: usize) -> impl FnMut(Cues, Res<Targeted>) {
    let tags: Vec<GameplayTag> = (0..tags).map(tag).collect();
    move |mut cues, targets| {
        for number in 0..count {
            let target = targets.0[number % TARGETS];
            cues.execute(
                tags[number % tags.len()],
                CueContext::new(target).magnitude(number as f32),
            );
        }
    }
}

fn begin_cues(mut cues: Cues, targets: Res<Targeted>, mut tags: Local<Vec<GameplayTag>>) {
    if tags.is_empty() {
        *tags = (0..STORM_TAGS).map(tag).collect();
    }
    for number in 0..STORM {
        let target = targets.0[number % TARGETS];
        // Each is a cue of its own.
        let source = Entity::from_raw_u32(number as u32 + 1).expect("it is no placeholder");
        cues.add(tags[number % STORM_TAGS], CueContext::new(target).with(source));
    }
}

fn trigger_events(mut commands: Commands, targets: Res<Targeted>) {
    for number in 0..FIRED {
        let entity = targets.0[number % TARGETS];
        let context = CueContext::new(entity).magnitude(number as f32);
        commands.trigger(Happened { entity, context });
    }
}

/// Loads so many notifies, and keeps them.
fn load(app: &mut App, count: usize) {
    let handles: Vec<SoftHandle<CueNotify>> = (0..count).map(|number| path(number).into()).collect();
    let mut state = SystemState::<SoftObjects>::new(app.world_mut());
    let soft = state.get_mut(app.world_mut()).expect("the plugin is there");
    let loaded = soft.request(StreamableRequest::new(handles.iter()));
    let start = Instant::now();
    while !loaded.is_finished() {
        assert!(start.elapsed().as_secs() < 60, "the notifies come");
        app.update();
    }
    assert!(loaded.is_loaded(), "{:?}", loaded.state());
    app.insert_resource(Kept(loaded));
}

/// The first cue of a tag finds its notify; it and those behind it wait until then.
fn meet(app: &mut App) {
    let start = Instant::now();
    while app.world().resource::<CueStats>().waiting > 0 {
        assert!(start.elapsed().as_secs() < 60, "the cues are played");
        app.update();
    }
    app.update();
    *app.world_mut().resource_mut() = Heard::default();
}

#[derive(Resource)]
#[expect(dead_code, reason = "it keeps alive")]
struct Kept(seamless_asset::Streamable);

/// Measures cues whose notify is loaded.
pub fn dispatch(samples: Option<usize>) -> Row {
    let mut app = app();
    app.add_observer(|_: On<CueExecuted>, mut heard: ResMut<Heard>| heard.cues += 1)
        .add_observer(|event: On<Happened>, mut heard: ResMut<Heard>| {
            heard.events += u64::from(event.context.magnitude >= 0.0);
        });
    load(&mut app, 1);
    let world = app.world_mut();
    let cues = world.register_system(fire_cues(FIRED, 1));
    let events = world.register_system(trigger_events);
    world.run_system(cues).expect("the system runs");
    meet(&mut app);
    let mut result = Samples::default();
    let rounds = samples.unwrap_or(51);
    for _ in 0..rounds {
        let world = app.world_mut();
        let (ours, ran) = cpu_ns(|| world.run_system(cues));
        ran.expect("the system runs");
        let (peer, ran) = cpu_ns(|| world.run_system(events));
        ran.expect("the system runs");
        result.ours.push(ours / FIRED as f64);
        result.peer.push(peer / FIRED as f64);
    }
    let heard = app.world().resource::<Heard>();
    let all = (rounds * FIRED) as u64;
    assert_eq!((heard.cues, heard.events), (all, all), "everything was heard");
    let least = 1.0 / 1.5;
    let targets = Targets {
        first: least,
        aim: least,
        of_limit: None,
    };
    let mut row = result.row("cue_dispatch", "ns/cue", Some("an event, triggered"), None, targets);
    row.note = "one observer; the peer's event has the same context".into();
    row
}

/// Measures cues that have to wait.
pub fn storm(samples: Option<usize>) -> Row {
    let mut result = Samples::default();
    let mut replays = Vec::new();
    for _ in 0..samples.unwrap_or(11) {
        let mut missing = storm_app();
        result.ours.push(storm_frame(&mut missing));
        let stats = missing.world().resource::<CueStats>();
        assert_eq!(stats.waiting, STORM as u64, "all wait");
        replays.push(replay(&mut missing));
        assert_eq!(missing.world().resource::<Heard>().cues, STORM as u64, "all are played");
        let mut loaded = storm_app();
        load(&mut loaded, STORM_TAGS);
        let execute = loaded.world_mut().register_system(fire_cues(STORM_TAGS, STORM_TAGS));
        loaded.world_mut().run_system(execute).expect("the system runs");
        meet(&mut loaded);
        result.peer.push(storm_frame(&mut loaded));
        assert_eq!(loaded.world().resource::<Heard>().cues, STORM as u64, "all are played");
    }
    let targets = Targets {
        first: 1.0,
        aim: 1.0,
        of_limit: None,
    };
    let mut row = result.row("cue_storm", "ns/cue", Some("all are loaded"), None, targets);
    let budget = StreamingSettings::default().budget.as_secs_f64() * 1e3;
    let frames = replays.iter().map(|replay| replay.frames).max().unwrap_or(0);
    let longest = |of: fn(&Replay) -> f64| replays.iter().map(of).fold(0.0, f64::max);
    let (streaming, whole) = (longest(|replay| replay.streaming), longest(|replay| replay.whole));
    row.note = format!(
        "{STORM} cues; played later in at most {frames} frames, with {streaming:.2} ms of streaming in the longest, of a budget of {budget} ms \
         (the whole of the longest frame, by the clock on the wall: {whole:.2} ms)"
    );
    row
}

fn storm_app() -> App {
    let mut app = app();
    app.add_observer(|_: On<CueOnActive>, mut heard: ResMut<Heard>| heard.cues += 1);
    app
}

/// Nanoseconds per cue of the frame in which all begin.
fn storm_frame(app: &mut App) -> f64 {
    let begin = app.world_mut().register_system(begin_cues);
    let world = app.world_mut();
    let (ns, ran) = cpu_ns(|| world.run_system(begin));
    ran.expect("the system runs");
    ns / STORM as f64
}

/// How what has waited was played; in milliseconds.
#[derive(Default)]
struct Replay {
    frames: u32,
    /// The most that all main-thread work of streaming has taken in a frame.
    streaming: f64,
    /// The longest frame, with whatever else the machine did meanwhile.
    whole: f64,
}

/// Frames until nobody waits any more.
fn replay(app: &mut App) -> Replay {
    let mut replay = Replay::default();
    let start = Instant::now();
    while app.world().resource::<CueStats>().waiting > 0 {
        assert!(start.elapsed().as_secs() < 60, "the cues are played");
        let frame = Instant::now();
        app.update();
        replay.whole = replay.whole.max(frame.elapsed().as_secs_f64() * 1e3);
        let streaming = app.world().resource::<StreamingStats>().last_frame;
        replay.streaming = replay.streaming.max(streaming.as_secs_f64() * 1e3);
        replay.frames += 1;
    }
    replay
}

/// Measures soft handles that lead to what is loaded.
pub fn resolve(samples: Option<usize>) -> Row {
    let mut app = app();
    load(&mut app, NOTIFIES);
    // As they are written in a game's code.
    let paths: Vec<&'static str> = (0..NOTIFIES).map(|number| &*path(number).leak()).collect();
    let handles: Vec<SoftHandle<CueNotify>> = paths.iter().map(|path| (*path).into()).collect();
    let server = app.world().resource::<AssetServer>().clone();
    let sources: Vec<Handle<CueNotify>> = paths.iter().map(|path| server.load(*path)).collect();
    let start = Instant::now();
    while sources.iter().any(|source| !server.is_loaded(source)) {
        assert!(start.elapsed().as_secs() < 60, "the sources come");
        app.update();
    }
    let mut state = SystemState::<SoftObjects>::new(app.world_mut());
    let soft = state.get_mut(app.world_mut()).expect("the plugin is there");
    let (mut result, mut kept) = (Samples::default(), Vec::new());
    for _ in 0..samples.unwrap_or(51) {
        let found = |handle: &&SoftHandle<CueNotify>| black_box(soft.id_if_loaded(*handle)).is_some();
        let (ours, count) = cpu_ns(|| handles.iter().filter(found).count());
        assert_eq!(count, NOTIFIES, "all are loaded");
        let found = |handle: &&SoftHandle<CueNotify>| black_box(soft.get_if_loaded(*handle)).is_some();
        let (counted, count) = cpu_ns(|| handles.iter().filter(found).count());
        assert_eq!(count, NOTIFIES, "all are loaded");
        let found = |path: &&&'static str| black_box(server.get_handle::<CueNotify>(**path)).is_some();
        let (peer, count) = cpu_ns(|| paths.iter().filter(found).count());
        assert_eq!(count, NOTIFIES, "all are loaded");
        result.ours.push(ours / NOTIFIES as f64);
        result.peer.push(peer / NOTIFIES as f64);
        kept.push(counted / NOTIFIES as f64);
    }
    let targets = Targets {
        first: 10.0,
        aim: 10.0,
        of_limit: None,
    };
    let mut row = result.row("soft_resolve", "ns", Some("AssetServer::get_handle"), None, targets);
    let kept = crate::row::quantile(&mut kept, 0.5);
    row.note = format!("to the asset's id; to a handle that keeps it alive {kept:.1} ns");
    row
}
