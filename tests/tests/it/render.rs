//! A cooked level looks as Bevy's own spawn of the same source does, from its first frame to its last; before and after
//! there is nothing of it, neither in the picture nor in the render world.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use bevy::{
    prelude::*,
    render::{render_asset::RenderAssetBytesPerFrame, sync_world::RenderEntity},
    world_serialization::WorldAsset,
};
use bevy_seamless::{
    asset::{InstanceEvent, InstanceId},
    prelude::*,
};
use seamless_tests::{
    app::{LOAD_LIMIT, run_until},
    cooked::{Ask, Cooked, MANIFEST, ask, reveal, spawn_world, state},
    fixtures::write_everything_gltf,
    picture::{Frame, Picture, has_driver, next_frame, settled, studio, windowless},
    skip::skipped,
};

/// How many frames are compared after the reveal, and after the leave.
const FRAMES: usize = 8;

fn looking(from: Vec3, at: Vec3) -> Transform {
    Transform::from_translation(from).looking_at(at, Vec3::Y)
}

/// Where the pictures are put, to look at.
fn save(picture: &Picture, name: &str) {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    picture.save(&dir.join(format!("{name}.png")));
}

#[track_caller]
fn assert_shows(frame: &Frame, expected: &Picture, name: &str, when: &str) {
    let difference = frame.picture.difference(expected);
    if !difference.is_none() {
        save(&frame.picture, &format!("{name}_wrong"));
        panic!(
            "{name}, {when}: {difference:?}; see {name}_wrong.png in {}",
            env!("CARGO_TARGET_TMPDIR")
        );
    }
}

/// What Bevy shows of the source in the first frames of its spawn, all assets being on the GPU before. An app of its own:
/// what is drawn in front of what, among surfaces at the same place, follows from the order of entities.
fn bevy_shows(dir: &Path, scene: &str, camera: Transform) -> Vec<Frame> {
    let mut app = studio(dir, camera, |_| {});
    let empty = settled(&mut app);
    let server = app.world().resource::<AssetServer>().clone();
    let scene: Handle<WorldAsset> = server.load(scene.to_owned());
    assert!(run_until(&mut app, LOAD_LIMIT, |_| server.is_loaded_with_dependencies(&scene)));
    // Prepared is what does not grow any more.
    let mut prepared = empty.prepared;
    while prepared == empty.prepared || prepared != next_frame(&mut app).prepared {
        prepared = next_frame(&mut app).prepared;
    }
    app.world_mut()
        .spawn((WorldAssetRoot(scene), Transform::default(), Visibility::default()));
    let mut frame = next_frame(&mut app);
    while frame.instances == 0 {
        frame = next_frame(&mut app);
    }
    let mut frames = vec![frame];
    frames.resize_with(FRAMES, || next_frame(&mut app));
    assert!(
        frames[FRAMES - 1].picture == settled(&mut app).picture,
        "by then, Bevy's picture is whole"
    );
    frames
}

/// Updates until a message of type `M` was sent in that very update; returns its frame, and those before it.
fn until<M: Message>(app: &mut App) -> (Vec<Frame>, Frame) {
    let start = Instant::now();
    let mut before = Vec::new();
    loop {
        let frame = next_frame(app);
        let failures = app.world().resource::<Messages<LevelFailed>>();
        let failed = failures.iter_current_update_messages().next();
        assert!(
            failed.is_none(),
            "{}",
            failed.map(|failed| failed.error.to_string()).unwrap_or_default()
        );
        if app
            .world()
            .resource::<Messages<M>>()
            .iter_current_update_messages()
            .next()
            .is_some()
        {
            return (before, frame);
        }
        assert!(start.elapsed() < LOAD_LIMIT, "nothing happens");
        before.push(frame);
        thread::sleep(Duration::from_millis(1));
    }
}

/// What Bevy 0.19 makes of a mesh with morph targets in the first frame that it is in, whoever spawned it.
///
/// It draws it without them: `prepare_morph_descriptors` looks the mesh instance up before
/// `collect_meshes_for_gpu_building` has made it. All that can be asked of a reveal is that its first frame equals the
/// first frame of Bevy's own spawn.
#[derive(Clone, Copy, PartialEq)]
enum Morphs {
    None,
    OneFrameLate,
}

/// How levels come and go.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Road {
    /// As apps do that have not opted in.
    OneFrame,
    /// One unit of work in a frame, and every level is too large for one.
    Slices,
}

fn streaming(app: &mut App, road: Road) {
    app.add_plugins(SeamlessPlugins.set(SeamlessAssetPlugin {
        sliced_levels: road == Road::Slices,
        // Software renders beside them, on all cores.
        background: false,
        ..SeamlessAssetPlugin::default()
    }));
    if road == Road::Slices {
        app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
        app.init_resource::<Told>().add_systems(Last, listen);
    }
}

/// Streams the level in and out, and looks at every frame.
fn compare(write: impl FnOnce(&Path), source: &str, name: &str, camera: Transform, morphs: Morphs) {
    compare_on(Road::OneFrame, write, source, name, camera, morphs);
}

fn compare_on(road: Road, write: impl FnOnce(&Path), source: &str, name: &str, camera: Transform, morphs: Morphs) {
    if !has_driver() {
        return;
    }
    let cooked = Cooked::new(
        write,
        &format!("(levels: [(name: \"level\", source: \"{source}\")])"),
        |_| {},
    );
    let bevy = bevy_shows(cooked.sources(), &format!("{source}#Scene0"), camera);
    let expected = &bevy[FRAMES - 1];
    save(&expected.picture, &format!("{name}_bevy"));

    let mut app = studio(&cooked.out(), camera, |app| streaming(app, road));
    spawn_world(&mut app, MANIFEST);
    let empty = settled(&mut app);
    assert_eq!(
        (empty.picture.colours(), empty.instances),
        (1, 0),
        "nothing but the clear colour"
    );
    let drawn = expected.picture.difference(&empty.picture);
    assert!(
        drawn.far > 0.05 && expected.picture.colours() > 100,
        "{name} shows too little to tell: {drawn:?}"
    );

    // Next to nothing, so few assets a frame: without the gate, the first frames would lack most of the level.
    app.insert_resource(RenderAssetBytesPerFrame::new(64));
    ask(&mut app, "level", Ask::Load);
    let (before, first) = until::<LevelRevealed>(&mut app);
    for frame in &before {
        assert_shows(frame, &empty.picture, name, "before the reveal");
        assert_eq!(frame.instances, 0, "before the reveal");
    }
    save(&first.picture, &format!("{name}_ours"));
    assert!(first.instances > 0);
    let mut frame = first;
    for (after, bevy) in bevy.iter().enumerate() {
        let when = format!("{after} frames after the reveal");
        assert_shows(&frame, &bevy.picture, name, &when);
        if after > 0 || morphs == Morphs::None {
            assert_shows(&frame, &expected.picture, name, &when);
        }
        assert_eq!(frame.instances, expected.instances, "{when}");
        frame = next_frame(&mut app);
    }
    assert_eq!(
        app.world().resource::<StreamingStats>().gate_deadlines,
        0,
        "every asset was prepared in time"
    );

    assert!(before.len() > 3, "the gate has held the level back");
    if road == Road::Slices {
        hide_and_show(&mut app, &empty, expected, name);
    }

    ask(&mut app, "level", Ask::Unload);
    let (staying, gone) = until::<LevelLeft>(&mut app);
    for frame in &staying {
        assert_shows(frame, &expected.picture, name, "before the leave");
        assert_eq!(frame.instances, expected.instances, "before the leave");
    }
    check_gone(&mut app, &empty, gone, name, road);
}

/// What was told of instances so far.
#[derive(Resource, Default)]
struct Told {
    id: Option<InstanceId>,
    is_hidden: bool,
}

fn listen(mut events: MessageReader<InstanceEvent>, mut told: ResMut<Told>) {
    for event in events.read() {
        match event {
            InstanceEvent::Revealed { id, .. } => told.id = Some(*id),
            InstanceEvent::Hidden { .. } => told.is_hidden = true,
            InstanceEvent::Shown { .. } => told.is_hidden = false,
            _ => {}
        }
    }
}

/// The frame in which the level is hidden, or shown again.
fn retarget(app: &mut App, id: InstanceId, target: InstanceTarget) -> Frame {
    app.world_mut().resource_mut::<Streamer>().set_target(id, target);
    let hidden = target == InstanceTarget::Loaded;
    let start = Instant::now();
    loop {
        let frame = next_frame(app);
        if app.world().resource::<Told>().is_hidden == hidden {
            return frame;
        }
        assert!(start.elapsed() < LOAD_LIMIT, "nothing happens");
    }
}

/// What is hidden is not drawn, from the first frame on; shown again, it looks as before, from the first frame on.
fn hide_and_show(app: &mut App, empty: &Frame, expected: &Frame, name: &str) {
    let id = app.world().resource::<Told>().id.expect("a level was revealed");
    for round in 0..3 {
        let hidden = retarget(app, id, InstanceTarget::Loaded);
        assert_shows(&hidden, &empty.picture, name, &format!("hidden, round {round}"));
        for _ in 0..FRAMES {
            assert_shows(&next_frame(app), &empty.picture, name, "hidden");
        }
        let shown = retarget(app, id, InstanceTarget::Shown);
        assert_shows(&shown, &expected.picture, name, &format!("shown again, round {round}"));
        for _ in 0..FRAMES {
            assert_shows(&next_frame(app), &expected.picture, name, "shown again");
        }
    }
}

/// Nothing of the level is left: at once in the picture, and soon on the GPU.
fn check_gone(app: &mut App, empty: &Frame, first: Frame, name: &str, road: Road) {
    let mut frame = first;
    for after in 0..FRAMES {
        let when = format!("{after} frames after the leave");
        assert_shows(&frame, &empty.picture, name, &when);
        // What nobody sees is despawned bit by bit.
        assert!(frame.instances == 0 || road == Road::Slices, "{when}");
        frame = next_frame(app);
    }
    assert_eq!(frame.instances, 0);
    // Handles are dropped on a task.
    let start = Instant::now();
    while frame.prepared != empty.prepared {
        assert!(start.elapsed() < LOAD_LIMIT, "assets stay on the GPU");
        thread::sleep(Duration::from_millis(1));
        frame = next_frame(app);
        assert_shows(&frame, &empty.picture, name, "after the leave");
    }
}

/// Bevy alone panics there, when a light or a camera is despawned.
#[test]
fn lights_and_cameras_leave_an_app_without_a_renderer() {
    let write = |dir: &Path| {
        write_everything_gltf(dir);
    };
    let cooked = Cooked::new(
        write,
        "(levels: [(name: \"level\", source: \"everything.gltf\")])",
        |_| {},
    );
    let mut app = windowless(&cooked.out(), None, |app| {
        app.add_plugins(SeamlessPlugins);
    });
    let world = spawn_world(&mut app, MANIFEST);
    assert!(run_until(&mut app, LOAD_LIMIT, |ecs| ecs
        .get::<LevelTable>(world)
        .is_some()));
    for _ in 0..2 {
        reveal(&mut app, world, "level");
        assert_eq!(synced::<Camera>(&mut app), 2);
        assert_eq!(synced::<DirectionalLight>(&mut app), 1);
        ask(&mut app, "level", Ask::Unload);
        let gone = run_until(&mut app, LOAD_LIMIT, |ecs| {
            state(ecs, world, "level") == LevelState::Unloaded
        });
        assert!(gone, "the level leaves");
        assert_eq!(
            (synced::<Camera>(&mut app), synced::<DirectionalLight>(&mut app)),
            (0, 0)
        );
    }
}

/// How many entities with a `C` went through Bevy's queue of render entities: a queue that nobody empties grows for ever.
fn synced<C: Component>(app: &mut App) -> usize {
    app.world_mut()
        .query_filtered::<&RenderEntity, With<C>>()
        .iter(app.world())
        .count()
}

#[test]
fn everything_gltf_looks_the_same() {
    let write = |dir: &Path| {
        write_everything_gltf(dir);
    };
    let camera = looking(Vec3::new(3.5, 9.0, 4.0), Vec3::new(1.2, 1.0, 0.0));
    compare(write, "everything.gltf", "everything", camera, Morphs::OneFrameLate);
}

/// Lights, skins and morph targets included.
#[test]
fn everything_gltf_looks_the_same_in_slices() {
    let write = |dir: &Path| {
        write_everything_gltf(dir);
    };
    let camera = looking(Vec3::new(3.5, 9.0, 4.0), Vec3::new(1.2, 1.0, 0.0));
    let (source, name) = ("everything.gltf", "everything_sliced");
    compare_on(Road::Slices, write, source, name, camera, Morphs::OneFrameLate);
}

/// A real model, where it is at hand.
#[test]
fn flight_helmet_looks_the_same() {
    let models = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/gltf/FlightHelmet");
    if !models.is_dir() {
        skipped("../shared/data/gltf/FlightHelmet is not there");
        return;
    }
    let write = |dir: &Path| {
        for file in fs::read_dir(&models).expect("the folder is there").flatten() {
            fs::copy(file.path(), dir.join(file.file_name())).expect("a file is copied");
        }
    };
    let camera = looking(Vec3::new(0.5, 0.5, 0.8), Vec3::new(0.0, 0.33, 0.0));
    compare(write, "FlightHelmet.gltf", "flight_helmet", camera, Morphs::None);
}
